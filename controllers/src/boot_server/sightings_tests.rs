//! How often it is written who asked, however often somebody asks: against an API server that counts, in time that stands
//! still but for what a test says.

use std::convert::Infallible;

use beskar7_boot::dhcp::{Client as Asking, Kind, Loader, Mac};
use kube::client::Body;
use serde_json::Value;

use super::*;

const OBJECTS: &str = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/metal/dhcpreservations";

/// Answers all patches with this status, and keeps when which object was to say what.
#[derive(Clone)]
struct Server {
    status: u16,
    written: Arc<Mutex<Vec<(Instant, String, Value)>>>,
}

impl Server {
    fn new(status: u16) -> Self {
        Self { status, written: Arc::default() }
    }

    fn sightings(&self) -> Sightings {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move {
                let line = format!("{} {}", request.method(), request.uri().path());
                let body = request.into_body().collect_bytes().await.unwrap();
                let body: Value = serde_json::from_slice(&body).unwrap();
                server.written.lock().unwrap().push((Instant::now(), line, body));
                let answer = match server.status {
                    200 => serde_json::to_value(reservation("h").as_ref()).unwrap(),
                    code => {
                        json!({"kind": "Status", "status": "Failure", "reason": "InternalError", "code": code})
                    }
                };
                let answer = Body::from(serde_json::to_vec(&answer).unwrap());
                Ok::<_, Infallible>(http::Response::builder().status(server.status).body(answer).unwrap())
            }
        });
        Sightings::new(Client::new(service, "default"))
    }

    /// How often something was written of a reservation.
    fn count(&self, name: &str) -> usize {
        let line = format!("PATCH {OBJECTS}/{name}/status");
        self.written.lock().unwrap().iter().filter(|(_, found, _)| *found == line).count()
    }

    /// The shortest time between two writes of the same reservation.
    fn shortest_pause(&self, name: &str) -> Option<Duration> {
        let line = format!("PATCH {OBJECTS}/{name}/status");
        let written = self.written.lock().unwrap();
        let times: Vec<Instant> =
            written.iter().filter(|(_, found, _)| *found == line).map(|(at, ..)| *at).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).min()
    }
}

fn reservation(name: &str) -> Arc<DHCPReservation> {
    let reservation = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DHCPReservation",
        "metadata": {"name": name, "namespace": "metal"},
        "spec": {"hostRef": {"name": name}, "hostMAC": "52:54:00:00:00:0a"},
    });
    Arc::new(serde_json::from_value(reservation).unwrap())
}

fn asked(architecture: Option<Architecture>, given: Option<[u8; 4]>) -> Asked {
    Asked {
        mac: Mac([0x52, 0x54, 0, 0, 0, 0x0a]),
        client: Asking { loader: Loader::Pxe, architecture },
        kind: Kind::Discover,
        given: given.map(Ipv4Addr::from),
        boot: true,
    }
}

/// Lets what was begun come to its end, in no time.
async fn settle(sightings: &Sightings) {
    while !sightings.tasks.is_empty() {
        tokio::task::yield_now().await;
    }
}

/// Somebody asks every millisecond, for so many seconds, as another each time.
async fn asks_on(sightings: &Sightings, name: &str, seconds: u64) {
    let (reservation, others) = (
        reservation(name),
        [
            asked(Some(Architecture::X64), Some([192, 0, 2, 10])),
            asked(Some(Architecture::Arm64), None),
            asked(Some(Architecture::Bios), Some([192, 0, 2, 11])),
            asked(None, Some([192, 0, 2, 10])),
        ],
    );
    for asked in others.iter().cycle().take(usize::try_from(seconds).unwrap() * 1000) {
        sightings.asked(&reservation, asked);
        settle(sightings).await;
        tokio::time::advance(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn however_often_and_as_whatever_somebody_asks_it_is_written_every_five_seconds_at_most() {
    let server = Server::new(200);
    let sightings = server.sightings();
    asks_on(&sightings, "h", 10).await;
    assert_eq!(server.count("h"), 2, "10,000 times in ten seconds");
    assert!(server.shortest_pause("h") >= Some(SOONEST), "{:?}", server.shortest_pause("h"));
    asks_on(&sightings, "other", 1).await;
    assert_eq!((server.count("h"), server.count("other")), (2, 1), "each for itself");
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_written_is_tried_no_sooner() {
    let server = Server::new(500);
    let sightings = server.sightings();
    asks_on(&sightings, "h", 10).await;
    assert_eq!(server.count("h"), 2);
    assert!(server.shortest_pause("h") >= Some(SOONEST), "{:?}", server.shortest_pause("h"));
    // And no later, though it asks as the same: it was not written.
    let (reservation, same) = (reservation("same"), asked(Some(Architecture::X64), None));
    for pause in [Duration::ZERO, SOONEST - Duration::from_millis(1), Duration::from_millis(1)] {
        tokio::time::advance(pause).await;
        sightings.asked(&reservation, &same);
        settle(&sightings).await;
    }
    assert_eq!(server.count("same"), 2);
}

#[tokio::test(start_paused = true)]
async fn what_says_the_same_is_written_again_after_a_minute_and_takes_nothing_back() {
    let server = Server::new(200);
    let (sightings, reservation) = (server.sightings(), reservation("h"));
    let same = asked(Some(Architecture::X64), Some([192, 0, 2, 10]));
    for pause in [Duration::ZERO, AGAIN - Duration::from_millis(1), Duration::from_millis(1)] {
        tokio::time::advance(pause).await;
        sightings.asked(&reservation, &same);
        settle(&sightings).await;
    }
    assert_eq!(server.count("h"), 2);
    tokio::time::advance(SOONEST).await;
    sightings.asked(&reservation, &asked(None, None));
    settle(&sightings).await;
    let written = server.written.lock().unwrap();
    let status = |at: usize| written[at].2["status"].clone();
    assert_eq!(
        (&status(0)["lastArchitecture"], &status(0)["address"]),
        (&json!("x86-64 UEFI"), &json!("192.0.2.10"))
    );
    assert_eq!(status(2).as_object().unwrap().keys().collect::<Vec<_>>(), ["lastSeen"]);
}
