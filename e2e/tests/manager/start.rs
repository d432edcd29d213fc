//! What the manager says when it can't start.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::{NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::process::Command;
use beskar7_e2e::{installation, wait, workspace};

use super::setup::*;

fn says(error: &str, all: &[&str]) -> Result<()> {
    for told in all {
        ensure!(error.contains(told), "{told:?} is not in: {error}");
    }
    Ok(())
}

async fn error_of(arguments: &[&str]) -> Result<String> {
    let output = run_to_end(arguments).await?;
    Ok(start_error(&output)?.to_owned())
}

fn with(kubeconfig: &Path) -> String {
    format!("--kubeconfig={}", kubeconfig.display())
}

#[tokio::test]
async fn without_an_api_server() -> Result<()> {
    says(&error_of(&[]).await?, &["nothing says where the API server is", "--kubeconfig"])?;
    says(
        &error_of(&["--kubeconfig=/nonexistent/config"]).await?,
        &["the kubeconfig /nonexistent/config can't be used", "No such file"],
    )?;
    let directory = tempfile::tempdir()?;
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).map(|()| path)
    };
    let garbage = write("garbage", "this is: [not a kubeconfig")?;
    says(&error_of(&[&with(&garbage)]).await?, &["garbage can't be used", "kubeconfig YAML"])?;

    let nobody = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let kubeconfig = write(
        "nobody",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: 'https://{nobody}', insecure-skip-tls-verify: true}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             users: [{{name: u, user: {{token: {PASSWORD}}}}}]\n"
        ),
    )?;
    let output = run_to_end(&[&with(&kubeconfig)]).await?;
    let at = format!("no API server answers at https://{nobody}/");
    says(start_error(&output)?, &[&at, "refused", "check that it runs"])?;
    ensure!(output.stderr.contains("trying again"), "no progress: {}", output.stderr);
    ensure!(!output.stderr.contains("tried for 0 s"), "gave up before --kube-api-wait: {}", output.stderr);
    ensure!(!output.stderr.contains(PASSWORD), "the token is told");
    says(&error_of(&[&with(&kubeconfig), "--context=other"]).await?, &["can't be used", "other"])?;

    // Its own address is taken: that is said before anything else.
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let flag = format!("--health-addr={}", taken.local_addr()?);
    says(&error_of(&[&with(&kubeconfig), &flag]).await?, &["--health-addr: can't listen on", "in use"])?;

    // Flags are variables too, and logs may be JSON.
    let output = Command::new("manager", workspace::manager_program())
        .arg("--health-addr=0")
        .env("BESKAR7_KUBECONFIG", &kubeconfig)
        .env("BESKAR7_KUBE_API_WAIT", "0")
        .env("BESKAR7_LOGGING_FORMAT", "json")
        .run(LIMIT)
        .await?;
    let last: serde_json::Value = serde_json::from_str(start_error(&output)?)?;
    ensure!(
        last["level"] == "ERROR" && last["error"].as_str().is_some_and(|error| error.starts_with(&at)),
        "{last}"
    );
    for line in output.stderr.lines() {
        serde_json::from_str::<serde_json::Value>(line).with_context(|| line.to_owned())?;
    }

    let output = run_to_end(&["--leader-elect-renew-deadline=1h"]).await?;
    ensure!(output.exit.to_string() == "exit code 2", "{}", output.exit);
    says(&output.stderr, &["--leader-elect-renew-deadline", "must be shorter"])
}

#[tokio::test(flavor = "multi_thread")]
async fn without_what_it_needs_on_the_api_server() -> Result<()> {
    let plane = installation::bare().await?;
    let admin = with(&plane.kubeconfig());
    says(
        &error_of(&[&admin]).await?,
        &[
            "does not know PhysicalHost (infrastructure.cluster.x-k8s.io/v1beta1)",
            "HostClaim (",
            "clusterctl init --infrastructure beskar7",
        ],
    )?;
    installation::install(&plane).await?;
    says(&error_of(&[&admin, "--leader-elect"]).await?, &["pass --leader-election-namespace"])?;
    plane.kubectl(&["delete", "crd", "hostclaims.infrastructure.cluster.x-k8s.io"]).await?.success()?;
    let error = error_of(&[&admin]).await?;
    says(&error, &["does not know HostClaim (infrastructure.cluster.x-k8s.io/v1beta1)"])?;
    ensure!(!error.contains("PhysicalHost ("), "{error}");
    let crds = workspace::root().join("config/crd");
    plane.kubectl(&["apply", "-k", &crds.to_string_lossy()]).await?.success()?;
    plane
        .kubectl(&["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"])
        .await?
        .success()?;
    plane.kubectl(&["delete", "crd", "machines.cluster.x-k8s.io"]).await?.success()?;
    says(
        &error_of(&[&admin]).await?,
        &["does not know Machine (cluster.x-k8s.io/v1beta2)", "clusterctl init"],
    )?;
    installation::apply(&plane, installation::CLUSTER_API_KINDS).await?;
    plane
        .kubectl(&["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"])
        .await?
        .success()?;

    unknown_credentials(&plane).await?;
    missing_permissions(&plane).await?;
    plane.stop().await
}

