//! sushy, an independent client, drives the simulator; the simulator's log says what really happened.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::tools::Python;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::profiles;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exceptions::SUSHY;
use crate::images;

const FIRST: Ipv4Addr = Ipv4Addr::new(127, 34, 0, 1);

/// What the script says of one step.
#[derive(Debug, Deserialize)]
struct Step {
    step: String,
    said: Option<String>,
}

/// What the log must show of a step that worked.
fn traces(step: &str, image: &str) -> Vec<Value> {
    match step {
        "log_in" => vec![json!({ "action": "loggedIn" })],
        "insert" => vec![json!({ "action": "insert", "image": image })],
        "boot_once" => vec![json!({ "action": "setOverride", "to": { "enabled": "Once" } })],
        "power_on" => vec![json!({ "action": "reset", "kind": "On" }), json!({ "action": "poweredOn" })],
        "booted" => vec![
            json!({ "action": "overrideConsumed" }),
            json!({ "action": "read", "media": { "url": image, "error": null } }),
        ],
        "power_off" => {
            vec![json!({ "action": "reset", "kind": "ForceOff" }), json!({ "action": "poweredOff" })]
        }
        "eject" => vec![json!({ "action": "eject", "image": image })],
        "clear_boot" => vec![json!({ "action": "setOverride", "to": { "enabled": "Disabled" } })],
        _ => Vec::new(),
    }
}

/// Whether everything that `wanted` names is so in `entry`.
fn shows(entry: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(fields) => {
            fields.iter().all(|(name, value)| entry.get(name).is_some_and(|found| shows(found, value)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            entry == wanted
        }
    }
}

/// What is wrong with the steps of one profile, by the list and by the log.
fn complaints(profile: &str, steps: &[Step], log: &[Value], image: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for Step { step, said } in steps {
        let listed = SUSHY.iter().find(|listed| listed.profile == profile && listed.step == step);
        match (said, listed) {
            (None, None) => {
                let missing =
                    traces(step, image).into_iter().filter(|one| !log.iter().any(|e| shows(e, one)));
                wrong.extend(missing.map(|one| format!("{profile}: {step} left no trace {one}")));
            }
            (Some(said), Some(listed)) if said.contains(listed.said) => {}
            (Some(said), _) => wrong.push(format!("{profile}: {step}: {said}")),
            (None, Some(listed)) => wrong.push(format!(
                "{profile}: {step} is listed because {}, but it works: strike it off",
                listed.reason
            )),
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn sushy_drives_every_profile_but_where_listed() -> Result<()> {
    let python = Python::ready().await?;
    let image = format!("{}/node.iso", images::serve().await?);
    let config = FleetConfig {
        count: profiles::ALL.len(),
        profiles: profiles::ALL.to_vec(),
        first: FIRST,
        pace: 0.05,
        ..FleetConfig::default()
    };
    let fleet = Fleet::start(config).await?;
    let mut wrong = Vec::new();
    for (address, host) in fleet.hosts() {
        let profile = host.with(|bmc, _| bmc.profile.name);
        let drive = python.script("e2e/tools/python/drive.py");
        let drive = drive.args([fleet.url(address).as_str(), "admin", "password", &image]);
        let said = drive.run(Duration::from_secs(300)).await?.success()?;
        let steps: Vec<Step> =
            said.lines().map(serde_json::from_str).collect::<Result<_, _>>().context(said.clone())?;
        ensure!(steps.len() == 12, "{profile}: {said}");
        let log: Vec<Value> = host.with(|bmc, _| bmc.machine.log().entries().map(|e| json!(e)).collect());
        wrong.extend(complaints(profile, &steps, &log, &image));
        let open = host.with(|bmc, _| bmc.sessions().0);
        ensure!(open == 0, "{profile}: {open} sessions were left open");
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    Ok(())
}
