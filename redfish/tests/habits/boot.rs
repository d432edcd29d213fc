//! The boot override.

use axum::http::Method;
use beskar7_redfish::{BootMode, BootTarget, Error, System};
use serde_json::{Value, json};

use crate::scripted::*;

const MANAGER: &str = "/redfish/v1/Managers/1";
const SETTINGS: &str = "/redfish/v1/Systems/1/Settings";

fn vendor(tree: &mut Tree, name: &str) {
    tree.get_mut("/redfish/v1").unwrap()["Vendor"] = json!(name);
}

fn boot(tree: &mut Tree) -> &mut serde_json::Map<String, Value> {
    tree.get_mut(SYSTEM).unwrap()["Boot"].as_object_mut().unwrap()
}

fn settings_object(tree: &mut Tree, path: &str) {
    tree.get_mut(SYSTEM).unwrap()["@Redfish.Settings"] = json!({ "SettingsObject": { "@odata.id": path } });
    tree.insert(path.into(), json!({ "@odata.etag": "\"p1\"" }));
}

async fn armed(scripted: &Scripted, target: BootTarget) -> Result<System, Error> {
    let bmc = scripted.bmc();
    let system = bmc.system(None).await?;
    bmc.boot_once(&system, &target, BootMode::Uefi, LIMIT).await
}

/// The only change that was asked for.
fn only_change(scripted: &Scripted) -> Asked {
    let changes = scripted.changes();
    let [only] = &changes[..] else { panic!("{changes:?}") };
    only.clone()
}

#[tokio::test]
async fn the_virtual_cd_is_called_usb_cd() {
    for (maker, model, expected) in [
        ("Supermicro", "SYS-821GE-TNHR", "UsbCd"),
        ("Supermicro", "ARS-111GL-NHR", "Cd"),
        ("Dell", "PowerEdge R750", "Cd"),
    ] {
        let scripted = Scripted::with_tree(|tree| {
            vendor(tree, maker);
            tree.get_mut(MANAGER).unwrap()["FirmwareVersion"] = json!("7.10.30.00");
            tree.get_mut(SYSTEM).unwrap()["Model"] = json!(model);
        })
        .await;
        let system = armed(&scripted, BootTarget::VirtualCd).await.unwrap();
        assert_eq!(system.override_target(), Some(expected), "{maker} {model}");
    }
    // Whoever made it: what is not allowed is not asked for.
    let scripted = Scripted::with_tree(|tree| {
        boot(tree).insert("BootSourceOverrideTarget@Redfish.AllowableValues".into(), json!(["UsbCd", "Hdd"]));
    })
    .await;
    let system = armed(&scripted, BootTarget::VirtualCd).await.unwrap();
    assert_eq!(system.override_target(), Some("UsbCd"));
    let error = armed(&scripted, BootTarget::Pxe).await.unwrap_err();
    assert!(error.to_string().contains("it allows UsbCd, Hdd"), "{error}");
}

#[tokio::test]
async fn an_old_idrac_boots_the_virtual_cd_by_an_attribute() {
    let attributes = "/redfish/v1/Managers/1/Attributes";
    let scripted = Scripted::with_tree(|tree| {
        vendor(tree, "Dell");
        tree.get_mut(MANAGER).unwrap()["FirmwareVersion"] = json!("5.10.50.00");
        tree.insert(attributes.into(), json!({ "Attributes": {} }));
    })
    .await;
    armed(&scripted, BootTarget::VirtualCd).await.unwrap();
    let change = only_change(&scripted);
    assert!(change.is(&Method::PATCH, attributes), "{change:?}");
    let chosen = json!({ "ServerBoot.1.BootOnce": "Enabled", "ServerBoot.1.FirstBootDevice": "VCD-DVD" });
    assert_eq!(change.told("/Attributes"), Some(&chosen));

    let bmc = scripted.bmc();
    bmc.clear_boot_override(&bmc.system(None).await.unwrap(), LIMIT).await.unwrap();
    assert_eq!(scripted.now(attributes, "/Attributes/ServerBoot.1.FirstBootDevice"), json!("Normal"));
    // Anything but the virtual CD is an override here, too.
    armed(&scripted, BootTarget::Pxe).await.unwrap();
    assert_eq!(scripted.now(SYSTEM, "/Boot/BootSourceOverrideTarget"), json!("Pxe"));
}

