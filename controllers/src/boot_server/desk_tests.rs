use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use beskar7_api::annotations;
use beskar7_boot::{
    capability::Key,
    upstream::{UpstreamSettings, Upstreams},
};
use futures::future::join_all;
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use beskar7_core::network_boot::Agent;

use super::*;
use crate::{tell::Recorder, tenancy::Tenancy, watch::Cache};

/// How many requests are under way at the stand-in for the API server, and how many were at most.
#[derive(Default)]
struct Load {
    now: AtomicUsize,
    most: AtomicUsize,
}

fn read<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

fn host(number: usize) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {
            "name": format!("h{number}"), "namespace": "metal",
            "annotations": {annotations::BOOTING: format!("c{number} {} on", now().as_second())},
        },
        "spec": {
            "redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"},
            "claimID": format!("c{number}"), "boot": {"kernelArgs": ["x={{configURL}}"]},
            "consumerRef": {"kind": "Beskar7Machine", "namespace": "metal", "name": format!("m{number}")},
        },
    })
}

fn machine(number: usize) -> Value {
    let name = format!("m{number}");
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Beskar7Machine",
        "metadata": {
            "name": name, "namespace": "metal",
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
                "uid": name, "controller": true}],
        },
        "spec": {"imageURL": "http://x/a.iso", "provisioningMode": "RemoteConfig"},
    })
}

fn owner(number: usize) -> Value {
    let name = format!("m{number}");
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "metal", "uid": name},
        "spec": {"clusterName": "c", "bootstrap": {"dataSecretName": name}, "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Beskar7Machine", "name": name}},
    })
}

/// Has the host and the bootstrap data of every number, and takes a second for each answer.
fn api_server(load: Arc<Load>) -> Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let load = load.clone();
        async move {
            let under_way = load.now.fetch_add(1, Ordering::SeqCst) + 1;
            load.most.fetch_max(under_way, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            load.now.fetch_sub(1, Ordering::SeqCst);
            let name = request.uri().path().rsplit('/').next().unwrap();
            let answer = match name.strip_prefix('h') {
                Some(number) => host(number.parse().unwrap()),
                None => json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                    "data": {"value": k8s_openapi::ByteString(name.into())}}),
            };
            Ok::<_, Infallible>(http::Response::new(Body::from(serde_json::to_vec(&answer).unwrap())))
        }
    });
    Client::new(service, "default")
}

async fn desk(count: usize, client: Client) -> BootDesk {
    desk_of((0..count).map(host).collect(), client).await
}

async fn desk_of(hosts: Vec<Value>, client: Client) -> BootDesk {
    let count = hosts.len();
    let caches = Caches {
        hosts: Cache::of(hosts.into_iter().map(read).collect()),
        machines: Cache::of((0..count).map(|number| read(machine(number))).collect()),
        owner_machines: Cache::of((0..count).map(|number| read(owner(number))).collect()),
        claims: Cache::empty(),
        clusters: Cache::of(Vec::new()),
        templates: Cache::of(Vec::new()),
        owner_clusters: Cache::of(Vec::new()),
        boot_configurations: Cache::empty(),
        reservations: Cache::empty(),
        policies: Cache::empty(),
        tenancy: Tenancy::new(Cache::of(Vec::new()), Cache::of(Vec::new())),
    };
    let upstreams = Upstreams::new(&UpstreamSettings::default()).unwrap();
    let presenter = Presenter::new("http://b", Key::new(&[1; 32]).unwrap(), upstreams, Agent::default());
    let holders = Holders::new(presenter.links.clone(), &caches);
    let (changed, changes) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..count {
        changed.send(("metal".to_owned(), format!("h{number}"))).unwrap();
    }
    drop(changed);
    let stop = CancellationToken::new();
    holders.clone().follow(changes, stop).await;
    BootDesk {
        hearing: Hearing::new(client.clone()),
        agents: Agents::new(client.clone()),
        chatter: Chatter::new(),
        witness: Witness::new(Recorder::new(client.clone(), "test", "test-0")),
        loaders: Files::default(),
        client,
        metrics: Metrics::new(),
        caches,
        holders,
        presenter,
        volumes: Volumes::default(),
        turns: Semaphore::new(AT_ONCE),
        configuration_timeout: Duration::from_secs(3600),
    }
}

