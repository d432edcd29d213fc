//! Multi-tenancy, as its documents tell it: the walk-through of a claim from its policy to its end, with its configuration;
//! and what becomes of a host between two tenants.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostClaim, HostState, PhysicalHost, annotations, labels, physical_host::PowerState};
use beskar7_e2e::wait;
use beskar7_e2e::workload::Installer;
use beskar7_e2e::workload::cloud_init::{self, Given};
use k8s_openapi::api::core::v1::Secret;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::place::Place;
use super::setup::*;
use super::site::{FLAGS, Site, name};
use super::tenant::{Tenant, bind_pool_role, nothing_of_others, open_to, powered};

const USER_DATA: &str = "#cloud-config\npassword: my-secret-word-4711\n";
const NETWORK: &str = "version: 2\nethernets: {mine: {dhcp4: true}}\n";
const SECRET_WORD: &str = "my-secret-word-4711";

fn beside_hosts(site: &Site) -> Api<Secret> {
    Api::namespaced(site.client.clone(), HOSTS)
}

fn text(secret: &Secret, key: &str) -> String {
    let data = secret.data.as_ref().and_then(|data| data.get(key));
    data.map(|data| String::from_utf8_lossy(&data.0).into_owned()).unwrap_or_default()
}

/// Waits until a Secret beside the hosts says this under this key, for the claim that holds the host.
async fn until_copied(site: &Site, secret: &str, key: &str, expected: &str) -> Result<()> {
    let (secrets, what) = (&beside_hosts(site), format!("{secret} to be copied"));
    wait::until_true(what, LIMIT, || async move {
        let host = site.host(0).await?;
        let Some(copy) = secrets.get_opt(secret).await? else { return Ok(Err("it is not there".to_owned())) };
        let owner = copy.owner_references().first().map(|owner| owner.uid.clone());
        let of_claim = copy.labels().get(labels::CLAIM_ID) == host.spec.claim_id.as_ref();
        let as_wanted = text(&copy, key) == expected && owner == host.metadata.uid && of_claim;
        Ok(if as_wanted { Ok(()) } else { Err(format!("{:?} {}", copy.metadata, text(&copy, key))) })
    })
    .await?;
    Ok(())
}

async fn until_removed(site: &Site, secret: &str) -> Result<()> {
    let secrets = &beside_hosts(site);
    wait::until_true(format!("{secret} to be removed"), LIMIT, || async move {
        Ok(match secrets.get_opt(secret).await? {
            None => Ok(()),
            Some(copy) => Err(format!("{:?}", copy.metadata)),
        })
    })
    .await?;
    Ok(())
}

/// The machine does what an image with cloud-init does: it reads its configuration, and calls home. Returns what it read.
async fn boots(site: &Site) -> Result<Given> {
    let all = hosts(&site.client, HOSTS);
    until_host(&all, &name(0), "turned on", |host| state_of(host) == Some(HostState::Provisioning)).await?;
    let image = site.bmc(0, |bmc| bmc.machine.slots().iter().find_map(|slot| slot.image.clone()))?;
    let installer = Installer::read(&image.context("no image")?).await?;
    let seed = installer.seed().with_context(|| format!("{:?}", installer.parameters))?;
    cloud_init::set_up(seed).await
}

