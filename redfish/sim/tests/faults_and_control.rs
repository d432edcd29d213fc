//! Faults as a client meets them, the control API, https and latency.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod rig;

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use beskar7_redfish_sim::faults::{Armed, Fault};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig, FleetError};
use beskar7_redfish_sim::machine::boot::BootSource;
use beskar7_redfish_sim::profiles;
use reqwest::{Method, StatusCode};
use rig::{ADDRESS, Rig, config, header, message_id};
use serde_json::{Value, json};

const SYSTEMS: &str = "/redfish/v1/Systems";

fn arm(rig: &Rig, armed: Armed) {
    rig.host().with(|bmc, _| bmc.faults.arm(armed));
}

async fn status(rig: &Rig) -> StatusCode {
    rig.send(Method::GET, SYSTEMS, &[], None).await.status()
}

#[tokio::test]
async fn a_hang_never_answers_and_spares_other_paths() {
    let rig = Rig::start("plain").await;
    arm(&rig, Armed::always(Fault::Hang).at("/Systems"));
    let hung = tokio::time::timeout(Duration::from_millis(300), status(&rig)).await;
    assert!(hung.is_err());
    rig.get("/redfish/v1/Managers").await;
    rig.host().with(|bmc, _| bmc.faults.clear());
    assert_eq!(status(&rig).await, StatusCode::OK);
}

#[tokio::test]
async fn slow_is_slow() {
    let rig = Rig::start("plain").await;
    arm(&rig, Armed::times(Fault::Slow { ms: 500 }, 1));
    let before = Instant::now();
    assert_eq!(status(&rig).await, StatusCode::OK);
    assert!(before.elapsed() >= Duration::from_millis(500));
    assert!(rig.host().with(|bmc, _| bmc.faults.armed().is_empty()), "and then no more");
}

#[tokio::test]
async fn a_reset_breaks_the_connection() {
    let rig = Rig::start("plain").await;
    arm(&rig, Armed::times(Fault::Reset, 1));
    let request = rig.client.get(format!("{}{SYSTEMS}", rig.url)).header("X-Auth-Token", &rig.token);
    let error = format!("{:?}", request.send().await.unwrap_err());
    assert!(error.contains("ConnectionReset"), "{error}");
    assert_eq!(status(&rig).await, StatusCode::OK);
}

#[tokio::test]
async fn unauthorized_and_unavailable_come_and_go() {
    let rig = Rig::start("plain").await;
    arm(&rig, Armed::times(Fault::Unauthorized, 1));
    assert_eq!(status(&rig).await, StatusCode::UNAUTHORIZED);
    arm(&rig, Armed::times(Fault::Unavailable { retry_after_seconds: 7 }, 1));
    let answer = rig.send(Method::GET, SYSTEMS, &[], None).await;
    assert_eq!((answer.status().as_u16(), header(&answer, "retry-after").as_str()), (503, "7"));
    assert!(message_id(answer).await.ends_with("ServiceTemporarilyUnavailable"));
    assert_eq!(status(&rig).await, StatusCode::OK);
}

#[tokio::test]
async fn a_lost_session_needs_a_new_one() {
    let mut rig = Rig::start("plain").await;
    arm(&rig, Armed::times(Fault::LostSession, 1));
    assert_eq!(status(&rig).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(&rig).await, StatusCode::UNAUTHORIZED);
    rig.log_in().await;
    assert_eq!(status(&rig).await, StatusCode::OK);
}

#[tokio::test]
async fn stuck_power_says_yes_and_does_nothing() {
    let rig = Rig::start("plain").await;
    arm(&rig, Armed::times(Fault::StuckPower, 1));
    assert_eq!(rig.reset("On").await.status(), 204);
    tokio::time::sleep(Duration::from_millis(200)).await;
    rig.until("/PowerState", "Off").await;
    assert_eq!(rig.reset("On").await.status(), 204);
    rig.until("/PowerState", "On").await;
    let log = rig.log();
    let outcomes: Vec<&Value> =
        log.iter().filter(|e| e["action"] == "reset").map(|e| &e["outcome"]).collect();
    assert_eq!(outcomes, ["Stuck", "Started"]);
}

