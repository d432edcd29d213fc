//! The checks before a stand-in for the API server. The same against a real one is in the end-to-end tests.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use kube::client::Body;

use super::*;

/// What the stand-in answers.
#[derive(Clone, Default)]
struct MockApiServer {
    /// This many requests fail with 503 first.
    failures: Arc<AtomicUsize>,
    /// Answers 401 to everything.
    unauthorized: bool,
    /// Kinds of ours that are not there.
    missing_kinds: Vec<&'static str>,
    /// No Cluster API.
    no_cluster_api: bool,
    /// `verb resource` pairs that are refused.
    refused: Vec<&'static str>,
}

impl MockApiServer {
    fn client(self) -> Client {
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = self.clone();
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect_bytes().await.unwrap();
                let asked = serde_json::from_slice(&body).unwrap_or(serde_json::Value::Null);
                let (code, answer) = server.answer(&path, asked);
                let response = http::Response::builder().status(code);
                if code == 404 {
                    // As the real one does for paths that it does not know.
                    return Ok(response.body(Body::from(b"404 page not found\n".to_vec())).unwrap());
                }
                Ok::<_, Infallible>(response.body(Body::from(serde_json::to_vec(&answer).unwrap())).unwrap())
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, path: &str, asked: serde_json::Value) -> (u16, serde_json::Value) {
        let status = |code: u16, reason: &str| {
            (
                code,
                serde_json::json!({"kind": "Status", "status": "Failure", "message": reason, "reason": reason, "code": code}),
            )
        };
        if self.unauthorized {
            return status(401, "Unauthorized");
        }
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {
            return status(503, "ServiceUnavailable");
        }
        let kinds = |group_version: &str, kinds: Vec<String>| {
            let resources: Vec<_> = kinds
                .iter()
                .map(|kind| serde_json::json!({"name": kind.to_lowercase(), "kind": kind, "namespaced": true, "singularName": "", "verbs": []}))
                .collect();
            (200, serde_json::json!({"groupVersion": group_version, "resources": resources}))
        };
        match path {
            "/version" => (
                200,
                serde_json::json!({
                    "major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "",
                    "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
                }),
            ),
            "/apis/infrastructure.cluster.x-k8s.io/v1beta1" => {
                let all = beskar7_api::crd::all().into_iter().map(|crd| crd.spec.names.kind);
                kinds(
                    "infrastructure.cluster.x-k8s.io/v1beta1",
                    all.filter(|kind| !self.missing_kinds.contains(&kind.as_str())).collect(),
                )
            }
            "/apis/cluster.x-k8s.io/v1beta2" if !self.no_cluster_api => {
                kinds("cluster.x-k8s.io/v1beta2", vec!["Cluster".into(), "Machine".into()])
            }
            "/apis" => (200, serde_json::json!({"groups": []})),
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
                let attributes = &asked["spec"]["resourceAttributes"];
                let what = format!(
                    "{} {}",
                    attributes["verb"].as_str().unwrap(),
                    attributes["resource"].as_str().unwrap()
                );
                let mut answer = asked.clone();
                answer["status"] = serde_json::json!({"allowed": !self.refused.contains(&what.as_str())});
                (201, answer)
            }
            "/apis/authentication.k8s.io/v1/selfsubjectreviews" => (
                201,
                serde_json::json!({"status": {"userInfo": {"username": "system:serviceaccount:b7:manager"}}}),
            ),
            _ => status(404, "NotFound"),
        }
    }
}

fn options(arguments: &[&str]) -> Options {
    let all = std::iter::once("manager").chain(arguments.iter().copied()).map(Into::into);
    Options::read(all).unwrap()
}

async fn outcome(server: MockApiServer, arguments: &[&str]) -> Result<(), String> {
    let url = "https://10.0.0.1:6443".parse().unwrap();
    check(&server.client(), &url, &options(arguments), Some("b7")).await.map_err(|error| causes(&error))
}

#[tokio::test]
async fn all_is_well() {
    assert_eq!(outcome(MockApiServer::default(), &[]).await, Ok(()));
    assert_eq!(outcome(MockApiServer::default(), &["--leader-elect", "--namespace=a"]).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_starts_is_waited_for() {
    let slow = || MockApiServer { failures: Arc::new(AtomicUsize::new(3)), ..MockApiServer::default() };
    assert_eq!(outcome(slow(), &[]).await, Ok(()));
    let error = outcome(slow(), &["--kube-api-wait=0"]).await.unwrap_err();
    assert!(error.contains("no API server answers at https://10.0.0.1:6443/"), "{error}");
    assert!(error.contains("(HTTP 503)"), "{error}");
}

#[tokio::test]
async fn unknown_credentials_are_not_tried_again() {
    let server = MockApiServer { unauthorized: true, ..MockApiServer::default() };
    let error = outcome(server, &[]).await.unwrap_err();
    assert!(error.contains("does not accept our credentials"), "{error}");
}

#[tokio::test]
async fn missing_kinds_are_named() {
    let server =
        MockApiServer { missing_kinds: vec!["HostClaim", "PhysicalHost"], ..MockApiServer::default() };
    let error = outcome(server, &[]).await.unwrap_err();
    for told in [
        "PhysicalHost (infrastructure.cluster.x-k8s.io/v1beta1)",
        "HostClaim (",
        "clusterctl init --infrastructure beskar7",
    ] {
        assert!(error.contains(told), "{told} is not in: {error}");
    }
    assert!(!error.contains("Beskar7Machine ("), "{error}");
    let server = MockApiServer { no_cluster_api: true, ..MockApiServer::default() };
    let error = outcome(server, &[]).await.unwrap_err();
    assert!(error.contains("Cluster (cluster.x-k8s.io/v1beta2), Machine"), "{error}");
}

#[tokio::test]
async fn everything_that_is_not_allowed_is_named_at_once() {
    let server = || MockApiServer {
        refused: vec!["watch physicalhosts", "get secrets", "create tokenreviews", "update leases"],
        ..MockApiServer::default()
    };
    let error = outcome(server(), &["--leader-elect"]).await.unwrap_err();
    for told in [
        "system:serviceaccount:b7:manager is not allowed to: ",
        "watch physicalhosts (infrastructure.cluster.x-k8s.io) in all namespaces",
        "get secrets in all namespaces",
        "update leases (coordination.k8s.io) in namespace b7",
        "create tokenreviews (authentication.k8s.io)",
    ] {
        assert!(error.contains(told), "{told} is not in: {error}");
    }
    let error = outcome(server(), &["--namespace=metal", "--insecure-diagnostics"]).await.unwrap_err();
    assert!(error.contains("get secrets in namespace metal"), "{error}");
    assert!(!error.contains("tokenreviews") && !error.contains("leases"), "{error}");
}

#[test]
fn a_wrong_certificate_is_told_from_a_silent_server() {
    use std::io;
    let tls = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
    let service = |source: io::Error| kube::Error::Service(Box::new(source));
    assert_eq!(trouble(&service(io::Error::other(tls()))), Trouble::Certificate);
    assert_eq!(trouble(&service(io::Error::other(io::Error::other(tls())))), Trouble::Certificate);
    assert_eq!(trouble(&service(io::Error::from(io::ErrorKind::ConnectionRefused))), Trouble::Passing);
    assert_eq!(trouble(&service(io::Error::other("reset"))), Trouble::Passing);
}