#[tokio::test]
async fn the_override_goes_to_the_settings_object() {
    let scripted = Scripted::new(
        |tree| settings_object(tree, SETTINGS),
        |asked, _| asked.is(&Method::PATCH, SYSTEM).then(|| Reply::new(405, Value::Null)),
    )
    .await;
    armed(&scripted, BootTarget::Pxe).await.unwrap();
    let last = scripted.changes().pop().unwrap();
    assert!(last.is(&Method::PATCH, SETTINGS), "{last:?}");
    assert_eq!(last.header("if-match"), Some("\"p1\""));
    assert_eq!(last.told("/Boot/BootSourceOverrideTarget"), Some(&json!("Pxe")));
}

#[tokio::test]
async fn a_settings_object_for_firmware_is_left_alone() {
    let scripted = Scripted::new(
        |tree| {
            vendor(tree, "AMI");
            settings_object(tree, "/redfish/v1/Systems/1/SD");
        },
        |asked, _| asked.is(&Method::PATCH, SYSTEM).then(|| Reply::refusal(400, "GeneralError", "no")),
    )
    .await;
    let error = armed(&scripted, BootTarget::Pxe).await.unwrap_err();
    assert!(matches!(error, Error::Said { status: 400, .. }), "{error}");
    assert!(scripted.changes().iter().all(|asked| asked.path == SYSTEM), "{:?}", scripted.changes());
}

#[tokio::test]
async fn enabled_is_left_out_where_it_may_not_repeat_and_sent_where_it_must() {
    let once = |tree: &mut Tree| {
        boot(tree).insert("BootSourceOverrideEnabled".into(), json!("Once"));
    };
    let picky = Scripted::new(once, |asked, tree| {
        let same = asked.told("/Boot/BootSourceOverrideEnabled")
            == tree[SYSTEM].pointer("/Boot/BootSourceOverrideEnabled");
        let words = "the property BootSourceOverrideEnabled was given the value that it has";
        (asked.is(&Method::PATCH, SYSTEM) && same)
            .then(|| Reply::refusal(400, "PropertyValueConflict", words))
    })
    .await;
    assert_eq!(armed(&picky, BootTarget::Pxe).await.unwrap().override_target(), Some("Pxe"));

    let strict = Scripted::new(once, |asked, _| {
        let missing = asked.told("/Boot/BootSourceOverrideEnabled").is_none();
        (asked.is(&Method::PATCH, SYSTEM) && missing)
            .then(|| Reply::refusal(400, "PropertyMissing", "Enabled"))
    })
    .await;
    assert_eq!(armed(&strict, BootTarget::Pxe).await.unwrap().override_target(), Some("Pxe"));
    assert_eq!(strict.changes().len(), 1, "the first try was right");
}

#[tokio::test]
async fn mode_enabled_and_target_come_together() {
    let scripted = Scripted::new(
        |tree| {
            vendor(tree, "ASRockRack");
            boot(tree).remove("BootSourceOverrideMode");
        },
        |asked, _| {
            let all = ["Enabled", "Target", "Mode"]
                .iter()
                .all(|name| asked.told(&format!("/Boot/BootSourceOverride{name}")).is_some());
            (asked.is(&Method::PATCH, SYSTEM) && !all)
                .then(|| Reply::refusal(400, "PropertyMissing", "all three"))
        },
    )
    .await;
    let system = armed(&scripted, BootTarget::Pxe).await.unwrap();
    assert_eq!(system.override_enabled(), Some("Once"));
    let clean = scripted.bmc().clear_boot_override(&system, LIMIT).await.unwrap();
    assert_eq!(clean.override_enabled(), Some("Disabled"));
}

#[tokio::test]
async fn a_mode_that_is_not_reported_is_not_sent() {
    for mode in [None, Some(Value::Null)] {
        let scripted = Scripted::with_tree(|tree| {
            boot(tree).remove("BootSourceOverrideMode");
            boot(tree).extend(mode.map(|mode| ("BootSourceOverrideMode".to_owned(), mode)));
        })
        .await;
        armed(&scripted, BootTarget::Pxe).await.unwrap();
        assert_eq!(only_change(&scripted).told("/Boot/BootSourceOverrideMode"), None);
    }
}

