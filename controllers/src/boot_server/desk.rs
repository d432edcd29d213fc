//! Who gets what at the boot server.
//!
//! Before anything secret is given out, the host is read again: what a cache shows may be of the past, and a claim that
//! has ended gets nothing more.

use std::{future::ready, sync::Arc, time::Duration};

use beskar7_agent_protocol::{order::Order, report::Report};
use beskar7_api::{HostBootConfiguration, PhysicalHost, boot::ConfigVolume};
use beskar7_boot::{
    capability::{Capability, Purpose},
    delivery::{
        ArtifactName, Configuration, Counted, Desk, Learned, Medium, MediumName, Refusal, Reported, Telling,
    },
    ipxe,
    source::digest,
    tftp::Files,
    volume::contents::Format,
};
use beskar7_core::{
    delivery::{self, Way},
    host::{belongings::belongs_to, errand::Errand, heard::Word},
    kernel_line,
    network_boot::{Told, architecture, needs_resources, readiness, told},
};
use bytes::Bytes;
use futures::future::BoxFuture;
use kube::{Api, Client};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{
    Presenter,
    agents::Agents,
    chatter::Chatter,
    configuration::{ConfigurationError, configuration},
    fetched::FetchError,
    hearing::Hearing,
    holders::{Holder, Holders},
    images::ImageError,
    scripts::{last, script},
    volumes::Volumes,
    witness::Witness,
};
use crate::{caches::Caches, causes::causes, clock::now, diagnostics::Metrics};

/// For so many machines the API server is asked at once. When a whole site is turned on, more would not be answered sooner:
/// each would need a connection, and memory for what it reads.
pub(super) const AT_ONCE: usize = 16;

/// Why nothing secret is given out, and nothing written down, of a host that is still somebody's.
pub(super) const REFERENCE_LOST: &str = "its host's consumerRef is lost, and its consumer is to put it back";

/// Why nothing secret is given out of a host whose machine boots.
const PAUSED: &str = "its host is paused, and what it asks for waits for the end of that";

/// The desk of one replica.
pub(super) struct BootDesk {
    pub(super) client: Client,
    pub(super) metrics: Metrics,
    pub(super) caches: Caches,
    pub(super) holders: Holders,
    pub(super) hearing: Hearing,
    pub(super) agents: Agents,
    pub(super) chatter: Chatter,
    pub(super) witness: Witness,
    /// The boot loaders that are given out.
    pub(super) loaders: Files,
    pub(super) presenter: Presenter,
    pub(super) volumes: Volumes,
    /// Those who read from the API server hold one; the others wait, in the order in which they came.
    pub(super) turns: Semaphore,
    pub(super) configuration_timeout: Duration,
}

impl BootDesk {
    pub(super) fn holder(
        &self,
        capability: &Capability,
        purpose: Purpose,
    ) -> Result<(Arc<Holder>, Arc<PhysicalHost>), Refusal> {
        match self.holders.get(capability).filter(|(holder, _)| holder.purpose == purpose) {
            Some(found) => Ok(found),
            None if self.holders.is_complete() => Err(Refusal::Nothing),
            None => Err(Refusal::NotNow),
        }
    }

