//! What registries answer: indexes, which list manifests, and manifests, which list layers. Nothing in them is believed
//! further than its form.

use std::collections::HashMap;

use serde::Deserialize;

use super::architecture::Architecture;
use super::digest::Digest;

/// What a registry is asked for. Some give nothing else than what is named here.
pub(super) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
     application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.ironcore.image.artifacts.v1+json";

/// How many manifests an index may list, and layers a manifest.
const ENTRIES: usize = 512;
/// How much of what others wrote is repeated to people.
const PRINTED: usize = 80;
const LISTED: usize = 8;
/// How Garden Linux names what boots from the network, in an index that knows no platforms.
const GARDEN_LINUX_NETWORK_BOOT: &str = "metal_pxe";

/// An index or a manifest.
#[derive(Debug)]
pub(super) enum Parsed {
    Index(Vec<Descriptor>),
    Manifest(Manifest),
}

#[derive(Debug)]
pub(super) struct Manifest {
    pub config: Option<Descriptor>,
    pub layers: Vec<Descriptor>,
    annotations: Annotations,
}

type Annotations = Option<HashMap<String, String>>;

/// What points at a manifest, or at a blob.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    digest: String,
    pub size: u64,
    platform: Option<Platform>,
    annotations: Annotations,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
}

#[derive(Deserialize)]
struct Document {
    manifests: Option<Vec<Descriptor>>,
    layers: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    annotations: Annotations,
}

/// Reads a document. The error says what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, String> {
    let document: Document = serde_json::from_slice(bytes)
        .map_err(|error| format!("what its registry gives is no manifest, {}", place(&error)))?;
    match (document.manifests, document.layers) {
        (Some(manifests), None) => Ok(Parsed::Index(counted(manifests, "manifests")?)),
        (None, Some(layers)) => {
            let layers = counted(layers, "layers")?;
            Ok(Parsed::Manifest(Manifest {
                config: document.config,
                layers,
                annotations: document.annotations,
            }))
        }
        // Who reads it as the one would boot something else than who reads it as the other.
        (Some(_), Some(_)) => Err("what its registry gives is both an index and a manifest".to_owned()),
        (None, None) => {
            Err("what its registry gives is neither an index nor a manifest that is still in use".to_owned())
        }
    }
}

/// Where a document stops making sense. What stands there is left out: it may be anything, and long.
pub(super) fn place(error: &serde_json::Error) -> String {
    format!("as far as line {}, column {} shows", error.line(), error.column())
}

fn counted(entries: Vec<Descriptor>, what: &str) -> Result<Vec<Descriptor>, String> {
    if entries.len() <= ENTRIES {
        return Ok(entries);
    }
    Err(format!("it has {} {what}, and more than {ENTRIES} are not looked at", entries.len()))
}

impl Manifest {
    /// What it says that it is for, if it says so, and that is something else.
    pub(super) fn other_architecture(&self, wanted: Architecture) -> Option<String> {
        let given = annotation(&self.annotations, "architecture").filter(|given| !wanted.is_named(given));
        given.map(printable)
    }
}

impl Descriptor {
    /// What it points at.
    pub(super) fn digest(&self) -> Result<Digest, String> {
        Digest::of_content(&self.digest)
            .map_err(|why| format!("a digest in what its registry gives can't be read: {why}"))
    }

    /// The name of its file, without a path.
    pub(super) fn file_name(&self) -> Option<&str> {
        let title = annotation(&self.annotations, "org.opencontainers.image.title")?;
        title.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// As people are told: by its file, or by its type.
    pub(super) fn shown(&self) -> String {
        let name = printable(self.file_name().unwrap_or(&self.media_type));
        if name.is_empty() { "a layer without a name".to_owned() } else { name }
    }

    fn is_for(&self, wanted: Architecture) -> bool {
        self.platform.as_ref().is_some_and(|platform| {
            wanted.is_named(&platform.architecture) && matches!(platform.os.as_str(), "linux" | "")
        })
    }

    fn is_said_to_be_for(&self, wanted: Architecture) -> bool {
        annotation(&self.annotations, "architecture").is_some_and(|given| wanted.is_named(given))
    }

    fn platform(&self) -> String {
        match &self.platform {
            Some(platform) => printable(&format!("{}/{}", platform.os, platform.architecture)),
            None => "no platform in particular".to_owned(),
        }
    }
}

/// What somebody else wrote, as far as it can be shown to people.
fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(PRINTED).collect()
}

fn annotation<'a>(annotations: &'a Annotations, name: &str) -> Option<&'a str> {
    annotations.as_ref()?.get(name).map(String::as_str)
}

/// The manifest for an architecture. The error says what there is.
pub(super) fn choose(entries: &[Descriptor], wanted: Architecture) -> Result<&Descriptor, String> {
    let network_boot = |entry: &&Descriptor| {
        let name = annotation(&entry.annotations, "cname");
        name.is_some_and(|name| name.starts_with(GARDEN_LINUX_NETWORK_BOOT))
            && entry.is_said_to_be_for(wanted)
    };
    let without = || entries.iter().filter(|entry| entry.platform.is_none());
    let only = match entries {
        [entry] if entry.platform.is_none() && annotation(&entry.annotations, "architecture").is_none() => {
            Some(entry)
        }
        _ => None,
    };
    let found = entries
        .iter()
        .find(network_boot)
        .or_else(|| entries.iter().find(|entry| entry.is_for(wanted)))
        .or_else(|| without().find(|entry| entry.is_said_to_be_for(wanted)))
        .or(only);
    found.ok_or_else(|| {
        let mut there: Vec<String> = entries.iter().map(Descriptor::platform).collect();
        there.sort();
        there.dedup();
        there.truncate(LISTED);
        if there.is_empty() { "nothing at all".to_owned() } else { there.join(", ") }
    })
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
