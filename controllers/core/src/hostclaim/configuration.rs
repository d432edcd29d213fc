//! A claim's configuration: the Secrets that it names, and the names under which they are copied to where its host is.

use beskar7_api::{
    HostClaim, PhysicalHost, annotations, conditions::claim as reasons, reference::NamespacedReference,
};

use crate::host::hold::annotation;

/// A part of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What the machine is made by.
    UserData,
    /// What it is told of itself.
    MetaData,
    /// How its network is set up.
    NetworkData,
}

/// Where a Secret has its data when the part's own name is not there.
const VALUE: &str = "value";

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::UserData, Self::MetaData, Self::NetworkData];

    /// Its name, and the key that a copy has it under.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::UserData => "userData",
            Self::MetaData => "metaData",
            Self::NetworkData => "networkData",
        }
    }

    /// What the copy for a host is called.
    #[must_use]
    pub fn copy(self, host: &str) -> String {
        format!("{host}-{}", self.key().to_ascii_lowercase())
    }

    /// The keys under which a tenant may have it, best first.
    #[must_use]
    pub const fn keys(self) -> [&'static str; 2] {
        [self.key(), VALUE]
    }

    /// The parts of which a host has copies.
    #[must_use]
    pub fn copied(host: &PhysicalHost) -> Vec<Self> {
        annotation(host, annotations::COPIES).map(Self::parse_all).unwrap_or_default()
    }

    /// The parts that the annotation on a host names.
    fn parse_all(text: &str) -> Vec<Self> {
        let named = |part: &Self| text.split_whitespace().any(|word| word == part.key());
        Self::ALL.into_iter().filter(named).collect()
    }

    /// Parts, as they are written into the annotation on a host.
    #[must_use]
    pub fn write_all(parts: &[Self]) -> String {
        parts.iter().map(|part| part.key()).collect::<Vec<_>>().join(" ")
    }
}

/// A Secret that a claim names, in its own namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source<'a> {
    /// What is in it.
    pub part: Part,
    /// Its name.
    pub name: &'a str,
    /// The field that names it.
    pub field: &'static str,
}

/// What became of a claim's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// Its host has all of it, or none is wanted.
    Yes,
    /// Its host has not, for this reason.
    No {
        /// In one word.
        reason: &'static str,
        /// In words for the tenant.
        message: String,
    },
}

impl Synced {
    /// Not so, and why.
    #[must_use]
    pub fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self::No { reason, message: message.into() }
    }
}

/// The Secrets that a claim names.
///
/// # Errors
/// One of them is in another namespace, where the tenant may have no right to read it.
pub fn sources(claim: &HostClaim) -> Result<Vec<Source<'_>>, Synced> {
    let spec = &claim.spec;
    let own = claim.metadata.namespace.as_deref().unwrap_or_default();
    let ignition = spec.ignition_ref.as_ref().map(|reference| Source {
        part: Part::UserData,
        name: &reference.name,
        field: "ignitionRef",
    });
    let named = [
        (Part::UserData, &spec.user_data),
        (Part::MetaData, &spec.meta_data),
        (Part::NetworkData, &spec.network_data),
    ];
    let named = named.into_iter().filter_map(|(part, reference)| Some((part, reference.as_ref()?)));
    named
        .map(|(part, reference)| local(part, reference, own))
        .chain(ignition.map(Ok))
        .collect::<Result<Vec<_>, _>>()
}

fn local<'a>(part: Part, reference: &'a NamespacedReference, own: &str) -> Result<Source<'a>, Synced> {
    let field = part.key();
    match reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        Some(namespace) if namespace != own => Err(Synced::no(
            reasons::SECRET_NOT_ALLOWED,
            format!("{field} names a Secret of namespace {namespace}: it must be in the claim's own, {own}"),
        )),
        Some(_) | None => Ok(Source { part, name: &reference.name, field }),
    }
}

/// Whether the machine is to be given a configuration.
#[must_use]
pub fn names_configuration(claim: &HostClaim) -> bool {
    let spec = &claim.spec;
    spec.user_data.is_some()
        || spec.meta_data.is_some()
        || spec.network_data.is_some()
        || spec.ignition_ref.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::samples::claim, *};

    #[test]
    fn secrets_are_of_the_claims_own_namespace() {
        let all = claim(json!({"spec": {
            "userData": {"name": "u"}, "metaData": {"name": "m", "namespace": "a"},
            "networkData": {"name": "n", "namespace": ""},
        }}));
        let found: Vec<_> = sources(&all).unwrap().iter().map(|source| (source.part, source.name)).collect();
        assert_eq!(found, [(Part::UserData, "u"), (Part::MetaData, "m"), (Part::NetworkData, "n")]);
        let ignition = claim(json!({"spec": {"ignitionRef": {"name": "i"}}}));
        let found = sources(&ignition).unwrap();
        assert_eq!(found, [Source { part: Part::UserData, name: "i", field: "ignitionRef" }]);
        for field in ["userData", "metaData", "networkData"] {
            let elsewhere = claim(json!({"spec": {field: {"name": "u", "namespace": "b"}}}));
            let Err(Synced::No { reason, message }) = sources(&elsewhere) else { panic!("{field}") };
            assert_eq!(reason, "SecretNotAllowed");
            assert!(message.contains(field) && message.contains("namespace b"), "{message}");
        }
        assert_eq!(sources(&claim(json!({}))), Ok(vec![]));
    }

    #[test]
    fn copies_are_called_after_the_host() {
        let names: Vec<String> = Part::ALL.iter().map(|part| part.copy("bm-01")).collect();
        assert_eq!(names, ["bm-01-userdata", "bm-01-metadata", "bm-01-networkdata"]);
        assert_eq!(Part::parse_all(&Part::write_all(&Part::ALL)), Part::ALL);
        assert_eq!(Part::parse_all("metaData of another version"), [Part::MetaData]);
        assert_eq!(Part::parse_all(""), []);
    }
}
