//! What was heard of a machine while it boots for a claim, by others than its BMC: our server and its cluster.
//!
//! It stands in one annotation on the host, because it is heard by replicas that do not lead, and must outlive them:
//! `<claimID> configuration=<second> home=<second>`. Each word is of the claim that it was heard under, and of the boot
//! since the last arming: whoever arms the machine takes the annotation off.

use std::{collections::BTreeMap, fmt};

use beskar7_api::{PhysicalHost, annotations};
use jiff::Timestamp;

use super::hold::annotation;

/// What can be heard of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// Its boot loader read what our server changed in the image.
    Image,
    /// It read its configuration.
    Configuration,
    /// Its agent has written its image to its disk.
    Installed,
    /// Its agent was told to start it from that disk.
    Restarting,
    /// Its Node is in its cluster.
    Node,
    /// It called home.
    Home,
}

impl Word {
    const ALL: [Self; 6] =
        [Self::Image, Self::Configuration, Self::Installed, Self::Restarting, Self::Node, Self::Home];

    /// As it stands in the annotation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Configuration => "configuration",
            Self::Installed => "installed",
            Self::Restarting => "restarting",
            Self::Node => "node",
            Self::Home => "home",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.name() == name)
    }
}

/// What was heard of a machine for one claim, and when it was heard first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    claim: String,
    since: BTreeMap<Word, Timestamp>,
}

impl Heard {
    /// What stands on a host for this claim; nothing where it is of another one, or not ours.
    #[must_use]
    pub fn of(host: &PhysicalHost, claim: &str) -> Self {
        let read = annotation(host, annotations::HEARD).and_then(Self::parse);
        read.filter(|heard| heard.claim == claim)
            .unwrap_or_else(|| Self { claim: claim.to_owned(), since: BTreeMap::new() })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split_whitespace();
        let claim = parts.next()?.to_owned();
        let mut since = BTreeMap::new();
        for part in parts {
            let (word, second) = part.split_once('=')?;
            // A word of another version says nothing here; the rest still holds.
            let Some(word) = Word::parse(word) else { continue };
            since.insert(word, Timestamp::from_second(second.parse().ok()?).ok()?);
        }
        Some(Self { claim, since })
    }

    /// When a word was heard first, if it was.
    #[must_use]
    pub fn since(&self, word: Word) -> Option<Timestamp> {
        self.since.get(&word).copied()
    }

    /// Whether a word was heard.
    #[must_use]
    pub fn has(&self, word: Word) -> bool {
        self.since.contains_key(&word)
    }

    /// Whether anything was heard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    /// The same, with a word that is heard now; when it was heard first stays.
    #[must_use]
    pub fn with(mut self, word: Word, now: Timestamp) -> Self {
        self.since.entry(word).or_insert(now);
        self
    }
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.claim)?;
        self.since.iter().try_for_each(|(word, since)| write!(f, " {}={}", word.name(), since.as_second()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::samples::{at, host, with_annotations};

    fn with(text: &str) -> PhysicalHost {
        with_annotations(host(serde_json::json!({}), serde_json::json!(null)), &[(annotations::HEARD, text)])
    }

    #[test]
    fn what_was_heard_is_read_again_for_its_claim_and_no_other() {
        let nothing = Heard::of(&with(""), "c");
        assert!(nothing.is_empty());
        let heard = nothing.with(Word::Home, at(9)).with(Word::Configuration, at(7)).with(Word::Home, at(11));
        assert_eq!(heard.to_string(), "c configuration=7 home=9");
        let host = with(&heard.to_string());
        assert_eq!(Heard::of(&host, "c"), heard);
        assert_eq!(heard.since(Word::Home), Some(at(9)), "when it was heard first stays");
        assert!(Heard::of(&host, "d").is_empty() && !heard.has(Word::Node));
    }

    #[test]
    fn what_is_not_ours_says_nothing() {
        for text in ["c moonlight=1", "c home", "c home=soon", "c home=99999999999999999", "  "] {
            assert!(Heard::of(&with(text), "c").is_empty(), "{text:?}");
        }
    }
}
