//! What every profile has in common, over real HTTP.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod rig;

use std::collections::BTreeSet;

use beskar7_redfish_sim::profiles;
use reqwest::{Method, StatusCode};
use rig::{Rig, header, message_id};
use serde_json::{Value, json};

fn names() -> Vec<&'static str> {
    profiles::ALL.map(|profile| profile.name).to_vec()
}

#[tokio::test]
async fn the_root_is_open_and_the_rest_is_not() {
    for name in names() {
        let rig = Rig::start(name).await;
        for path in ["/redfish", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"]
        {
            let answer = rig.client.get(format!("{}{path}", rig.url)).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{name} {path}");
            assert_eq!(header(&answer, "odata-version"), "4.0");
        }
        for path in ["/redfish/v1/Systems", "/redfish/v1/nothing"] {
            let answer = rig.client.get(format!("{}{path}", rig.url)).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{name} {path}");
            assert!(message_id(answer).await.ends_with("NoValidSession"));
        }
    }
}

#[tokio::test]
async fn sessions_open_and_close_and_basic_serves_too() {
    for name in names() {
        let rig = Rig::start(name).await;
        assert_eq!(rig.post_login("admin", "wrong").await.status(), StatusCode::UNAUTHORIZED);
        let basic =
            rig.client.get(format!("{}/redfish/v1/Systems", rig.url)).basic_auth("admin", Some("password"));
        assert_eq!(basic.send().await.unwrap().status(), StatusCode::OK);
        let path = rig.session.strip_prefix(&rig.url).unwrap_or(&rig.session).to_owned();
        assert_eq!(rig.session.starts_with("http"), name == "hpe-ilo", "{name}");
        assert_eq!(rig.get(&path).await["UserName"], "admin");
        let gone = rig.send(Method::DELETE, &path, &[], None).await;
        assert_eq!(gone.status(), StatusCode::NO_CONTENT);
        let after = rig.send(Method::GET, "/redfish/v1/Systems", &[], None).await;
        assert_eq!(after.status(), StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let rig = Rig::start("dell-idrac").await;
    for _ in 1..8 {
        assert_eq!(rig.post_login("admin", "password").await.status(), StatusCode::CREATED);
    }
    let refused = rig.post_login("admin", "password").await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(message_id(refused).await.ends_with("SessionLimitExceeded"));
}

fn links(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let is_link = key == "@odata.id" || key == "@Redfish.ActionInfo";
                if let (true, Value::String(link)) = (is_link, value) {
                    found.insert(link.clone());
                } else {
                    links(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| links(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// Follows every link from the root; each leads somewhere that calls itself by that name.
#[tokio::test]
async fn every_link_leads_somewhere() {
    for name in names() {
        let rig = Rig::start(name).await;
        let mut seen = BTreeSet::new();
        let mut todo = BTreeSet::from(["/redfish/v1/".to_owned()]);
        while let Some(path) = todo.pop_first() {
            let body = rig.get(&path).await;
            let own = body["@odata.id"].as_str().unwrap();
            assert_eq!(own.trim_end_matches('/'), path.trim_end_matches('/'), "{name}");
            assert!(body["@odata.type"].as_str().unwrap().starts_with('#'), "{name} {path}");
            assert!(body["Name"].is_string(), "{name} {path}");
            seen.insert(path);
            let mut found = BTreeSet::new();
            links(&body, &mut found);
            todo.extend(found.difference(&seen).cloned());
        }
        assert!(seen.len() > 30, "{name} has {} resources", seen.len());
    }
}

#[tokio::test]
async fn wrong_methods_paths_and_bodies_are_refused_as_redfish_says() {
    for name in names() {
        let rig = Rig::start(name).await;
        let answer = rig.send(Method::DELETE, "/redfish/v1/Systems", &[], None).await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{name}");
        assert_eq!(header(&answer, "allow"), "GET, HEAD");
        let answer = rig.send(Method::GET, "/redfish/v1/Systems/none", &[], None).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        assert!(message_id(answer).await.ends_with("ResourceMissingAtURI"));
        let answer = rig.send(Method::GET, "/redfish/v1/Systems?$expand=.", &[], None).await;
        assert_eq!(answer.status(), StatusCode::NOT_IMPLEMENTED);
        let answer = rig.reset("Explode").await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        assert!(message_id(answer).await.ends_with("ActionParameterValueNotInList"));
    }
}

#[tokio::test]
async fn power_goes_on_and_off() {
    for name in names() {
        let rig = Rig::start(name).await;
        rig.until("/PowerState", "Off").await;
        assert!(rig.reset("On").await.status().is_success(), "{name}");
        rig.until("/PowerState", "On").await;
        assert!(rig.reset("ForceOff").await.status().is_success(), "{name}");
        rig.until("/PowerState", "Off").await;
        let log = rig.log();
        let asked: Vec<&Value> = log.iter().filter(|e| e["action"] == "reset").collect();
        assert_eq!(asked.len(), 2, "{name} {log:?}");
        assert_eq!((&asked[0]["kind"], &asked[1]["kind"]), (&json!("On"), &json!("ForceOff")));
        assert_eq!(asked[0]["who"], "session 1 of admin");
    }
}
