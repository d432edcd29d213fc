//! The local control plane behaves like one: it guards, it collects what is
//! deleted, it survives a restart, and it says what went wrong.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_e2e::control_plane::{ControlPlane, Options, User, client_by_kubeconfig};
use beskar7_e2e::process::Signal;
use beskar7_e2e::tools::{Tool, Tools};
use beskar7_e2e::wait;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(60);

async fn plane() -> Result<ControlPlane> {
    ControlPlane::start(&Tools::control_plane_ready().await?, Options::default()).await
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

async fn make_namespace(client: &Client, name: &str) -> Result<()> {
    let namespace = Namespace { metadata: named(name), ..Namespace::default() };
    Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    Ok(())
}

async fn who_am_i(client: &Client) -> Result<(String, Vec<String>)> {
    let review = Api::<SelfSubjectReview>::all(client.clone());
    let answer = review.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    let user = answer.status.and_then(|status| status.user_info).context("nobody")?;
    Ok((user.username.unwrap_or_default(), user.groups.unwrap_or_default()))
}

#[tokio::test]
async fn it_tells_the_versions_it_was_built_from() -> Result<()> {
    let plane = plane().await?;
    let pinned = plane.tools().version(Tool::KubeApiserver)?;
    if !pinned.starts_with('v') {
        // Somebody else's, of KUBEBUILDER_ASSETS: any version may be right.
        return plane.stop().await;
    }
    assert_eq!(plane.client().await?.apiserver_version().await?.git_version, pinned);
    let said = plane.kubectl(&["version"]).await?.success()?;
    assert_eq!(said.matches(pinned).count(), 2, "client and server of\n{said}");
    plane.stop().await
}

#[tokio::test]
async fn it_is_guarded_by_roles() -> Result<()> {
    let user = |name: &str, groups: &[&str]| User {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        token: format!("token-of-{name}"),
    };
    let users = vec![user("tess", &["tenants", "night-shift"])];
    let options = Options { users, ..Options::default() };
    let plane = ControlPlane::start(&Tools::control_plane_ready().await?, options).await?;
    let admin = plane.client().await?;
    make_namespace(&admin, "rack").await?;

    // Every kind of identity is who it says, in the groups it says.
    let known =
        |kubeconfig: PathBuf| async move { who_am_i(&client_by_kubeconfig(&kubeconfig).await?).await };
    let (name, groups) = known(plane.kubeconfig_for_user("otto", &["platform"])?).await?;
    assert_eq!((name.as_str(), groups.contains(&"platform".to_owned())), ("otto", true), "{groups:?}");
    let (name, groups) = known(plane.kubeconfig_for_user("tess", &["tenants", "night-shift"])?).await?;
    assert_eq!(name, "tess");
    assert!(
        groups.contains(&"tenants".to_owned()) && groups.contains(&"night-shift".to_owned()),
        "{groups:?}"
    );
    let undeclared = plane.kubeconfig_for_user("otto", &["one", "two"]).unwrap_err().to_string();
    assert!(undeclared.contains("Options::users"), "{undeclared}");

    // A service account has its role and nothing else.
    let accounts = Api::<ServiceAccount>::namespaced(admin.clone(), "rack");
    let account = ServiceAccount { metadata: named("reader"), ..ServiceAccount::default() };
    accounts.create(&PostParams::default(), &account).await?;
    let role = ["create", "role", "reader", "-n", "rack", "--verb=list", "--resource=configmaps"];
    plane.kubectl(&role).await?.success()?;
    let binding =
        ["create", "rolebinding", "reader", "-n", "rack", "--role=reader", "--serviceaccount=rack:reader"];
    plane.kubectl(&binding).await?.success()?;
    let kubeconfig = plane.kubeconfig_for_service_account("rack", "reader").await?;
    let reader = client_by_kubeconfig(&kubeconfig).await?;
    assert_eq!(who_am_i(&reader).await?.0, "system:serviceaccount:rack:reader");
    Api::<ConfigMap>::namespaced(reader.clone(), "rack").list(&ListParams::default()).await?;
    let refused = Api::<Secret>::namespaced(reader.clone(), "rack").list(&ListParams::default()).await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.is_forbidden()), "{refused:?}");

    let missing = plane.kubeconfig_for_service_account("rack", "nobody").await.unwrap_err();
    assert!(format!("{missing:#}").contains("a token for the service account rack/nobody"), "{missing:#}");
    plane.stop().await
}

#[tokio::test]
async fn what_is_deleted_is_collected() -> Result<()> {
    let plane = plane().await?;
    let client = plane.client().await?;

    // A namespace with something in it goes, with what is in it.
    make_namespace(&client, "doomed").await?;
    let inside = Api::<ConfigMap>::namespaced(client.clone(), "doomed");
    inside
        .create(&PostParams::default(), &ConfigMap { metadata: named("thing"), ..ConfigMap::default() })
        .await?;
    Api::<Namespace>::all(client.clone()).delete("doomed", &DeleteParams::default()).await?;
    wait::until_true("the namespace to be gone", LIMIT, || async {
        let left = Api::<Namespace>::all(client.clone()).get_opt("doomed").await?;
        Ok(left.map_or(Ok(()), |namespace| Err(format!("{:?}", namespace.status))))
    })
    .await?;

    // What an object owns goes with it.
    let things = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let owner = ConfigMap { metadata: named("owner"), ..ConfigMap::default() };
    let owner = things.create(&PostParams::default(), &owner).await?;
    let uid = owner.metadata.uid.context("an owner without uid")?;
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
    let owned: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "owned", "ownerReferences": reference}}))?;
    things.create(&PostParams::default(), &owned).await?;
    things.delete("owner", &DeleteParams::background()).await?;
    wait::until_true("the owned object to be collected", LIMIT, || async {
        Ok(things.get_opt("owned").await?.map_or(Ok(()), |_| Err("still there".to_owned())))
    })
    .await?;

    // A role that others add to holds what they add.
    let roles = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "whole"},
         "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part-of": "whole"}}]}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
         "metadata": {"name": "part", "labels": {"part-of": "whole"}},
         "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]},
    ]});
    plane.kubectl_with_input(&["apply", "-f", "-"], &roles.to_string()).await?.success()?;
    wait::until_true("the role to be put together", LIMIT, || async {
        let rules =
            plane.kubectl(&["get", "clusterrole", "whole", "-o", "jsonpath={.rules}"]).await?.success()?;
        Ok(if rules.contains("secrets") { Ok(()) } else { Err(rules) })
    })
    .await?;
    plane.stop().await
}

