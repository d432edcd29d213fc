//! Configurations and images from the boot server: given to the machine that they are for, by every replica, and to nobody
//! else.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use beskar7_api::{HostState, PhysicalHost, annotations, conditions};
use beskar7_e2e::manager::Manager;
use beskar7_e2e::objects;
use beskar7_e2e::workload::Installer;
use beskar7_e2e::{probe, wait};
use beskar7_redfish_sim::machine::log::Action;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::owners::{delete_machine, make_machine, until_machine};
use super::setup::*;
use super::site::{FLAGS, Site, name};

/// Bootstrap data as CABPK writes it; the word in it is never to be seen anywhere else.
const BOOTSTRAP: &str = "## template: jinja\n#cloud-config\n\nwrite_files:\n-   path: /run/kubeadm/kubeadm-join-config.yaml\n    content: |\n      token: bootstrap-token-4712\n      name: '{{ ds.meta_data.local_hostname }}'\nruncmd:\n  - 'kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml'\n";
const SECRET_WORD: &str = "bootstrap-token-4712";
/// The same for another machine.
const THEIR_WORD: &str = "bootstrap-token-8147";

/// What a machine of its own system is told: where its configuration is.
fn remote() -> Value {
    json!({"spec": {
        "provisioningMode": "RemoteConfig", "osFamily": "other",
        "kernelArgs": ["console=ttyS0", "b7.config={{configURL}}/user-data"],
    }})
}

async fn rotate(site: &Site, value: &str) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(site.client.clone(), HOSTS);
    let patch = json!({"stringData": {"value": value, "format": "cloud-config"}});
    secrets.patch("bootstrap", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}

/// The URL of what is in a drive of a host's machine.
async fn inserted(site: &Site, number: usize, part: &str) -> Result<String> {
    let found = wait::until(format!("{part} in a drive of {number}"), LIMIT, || async {
        let all = site.bmc(number, |bmc| {
            bmc.machine.slots().iter().filter_map(|slot| slot.image.clone()).collect::<Vec<_>>()
        })?;
        Ok(match all.iter().find(|url| url.contains(part)) {
            Some(url) => wait::Seen::Done(url.clone()),
            None => wait::Seen::NotYet(format!("{all:?}")),
        })
    });
    Ok(found.await?)
}

/// What a server says: status, headers that it chose, content.
async fn ask(client: &Client, method: Method, url: &str) -> Result<(StatusCode, String, String)> {
    let answer = client.request(method, url).send().await.with_context(|| url.to_owned())?;
    let mut headers: Vec<String> = answer
        .headers()
        .iter()
        .filter(|(name, _)| *name != "date")
        .map(|(name, value)| format!("{name}: {value:?}"))
        .collect();
    headers.sort();
    Ok((answer.status(), headers.join("\n"), answer.text().await?))
}

/// The configuration's URL on the command line that an image gives to its kernel.
fn configuration_url(installer: &Installer) -> Result<&str> {
    let named = installer.parameters.iter().find_map(|parameter| parameter.strip_prefix("b7.config="));
    named.with_context(|| format!("{:?}", installer.parameters))
}

fn token(url: &str) -> Result<&str> {
    url.split("/c/").nth(1).and_then(|rest| rest.split('/').next()).context("no capability")
}

