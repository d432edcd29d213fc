//! Events at an API server that is a mock: it keeps what it is told.

use std::{collections::BTreeMap, convert::Infallible};

use beskar7_api::PhysicalHost;
use kube::client::Body;
use serde_json::Value;

use super::*;

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/metal/events";

/// Has events, by name.
#[derive(Clone, Default)]
struct MockApiServer(Arc<Mutex<BTreeMap<String, Value>>>);

impl MockApiServer {
    fn recorder(&self) -> Recorder {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body: Value = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap();
                let (code, answer) = server.answer(&parts.method, parts.uri.path(), body);
                let answer = Body::from(serde_json::to_vec(&answer).unwrap());
                Ok::<_, Infallible>(http::Response::builder().status(code).body(answer).unwrap())
            }
        });
        Recorder::new(Client::new(service, "default"), "beskar7", "beskar7-0")
    }

    fn answer(&self, method: &http::Method, path: &str, body: Value) -> (u16, Value) {
        let mut events = self.0.lock().unwrap();
        let name = path.strip_prefix(EVENTS).unwrap().trim_start_matches('/');
        if *method == http::Method::POST {
            let name = body["metadata"]["name"].as_str().unwrap().to_owned();
            events.insert(name, body.clone());
            return (201, body);
        }
        let Some(event) = events.get_mut(name) else {
            let status = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
            return (404, status);
        };
        assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["series"], "all else is immutable");
        event["series"] = body["series"].clone();
        (200, event.clone())
    }

    /// Each event's sentence, and how often it was said.
    fn said(&self) -> Vec<(String, Option<u64>)> {
        let events = self.0.lock().unwrap();
        let said =
            |event: &Value| (event["note"].as_str().unwrap().to_owned(), event["series"]["count"].as_u64());
        events.values().map(said).collect()
    }
}

fn host(name: &str) -> PhysicalHost {
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {"name": name, "namespace": "metal", "uid": name},
        "spec": {"redfishConnection": {"address": "https://b", "credentialsSecretRef": "s"}},
    }))
    .unwrap()
}

fn told(note: &str) -> Told {
    Told { severity: Severity::Warning, reason: "No".to_owned(), note: note.to_owned(), action: "Try" }
}

#[tokio::test]
async fn the_same_words_about_the_same_object_are_counted() {
    let server = MockApiServer::default();
    let recorder = server.recorder();
    for _ in 0..3 {
        recorder.tell(&host("a"), &[told("first")]).await;
    }
    recorder.clone().tell(&host("a"), &[told("second")]).await;
    recorder.tell(&host("b"), &[told("first")]).await;
    let first = |count| ("first".to_owned(), count);
    assert_eq!(server.said(), [first(Some(3)), ("second".to_owned(), None), first(None)]);
}

#[tokio::test]
async fn an_event_that_is_gone_is_made_again() {
    let server = MockApiServer::default();
    let recorder = server.recorder();
    recorder.tell(&host("a"), &[told("first")]).await;
    server.0.lock().unwrap().clear();
    recorder.tell(&host("a"), &[told("first")]).await;
    recorder.tell(&host("a"), &[told("first")]).await;
    assert_eq!(server.said(), [("first".to_owned(), Some(2))]);
}

#[tokio::test]
async fn who_says_what_about_whom() {
    let server = MockApiServer::default();
    server.recorder().tell(&host("a"), &[told("first")]).await;
    let events = server.0.lock().unwrap();
    let (name, event) = events.first_key_value().unwrap();
    assert!(name.starts_with("a."), "{name}");
    assert_eq!(
        (&event["reportingController"], &event["reportingInstance"]),
        (&json!("beskar7"), &json!("beskar7-0"))
    );
    assert_eq!((&event["type"], &event["action"]), (&json!("Warning"), &json!("Try")));
    assert_eq!(
        (&event["regarding"]["kind"], &event["regarding"]["uid"]),
        (&json!("PhysicalHost"), &json!("a"))
    );
}

#[test]
fn names_and_sentences_are_as_long_as_they_may_be() {
    let now = Timestamp::now();
    assert_eq!(name(&"a".repeat(253), now).len(), 253);
    assert!(name("short", now).starts_with("short."));
    assert!(!name(&format!("{}.{}", "a".repeat(235), "b".repeat(17)), now).contains(".."));
    assert_eq!(shortened("short"), "short");
    let long = shortened(&"ä".repeat(600));
    assert!(long.len() <= 1024 && long.len() > 1020 && long.ends_with('…'), "{}", long.len());
}
