//! What the manager does with hosts, and which hosts it looks after.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::manager::{Manager, NAMESPACE, SERVICE_ACCOUNT};
use beskar7_e2e::process::Exit;
use beskar7_e2e::wait;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::json;

use super::setup::*;

const CONNECTION: &str = "RedfishConnectionReady";

#[tokio::test(flavor = "multi_thread")]
async fn hosts_are_told_what_is_missing_under_exactly_the_managers_role() -> Result<()> {
    let plane = installed().await?;
    let client = plane.client().await?;
    let credentials = json!({"username": "root", "password": PASSWORD});
    make_secret(&client, "bmc", &credentials).await?;
    make_secret(&client, "half", &json!({"username": "root"})).await?;
    make_secret(&client, "trust", &json!({"ca.crt": PASSWORD})).await?;
    let named = |name: &str| json!({"spec": {"redfishConnection": {"credentialsSecretRef": name}}});
    make_host(&client, HOSTS, "complete", &json!({})).await?;
    make_host(&client, HOSTS, "absent", &named("later")).await?;
    make_host(&client, HOSTS, "lacking", &named("half")).await?;
    let trust = |name: &str| json!({"spec": {"redfishConnection": {"caBundleSecretRef": {"name": name}}}});
    make_host(&client, HOSTS, "trusting", &trust("trust")).await?;
    make_host(&client, HOSTS, "distrusting", &trust("half")).await?;
    let paused = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
    make_host(&client, HOSTS, "paused", &paused).await?;

    let manager = Manager::start(&plane, &replica("manager")).await?;
    for (host, status, reason, told) in [
        ("complete", "False", "RedfishConnectionFailed", "https://127.0.0.1:9"),
        ("absent", "False", "SecretNotFound", "Secret metal/later does not exist"),
        ("lacking", "False", "MissingSecretData", "has no password"),
        ("distrusting", "False", "MissingSecretData", "has no ca.crt"),
    ] {
        let found = until_condition(&client, host, CONNECTION, status, reason).await?;
        let message = &condition(&found, CONNECTION).context("just seen")?.message;
        ensure!(message.contains(told), "{host}: {message}");
        let ready = condition(&found, "Ready").with_context(|| format!("{host} has no Ready"))?;
        ensure!(ready.status == status, "{host}: {ready:?}");
        let said = serde_json::to_value(found.status.context("just seen")?)?;
        ensure!(said["state"] == "Enrolling" && said["observedGeneration"] == 1, "{host}: {said}");
    }
    // What does not pass by itself is an error, and stays one until somebody does something.
    let found = until_condition(&client, "trusting", CONNECTION, "False", "RedfishConnectionFailed").await?;
    let message = &condition(&found, CONNECTION).context("just seen")?.message;
    ensure!(message.contains("the CA bundle holds no certificate"), "{message}");
    ensure!(serde_json::to_value(found.status.context("just seen")?.state)? == "Error");
    let found = until_condition(&client, "paused", "Paused", "True", "Paused").await?;
    ensure!(
        condition(&found, CONNECTION).is_none() && found.status.is_some_and(|status| status.state.is_none())
    );

    // What is put right is seen; what is paused and let go is looked at.
    make_secret(&client, "later", &credentials).await?;
    until_condition(&client, "absent", CONNECTION, "False", "RedfishConnectionFailed").await?;
    patch_host(&client, "paused", &json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}}))
        .await?;
    until_condition(&client, "paused", CONNECTION, "False", "RedfishConnectionFailed").await?;
    until_condition(&client, "paused", "Paused", "False", "NotPaused").await?;

    // A host that is claimed keeps its state, whatever is wrong with its Secret.
    patch_host(
        &client,
        "complete",
        &json!({"spec": {
            "consumerRef": {"kind": "Beskar7Machine", "name": "m"}, "claimID": "c",
        }}),
    )
    .await?;
    let mark =
        json!({"metadata": {"annotations": {"beskar7.infrastructure.cluster.x-k8s.io/provisioned": "c"}}});
    patch_host(&client, "complete", &mark).await?;
    patch_host(&client, "complete", &named("gone")).await?;
    let found = until_condition(&client, "complete", CONNECTION, "False", "SecretNotFound").await?;
    let state = serde_json::to_value(found.status.context("just seen")?.state)?;
    ensure!(state == "Provisioned", "{state}");

    // People were told, once for each change.
    let events = Api::<Event>::namespaced(client.clone(), HOSTS).list(&ListParams::default()).await?;
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let about = event.regarding.as_ref().and_then(|about| about.name.as_deref()).unwrap_or_default();
            format!(
                "{} {about} {}",
                event.type_.as_deref().unwrap_or_default(),
                event.reason.as_deref().unwrap_or_default()
            )
        })
        .collect();
    for expected in [
        "Warning absent SecretNotFound",
        "Warning absent RedfishConnectionFailed",
        "Warning lacking MissingSecretData",
    ] {
        ensure!(told.iter().filter(|one| *one == expected).count() == 1, "{expected} in {told:?}");
    }
    // A change that means nothing is not written about.
    let identity = holder(&client).await?.context("nobody leads")?;
    let before = attempts(&plane, &identity)?.len();
    patch_host(&client, "trusting", &json!({"metadata": {"labels": {"rack": "7"}}})).await?;
    patch_host(&client, "lacking", &named("absent-too")).await?;
    until_condition(&client, "lacking", CONNECTION, "False", "SecretNotFound").await?;
    let after: Vec<_> = attempts(&plane, &identity)?.split_off(before);
    ensure!(
        after.iter().all(
            |event| event.object_ref.name.starts_with("lacking") || event.object_ref.resource == "events"
        ),
        "{after:?}"
    );

    // Nothing was refused, and no Secret was listed or watched.
    let user = format!("system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}");
    let all: Vec<_> = plane.audit()?.into_iter().filter(|event| event.user.username == user).collect();
    ensure!(!all.is_empty(), "the audit log knows nothing of {user}");
    for event in &all {
        ensure!(event.response_status.code != 403, "refused: {event:?}");
        ensure!(event.object_ref.resource != "secrets" || event.verb == "get", "{event:?}");
    }

    let log = logged(&manager)?;
    let objects = plane.kubectl(&["get", "ph,events", "-A", "-o", "yaml"]).await?.success()?;
    ensure!(!log.contains(PASSWORD) && !objects.contains(PASSWORD), "the password is told");
    ensure!(log.contains("boot server off: no --boot-url"));
    let exit = manager.stop().await?;
    ensure!(exit == Exit::Code(0), "{exit}");
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_looks_after_the_hosts_it_is_given_and_no_others() -> Result<()> {
    let plane = installed().await?;
    let client = plane.client().await?;
    plane.kubectl(&["create", "namespace", "elsewhere"]).await?.success()?;
    let label = |value: &str| json!({"metadata": {"labels": {"cluster.x-k8s.io/watch-filter": value}}});
    for namespace in [HOSTS, "elsewhere"] {
        make_host(&client, namespace, "ours", &label("ours")).await?;
        make_host(&client, namespace, "others", &label("others")).await?;
        make_host(&client, namespace, "free", &json!({})).await?;
    }
    // With --namespace, rights in that namespace are enough.
    plane.kubectl(&["delete", "clusterrolebinding", "beskar7-manager-rolebinding"]).await?.success()?;
    let account = format!("--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}");
    let role = "--clusterrole=beskar7-manager-role";
    plane.kubectl(&["-n", HOSTS, "create", "rolebinding", "manager", role, &account]).await?.success()?;

    let namespace = format!("--namespace={HOSTS}");
    let manager = Manager::start(&plane, &alone("manager", &[&namespace, "--watch-filter=ours"])).await?;
    until_condition(&client, "ours", CONNECTION, "False", "SecretNotFound").await?;
    // The one that comes last is seen, so those before it were seen too, if they were to be.
    make_host(&client, HOSTS, "last", &label("ours")).await?;
    until_condition(&client, "last", CONNECTION, "False", "SecretNotFound").await?;
    for (namespace, name) in
        [(HOSTS, "others"), (HOSTS, "free"), ("elsewhere", "ours"), ("elsewhere", "free")]
    {
        let host = hosts(&client, namespace).get(name).await?;
        ensure!(host.status.is_none(), "{namespace}/{name}: {:?}", host.status);
    }
    // Given over to us, it is looked after.
    patch_host(&client, "free", &label("ours")).await?;
    until_condition(&client, "free", CONNECTION, "False", "SecretNotFound").await?;
    manager.stop().await?;
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_are_told_to_those_who_may_know() -> Result<()> {
    let plane = installed().await?;
    let client = plane.client().await?;
    let open = Manager::start(&plane, &replica("open")).await?;
    make_host(&client, HOSTS, "h", &json!({})).await?;
    until_condition(&client, "h", CONNECTION, "False", "SecretNotFound").await?;
    for path in ["/healthz", "/livez", "/readyz"] {
        ensure!(open.health(path).await?.status == 200, "{path}");
    }
    ensure!(metric(&open, "beskar7_leader").await? == "1");
    ensure!(metric(&open, "beskar7_lease_transitions_total").await? == "1");
    let text = open.metrics().await?;
    for line in [
        "beskar7_build_info{version=",
        "beskar7_reconcile_total{controller=\"physicalhost\",result=\"success\"}",
        "# EOF",
    ] {
        ensure!(text.contains(line), "no {line} in\n{text}");
    }

    // A follower is ready, and tells its metrics over TLS to those who may.
    let mut guarded = replica("guarded");
    guarded.flags.push("--insecure-diagnostics=false".to_owned());
    let guarded = Manager::start(&plane, &guarded).await?;
    let url = format!("https://{}/metrics", guarded.diagnostics_address());
    let https = reqwest::Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).build()?;
    let ask = async |token: &str| {
        let request = https.get(&url);
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        let answer = request.send().await?;
        anyhow::Ok((answer.status().as_u16(), answer.text().await?))
    };
    ensure!(ask("").await?.0 == 401);
    ensure!(ask("made-up").await?.0 == 401);
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), HOSTS);
    for name in ["scraper", "stranger"] {
        let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        accounts.create(&PostParams::default(), &account).await?;
    }
    let role = [
        "create",
        "clusterrolebinding",
        "scraper",
        "--clusterrole=beskar7-metrics-reader",
        "--serviceaccount=metal:scraper",
    ];
    plane.kubectl(&role).await?.success()?;
    let token = async |name: &str| {
        let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
        let made = accounts.create_token_request(name, &PostParams::default(), &request).await?;
        made.status.and_then(|status| status.token).context("no token")
    };
    ensure!(ask(&token("stranger").await?).await?.0 == 403);
    let scraper = token("scraper").await?;
    let told = wait::until_true("the scraper to be let in", LIMIT, || async {
        let (status, text) = ask(&scraper).await?;
        let right = status == 200 && text.contains("beskar7_leader 0");
        Ok(if right { Ok(()) } else { Err(format!("{status}: {text}")) })
    });
    told.await?;
    ensure!(!logged(&guarded)?.contains(&scraper), "the scraper's token is in the log");

    // The Lease is freed by a polite end, so the next leads long before it would have run out.
    let identity = holder(&client).await?.context("nobody leads")?;
    guarded.process().signal(beskar7_e2e::process::Signal::STOP)?;
    guarded.process().signal(beskar7_e2e::process::Signal::CONT)?;
    open.process().signal(beskar7_e2e::process::Signal::TERM)?;
    let exit = tokio::time::timeout(Duration::from_secs(20), open.process().wait()).await??;
    ensure!(exit == Exit::Code(0), "{exit}");
    let log = logged(&open)?;
    ensure!(log.contains("the Lease is released"), "{log}");
    until_held_by_other(&client, Some(&identity), LIMIT).await?;
    let (_, text) = ask(&scraper).await?;
    ensure!(text.contains("beskar7_leader 1"), "{text}");
    drop(open);
    let secrets = Api::<Secret>::namespaced(client, HOSTS);
    secrets.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    guarded.stop().await?;
    plane.stop().await
}
