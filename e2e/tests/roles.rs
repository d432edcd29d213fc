//! The roles that are there to be handed out, asked of a real API server as those who have them.

use std::time::Duration;

use anyhow::{Result, ensure};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::installation::{apply, installed};
use beskar7_e2e::wait;

const LIMIT: Duration = Duration::from_secs(60);

/// Who has which role where.
const BINDINGS: &str = r#"
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: team}}
- {apiVersion: v1, kind: Namespace, metadata: {name: other}}
- {apiVersion: v1, kind: Namespace, metadata: {name: racks}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: tenant, namespace: team}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: beskar7-tenant}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: editor, namespace: team}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: editor}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: platform, namespace: racks}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: beskar7-platform}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: platform}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: viewer, namespace: racks}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: beskar7-viewer}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: finder, namespace: racks}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: beskar7-discovery-role}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: finder}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: onlooker, namespace: racks}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: onlooker}]
"#;

/// What the platform team has, and a tenant's claim.
const OBJECTS: &str = r#"
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: bmc, namespace: racks}, stringData: {username: root, password: x}}
- apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
  kind: PhysicalHost
  metadata: {name: h, namespace: racks}
  spec: {redfishConnection: {address: "https://10.0.0.1", credentialsSecretRef: bmc}}
- apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
  kind: HostDeployPolicy
  metadata: {name: p, namespace: racks}
  spec: {hostclaimNamespaces: {}}
"#;

const CLAIM: &str = r#"
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: HostClaim
metadata: {name: mine, namespace: team}
spec: {hostSelector: {matchLabels: {rack: r1}}}
"#;

/// Whether somebody may do something: `<verb> <resource> <namespace>`.
async fn may(plane: &ControlPlane, who: &str, what: &str) -> Result<bool> {
    let parts: Vec<&str> = what.split(' ').collect();
    let [verb, resource, namespace] = parts.as_slice() else { anyhow::bail!("{what} has three parts") };
    // What stands behind a slash is a name to kubectl.
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    let (user, part) = (format!("--as={who}"), format!("--subresource={part}"));
    let asked = plane.kubectl(&["auth", "can-i", verb, resource, "-n", namespace, &user, &part]).await?;
    Ok(asked.stdout.trim() == "yes")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_shows_and_changes_what_it_is_for_and_nothing_else() -> Result<()> {
    let plane = installed().await?;
    apply(&plane, BINDINGS).await?;
    // The controller of roles gathers what is aggregated.
    let of_plane = &plane;
    wait::until_true("the roles to be gathered".to_owned(), LIMIT, || async move {
        let gathered = may(of_plane, "editor", "create hostclaims team").await?
            && may(of_plane, "onlooker", "get physicalhosts racks").await?;
        Ok(if gathered { Ok(()) } else { Err("not yet".to_owned()) })
    })
    .await?;
    apply(&plane, OBJECTS).await?;

    let use_machines = [
        "create hostclaims team",
        "delete hostclaims team",
        "patch hostclaims team",
        "watch hostclaims team",
        "create beskar7clusters team",
        "create beskar7machinetemplates team",
        "get beskar7machines team",
    ];
    let know_bmcs = [
        "get physicalhosts racks",
        "list physicalhosts racks",
        "get secrets racks",
        "get hardwaredata racks",
        "get hostdeploypolicies racks",
    ];
    let look_after_hosts = [
        "create physicalhosts racks",
        "patch physicalhosts racks",
        "create hostdeploypolicies racks",
        "create hostbootconfigurations racks",
        "create dhcpreservations racks",
    ];
    let elsewhere = ["get hostclaims other", "create hostclaims other", "create hostclaims racks"];
    let report = ["patch hostclaims/status team", "patch physicalhosts/status racks"];
    for (who, what, expected) in [
        ("tenant", &use_machines[..], true),
        ("tenant", &know_bmcs[..], false),
        ("tenant", &look_after_hosts[..], false),
        ("tenant", &elsewhere[..], false),
        ("tenant", &report[..], false),
        (
            "tenant",
            &["create physicalhosts team", "create dhcpreservations team", "get secrets team"][..],
            false,
        ),
        ("editor", &use_machines[..], true),
        ("editor", &know_bmcs[..], false),
        ("editor", &["create physicalhosts team", "create hostdeploypolicies team"][..], false),
        ("editor", &report[..], false),
        ("platform", &look_after_hosts[..], true),
        (
            "platform",
            &["get physicalhosts racks", "get hardwaredata racks", "get hostclaims racks"][..],
            true,
        ),
        ("platform", &["get secrets racks", "create hostclaims racks", "get physicalhosts team"][..], false),
        ("platform", &report[..], false),
        (
            "viewer",
            &["get physicalhosts racks", "list hostclaims racks", "watch hostdeploypolicies racks"][..],
            true,
        ),
        ("viewer", &look_after_hosts[..], false),
        ("viewer", &["get secrets racks", "get hostclaims team"][..], false),
        ("onlooker", &["get physicalhosts racks", "list hardwaredata racks"][..], true),
        ("onlooker", &look_after_hosts[..], false),
        ("onlooker", &["get secrets racks"][..], false),
        ("finder", &["create physicalhosts racks"][..], true),
        (
            "finder",
            &["create physicalhosts team", "delete physicalhosts racks", "create secrets racks"][..],
            false,
        ),
        ("finder", &know_bmcs[..], false),
    ] {
        for one in what {
            ensure!(may(&plane, who, one).await? == expected, "{who}: {one} should be {expected}");
        }
    }

    // And done, not only asked.
    let made = plane.kubectl_with_input(&["--as=tenant", "create", "-f", "-"], CLAIM).await?;
    made.success()?;
    let seen = plane.kubectl(&["--as=tenant", "get", "physicalhosts", "-A"]).await?;
    ensure!(seen.stderr.contains("forbidden"), "{}", seen.stderr);
    let seen =
        plane.kubectl(&["--as=viewer", "-n", "racks", "get", "physicalhost", "h", "-o", "yaml"]).await?;
    ensure!(seen.success()?.contains("10.0.0.1"));
    plane.stop().await
}
