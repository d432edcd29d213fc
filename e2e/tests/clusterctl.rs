//! The release as users meet it: the real `clusterctl` installs it, the real
//! Cluster API runs with it, and every template becomes a cluster that the API
//! server accepts.
//!
//! Needs what `make release` writes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::cluster_api::{ClusterApi, Infrastructure};
use beskar7_e2e::control_plane::{ControlPlane, Options};
use beskar7_e2e::manager::{self, Manager};
use beskar7_e2e::tools::{Tool, Tools};
use beskar7_e2e::{wait, workspace};
use serde_json::{Value, json};

/// What the templates ask for and a person would know. The endpoint is on this machine: Cluster API connects to it.
const VARIABLES: [(&str, &str); 7] = [
    ("CONTROL_PLANE_ENDPOINT_IP", "127.53.0.10"),
    ("BESKAR7_IMAGE_URL", "http://images.example.com/node.iso"),
    ("BESKAR7_CONTROL_PLANE_CONFIG_URL", "http://config.example.com/control-plane.yaml"),
    ("BESKAR7_WORKER_CONFIG_URL", "http://config.example.com/worker.yaml"),
    ("BESKAR7_KERNEL_URL", "http://images.example.com/vmlinuz"),
    ("BESKAR7_INITRAMFS_URL", "http://images.example.com/initrd"),
    ("BESKAR7_IMAGE_CHECKSUM", "http://images.example.com/SHA256SUMS"),
];

/// The flavour of the ClusterClass.
const TOPOLOGY: &str = "topology";

/// What the default template can't do without.
const NEEDED: [(&str, &str); 1] = [("BESKAR7_IMAGE_URL", "http://images.example.com/node.iso")];

async fn prepared() -> Result<(ControlPlane, ClusterApi)> {
    let plane = ControlPlane::start(&Tools::ready().await?, Options::default()).await?;
    let cluster_api = ClusterApi::prepare(&plane, Infrastructure::default()).await?;
    Ok((plane, cluster_api))
}

