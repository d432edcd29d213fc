//! Whom discovery writes down, against an API server that answers as it is told.

use std::convert::Infallible;

use beskar7_api::annotations::{ERRAND, INSPECTED, SAME_MACHINE};
use beskar7_boot::dhcp::{Architecture, Loader};
use beskar7_core::host::discovery::{NOWHERE, is_discovered};
use kube::client::Body;
use serde_json::Value;

use super::*;

const MAC: Mac = Mac([0x52, 0x54, 0, 0, 0, 0x0a]);

fn stranger(mac: Mac) -> Stranger {
    Stranger { mac, loader: Loader::Pxe, architecture: Architecture::X64 }
}

fn host(name: &str, spec: Value, marks: Value, nics: Value) -> PhysicalHost {
    let mut whole =
        json!({"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"}});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {
            "name": name, "namespace": "racks", "annotations": marks, "resourceVersion": "7",
            "labels": {"beskar7.infrastructure.cluster.x-k8s.io/discovered": "true"},
        },
        "spec": whole, "status": {"hardwareDetails": {"nics": nics}},
    }))
    .unwrap()
}

/// A candidate with this address.
fn waiting(mac: Mac, marks: Value) -> PhysicalHost {
    let spec = json!({
        "redfishConnection": {"address": NOWHERE, "credentialsSecretRef": "b"},
        "bootMACAddress": mac.to_string(), "inspect": true, "cordoned": "x",
    });
    host(&beskar7_core::host::discovery::name(&mac.to_string()), spec, marks, json!([]))
}

/// Answers what is created or changed with what was sent, and the rest with this status.
struct Server {
    status: u16,
    sent: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    fn client(&self) -> Client {
        let (status, sent) = (self.status, self.sent.clone());
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let sent = sent.clone();
            async move {
                let line = format!("{} {}", request.method(), request.uri().path());
                let body = request.into_body().collect_bytes().await.unwrap_or_default();
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                sent.lock().unwrap().push((line, body.clone()));
                let answer = if status < 300 {
                    let mut whole = serde_json::to_value(waiting(MAC, json!(null))).unwrap();
                    let mut marks = body["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
                    marks.retain(|_, value| !value.is_null());
                    whole["metadata"]["annotations"] = Value::Object(marks);
                    whole
                } else {
                    let reason = if status == 409 { "AlreadyExists" } else { "Forbidden" };
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status})
                };
                let answer = Body::from(serde_json::to_vec(&answer).unwrap());
                Ok::<_, Infallible>(http::Response::builder().status(status).body(answer).unwrap())
            }
        });
        Client::new(service, "default")
    }

    /// What was asked of hosts, but for events.
    fn asked(&self) -> Vec<String> {
        let all = self.sent.lock().unwrap();
        all.iter().map(|(line, _)| line.clone()).filter(|line| line.contains("physicalhosts")).collect()
    }
}

/// One that knows these hosts and has a place for so many, what waits for it, and the server.
fn discovery(
    hosts: Vec<PhysicalHost>,
    limit: usize,
    status: u16,
) -> (Arc<Discovery>, mpsc::Receiver<Stranger>, Server) {
    let server = Server { status, sent: Arc::default() };
    let settings = Discovering { namespace: "racks".to_owned(), limit, watch_filter: None };
    let keys: Vec<Key> = hosts.iter().map(key).collect();
    let recorder = Recorder::new(server.client(), "test", "test-0");
    let (found, queue) =
        Discovery::new(settings, (server.client(), recorder), Metrics::new(), Cache::of(hosts));
    keys.iter().for_each(|key| found.saw(key));
    found.complete.store(true, Ordering::Release);
    (found, queue, server)
}

fn counted(discovery: &Discovery, answer: &str) -> bool {
    let text = discovery.metrics.text().unwrap();
    text.contains(&format!("beskar7_discovered_machines_total{{answer=\"{answer}\"}} 1"))
}

