//! A control plane with our release on it, as `clusterctl` would install it, but for the Deployment: managers are
//! started by the tests.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_api::PhysicalHost;
use beskar7_e2e::control_plane::{AuditEvent, ControlPlane, Options};
use beskar7_e2e::manager::{self, Manager, NAMESPACE};
use beskar7_e2e::process::{Command, Output};
use beskar7_e2e::tools::Tools;
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workspace;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

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

/// A control plane without anything of ours.
pub async fn bare() -> Result<ControlPlane> {
    ControlPlane::start(&Tools::control_plane_ready().await?, Options::default()).await
}

/// A control plane with our release, the two kinds of Cluster API that the manager asks for, and a namespace for hosts.
pub async fn installed() -> Result<ControlPlane> {
    let plane = bare().await?;
    install(&plane).await?;
    Ok(plane)
}

pub async fn install(plane: &ControlPlane) -> Result<()> {
    let release = workspace::root().join("config/default");
    let release = plane.kubectl(&["kustomize", &release.to_string_lossy()]).await?.success()?;
    let objects: Vec<&str> = release.split("\n---\n").filter(|object| !runs_pods(object)).collect();
    apply(plane, &objects.join("\n---\n")).await?;
    apply(plane, include_str!("cluster-api-stub.yaml")).await?;
    let wait = ["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"];
    plane.kubectl(&wait).await?.success()?;
    plane.kubectl(&["create", "namespace", HOSTS]).await?.success()?;
    Ok(())
}

/// Without the variables that clusterctl fills in, and without kubelets, these are of no use here.
fn runs_pods(object: &str) -> bool {
    ["Deployment", "Service", "PodDisruptionBudget"]
        .iter()
        .any(|kind| object.lines().any(|line| line == format!("kind: {kind}")))
}

pub async fn apply(plane: &ControlPlane, objects: &str) -> Result<String> {
    plane.kubectl_with_input(&["apply", "-f", "-"], objects).await?.success()
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
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": HOSTS}, "stringData": data}))?;
    Api::<Secret>::namespaced(client.clone(), HOSTS).create(&PostParams::default(), &secret).await?;
    Ok(())
}

pub fn hosts(client: &Client, namespace: &str) -> Api<PhysicalHost> {
    Api::namespaced(client.clone(), namespace)
}

pub async fn make_host(client: &Client, namespace: &str, name: &str, more: &Value) -> Result<()> {
    let mut host = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": name},
        "spec": {"redfishConnection": {"address": "https://127.0.0.1:9", "credentialsSecretRef": "bmc"}},
    });
    merge(&mut host, more);
    hosts(client, namespace).create(&PostParams::default(), &serde_json::from_value(host)?).await?;
    Ok(())
}

pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

pub async fn patch_host(client: &Client, name: &str, patch: &Value) -> Result<()> {
    hosts(client, HOSTS).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

pub fn condition<'a>(host: &'a PhysicalHost, type_: &str) -> Option<&'a Condition> {
    host.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
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