#[tokio::test(flavor = "multi_thread")]
async fn clusterctl_installs_the_release_and_every_template_is_accepted() -> Result<()> {
    let (plane, cluster_api) = prepared().await?;

    let version = cluster_api.clusterctl(&["version", "-o", "short"]).await?.success()?;
    let pinned = plane.tools().version(Tool::Clusterctl)?;
    // One of KUBEBUILDER_ASSETS may be of any version.
    ensure!(!pinned.starts_with('v') || version.trim() == pinned, "{version}");

    let said = cluster_api.init().await?;
    let told = format!("{}{}", said.stdout, said.stderr);
    said.success()?;
    ensure!(told.contains("Skipping installing cert-manager as it is already installed"), "{told}");
    ensure!(told.contains(r#"Installing provider="infrastructure-beskar7""#), "{told}");
    installed_once(&plane).await?;

    // A second time changes nothing and is no error.
    cluster_api.init().await?.success().context("the second clusterctl init")?;
    installed_once(&plane).await?;

    let managers = cluster_api.start_managers(&plane).await?;
    let ours = Manager::start(&plane, &manager::Options::default()).await?;

    let flavors = cluster_api.infrastructure().flavors()?;
    ensure!(flavors == in_the_repository()?, "the release has {flavors:?}");
    for flavor in &flavors {
        let name = if flavor.is_empty() { "sample".to_owned() } else { format!("sample-{flavor}") };
        let cluster = generated(&cluster_api, &name, flavor, &VARIABLES).await?;
        if flavor == TOPOLOGY {
            class_accepted(&plane, &cluster).await?;
        }
        accepted(&plane, &cluster).await.with_context(|| format!("the template {flavor:?}:\n{cluster}"))?;
    }
    let cluster = generated(&cluster_api, "discovered", "", &NEEDED).await?;
    accepted(&plane, &cluster).await.with_context(|| format!("without an endpoint:\n{cluster}"))?;

    // The class is there now: clusterctl leaves it out.
    let image = ("BESKAR7_IMAGE_URL", "http://images.example.com/node-{version}.iso");
    let with_kube_vip = [VARIABLES.as_slice(), &[("BESKAR7_KUBE_VIP", "true"), image]].concat();
    let cluster = generated(&cluster_api, "held", TOPOLOGY, &with_kube_vip).await?;
    ensure!(!cluster.contains("kind: ClusterClass"), "{cluster}");
    accepted(&plane, &cluster).await.with_context(|| format!("with kube-vip:\n{cluster}"))?;
    let nowhere = cluster.replace("127.53.0.10", "");
    let refused = plane.kubectl_with_input(&["apply", "--dry-run=server", "-f", "-"], &nowhere).await?;
    ensure!(refused.stderr.contains("kube-vip needs an address to hold"), "{}", refused.stderr);

    kube_vip_is_a_pod(&plane).await?;
    topologies_are_made(&plane).await?;
    disk_images_are_described(&plane, &cluster_api).await.context("disk images")?;

    // Not only accepted: Cluster API takes the objects up.
    let kind = "beskar7cluster.infrastructure.cluster.x-k8s.io/sample";
    wait::until_true("core to own the Beskar7Cluster", Duration::from_secs(60), || async {
        let path = "jsonpath={.metadata.ownerReferences[*].kind}";
        let owners = plane.kubectl(&["get", kind, "-o", path]).await?.success()?;
        Ok(if owners.contains("Cluster") { Ok(()) } else { Err(format!("owners: {owners:?}")) })
    })
    .await?;
    first_machine(&plane, "sample", "127.53.0.10").await?;
    let described = cluster_api.clusterctl(&["describe", "cluster", "sample"]).await?.success()?;
    ensure!(described.contains("Beskar7Cluster default/sample"), "{described}");

    let plan = cluster_api.clusterctl(&["upgrade", "plan"]).await?.success()?;
    ensure!(plan.contains("infrastructure-beskar7"), "{plan}");
    ensure!(plan.contains("You are already up to date!"), "{plan}");

    managers.check()?;
    ensure!(ours.stop().await?.is_success(), "the manager did not stop well");
    managers.stop().await?;
    plane.stop().await
}

/// Waits until the control plane of a cluster, at this endpoint, has made its first Machine.
async fn first_machine(plane: &ControlPlane, cluster: &str, endpoint: &str) -> Result<()> {
    let label = format!("cluster.x-k8s.io/cluster-name={cluster},cluster.x-k8s.io/control-plane");
    let host = "jsonpath={.spec.controlPlaneEndpoint.host}";
    let what = format!("the first machine of {cluster}");
    let made = wait::until_true(what, Duration::from_secs(120), || async {
        let host = plane.kubectl(&["get", "cluster", cluster, "-o", host]).await?.success()?;
        let machines = plane.kubectl(&["get", "machines", "-l", &label, "-o", "name"]).await?.success()?;
        let right = host == endpoint && machines.lines().count() == 1;
        let said = plane.kubectl(&["get", "b7c", cluster, "-o", "jsonpath={.status}"]).await?.stdout;
        Ok(if right { Ok(()) } else { Err(format!("{host:?}, {machines:?}: {said}")) })
    });
    Ok(made.await?)
}

/// Each provider is there exactly once, in the version that was asked for.
async fn installed_once(plane: &ControlPlane) -> Result<()> {
    let columns = "jsonpath={range .items[*]}{.metadata.name}={.version}{\"\\n\"}{end}";
    let found = plane
        .kubectl(&["get", "providers.clusterctl.cluster.x-k8s.io", "-A", "-o", columns])
        .await?
        .success()?;
    let cluster_api = Tool::ClusterApi.version()?;
    let expected: BTreeSet<String> = [
        format!("cluster-api={cluster_api}"),
        format!("bootstrap-kubeadm={cluster_api}"),
        format!("control-plane-kubeadm={cluster_api}"),
        format!("infrastructure-beskar7={}", Infrastructure::default().version),
    ]
    .into();
    let lines: Vec<&str> = found.lines().collect();
    ensure!(lines.len() == expected.len(), "{found}");
    assert_eq!(lines.iter().map(|line| (*line).to_owned()).collect::<BTreeSet<_>>(), expected);
    Ok(())
}

/// The flavours in `templates/`.
fn in_the_repository() -> Result<Vec<String>> {
    let templates = std::fs::read_dir(workspace::root().join("templates"))?;
    let names = templates.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<Result<_>>()?;
    let stems = names.iter().filter_map(|name| name.strip_prefix("cluster-template")?.strip_suffix(".yaml"));
    let mut flavors: Vec<String> = stems.map(|stem| stem.trim_start_matches('-').to_owned()).collect();
    flavors.sort();
    Ok(flavors)
}

async fn generated(
    cluster_api: &ClusterApi,
    name: &str,
    flavor: &str,
    variables: &[(&str, &str)],
) -> Result<String> {
    let infrastructure = format!("beskar7:{}", cluster_api.infrastructure().version);
    let mut arguments = vec!["generate", "cluster", name, "--infrastructure", &infrastructure];
    arguments.extend(["--kubernetes-version", "v1.36.3", "--target-namespace", "default"]);
    if !flavor.is_empty() {
        arguments.extend(["--flavor", flavor]);
    }
    cluster_api.clusterctl_with(&arguments, variables).await?.success()
}

/// The class comes with the first cluster of it, and core takes it up. Whoever is faster than core is warned.
async fn class_accepted(plane: &ControlPlane, cluster: &str) -> Result<()> {
    let documents = cluster.split("\n---\n").filter(|document| !document.contains("\nkind: Cluster\n"));
    let class = documents.collect::<Vec<_>>().join("\n---\n");
    ensure!(class.contains("kind: ClusterClass"), "clusterctl left the class out:\n{cluster}");
    accepted(plane, &class).await.with_context(|| format!("the class:\n{class}"))?;
    let wait = ["wait", "clusterclass", "beskar7", "--for=condition=VariablesReady", "--timeout=60s"];
    plane.kubectl(&wait).await?.success()?;
    Ok(())
}

/// Core makes the objects of a topology as the other flavours would: under the same names, with what the variables say.
async fn topologies_are_made(plane: &ControlPlane) -> Result<()> {
    let get = async |kind: &str, name: &str| -> Result<Value> {
        let text = plane.kubectl(&["get", kind, name, "-o", "json"]).await?.success()?;
        serde_json::from_str(&text).context("JSON")
    };
    wait::until_true("the topology to be made", Duration::from_secs(60), || async {
        let found = plane.kubectl(&["get", "machinedeployment", "held-md-0", "-o", "name"]).await?;
        let told = plane.kubectl(&["get", "cluster", "held", "-o", "jsonpath={.status.conditions}"]).await?;
        Ok(if found.exit.is_success() { Ok(()) } else { Err(told.stdout) })
    })
    .await?;
    let (topology, plain) = (
        get("kubeadmcontrolplane", "held-control-plane").await?,
        get("kubeadmcontrolplane", "sample-kube-vip-control-plane").await?,
    );
    for part in ["preKubeadmCommands", "postKubeadmCommands"] {
        let at = format!("/spec/kubeadmConfigSpec/{part}");
        ensure!(topology.pointer(&at) == plain.pointer(&at), "{part}: {topology:#}");
    }
    let pod = |of: &Value| -> Result<Value> {
        let content = of.pointer("/spec/kubeadmConfigSpec/files/0/content").and_then(Value::as_str);
        serde_saphyr::from_str(content.context("no kube-vip")?).context("the Pod of kube-vip")
    };
    ensure!(pod(&topology)? == pod(&plain)?, "{:#}\nis not\n{:#}", pod(&topology)?, pod(&plain)?);
    let template = &topology["spec"]["machineTemplate"]["spec"]["infrastructureRef"]["name"];
    let template = get("beskar7machinetemplate", template.as_str().context("no template")?).await?;
    let machine = &template["spec"]["template"]["spec"];
    ensure!(machine["imageURL"] == "http://images.example.com/node-v1.36.3.iso", "{machine}");
    ensure!(machine["provisioningMode"] == "RemoteConfig" && machine["osFamily"] == "kairos", "{machine}");
    let endpoint = &get("beskar7cluster", "held").await?["spec"]["controlPlaneEndpoint"];
    ensure!(endpoint == &json!({"host": "127.53.0.10", "port": 6443}), "{endpoint}");
    Ok(())
}

/// What is known of a disk image, and of the disk that it is written to, reaches the machines' templates through the class.
async fn disk_images_are_described(plane: &ControlPlane, cluster_api: &ClusterApi) -> Result<()> {
    let image = ("BESKAR7_IMAGE_URL", "http://images.example.com/node-{version}.qcow2");
    let variables = [VARIABLES.as_slice(), &[("BESKAR7_PROVISIONING_MODE", "DiskImage"), image]].concat();
    let cluster = generated(cluster_api, "imaged", TOPOLOGY, &variables).await?;
    // clusterctl has no variables for what is said of an image.
    let of_the_image = "    - {name: image, value: {checksum: 'http://images.example.com/SHA256SUMS'}}\n    - {name: rootDeviceHints, value: {minSizeGigabytes: 400}}\n";
    let cluster =
        cluster.replacen("    - name: imageURL\n", &format!("{of_the_image}    - name: imageURL\n"), 1);
    accepted(plane, &cluster).await.with_context(|| cluster.clone())?;
    for template in machine_templates(plane, "imaged").await? {
        let machine = &template["spec"]["template"]["spec"];
        ensure!(machine["provisioningMode"] == "DiskImage", "{machine:#}");
        ensure!(machine["imageURL"] == "http://images.example.com/node-v1.36.3.qcow2", "{machine:#}");
        ensure!(machine["image"]["checksum"] == "http://images.example.com/SHA256SUMS", "{machine:#}");
        ensure!(machine["rootDeviceHints"] == json!({"minSizeGigabytes": 400}), "{machine:#}");
    }
    Ok(())
}

/// What the control plane and the workers of a topology are made from.
async fn machine_templates(plane: &ControlPlane, cluster: &str) -> Result<Vec<Value>> {
    let label = format!("cluster.x-k8s.io/cluster-name={cluster}");
    let what = format!("both templates of {cluster}");
    let found = wait::until(what, Duration::from_secs(60), || async {
        let arguments = ["get", "beskar7machinetemplates", "-l", &label, "-o", "json"];
        let all: Value = serde_json::from_str(&plane.kubectl(&arguments).await?.success()?)?;
        let all = all["items"].as_array().context("no list")?;
        Ok(if all.len() == 2 {
            wait::Seen::Done(all.clone())
        } else {
            wait::Seen::NotYet(format!("{all:?}"))
        })
    });
    Ok(found.await?)
}

/// What the flavour kube-vip writes onto machines is text to Cluster API, and a Pod to kubelet.
async fn kube_vip_is_a_pod(plane: &ControlPlane) -> Result<()> {
    let path = "jsonpath={.spec.kubeadmConfigSpec.files[0].content}";
    let control_plane = "kubeadmcontrolplane/sample-kube-vip-control-plane";
    let pod = plane.kubectl(&["get", control_plane, "-o", path]).await?.success()?;
    ensure!(pod.contains("127.53.0.10"), "{pod}");
    // As kubelet would show it to the API server: no service account is looked for.
    let mut pod: Value = serde_saphyr::from_str(&pod).context("the Pod of kube-vip")?;
    pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "1"});
    pod["spec"]["nodeName"] = json!("node");
    let arguments = ["create", "--dry-run=server", "--validate=strict", "-f", "-"];
    let said = plane.kubectl_with_input(&arguments, &pod.to_string()).await?.success()?;
    ensure!(said.starts_with("pod/kube-vip created"), "{said}");
    Ok(())
}

/// The API server, with the webhooks of Cluster API and our rules, takes it. Strictly: a misspelt field is an error.
async fn accepted(plane: &ControlPlane, cluster: &str) -> Result<()> {
    let arguments = ["apply", "--server-side", "--validate=strict", "-f", "-"];
    let said = plane.kubectl_with_input(&arguments, cluster).await?;
    ensure!(!said.stderr.contains("Warning"), "{}", said.stderr);
    let said = said.success()?;
    let objects = cluster.lines().filter(|line| line.starts_with("kind: ")).count();
    ensure!(said.lines().filter(|line| line.ends_with(" serverside-applied")).count() == objects, "{said}");
    Ok(())
}