#[tokio::test]
async fn only_machines_that_no_host_names_are_looked_for() {
    let nics = json!([{"name": "eth1", "macAddress": "52:54:00:00:00:02"}]);
    let by_boot = json!({"bootMACAddress": "52:54:00:00:00:01"});
    let hosts = vec![
        host("a", by_boot, json!(null), nics),
        waiting(Mac([0x52, 0x54, 0, 0, 0, 3]), json!({ERRAND: "inspect i 1 on"})),
        waiting(Mac([0x52, 0x54, 0, 0, 0, 4]), json!({INSPECTED: "2026-01-01T00:00:00Z"})),
        waiting(Mac([0x52, 0x54, 0, 0, 0, 5]), json!(null)),
    ];
    let (found, ..) = discovery(hosts, 9, 201);
    for (last, expected) in [(1, false), (2, false), (3, false), (4, false), (5, true), (6, true)] {
        assert_eq!(found.looks_for(Mac([0x52, 0x54, 0, 0, 0, last])), expected, "{last}");
    }
    for mac in [Mac([0; 6]), Mac([0xff; 6]), Mac([1, 0, 0x5e, 0, 0, 1])] {
        assert!(!found.looks_for(mac), "{mac} is nobody's");
    }
    found.complete.store(false, Ordering::Release);
    assert!(!found.looks_for(MAC), "not all hosts are known yet");
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_written_down_once_however_often_it_asks() {
    let (found, queue, server) = discovery(vec![], 9, 201);
    let stop = CancellationToken::new();
    for _ in 0..5 {
        found.met(&stranger(MAC));
    }
    assert!(!found.looks_for(MAC), "it waits to be written");
    let running = tokio::spawn(found.clone().run(queue, stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    for _ in 0..5 {
        found.met(&stranger(MAC));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let hosts = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/racks/physicalhosts";
    assert_eq!(server.asked(), [format!("POST {hosts}")]);
    let sent = server.sent.lock().unwrap().clone();
    let written: PhysicalHost = serde_json::from_value(sent[0].1.clone()).unwrap();
    assert!(is_discovered(&written) && written.spec.boot_mac_address == Some(MAC.to_string()));
    let event = sent.iter().find(|(line, _)| line.contains("/events")).unwrap();
    assert_eq!(event.1["reason"], "Discovered");
    assert!(event.1["note"].as_str().unwrap().contains("x86-64 UEFI"), "{}", event.1);
    assert!(counted(&found, "written"));
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_was_not_inspected_is_begun_again_and_needs_no_room() {
    let (found, queue, server) = discovery(vec![waiting(MAC, json!(null))], 1, 200);
    found.met(&stranger(MAC));
    let stop = CancellationToken::new();
    let running = tokio::spawn(found.clone().run(queue, stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let host = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/racks/physicalhosts/discovered-52540000000a";
    assert_eq!(server.asked(), [format!("PATCH {host}")]);
    let sent = server.sent.lock().unwrap()[0].1.clone();
    assert_eq!(sent["metadata"]["resourceVersion"], "7");
    assert!(sent["metadata"]["annotations"][ERRAND].as_str().unwrap().starts_with("inspect "), "{sent}");
    assert!(counted(&found, "again") && !found.looks_for(MAC), "it is on its errand");
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_more_are_written_than_may_wait_and_a_flood_fills_nothing() {
    let (found, queue, server) = discovery(vec![waiting(Mac([2, 0, 0, 0, 0, 1]), json!(null))], 1, 201);
    found.met(&stranger(MAC));
    assert!(counted(&found, "over-limit") && !found.waiting().contains(&MAC));
    // One that asked while there was room, of which there is none any more.
    found.queue.try_send(stranger(MAC)).unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn(found.clone().run(queue, stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(server.asked(), Vec::<String>::new());
    stop.cancel();
    running.await.unwrap();

    let (found, _queue, _) = discovery(vec![], 9999, 201);
    for number in 0..=MOST_WAITING {
        let [.., high, low] = number.to_be_bytes();
        found.met(&stranger(Mac([2, 0, 0, 0, high, low])));
    }
    assert_eq!(found.waiting().len(), MOST_WAITING);
    assert!(counted(&found, "dropped"));
}

#[tokio::test]
async fn of_candidates_that_are_one_known_host_all_but_one_count() {
    let is = |last: u8, known: &str| waiting(Mac([2, 0, 0, 0, 0, last]), json!({SAME_MACHINE: known}));
    let stands = |last: u8| waiting(Mac([2, 0, 0, 0, 0, last]), json!(null));
    for (candidates, expected) in [
        (vec![], 0),
        (vec![stands(1)], 1),
        (vec![is(1, "racks/a")], 0),
        (vec![is(1, "racks/a"), is(2, "racks/b")], 0),
        (vec![is(1, "racks/a"), is(2, "racks/a")], 1),
        (vec![is(1, "racks/a"), is(2, "racks/a"), is(3, "racks/a"), is(4, "racks/b"), stands(5)], 3),
    ] {
        let named: Vec<_> = candidates.iter().map(|host| host.metadata.annotations.clone()).collect();
        let (found, ..) = discovery(candidates.clone(), expected.max(1), 201);
        let known = || found.known.read().unwrap();
        assert_eq!(known().candidates(), expected, "{named:?}");
        assert_eq!(found.is_full(), expected > 0, "{named:?}");
        // However often each is looked at, and when they are gone, nothing is left of them.
        candidates.iter().for_each(|host| found.lock().saw(&key(host), Some(host)));
        assert_eq!(known().candidates(), expected, "{named:?}");
        candidates.iter().for_each(|host| found.lock().saw(&key(host), None));
        assert_eq!(known().candidates(), 0, "{named:?}");
        found.lock().saw(&key(&stands(9)), Some(&stands(9)));
        assert_eq!(known().candidates(), 1, "{named:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_written_is_tried_when_the_machine_asks_again() {
    for (status, failed) in [(403, true), (409, false)] {
        let (found, queue, server) = discovery(vec![], 9, status);
        let stop = CancellationToken::new();
        found.met(&stranger(MAC));
        let running = tokio::spawn(found.clone().run(queue, stop.clone()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((server.asked().len(), counted(&found, "failed")), (1, failed), "{status}");
        assert!(found.looks_for(MAC), "{status}");
        stop.cancel();
        running.await.unwrap();
    }
}

#[tokio::test]
async fn nobody_is_looked_for_while_a_machine_in_use_may_be_meant() {
    let held = json!({"claimID": "c", "consumerRef": {"kind": "HostClaim", "namespace": "t", "name": "m"}});
    let nics = json!([{"name": "eth1", "macAddress": "52:54:00:00:00:02"}]);
    for (spec, nics, expected) in [
        (json!({}), json!([]), true),
        (held.clone(), nics, true),
        (held, json!([]), false),
        (json!({"externallyProvisioned": true}), json!([]), false),
        (json!({"externallyProvisioned": true, "bootMACAddress": "52:54:00:00:00:03"}), json!([]), true),
    ] {
        let (found, ..) = discovery(vec![host("a", spec.clone(), json!(null), nics)], 9, 201);
        assert_eq!(found.looks_for(MAC), expected, "{spec}");
    }
}

#[tokio::test]
async fn what_an_agent_on_a_stranger_says_that_it_has_hides_nobody() {
    let mut candidate = waiting(Mac([0x52, 0x54, 0, 0, 0, 3]), json!({INSPECTED: "2026-01-01T00:00:00Z"}));
    let nics = json!([{"name": "eth0", "macAddress": MAC.to_string()}]);
    candidate.status = serde_json::from_value(json!({"hardwareDetails": {"nics": nics}})).unwrap();
    let (found, ..) = discovery(vec![candidate], 9, 201);
    assert!(found.looks_for(MAC));
}
