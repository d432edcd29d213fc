//! Hosts and what is observed of them, to write tests with.

use std::time::Duration;

use beskar7_api::{PhysicalHost, conditions, physical_host::PowerState};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Decision, Observed, Pace,
    connection::{SecretView, Secrets},
    contact::{Contact, Sighting, Trouble},
    plan::{Boot, Seen},
};
use crate::{claim::samples::merge, conditions::get, delivery::Delivery};

pub(super) const PACE: Pace = Pace {
    poll: Duration::from_secs(60),
    boot: Duration::from_secs(600),
    release: Duration::from_secs(600),
    delivery: Delivery::Off,
    inspect: false,
};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn host(spec: Value, status: Value) -> PhysicalHost {
    let mut whole =
        json!({"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "bmc"}});
    merge(&mut whole, spec);
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "generation": 3},
        "spec": whole,
        "status": status,
    }))
    .unwrap()
}

pub(super) fn keys(keys: &[&str]) -> SecretView {
    SecretView::Found(keys.iter().map(ToString::to_string).collect())
}

pub(super) fn observed(credentials: Option<SecretView>, ca_bundle: Option<SecretView>) -> Observed {
    let secrets = Secrets { credentials, ca_bundle, only_for: None };
    Observed {
        secrets,
        contact: Contact::NotTried,
        consumer_exists: None,
        trouble: None,
        sight: None,
        emptied: None,
        inspected: None,
        another: None,
    }
}

pub(super) fn complete() -> Observed {
    observed(Some(keys(&["username", "password"])), None)
}

pub(super) fn condition<'a>(decision: &'a Decision, type_: &str) -> (&'a str, &'a str, &'a str) {
    let condition = get(&decision.status.conditions, type_).unwrap();
    (&condition.status, &condition.reason, &condition.message)
}

/// A BMC that answers, with the machine in this power.
pub(super) fn answered(power: PowerState) -> Observed {
    let seen = Seen { power, armed: Some(false), boot: Some(Boot::NotBegun), medium: None };
    let sighting = Sighting {
        seen,
        hardware: serde_json::from_value(
            json!({"model": "R1", "uuid": "38947555-7742-3448-3784-823347823834"}),
        )
        .unwrap(),
        health: serde_json::from_value(json!({"health": "OK"})).unwrap(),
        bmc: None,
        parts: None,
    };
    Observed { contact: Contact::Answered(Box::new(sighting)), ..complete() }
}

pub(super) fn silent(passes: bool) -> Observed {
    let message = "the BMC can't be reached: check its address".to_owned();
    let trouble = Trouble { reason: conditions::host::REDFISH_CONNECTION_FAILED, message, passes };
    Observed { contact: Contact::Failed(trouble), ..complete() }
}

pub(crate) fn held() -> Value {
    json!({"consumerRef": {"kind": "Beskar7Machine", "namespace": "metal", "name": "m"}, "claimID": "c", "bootIsoSource": "http://i/x.iso"})
}

pub(crate) fn with_annotations(mut host: PhysicalHost, annotations: &[(&str, &str)]) -> PhysicalHost {
    let owned = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    host.metadata.annotations = Some(owned.collect());
    host
}
