//! Virtual media.

use axum::http::Method;
use beskar7_redfish::{Error, Image, ImageTrust};
use serde_json::{Value, json};

use crate::scripted::*;

const SYSTEM_MEDIA: &str = "/redfish/v1/Systems/1/VirtualMedia";
const MANAGER: &str = "/redfish/v1/Managers/1";
const MANAGER_MEDIA: &str = "/redfish/v1/Managers/1/VirtualMedia";
const MANAGER_SLOT: &str = "/redfish/v1/Managers/1/VirtualMedia/9";

fn media_under_manager(tree: &mut Tree) {
    tree.get_mut(MANAGER).unwrap()["VirtualMedia"] = json!({ "@odata.id": MANAGER_MEDIA });
    tree.insert(MANAGER_MEDIA.into(), collection(&[MANAGER_SLOT]));
    tree.insert(MANAGER_SLOT.into(), slot(MANAGER_SLOT, &["CD"]));
}

fn no_media_under_system(tree: &mut Tree) {
    tree.get_mut(SYSTEM).unwrap().as_object_mut().unwrap().remove("VirtualMedia");
}

/// Slots of a system, each with its types.
fn slots(tree: &mut Tree, slots: &[(&str, &[&str])]) {
    let paths: Vec<String> = slots.iter().map(|(id, _)| format!("{SYSTEM_MEDIA}/{id}")).collect();
    tree.insert(SYSTEM_MEDIA.into(), collection(&paths.iter().map(String::as_str).collect::<Vec<_>>()));
    for (path, (_, types)) in paths.iter().zip(slots) {
        tree.insert(path.clone(), slot(path, types));
    }
}

fn is_insertion(asked: &Asked) -> bool {
    asked.method == Method::POST && asked.path.ends_with("InsertMedia")
}

fn is_ejection(asked: &Asked) -> bool {
    asked.method == Method::POST && asked.path.ends_with("EjectMedia")
}

/// Inserts the ISO, and says into which slot it went.
async fn inserted(scripted: &Scripted) -> Result<String, Error> {
    let bmc = scripted.bmc();
    let system = bmc.system(None).await?;
    bmc.insert(&system, ISO, LIMIT).await.map(|slot| slot.path().to_owned())
}

#[tokio::test]
async fn media_are_under_the_system_the_manager_or_both() {
    assert_eq!(inserted(&Scripted::plain().await).await.unwrap(), SLOT);
    let managers = Scripted::with_tree(|tree| {
        no_media_under_system(tree);
        media_under_manager(tree);
    })
    .await;
    assert_eq!(inserted(&managers).await.unwrap(), MANAGER_SLOT);

    let both = Scripted::with_tree(|tree| {
        media_under_manager(tree);
        tree.get_mut(MANAGER_SLOT).unwrap()["Image"] = json!("http://127.0.0.1:9/left-behind.iso");
    })
    .await;
    assert_eq!(inserted(&both).await.unwrap(), SLOT);
    let bmc = both.bmc();
    let system = bmc.system(None).await.unwrap();
    bmc.eject_all(&system, LIMIT).await.unwrap();
    assert_eq!((both.now(SLOT, "/Image"), both.now(MANAGER_SLOT, "/Image")), (Value::Null, Value::Null));
}

#[tokio::test]
async fn a_system_links_to_the_media_of_its_manager() {
    let scripted = Scripted::with_tree(|tree| {
        media_under_manager(tree);
        tree.get_mut(SYSTEM).unwrap()["VirtualMedia"] = json!({ "@odata.id": MANAGER_MEDIA });
    })
    .await;
    assert_eq!(paths(&scripted).await, [MANAGER_SLOT]);
    // Two collections, one slot.
    let scripted = Scripted::with_tree(|tree| {
        media_under_manager(tree);
        tree.insert(SYSTEM_MEDIA.into(), collection(&[MANAGER_SLOT]));
    })
    .await;
    assert_eq!(paths(&scripted).await, [MANAGER_SLOT]);
}