fn heard(host: &PhysicalHost) -> String {
    host.metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(annotations::HEARD))
        .cloned()
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_for_its_machine_and_for_nobody_else() -> Result<()> {
    let site = Site::open_serving(
        &FLAGS,
        Ipv4Addr::new(127, 56, 0, 1),
        2,
        |_| json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "rack-7"}}}),
    )
    .await?;
    let mut follower = replica("follower");
    follower.boot_server = true;
    let follower = Manager::start(&site.plane, &follower).await?;
    let (here, there) = (
        site.manager.boot_url().context("no boot server")?,
        follower.boot_url().context("no second boot server")?,
    );
    rotate(&site, BOOTSTRAP).await?;
    make_machine(&site.client, "mine", &site.image, &json!({}), &remote()).await?;
    until_machine(&site.client, "mine", "bound", |machine| {
        machine.status.as_ref().is_some_and(|status| status.host_ref.is_some())
    })
    .await?;
    let theirs = BOOTSTRAP.replace(SECRET_WORD, THEIR_WORD);
    let data = json!({"value": theirs, "format": "cloud-config"});
    objects::make_secret(&site.client, HOSTS, "of-theirs", &data).await?;
    let owner = json!({"spec": {"bootstrap": {"dataSecretName": "of-theirs"}}});
    make_machine(&site.client, "theirs", &site.image, &owner, &remote()).await?;
    let all = hosts(&site.client, HOSTS);
    let mine = until_host(&all, &name(0), "held", |host| host.spec.consumer_ref.is_some()).await?;
    let number =
        usize::from(mine.spec.consumer_ref.and_then(|consumer| consumer.name).as_deref() != Some("mine"));
    let other = 1 - number;
    let spec = site.host(number).await?.spec;
    ensure!(spec.boot_iso_source.as_ref() == Some(&site.image), "the user's URL stays: {spec:?}");
    let args = spec.boot.context("no boot")?.kernel_args;
    ensure!(args.contains(&"b7.config={{configURL}}/user-data".to_owned()), "{args:?}");

    // Through the image that the BMC was given, as a boot loader reads it.
    let image = inserted(&site, number, &here).await?;
    until_host(&all, &name(number), "turned on", |host| state_of(host) == Some(HostState::Provisioning))
        .await?;
    let installer = Installer::read(&image).await?;
    let user_data = configuration_url(&installer)?.to_owned();
    ensure!(installer.configuration.as_deref() == Some(BOOTSTRAP), "not byte for byte: {installer:?}");
    until_host(&all, &name(number), "heard of", |host| heard(host).contains("configuration=")).await?;

    // On every replica, and as the Secret is now.
    let client = probe::client(None)?;
    let rotated = BOOTSTRAP.replace("join", "join --v=5");
    rotate(&site, &rotated).await?;
    for base in [&here, &there] {
        let (status, _, body) = ask(&client, Method::GET, &user_data.replace(&here, base)).await?;
        ensure!(status == StatusCode::OK && body == rotated, "{base}: {status} {body}");
    }
    let directory = user_data.trim_end_matches("/user-data").to_owned();
    let (_, _, meta_data) = ask(&client, Method::GET, &format!("{directory}/meta-data")).await?;
    for line in [
        "local-hostname: \"mine\"".to_owned(),
        format!("provider_id: \"b7://{HOSTS}/{}\"", name(number)),
        "zone: \"rack-7\"".to_owned(),
    ] {
        ensure!(meta_data.contains(&line), "{line}: {meta_data}");
    }
    let home =
        meta_data.lines().find_map(|line| line.strip_prefix("phone_home_url: \"")).context("no call")?;
    let home = home.trim_end_matches('"').to_owned();

    // Each capability reads its own configuration, and no other.
    let foreign = inserted(&site, other, &here).await?;
    until_host(&all, &name(other), "turned on", |host| state_of(host) == Some(HostState::Provisioning))
        .await?;
    let installer = Installer::read(&foreign).await?;
    ensure!(installer.configuration.as_deref() == Some(theirs.as_str()), "not byte for byte: {installer:?}");
    let their_data = configuration_url(&installer)?.to_owned();
    until_host(&all, &name(other), "heard of", |host| heard(host).contains("configuration=")).await?;
    for (url, expected) in [(&their_data, &theirs), (&user_data, &rotated)] {
        for base in [&here, &there] {
            let (status, _, body) = ask(&client, Method::GET, &url.replace(&here, base)).await?;
            ensure!(status == StatusCode::OK && body == *expected, "{base}: {status} {body}");
        }
    }

    // Nobody learns anything who has no right to it.
    let nothing = ask(&client, Method::GET, &format!("{here}/c/{}/user-data", "0".repeat(40))).await?;
    ensure!(nothing.0 == StatusCode::NOT_FOUND, "{nothing:?}");
    let swapped = |purpose: &str| user_data.replace(token(&user_data).unwrap_or_default(), purpose);
    for url in [
        swapped(token(&image)?),
        swapped(token(&home)?),
        swapped(token(&foreign)?),
        format!("{here}/c/{}/x/node.iso", token(&user_data)?),
        format!("{here}/c/{}/phone-home", token(&home)?),
        format!("{directory}/../../user-data"),
    ] {
        ensure!(ask(&client, Method::GET, &url).await? == nothing, "{url}");
    }
    guess(&client, &here, &user_data, &rotated).await?;

    // It called home: what it had to know it knows.
    let (status, _, _) = ask(&client, Method::POST, &home.replace(&here, &there)).await?;
    ensure!(status == StatusCode::OK, "{status}");
    let told = |host: &PhysicalHost| {
        condition(host, conditions::host::PROVISIONED)
            .is_some_and(|told| told.status == "True" && told.reason == conditions::host::CALLED_HOME)
    };
    until_host(&all, &name(number), "Provisioned by its call", told).await?;
    until_machine(&site.client, "mine", "known", |machine| machine.spec.provider_id.is_some()).await?;
    for base in [&here, &there] {
        let closed = ask(&client, Method::GET, &user_data.replace(&here, base)).await?;
        ensure!(closed == nothing, "{base}: it is closed when the boot was seen: {closed:?}");
    }
    let still = client.head(&image).send().await?;
    ensure!(still.status() == StatusCode::OK, "what runs may read from its medium: {}", still.status());

    // Its claim is over: all of it is.
    let turned_on = site.done_to(other)?;
    delete_machine(&site.client, "mine").await?;
    until_host(&all, &name(number), "free", |host| {
        host.spec.claim_id.is_none() && state_of(host) == Some(HostState::Available)
    })
    .await?;
    for base in [&here, &there] {
        for (method, url) in [(Method::GET, &user_data), (Method::GET, &image), (Method::POST, &home)] {
            let url = url.replace(&here, base);
            let over = wait::until(format!("{url} to be over"), LIMIT, || async {
                let said = ask(&client, method.clone(), &url).await?;
                Ok(if said == nothing {
                    wait::Seen::Done(())
                } else {
                    wait::Seen::NotYet(format!("{said:?}"))
                })
            });
            over.await?;
        }
    }
    ensure!(site.done_to(other)? == turned_on, "the neighbour was left alone");

    let capabilities = [&user_data, &image, &home, &foreign, &their_data];
    let mut secrets = vec![SECRET_WORD, THEIR_WORD];
    for url in capabilities {
        secrets.push(token(url)?);
    }
    is_nowhere(&site, &[&site.manager, &follower], &secrets).await?;
    follower.stop().await?;
    site.close().await
}