    /// A turn to read from the API server. Who only guesses needs none. What is done in the turn is made then: those who
    /// wait are many, and hold nothing but their place.
    pub(super) async fn turn(&self, holder: &Holder) -> Result<SemaphorePermit<'_>, Refusal> {
        self.turns.acquire().await.map_err(|closed| not_now(holder, &causes(&closed)))
    }

    /// The host as it is now, if `open` says that it is for this claim.
    pub(super) async fn now(
        &self,
        holder: &Holder,
        open: fn(&PhysicalHost, &str, jiff::Timestamp, Duration) -> bool,
    ) -> Result<PhysicalHost, Refusal> {
        let (namespace, name) = &holder.host;
        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), namespace);
        let host = hosts.get_opt(name).await.map_err(|error| not_now(holder, &causes(&error)))?;
        let (now, limit) = (now(), self.configuration_timeout);
        match host {
            Some(host) if open(&host, &holder.claim, now, limit) => Ok(host),
            Some(host) if delivery::waits_for_reference(&host, &holder.claim) => {
                Err(not_now(holder, REFERENCE_LOST))
            }
            Some(host) if delivery::waits_for_pause(&host, &holder.claim, now, limit) => {
                Err(not_now(holder, PAUSED))
            }
            Some(_) | None => Err(Refusal::Nothing),
        }
    }

    async fn configuration_of(&self, holder: &Holder, host: &PhysicalHost) -> Result<Configuration, Refusal> {
        let links = &self.presenter.links;
        let found = configuration(&self.client, &self.caches, links, host, &holder.claim).await;
        found.map_err(|error| match error {
            ConfigurationError::Nothing | ConfigurationError::Unreadable(_) => {
                not_now(holder, &causes(&error))
            }
        })
    }

    async fn read_configuration(&self, capability: &Capability) -> Result<Configuration, Refusal> {
        let (holder, _) = self.holder(capability, Purpose::Configuration)?;
        let _turn = self.turn(&holder).await?;
        Box::pin(self.read_configuration_in_turn(&holder)).await
    }

    async fn read_configuration_in_turn(&self, holder: &Holder) -> Result<Configuration, Refusal> {
        let host = self.now(holder, delivery::configuration_is_open).await?;
        match way(&host) {
            Some(Way::Url) => self.configuration_of(holder, &host).await,
            Some(Way::Volume(_) | Way::Partition(_)) | None => Err(Refusal::Nothing),
        }
    }

    async fn image(&self, capability: &Capability, pin: &str) -> Result<Medium, Refusal> {
        let (holder, host) = self.holder(capability, Purpose::Media)?;
        let (url, arguments) = match (starts_agent(&host), &host.spec.boot) {
            // The agent's, which stands where what it is to do does.
            (true, _) => {
                let made = self.boot_configuration(&holder, &host)?;
                (made.spec.image.clone(), made.spec.kernel_args.clone())
            }
            (false, Some(boot)) => (host.spec.boot_iso_source.clone(), boot.kernel_args.clone()),
            (false, None) => return Err(Refusal::Nothing),
        };
        let url = url.as_ref().ok_or(Refusal::Nothing)?;
        let quoted: Result<Vec<String>, _> =
            arguments.iter().map(|argument| kernel_line::quote(argument)).collect();
        let arguments = match quoted {
            Ok(arguments) if !arguments.is_empty() => self.presenter.links.fill_in(&arguments, &holder.claim),
            Ok(_) | Err(_) => return Err(Refusal::Nothing),
        };
        match self.presenter.images.present(url, pin, &arguments).await {
            Ok(presented) => {
                let parts = presented.overlay.loader_configuration().to_vec();
                let telling = Some(Telling { parts, says: Learned::LoaderRead });
                let parts: Vec<&[u8]> =
                    std::iter::once(pin.as_bytes()).chain(arguments.iter().map(String::as_bytes)).collect();
                Ok(Medium { source: presented.source, etag: digest(&parts), telling })
            }
            Err(error @ ImageError::Changed) => {
                not_now(&holder, &error.to_string());
                Err(Refusal::Nothing)
            }
            Err(error @ (ImageError::Upstream(_) | ImageError::Overlay(_))) => {
                Err(not_now(&holder, &causes(&error)))
            }
        }
    }

    /// What the host of a claim boots from the network or installs, if that was made for this claim and is ready.
    fn boot_configuration(
        &self,
        holder: &Holder,
        host: &PhysicalHost,
    ) -> Result<Arc<HostBootConfiguration>, Refusal> {
        let is_made = is_made(host);
        let found = self.caches.boot_configurations.get(&holder.host).filter(|found| {
            is_made && belongs_to(&found.metadata, host, &holder.claim) && readiness(found).is_ok()
        });
        found.ok_or(if is_made { Refusal::NotNow } else { Refusal::Nothing })
    }

    fn network_script(&self, capability: &Capability) -> Result<String, Refusal> {
        let (holder, host) = self.holder(capability, Purpose::Media)?;
        match self.told(&holder, &host) {
            // What is on the disk needs nothing of what was made for the boot, which may be lost or not be there any more.
            Told::Disk if is_made(&host) => Ok(ipxe::disk().to_owned()),
            Told::Disk => Err(Refusal::Nothing),
            Told::Network => {
                let configuration = self.boot_configuration(&holder, &host)?;
                script(&configuration, &self.presenter.links, &holder.claim)
                    .map_err(|error| not_now(&holder, &causes(&error)))
            }
        }
    }

    fn told(&self, holder: &Holder, host: &PhysicalHost) -> Told {
        told(host, &holder.claim, |word| self.hearing.has_heard(host, &holder.claim, word))
    }

    /// Read for as long as the host is held: a root file system may be needed at any time.
    async fn artifact(&self, capability: &Capability, name: ArtifactName) -> Result<Medium, Refusal> {
        // What is installed is the agent's to read: BMCs show the URLs of media to many.
        let purpose = match name {
            ArtifactName::Image => Purpose::Agent,
            ArtifactName::Kernel
            | ArtifactName::Initramfs(_)
            | ArtifactName::Root
            | ArtifactName::Program => Purpose::Media,
        };
        let (holder, host) = self.holder(capability, purpose)?;
        // Firmware may start it without a script that says whether it is still to be started.
        if name == ArtifactName::Program && self.told(&holder, &host) == Told::Disk {
            return Err(Refusal::Nothing);
        }
        let configuration = self.boot_configuration(&holder, &host)?;
        let fetched = self.presenter.artifacts.get(&configuration, name, architecture(&host)).await;
        let artifact = fetched.map_err(|error| match &error {
            FetchError::NotThere => Refusal::Nothing,
            FetchError::Artifact(_)
            | FetchError::NothingToStart
            | FetchError::NotBootable(_)
            | FetchError::Checksum(_) => not_now(&holder, &causes(&error)),
        })?;
        let (end, last) = (artifact.size(), last(&configuration) == Some(name));
        let last_byte = end.saturating_sub(1)..end;
        let telling = Telling { parts: vec![last_byte], says: Learned::Fetched { artifact: name, last } };
        Ok(Medium { source: artifact.source(), etag: artifact.pin().to_owned(), telling: Some(telling) })
    }

    async fn volume(&self, capability: &Capability, label: &str) -> Result<Medium, Refusal> {
        let (holder, seen) = match self.holder(capability, Purpose::Media) {
            Err(_) => self.holder(capability, Purpose::Agent)?,
            found @ Ok(_) => found?,
        };
        // A secret is nothing for who only has the URL of a medium, where its machine has another way to read it.
        let reader = match way(&seen) {
            Some(Way::Partition(_)) => Purpose::Agent,
            Some(Way::Volume(_) | Way::Url) | None => Purpose::Media,
        };
        if holder.purpose != reader {
            return Err(Refusal::Nothing);
        }
        // It is read in many parts: the API server is not asked for each whether it is open.
        let seems_open = delivery::volume_is_open(&seen, &holder.claim, now(), self.configuration_timeout);
        if seems_open && self.volumes.was_open_lately(&holder.claim) {
            return Box::pin(self.volume_of(&holder, &seen, label)).await;
        }
        let _turn = self.turn(&holder).await?;
        let host = self.now(&holder, delivery::volume_is_open).await?;
        Box::pin(self.volume_of(&holder, &host, label)).await
    }

    async fn volume_of(&self, holder: &Holder, host: &PhysicalHost, label: &str) -> Result<Medium, Refusal> {
        let format = match way(host) {
            Some(Way::Volume(volume) | Way::Partition(volume)) if volume.label() == label => format(volume),
            Some(Way::Volume(_) | Way::Partition(_) | Way::Url) | None => return Err(Refusal::Nothing),
        };
        let volume = match self.volumes.get(&holder.claim, format) {
            Some(volume) => volume,
            None => {
                let configuration = self.configuration_of(holder, host).await?;
                self.volumes
                    .make(&holder.claim, format, &configuration)
                    .map_err(|error| not_now(holder, &causes(&error)))?
            }
        };
        self.volumes.is_open(&holder.claim);
        // Who reads it, the machine or its BMC, can't be told: nothing is learned from it.
        Ok(Medium { source: Arc::new(volume.bytes), etag: volume.etag, telling: None })
    }
}