async fn paths(scripted: &Scripted) -> Vec<String> {
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    bmc.slots(&system).await.unwrap().iter().map(|slot| slot.path().to_owned()).collect()
}

#[tokio::test]
async fn a_slot_without_actions_is_changed_itself() {
    let scripted = Scripted::with_tree(|tree| {
        let slot = tree.get_mut(SLOT).unwrap();
        slot["Actions"] = json!({});
        slot["@odata.etag"] = json!("W/\"12\"");
    })
    .await;
    assert_eq!(inserted(&scripted).await.unwrap(), SLOT);
    let bmc = scripted.bmc();
    bmc.eject_all(&bmc.system(None).await.unwrap(), LIMIT).await.unwrap();
    let [insertion, ejection] = &scripted.changes()[..] else { panic!("{:?}", scripted.changes()) };
    assert!(insertion.is(&Method::PATCH, SLOT) && ejection.is(&Method::PATCH, SLOT));
    assert_eq!(insertion.header("if-match"), Some("W/\"12\""));
    assert_eq!(insertion.body, Some(json!({ "Image": ISO, "Inserted": true, "WriteProtected": true })));
    assert_eq!(ejection.body, Some(json!({ "Image": null, "Inserted": false })));
}

#[tokio::test]
async fn an_action_is_told_the_image_alone() {
    let scripted = Scripted::new(
        |_| {},
        |asked, _| {
            let more = asked.told("/Inserted").is_some() || asked.told("/WriteProtected").is_some();
            (is_insertion(asked) && more)
                .then(|| Reply::refusal(400, "ActionParameterUnknown", "unknown parameter Inserted"))
        },
    )
    .await;
    assert_eq!(inserted(&scripted).await.unwrap(), SLOT);
    assert_eq!(scripted.changes().len(), 1, "the first try was right");
}

/// A BMC that demands these, one after the other, in these words.
async fn demanding(demands: &'static [(&'static str, &'static str)]) -> Scripted {
    Scripted::new(
        |_| {},
        |asked, _| {
            let missing = demands.iter().find(|(name, _)| asked.told(&format!("/{name}")).is_none());
            let (_, words) = missing.filter(|_| is_insertion(asked))?;
            Some(Reply::refusal(400, "ActionParameterMissing", words))
        },
    )
    .await
}

#[tokio::test]
async fn a_transfer_protocol_is_added_when_it_is_demanded() {
    let scripted = demanding(&[("TransferProtocolType", "The action requires TransferProtocolType.")]).await;
    inserted(&scripted).await.unwrap();
    assert_eq!(
        scripted.changes().last().unwrap().body,
        Some(json!({ "Image": ISO, "TransferProtocolType": "HTTP" }))
    );
}

#[tokio::test]
async fn a_transfer_method_is_added_when_it_is_demanded() {
    let scripted = demanding(&[("TransferMethod", "The parameter TransferMethod is missing.")]).await;
    inserted(&scripted).await.unwrap();
    assert_eq!(
        scripted.changes().last().unwrap().body,
        Some(json!({ "Image": ISO, "TransferMethod": "Stream" }))
    );
}

#[tokio::test]
async fn a_user_name_and_a_password_are_added_when_they_are_demanded() {
    let scripted = demanding(&[
        ("TransferProtocolType", "TransferProtocolType is missing"),
        ("UserName", "requires the parameter UserName to be present"),
        ("Password", "requires the parameter Password to be present"),
    ])
    .await;
    inserted(&scripted).await.unwrap();
    let all = json!({ "Image": ISO, "TransferProtocolType": "HTTP", "UserName": "none", "Password": "none" });
    assert_eq!(scripted.changes().last().unwrap().body, Some(all));
}

