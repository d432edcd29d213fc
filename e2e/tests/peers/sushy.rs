//! sushy, an independent client, drives the simulator; the simulator's log says what really happened.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::tools::Python;
use beskar7_e2e::wait;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use beskar7_redfish_sim::host::Host;
use beskar7_redfish_sim::profiles;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exceptions::SUSHY;
use crate::images;

const FIRST: Ipv4Addr = Ipv4Addr::new(127, 34, 0, 1);

const PROVISION: [&str; 8] =
    ["log_in", "find_system", "inventory", "insert", "boot_once", "power_on", "used_up", "log_out"];
const RELEASE: [&str; 7] =
    ["log_in", "find_system", "power_off", "eject", "boot_once", "clear_boot", "log_out"];

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
        "used_up" => vec![json!({ "action": "overrideConsumed" })],
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

/// Has the script take some steps, each of which it must report on.
async fn drive(python: &Python, url: &str, image: &str, steps: &[&str]) -> Result<Vec<Step>> {
    let drive = python.script("e2e/tools/python/drive.py");
    let drive = drive.args([url, "admin", "password", image]).args(steps);
    let said = drive.run(Duration::from_secs(300)).await?.success()?;
    let taken: Vec<Step> =
        said.lines().map(serde_json::from_str).collect::<Result<_, _>>().with_context(|| said.clone())?;
    ensure!(taken.iter().map(|step| step.step.as_str()).eq(steps.iter().copied()), "{said}");
    Ok(taken)
}

/// The machine's log, as it is told over the control API.
fn log_of(host: &Arc<Host>) -> Vec<Value> {
    host.with(|bmc, _| bmc.machine.log().entries().map(|entry| json!(entry)).collect())
}

/// A provisioning, until the machine runs what is in the image, and a release.
async fn provision_and_release(
    python: &Python,
    url: &str,
    image: &str,
    host: &Arc<Host>,
) -> Result<Vec<Step>> {
    let mut steps = drive(python, url, image, &PROVISION).await?;
    let booted = json!({ "action": "booted", "source": { "image": image } });
    wait::until_true("the image to run", Duration::from_secs(60), || async {
        let log = log_of(host);
        Ok(if log.iter().any(|entry| shows(entry, &booted)) {
            Ok(())
        } else {
            Err(format!("{steps:?} {log:?}"))
        })
    })
    .await?;
    steps.extend(drive(python, url, image, &RELEASE).await?);
    Ok(steps)
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
        match provision_and_release(&python, &fleet.url(address), &image, &host).await {
            Ok(steps) => wrong.extend(complaints(profile, &steps, &log_of(&host), &image)),
            Err(error) => wrong.push(format!("{profile}: {error:#}")),
        }
        let open = host.with(|bmc, _| bmc.sessions().0);
        ensure!(open == 0, "{profile}: {open} sessions were left open");
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    Ok(())
}
