//! Whole reconciles against a stand-in for the API server. The same against a real one is in the end-to-end tests.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use beskar7_api::{PhysicalHost, annotations, labels};
use beskar7_core::host::{Pace, discovery::NOWHERE};
use kube::{
    Api, Client,
    client::Body,
    runtime::{controller::Action, watcher},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    controller::{self, Failure as _},
    diagnostics::Metrics,
    tell::Recorder,
    watch::{Cache, Feed},
};

/// Answers for Secrets and for patches, and writes down what it is asked.
#[derive(Clone)]
struct MockApiServer {
    /// The answer to a GET of a Secret.
    secret: (u16, Value),
    /// The answer to a PATCH of the status.
    patch: u16,
    log: Arc<Mutex<Vec<(String, Value)>>>,
    /// The host as it is there.
    host: Arc<Mutex<PhysicalHost>>,
}

impl MockApiServer {
    fn new(secret: (u16, Value), patch: u16) -> Self {
        Self { secret, patch, log: Arc::default(), host: Arc::new(Mutex::new(host(json!({})))) }
    }

    fn context(&self) -> Arc<Context> {
        let server = self.clone();
        let client = Client::new(
            tower::service_fn(move |request: http::Request<Body>| {
                let server = server.clone();
                async move {
                    let asked = format!("{} {}", request.method(), request.uri().path());
                    let body = request.into_body().collect_bytes().await.unwrap();
                    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                    let (code, answer) = server.answer(&asked, &body);
                    server.log.lock().unwrap().push((asked, body));
                    let response = http::Response::builder().status(code);
                    Ok::<_, Infallible>(
                        response.body(Body::from(serde_json::to_vec(&answer).unwrap())).unwrap(),
                    )
                }
            }),
            "default",
        );
        let recorder = Recorder::new(client.clone(), "test", "test-0");
        let minute = Duration::from_secs(60);
        let delivery = beskar7_core::delivery::Delivery::Off;
        let pace = Pace { poll: minute, boot: minute, release: minute, delivery, inspect: false };
        let machines =
            Feed::new("Beskar7Machine", Api::all(client.clone()), watcher::Config::default()).cache();
        Arc::new(Context::new(
            client,
            recorder,
            Metrics::new(),
            (minute * 10, pace),
            Means {
                guard: Arc::new(|| true),
                machines,
                claims: Cache::empty(),
                configurations: Cache::empty(),
                reservations: Cache::empty(),
                presenter: None,
            },
            tokio::sync::mpsc::unbounded_channel().0,
        ))
    }

    fn answer(&self, asked: &str, body: &Value) -> (u16, Value) {
        let refusal = |code: u16| {
            let reason = match code {
                403 => "Forbidden",
                404 => "NotFound",
                409 => "Conflict",
                _ => "InternalError",
            };
            (
                code,
                json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": reason}),
            )
        };
        match asked.split('/').next_back() {
            Some("h") if !asked.contains("/physicalhosts/") => refusal(404),
            Some("bmc") if self.secret.0 == 200 => self.secret.clone(),
            Some("bmc") => refusal(self.secret.0),
            Some("status") if self.patch == 200 => (200, self.with_status(body)),
            Some("status") => refusal(self.patch),
            Some("h") => (200, serde_json::to_value(&*self.host.lock().unwrap()).unwrap()),
            _ => (201, body.clone()),
        }
    }

    fn with_status(&self, patch: &Value) -> Value {
        let mut host = self.host.lock().unwrap();
        host.status = serde_json::from_value(patch["status"].clone()).unwrap();
        serde_json::to_value(&*host).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().map(|(asked, _)| asked.clone()).collect()
    }

    fn body(&self, end: &str) -> Value {
        let log = self.log.lock().unwrap();
        log.iter().find(|(asked, _)| asked.ends_with(end)).map(|(_, body)| body.clone()).unwrap_or_default()
    }
}

fn complete() -> (u16, Value) {
    (200, json!({"metadata": {"name": "bmc"}, "data": {"username": "cm9vdA==", "password": "c2VjcmV0"}}))
}

fn host(status: Value) -> PhysicalHost {
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "generation": 1, "resourceVersion": "41", "uid": "u",
            "finalizers": ["physicalhost.infrastructure.cluster.x-k8s.io"]},
        "spec": {"redfishConnection": {"address": "http://127.0.0.1:9", "credentialsSecretRef": "bmc"}},
        "status": status,
    }))
    .unwrap()
}

async fn reconciled(server: &MockApiServer, host: PhysicalHost) -> Result<Action, ReconcileError> {
    *server.host.lock().unwrap() = host.clone();
    controller::reconcile(server.context(), Arc::new(host)).await
}

const SECRET: &str = "GET /api/v1/namespaces/metal/secrets/bmc";
const STATUS: &str =
    "PATCH /apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/metal/physicalhosts/h/status";
const HOST: &str = "PATCH /apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/metal/physicalhosts/h";
const EVENT: &str = "POST /apis/events.k8s.io/v1/namespaces/metal/events";

#[tokio::test]
async fn what_was_found_is_written_once_and_told() {
    let server = MockApiServer::new((404, Value::Null), 200);
    reconciled(&server, host(json!({}))).await.unwrap();
    assert_eq!(server.asked(), [SECRET, STATUS, EVENT, EVENT]);
    let patch = server.body("/status");
    assert_eq!(patch["metadata"], json!({"resourceVersion": "41"}), "a stale view must lose");
    assert_eq!(patch["status"]["state"], "Enrolling");
    assert_eq!(server.body("/events")["reason"], "SecretNotFound");
}

