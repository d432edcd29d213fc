//! One look at one configuration: what it names, found and checked.

use std::{sync::Arc, time::Duration};

use beskar7_api::{HostBootConfiguration, PhysicalHost, host_boot_configuration::ServedArtifact};
use beskar7_core::{
    host::hold::Hold,
    network_boot::{Checked, Found, architecture, belongs_to, readiness, standing},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _, runtime::controller::Action};

use super::NAME;
use crate::{
    boot_server::{FetchError, Part, Presenter},
    causes::causes,
    clock,
    controller::Reconciler,
    diagnostics::Metrics,
    retry::{Backoffs, spread},
    upkeep::{UpkeepError, keep},
    watch::{Cache, Key, key},
};

/// No reconcile may take longer: what has a digest is read to its end once.
const LIMIT: Duration = Duration::from_secs(900);
/// The longest pause between two looks at what does not answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    metrics: Metrics,
    hosts: Cache<PhysicalHost>,
    presenter: Option<Presenter>,
    backoffs: Backoffs<Key>,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(
        client: Client,
        metrics: Metrics,
        hosts: Cache<PhysicalHost>,
        presenter: Option<Presenter>,
    ) -> Self {
        Self { client, metrics, hosts, presenter, backoffs: Backoffs::new() }
    }
}

impl Reconciler for Context {
    type Kind = HostBootConfiguration;
    type Error = UpkeepError;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(self: Arc<Self>, configuration: Arc<HostBootConfiguration>) -> Result<Action, UpkeepError> {
        look(&configuration, &self).await
    }

    fn forget(&self, key: &Key) {
        self.backoffs.forget(key);
    }

    fn backoffs(&self) -> &Backoffs<Key> {
        &self.backoffs
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

async fn look(configuration: &HostBootConfiguration, context: &Context) -> Result<Action, UpkeepError> {
    if configuration.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let (checked, passes) = match holder(configuration, context) {
        None => (Checked::NotHeld, false),
        // What was found once is what the host boots: it is not looked at again.
        Some(_) if readiness(configuration).is_ok() => return Ok(Action::await_change()),
        Some(host) => check(configuration, &host, context).await,
    };
    let status = standing(configuration, checked, clock::now());
    let done = keep(&context.client, configuration, &status).await?;
    if !passes {
        return Ok(done);
    }
    let pause = context.backoffs.failed(key(configuration)).min(LONGEST_PAUSE);
    Ok(Action::requeue(spread(pause)))
}

/// The host that this was made for, while it is held by the claim that it was made for.
fn holder(configuration: &HostBootConfiguration, context: &Context) -> Option<Arc<PhysicalHost>> {
    let (namespace, _) = key(configuration);
    let host = context.hosts.get(&(namespace, configuration.spec.host_ref.name.clone()))?;
    let is_its = match Hold::of(&host) {
        Hold::Held { claim } => belongs_to(&configuration.metadata, &host, claim),
        Hold::Free | Hold::Kept(_) | Hold::Leaving | Hold::Cleaned | Hold::OnHold => false,
    };
    is_its.then_some(host)
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
    match presenter.artifacts.check(configuration, architecture(host)).await {
        Ok(whole) => {
            let artifacts = whole.parts.iter().map(|part| shown(part, presenter)).collect();
            let (image_digest, command_line) = (whole.image_digest, whole.command_line);
            (Checked::Ready(Found { artifacts, image_digest, command_line }), false)
        }
        Err(FetchError::NotBootable(why)) => (Checked::NotBootable(why), false),
        // Whoever mends it does so elsewhere: nothing here would tell.
        Err(error @ (FetchError::Artifact(_) | FetchError::NotThere)) => {
            (Checked::NotUsable(causes(&error)), true)
        }
    }
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