#[tokio::test]
async fn the_api_server_can_go_away_and_come_back() -> Result<()> {
    let mut plane = plane().await?;
    let client = plane.client().await?;
    make_namespace(&client, "lasting").await?;
    let server = plane.server();

    plane.stop_api_server().await?;
    let away = Api::<Namespace>::all(client.clone()).get("lasting").await;
    assert!(away.is_err(), "an API server that is stopped answered: {away:?}");
    assert!(plane.api_server().is_err());
    plane.start_api_server().await?;
    assert_eq!(plane.server(), server, "clients keep their kubeconfigs");
    Api::<Namespace>::all(client.clone()).get("lasting").await?;

    // A crash is noticed, told with the log, and as easily repaired.
    plane.api_server()?.signal(Signal::KILL)?;
    plane.api_server()?.wait().await?;
    let told = plane.check().unwrap_err().to_string();
    assert!(told.starts_with("kube-apiserver ended with signal 9"), "{told}");
    plane.start_api_server().await?;
    plane.check()?;
    Api::<Namespace>::all(client.clone()).get("lasting").await?;
    plane.stop().await
}

#[tokio::test]
async fn the_audit_log_tells_who_wrote_what_and_when() -> Result<()> {
    let plane = plane().await?;
    make_namespace(&plane.client().await?, "watched").await?;
    plane.kubectl(&["create", "configmap", "note", "-n", "watched"]).await?.success()?;
    plane.kubectl(&["create", "configmap", "dry", "-n", "watched", "--dry-run=server"]).await?.success()?;
    let note = wait::until("the writes in the audit log", LIMIT, || async {
        let events = plane.audit()?;
        let writes: Vec<_> = events.iter().filter(|event| event.is_write()).collect();
        assert!(writes.iter().all(|event| event.object_ref.name != "dry"), "a dry run writes nothing");
        let note = writes.iter().find(|event| event.object_ref.name == "note").map(|event| (*event).clone());
        Ok(note.map_or_else(|| wait::Seen::NotYet(format!("{} events", events.len())), wait::Seen::Done))
    })
    .await?;
    assert_eq!((note.verb.as_str(), note.user.username.as_str()), ("create", "admin"));
    assert_eq!(
        (note.object_ref.resource.as_str(), note.object_ref.namespace.as_str()),
        ("configmaps", "watched")
    );
    assert!(note.user_agent.starts_with("kubectl/v"), "{}", note.user_agent);
    assert!(
        note.request_received_timestamp.ends_with('Z')
            && note.stage_timestamp >= note.request_received_timestamp
    );
    let events = plane.collect_events().await?;
    assert!(events.is_file());
    plane.stop().await
}

#[tokio::test]
async fn two_of_them_run_side_by_side_and_leave_nothing() -> Result<()> {
    let (first, second) = tokio::try_join!(plane(), plane())?;
    assert_ne!(first.server(), second.server());
    make_namespace(&first.client().await?, "only-here").await?;
    assert!(Api::<Namespace>::all(second.client().await?).get_opt("only-here").await?.is_none());
    let place = first.directory().to_owned();
    assert!(place.join("logs/kube-apiserver.log").is_file());
    first.stop().await?;
    assert_eq!(place.exists(), std::env::var_os("BESKAR7_KEEP").is_some_and(|value| value != "0"));
    second.stop().await
}

#[tokio::test]
async fn a_start_that_fails_says_why_and_where_to_look() -> Result<()> {
    let options = Options { api_server_flags: vec!["--no-such-flag".to_owned()], ..Options::default() };
    let error = ControlPlane::start(&Tools::control_plane_ready().await?, options).await.unwrap_err();
    let told = format!("{error:#}");
    assert!(told.contains("kube-apiserver ended with exit code 1"), "{told}");
    assert!(told.contains("unknown flag: --no-such-flag"), "{told}");
    let log = told.split("the last lines of its log ").nth(1).and_then(|rest| rest.split(":\n").next());
    let log = PathBuf::from(log.context("no path of a log")?);
    assert!(log.is_file(), "{} is gone", log.display());
    let place = log.ancestors().nth(2).context("the directory of the control plane")?;
    assert!(told.contains(&format!("starting the local control plane in {}", place.display())), "{told}");
    std::fs::remove_dir_all(place)?;
    Ok(())
}

#[tokio::test]
async fn a_port_that_somebody_else_took_is_not_the_end() -> Result<()> {
    let somebody = std::net::TcpListener::bind("127.0.0.1:0")?;
    let taken = somebody.local_addr()?.port();
    let options = Options { api_server_port: Some(taken), ..Options::default() };
    let plane = ControlPlane::start(&Tools::control_plane_ready().await?, options).await?;
    assert!(!plane.server().ends_with(&format!(":{taken}")), "{}", plane.server());
    plane.check()?;
    plane.client().await?.apiserver_version().await?;
    plane.stop().await
}
