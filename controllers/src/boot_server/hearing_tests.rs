use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use futures::FutureExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::advance;

use super::*;

fn host() -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "uid": "u", "resourceVersion": "1",
            "annotations": {annotations::BOOTING: "c 100 on"}},
        "spec": {
            "redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"}, "claimID": "c",
            "consumerRef": {"kind": "HostClaim", "namespace": "a", "name": "c"},
        },
    })
}

fn paused() -> Value {
    let mut host = host();
    host["metadata"]["annotations"][annotations::PAUSED] = json!("");
    host
}

/// Has the host, answers while it may, and counts what is written.
#[derive(Default)]
struct ApiServer {
    writes: AtomicUsize,
    paused: AtomicBool,
}

fn hearing(server: &Arc<ApiServer>, answers: &Arc<Semaphore>) -> Hearing {
    let (server, answers) = (server.clone(), answers.clone());
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (server, answers) = (server.clone(), answers.clone());
        async move {
            let _may = answers.acquire().await;
            if request.method() == http::Method::PATCH {
                server.writes.fetch_add(1, Ordering::SeqCst);
            }
            let host = if server.paused.load(Ordering::SeqCst) { paused() } else { host() };
            Ok::<_, Infallible>(http::Response::new(Body::from(serde_json::to_vec(&host).unwrap())))
        }
    });
    Hearing::new(Client::new(service, "default"))
}

#[tokio::test(start_paused = true)]
async fn who_says_it_again_waits_for_what_is_being_written() {
    let (server, answers) = (Arc::<ApiServer>::default(), Arc::new(Semaphore::new(0)));
    let hearing = hearing(&server, &answers);
    let seen: PhysicalHost = serde_json::from_value(host()).unwrap();
    let hear = || hearing.hear(&key(&seen), &seen, "c", Word::Home);
    let (mut first, mut second) = (hear(), hear());
    advance(Duration::from_secs(4)).await;
    assert_eq!(
        ((&mut first).now_or_never(), (&mut second).now_or_never()),
        (None, None),
        "nothing is written"
    );
    answers.add_permits(16);
    assert_eq!((first.await, second.await), (true, true));
    assert_eq!(
        (hear().now_or_never(), server.writes.load(Ordering::SeqCst)),
        (Some(true), 1),
        "once is enough"
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever_and_it_is_written_all_the_same() {
    let (server, answers) = (Arc::<ApiServer>::default(), Arc::new(Semaphore::new(0)));
    let hearing = hearing(&server, &answers);
    let seen: PhysicalHost = serde_json::from_value(host()).unwrap();
    let hear = || hearing.hear(&key(&seen), &seen, "c", Word::Home);
    let first = hear();
    assert!(!first.await);
    let again = hear();
    answers.add_permits(16);
    assert!(again.await, "it is still on its way");
    assert_eq!(server.writes.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_the_host_is_paused_is_written_when_that_is_over() {
    let (server, answers) = (Arc::<ApiServer>::default(), Arc::new(Semaphore::new(16)));
    server.paused.store(true, Ordering::SeqCst);
    let hearing = hearing(&server, &answers);
    let [running, held]: [PhysicalHost; 2] =
        [host(), paused()].map(|host| serde_json::from_value(host).unwrap());
    // Also who saw the host before the pause, and found it paused when it was to be written.
    for seen in [&held, &running] {
        assert!(!hearing.hear(&key(seen), seen, "c", Word::Home).await, "it is not written yet");
    }
    assert_eq!(server.writes.load(Ordering::SeqCst), 0, "a paused host is left as it is");
    server.paused.store(false, Ordering::SeqCst);
    advance(LONGEST_PAUSE).await;
    assert!(hearing.hear(&key(&running), &running, "c", Word::Home).await);
    assert_eq!(server.writes.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn who_fetched_all_while_his_host_was_paused_is_known_to_have_it() {
    let (server, answers) = (Arc::<ApiServer>::default(), Arc::new(Semaphore::new(16)));
    server.paused.store(true, Ordering::SeqCst);
    let hearing = hearing(&server, &answers);
    let [running, held]: [PhysicalHost; 2] =
        [host(), paused()].map(|host| serde_json::from_value(host).unwrap());
    assert!(!hearing.has_heard(&running, "c", Word::Image));
    drop(hearing.hear(&key(&held), &held, "c", Word::Image));
    for host in [&held, &running] {
        assert!(hearing.has_heard(host, "c", Word::Image), "it starts from its disk the next time");
    }
}