#[tokio::test(start_paused = true)]
async fn when_a_whole_site_asks_at_once_the_api_server_is_asked_for_some_at_a_time_and_all_are_answered() {
    let load = Arc::new(Load::default());
    let count = 10 * AT_ONCE;
    let desk = desk(count, api_server(load.clone())).await;
    let capability = |number| desk.presenter.links.capability(Purpose::Configuration, &format!("c{number}"));
    let asked = (0..count).map(|number| {
        let (desk, capability) = (&desk, capability(number));
        async move { desk.configuration(&capability).await.map(|configuration| configuration.user_data) }
    });
    for (number, user_data) in join_all(asked).await.into_iter().enumerate() {
        assert_eq!(user_data, Ok(format!("m{number}").into()));
    }
    assert_eq!(load.most.load(Ordering::SeqCst), AT_ONCE);
}

#[tokio::test(start_paused = true)]
async fn who_guesses_takes_nobodys_turn() {
    let load = Arc::new(Load::default());
    let desk = desk(1, api_server(load.clone())).await;
    let all = desk.turns.acquire_many(u32::try_from(AT_ONCE).unwrap()).await.unwrap();
    let links = &desk.presenter.links;
    for (purpose, claim) in [(Purpose::Configuration, "other"), (Purpose::PhoneHome, "c0")] {
        let refused = desk.configuration(&links.capability(purpose, claim)).await;
        assert_eq!(refused.map(|_| ()), Err(Refusal::Nothing));
        assert_eq!(desk.may_ask(&links.capability(purpose, claim)), Err(Refusal::Nothing));
    }
    assert_eq!(desk.may_ask(&links.capability(Purpose::Configuration, "c0")), Ok(()));
    drop(all);
    assert_eq!(load.most.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_that_he_is_no_agent_before_all_hosts_are_known() {
    let mut desk = desk(1, api_server(Arc::default())).await;
    let known = desk.holders.clone();
    let not_yet = Holders::new(desk.presenter.links.clone(), &desk.caches);
    let agent = |claim: &str| (Purpose::Agent, claim.to_owned());
    for (holders, (purpose, claim), expected) in [
        (&known, agent("c0"), Ok(())),
        (&known, agent("other"), Err(Refusal::Nothing)),
        (&known, (Purpose::Media, "c0".to_owned()), Err(Refusal::Nothing)),
        (&not_yet, agent("c0"), Err(Refusal::NotNow)),
        (&not_yet, agent("other"), Err(Refusal::NotNow)),
    ] {
        desk.holders = holders.clone();
        let admitted = desk.admit_agent(&desk.presenter.links.capability(purpose, &claim));
        assert_eq!(admitted, expected, "{purpose:?} {claim}");
    }
}

#[tokio::test]
async fn what_is_on_the_disk_is_started_whatever_became_of_what_was_booted() {
    let annotated = |marks: Value| {
        let mut host = host(0);
        host["metadata"]["annotations"] = marks;
        host["metadata"]["uid"] = json!("u");
        host["spec"]["boot"] = json!({"method": "iPXE", "kernel": "http://x/k"});
        host
    };
    let (installed, begun) =
        (json!({annotations::PROVISIONED: "c0"}), json!({annotations::BOOTING: "c0 100 on"}));
    // Its status was lost in a move, and where it is from does not answer any more.
    let made: HostBootConfiguration = read(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostBootConfiguration",
        "metadata": {"name": "h0", "namespace": "metal", "generation": 1,
            "labels": {beskar7_api::labels::CLAIM_ID: "c0"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "PhysicalHost", "name": "h0", "uid": "u"}]},
        "spec": {"hostRef": {"name": "h0"}, "kernel": "http://x/k"},
        "status": {"state": "Error", "observedGeneration": 1},
    }));
    let mut iso = annotated(installed.clone());
    iso["spec"]["boot"] = json!({"method": "VirtualMedia"});
    for (host, expected) in [
        (annotated(installed), Ok(ipxe::disk().to_owned())),
        (annotated(begun), Err(Refusal::NotNow)),
        (iso, Err(Refusal::Nothing)),
    ] {
        for configurations in [vec![], vec![made.clone()]] {
            let mut desk = desk_of(vec![host.clone()], api_server(Arc::default())).await;
            desk.caches.boot_configurations = Cache::of(configurations.clone());
            let capability = desk.presenter.links.capability(Purpose::Media, "c0");
            assert_eq!(desk.script(&capability), expected, "{host} {configurations:?}");
        }
    }
}

