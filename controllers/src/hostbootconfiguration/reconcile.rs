//! One look at one configuration: what it names, found and checked.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use beskar7_api::{
    HostBootConfiguration, PhysicalHost,
    boot::{BootMethod, BootMode},
    host_boot_configuration::ServedArtifact,
};
use beskar7_boot::artifacts::{ArtifactError, Running};
use beskar7_core::{
    host::{belongings::belongs_to, errand::Errand, hold::Hold},
    network_boot::{Checked, Found, architecture, readiness, standing},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _, runtime::controller::Action};
use tokio::sync::mpsc::UnboundedSender;

use super::NAME;
use crate::{
    boot_server::{FetchError, Part, Presenter, Whole},
    causes::causes,
    clock,
    retry::{Backoffs, spread},
    upkeep::{Keeper, UpkeepError, keep},
    watch::{Cache, Key, key},
};

/// No reconcile may take longer.
const LIMIT: Duration = Duration::from_secs(240);
/// For finding all that one names. What takes longer is told.
const PATIENCE: Duration = Duration::from_secs(180);
/// What is compared sooner is waited for: most is small. All else goes on in the background, and others have their turn.
const SOON: Duration = Duration::from_secs(2);
/// How often it is said how far that is. By that it is also known that somebody still wants it.
const COMPARING: Duration = Duration::from_secs(30);
/// The longest pause between two looks at what does not answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    hosts: Cache<PhysicalHost>,
    presenter: Option<Presenter>,
    woken: Woken,
}

impl Context {
    /// For a controller whose writes go through `client`, and that looks again at what comes out of `keys`.
    #[must_use]
    pub fn new(
        client: Client,
        hosts: Cache<PhysicalHost>,
        presenter: Option<Presenter>,
        keys: UnboundedSender<Key>,
    ) -> Self {
        Self { client, hosts, presenter, woken: Woken { keys, waiting: Arc::default() } }
    }
}

/// Has what waits for a comparison looked at when that ends.
#[derive(Clone)]
struct Woken {
    keys: UnboundedSender<Key>,
    /// For whom somebody waits already.
    waiting: Arc<Mutex<HashSet<Key>>>,
}

impl Woken {
    fn at_the_end_of(&self, mut running: Running, key: Key) {
        if !self.waiting().insert(key.clone()) {
            return;
        }
        let woken = self.clone();
        // It ends with what it waits for, which ends with the manager.
        tokio::spawn(async move {
            running.ended().await;
            woken.waiting().remove(&key);
            // Nobody listens any more only when everything ends.
            let _ended = woken.keys.send(key);
        });
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When it is looked at again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// When something changes.
    Never,
    /// While it is compared.
    Comparing,
    /// Less and less often: it may come to something else by itself.
    LessAndLess,
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
    let (checked, again) = match holder(configuration, context) {
        // A pause takes nothing from what runs, and neither does a claim that got lost.
        Holder::Paused => return Ok(Action::await_change()),
        Holder::Nobody => (Checked::NotHeld, Again::Never),
        // What was found once is what the host boots: it is not looked at again.
        Holder::Host(_) if readiness(configuration).is_ok() => return Ok(Action::await_change()),
        Holder::Host(host) => {
            let checking = tokio::time::timeout(PATIENCE, check(configuration, &host, context));
            checking.await.unwrap_or_else(|_| {
                let why = format!("It was not found within {} s", PATIENCE.as_secs());
                (Checked::NotUsable(why), Again::LessAndLess)
            })
        }
    };
    let status = standing(configuration, checked, clock::now());
    let done = keep(&context.client, configuration, &status).await?;
    match again {
        Again::Never => Ok(done),
        Again::Comparing => Ok(Action::requeue(spread(COMPARING))),
        Again::LessAndLess => {
            let pause = backoffs.failed(key(configuration)).min(LONGEST_PAUSE);
            Ok(Action::requeue(spread(pause)))
        }
    }
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

/// What came of it.
async fn check(
    configuration: &HostBootConfiguration,
    host: &PhysicalHost,
    context: &Context,
) -> (Checked, Again) {
    let Some(presenter) = &context.presenter else { return (Checked::ServerOff, Again::Never) };
    if let Some(missing) = missing_secret(configuration, context).await {
        return (Checked::NotUsable(missing), Again::LessAndLess);
    }
    match presenter.artifacts.find(configuration, architecture(host)).await {
        Ok(whole) => compare(configuration, whole, host, (context, presenter)).await,
        Err(error) => not_found(&error),
    }
}

fn not_found(error: &FetchError) -> (Checked, Again) {
    match error {
        FetchError::NotBootable(why) | FetchError::Checksum(why) => {
            (Checked::NotBootable(why.clone()), Again::Never)
        }
        // Whoever mends it does so elsewhere: nothing here would tell.
        FetchError::Artifact(_) | FetchError::NothingToStart | FetchError::NotThere => {
            (Checked::NotUsable(causes(error)), Again::LessAndLess)
        }
    }
}

/// What was found can be started, and is what it should be.
async fn compare(
    configuration: &HostBootConfiguration,
    whole: Whole,
    host: &PhysicalHost,
    (context, presenter): (&Context, &Presenter),
) -> (Checked, Again) {
    let mode = host.spec.boot.as_ref().map(|boot| boot.boot_mode).unwrap_or_default();
    // What is in a drive needs no loader of ours.
    let starts = configuration.spec.method != BootMethod::VirtualMedia;
    if starts && mode == BootMode::Legacy && !whole.has_kernel() {
        let why =
            "The image holds an EFI program and no kernel, and the machine boots by BIOS: set bootMode: UEFI";
        // Another image may come under the same tag.
        return (Checked::NotBootable(why.to_owned()), Again::LessAndLess);
    }
    match soon(&whole).await {
        Ok(None) => {}
        Ok(Some(running)) => {
            let far = comparing(&running);
            context.woken.at_the_end_of(running, key(configuration));
            return (Checked::Comparing(far), Again::Comparing);
        }
        Err(error) => return not_found(&error.into()),
    }
    let artifacts = whole.parts.iter().map(|part| shown(part, presenter)).collect();
    let (image_digest, command_line) = (whole.image_digest, whole.command_line);
    let found = Checked::Ready(Found { artifacts, image_digest, command_line });
    match unless_it_starts(configuration, &found, presenter).filter(|_| starts) {
        None => (found, Again::Never),
        Some(why) => (Checked::NotBootable(why), Again::LessAndLess),
    }
}

/// What is still being compared, if something is after a short while.
async fn soon(whole: &Whole) -> Result<Option<Running>, ArtifactError> {
    let all = async {
        for mut running in whole.compare()? {
            running.ended().await;
        }
        Ok::<_, ArtifactError>(())
    };
    // How it stands is asked once more in any case.
    if let Ok(Err(error)) = tokio::time::timeout(SOON, all).await {
        return Err(error);
    }
    Ok(whole.compare()?.into_iter().next())
}

/// What people are told of it. Not of each step: each is written down on two objects.
fn comparing(running: &Running) -> String {
    let how_far = match running.percent() {
        None => "it waits for its turn to be read".to_owned(),
        Some(percent) => format!("{} % are read", percent / 10 * 10),
    };
    format!("{} is compared with its digest, before anything is booted: {how_far}", running.what())
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

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
