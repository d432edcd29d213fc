//! One look at one configuration: what it names, found and checked.

use std::{sync::Arc, time::Duration};

use beskar7_api::{
    HostBootConfiguration, PhysicalHost,
    boot::{BootMethod, BootMode},
    host_boot_configuration::ServedArtifact,
};
use beskar7_core::{
    host::{belongings::belongs_to, errand::Errand, hold::Hold},
    network_boot::{Checked, Found, architecture, readiness, standing},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _, runtime::controller::Action};

use super::NAME;
use crate::{
    boot_server::{FetchError, Part, Presenter},
    causes::causes,
    clock,
    retry::{Backoffs, spread},
    upkeep::{Keeper, UpkeepError, keep},
    watch::{Cache, Key, key},
};

/// No reconcile may take longer: what has a digest is read to its end once.
const LIMIT: Duration = Duration::from_secs(900);
/// For all that one names. What takes longer is told.
const PATIENCE: Duration = Duration::from_secs(840);
/// The longest pause between two looks at what does not answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    hosts: Cache<PhysicalHost>,
    presenter: Option<Presenter>,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(client: Client, hosts: Cache<PhysicalHost>, presenter: Option<Presenter>) -> Self {
        Self { client, hosts, presenter }
    }
}

impl Keeper for Context {
    type Kind = HostBootConfiguration;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(
        &self,
        configuration: &HostBootConfiguration,
        backoffs: &Backoffs<Key>,
    ) -> Result<Action, UpkeepError> {
        look(configuration, self, backoffs).await
    }
}

async fn look(
    configuration: &HostBootConfiguration,
    context: &Context,
    backoffs: &Backoffs<Key>,
) -> Result<Action, UpkeepError> {
    if configuration.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let (checked, passes) = match holder(configuration, context) {
        // A pause takes nothing from what runs, and neither does a claim that got lost.
        Holder::Paused => return Ok(Action::await_change()),
        Holder::Nobody => (Checked::NotHeld, false),
        // What was found once is what the host boots: it is not looked at again.
        Holder::Host(_) if readiness(configuration).is_ok() => return Ok(Action::await_change()),
        Holder::Host(host) => {
            let checking = tokio::time::timeout(PATIENCE, check(configuration, &host, context));
            checking.await.unwrap_or_else(|_| {
                let why = format!("It was not found and read to its end within {} s", PATIENCE.as_secs());
                (Checked::NotUsable(why), true)
            })
        }
    };
    let status = standing(configuration, checked, clock::now());
    let done = keep(&context.client, configuration, &status).await?;
    if !passes {
        return Ok(done);
    }
    let pause = backoffs.failed(key(configuration)).min(LONGEST_PAUSE);
    Ok(Action::requeue(spread(pause)))
}

/// Whom a configuration is for.
enum Holder {
    /// This host, while it is held by the claim, or on the errand, that it was made for.
    Host(Arc<PhysicalHost>),
    /// A host that is to be left alone.
    Paused,
    /// Nobody.
    Nobody,
}

fn holder(configuration: &HostBootConfiguration, context: &Context) -> Holder {
    let (namespace, _) = key(configuration);
    let Some(host) = context.hosts.get(&(namespace, configuration.spec.host_ref.name.clone())) else {
        return Holder::Nobody;
    };
    if Errand::of(&host).is_some_and(|errand| belongs_to(&configuration.metadata, &host, &errand.id)) {
        return Holder::Host(host);
    }
    match Hold::of(&host) {
        Hold::Held { claim } if belongs_to(&configuration.metadata, &host, claim) => Holder::Host(host),
        // Its claim is put back, or it is released.
        Hold::OnHold | Hold::Kept(_) => Holder::Paused,
        Hold::Held { .. } | Hold::Free | Hold::Leaving | Hold::Cleaned => Holder::Nobody,
    }
}

/// What came of it, and whether it may come to something else by itself.
async fn check(
    configuration: &HostBootConfiguration,
    host: &PhysicalHost,
    context: &Context,
) -> (Checked, bool) {
    let Some(presenter) = &context.presenter else { return (Checked::ServerOff, false) };
    if let Some(missing) = missing_secret(configuration, context).await {
        return (Checked::NotUsable(missing), true);
    }
    let mode = host.spec.boot.as_ref().map(|boot| boot.boot_mode).unwrap_or_default();
    // What is in a drive needs no loader of ours.
    let starts = configuration.spec.method != BootMethod::VirtualMedia;
    match presenter.artifacts.check(configuration, architecture(host)).await {
        Ok(whole) if starts && mode == BootMode::Legacy && !whole.has_kernel() => {
            let why = "The image holds an EFI program and no kernel, and the machine boots by BIOS: set bootMode: UEFI";
            (Checked::NotBootable(why.to_owned()), false)
        }
        Ok(whole) => {
            let artifacts = whole.parts.iter().map(|part| shown(part, presenter)).collect();
            let (image_digest, command_line) = (whole.image_digest, whole.command_line);
            let found = Checked::Ready(Found { artifacts, image_digest, command_line });
            match unless_it_starts(configuration, &found, presenter).filter(|_| starts) {
                None => (found, false),
                Some(why) => (Checked::NotBootable(why), false),
            }
        }
        Err(FetchError::NotBootable(why) | FetchError::Checksum(why)) => (Checked::NotBootable(why), false),
        // Whoever mends it does so elsewhere: nothing here would tell.
        Err(error @ (FetchError::Artifact(_) | FetchError::NothingToStart | FetchError::NotThere)) => {
            (Checked::NotUsable(causes(&error)), true)
        }
    }
}

/// Why no loader could be told to start it, if none could. Better now than when the machine is on.
fn unless_it_starts(
    configuration: &HostBootConfiguration,
    found: &Checked,
    presenter: &Presenter,
) -> Option<String> {
    let mut ready = configuration.clone();
    ready.status = Some(standing(configuration, found.clone(), clock::now()));
    presenter.try_script(&ready).err()
}

fn shown(part: &Part, presenter: &Presenter) -> ServedArtifact {
    ServedArtifact {
        name: part.name.to_string(),
        url: Some(presenter.links.shown_artifact(part.name)),
        pin: Some(part.artifact.pin().to_owned()),
        digest: part.artifact.digest().map(ToString::to_string),
        size_bytes: i64::try_from(part.artifact.size()).ok(),
    }
}

/// Why the configuration of its system can't be given out, if it can't: its Secret is not there.
async fn missing_secret(configuration: &HostBootConfiguration, context: &Context) -> Option<String> {
    let spec = &configuration.spec;
    let named = [("ignitionRef", &spec.ignition_ref), ("userData", &spec.user_data)];
    let namespace = configuration.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
    for (field, reference) in named {
        let Some(reference) = reference else { continue };
        match secrets.get_metadata_opt(&reference.name).await {
            Ok(Some(_)) => {}
            Ok(None) => return Some(format!("There is no Secret {}, which {field} names", reference.name)),
            Err(error) => {
                return Some(format!(
                    "The Secret {}, which {field} names, can't be read: {}",
                    reference.name,
                    causes(&error)
                ));
            }
        }
    }
    None
}