#[tokio::test]
async fn an_ignored_override_is_shown_and_not_obeyed() {
    let rig = Rig::start("plain").await;
    rig.host().with(|bmc, _| bmc.machine.install(Some("disk".to_owned())));
    arm(&rig, Armed::times(Fault::IgnoredOverride, 1));
    let boot = json!({ "Boot": { "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe" } });
    let system = rig.system().await;
    assert_eq!(rig.patch(&system, boot).await.status(), 200);
    assert_eq!(rig.get(&system).await["Boot"]["BootSourceOverrideTarget"], "Pxe");
    rig.reset("On").await;
    rig.until("/BootProgress/LastState", "OSRunning").await;
    let running = rig.host().with(|bmc, _| bmc.machine.running().cloned());
    assert_eq!(running, Some(BootSource::Disk { installed: "disk".to_owned() }));
}

#[tokio::test]
async fn lying_media_show_the_opposite() {
    let rig = Rig::start("plain").await;
    let slot = rig.slots().await.remove(0);
    arm(&rig, Armed::times(Fault::LyingMedia, 1));
    assert_eq!(rig.get(&slot).await["Inserted"], true);
    assert_eq!(rig.get(&slot).await["Inserted"], false);
}

#[tokio::test]
async fn lost_media_are_gone_before_the_request_is_looked_at() {
    let rig = Rig::start("plain").await;
    rig.host().with(|bmc, now| {
        bmc.machine.insert(now, "test", 0, "http://127.0.0.1:9/x.iso", now);
        bmc.machine.install(Some("disk".to_owned()));
    });
    let slot = rig.slots().await.remove(0);
    assert_eq!(rig.get(&slot).await["Inserted"], true);
    arm(&rig, Armed::times(Fault::LostMedia, 1).at("ComputerSystem.Reset"));
    assert_eq!(rig.get(&slot).await["Inserted"], true);
    rig.reset("On").await;
    assert_eq!(rig.get(&slot).await["Inserted"], false);
    rig.until("/BootProgress/LastState", "OSRunning").await;
    let running = rig.host().with(|bmc, _| bmc.machine.running().cloned());
    assert_eq!(running, Some(BootSource::Disk { installed: "disk".to_owned() }));
}