#[tokio::test]
async fn what_is_known_is_not_written_again() {
    let server = MockApiServer::new((404, Value::Null), 200);
    reconciled(&server, host(json!({}))).await.unwrap();
    let status = server.body("/status")["status"].clone();
    server.log.lock().unwrap().clear();
    reconciled(&server, host(status)).await.unwrap();
    assert_eq!(server.asked(), [SECRET]);
}

#[tokio::test]
async fn a_bmc_that_does_not_answer_is_said_and_tried_again() {
    let server = MockApiServer::new(complete(), 200);
    let error = reconciled(&server, host(json!({}))).await.unwrap_err();
    assert_eq!(error.category(), "bmc");
    assert_eq!(server.body("/status")["status"]["state"], "Enrolling");
    let told = server.body("/events");
    assert_eq!(told["reason"], "RedfishConnectionFailed");
    assert!(told["note"].as_str().unwrap().contains("http://127.0.0.1:9"), "{told}");
    assert!(
        !server.log.lock().unwrap().iter().any(|(_, body)| body.to_string().contains("secret")),
        "the password is told"
    );
}

#[tokio::test]
async fn a_host_is_adopted_before_anything_is_done_and_let_go_when_it_was_never_touched() {
    let server = MockApiServer::new((404, Value::Null), 200);
    let mut new = host(json!({}));
    new.metadata.finalizers = None;
    reconciled(&server, new).await.unwrap();
    assert_eq!(server.asked().first().map(String::as_str), Some(HOST));
    let adopted = server.body("/h")["metadata"].clone();
    assert_eq!(adopted["finalizers"], json!(["physicalhost.infrastructure.cluster.x-k8s.io"]));
    assert_eq!(adopted["resourceVersion"], "41");

    let server = MockApiServer::new((404, Value::Null), 200);
    let mut deleted = host(json!({}));
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    deleted.metadata.finalizers.as_mut().unwrap().push("somebody/else".to_owned());
    reconciled(&server, deleted).await.unwrap();
    assert_eq!(server.body("/h")["metadata"]["finalizers"], json!(["somebody/else"]));
}

#[tokio::test]
async fn the_last_word_of_an_agent_that_could_not_inspect_outlives_its_errand() {
    let failed =
        json!({"claim": "i", "second": 120, "order": "inspect-100-1", "state": "failed", "step": "looking"});
    for (inspected, keeps) in [(None, true), (Some("1970-01-01T00:02:00Z"), false)] {
        let mut candidate = host(json!({}));
        candidate.spec.redfish_connection.address = NOWHERE.to_owned();
        candidate.spec.inspect = Some(true);
        candidate.metadata.labels = Some([(labels::DISCOVERED.to_owned(), String::new())].into());
        let marks =
            [(annotations::ERRAND, "inspect i 100 on".to_owned()), (annotations::AGENT, failed.to_string())];
        let inspected = inspected.map(|when| (annotations::INSPECTED, when.to_owned()));
        let marks = marks.into_iter().chain(inspected).map(|(name, value)| (name.to_owned(), value));
        candidate.metadata.annotations = Some(marks.collect());
        let server = MockApiServer::new((404, Value::Null), 200);
        reconciled(&server, candidate).await.unwrap();
        let written = server.body(HOST)["metadata"]["annotations"].clone();
        let written = written.as_object().unwrap();
        assert_eq!(written.get(annotations::ERRAND), Some(&Value::Null), "{written:?}");
        assert_eq!(written.contains_key(annotations::AGENT), !keeps, "{written:?}");
    }
}

#[tokio::test]
async fn a_lost_race_is_no_failure_and_tells_nobody() {
    for code in [409, 404] {
        let server = MockApiServer::new((404, Value::Null), code);
        reconciled(&server, host(json!({}))).await.unwrap();
        assert_eq!(server.asked(), [SECRET, STATUS], "{code}");
    }
}

#[tokio::test]
async fn failures_are_reported_and_tried_again() {
    let server = MockApiServer::new((403, Value::Null), 200);
    let error = reconciled(&server, host(json!({}))).await.unwrap_err();
    assert_eq!(error.category(), "secret");
    assert_eq!(server.asked(), [SECRET, STATUS, EVENT, EVENT]);
    assert_eq!(server.body("/events")["reason"], "SecretGetFailed");

    let server = MockApiServer::new(complete(), 500);
    assert_eq!(reconciled(&server, host(json!({}))).await.unwrap_err().category(), "status");
}

#[tokio::test]
async fn paused_and_moved_hosts_are_left_alone() {
    let annotated = |name: &str| {
        let mut host = host(json!({}));
        host.metadata.annotations = Some([(name.to_owned(), String::new())].into());
        host
    };
    let server = MockApiServer::new(complete(), 200);
    reconciled(&server, annotated("cluster.x-k8s.io/paused")).await.unwrap();
    assert_eq!(server.asked(), [STATUS]);
    assert_eq!(server.body("/status")["status"]["conditions"][0]["type"], "Paused");
    assert_eq!(server.body("/status")["status"].get("state"), None);

    let server = MockApiServer::new(complete(), 200);
    reconciled(&server, annotated("clusterctl.cluster.x-k8s.io/delete-for-move")).await.unwrap();
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn failures_in_a_row_are_tried_less_and_less_often() {
    let server = MockApiServer::new((403, Value::Null), 200);
    let context = server.context();
    let host = Arc::new(host(json!({})));
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let error = controller::reconcile(context.clone(), host.clone()).await.unwrap_err();
        pauses.push(controller::failed(context.as_ref(), &host, &error));
    }
    assert_ne!(pauses.first(), pauses.last(), "{pauses:?}");
}
