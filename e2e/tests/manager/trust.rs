//! Whom the manager trusts, and what it says of those it does not.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::HostState;
use beskar7_e2e::manager::Manager;
use beskar7_redfish_sim::bmc::Credentials;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};
use serde_json::json;

use super::life::until_state;
use super::setup::*;

const FIRST: Ipv4Addr = Ipv4Addr::new(127, 43, 0, 1);
const CONNECTION: &str = "RedfishConnectionReady";

#[tokio::test(flavor = "multi_thread")]
async fn bmcs_are_trusted_by_the_system_by_a_bundle_or_not_at_all() -> Result<()> {
    let plane = installed().await?;
    let client = plane.client().await?;
    let credentials = Credentials { username: "root".to_owned(), password: PASSWORD.to_owned() };
    let config = FleetConfig { first: FIRST, tls: true, credentials, ..FleetConfig::default() };
    let fleet = Fleet::start(config).await?;
    let ours = fleet.ca_pem().context("no CA")?;
    let key = rcgen::KeyPair::generate()?;
    let other = rcgen::CertificateParams::new(Vec::new())?.self_signed(&key)?.pem();
    make_secret(&client, "bmc", &json!({"username": "root", "password": PASSWORD})).await?;
    make_secret(&client, "wrong", &json!({"username": "root", "password": "guessed"})).await?;
    make_secret(&client, "ours", &json!({"ca.crt": ours})).await?;
    make_secret(&client, "other", &json!({"ca.crt": other})).await?;
    make_secret(&client, "bound", &json!({"username": "root", "password": PASSWORD})).await?;
    let only = "beskar7.infrastructure.cluster.x-k8s.io/bmc-addresses=10.0.0.7,10.0.0.8";
    plane.kubectl(&["-n", HOSTS, "annotate", "secret", "bound", only]).await?.success()?;
    let address = fleet.url(FIRST);
    let host = |more: serde_json::Value| {
        let mut connection = json!({"address": address});
        connection
            .as_object_mut()
            .into_iter()
            .for_each(|all| all.extend(more.as_object().cloned().unwrap_or_default()));
        json!({"spec": {"redfishConnection": connection}})
    };
    make_host(&client, HOSTS, "by-system", &host(json!({}))).await?;
    make_host(&client, HOSTS, "by-bundle", &host(json!({"caBundleSecretRef": {"name": "ours"}}))).await?;
    make_host(&client, HOSTS, "by-nobody", &host(json!({"insecureSkipVerify": true}))).await?;
    make_host(&client, HOSTS, "untrusted", &host(json!({"caBundleSecretRef": {"name": "other"}}))).await?;
    make_host(&client, HOSTS, "wrong-password", &host(json!({"credentialsSecretRef": "wrong"}))).await?;
    make_host(&client, HOSTS, "not-for-it", &host(json!({"credentialsSecretRef": "bound"}))).await?;

    let roots = tempfile::NamedTempFile::new()?;
    std::fs::write(roots.path(), ours)?;
    let mut options = alone("manager", &["--bmc-poll-interval=1s"]);
    options.variables.push(("SSL_CERT_FILE".to_owned(), roots.path().display().to_string()));
    let manager = Manager::start(&plane, &options).await?;
    for name in ["by-system", "by-bundle", "by-nobody"] {
        until_state(&client, name, HostState::Available).await?;
    }
    for (name, reason, told) in [
        (
            "untrusted",
            "RedfishConnectionFailed",
            "Put the certificate of its issuer into a Secret under ca.crt",
        ),
        ("wrong-password", "RedfishConnectionFailed", "correct the credentials Secret"),
        ("not-for-it", "SecretNotForBMC", "does not list the address"),
    ] {
        let found = until_condition(&client, name, CONNECTION, "False", reason).await?;
        let message = &condition(&found, CONNECTION).context("just seen")?.message;
        ensure!(message.contains(told), "{name}: {message}");
    }

    // A password that is corrected is taken up, and one that was changed is read again at once.
    let corrected = json!({"stringData": {"password": PASSWORD}}).to_string();
    plane
        .kubectl(&["-n", HOSTS, "patch", "secret", "wrong", "--type=merge", "-p", &corrected])
        .await?
        .success()?;
    until_state(&client, "wrong-password", HostState::Available).await?;
    manager.stop().await?;
    plane.stop().await
}
