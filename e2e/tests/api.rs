//! The API as a real kube-apiserver sees it: CRDs, policies, samples, rules.
#![allow(clippy::indexing_slicing, reason = "a test may panic")]

mod judge;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::control_plane::{ControlPlane, Options};
use beskar7_e2e::tools::Tools;
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workspace;
use judge::{Judge, resource_of};
use kube::api::{DynamicObject, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

/// A control plane with our CRDs and policies, as `kubectl apply -k` installs them.
async fn control_plane() -> Result<ControlPlane> {
    let plane = control_plane_without_policies().await?;
    apply_policies(&plane).await?;
    Ok(plane)
}

async fn control_plane_without_policies() -> Result<ControlPlane> {
    let plane = ControlPlane::start(&Tools::control_plane_ready().await?, Options::default()).await?;
    let crds = workspace::root().join("config/crd");
    plane.kubectl(&["apply", "-k", &crds.to_string_lossy()]).await?.success()?;
    let ours = "cluster.x-k8s.io/provider=infrastructure-beskar7";
    plane
        .kubectl(&["wait", "crd", "--for=condition=Established", "--timeout=60s", "-l", ours])
        .await?
        .success()?;
    Ok(plane)
}

/// The API server takes a moment to put a new policy into force.
async fn apply_policies(plane: &ControlPlane) -> Result<()> {
    let policies = workspace::root().join("config/policy");
    plane.kubectl(&["apply", "-k", &policies.to_string_lossy()]).await?.success()?;
    let probe = include_str!("manifests/policy-probe.yaml");
    wait::until("the admission policies to be in force", Duration::from_secs(60), || async {
        let answer = plane.kubectl_with_input(&["create", "--dry-run=server", "-f", "-"], probe).await?;
        Ok(if answer.stderr.matches("can only use Secrets of its own namespace").count() == 2 {
            Seen::Done(())
        } else {
            Seen::NotYet(answer.stderr)
        })
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn crds_samples_and_manifests_of_the_iso_era_are_accepted() -> Result<()> {
    let plane = control_plane().await?;

    let samples = workspace::root().join("config/samples");
    let said = plane.kubectl(&["apply", "-f", &samples.to_string_lossy()]).await?.success()?;
    for kind in beskar7_api::crd::all().into_iter().map(|crd| crd.spec.names.kind) {
        let of_kind = format!("{}.{}/", kind.to_lowercase(), beskar7_api::GROUP);
        ensure!(said.contains(&of_kind), "config/samples has no {kind}:\n{said}");
    }

    // What belongs together is in folders, in the namespaces of a platform team and of a tenant.
    for namespace in ["metal", "team-a"] {
        plane.kubectl(&["create", "namespace", namespace]).await?.success()?;
    }
    plane.kubectl(&["apply", "-R", "-f", &samples.to_string_lossy()]).await?.success()?;

    let iso_era = workspace::root().join("e2e/tests/manifests/iso-era.yaml");
    let output = plane.kubectl(&["apply", "-f", &iso_era.to_string_lossy()]).await?;
    ensure!(!output.stderr.contains("Warning"), "{}", output.stderr);
    output.success()?;

    let listed = plane.kubectl(&["get", "cluster-api", "-o", "name"]).await?.success()?;
    ensure!(listed.contains("physicalhost.infrastructure.cluster.x-k8s.io/worker-01"), "{listed}");
    let table = plane.kubectl(&["get", "ph"]).await?.success()?;
    for column in ["STATE", "POWER", "CONSUMER", "ZONE", "MODEL", "READY", "AGE"] {
        ensure!(table.contains(column), "no column {column}:\n{table}");
    }
    let held = plane
        .kubectl(&["get", "ph", "--field-selector=spec.consumerRef.name=worker-01", "-o", "name"])
        .await?;
    ensure!(held.success()?.trim() == "physicalhost.infrastructure.cluster.x-k8s.io/worker-01");
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_explain_reads_well() -> Result<()> {
    let plane = control_plane().await?;
    let explained = plane.kubectl(&["explain", "physicalhost.spec.redfishConnection"]).await?.success()?;
    for words in [
        "How to reach the host's BMC",
        "address\t<string> -required-",
        "username",
        "prefer caBundleSecretRef",
    ] {
        ensure!(explained.contains(words), "{words:?} is not in\n{explained}");
    }
    let kinds: BTreeSet<String> =
        beskar7_api::crd::all().into_iter().map(|crd| crd.spec.names.plural).collect();
    for kind in kinds {
        let explained = plane.kubectl(&["explain", &kind, "--recursive"]).await?.success()?;
        ensure!(!explained.contains("<no description>"), "{kind}:\n{explained}");
    }
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_is_judged_as_it_says() -> Result<()> {
    let plane = control_plane().await?;
    let client = plane.client().await?;
    let mut wrong = Vec::new();
    for (number, case) in judge::cases()?.into_iter().enumerate() {
        let judge = Judge::new(client.clone(), number, &case)?;
        if let Err(error) = judge.judge().await {
            wrong.push(format!("{}: {error:#}", case.name));
        }
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_change_only_in_the_dry_run_of_a_topology() -> Result<()> {
    let plane = control_plane().await?;
    let client = plane.client().await?;
    let mut object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "Beskar7ClusterTemplate",
        "metadata": { "name": "template" },
        "spec": { "template": { "spec": {} } },
    }))?;
    let kind = resource_of(&object)?;
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &kind);
    let stored = api.create(&PostParams::default(), &object).await?;

    object.metadata.resource_version = stored.resource_version();
    object.data["spec"]["template"]["spec"]["hostPool"] = json!({ "namespace": "metal" });
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let annotation = || [("topology.cluster.x-k8s.io/dry-run".to_string(), String::new())].into();

    api.replace("template", &dry_run, &object)
        .await
        .err()
        .context("a dry run without the annotation passed")?;
    object.metadata.annotations = Some(annotation());
    api.replace("template", &dry_run, &object).await.context("the dry run of a topology")?;
    let refused = api.replace("template", &PostParams::default(), &object).await;
    let refused = refused.err().context("an update with the annotation passed")?.to_string();
    ensure!(refused.contains("Beskar7ClusterTemplate template: spec can't change"), "{refused}");
    plane.stop().await
}

/// A reference that was stored before the policy must not hold up finalizers.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_policy_would_refuse_today_can_still_be_finished() -> Result<()> {
    let plane = control_plane_without_policies().await?;
    plane
        .kubectl_with_input(&["create", "-f", "-"], include_str!("manifests/policy-probe.yaml"))
        .await?
        .success()?;
    apply_policies(&plane).await?;

    let finalizer = r#"{"metadata":{"finalizers":["physicalhost.infrastructure.cluster.x-k8s.io"]}}"#;
    plane
        .kubectl(&["patch", "physicalhost", "policy-probe", "--type=merge", "-p", finalizer])
        .await?
        .success()?;
    let finalizer = r#"{"metadata":{"finalizers":["hostclaim.infrastructure.cluster.x-k8s.io"]}}"#;
    plane
        .kubectl(&["patch", "hostclaim", "policy-probe", "--type=merge", "-p", finalizer])
        .await?
        .success()?;
    plane.stop().await
}
