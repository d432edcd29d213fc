//! A stand-in for the API server: as much of it as one controller asks.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use beskar7_api::{Beskar7Cluster, PhysicalHost, cluster_api};
use kube::{Client, client::Body, runtime::controller::Action};
use serde_json::{Value, json};

use super::{
    super::{Context, ReconcileError},
    CLUSTER, HOSTS,
};
use crate::{
    caches::Caches, controller, diagnostics::Metrics, tell::Recorder, tenancy::Tenancy, watch::Cache,
};

/// Holds objects by path, merges patches into them, and writes down what it is asked.
#[derive(Clone, Default)]
pub(super) struct MockApiServer {
    pub(super) objects: Arc<Mutex<BTreeMap<String, Value>>>,
    /// What it answers instead, by path.
    pub(super) refusals: Arc<Mutex<BTreeMap<String, u16>>>,
    log: Arc<Mutex<Vec<(String, Value)>>>,
}

impl MockApiServer {
    pub(super) fn with(objects: &[(&str, Value)]) -> Self {
        let server = Self::default();
        server
            .objects
            .lock()
            .unwrap()
            .extend(objects.iter().map(|(at, object)| ((*at).to_owned(), object.clone())));
        server
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move {
                let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
                let body = request.into_body().collect_bytes().await.unwrap();
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                server.log.lock().unwrap().push((format!("{method} {path}"), body.clone()));
                let (code, answer) = server.answer(&method, &path, body);
                let response = http::Response::builder().status(code);
                Ok::<_, Infallible>(response.body(Body::from(serde_json::to_vec(&answer).unwrap())).unwrap())
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        if let Some(code) = self.refusals.lock().unwrap().get(path) {
            return refusal(*code);
        }
        if method == "POST" {
            return (201, body);
        }
        let mut objects = self.objects.lock().unwrap();
        if path == HOSTS {
            let of_hosts = |(path, _): &(&String, &Value)| path.starts_with(HOSTS);
            let items: Vec<&Value> = objects.iter().filter(of_hosts).map(|(_, object)| object).collect();
            return (200, json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}));
        }
        let Some(object) = objects.get_mut(path.trim_end_matches("/status")) else { return refusal(404) };
        if method == "PATCH" {
            let version = object["metadata"]["resourceVersion"].clone();
            if body["metadata"]["resourceVersion"] != version {
                return refusal(409);
            }
            merge(object, body);
            let next = version.as_str().unwrap().parse::<u64>().unwrap() + 1;
            object["metadata"]["resourceVersion"] = json!(next.to_string());
        }
        (200, object.clone())
    }

    /// Looks once at the cluster as it is there, with caches that show what is there.
    pub(super) async fn reconcile(&self, owner_spec: Value) -> Result<Action, ReconcileError> {
        let hosts = self.all(HOSTS);
        self.reconcile_seeing(owner_spec, hosts).await
    }

    pub(super) async fn reconcile_seeing(
        &self,
        owner_spec: Value,
        hosts: Vec<PhysicalHost>,
    ) -> Result<Action, ReconcileError> {
        let owner: cluster_api::Cluster = serde_json::from_value(json!({
            "metadata": {"name": "prod", "namespace": "metal"}, "spec": owner_spec,
        }))
        .unwrap();
        let caches = Caches {
            hosts: Cache::of(hosts),
            machines: Cache::of(vec![]),
            claims: Cache::empty(),
            clusters: Cache::of(vec![]),
            templates: Cache::of(vec![]),
            owner_machines: Cache::of(vec![]),
            owner_clusters: Cache::of(vec![owner]),
            boot_configurations: Cache::empty(),
            reservations: Cache::empty(),
            policies: Cache::empty(),
            tenancy: Tenancy::new(Cache::of(Vec::new()), Cache::of(Vec::new())),
        };
        let client = self.client();
        let recorder = Recorder::new(client.clone(), "test", "test-0");
        let context = Context::new(client, recorder, Metrics::new(), Duration::from_secs(600), caches);
        self.log.lock().unwrap().clear();
        controller::reconcile(Arc::new(context), Arc::new(self.cluster())).await
    }

    fn all(&self, under: &str) -> Vec<PhysicalHost> {
        let objects = self.objects.lock().unwrap();
        let found = objects.iter().filter(|(path, _)| path.starts_with(under));
        found.map(|(_, object)| serde_json::from_value(object.clone()).unwrap()).collect()
    }

    fn cluster(&self) -> Beskar7Cluster {
        serde_json::from_value(self.at(CLUSTER)).unwrap()
    }

    pub(super) fn at(&self, path: &str) -> Value {
        self.objects.lock().unwrap()[path].clone()
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().map(|(asked, _)| asked.clone()).collect()
    }

    pub(super) fn body(&self, asked: &str) -> Value {
        let log = self.log.lock().unwrap();
        log.iter().find(|(found, _)| found == asked).map(|(_, body)| body.clone()).unwrap_or_default()
    }

    pub(super) fn reason(&self) -> String {
        let status = self.at(CLUSTER)["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == "ControlPlaneEndpointReady");
        found.map(|condition| condition["reason"].as_str().unwrap().to_owned()).unwrap_or_default()
    }
}

fn refusal(code: u16) -> (u16, Value) {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        _ => "InternalError",
    };
    (code, json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": reason}))
}

/// As a JSON merge patch does.
pub(super) fn merge(into: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *into = patch;
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    let object = into.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            object.remove(&key);
        } else {
            merge(object.entry(key).or_insert(Value::Null), value);
        }
    }
}