#[tokio::test(flavor = "multi_thread")]
async fn multi_tenancy_with_hostclaim_step_by_step() -> Result<()> {
    let labelled = |number| match number {
        0 => json!({"metadata": {"labels": {"infra-kind": "medium"}}}),
        _ => json!({"metadata": {"labels": {"infra-kind": "small"}}}),
    };
    let site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 75, 0, 1), 2, labelled).await?;
    let tenant = Tenant::make(&site.client, "cluster-ns").await?;
    let claim = "my-hostclaim";

    // In the namespace of the hosts a policy is created with this minimum content: no constraint on the namespace.
    open_to(&site.client, HOSTS, &json!({"hostclaimNamespaces": {}})).await?;
    // A claim with an image and a configuration that is stored in a Secret, offline.
    tenant
        .claim(
            claim,
            &json!({
                "hostSelector": {"matchLabels": {"infra-kind": "medium"}}, "image": {"url": site.image},
                "online": false, "userData": {"name": "my-userdata", "namespace": "cluster-ns"},
            }),
        )
        .await?;
    // The hostSelector specifies the constraints on the labels.
    tenant.until_told(claim, "Association", "True", "HostAssociated").await?;
    ensure!(site.host(1).await?.spec.consumer_ref.is_none(), "it has other labels");

    // What is missing is said: the Secret, and then the right to copy it.
    let why = tenant.until_told(claim, "Synchronization", "False", "SecretNotFound").await?;
    ensure!(why.contains("my-userdata") && why.contains("userData"), "{why}");
    tenant.keep("my-userdata", "userData", USER_DATA).await?;
    let why = tenant.until_told(claim, "Synchronization", "False", "SecretNotCopied").await?;
    ensure!(why.contains("beskar7-pool-role"), "{why}");
    bind_pool_role(&site.plane, HOSTS).await?;
    tenant.until_told(claim, "Synchronization", "True", "ConfigurationSynced").await?;

    // Once the association is done, the status has this information.
    tenant.until_told(claim, "Provisioned", "False", "available").await?;
    let summary = tenant.until_told(claim, "Ready", "False", "IssuesReported").await?;
    ensure!(summary == "* Provisioned: available", "{summary}");
    let status = tenant.claims().get(claim).await?.status.unwrap_or_default();
    let named = status.hardware_data.context("no hardwareData")?;
    ensure!((named.name, named.namespace.as_deref()) == (name(0), Some(HOSTS)));
    // The Secret is copied beside the host, under the host's name.
    let [user_data, meta_data, network_data] =
        ["userdata", "metadata", "networkdata"].map(|part| format!("{}-{part}", name(0)));
    until_copied(&site, &user_data, "userData", USER_DATA).await?;
    ensure!(powered(&site.host(0).await?) == Some(PowerState::Off), "nothing runs before it is wanted");

    // Metadata for the associated server is added later, and copied.
    tenant.keep("my-metadata", "metaData", "rack: blue\nlocal-hostname: mine\n").await?;
    let added = json!({"spec": {"metaData": {"name": "my-metadata", "namespace": "cluster-ns"}}});
    tenant.patch(claim, &added).await?;
    until_copied(&site, &meta_data, "metaData", "rack: blue\nlocal-hostname: mine\n").await?;
    // A Secret of that name that somebody else made is never touched.
    make_secret(&site.client, &network_data, &json!({"networkData": "theirs"})).await?;
    tenant.keep("my-network", "value", NETWORK).await?;
    tenant.patch(claim, &json!({"spec": {"networkData": {"name": "my-network"}}})).await?;
    let why = tenant.until_told(claim, "Synchronization", "False", "SecretNotCopied").await?;
    ensure!(why.contains("not made for a claim"), "{why}");
    tenant.patch(claim, &json!({"spec": {"networkData": null}})).await?;
    tenant.until_told(claim, "Synchronization", "True", "ConfigurationSynced").await?;
    ensure!(text(&beside_hosts(&site).get(&network_data).await?, "networkData") == "theirs");
    // Once it is out of the way, the tenant's is copied.
    beside_hosts(&site).delete(&network_data, &DeleteParams::default()).await?;
    tenant.patch(claim, &json!({"spec": {"networkData": {"name": "my-network"}}})).await?;
    until_copied(&site, &network_data, "networkData", NETWORK).await?;
    tenant.until_told(claim, "Synchronization", "True", "ConfigurationSynced").await?;

    // The provisioning is launched when online is true.
    tenant.patch(claim, &json!({"spec": {"online": true}})).await?;
    let Given { user_data: read, meta_data: told, network_config: network } = boots(&site).await?;
    ensure!(read == USER_DATA, "{read}");
    ensure!(network.as_deref() == Some(NETWORK), "{network:?}");
    ensure!(told.contains("rack: \"blue\"") && told.contains("local-hostname: \"mine\""), "{told}");
    tenant.until_told(claim, "Provisioned", "True", "provisioned").await?;
    tenant.until_told(claim, "Ready", "True", "InfoReported").await?;
    let on = |claim: &HostClaim| claim.status.as_ref().and_then(|status| status.powered_on);
    let claimed = tenant.until(claim, "powered on", |claim| on(claim) == Some(true)).await?;
    ensure!(claimed.status.unwrap_or_default().host_uid == site.host(0).await?.metadata.uid);

    // Copies follow their source.
    let newer = USER_DATA.replace("password", "passwd");
    tenant.keep("my-userdata", "userData", &newer).await?;
    tenant.patch(claim, &json!({"metadata": {"labels": {"look": "again"}}})).await?;
    until_copied(&site, &user_data, "userData", &newer).await?;

    is_stopped_started_and_restarted(&site, &tenant, claim).await?;

    // The image is removed: the machine is deprovisioned, and the claim still associated.
    let before = site.host(0).await?.spec;
    tenant.patch(claim, &json!({"spec": {"image": null}})).await?;
    tenant.until_told(claim, "Provisioned", "False", "available").await?;
    tenant.until_told(claim, "Association", "True", "HostAssociated").await?;
    let after = site.host(0).await?;
    ensure!(after.spec.consumer_ref == before.consumer_ref && after.spec.claim_id != before.claim_id);
    ensure!(
        state_of(&after) == Some(HostState::Claimed) && after.spec.boot_iso_source.is_none(),
        "{after:?}"
    );
    ensure!(site.is_off_and_empty(0)?, "what ran is off");
    until_copied(&site, &user_data, "userData", &newer).await?;
    // Another image is another installation on the same machine.
    tenant.patch(claim, &json!({"spec": {"image": {"url": site.image}}})).await?;
    ensure!(boots(&site).await?.user_data == newer);
    tenant.until_told(claim, "Provisioned", "True", "provisioned").await?;
    nothing_of_others(&tenant, &[]).await?;

    // The claim is deleted: the server is deprovisioned, the association broken, and the copies are gone.
    tenant.delete(claim).await?;
    let all = hosts(&site.client, HOSTS);
    let free =
        until_host(&all, &name(0), "free", |host| state_of(host) == Some(HostState::Available)).await?;
    ensure!(free.spec.consumer_ref.is_none() && free.spec.online.is_none(), "{:?}", free.spec);
    until_removed(&site, &user_data).await?;
    until_removed(&site, &meta_data).await?;
    until_removed(&site, &network_data).await?;
    ensure!(!logged(&site.manager)?.contains(SECRET_WORD), "the configuration is in the log");

    // It is available for another claim.
    make_secret(&site.client, &network_data, &json!({"networkData": "theirs"})).await?;
    tenant.claim("next", &json!({"hostRef": {"name": name(0), "namespace": HOSTS}})).await?;
    tenant.until_told("next", "Association", "True", "HostAssociated").await?;
    tenant.delete("next").await?;
    let theirs = beside_hosts(&site).get(&network_data).await?;
    ensure!(text(&theirs, "networkData") == "theirs", "what somebody else made stays");
    site.close().await
}