#[tokio::test]
async fn a_mode_that_falls_back_is_set_again() {
    let mut falls = true;
    let scripted = Scripted::new(
        |_| {},
        move |asked, tree| {
            if !asked.is(&Method::PATCH, SYSTEM) || !falls {
                return None;
            }
            falls = false;
            let reply = as_it_should_be(asked, tree);
            boot(tree).insert("BootSourceOverrideMode".into(), json!("Legacy"));
            Some(reply)
        },
    )
    .await;
    let system = armed(&scripted, BootTarget::Pxe).await.unwrap();
    assert_eq!((system.override_mode(), system.override_target()), (Some("UEFI"), Some("Pxe")));
}

#[tokio::test]
async fn a_mode_that_stays_is_said() {
    let scripted = Scripted::new(
        |tree| {
            boot(tree).insert("BootSourceOverrideMode".into(), json!("Legacy"));
        },
        |asked, tree| {
            let mut asked = asked.clone();
            asked.body.as_mut()?.pointer_mut("/Boot")?.as_object_mut()?.remove("BootSourceOverrideMode");
            Some(as_it_should_be(&asked, tree))
        },
    )
    .await;
    let error = armed(&scripted, BootTarget::Pxe).await.unwrap_err();
    assert!(matches!(error, Error::NotSupported { .. }), "{error}");
    assert!(error.to_string().contains("stays at Legacy"), "{error}");
}

#[tokio::test]
async fn an_override_is_for_once_and_armed_again_for_each_boot() {
    let scripted = Scripted::new(
        |_| {},
        |asked, _| {
            (asked.told("/Boot/BootSourceOverrideEnabled") == Some(&json!("Continuous")))
                .then(|| Reply::refusal(400, "PropertyValueNotInList", "Continuous"))
        },
    )
    .await;
    for _ in 0..2 {
        assert_eq!(armed(&scripted, BootTarget::Pxe).await.unwrap().override_enabled(), Some("Once"));
    }
    assert_eq!(scripted.changes().len(), 2);
}

#[tokio::test]
async fn a_change_during_the_self_test_waits_for_its_end() {
    let mut testing = 2;
    let scripted = Scripted::new(
        |_| {},
        move |asked, _| {
            if !asked.is(&Method::PATCH, SYSTEM) || testing == 0 {
                return None;
            }
            testing -= 1;
            Some(Reply::refusal(400, "UnableToModifyDuringSystemPOST", "in POST"))
        },
    )
    .await;
    assert_eq!(armed(&scripted, BootTarget::Pxe).await.unwrap().override_target(), Some("Pxe"));
    assert_eq!(scripted.changes().len(), 3);
}

#[tokio::test]
async fn uefi_http_and_uefi_target_say_where() {
    let scripted = Scripted::with_tree(|tree| {
        boot(tree).remove("BootSourceOverrideTarget@Redfish.AllowableValues");
    })
    .await;
    armed(&scripted, BootTarget::UefiHttp("http://127.0.0.1:9/boot.efi".into())).await.unwrap();
    assert_eq!(scripted.now(SYSTEM, "/Boot/HttpBootUri"), json!("http://127.0.0.1:9/boot.efi"));
    armed(&scripted, BootTarget::UefiTarget("HD(1)".into())).await.unwrap();
    assert_eq!(scripted.now(SYSTEM, "/Boot/BootSourceOverrideTarget"), json!("UefiTarget"));
    assert_eq!(scripted.now(SYSTEM, "/Boot/UefiTargetBootSourceOverride"), json!("HD(1)"));

    // A path without what follows it is another target.
    let forgetful = Scripted::new(
        |tree| {
            boot(tree).remove("BootSourceOverrideTarget@Redfish.AllowableValues");
        },
        |asked, tree| {
            let reply = as_it_should_be(asked, tree);
            if let Some(path) = boot(tree).get_mut("UefiTargetBootSourceOverride") {
                *path = json!("HD(1)");
            }
            Some(reply)
        },
    )
    .await;
    armed(&forgetful, BootTarget::UefiTarget("HD(1)".into())).await.unwrap();
    let refused = armed(&forgetful, BootTarget::UefiTarget("HD(1) a=b".into())).await.unwrap_err();
    assert!(refused.to_string().contains("it keeps HD(1) of it"), "{refused}");
    assert!(matches!(refused, Error::NotSupported { .. }));
}