#[tokio::test]
async fn a_running_system_may_tell_its_addresses_to_the_bmc() {
    let rig = Rig::start("plain").await;
    rig.host().with(|bmc, _| {
        bmc.machine.install(Some("disk".to_owned()));
        bmc.machine.tell_addresses(vec!["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()]);
    });
    let interfaces = format!("{}/EthernetInterfaces", rig.system().await);
    let first = rig.get(&interfaces).await["Members"][0]["@odata.id"].as_str().unwrap().to_owned();
    assert_eq!(rig.get(&first).await.get("IPv4Addresses"), None, "nothing runs");
    rig.reset("On").await;
    rig.until("/BootProgress/LastState", "OSRunning").await;
    let nic = rig.get(&first).await;
    assert_eq!(nic["IPv4Addresses"][0]["Address"], "10.0.0.7");
    assert_eq!(nic["IPv6Addresses"][0]["Address"], "fd00::7");
}

#[tokio::test]
async fn the_control_api_sees_and_does_everything() {
    let rig = Rig::with(FleetConfig {
        count: 3,
        control: Some("127.0.0.1:0".parse().unwrap()),
        profiles: vec![profiles::plain(), profiles::by_name("hpe-ilo").unwrap()],
        pace: 0.1,
        ..config()
    })
    .await;
    let at = format!("http://{}/bmcs", rig.fleet.control().unwrap());
    let http = &rig.client;
    let read = async |url: String| http.get(url).send().await.unwrap().json::<Value>().await.unwrap();
    let write = async |url: String, body: Value| http.post(url).json(&body).send().await.unwrap();

    let all = read(at.clone()).await;
    let kinds: Vec<&Value> = all.as_array().unwrap().iter().map(|bmc| &bmc["profile"]).collect();
    assert_eq!(kinds, ["plain", "hpe-ilo", "plain"]);
    assert_eq!(all[0]["url"], json!(rig.url));

    let one = format!("{at}/{ADDRESS}");
    assert_eq!(write(format!("{one}/power"), json!({ "resetType": "On" })).await.status(), 200);
    rig.until("/PowerState", "On").await;
    let state = read(one.clone()).await;
    assert_eq!((&state["power"], &state["sessions"]["opened"]), (&json!("On"), &json!(1)));
    assert!(state["requests"].as_u64().unwrap() > 1);
    let log = read(format!("{one}/log")).await;
    let entry = log.as_array().unwrap().iter().find(|e| e["action"] == "reset").unwrap();
    assert_eq!((&entry["who"], &entry["kind"]), (&json!("control"), &json!("On")));

    let fault = json!({ "kind": "unauthorized", "count": 1 });
    assert_eq!(write(format!("{one}/faults"), fault.clone()).await.status(), 204);
    assert_eq!(read(format!("{one}/faults")).await, json!([fault]));
    assert_eq!(status(&rig).await, StatusCode::UNAUTHORIZED);
    assert_eq!(read(format!("{one}/faults")).await, json!([]));
    assert_eq!(write(format!("{one}/faults"), json!({ "kind": "gremlin" })).await.status(), 422);

    assert_eq!(write(format!("{one}/disk"), json!({ "installed": "x" })).await.status(), 204);
    assert_eq!(read(one.clone()).await["disk"], "x");
    assert_eq!(write(format!("{one}/reset"), json!({})).await.status(), 204);
    let state = read(one).await;
    assert_eq!(
        (&state["power"], &state["disk"], &state["requests"]),
        (&json!("Off"), &Value::Null, &json!(0))
    );

    let new = json!({ "address": "127.21.9.9", "profile": "supermicro" });
    assert_eq!(write(at.clone(), new.clone()).await.status(), 201);
    assert_eq!(write(at.clone(), new).await.status(), 409);
    assert_eq!(
        read(rig.fleet.url(Ipv4Addr::new(127, 21, 9, 9)) + "/redfish/v1").await["Vendor"],
        "Supermicro"
    );
    assert_eq!(write(at.clone(), json!({ "address": "10.0.0.1" })).await.status(), 400);
    assert_eq!(http.get(format!("{at}/127.99.0.1")).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn https_is_trusted_by_its_ca_alone() {
    let rig = Rig::with(FleetConfig { tls: true, count: 2, ..config() }).await;
    assert!(rig.url.starts_with("https://"));
    rig.get(SYSTEMS).await;
    let second = rig.fleet.url(Ipv4Addr::new(127, 21, 0, 2));
    assert_eq!(rig.client.get(format!("{second}/redfish/v1")).send().await.unwrap().status(), 200);
    let stranger = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    assert!(stranger.get(format!("{}/redfish/v1", rig.url)).send().await.is_err());
    arm(&rig, Armed::times(Fault::Reset, 1));
    let request = rig.client.get(format!("{}{SYSTEMS}", rig.url)).header("X-Auth-Token", &rig.token);
    assert!(request.send().await.is_err());
}

#[tokio::test]
async fn latency_is_kept_and_a_stopped_fleet_is_gone() {
    let rig = Rig::with(FleetConfig { latency: Duration::from_millis(50), ..config() }).await;
    let before = Instant::now();
    assert_eq!(status(&rig).await, StatusCode::OK);
    assert!(before.elapsed() >= Duration::from_millis(50));
    rig.fleet.stop();
    let gone = async { while rig.client.get(&rig.url).send().await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
}

#[tokio::test]
async fn only_loopback_is_served() {
    let first = Ipv4Addr::new(192, 0, 2, 1);
    let refused = Fleet::start(FleetConfig { first, ..FleetConfig::default() }).await;
    assert!(matches!(refused, Err(FleetError::NotLoopback(_))));
    let control = Some("0.0.0.0:0".parse().unwrap());
    let refused = Fleet::start(FleetConfig { control, ..config() }).await;
    assert!(matches!(refused, Err(FleetError::NotLoopback(_))));
}