/// Ten thousand guesses, while the right one is asked for: it is answered all the time.
async fn guess(client: &Client, base: &str, right: &str, expected: &str) -> Result<()> {
    let guesses = futures::stream::iter(0..10_000_u32).map(|number| async move {
        // Who guesses does not wait for the answer.
        let url = format!("{base}/c/{number:040x}/user-data");
        let patience = std::time::Duration::from_millis(200);
        match client.get(&url).timeout(patience).send().await {
            Ok(answer) => ensure!(answer.status() == StatusCode::NOT_FOUND, "{}", answer.status()),
            Err(error) => ensure!(error.is_timeout() || error.is_connect(), "{error}"),
        }
        Ok(())
    });
    let guessing = async {
        let mut all = std::pin::pin!(guesses.buffer_unordered(100));
        while let Some(guessed) = all.next().await {
            guessed?;
        }
        anyhow::Ok(())
    };
    let mut guessing = std::pin::pin!(guessing);
    let mut answered = 0_u32;
    loop {
        tokio::select! {
            done = &mut guessing => {
                done?;
                break;
            }
            said = ask(client, Method::GET, right) => {
                let (status, _, body) = said?;
                ensure!(status == StatusCode::OK && body == expected, "while others guess: {status}");
                answered += 1;
            }
        }
    }
    ensure!(answered > 10, "{answered} answers while others guessed");
    Ok(())
}

