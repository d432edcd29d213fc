//! DMTF's service validator reads the whole tree of a plain BMC and holds it against the schemas.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use beskar7_e2e::tools::{Python, schemas};
use beskar7_redfish::{BootMode, BootTarget, PowerLimits};
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use serde_json::Value;

use crate::exceptions::SERVICE_VALIDATOR;
use crate::images;
use crate::scenario::Place;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 35, 0, 1);
const LIMIT: Duration = Duration::from_secs(60);

/// What the validator says: the resources that it read, and what it found wrong with them.
#[derive(Debug, Default)]
struct Verdict {
    resources: BTreeSet<String>,
    passed: usize,
    /// Resource, property, and the words.
    complaints: Vec<Complaint>,
}

#[derive(Debug)]
struct Complaint {
    resource: String,
    property: String,
    said: String,
}

impl Verdict {
    /// Reads the validator's log: each resource is announced before its properties are judged.
    fn read(log: &str) -> Self {
        let mut verdict = Self::default();
        let mut resource = String::new();
        let messages = log.lines().filter_map(|line| line.split_once(" - redfish - ")?.1.split_once(" - "));
        for (level, message) in messages {
            if let Some(path) = message.strip_prefix("Validating ") {
                path.trim_end_matches("...").clone_into(&mut resource);
                verdict.resources.insert(resource.clone());
            } else if message.starts_with("PASS - ") {
                verdict.passed += 1;
            } else if level != "INFO" {
                verdict.complaints.push(Complaint::read(&resource, message));
            }
        }
        verdict
    }
}

impl Complaint {
    /// `FAIL - /Boot/X (3): Type Error: …`; whatever else is not information counts as well.
    fn read(resource: &str, message: &str) -> Self {
        let (_, rest) = message.split_once(" - ").unwrap_or_default();
        let (property, said) = rest.split_once(' ').unwrap_or(("", message));
        Self { resource: resource.to_owned(), property: property.to_owned(), said: said.to_owned() }
    }
}

/// What is wrong with the complaints, held against the list.
fn differences(complaints: &[Complaint]) -> Vec<String> {
    let is_listed = |complaint: &Complaint| {
        SERVICE_VALIDATOR.iter().position(|listed| {
            listed.resource == complaint.resource
                && listed.property == complaint.property
                && complaint.said.contains(listed.said)
        })
    };
    let seen: BTreeSet<usize> = complaints.iter().filter_map(is_listed).collect();
    let unlisted = complaints.iter().filter(|complaint| is_listed(complaint).is_none());
    let mut wrong: Vec<String> = unlisted.map(|complaint| format!("not listed: {complaint:?}")).collect();
    let gone = SERVICE_VALIDATOR.iter().enumerate().filter(|(position, _)| !seen.contains(position));
    wrong.extend(gone.map(|(_, listed)| {
        format!(
            "{} {} is listed because {}, but nobody complains of it: strike it off",
            listed.resource, listed.property, listed.reason
        )
    }));
    wrong
}

fn is_session(path: &str) -> bool {
    path.starts_with("/redfish/v1/SessionService/Sessions/")
}

/// Every resource that can be reached from the root, but for sessions, which come and go.
async fn tree(url: &str) -> Result<BTreeSet<String>> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut seen = BTreeSet::new();
    let mut todo = BTreeSet::from(["/redfish/v1/".to_owned()]);
    while let Some(path) = todo.pop_first() {
        let request = client.get(format!("{url}{path}")).basic_auth("admin", Some("password"));
        let answer = request.send().await?.error_for_status()?.bytes().await?;
        let mut links = BTreeSet::new();
        collect(&serde_json::from_slice(&answer).with_context(|| path.clone())?, &mut links);
        seen.insert(path);
        todo.extend(links.into_iter().filter(|link| !seen.contains(link) && !is_session(link)));
    }
    Ok(seen)
}

fn collect(value: &Value, links: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(link)) = fields.get("@odata.id") {
                links.insert(link.clone());
            }
            fields.values().for_each(|value| collect(value, links));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, links)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

