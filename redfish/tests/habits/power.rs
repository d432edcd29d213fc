//! Power.

use axum::http::Method;
use beskar7_redfish::{Error, Power};
use serde_json::{Value, json};

use crate::scripted::*;

const RESET: &str = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
const INFO: &str = "/redfish/v1/Systems/1/ResetActionInfo";

fn reset_types(scripted: &Scripted) -> Vec<Value> {
    scripted.changes().iter().filter_map(|asked| asked.told("/ResetType").cloned()).collect()
}

#[tokio::test]
async fn the_kinds_of_reset_are_in_the_action_info() {
    let scripted = Scripted::with_tree(|tree| {
        let action = &mut tree.get_mut(SYSTEM).unwrap()["Actions"]["#ComputerSystem.Reset"];
        *action = json!({ "target": RESET, "@Redfish.ActionInfo": INFO });
        let parameter = json!({ "Name": "ResetType", "AllowableValues": ["ForceOn", "Off"] });
        tree.insert(INFO.into(), json!({ "Parameters": [parameter] }));
    })
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    let off = bmc.power_off(&system, power_limits()).await.unwrap();
    bmc.power_on(&off, power_limits()).await.unwrap();
    assert_eq!(reset_types(&scripted), ["Off", "ForceOn"]);
}

#[tokio::test]
async fn what_is_not_allowed_is_not_asked_for() {
    let scripted = Scripted::with_tree(|tree| {
        let action = &mut tree.get_mut(SYSTEM).unwrap()["Actions"]["#ComputerSystem.Reset"];
        action["ResetType@Redfish.AllowableValues"] = json!(["On", "Nmi"]);
    })
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    let error = bmc.power_off(&system, power_limits()).await.unwrap_err();
    assert!(error.to_string().contains("it allows On, Nmi"), "{error}");
    assert!(scripted.changes().is_empty());
}

#[tokio::test]
async fn a_state_that_is_there_already_is_no_failure() {
    for status in [400, 409] {
        let scripted = Scripted::new(
            |_| {},
            move |asked, tree| {
                if !asked.is(&Method::POST, RESET) {
                    return None;
                }
                // Somebody else was faster.
                tree.get_mut(SYSTEM).unwrap()["PowerState"] = json!("Off");
                Some(Reply::refusal(status, "PSU501", "the server is already powered off"))
            },
        )
        .await;
        let bmc = scripted.bmc();
        let system = bmc.system(None).await.unwrap();
        let off = bmc.power_off(&system, power_limits()).await.unwrap();
        assert_eq!(off.power(), Power::Off, "{status}");
    }
}

#[tokio::test]
async fn on_is_refused_just_after_off() {
    let mut refusals = 2;
    let scripted = Scripted::new(
        |tree| tree.get_mut(SYSTEM).unwrap()["PowerState"] = json!("Off"),
        move |asked, _| {
            if !asked.is(&Method::POST, RESET) || refusals == 0 {
                return None;
            }
            refusals -= 1;
            Some(Reply::refusal(409, "PSU001", "not in the right state"))
        },
    )
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    assert_eq!(bmc.power_on(&system, power_limits()).await.unwrap().power(), Power::On);
    assert_eq!(reset_types(&scripted), ["On", "On", "On"]);
}

#[tokio::test]
async fn a_polite_request_that_is_refused_or_ignored_is_followed_by_force() {
    for refuses in [true, false] {
        let scripted = Scripted::new(
            |_| {},
            move |asked, _| {
                (asked.told("/ResetType") == Some(&json!("GracefulShutdown"))).then(|| match refuses {
                    true => Reply::refusal(501, "ActionNotSupported", "no"),
                    false => Reply::new(204, Value::Null),
                })
            },
        )
        .await;
        let bmc = scripted.bmc();
        let system = bmc.system(None).await.unwrap();
        assert_eq!(bmc.power_off(&system, power_limits()).await.unwrap().power(), Power::Off);
        assert_eq!(reset_types(&scripted), ["GracefulShutdown", "ForceOff"], "refuses: {refuses}");
    }
}

#[tokio::test]
async fn power_that_does_not_follow_is_said() {
    let scripted = Scripted::new(
        |_| {},
        |asked, _| asked.is(&Method::POST, RESET).then(|| Reply::new(204, Value::Null)),
    )
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    let mut limits = power_limits();
    limits.seen = std::time::Duration::from_millis(200);
    let error = bmc.power_off(&system, limits).await.unwrap_err();
    assert!(matches!(error, Error::NotSeen { .. }), "{error}");
    assert!(error.to_string().contains("being Off (it is On) was not seen within 200ms"), "{error}");
}
