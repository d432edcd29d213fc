//! What tests of the manager begin with: a control plane with our release, managers, hosts and their Secrets.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostState, PhysicalHost, PhysicalHostSpec};
use beskar7_e2e::control_plane::{AuditEvent, ControlPlane};
use beskar7_e2e::manager::{self, Manager, NAMESPACE};
pub use beskar7_e2e::objects::{make_host, merge};
use beskar7_e2e::process::{Command, Output};
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::{installation, objects, workspace};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;

/// Short enough for a test, long enough for a busy machine.
pub const LEASE: Duration = Duration::from_secs(8);
pub const RENEW: Duration = Duration::from_secs(5);
pub const RETRY: Duration = Duration::from_secs(1);

/// What anything else may take on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Where the hosts of these tests are.
pub const HOSTS: &str = "metal";

/// Never to be seen in a log, a condition or an event.
pub const PASSWORD: &str = "kept-to-ourselves-4711";

/// A control plane with our release, the two kinds of Cluster API that the manager asks for, and a namespace for hosts.
pub async fn installed() -> Result<ControlPlane> {
    let plane = installation::installed().await?;
    plane.kubectl(&["create", "namespace", HOSTS]).await?.success()?;
    Ok(plane)
}

/// A replica that takes part in the election, logs all it can, and otherwise is as released.
pub fn replica(name: &str) -> manager::Options {
    let flags = [
        format!("--leader-election-namespace={NAMESPACE}"),
        format!("--leader-elect-lease-duration={}s", LEASE.as_secs()),
        format!("--leader-elect-renew-deadline={}s", RENEW.as_secs()),
        format!("--leader-elect-retry-period={}s", RETRY.as_secs()),
        "-v=10".to_owned(),
    ];
    manager::Options { name: name.to_owned(), flags: flags.into(), ..manager::Options::default() }
}

/// A replica that needs no election.
pub fn alone(name: &str, flags: &[&str]) -> manager::Options {
    let flags = flags.iter().map(|flag| (*flag).to_owned()).chain(["-v=10".to_owned()]).collect();
    manager::Options { name: name.to_owned(), leader_elect: false, flags, ..manager::Options::default() }
}

/// Runs a manager that is expected to end by itself; it listens on free ports only.
pub async fn run_to_end(arguments: &[&str]) -> Result<Output> {
    Command::new("manager", workspace::manager_program())
        .args(["--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--kube-api-wait=2s"])
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .run(LIMIT)
        .await
}

/// The error of a manager that could not start: its exit code is 1, and what it said last.
pub fn start_error(output: &Output) -> Result<&str> {
    ensure!(output.exit.to_string() == "exit code 1", "{}: {}", output.exit, output.stderr);
    output.stderr.trim_end().lines().last().context("it said nothing")
}

pub async fn make_secret(client: &Client, name: &str, data: &Value) -> Result<()> {
    objects::make_secret(client, HOSTS, name, data).await
}

pub fn hosts(client: &Client, namespace: &str) -> Api<PhysicalHost> {
    Api::namespaced(client.clone(), namespace)
}

pub async fn patch_host(client: &Client, name: &str, patch: &Value) -> Result<()> {
    hosts(client, HOSTS).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// What `kubectl replace` does with the manifest that a host was enrolled with: nothing that was written since is left,
/// neither the claim nor an annotation.
pub async fn replace_with_what_was_enrolled(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let hosts = &hosts(client, namespace);
    wait::until_true(format!("{name} to be replaced"), LIMIT, || async move {
        let mut host = hosts.get(name).await?;
        host.metadata.annotations = None;
        host.spec = PhysicalHostSpec {
            redfish_connection: host.spec.redfish_connection.clone(),
            ..PhysicalHostSpec::default()
        };
        // Whoever was faster wins, and it is replaced again.
        Ok(match hosts.replace(name, &PostParams::default(), &host).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(refusal)) if refusal.is_conflict() => Err(refusal.message),
            Err(error) => return Err(error.into()),
        })
    })
    .await?;
    Ok(())
}

pub fn condition<'a>(host: &'a PhysicalHost, type_: &str) -> Option<&'a Condition> {
    host.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
}

pub fn state_of(host: &PhysicalHost) -> Option<HostState> {
    host.status.as_ref()?.state
}

/// Waits until a host is as it should be.
pub async fn until_host(
    hosts: &Api<PhysicalHost>,
    name: &str,
    what: &str,
    so: impl Fn(&PhysicalHost) -> bool,
) -> Result<PhysicalHost> {
    let found = wait::until(format!("{name} to be {what}"), LIMIT * 2, || async {
        let host = hosts.get(name).await?;
        Ok(if so(&host) { Seen::Done(host) } else { Seen::NotYet(format!("{:?}", host.status)) })
    });
    Ok(found.await?)
}

/// Waits until a host's condition has this status and reason.
pub async fn until_condition(
    client: &Client,
    name: &str,
    type_: &str,
    status: &str,
    reason: &str,
) -> Result<PhysicalHost> {
    let what = format!("{name} to have {type_}={status} ({reason})");
    let found = wait::until(what, LIMIT, || async {
        let host = hosts(client, HOSTS).get(name).await?;
        Ok(match condition(&host, type_) {
            Some(found) if found.status == status && found.reason == reason => Seen::Done(host),
            other => Seen::NotYet(format!("{other:?}")),
        })
    });
    Ok(found.await?)
}

/// Who holds the Lease, if anybody does.
pub async fn holder(client: &Client) -> Result<Option<String>> {
    let lease =
        Api::<Lease>::namespaced(client.clone(), NAMESPACE).get_opt("beskar7-controller-manager").await?;
    let holder = lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity);
    Ok(holder.filter(|holder| !holder.is_empty()))
}

/// Waits until somebody else than `before` holds the Lease.
pub async fn until_held_by_other(client: &Client, before: Option<&str>, limit: Duration) -> Result<String> {
    let found = wait::until(format!("somebody else than {before:?} to lead"), limit, || async {
        Ok(match holder(client).await? {
            Some(holder) if Some(holder.as_str()) != before => Seen::Done(holder),
            other => Seen::NotYet(format!("{other:?}")),
        })
    });
    Ok(found.await?)
}

/// What a replica tried to change, in the order in which it came: everything but the election and questions.
pub fn attempts(plane: &ControlPlane, identity: &str) -> Result<Vec<AuditEvent>> {
    let agent = format!("beskar7-manager/{} ({identity})", env!("CARGO_PKG_VERSION"));
    let mut all: Vec<AuditEvent> = plane.audit()?;
    all.retain(|event| {
        let changes =
            matches!(event.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        let question = event.object_ref.resource.ends_with("reviews");
        event.user_agent == agent && changes && !question && event.object_ref.resource != "leases"
    });
    all.sort_by(|a, b| a.request_received_timestamp.cmp(&b.request_received_timestamp));
    Ok(all)
}

/// The value of a metric without labels.
pub async fn metric(manager: &Manager, name: &str) -> Result<String> {
    let text = manager.metrics().await?;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    Ok(line.with_context(|| format!("no {name} in\n{text}"))?.to_owned())
}

/// Everything that a manager has logged.
pub fn logged(manager: &Manager) -> Result<String> {
    let path = manager.process().log();
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}