/// Changing online stops and starts the machine; the annotation restarts it once, and goes.
pub async fn is_stopped_started_and_restarted(site: &Site, tenant: &Tenant, claim: &str) -> Result<()> {
    let all = hosts(&site.client, HOSTS);
    let turned_on = site.bmcs.times_on(0)?;
    tenant.patch(claim, &json!({"spec": {"online": false}})).await?;
    until_host(&all, &name(0), "off", |host| powered(host) == Some(PowerState::Off)).await?;
    tenant.patch(claim, &json!({"spec": {"online": true}})).await?;
    until_host(&all, &name(0), "on", |host| powered(host) == Some(PowerState::On)).await?;
    ensure!(site.bmcs.times_on(0)? == turned_on + 1);
    for (number, by) in ["reboot.metal3.io", "reboot.beskar7.io"].into_iter().enumerate() {
        let hard = json!({"mode": "hard"}).to_string();
        tenant.patch(claim, &json!({"metadata": {"annotations": {by: hard}}})).await?;
        let gone = |claim: &HostClaim| {
            let left = [by, annotations::RESTART];
            left.iter().all(|name| !claim.annotations().contains_key(*name))
        };
        tenant.until(claim, "without the annotation", gone).await?;
        let restarted = |host: &PhysicalHost| {
            let mark = |name| host.annotations().get(name);
            let wanted = mark(annotations::RESTART).and_then(|text| text.split(' ').next_back());
            wanted.is_some()
                && wanted == mark(annotations::RESTARTED).map(String::as_str)
                && powered(host) == Some(PowerState::On)
        };
        until_host(&all, &name(0), "restarted", restarted).await?;
        ensure!(site.bmcs.times_on(0)? == turned_on + 2 + number, "once for each");
        ensure!(state_of(&site.host(0).await?) == Some(HostState::Provisioned), "it is not installed again");
    }
    Ok(())
}