#[tokio::test]
async fn an_ejection_has_a_body() {
    let scripted = Scripted::new(
        |tree| tree.get_mut(SLOT).unwrap()["Image"] = json!(ISO),
        |asked, _| (is_ejection(asked) && asked.body.is_none()).then(|| Reply::new(415, Value::Null)),
    )
    .await;
    let bmc = scripted.bmc();
    bmc.eject_all(&bmc.system(None).await.unwrap(), LIMIT).await.unwrap();
    assert_eq!(scripted.now(SLOT, "/Image"), Value::Null);
    assert_eq!(
        scripted.changes().iter().map(|asked| asked.body.clone()).collect::<Vec<_>>(),
        [Some(json!({}))]
    );
}

#[tokio::test]
async fn the_ejection_is_shown_only_while_something_is_in() {
    let scripted = Scripted::new(
        |_| {},
        |asked, tree| {
            if !asked.is(&Method::GET, SLOT) || tree[SLOT]["Inserted"] == json!(true) {
                return None;
            }
            let mut empty = tree[SLOT].clone();
            empty["Actions"].as_object_mut().unwrap().remove("#VirtualMedia.EjectMedia");
            Some(Reply::new(200, empty))
        },
    )
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    bmc.insert(&system, ISO, LIMIT).await.unwrap();
    bmc.eject_all(&system, LIMIT).await.unwrap();
    assert!(is_ejection(scripted.changes().last().unwrap()), "{:?}", scripted.changes());
}

#[tokio::test]
async fn a_slot_lingers_after_an_ejection_and_fails_at_first() {
    let (mut lingers, mut failures) = (2, 1);
    let scripted = Scripted::new(
        |tree| tree.get_mut(SLOT).unwrap()["Image"] = json!("http://127.0.0.1:9/before.iso"),
        move |asked, tree| {
            if asked.is(&Method::GET, SLOT) && tree[SLOT]["Inserted"] == json!(false) && lingers > 0 {
                lingers -= 1;
                let mut still = tree[SLOT].clone();
                still["Inserted"] = json!(true);
                return Some(Reply::new(200, still));
            }
            if is_insertion(asked) && failures > 0 {
                failures -= 1;
                return Some(Reply::refusal(500, "InternalError", "try again"));
            }
            None
        },
    )
    .await;
    assert_eq!(inserted(&scripted).await.unwrap(), SLOT);
    assert_eq!(scripted.now(SLOT, "/Image"), json!(ISO));
}

#[tokio::test]
async fn a_slot_that_can_not_be_used_is_passed_over() {
    for status in [400, 405, 501] {
        let scripted = Scripted::new(
            |tree| slots(tree, &[("Broken", &["CD"]), ("2", &["CD"])]),
            move |asked, _| {
                (asked.path.contains("/Broken") && asked.method != Method::GET)
                    .then(|| Reply::new(status, Value::Null))
            },
        )
        .await;
        assert_eq!(inserted(&scripted).await.unwrap(), format!("{SYSTEM_MEDIA}/2"), "{status}");
    }
    // Without an action, and it can't be changed either.
    let scripted = Scripted::new(
        |tree| {
            slots(tree, &[("Broken", &["CD"]), ("2", &["CD"])]);
            tree.get_mut(&format!("{SYSTEM_MEDIA}/Broken")).unwrap()["Actions"] = Value::Null;
        },
        |asked, _| (asked.method == Method::PATCH).then(|| Reply::new(405, Value::Null)),
    )
    .await;
    assert_eq!(inserted(&scripted).await.unwrap(), format!("{SYSTEM_MEDIA}/2"));
}

#[tokio::test]
async fn a_slot_that_can_not_be_read_may_still_hold_an_installer() {
    let scripted = Scripted::new(
        |tree| slots(tree, &[("Broken", &["CD"]), ("2", &["CD"])]),
        |asked, _| asked.path.contains("/Broken").then(|| Reply::new(500, Value::Null)),
    )
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    assert_eq!(bmc.insert(&system, ISO, LIMIT).await.unwrap().path(), format!("{SYSTEM_MEDIA}/2"));
    let error = bmc.eject_all(&system, LIMIT).await.unwrap_err();
    assert!(matches!(error, Error::Said { status: 500, .. }), "{error}");
    assert_eq!(scripted.now(&format!("{SYSTEM_MEDIA}/2"), "/Image"), Value::Null, "the others are emptied");
}

