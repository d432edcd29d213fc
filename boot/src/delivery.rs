//! Configuration delivery: what a machine is given over HTTP while it boots, to those who show the right capability.
//!
//! Who a capability belongs to, and what there is for it, is asked of a [`Desk`]: nothing here knows the API server.
//! Every refusal is the same answer: who guesses learns nothing.

mod agent;
mod answer;
mod artifact;
mod completed;
mod target;
mod wrong;

use std::{collections::BTreeMap, fmt, future::ready, ops::Range, sync::Arc};

use beskar7_agent_protocol::{order::Order, report::Report};
use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::Value;

pub use self::{
    answer::router,
    artifact::ArtifactName,
    target::{LOADERS, SCRIPT},
};
use crate::{capability::Capability, source::Source};

/// Why nothing is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing for who asks. Why not is nobody's business.
    Nothing,
    /// Not now: what is needed can't be had at the moment.
    NotNow,
}

/// What a machine is configured with.
#[derive(Clone)]
pub struct Configuration {
    /// The Machine's bootstrap data, byte for byte.
    pub user_data: Bytes,
    /// What the machine is told of itself.
    pub meta_data: MetaData,
    /// How its network is set up, where somebody says so.
    pub network_config: Option<Bytes>,
}

/// Without what is in it: bootstrap data are secret.
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configuration").field("hostname", &self.meta_data.hostname).finish_non_exhaustive()
    }
}

/// What a machine is told of itself. The URL in it is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct MetaData {
    /// Another one for every installation.
    pub instance_id: String,
    /// Its name.
    pub hostname: String,
    /// Its identity in the cluster, as its Node must carry it.
    pub provider_id: String,
    /// The zone that it stands in.
    pub zone: Option<String>,
    /// The host that it runs on.
    pub host: String,
    /// That host's namespace.
    pub namespace: String,
    /// The cluster that it belongs to.
    pub cluster: Option<String>,
    /// Its UUID, as its BMC tells it.
    pub uuid: Option<String>,
    /// Where it says that it runs.
    pub phone_home_url: String,
    /// What its user tells it beside that. Of two of the same name, the user's counts.
    pub more: BTreeMap<String, Value>,
}

/// A medium that a machine is given.
#[derive(Clone)]
pub struct Medium {
    /// Its bytes.
    pub source: Arc<dyn Source>,
    /// What tells this content from any other.
    pub etag: String,
    /// The parts of it whose reading says something, if there are any.
    pub telling: Option<Telling>,
}

/// Which parts of a medium say something when they are read, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    /// The parts.
    pub parts: Vec<Range<u64>>,
    /// What is learned from it.
    pub says: Learned,
}

/// What was learned of a machine by what it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    /// Its boot loader read its configuration.
    LoaderRead,
    /// Its loader read what it is to boot from the network.
    ScriptRead,
    /// Its loader read all of this.
    Fetched {
        /// What.
        artifact: ArtifactName,
        /// Whether that is the last of what it boots.
        last: bool,
    },
    /// It read its configuration.
    ConfigurationRead,
    /// It called home.
    CalledHome,
}

/// What was answered, to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A configuration, or a part of one.
    Configuration,
    /// A medium, or a part of one.
    Medium,
    /// What is to be booted from the network.
    Script,
    /// Something that is booted from the network, or a part of it.
    Artifact,
    /// A boot loader.
    Loader,
    /// A call.
    PhoneHome,
    /// What the agent on a machine asked, or said.
    Agent,
    /// Nothing, because there is nothing for who asked.
    Refused,
    /// Nothing, because it can't be had now.
    Unavailable,
}

/// What became of what an agent said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// It was taken.
    Taken,
    /// What it is about is not wanted any more.
    NotWanted,
    /// It does not answer what was asked.
    Nonsense,
}

/// A path behind a capability that names a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediumName<'a> {
    /// The image, if its content is this.
    Image {
        /// Which content.
        pin: &'a str,
    },
    /// The volume with the configuration.
    Volume {
        /// Its label.
        label: &'a str,
    },
    /// Something that is booted from the network.
    Artifact(ArtifactName),
}

/// Who knows what there is for a capability.
pub trait Desk: Send + Sync + 'static {
    /// Whether this is the capability of somebody who may ask for a configuration: who only guesses takes no room in memory
    /// from those.
    ///
    /// # Errors
    /// It is not, or that can't be told yet.
    fn may_ask(&self, _: &Capability) -> Result<(), Refusal> {
        Ok(())
    }

    /// The configuration, for who may read it now.
    fn configuration<'a>(
        &'a self,
        capability: &'a Capability,
    ) -> BoxFuture<'a, Result<Configuration, Refusal>>;

    /// A medium, for who may read it now.
    fn medium<'a>(
        &'a self,
        capability: &'a Capability,
        name: MediumName<'a>,
    ) -> BoxFuture<'a, Result<Medium, Refusal>>;

    /// What iPXE is told to start, for who may boot from the network.
    fn script(&self, _: &Capability) -> Result<String, Refusal> {
        Err(Refusal::Nothing)
    }

    /// A boot loader, by the name of its file. These are no secrets.
    fn loader(&self, _: &str) -> Option<Bytes> {
        None
    }

    /// Whether this is the capability of an agent: what others send is not read.
    ///
    /// # Errors
    /// It is none, or that is not known yet.
    fn admit_agent(&self, _: &Capability) -> Result<(), Refusal> {
        Err(Refusal::Nothing)
    }

    /// What the agent on a machine is told to do next; nothing, where there is nothing for now.
    fn order<'a>(&'a self, _: &'a Capability) -> BoxFuture<'a, Result<Option<Order>, Refusal>> {
        Box::pin(ready(Err(Refusal::Nothing)))
    }

    /// What the agent on a machine says. What must not be lost is written down before this ends well.
    fn report<'a>(&'a self, _: &'a Capability, _: Report) -> BoxFuture<'a, Result<Reported, Refusal>> {
        Box::pin(ready(Err(Refusal::Nothing)))
    }

    /// Whether this capability may call home.
    fn may_call_home(&self, capability: &Capability) -> bool;

    /// Something was learned of the machine whose capability this is. It is kept in mind whether or not anybody waits for
    /// what is returned, which ends when it is written down where a restart of ours does not lose it, or when that takes too
    /// long.
    fn learned(&self, capability: &Capability, what: Learned) -> BoxFuture<'static, ()>;

    /// Something was answered.
    fn counted(&self, what: Counted);
}