impl Desk for BootDesk {
    fn may_ask(&self, capability: &Capability) -> Result<(), Refusal> {
        self.holder(capability, Purpose::Configuration).map(drop)
    }

    fn configuration<'a>(
        &'a self,
        capability: &'a Capability,
    ) -> BoxFuture<'a, Result<Configuration, Refusal>> {
        Box::pin(self.read_configuration(capability))
    }

    fn medium<'a>(
        &'a self,
        capability: &'a Capability,
        name: MediumName<'a>,
    ) -> BoxFuture<'a, Result<Medium, Refusal>> {
        match name {
            MediumName::Image { pin } => Box::pin(self.image(capability, pin)),
            MediumName::Volume { label } => Box::pin(self.volume(capability, label)),
            MediumName::Artifact(name) => Box::pin(self.artifact(capability, name)),
        }
    }

    fn script(&self, capability: &Capability) -> Result<String, Refusal> {
        self.network_script(capability)
    }

    fn loader(&self, name: &str) -> Option<Bytes> {
        self.loaders.get(name)
    }

    fn admit_agent(&self, capability: &Capability) -> Result<(), Refusal> {
        self.holder(capability, Purpose::Agent).map(drop)
    }

    fn order<'a>(&'a self, capability: &'a Capability) -> BoxFuture<'a, Result<Option<Order>, Refusal>> {
        Box::pin(self.next_order(capability))
    }

    fn report<'a>(
        &'a self,
        capability: &'a Capability,
        report: Report,
    ) -> BoxFuture<'a, Result<Reported, Refusal>> {
        Box::pin(self.reported(capability, report))
    }

    fn may_call_home(&self, capability: &Capability) -> bool {
        // Nothing is written down meanwhile: it is to call again.
        self.holder(capability, Purpose::PhoneHome)
            .is_ok_and(|(holder, host)| !delivery::waits_for_reference(&host, &holder.claim))
    }

    fn learned(&self, capability: &Capability, what: Learned) -> BoxFuture<'static, ()> {
        let Some((holder, host)) = self.holders.get(capability) else { return Box::pin(ready(())) };
        let (word, reason, note) = match what {
            Learned::LoaderRead => {
                (Some(Word::Image), "ReadImage", "Its boot loader read its image".to_owned())
            }
            Learned::ScriptRead => (None, "FetchedScript", "iPXE asked what to boot".to_owned()),
            Learned::Fetched { artifact, last } => {
                (last.then_some(Word::Image), "FetchedArtifact", format!("It fetched its {artifact}"))
            }
            Learned::ConfigurationRead => {
                (Some(Word::Configuration), "ReadConfiguration", "It read its configuration".to_owned())
            }
            Learned::CalledHome => (Some(Word::Home), "CalledHome", "It called home".to_owned()),
        };
        self.witness.saw(&host, &holder.claim, reason, note);
        match word {
            Some(word) => self.hearing.heard(&holder.host, &host, &holder.claim, word),
            None => Box::pin(ready(())),
        }
    }

    fn counted(&self, what: Counted) {
        self.metrics.boot_answered(what);
    }
}

/// Whether a HostBootConfiguration is made for a host.
fn is_made(host: &PhysicalHost) -> bool {
    starts_agent(host) || host.spec.boot.as_ref().is_some_and(needs_resources)
}

/// Whether the machine of a host starts the agent, on an errand or to be installed.
fn starts_agent(host: &PhysicalHost) -> bool {
    let installs = || host.spec.boot.as_ref().is_some_and(|boot| boot.install.is_some());
    Errand::id_of(host).is_some() || installs()
}

fn way(host: &PhysicalHost) -> Option<Way> {
    host.spec.boot.as_ref().and_then(delivery::way)
}

const fn format(volume: ConfigVolume) -> Format {
    match volume {
        ConfigVolume::Cidata => Format::Cidata,
        ConfigVolume::Config2 => Format::Config2,
    }
}

/// Says why, to who reads the log.
pub(super) fn not_now(holder: &Holder, why: &str) -> Refusal {
    let (namespace, name) = &holder.host;
    tracing::warn!(namespace, name, why, "a machine asked for something that can't be had now");
    Refusal::NotNow
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