#[tokio::test]
async fn a_dvd_will_do_and_so_will_a_slot_that_does_not_say() {
    let dvd = Scripted::with_tree(|tree| slots(tree, &[("1", &["USBStick"]), ("2", &["DVD"])])).await;
    assert_eq!(inserted(&dvd).await.unwrap(), format!("{SYSTEM_MEDIA}/2"));
    let silent = Scripted::with_tree(|tree| {
        slots(tree, &[("1", &[])]);
        tree.get_mut(&format!("{SYSTEM_MEDIA}/1")).unwrap().as_object_mut().unwrap().remove("MediaTypes");
    })
    .await;
    assert_eq!(inserted(&silent).await.unwrap(), format!("{SYSTEM_MEDIA}/1"));
}

#[tokio::test]
async fn the_cd_is_not_the_first_slot() {
    let scripted =
        Scripted::with_tree(|tree| slots(tree, &[("1", &["Floppy", "USBStick"]), ("2", &["CD", "DVD"])]))
            .await;
    assert_eq!(inserted(&scripted).await.unwrap(), format!("{SYSTEM_MEDIA}/2"));
}

#[tokio::test]
async fn a_mount_action_of_its_own_is_not_used() {
    let scripted = Scripted::with_tree(|tree| {
        let slot = tree.get_mut(SLOT).unwrap();
        slot["Actions"] = json!({});
        slot["Oem"] =
            json!({ "Huawei": { "Actions": { "#VirtualMedia.VmmControl": { "target": "/mount" } } } });
    })
    .await;
    let error = inserted(&scripted).await.unwrap_err();
    assert!(matches!(error, Error::NotSupported { .. }), "{error}");
    assert!(error.to_string().contains("NFS and CIFS only"), "{error}");
    assert!(scripted.changes().is_empty(), "nothing was tried: {:?}", scripted.changes());
}

#[tokio::test]
async fn an_https_image_of_an_unknown_issuer_is_refused() {
    let https = "https://127.0.0.1:9/node.iso";
    let scripted = Scripted::new(
        |tree| tree.get_mut(SLOT).unwrap()["VerifyCertificate"] = json!(true),
        |asked, tree| {
            (is_insertion(asked) && tree[SLOT]["VerifyCertificate"] == json!(true))
                .then(|| Reply::refusal(400, "VRM0021", "unable to verify the peer certificate"))
        },
    )
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    let error = bmc.insert(&system, https, LIMIT).await.unwrap_err();
    assert!(matches!(error, Error::ImageRefused { .. }), "{error}");
    for words in ["unable to verify the peer certificate", "over http"] {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert_eq!(scripted.now(SLOT, "/VerifyCertificate"), json!(true), "nobody asked to turn it off");

    let unchecked = Image { url: https, trust: ImageTrust::Unchecked };
    bmc.insert(&system, unchecked, LIMIT).await.unwrap();
    assert_eq!(scripted.now(SLOT, "/VerifyCertificate"), json!(false));
}

#[tokio::test]
async fn neither_media_nor_an_override_leave_the_network() {
    let scripted = Scripted::with_tree(|tree| {
        no_media_under_system(tree);
        tree.get_mut(SYSTEM).unwrap().as_object_mut().unwrap().remove("Boot");
    })
    .await;
    let error = inserted(&scripted).await.unwrap_err();
    assert!(matches!(error, Error::NotSupported { .. }), "{error}");
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    let pxe = beskar7_redfish::BootTarget::Pxe;
    let error = bmc.boot_once(&system, &pxe, beskar7_redfish::BootMode::Uefi, LIMIT).await.unwrap_err();
    assert!(matches!(error, Error::NotSupported { .. }), "{error}");
    assert!(error.to_string().contains("network boot"), "{error}");
}