async fn unknown_credentials(plane: &ControlPlane) -> Result<()> {
    let good =
        std::fs::read_to_string(plane.kubeconfig_for_service_account(NAMESPACE, SERVICE_ACCOUNT).await?)?;
    let token = good.lines().find(|line| line.trim_start().starts_with("token:")).context("no token")?;
    let indent = token.len() - token.trim_start().len();
    let bad = good.replace(token, &format!("{}token: {PASSWORD}", " ".repeat(indent)));
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("bad");
    std::fs::write(&path, bad)?;
    let output = run_to_end(&[&with(&path)]).await?;
    says(start_error(&output)?, &["does not accept our credentials", "Unauthorized"])?;
    ensure!(!output.stderr.contains(PASSWORD), "the token is told");

    // A server that we have no reason to trust.
    let stranger = good.replace("certificate-authority-data", "x-ignored");
    std::fs::write(&path, stranger)?;
    says(&error_of(&[&with(&path)]).await?, &["certificate of the API server", "is not trusted"])
}

/// Takes one verb after another out of the release's roles: each is missed by name.
async fn missing_permissions(plane: &ControlPlane) -> Result<()> {
    let account = plane.kubeconfig_for_service_account(NAMESPACE, SERVICE_ACCOUNT).await?;
    let (account, lease) = (with(&account), format!("--leader-election-namespace={NAMESPACE}"));
    let manager = ["clusterrole", "beskar7-manager-role"];
    let election = ["role", "beskar7-leader-election-role"];
    for (role, resource, verb, told) in [
        (
            manager,
            "physicalhosts",
            "watch",
            "watch physicalhosts (infrastructure.cluster.x-k8s.io) in all namespaces",
        ),
        (
            manager,
            "physicalhosts/status",
            "patch",
            "patch physicalhosts/status (infrastructure.cluster.x-k8s.io) in all namespaces",
        ),
        (manager, "secrets", "get", "get secrets in all namespaces"),
        (manager, "tokenreviews", "create", "create tokenreviews (authentication.k8s.io)"),
        (election, "leases", "update", "update leases (coordination.k8s.io) in namespace beskar7-system"),
    ] {
        let [kind, name] = role;
        let whole = plane.kubectl(&["-n", NAMESPACE, "get", kind, name, "-o", "json"]).await?.success()?;
        let mut less: serde_json::Value = serde_json::from_str(&whole)?;
        let rules = less["rules"].as_array_mut().context("rules")?;
        let mut lesser = Vec::new();
        for rule in rules.iter_mut() {
            let has = |list: &serde_json::Value, what: &str| {
                list.as_array().is_some_and(|all| all.iter().any(|one| one == what))
            };
            if has(&rule["resources"], resource) && has(&rule["verbs"], verb) {
                // This resource gets a rule of its own; what else the rule is for keeps its verbs.
                let mut own = rule.clone();
                own["resources"] = serde_json::json!([resource]);
                let verbs = own["verbs"].as_array_mut().context("verbs")?;
                verbs.retain(|one| one != verb);
                verbs.push("deletecollection".into());
                lesser.push(own);
                rule["resources"].as_array_mut().context("resources")?.retain(|one| one != resource);
            }
        }
        rules.retain(|rule| rule["resources"].as_array().is_some_and(|all| !all.is_empty()));
        rules.append(&mut lesser);
        plane.kubectl_with_input(&["replace", "-f", "-"], &less.to_string()).await?.success()?;
        until_allowed(plane, role, verb, resource, false).await?;
        let error = error_of(&[&account, "--leader-elect", &lease]).await?;
        let who = format!(
            "system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT} is not allowed to: {told}. Grant it"
        );
        says(&error, &[&who])?;
        let mut whole: serde_json::Value = serde_json::from_str(&whole)?;
        whole["metadata"].as_object_mut().context("metadata")?.remove("resourceVersion");
        plane.kubectl_with_input(&["replace", "-f", "-"], &whole.to_string()).await?.success()?;
        until_allowed(plane, role, verb, resource, true).await?;
    }
    Ok(())
}

/// The API server's authorizer takes a moment to see a changed role.
async fn until_allowed(
    plane: &ControlPlane,
    [kind, _]: [&str; 2],
    verb: &str,
    resource: &str,
    allowed: bool,
) -> Result<()> {
    // In its own namespace the manager has a role besides.
    let namespace = if kind == "role" { NAMESPACE } else { "default" };
    let account = format!("--as=system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}");
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let subresource = format!("--subresource={subresource}");
    let seen = wait::until_true("the changed role to be in force", LIMIT, || async {
        let asked = ["-n", namespace, "auth", "can-i", verb, resource, &subresource, &account];
        let answer = plane.kubectl(&asked).await?;
        let right = answer.stdout.trim() == if allowed { "yes" } else { "no" };
        Ok(if right { Ok(()) } else { Err(format!("{} {}", answer.stdout, answer.stderr)) })
    });
    Ok(seen.await?)
}
