//! The names of images in registries, read as containerd and Docker read them.

use std::fmt;
use std::str::FromStr;

use url::{Host, Url};

use super::digest::{Digest, DigestError};

/// What a name without a registry belongs to, and the host that answers for it.
const DEFAULT_REGISTRY: &str = "docker.io";
const DEFAULT_REGISTRY_HOST: &str = "registry-1.docker.io";
const DEFAULT_TAG: &str = "latest";
/// How long a repository's name and a tag may be, by the OCI distribution specification.
const NAME_LIMIT: usize = 255;
const TAG_LIMIT: usize = 128;

/// Where an image's parts are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Repository {
    /// A host, and maybe a port.
    registry: String,
    name: String,
}

/// An image in a registry.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    repository: Repository,
    version: Version,
}

/// Which of a repository's images.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    /// Whatever has this tag now.
    Tag(String),
    /// This very one. A tag beside it says nothing more.
    Digest(Digest),
}

/// Why a text names no image. The text itself is left out: somebody may have written a password into it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// It is a URL, or has another scheme.
    #[error("it has a scheme: write oci://registry/name:tag, or registry/name:tag without one")]
    Scheme,
    /// What is behind the `@`.
    #[error(
        "what follows the @ is no digest ({0}). User and password don't belong there: images are read without them"
    )]
    Digest(DigestError),
    /// The registry's host.
    #[error("its registry is no host, with or without a port")]
    Registry,
    /// The repository's name.
    #[error(
        "a repository's name is made of lower-case letters, digits and single separators ( . _ - / ), up to 255 of them"
    )]
    Name,
    /// The tag.
    #[error("a tag is made of letters, digits, dots, dashes and underscores, up to 128 of them")]
    Tag,
}

impl Repository {
    /// Where its registry answers: over https, but for one on this very machine, in development.
    pub(crate) fn base(&self, allow_loopback: bool) -> Result<Url, ReferenceError> {
        let host = if self.registry == DEFAULT_REGISTRY { DEFAULT_REGISTRY_HOST } else { &self.registry };
        let secure = host_url("https", host)?;
        let here = match secure.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if allow_loopback && here { host_url("http", host) } else { Ok(secure) }
    }

    /// Its name within the registry.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn host_url(scheme: &str, host: &str) -> Result<Url, ReferenceError> {
    Url::parse(&format!("{scheme}://{host}/")).map_err(|_| ReferenceError::Registry)
}

impl Reference {
    /// Where its parts are.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn version(&self) -> &Version {
        &self.version
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let text = text.strip_prefix("oci://").unwrap_or(text);
        if text.contains("://") {
            return Err(ReferenceError::Scheme);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(Digest::of_content(digest).map_err(ReferenceError::Digest)?)),
            None => (text, None),
        };
        // A colon in front of a slash is that of a port.
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            Some(_) | None => (rest, None),
        };
        if !tag.is_none_or(is_tag) {
            return Err(ReferenceError::Tag);
        }
        let version = match digest {
            Some(digest) => Version::Digest(digest),
            None => Version::Tag(tag.unwrap_or(DEFAULT_TAG).to_owned()),
        };
        Ok(Self { repository: repository(name)?, version })
    }
}

fn repository(name: &str) -> Result<Repository, ReferenceError> {
    let (registry, name) = match name.split_once('/') {
        Some((first, rest)) if is_registry(first) => (canonical(first)?, rest.to_owned()),
        Some(_) => (DEFAULT_REGISTRY.to_owned(), name.to_owned()),
        None => (DEFAULT_REGISTRY.to_owned(), format!("library/{name}")),
    };
    // Docker's own images have one name with and without it.
    let name =
        if registry == DEFAULT_REGISTRY && !name.contains('/') { format!("library/{name}") } else { name };
    if name.len() > NAME_LIMIT || !name.split('/').all(is_component) {
        return Err(ReferenceError::Name);
    }
    Ok(Repository { registry, name })
}

fn is_registry(first: &str) -> bool {
    first == "localhost" || first.contains(['.', ':'])
}

fn canonical(registry: &str) -> Result<String, ReferenceError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte);
    if !registry.bytes().all(plain) {
        return Err(ReferenceError::Registry);
    }
    let url = host_url("https", registry)?;
    let host = url.host_str().ok_or(ReferenceError::Registry)?;
    let host = match host {
        "index.docker.io" | DEFAULT_REGISTRY_HOST => DEFAULT_REGISTRY,
        host => host,
    };
    Ok(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= TAG_LIMIT
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

/// Words of letters and digits, between them a dot, one or two underscores, or dashes.
fn is_component(component: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [component.bytes().next(), component.bytes().next_back()];
    let separators = component.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    ends.into_iter().all(|end| end.is_some_and(word))
        && separators
            .filter(|between| !between.is_empty())
            .all(|between| matches!(between, "." | "_" | "__") || between.bytes().all(|byte| byte == b'-'))
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.name)
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Repository({self})")
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Version::Tag(tag) => write!(f, "{}:{tag}", self.repository),
            Version::Digest(digest) => write!(f, "{}@{digest}", self.repository),
        }
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reference({self})")
    }
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