/// The host of a place, once somebody holds it.
async fn held(place: &Place) -> Result<PhysicalHost> {
    place.until_host(0, "held", |host| host.spec.consumer_ref.is_some()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_goes_to_another_tenant_only_after_the_cleaning_that_its_policy_demands() -> Result<()> {
    let place = Place::take("tenancy-cleaning", Ipv4Addr::new(127, 76, 0, 1), 1, |_| json!({})).await?;
    let first = Tenant::make(place.client(), "tenancy-first").await?;
    let next = Tenant::make(place.client(), "tenancy-next").await?;
    let policy = |cleaning: &str| json!({"hostclaimNamespaces": {}, "minimumCleaning": cleaning});
    open_to(place.client(), place.namespace(), &policy("None")).await?;
    let here = json!({"inNamespace": place.namespace()});
    let running: Value = json!({"hostSelector": here, "image": {"url": place.image}, "online": true});
    first.claim("mine", &running).await?;
    first.until_told("mine", "Provisioned", "True", "provisioned").await?;
    // A policy that is tightened holds for who has a host already, and it is not loosened under it.
    open_to(place.client(), place.namespace(), &policy("Metadata")).await?;
    let demands = |host: &PhysicalHost| {
        host.annotations().get(annotations::CLEANING).is_some_and(|demanded| demanded == "Metadata")
    };
    let host = place.until_host(0, "to be cleaned", demands).await?;
    open_to(place.client(), place.namespace(), &policy("None")).await?;
    let claim_id = host.spec.claim_id.context("no claim")?;

    next.claim("mine", &running).await?;
    first.claims().delete("mine", &DeleteParams::default()).await?;
    let back = place.until_told(0, "HostProvisioned", "False", "CleaningNotPossible").await?;
    let message = condition(&back, "HostProvisioned").map(|told| told.message.clone()).unwrap_or_default();
    ensure!(message.contains(&claim_id) && message.contains("HostDeployPolicy policy"), "{message}");
    ensure!(place.bmcs.is_off_and_empty(0)?, "it is off while it waits");
    let why = next.until_told("mine", "Association", "False", "NoMatchingHost").await?;
    ensure!(why.starts_with("0 of 1 host matches"), "{why}");
    ensure!(first.claims().get_opt("mine").await?.is_some(), "its host is not clean yet");

    // People have wiped it.
    place.patch_host(0, &json!({"metadata": {"annotations": {annotations::CLEANED: claim_id}}})).await?;
    next.until_told("mine", "Provisioned", "True", "provisioned").await?;
    let host = held(&place).await?;
    for gone in [annotations::CLEANING, annotations::CLEANED] {
        ensure!(
            !host.annotations().contains_key(gone),
            "{gone} speaks of the last tenant: {:?}",
            host.metadata
        );
    }
    // The word None is enough, and then nothing is waited for.
    next.delete("mine").await?;
    place.until_state(0, HostState::Available).await?;

    // Nothing ran: there is nothing to be cleaned.
    open_to(place.client(), place.namespace(), &policy("Full")).await?;
    first.claim("idle", &json!({"hostSelector": here})).await?;
    first.until_told("idle", "Association", "True", "HostAssociated").await?;
    first.delete("idle").await?;
    place.until_state(0, HostState::Available).await?;
    nothing_of_others(&first, &[&next.namespace]).await?;
    place.leave().await
}
