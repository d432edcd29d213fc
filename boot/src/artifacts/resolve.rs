//! From an image's reference to the manifest for a machine: fetched, compared with its digest, chosen.

use std::sync::Arc;

use serde::Deserialize;

use super::architecture::Architecture;
use super::digest::Digest;
use super::error::ArtifactError;
use super::layers::Parts;
use super::manifest::{self, Descriptor, Manifest, Parsed};
use super::reference::{Reference, Version};
use crate::upstream::{Document, Registry, Why};

/// How long a manifest may be: what registries agree on.
const MANIFEST_LIMIT: usize = 4 << 20;
/// How long a configuration may be, and the command line in it: what kernels take.
const CONFIG_LIMIT: usize = 64 << 10;
const COMMAND_LINE_LIMIT: usize = 4096;
/// How many indexes lead to a manifest: one that lists platforms, and one above it.
const INDEXES: usize = 2;
const IRONCORE_CONFIG: &str = "application/vnd.ironcore.image.config.v1+json";

/// An image that is being looked at.
pub(super) struct Resolve<'a> {
    pub registry: &'a Arc<Registry>,
    pub image: &'a Reference,
    pub architecture: Architecture,
}

/// A document, and what it hashes to.
pub(super) struct Fetched {
    pub digest: Digest,
    pub parsed: Parsed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    command_line: Option<String>,
}

impl Resolve<'_> {
    /// What the reference stands for now.
    pub(super) async fn top(&self) -> Result<Fetched, ArtifactError> {
        self.fetch(self.image.version()).await
    }

    /// The manifest for the architecture, and its digest.
    pub(super) async fn manifest(&self, mut fetched: Fetched) -> Result<(Digest, Manifest), ArtifactError> {
        for _ in 0..=INDEXES {
            match fetched.parsed {
                Parsed::Manifest(manifest) => {
                    return match manifest.other_architecture(self.architecture) {
                        None => Ok((fetched.digest, manifest)),
                        Some(other) => Err(self.nothing_for(format!("linux/{other}"))),
                    };
                }
                Parsed::Index(entries) => {
                    let entry = manifest::choose(&entries, self.architecture);
                    let entry = entry.map_err(|there| self.nothing_for(there))?;
                    let digest = entry.digest().map_err(|why| self.unusable(why))?;
                    fetched = self.fetch(&Version::Digest(digest)).await?;
                }
            }
        }
        Err(self.unusable(format!("more than {INDEXES} indexes lead to its manifest")))
    }

    async fn fetch(&self, version: &Version) -> Result<Fetched, ArtifactError> {
        let document = self.registry.manifest(&version.to_string(), manifest::ACCEPT, MANIFEST_LIMIT).await;
        let document = document.map_err(|why| self.not_given(why))?;
        let digest = identify(version, &document).map_err(|why| self.unusable(why))?;
        let parsed = manifest::parse(&document.bytes).map_err(|why| self.unusable(why))?;
        Ok(Fetched { digest, parsed })
    }

    /// The kernel's command line, where the image has one.
    pub(super) async fn command_line(
        &self,
        manifest: &Manifest,
        parts: &Parts<'_>,
    ) -> Result<Option<String>, ArtifactError> {
        let config = manifest.config.as_ref().filter(|config| config.media_type == IRONCORE_CONFIG);
        let text = match (parts.command_line, config) {
            (Some(layer), _) => Some(self.text(layer).await?),
            (None, Some(config)) => {
                let config: Config = serde_json::from_str(&self.text(config).await?).map_err(|error| {
                    self.unusable(format!("its configuration is none, {}", manifest::place(&error)))
                })?;
                config.command_line
            }
            (None, None) => None,
        };
        let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        match text {
            Some(text) if text.len() > COMMAND_LINE_LIMIT || text.contains(|c: char| c.is_control()) => {
                let why = "its kernel command line is not one line of printable text that kernels take";
                Err(self.unusable(why.to_owned()))
            }
            Some(_) | None => Ok(text),
        }
    }

    async fn text(&self, blob: &Descriptor) -> Result<String, ArtifactError> {
        let digest = blob.digest().map_err(|why| self.unusable(why))?;
        let document = self.registry.small_blob(&digest.to_string(), CONFIG_LIMIT).await;
        let document = document.map_err(|why| self.not_given(why))?;
        if !digest.fits(&document.bytes) {
            return Err(self.unusable(format!("its registry gives something else for {digest}")));
        }
        String::from_utf8(document.bytes.to_vec())
            .map_err(|_| self.unusable(format!("{} is no text", blob.shown())))
    }

    pub(super) fn unusable(&self, why: String) -> ArtifactError {
        ArtifactError::Manifest { image: self.image.to_string(), why }
    }

    fn nothing_for(&self, there: String) -> ArtifactError {
        let (image, architecture) = (self.image.to_string(), self.architecture);
        ArtifactError::Architecture { image, architecture, there }
    }

    fn not_given(&self, why: Why) -> ArtifactError {
        let image = self.image.to_string();
        if refuses(&why) { ArtifactError::Private { image } } else { ArtifactError::Registry { image, why } }
    }
}

/// Whether it is about who asks.
fn refuses(why: &Why) -> bool {
    match why {
        Why::Status(status) => matches!(status.as_u16(), 401 | 403),
        Why::Token { why, .. } => refuses(why),
        Why::Scheme(_)
        | Why::Refused(_)
        | Why::Redirect(_)
        | Why::Unreachable(_)
        | Why::Answer(_)
        | Why::NoRanges
        | Why::TooLarge { .. }
        | Why::NoValidator => false,
    }
}

/// What a document hashes to, which must be what was asked for, and what its registry says.
fn identify(version: &Version, document: &Document) -> Result<Digest, String> {
    let digest = match version {
        Version::Tag(_) => Digest::sha256(&document.bytes),
        Version::Digest(digest) if digest.fits(&document.bytes) => digest.clone(),
        Version::Digest(digest) => return Err(format!("its registry gives something else for {digest}")),
    };
    if let Some(said) = document.headers.get("docker-content-digest") {
        let said = said.to_str().ok().and_then(|said| Digest::of_content(said).ok());
        if !said.is_some_and(|said| said.fits(&document.bytes)) {
            return Err("its registry gives a manifest with another digest than it says".to_owned());
        }
    }
    Ok(digest)
}
