//! What there is for the one machine over HTTP: its script, what that fetches, its configuration, and its call home.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use beskar7_boot::capability::{Capability, Purpose};
use beskar7_boot::delivery::{
    self, ArtifactName, Configuration, Counted, Learned, Medium, MediumName, MetaData, Refusal, Telling,
};
use beskar7_boot::tftp::Files;
use beskar7_e2e::isos::Isos;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::claim::Claim;

/// What every machine gets.
pub const USER_DATA: &str = "#cloud-config\nwrite_files:\n  - path: /etc/b7\n    content: \"a ; b 'c' $d\"\n";

/// The desk.
pub struct Desk {
    pub claim: Claim,
    kernel: Bytes,
    initramfs: Bytes,
    program: Bytes,
    loaders: Files,
    /// How often the script was read.
    reads: AtomicU32,
    learned: Mutex<Vec<(Purpose, Learned)>>,
}

impl Desk {
    pub async fn new(isos: &Isos, claim: Claim, loaders: Files) -> Result<Self> {
        let parameters = claim.parameters();
        let program = isos.program(&parameters.each_ref().map(String::as_str)).await?;
        Ok(Self {
            claim,
            kernel: read(&isos.installed().kernel)?,
            initramfs: read(&isos.initramfs().await?)?,
            program: read(&program)?,
            loaders,
            reads: AtomicU32::new(0),
            learned: Mutex::default(),
        })
    }

    /// What was learned of the machine, in its order, and by which of its capabilities.
    pub fn learned(&self) -> Vec<(Purpose, Learned)> {
        self.learned.lock().unwrap().clone()
    }

    fn artifact(&self, name: MediumName<'_>) -> Result<Medium, Refusal> {
        let (artifact, content, last) = match name {
            MediumName::Artifact(artifact @ ArtifactName::Kernel) => (artifact, &self.kernel, false),
            MediumName::Artifact(artifact @ ArtifactName::Initramfs(0)) => (artifact, &self.initramfs, true),
            MediumName::Artifact(artifact @ ArtifactName::Program) => (artifact, &self.program, true),
            MediumName::Artifact(ArtifactName::Initramfs(_) | ArtifactName::Root | ArtifactName::Image)
            | MediumName::Image { .. }
            | MediumName::Volume { .. } => return Err(Refusal::Nothing),
        };
        let end = content.len() as u64;
        let last_byte = end - 1..end;
        let telling = Telling { parts: vec![last_byte], says: Learned::Fetched { artifact, last } };
        Ok(Medium { source: Arc::new(content.clone()), etag: artifact.to_string(), telling: Some(telling) })
    }

    fn open(&self, capability: &Capability, purpose: Purpose) -> Result<(), Refusal> {
        if self.claim.purpose(capability) == Some(purpose) { Ok(()) } else { Err(Refusal::Nothing) }
    }

    fn meta_data(&self) -> MetaData {
        MetaData {
            instance_id: "c1".to_owned(),
            hostname: "edge-1".to_owned(),
            provider_id: "b7://metal/r1".to_owned(),
            zone: None,
            host: "r1".to_owned(),
            namespace: "metal".to_owned(),
            cluster: None,
            uuid: None,
            phone_home_url: self.claim.url(Purpose::PhoneHome, "phone-home"),
            more: Default::default(),
        }
    }
}

impl delivery::Desk for Desk {
    fn configuration<'a>(
        &'a self,
        capability: &'a Capability,
    ) -> BoxFuture<'a, Result<Configuration, Refusal>> {
        let user_data = Bytes::from_static(USER_DATA.as_bytes());
        let answer = self.open(capability, Purpose::Configuration).map(|()| Configuration {
            user_data,
            meta_data: self.meta_data(),
            network_config: None,
        });
        async { answer }.boxed()
    }

    fn medium<'a>(
        &'a self,
        capability: &'a Capability,
        name: MediumName<'a>,
    ) -> BoxFuture<'a, Result<Medium, Refusal>> {
        let answer = self.open(capability, Purpose::Media).and_then(|()| self.artifact(name));
        async { answer }.boxed()
    }

    fn script(&self, capability: &Capability) -> Result<String, Refusal> {
        self.open(capability, Purpose::Media)?;
        Ok(self.claim.script(self.reads.fetch_add(1, Ordering::Relaxed) == 0))
    }

    fn loader(&self, name: &str) -> Option<Bytes> {
        self.loaders.get(name)
    }

    fn may_call_home(&self, capability: &Capability) -> bool {
        self.open(capability, Purpose::PhoneHome).is_ok()
    }

    fn learned(&self, capability: &Capability, what: Learned) -> BoxFuture<'static, ()> {
        let purpose = self.claim.purpose(capability).unwrap();
        self.learned.lock().unwrap().push((purpose, what));
        std::future::ready(()).boxed()
    }

    fn counted(&self, _: Counted) {}
}

fn read(path: &Path) -> Result<Bytes> {
    Ok(std::fs::read(path).with_context(|| format!("reading {}", path.display()))?.into())
}