#[tokio::test]
async fn who_boots_while_its_host_is_paused_is_told_to_ask_again_and_given_nothing() {
    let booting = format!("c0 {} on", now().as_second());
    let begun = || (annotations::BOOTING, booting.as_str());
    let paused = (annotations::PAUSED, "");
    for (marks, expected) in [
        (vec![begun(), paused], Refusal::NotNow),
        (vec![paused], Refusal::Nothing),
        (vec![(annotations::PROVISIONED, "c0"), paused], Refusal::Nothing),
        (vec![begun(), paused, (annotations::DELETE_FOR_MOVE, "")], Refusal::Nothing),
    ] {
        for volume in [false, true] {
            let mut held = host(0);
            if volume {
                held["spec"]["boot"] = json!({"configVolume": "cidata"});
            }
            let mut now_paused = held.clone();
            now_paused["metadata"]["annotations"] =
                marks.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            let answer = serde_json::to_vec(&now_paused).unwrap();
            let service = tower::service_fn(move |_: http::Request<Body>| {
                let answer = Body::from(answer.clone());
                async move { Ok::<_, Infallible>(http::Response::new(answer)) }
            });
            let desk = desk_of(vec![held], Client::new(service, "default")).await;
            let capability = |purpose| desk.presenter.links.capability(purpose, "c0");
            let refused = if volume {
                let medium = MediumName::Volume { label: "cidata" };
                desk.medium(&capability(Purpose::Media), medium).await.map(drop)
            } else {
                desk.configuration(&capability(Purpose::Configuration)).await.map(drop)
            };
            assert_eq!(refused, Err(expected), "{marks:?}, volume: {volume}");
            // Who guesses learns nothing of the pause.
            let guessed = capability(Purpose::PhoneHome);
            assert_eq!(desk.configuration(&guessed).await.map(drop), Err(Refusal::Nothing));
        }
    }
}

/// What was logged while it is there.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// The lines with this word.
    fn with(&self, word: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_logs_is_logged_while_its_order_stands_and_not_without_end() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let mut installing = host(0);
    installing["spec"]["boot"]["install"] = json!({"image": "http://x/a.raw"});
    let answer = serde_json::to_vec(&installing).unwrap();
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let answer = Body::from(answer.clone());
        async move { Ok::<_, Infallible>(http::Response::new(answer)) }
    });
    let desk = desk_of(vec![installing.clone()], Client::new(service, "default")).await;
    let order = beskar7_core::agent::Assignment::of(&read(installing), "c0").unwrap().order();
    let agent = desk.presenter.links.capability(Purpose::Agent, "c0");
    let url = format!("http://b/c/{}/", agent.in_url());
    let report = |order: &str, state: Value| {
        let mut report = json!({"order": order, "log": vec![format!("a line from {url}"); 100]});
        report.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
        read::<Report>(report)
    };
    let running = || json!({"state": "running", "step": "writing"});

    // What it was told before is over.
    let over = desk.report(&agent, report("install-1-1", running())).await;
    assert_eq!((over, log.with("an agent says")), (Ok(Reported::NotWanted), Vec::new()));
    for _ in 0..5 {
        assert_eq!(desk.report(&agent, report(&order, running())).await, Ok(Reported::Taken));
    }
    let lines = log.with("a line from http://b/c/…/");
    assert_eq!(lines.len(), 200);
    assert!(lines.iter().all(|line| line.contains("INFO") && line.contains("name=\"h0\"")), "{lines:?}");
    let left_out = log.with("left_out");
    assert!(left_out.len() == 1 && left_out[0].contains("left_out=100"), "{left_out:?}");
    // Another verdict, which the API server was asked for.
    tokio::time::advance(Duration::from_secs(60)).await;
    let nonsense = json!({"state": "done", "goingDown": null});
    assert_eq!(desk.report(&agent, report(&order, nonsense)).await, Ok(Reported::Nonsense));
    assert_eq!(log.with("a line from").len(), 300);
    let left_out = log.with("left_out");
    assert!(left_out.len() == 2 && left_out[1].contains("left_out=200"), "{left_out:?}");
}
