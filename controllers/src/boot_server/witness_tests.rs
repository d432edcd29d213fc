//! How often people are told what a machine did: against an API server that keeps the events.

use std::{convert::Infallible, sync::Mutex};

use beskar7_api::annotations::BOOTING;
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::*;

/// Takes all events, and keeps what they say.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Vec<String>>>);

impl Server {
    fn witness(&self) -> Witness {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move {
                let method = request.method().to_string();
                let body = request.into_body().collect_bytes().await.unwrap();
                let event: Value = serde_json::from_slice(&body).unwrap();
                // What was told before is only counted.
                let note = event["note"].as_str().unwrap_or("the same");
                server.0.lock().unwrap().push(format!("{method} {note}"));
                Ok::<_, Infallible>(
                    http::Response::builder().status(201).body(Body::from(body.to_vec())).unwrap(),
                )
            }
        });
        Witness::new(Recorder::new(Client::new(service, "default"), "beskar7", "beskar7-0"))
    }

    /// What was told since this was asked last, once it is.
    async fn told_by(&self, witness: &Witness) -> Vec<String> {
        while !witness.tasks.is_empty() {
            tokio::task::yield_now().await;
        }
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A host whose machine boots for the claim `c`, as this mark says.
fn booting(mark: Option<&str>) -> Arc<PhysicalHost> {
    let marks = mark.map(|mark| json!({BOOTING: mark}));
    let host = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "uid": "u", "annotations": marks},
        "spec": {
            "redfishConnection": {"address": "https://b", "credentialsSecretRef": "s"}, "claimID": "c",
            "consumerRef": {"kind": "Beskar7Machine", "namespace": "metal", "name": "m"},
        },
        "status": {"claimID": "c"},
    });
    Arc::new(serde_json::from_value(host).unwrap())
}

#[tokio::test]
async fn each_thing_is_told_once_for_each_time_that_a_machine_is_turned_on_for_its_claim() {
    let server = Server::default();
    let witness = server.witness();
    let saw = |host: &Arc<PhysicalHost>, claim: &str, reason, note: &str| {
        for _ in 0..1000 {
            witness.saw(host, claim, reason, note.to_owned());
        }
    };
    let first = booting(Some("c 100 on"));
    saw(&first, "c", "FetchedArtifact", "It fetched its kernel");
    assert_eq!(server.told_by(&witness).await, ["POST It fetched its kernel"], "once of a thousand times");
    saw(&first, "c", "FetchedArtifact", "It fetched its initramfs");
    assert_eq!(server.told_by(&witness).await, ["POST It fetched its initramfs"], "that is something else");

    // More is known of the same start.
    saw(&booting(Some("c 100 on image")), "c", "FetchedArtifact", "It fetched its kernel");
    assert_eq!(server.told_by(&witness).await, Vec::<String>::new());

    // It is of another claim, or does not boot.
    saw(&first, "other", "FetchedArtifact", "It fetched its kernel");
    saw(&booting(None), "c", "FetchedArtifact", "It fetched its kernel");
    assert_eq!(server.told_by(&witness).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_seen_after_a_machine_was_turned_on_anew_is_told_anew() {
    let server = Server::default();
    let witness = server.witness();
    for (mark, expected) in [("c 100 on", "POST It fetched its script"), ("c 200 try-2 on", "PATCH the same")]
    {
        for _ in 0..1000 {
            witness.saw(&booting(Some(mark)), "c", "FetchedScript", "It fetched its script".to_owned());
        }
        assert_eq!(server.told_by(&witness).await, [expected], "{mark}");
    }
}
