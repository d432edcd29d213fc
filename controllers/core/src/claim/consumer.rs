//! A consumer, as far as claims look at it.

use beskar7_api::reference::ObjectReference;

/// Who a consumer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity<'a> {
    /// API group and version.
    pub api_version: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Namespace.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// UID: this very object, not another of the same name.
    pub uid: &'a str,
}

impl Identity<'_> {
    /// As a host refers to it.
    #[must_use]
    pub fn reference(&self) -> ObjectReference {
        let owned = |text: &str| Some(text.to_owned());
        ObjectReference {
            api_version: owned(self.api_version),
            kind: owned(self.kind),
            namespace: owned(self.namespace),
            name: owned(self.name),
            uid: owned(self.uid),
            ..ObjectReference::default()
        }
    }

    /// Whether a reference means this very object. A name alone does not: names are used again.
    #[must_use]
    pub fn is_meant_by(&self, reference: &ObjectReference) -> bool {
        let same = |there: &Option<String>, here: &str| !here.is_empty() && there.as_deref() == Some(here);
        same(&reference.kind, self.kind)
            && same(&reference.namespace, self.namespace)
            && same(&reference.name, self.name)
            && same(&reference.uid, self.uid)
    }

    /// Whether a reference means another object: it has another name, kind or namespace, and not this one's UID. A move
    /// changes the UID, and what somebody edited still has it.
    #[must_use]
    pub fn is_not_meant_by(&self, reference: &ObjectReference) -> bool {
        let differs =
            |there: &Option<String>, here: &str| there.as_deref().is_some_and(|there| there != here);
        let has_another_name = differs(&reference.kind, self.kind)
            || differs(&reference.namespace, self.namespace)
            || differs(&reference.name, self.name);
        has_another_name && reference.uid.as_deref() != Some(self.uid)
    }
}

/// What was seen of a consumer, read from the API server, not from a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumer<'a> {
    /// Who it is.
    pub identity: Identity<'a>,
    /// Its annotation `…/claim`, whatever stands there.
    pub intent: Option<&'a str>,
    /// Whether our finalizer is on it.
    pub finalizer: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it is to be left as it is: paused, by annotation or through its Cluster, or moved away by clusterctl.
    pub on_hold: bool,
    /// Whether its machine has been running: then it never takes another host (a Beskar7Machine with a providerID).
    pub settled: bool,
    /// Whether a person said that it may go before its host is seen off and clean. The host is then cleaned without
    /// it, and nobody else gets it before that.
    pub forced: bool,
}
