//! Workload clusters as small servers: how often they are asked, and that one that hangs holds up nobody.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::get,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use super::*;

const LIMIT: Duration = Duration::from_secs(60);

/// An API server with one Node, or one that hangs.
#[derive(Clone, Default)]
struct Server {
    hangs: bool,
    node: &'static str,
    token: &'static str,
    lists: Arc<AtomicUsize>,
}

impl Server {
    async fn start(&self) -> String {
        let app = Router::new().route("/api/v1/nodes", get(list)).with_state(self.clone());
        serve(app).await
    }

    fn lists(&self) -> usize {
        self.lists.load(Ordering::SeqCst)
    }
}

async fn serve(app: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url
}

async fn list(State(server): State<Server>, headers: HeaderMap) -> (StatusCode, String) {
    server.lists.fetch_add(1, Ordering::SeqCst);
    if server.hangs {
        std::future::pending::<()>().await;
    }
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if shown != format!("Bearer {}", server.token) {
        let refusal = json!({"kind": "Status", "status": "Failure", "message": "Unauthorized", "code": 401});
        return (StatusCode::UNAUTHORIZED, refusal.to_string());
    }
    let node = json!({"metadata": {"name": server.node, "uid": "u"}, "spec": {}, "status": {}});
    (
        StatusCode::OK,
        json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [node]}).to_string(),
    )
}

/// The Secrets of our own cluster, by name.
type Secrets = Arc<Mutex<HashMap<String, Value>>>;

async fn secret(
    State(secrets): State<Secrets>,
    Path((_, name)): Path<(String, String)>,
) -> (StatusCode, String) {
    match secrets.lock().unwrap().get(&name) {
        Some(secret) => (StatusCode::OK, secret.to_string()),
        None => {
            let refusal = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
            (StatusCode::NOT_FOUND, refusal.to_string())
        }
    }
}

struct World {
    workloads: Arc<Workloads>,
    secrets: Secrets,
    woken: UnboundedReceiver<Key>,
    _stop: tokio_util::sync::DropGuard,
}

impl World {
    async fn new() -> Self {
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let secrets = Secrets::default();
        let app = Router::new()
            .route("/api/v1/namespaces/{namespace}/secrets/{name}", get(secret))
            .with_state(secrets.clone());
        let config = kube::Config::new(serve(app).await.parse().unwrap());
        let client = crate::connection::Connection::elsewhere(config, HeaderValue::from_static("t"), LIMIT);
        let (wake, woken) = unbounded_channel();
        let stop = CancellationToken::new();
        let workloads = Workloads::new(Means {
            client: client.plain().unwrap(),
            user_agent: HeaderValue::from_static("test"),
            may_write: Arc::new(|| true),
            label_prefixes: vec![],
            pace: Pace { shortest: ms(20), longest: ms(100), request: ms(2000) },
            wake,
            stop: stop.clone(),
        });
        Self { workloads, secrets, woken, _stop: stop.drop_guard() }
    }

    fn kubeconfig(&self, cluster: &str, url: &str, token: &str, version: &str) {
        let file = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "w", "user": "u"}}],
            "clusters": [{"name": "w", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {"token": token}}],
        });
        let name = format!("{cluster}-kubeconfig");
        let data = k8s_openapi::ByteString(file.to_string().into_bytes());
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "uid": "s", "resourceVersion": version},
            "data": {"value": data},
        });
        self.secrets.lock().unwrap().insert(name, secret);
    }

    fn waits(&self, cluster: &str, machine: &str) {
        let (cluster, machine) = (key(cluster), key(machine));
        self.workloads.waits(&cluster, &machine, &self.workloads.known(&cluster));
    }

    async fn next(&mut self) -> String {
        tokio::time::timeout(LIMIT, self.woken.recv()).await.expect("nobody is woken").unwrap().1
    }

    /// The names of a cluster's Nodes, or what is said instead.
    fn told(&self, cluster: &str) -> String {
        match self.workloads.known(&key(cluster)).nodes {
            Some(Ok(nodes)) => nodes.iter().map(|node| node.name.clone()).collect(),
            Some(Err(trouble)) => trouble.finding().message,
            None => String::new(),
        }
    }
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn key(name: &str) -> Key {
    ("metal".to_owned(), name.to_owned())
}

#[tokio::test]
async fn however_many_wait_a_cluster_is_asked_once() {
    let mut world = World::new().await;
    let server = Server { node: "n", token: "t", ..Server::default() };
    world.kubeconfig("edge", &server.start().await, "t", "1");
    let machines: BTreeSet<String> = (0..500).map(|number| format!("m-{number}")).collect();
    machines.iter().for_each(|machine| world.waits("edge", machine));
    let mut woken = BTreeSet::new();
    while woken.len() < machines.len() {
        woken.insert(world.next().await);
    }
    assert_eq!(woken, machines);
    assert_eq!((world.told("edge").as_str(), server.lists()), ("n", 1));
}

#[tokio::test]
async fn a_cluster_that_hangs_holds_up_nobody_else() {
    let mut world = World::new().await;
    let (stuck, well) =
        (Server { hangs: true, ..Server::default() }, Server { node: "n", token: "t", ..Server::default() });
    world.kubeconfig("stuck", &stuck.start().await, "t", "1");
    world.kubeconfig("well", &well.start().await, "t", "1");
    for number in 0..100 {
        world.waits("stuck", &format!("stuck-{number}"));
    }
    world.waits("well", "well");
    assert_eq!(world.next().await, "well");
    assert_eq!((world.told("well").as_str(), world.told("stuck").as_str()), ("n", ""));
    // In the end it is said that it hangs.
    assert!(world.next().await.starts_with("stuck-"));
    assert!(world.told("stuck").contains("did not answer within"), "{}", world.told("stuck"));
}

#[tokio::test]
async fn a_kubeconfig_is_read_again_when_it_changes_or_is_refused() {
    let mut world = World::new().await;
    world.waits("edge", "m");
    assert_eq!(world.next().await, "m");
    assert!(world.told("edge").contains("metal/edge-kubeconfig"), "{}", world.told("edge"));

    let first = Server { node: "first", token: "new", ..Server::default() };
    let url = first.start().await;
    world.kubeconfig("edge", &url, "old", "1");
    world.waits("edge", "m");
    assert_eq!(world.next().await, "m");
    assert!(world.told("edge").contains("Unauthorized"), "{}", world.told("edge"));

    world.kubeconfig("edge", &url, "new", "2");
    world.waits("edge", "m");
    assert_eq!(world.next().await, "m");
    assert_eq!(world.told("edge"), "first");

    let second = Server { node: "second", token: "new", ..Server::default() };
    world.kubeconfig("edge", &second.start().await, "new", "3");
    world.waits("edge", "m");
    assert_eq!(world.next().await, "m");
    assert_eq!(world.told("edge"), "second");
}

#[tokio::test]
async fn a_cluster_that_is_gone_is_forgotten() {
    let mut world = World::new().await;
    world.waits("edge", "m");
    assert_eq!(world.next().await, "m");
    let (changes, changed) = unbounded_channel();
    let running = tokio::spawn(world.workloads.clone().run(changed, Cache::of(vec![])));
    let gone = world.workloads.workload(&key("edge")).gone.clone();
    changes.send(key("edge")).unwrap();
    gone.cancelled().await;
    assert_eq!(world.told("edge"), "", "it would be a new one");
    drop(changes);
    running.await.unwrap();
}