async fn validate(python: &Python, schemas: &Path, url: &str) -> Result<Verdict> {
    let directory = tempfile::tempdir()?;
    let output = python
        .program("rf_service_validator")
        .args(["--rhost", url, "--user", "admin", "--password", "password", "--skipschema"])
        .arg("--schema_directory")
        .arg(schemas)
        .arg("--logdir")
        .arg(directory.path())
        .current_dir(directory.path())
        .run(Duration::from_secs(300))
        .await?;
    let said = format!("{}\n{}", output.stdout, output.stderr);
    let Some(log) = find_log(directory.path())? else { bail!("it wrote no log:\n{said}") };
    Ok(Verdict::read(&std::fs::read_to_string(log)?))
}

fn find_log(directory: &Path) -> Result<Option<std::path::PathBuf>> {
    let mut places = vec![directory.to_owned()];
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(place)? {
            let path = entry?.path();
            if path.is_dir() {
                places.push(path);
            } else if path.extension().is_some_and(|extension| extension == "log") {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// A machine that has something to show: it is on, an image is in, and it boots from it again next time.
async fn make_busy(url: &str) -> Result<()> {
    let image = format!("{}/node.iso", images::serve().await?);
    let place = Place {
        address: url.to_owned(),
        username: "admin".to_owned(),
        password: "password".to_owned(),
        images: [image.clone(), image.clone()],
        graceful: Duration::ZERO,
    };
    let bmc = place.bmc().map_err(anyhow::Error::msg)?;
    let system = bmc.system(None).await?;
    bmc.insert(&system, &image, LIMIT).await?;
    let on = bmc
        .power_on(&system, PowerLimits { look: Duration::from_millis(50), ..PowerLimits::default() })
        .await?;
    bmc.boot_once(&on, &BootTarget::VirtualCd, BootMode::Uefi, LIMIT).await?;
    bmc.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_bmc_is_as_the_schemas_say_at_rest_and_at_work() -> Result<()> {
    let python = Python::ready().await?;
    let schemas = schemas::ready().await?;
    let fleet = Fleet::start(FleetConfig { first: ADDRESS, pace: 0.05, ..FleetConfig::default() }).await?;
    let url = fleet.url(ADDRESS);
    for state in ["at rest", "at work"] {
        if state == "at work" {
            make_busy(&url).await?;
        }
        let verdict = validate(&python, &schemas, &url).await?;
        let wrong = differences(&verdict.complaints);
        ensure!(wrong.is_empty(), "{state}:\n{}", wrong.join("\n"));
        // It must have looked at everything, and at something of each.
        let mut looked_at = verdict.resources.clone();
        looked_at.retain(|path| !is_session(path));
        let all = tree(&url).await?;
        ensure!(looked_at == all, "{state}: it read {looked_at:?}, and there are {all:?}");
        ensure!(all.len() > 30 && verdict.passed > 10 * all.len(), "{state}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn the_validator_s_log_is_read_as_it_is_written() {
    let log = "2026-11-16 13:48:57,236 - redfish - INFO - Validating /redfish/v1/Systems/1...\n\
               2026-11-16 13:48:57,237 - redfish - INFO - PASS - /Id (1): Pass: The property is valid.\n\
               2026-11-16 13:48:57,237 - redfish.rest.v1 - INFO - Attempt 1 of /redfish/v1/Chassis\n\
               2026-11-16 13:48:57,237 - redfish - ERROR - FAIL - /PowerState (3): Type Error: no.\n\
               2026-11-16 13:48:57,237 - redfish - CRITICAL - Could not access /redfish/v1/X; HTTP status: 404\n";
    let verdict = Verdict::read(log);
    assert_eq!(verdict.resources, BTreeSet::from(["/redfish/v1/Systems/1".to_owned()]));
    assert_eq!((verdict.passed, verdict.complaints.len()), (1, 2));
    assert_eq!(verdict.complaints[0].property, "/PowerState");
    assert_eq!(verdict.complaints[0].said, "(3): Type Error: no.");
    assert!(verdict.complaints[1].said.contains("404"));
    assert!(differences(&verdict.complaints).len() >= 2);
}
