//! Media and boot overrides of each profile, up to the machine that has read its image.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod rig;

use std::sync::Mutex;
use std::time::Duration;

use beskar7_redfish_sim::fleet::FleetConfig;
use beskar7_redfish_sim::machine::boot::BootSource;
use beskar7_redfish_sim::os::{Booted, BootedOs, OsFuture};
use beskar7_redfish_sim::profiles::by_name;
use reqwest::{Method, StatusCode};
use rig::{Rig, config, header, image, message_id};
use serde_json::{Value, json};

/// The slot's actions' targets.
fn target(slot: &Value, action: &str) -> String {
    slot["Actions"][format!("#VirtualMedia.{action}")]["target"].as_str().unwrap().to_owned()
}

async fn wait_inserted(rig: &Rig, path: &str, wanted: bool) {
    for _ in 0..200 {
        if rig.get(path).await["Inserted"] == json!(wanted) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{path} did not become Inserted: {wanted}");
}

async fn wait_accepted(rig: &Rig, kind: &str) {
    for _ in 0..200 {
        if rig.reset(kind).await.status().is_success() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{kind} stayed refused");
}

/// Slow enough that what it refuses for a moment is met by the next request.
async fn slow(profile: &str) -> Rig {
    Rig::with(FleetConfig { profiles: vec![by_name(profile).unwrap()], pace: 0.5, ..config() }).await
}

/// Boots from a slot once, and looks at what the machine did.
async fn boots_from(rig: &Rig, url: &str, override_at: &str) {
    assert!(rig.reset("On").await.status().is_success());
    for _ in 0..200 {
        if rig.host().with(|bmc, _| bmc.machine.running().is_some()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let running = rig.host().with(|bmc, _| bmc.machine.running().cloned());
    assert!(matches!(&running, Some(BootSource::Media { image, .. }) if image == url), "{running:?}");
    let log = rig.log();
    let read = log.iter().find(|e| e["action"] == "read").unwrap();
    assert_eq!(read["media"]["bytes"], 65536);
    assert_eq!(read["media"]["total"], 1_048_576);
    assert_eq!(read["media"]["ranged"], true);
    assert_eq!(rig.get(override_at).await["Boot"]["BootSourceOverrideEnabled"], "Disabled");
}

fn once(target: &str) -> Value {
    json!({ "Boot": { "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": target } })
}

#[tokio::test]
async fn plain_boots_an_image_once() {
    let (rig, url) = (Rig::start("plain").await, image().await);
    let path = rig.slots().await.remove(0);
    let slot = rig.get(&path).await;
    assert_eq!(slot["Image"], Value::Null);
    let full = json!({ "Image": url, "Inserted": true, "WriteProtected": true });
    assert_eq!(rig.post(&target(&slot, "InsertMedia"), full.clone()).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(rig.post(&target(&slot, "InsertMedia"), full).await.status(), StatusCode::CONFLICT);
    assert_eq!(rig.get(&path).await["Image"], json!(url));
    let system = rig.system().await;
    let answer = rig.patch(&system, once("Cd")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(rig.get(&system).await["Boot"]["BootSourceOverrideTarget"], "Cd");
    boots_from(&rig, &url, &system).await;
    rig.until("/BootProgress/LastState", "OSRunning").await;
    assert_eq!(
        rig.send(Method::POST, &target(&slot, "EjectMedia"), &[], None).await.status(),
        StatusCode::NO_CONTENT
    );
    assert_eq!(rig.get(&path).await["Inserted"], false);
}

#[tokio::test]
async fn plain_checks_etags_that_are_given() {
    let rig = Rig::start("plain").await;
    let system = rig.system().await;
    let answer = rig.send(Method::GET, &system, &[], None).await;
    let etag = header(&answer, "etag");
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["@odata.etag"], json!(etag));
    let unchanged = rig.send(Method::GET, &system, &[("if-none-match", &etag)], None).await;
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(rig.host().with(|bmc, _| bmc.unchanged()), 1);
    let wrong = rig.send(Method::PATCH, &system, &[("if-match", "\"old\"")], Some(once("Pxe"))).await;
    assert_eq!(wrong.status(), StatusCode::PRECONDITION_FAILED);
    let right = rig.send(Method::PATCH, &system, &[("if-match", &etag)], Some(once("Pxe"))).await;
    assert_eq!(right.status(), StatusCode::OK);
    let changed = rig.send(Method::GET, &system, &[("if-none-match", &etag)], None).await;
    assert_eq!(changed.status(), StatusCode::OK);
}

#[tokio::test]
async fn plain_boots_over_http_and_refuses_what_it_does_not_know() {
    let (rig, url) = (Rig::start("plain").await, image().await);
    let system = rig.system().await;
    assert_eq!(rig.patch(&system, once("Tape")).await.status(), StatusCode::BAD_REQUEST);
    assert!(
        message_id(rig.patch(&system, json!({ "Colour": "red" })).await).await.ends_with("PropertyUnknown")
    );
    assert!(message_id(rig.patch(&system, once("UefiHttp")).await).await.ends_with("PropertyMissing"));
    let mut boot = once("UefiHttp");
    boot["Boot"]["HttpBootUri"] = json!(url);
    assert_eq!(rig.patch(&system, boot).await.status(), StatusCode::OK);
    rig.reset("On").await;
    rig.until("/BootProgress/LastState", "OSRunning").await;
    assert_eq!(rig.host().with(|bmc, _| bmc.machine.running().cloned()), Some(BootSource::Http { uri: url }));
}

#[tokio::test]
async fn dell_lingers_after_an_eject_and_refuses_the_same_power_twice() {
    let (rig, url) = (slow("dell-idrac").await, image().await);
    let slots = rig.slots().await;
    assert_eq!(slots.len(), 4, "under Systems and Managers both");
    let slot = rig.get(&slots[0]).await;
    assert_eq!(rig.post(&target(&slot, "InsertMedia"), json!({ "Image": url })).await.status(), 204);
    assert_eq!(rig.post(&target(&slot, "EjectMedia"), json!({})).await.status(), 204);
    assert_eq!(rig.get(&slots[0]).await["Inserted"], true, "still inserted, it says");
    assert_eq!(rig.post(&target(&slot, "InsertMedia"), json!({ "Image": url })).await.status(), 500);
    wait_inserted(&rig, &slots[0], false).await;
    assert_eq!(rig.post(&target(&slot, "InsertMedia"), json!({ "Image": url })).await.status(), 204);
    let system = rig.system().await;
    assert_eq!(rig.patch(&system, once("Cd")).await.status(), 200);
    boots_from(&rig, &url, &system).await;
    assert_eq!(rig.reset("On").await.status(), StatusCode::CONFLICT);
    rig.reset("ForceOff").await;
    rig.until("/PowerState", "Off").await;
    assert_eq!(rig.reset("On").await.status(), StatusCode::CONFLICT, "just after power-off");
    wait_accepted(&rig, "On").await;
}

#[tokio::test]
async fn dell_changes_the_mode_by_a_job_that_is_hidden_for_a_moment() {
    let rig = slow("dell-idrac").await;
    let mut boot = once("Pxe");
    boot["Boot"]["BootSourceOverrideMode"] = json!("Legacy");
    let answer = rig.patch(&rig.system().await, boot).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let task = header(&answer, "location");
    assert_eq!(rig.send(Method::GET, &task, &[], None).await.status(), StatusCode::NOT_FOUND);
    for _ in 0..200 {
        let answer = rig.send(Method::GET, &task, &[], None).await;
        if answer.status() != StatusCode::NOT_FOUND {
            let body: Value = answer.json().await.unwrap();
            match body["TaskState"].as_str().unwrap() {
                "Completed" => return,
                state => assert_eq!(state, "Running"),
            }
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the job was not done");
}

#[tokio::test]
async fn hpe_has_its_cd_in_slot_two_and_says_success_in_an_error() {
    let (rig, url) = (Rig::start("hpe-ilo").await, image().await);
    let slots = rig.slots().await;
    let slot = rig.get(&slots[1]).await;
    assert_eq!(slot["MediaTypes"], json!(["CD", "DVD"]));
    assert_eq!(slot["Image"], "");
    assert!(slot["@odata.id"].as_str().unwrap().ends_with("/2/"), "{}", slot["@odata.id"]);
    let answer = rig.post(&target(&slot, "InsertMedia"), json!({ "Image": url })).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(message_id(answer).await.ends_with("Success"));
    let system = rig.system().await;
    assert!(rig.get(&system).await["Boot"]["BootSourceOverrideMode"].is_null());
    assert!(header(&rig.send(Method::GET, &system, &[], None).await, "etag").starts_with("W/"));
    assert_eq!(rig.patch_matching(&system, once("Cd")).await.status(), StatusCode::OK);
    boots_from(&rig, &url, &system).await;
    let bare = rig.send(Method::POST, &target(&slot, "EjectMedia"), &[], None).await;
    assert_eq!(bare.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(rig.post(&target(&slot, "EjectMedia"), json!({})).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn hpe_refuses_boot_changes_during_post() {
    let rig = Rig::with(FleetConfig { profiles: vec![by_name("hpe-ilo").unwrap()], ..config() }).await;
    rig.reset("On").await;
    rig.until("/PowerState", "On").await;
    let answer = rig.patch(&rig.system().await, once("Pxe")).await;
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    assert_eq!(message_id(answer).await, "iLO.2.15.UnableToModifyDuringSystemPOST");
}

#[tokio::test]
async fn supermicro_wants_little_with_an_insert_and_much_with_a_boot_change() {
    let (rig, url) = (slow("supermicro").await, image().await);
    let path = rig.slots().await.remove(0);
    assert!(path.starts_with("/redfish/v1/Managers/"), "linked from the System: {path}");
    let slot = rig.get(&path).await;
    assert!(slot["Actions"]["#VirtualMedia.EjectMedia"].is_null());
    let insert = target(&slot, "InsertMedia");
    let answer = rig.post(&insert, json!({ "Image": url, "Inserted": true })).await;
    assert!(message_id(answer).await.ends_with("ActionParameterUnknown"));
    let answer = rig.post(&insert, json!({ "Image": url })).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    assert!(answer.headers().get("location").is_none());
    assert_eq!(rig.get(&path).await["Inserted"], false, "not yet");
    wait_inserted(&rig, &path, true).await;
    assert!(rig.get(&path).await["Actions"]["#VirtualMedia.EjectMedia"].is_object());

    let system = rig.system().await;
    let body = rig.get(&system).await;
    assert!(body["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"].is_null());
    let info =
        rig.get(body["Actions"]["#ComputerSystem.Reset"]["@Redfish.ActionInfo"].as_str().unwrap()).await;
    assert!(info["Parameters"][0]["AllowableValues"].as_array().unwrap().contains(&json!("ForceOff")));
    assert_eq!(rig.patch(&system, once("Cd")).await.status(), StatusCode::BAD_REQUEST, "it is UsbCd here");
    let bare = json!({ "Boot": { "BootSourceOverrideTarget": "UsbCd" } });
    assert!(message_id(rig.patch(&system, bare).await).await.ends_with("PropertyMissing"));
    assert_eq!(rig.patch(&system, once("UsbCd")).await.status(), StatusCode::OK);
    assert_eq!(rig.get(&system).await["Boot"]["BootSourceOverrideMode"], "Legacy", "fell back");
    boots_from(&rig, &url, &system).await;
}

#[tokio::test]
async fn lenovo_takes_media_by_patch_and_boot_at_pending() {
    let (rig, url) = (Rig::start("lenovo-xcc").await, image().await);
    let slots = rig.slots().await;
    assert_eq!(slots.len(), 10);
    assert_eq!(rig.get(&slots[0]).await["Actions"], json!({}));
    let full = json!({ "Image": url, "Inserted": true });
    assert_eq!(rig.patch(&slots[0], full.clone()).await.status(), StatusCode::PRECONDITION_REQUIRED);
    let star = rig.send(Method::PATCH, &slots[0], &[("if-match", "*")], Some(full.clone())).await;
    assert_eq!(star.status(), StatusCode::PRECONDITION_FAILED);
    let secure = json!({ "Image": "https://127.0.0.1/a.iso", "Inserted": true });
    assert_eq!(rig.patch_matching(&slots[0], secure).await.status(), StatusCode::BAD_REQUEST);
    let remote = rig.patch_matching(&slots[9], full.clone()).await;
    assert!(message_id(remote).await.ends_with("PropertyNotWritable"), "Remote4 takes no URL");
    assert_eq!(rig.patch_matching(&slots[0], full).await.status(), StatusCode::OK);
    assert_eq!(rig.get(&slots[0]).await["Inserted"], true);

    let system = rig.system().await;
    let refused = rig.patch_matching(&system, once("Cd")).await;
    assert!(message_id(refused).await.ends_with("PropertyNotWritable"));
    let pending = rig.get(&system).await["@Redfish.Settings"]["SettingsObject"]["@odata.id"].clone();
    let pending = pending.as_str().unwrap();
    let mut boot = once("Cd");
    boot["Boot"]["BootSourceOverrideEnabled"] = json!("Continuous");
    assert_eq!(rig.patch_matching(pending, boot).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(rig.patch_matching(pending, once("Cd")).await.status(), StatusCode::OK);
    boots_from(&rig, &url, &system).await;
    assert_eq!(rig.reset("ForceRestart").await.status(), 204);
    rig.until("/PowerState", "Off").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    rig.until("/PowerState", "Off").await;
    assert_eq!(
        rig.patch_matching(&slots[0], json!({ "Image": null, "Inserted": false })).await.status(),
        200
    );
    assert_eq!(rig.get(&slots[0]).await["Inserted"], false);
}

#[tokio::test]
async fn openbmc_has_a_slot_and_a_system_that_are_no_use() {
    let (rig, url) = (Rig::start("openbmc").await, image().await);
    let systems = rig.get("/redfish/v1/Systems").await;
    assert_eq!(systems["Members@odata.count"], 2);
    let slots = rig.slots().await;
    let dead = rig.get(&slots[0]).await;
    assert_eq!(dead["Actions"], json!({}));
    let insert = format!("{}/Actions/VirtualMedia.InsertMedia", slots[0]);
    assert_eq!(rig.post(&insert, json!({ "Image": url })).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    let slot = rig.get(&slots[1]).await;
    assert!(slot.get("Image").is_none());
    assert_eq!(rig.post(&target(&slot, "InsertMedia"), json!({ "Image": url })).await.status(), 204);
    let system = rig.system().await;
    let settings = format!("{system}/Settings");
    assert_eq!(rig.patch(&system, once("Cd")).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(rig.patch(&settings, once("Cd")).await.status(), StatusCode::OK);
    boots_from(&rig, &url, &system).await;
}

/// An operating system that installs itself and restarts from disk.
struct Installer {
    seen: Mutex<Vec<BootSource>>,
    told: tokio::sync::Notify,
}

impl BootedOs for &'static Installer {
    fn booted(&self, what: Booted) -> OsFuture {
        let installer = *self;
        Box::pin(async move {
            installer.seen.lock().unwrap().push(what.source.clone());
            installer.told.notify_one();
            if what.source == BootSource::Network {
                what.machine.install(Some("installed".to_owned()));
                what.machine.restart();
                std::future::pending::<()>().await;
            }
        })
    }
}

#[tokio::test]
async fn the_hook_lives_on_the_machine() {
    static OS: Installer = Installer { seen: Mutex::new(Vec::new()), told: tokio::sync::Notify::const_new() };
    let os: std::sync::Arc<dyn BootedOs> = std::sync::Arc::new(&OS);
    let rig = Rig::with(FleetConfig { os: Some(os), pace: 0.05, ..config() }).await;
    rig.reset("On").await;
    OS.told.notified().await;
    OS.told.notified().await;
    let disk = BootSource::Disk { installed: "installed".to_owned() };
    assert_eq!(*OS.seen.lock().unwrap(), [BootSource::Network, disk]);
}

#[tokio::test]
async fn the_pace_is_that_of_media_jobs_and_rests_too() {
    let at_once = |name| FleetConfig { profiles: vec![by_name(name).unwrap()], pace: 0.0, ..config() };
    let (rig, url) = (Rig::with(at_once("dell-idrac")).await, image().await);
    let path = rig.slots().await.remove(0);
    let slot = rig.get(&path).await;
    assert_eq!(rig.post(&target(&slot, "InsertMedia"), json!({ "Image": url })).await.status(), 204);
    assert_eq!(rig.post(&target(&slot, "EjectMedia"), json!({})).await.status(), 204);
    assert_eq!(rig.get(&path).await["Inserted"], false, "it does not linger");
    let mut boot = once("Pxe");
    boot["Boot"]["BootSourceOverrideMode"] = json!("Legacy");
    let job = header(&rig.patch(&rig.system().await, boot).await, "location");
    assert_eq!(rig.get(&job).await["TaskState"], "Completed");
    for kind in ["On", "ForceOff", "On"] {
        assert_eq!(rig.reset(kind).await.status(), 204, "{kind}");
    }

    let rig = Rig::with(at_once("supermicro")).await;
    let path = rig.slots().await.remove(0);
    let insert = target(&rig.get(&path).await, "InsertMedia");
    assert_eq!(rig.post(&insert, json!({ "Image": url })).await.status(), StatusCode::ACCEPTED);
    assert_eq!(rig.get(&path).await["Inserted"], true);
}
