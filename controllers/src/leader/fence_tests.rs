//! The fence before a recorder that stands in for the API server.

use std::sync::{Arc, Mutex};

use super::*;

/// Writes down what reaches it, and by which way.
#[derive(Clone)]
struct Recorder {
    way: &'static str,
    log: Arc<Mutex<Vec<String>>>,
    answers: bool,
}

impl Service<Request<()>> for Recorder {
    type Response = Response<()>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<()>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        self.log.lock().unwrap().push(format!("{} {} {}", self.way, request.method(), request.uri()));
        let answers = self.answers;
        Box::pin(async move {
            if !answers {
                std::future::pending::<()>().await;
            }
            Ok(Response::new(()))
        })
    }
}

fn fence(gate: &Gate, answers: bool) -> (Fence<Recorder>, Arc<Mutex<Vec<String>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let way = |way| Recorder { way, log: log.clone(), answers };
    (Fence::new(gate.clone(), way("open"), way("gated"), Duration::from_secs(30)), log)
}

fn request(method: &str, uri: &str) -> Request<()> {
    Request::builder().method(method).uri(uri).body(()).unwrap()
}

const HOSTS: &str = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/a/physicalhosts/h/status";

#[tokio::test]
async fn without_leadership_only_questions_pass() {
    let (mut fence, log) = fence(&Gate::closed(), true);
    for (method, uri, passes) in [
        ("GET", HOSTS, true),
        ("HEAD", HOSTS, true),
        ("PATCH", HOSTS, false),
        ("PUT", HOSTS, false),
        ("POST", "/apis/events.k8s.io/v1/namespaces/a/events", false),
        ("POST", "/api/v1/namespaces/a/secrets", false),
        ("DELETE", HOSTS, false),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", true),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", true),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", true),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true),
        ("OPTIONS", HOSTS, false),
    ] {
        let answer = fence.call(request(method, uri)).await;
        assert_eq!(answer.is_ok(), passes, "{method} {uri}");
        if let Err(error) = answer {
            assert!(error.downcast_ref::<NotLeading>().is_some(), "{error}");
        }
    }
    assert!(log.lock().unwrap().iter().all(|line| line.starts_with("open ")), "{log:?}");
}

#[tokio::test]
async fn with_leadership_writes_take_the_gated_way_and_carry_their_deadline() {
    let gate = Gate::closed();
    gate.open_until(clock::uptime() + Duration::from_secs(10));
    let (mut fence, log) = fence(&gate, true);
    fence.call(request("PATCH", &format!("{HOSTS}?fieldManager=b7"))).await.unwrap();
    fence.call(request("PATCH", HOSTS)).await.unwrap();
    let log = log.lock().unwrap();
    for line in log.iter() {
        let (before, millis) = line.split_once("timeout=").unwrap();
        let millis: u64 = millis.strip_suffix("ms").unwrap().parse().unwrap();
        assert!(before.starts_with(&format!("gated PATCH {HOSTS}?")), "{line}");
        assert!((1..=10_000).contains(&millis), "{line}");
    }
    assert!(log[0].contains("?fieldManager=b7&timeout="), "{}", log[0]);
}

#[tokio::test]
async fn after_its_time_a_leader_sends_nothing() {
    let gate = Gate::closed();
    gate.open_until(clock::uptime());
    let (mut fence, log) = fence(&gate, true);
    let error = fence.call(request("PATCH", HOSTS)).await.unwrap_err();
    assert!(error.to_string().contains("does not lead"), "{error}");
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hanging_api_server_holds_nobody() {
    let (mut fence, _) = fence(&Gate::always_open(), false);
    for method in ["GET", "PATCH"] {
        let error = fence.call(request(method, HOSTS)).await.unwrap_err();
        assert!(error.downcast_ref::<NotAnswered>().is_some(), "{method}: {error}");
    }
}
