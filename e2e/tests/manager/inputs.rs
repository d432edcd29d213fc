//! What people get wrong about machines: a condition and an event that they can act on, and no storm.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use super::owners::*;
use super::setup::*;
use super::site::Site;

/// Waits until there is an event with this reason about an object.
async fn until_event(site: &Site, about: &str, reason: &str) -> Result<Event> {
    let events: Api<Event> = Api::namespaced(site.client.clone(), HOSTS);
    let found = beskar7_e2e::wait::until(format!("the event {reason} about {about}"), LIMIT, || async {
        let all = events.list(&ListParams::default()).await?.items;
        let fits = |event: &Event| {
            event.reason.as_deref() == Some(reason)
                && event.regarding.as_ref().and_then(|object| object.name.as_deref()) == Some(about)
        };
        let seen: Vec<_> = all.iter().map(|event| event.reason.clone()).collect();
        Ok(match all.into_iter().find(fits) {
            Some(event) => beskar7_e2e::wait::Seen::Done(event),
            None => beskar7_e2e::wait::Seen::NotYet(format!("{seen:?}")),
        })
    });
    Ok(found.await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_cannot_be_served_says_what_is_wrong_and_goes_on_when_it_is_mended() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 46, 0, 1), 1, |_| json!({"spec": {"online": false}})).await?;
    let client = &site.client;
    let iso = |more: Value| {
        let mut spec = json!({"spec": {}});
        merge(&mut spec, &json!({ "spec": more }));
        spec
    };
    let remote = json!({"provisioningMode": "RemoteConfig", "osFamily": "kairos", "configURL": "http://127.0.0.1:9/c"});
    let unlabelled = json!({"hostSelector": {"matchLabels": {"gpu": "yes"}}});
    for (name, owner, more, reason, words) in [
        ("selector", json!({}), iso(unlabelled), "WaitingForPhysicalHost", "1 without the wanted labels"),
        ("scheme", json!({}), iso(json!({"imageURL": "file:///node.iso"})), "SpecNotUsable", "web server"),
        ("mode", json!({}), iso(json!({"provisioningMode": "iPXE"})), "SpecNotUsable", "--boot-url"),
        ("overlay", json!({}), iso(remote), "WaitingForPhysicalHost", "bootParameterMechanism"),
        (
            "zone",
            json!({"spec": {"failureDomain": "rack-9"}}),
            json!({}),
            "WaitingForPhysicalHost",
            "1 zone ≠ rack-9",
        ),
        (
            "data",
            json!({"spec": {"bootstrap": {"dataSecretName": "gone"}}}),
            json!({}),
            "BootstrapSecretNotUsable",
            "Secret gone",
        ),
        (
            "nodata",
            json!({"spec": {"bootstrap": {"dataSecretName": null}}}),
            json!({}),
            "WaitingForBootstrapData",
            "bootstrap data",
        ),
    ] {
        make_machine(client, name, &site.image, &owner, &more).await?;
        let told = until_waiting(client, name, reason).await?;
        ensure!(told.contains(words), "{name}: {told}");
        if reason != "WaitingForBootstrapData" {
            let event = until_event(&site, name, reason).await?;
            ensure!(event.type_.as_deref() == Some("Warning"), "{name}: {event:?}");
        }
    }
    ensure!(site.host(0).await?.spec.consumer_ref.is_none(), "somebody took the host");

    // No storm: whoever waits writes its status once, or twice where its Machine was not seen at first. The deleted Secret
    // is asked for again, seldom.
    let audit = site.plane.audit()?;
    let writes = audit
        .iter()
        .filter(|event| event.object_ref.resource == "beskar7machines" && event.object_ref.name == "selector")
        .filter(|event| event.verb == "patch")
        .count();
    ensure!((1..=2).contains(&writes), "{writes} writes to a machine that only waits");

    // The Secret is back: the machine goes on, and nobody had to touch it.
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": "gone"}, "stringData": {"value": "#"}}))?;
    Api::<Secret>::namespaced(client.clone(), HOSTS).create(&PostParams::default(), &secret).await?;
    until_phase(client, "data", "Provisioning").await?;

    // Machines that never had a host go at once, whatever they waited for.
    for name in ["selector", "scheme", "mode", "overlay", "zone", "nodata"] {
        delete_machine(client, name).await?;
        until_gone(client, name).await?;
    }
    site.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_wait_blocks_a_deletion() -> Result<()> {
    let site = Site::open(Ipv4Addr::new(127, 46, 1, 1), 1, |_| json!({})).await?;
    let client = &site.client;
    make_machine(client, "m", &site.image, &json!({}), &json!({})).await?;
    until_phase(client, "m", "Provisioned").await?;
    // Everything around it goes first.
    owner_machines(client).delete("m", &DeleteParams::default()).await?;
    owner_clusters(client).delete(CLUSTER, &DeleteParams::default()).await?;
    Api::<Secret>::namespaced(client.clone(), HOSTS).delete("bootstrap", &DeleteParams::default()).await?;
    delete_machine(client, "m").await?;
    until_gone(client, "m").await?;
    ensure!(site.host(0).await?.spec.claim_id.is_none());
    ensure!(site.is_off_and_empty(0).context("the BMC")?);
    site.close().await
}