/// What anybody may read who has no right to Secrets.
const READABLE: [&str; 8] = [
    "physicalhosts",
    "hostclaims",
    "beskar7machines",
    "machines.cluster.x-k8s.io",
    "hostbootconfigurations",
    "dhcpreservations",
    "hardwaredata",
    "events",
];

/// Nothing of what is secret stands in the log or the metrics of a manager, in an event or an object.
pub async fn is_nowhere(site: &Site, managers: &[&Manager], secrets: &[&str]) -> Result<()> {
    let mut texts = Vec::new();
    for manager in managers {
        texts.push(("a log", logged(manager)?));
        texts.push(("metrics", manager.metrics().await?));
    }
    for kind in READABLE {
        texts.push((kind, site.plane.kubectl(&["get", kind, "-A", "-o", "yaml"]).await?.success()?));
    }
    for (place, text) in texts {
        for secret in secrets {
            ensure!(!text.contains(secret), "{secret} is in {place}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_image_that_cannot_be_changed_says_so_before_the_machine_is_touched() -> Result<()> {
    let site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 56, 1, 1), 1, |_| json!({})).await?;
    let serving = axum::Router::new().fallback(|| async { ([("etag", "\"x\"")], vec![7_u8; 65_536]) });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let image = format!("http://{}/data.iso", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, serving).await });
    make_machine(&site.client, "m", &image, &json!({}), &remote()).await?;
    let told = until_condition(
        &site.client,
        &name(0),
        conditions::host::PROVISIONED,
        "False",
        conditions::host::IMAGE_NOT_USABLE,
    )
    .await?;
    let message = &condition(&told, conditions::host::PROVISIONED).context("no condition")?.message;
    ensure!(message.contains("answers no ranges"), "{message}");
    ensure!(site.done_to(0)?.is_empty(), "{:?}", site.done_to(0)?);
    site.close().await
}

#[tokio::test]
async fn a_configuration_comes_on_a_second_medium_where_the_image_looks_for_one() -> Result<()> {
    let site = Site::open_serving(&FLAGS, Ipv4Addr::new(127, 56, 2, 1), 1, |_| json!({})).await?;
    let here = site.manager.boot_url().context("no boot server")?;
    rotate(&site, BOOTSTRAP).await?;
    let more = json!({"spec": {"configVolume": "cidata"}});
    make_machine(&site.client, "m", &site.image, &json!({}), &more).await?;
    let volume = inserted(&site, 0, "/volume/cidata.iso").await?;
    ensure!(volume.starts_with(&here), "{volume}");
    let image = inserted(&site, 0, &site.image).await?;
    ensure!(image == site.image, "the image that boots is the user's own: {image}");
    let all = hosts(&site.client, HOSTS);
    until_host(&all, &name(0), "turned on", |host| state_of(host) == Some(HostState::Provisioning)).await?;

    let client = probe::client(None)?;
    let bytes = client.get(&volume).send().await?.bytes().await?;
    let text = String::from_utf8_lossy(&bytes);
    ensure!(text.contains(BOOTSTRAP) && text.contains("local-hostname: \"m\""), "the volume lacks its files");
    let home =
        text.split("phone_home_url: \"").nth(1).and_then(|rest| rest.split('"').next()).context("no call")?;
    ensure!(ask(&client, Method::POST, home).await?.0 == StatusCode::OK);
    until_host(&all, &name(0), "Provisioned", |host| state_of(host) == Some(HostState::Provisioned)).await?;
    let closed = wait::until("the volume to be closed", LIMIT, || async {
        let status = client.get(&volume).send().await?.status();
        Ok(if status == StatusCode::NOT_FOUND {
            wait::Seen::Done(())
        } else {
            wait::Seen::NotYet(status.to_string())
        })
    });
    closed.await?;
    let ejected = |action: &Action| matches!(action, Action::Eject { .. });
    ensure!(!site.done_to(0)?.iter().any(ejected), "nothing is taken from what runs");

    delete_machine(&site.client, "m").await?;
    until_host(&all, &name(0), "free", |host| state_of(host) == Some(HostState::Available)).await?;
    ensure!(site.is_off_and_empty(0)?, "both media are out");
    site.close().await
}
