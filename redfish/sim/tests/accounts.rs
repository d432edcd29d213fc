//! Accounts and roles over real HTTP, on every profile.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod rig;

use beskar7_redfish_sim::profiles;
use reqwest::{Method, Response, StatusCode};
use rig::{Rig, header, message_id};
use serde_json::{Value, json};

const ACCOUNTS: &str = "/redfish/v1/AccountService/Accounts";

async fn add(rig: &Rig, user: &str, role: &str) -> String {
    let body = json!({ "UserName": user, "Password": "a-password", "RoleId": role });
    let answer = rig.post(ACCOUNTS, body).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    header(&answer, "location")
}

async fn as_user(rig: &Rig, user: &str, method: Method, path: &str, body: Option<Value>) -> Response {
    let request =
        rig.client.request(method, format!("{}{path}", rig.url)).basic_auth(user, Some("a-password"));
    match body {
        Some(body) => request.json(&body).send().await.unwrap(),
        None => request.send().await.unwrap(),
    }
}

/// If-Match where a profile demands it: an administrator's read tells it.
async fn patch_as(rig: &Rig, user: &str, path: &str, body: Value) -> Response {
    let read = rig.send(Method::GET, path, &[], None).await;
    let mut request =
        rig.client.patch(format!("{}{path}", rig.url)).basic_auth(user, Some("a-password")).json(&body);
    if let Some(etag) = read.headers().get("etag") {
        request = request.header("if-match", etag);
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_role_bounds_what_its_accounts_may_do() {
    for profile in profiles::ALL {
        let name = profile.name;
        let rig = Rig::start(name).await;
        add(&rig, "reader", "ReadOnly").await;
        add(&rig, "operator", "Operator").await;
        let system = rig.system().await;
        let target = rig.get(&system).await["Actions"]["#ComputerSystem.Reset"]["target"].clone();
        let target = target.as_str().unwrap();
        let on = json!({ "ResetType": "On" });

        let read = as_user(&rig, "reader", Method::GET, &system, None).await;
        assert_eq!(read.status(), StatusCode::OK, "{name}");
        let refused = as_user(&rig, "reader", Method::POST, target, Some(on.clone())).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{name}");
        assert!(message_id(refused).await.ends_with("InsufficientPrivilege"));
        let done = as_user(&rig, "operator", Method::POST, target, Some(on)).await;
        assert!(done.status().is_success(), "{name}");
        let more = json!({ "UserName": "x", "Password": "y", "RoleId": "ReadOnly" });
        let refused = as_user(&rig, "operator", Method::POST, ACCOUNTS, Some(more)).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{name}");

        let resets: Vec<Value> = rig.log().into_iter().filter(|entry| entry["action"] == "reset").collect();
        assert_eq!(resets.len(), 1, "{name} {resets:?}");
        assert_eq!(resets[0]["who"], "basic operator", "{name}");
    }
}

#[tokio::test]
async fn people_change_their_own_password_and_no_other_account() {
    for profile in profiles::ALL {
        let name = profile.name;
        let rig = Rig::start(name).await;
        let own = add(&rig, "ann", "ReadOnly").await;
        let other = add(&rig, "bob", "ReadOnly").await;
        let password = json!({ "Password": "another" });
        assert_eq!(patch_as(&rig, "ann", &other, password.clone()).await.status(), StatusCode::FORBIDDEN);
        let read = as_user(&rig, "ann", Method::GET, &other, None).await;
        assert_eq!(read.status(), StatusCode::FORBIDDEN, "{name}");
        let role = json!({ "RoleId": "Administrator" });
        assert_eq!(patch_as(&rig, "ann", &own, role).await.status(), StatusCode::FORBIDDEN, "{name}");
        assert!(patch_as(&rig, "ann", &own, password).await.status().is_success(), "{name}");

        assert_eq!(rig.post_login("ann", "a-password").await.status(), StatusCode::UNAUTHORIZED, "{name}");
        assert_eq!(rig.post_login("ann", "another").await.status(), StatusCode::CREATED, "{name}");
        assert_eq!(rig.get(&own).await["Password"], Value::Null, "{name}");
    }
}

#[tokio::test]
async fn a_new_password_makes_a_new_etag() {
    let rig = Rig::start("plain").await;
    let account = add(&rig, "ann", "Operator").await;
    let etag = async || header(&rig.send(Method::GET, &account, &[], None).await, "etag");
    let before = etag().await;
    assert_eq!(before, etag().await);
    let body = json!({ "Password": "another" });
    let done = rig.send(Method::PATCH, &account, &[("if-match", &before)], Some(body.clone())).await;
    assert_eq!(done.status(), StatusCode::OK);
    assert_ne!(before, etag().await);
    let late = rig.send(Method::PATCH, &account, &[("if-match", &before)], Some(body)).await;
    assert_eq!(late.status(), StatusCode::PRECONDITION_FAILED);
}

#[tokio::test]
async fn a_removed_account_is_gone_with_its_sessions() {
    let rig = Rig::start("plain").await;
    let account = add(&rig, "ann", "Operator").await;
    let token = header(&rig.post_login("ann", "a-password").await, "x-auth-token");
    let read = async || {
        let request = rig.client.get(format!("{}/redfish/v1/Systems", rig.url));
        request.header("x-auth-token", &token).send().await.unwrap().status()
    };
    assert_eq!(read().await, StatusCode::OK);
    assert_eq!(rig.send(Method::DELETE, &account, &[], None).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(read().await, StatusCode::UNAUTHORIZED);
    assert_eq!(rig.send(Method::DELETE, &account, &[], None).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(rig.patch(&account, json!({ "Password": "x" })).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_disabled_account_is_out_until_it_is_enabled() {
    let rig = Rig::start("plain").await;
    let account = add(&rig, "ann", "Operator").await;
    let read = async || as_user(&rig, "ann", Method::GET, "/redfish/v1/Systems", None).await.status();
    assert!(rig.patch(&account, json!({ "Enabled": false })).await.status().is_success());
    assert_eq!(read().await, StatusCode::UNAUTHORIZED);
    assert!(rig.patch(&account, json!({ "Enabled": true })).await.status().is_success());
    assert_eq!(read().await, StatusCode::OK);
}

#[tokio::test]
async fn what_makes_no_account_is_refused_by_name() {
    let rig = Rig::start("plain").await;
    let account = add(&rig, "ann", "Operator").await;
    for (body, message) in [
        (json!({ "UserName": "x", "Password": "y" }), "PropertyMissing"),
        (json!({ "UserName": "x", "Password": "y", "RoleId": "King" }), "PropertyValueNotInList"),
        (json!({ "UserName": "ann", "Password": "y", "RoleId": "ReadOnly" }), "ResourceAlreadyExists"),
        (json!({ "UserName": "admin", "Password": "y", "RoleId": "ReadOnly" }), "ResourceAlreadyExists"),
        (json!({ "UserName": "x", "Password": "y", "RoleId": "ReadOnly", "Hat": 1 }), "PropertyUnknown"),
    ] {
        let refused = rig.post(ACCOUNTS, body.clone()).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{body}");
        assert!(message_id(refused).await.ends_with(message), "{body}");
    }
    for (body, message) in [
        (json!({ "@odata.id": "/x" }), "NoOperation"),
        (json!({ "UserName": "eve" }), "PropertyNotWritable"),
        (json!({ "Password": 7 }), "PropertyValueNotInList"),
        (json!({ "Hat": 1 }), "PropertyUnknown"),
    ] {
        let refused = rig.patch(&account, body.clone()).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{body}");
        assert!(message_id(refused).await.ends_with(message), "{body}");
    }
    let first = format!("{ACCOUNTS}/1");
    assert_eq!(rig.send(Method::DELETE, &first, &[], None).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(rig.patch(&first, json!({ "Password": "x" })).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(rig.post_login("admin", "password").await.status(), StatusCode::CREATED);
}
