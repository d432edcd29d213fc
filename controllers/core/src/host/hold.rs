//! Who holds a host, and what has been written down about its claim.
//!
//! All of it stands in spec and annotations, none in status: a status may be lost (a restore, a `clusterctl move`), and
//! a running machine must not suffer for it.

use std::{fmt, time::Duration};

use beskar7_api::{PhysicalHost, annotations};
use jiff::Timestamp;

use crate::claim::{Candidate, Custody, Kept, custody};

/// Who holds a host, as far as its machine is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold<'a> {
    /// Nobody, and the machine is clean.
    Free,
    /// A consumer, under this claim.
    Held {
        /// The claim's id.
        claim: &'a str,
    },
    /// It is left exactly as it is, until somebody puts it right.
    Kept(Kept),
    /// Nobody any more, and the machine is to be turned off and cleaned.
    Leaving,
    /// The machine is clean; the claim is not cleared yet.
    Cleaned,
    /// Paused, or moved away.
    OnHold,
}

impl<'a> Hold<'a> {
    /// What the claim engine says of a host.
    #[must_use]
    pub fn of(host: &'a PhysicalHost) -> Self {
        match custody(&Candidate::new(host), None) {
            Custody::OnHold => Self::OnHold,
            Custody::Free | Custody::MayGo => Self::Free,
            Custody::Accept | Custody::Held => match host.spec.claim_id.as_deref() {
                Some(claim) => Self::Held { claim },
                None => Self::Kept(Kept::ClaimLost),
            },
            Custody::Kept(why) => Self::Kept(why),
            Custody::Deprovision => Self::Leaving,
            Custody::ClearClaim => Self::Cleaned,
        }
    }
}

/// Whether the one who holds a host was looked for and is not there. Then nothing is done with the machine, and nothing
/// taken from it: its consumer may be on its way from another management cluster.
#[must_use]
pub fn consumer_is_missing(host: &PhysicalHost, consumer_exists: Option<bool>) -> bool {
    custody(&Candidate::new(host), consumer_exists) == Custody::Kept(Kept::ConsumerMissing)
}

/// How a boot can be seen, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// The BMC tells how far the boot has come.
    Progress,
    /// The one-time override is used up.
    Override,
}

impl Evidence {
    const ALL: [Self; 2] = [Self::Progress, Self::Override];

    const fn word(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Override => "override",
        }
    }
}

/// That a machine was made ready and turned on for a claim. Written before it is turned on: whoever finds this and the
/// machine running waits for its boot, and does not begin again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booting {
    /// The claim.
    pub claim: String,
    /// When this was written.
    pub since: Timestamp,
    /// What can be believed when it is seen. What showed an old boot while the machine was off can't.
    pub evidence: Vec<Evidence>,
}

impl Booting {
    /// Reads the annotation; what is not one of ours is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let claim = words.next()?.to_owned();
        let since = Timestamp::from_second(words.next()?.parse().ok()?).ok()?;
        let evidence = words
            .map(|word| Evidence::ALL.into_iter().find(|evidence| evidence.word() == word))
            .collect::<Option<_>>()?;
        Some(Self { claim, since, evidence })
    }

    /// Whether it was awaited for this long. A clock that was set back makes it wait longer, never shorter.
    #[must_use]
    pub fn is_over(&self, now: Timestamp, patience: Duration) -> bool {
        Duration::try_from(now.duration_since(self.since)).is_ok_and(|waited| waited >= patience)
    }
}

impl fmt::Display for Booting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.claim, self.since.as_second())?;
        self.evidence.iter().try_for_each(|evidence| write!(f, " {}", evidence.word()))
    }
}

/// How far a claim has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was turned on for it.
    NotBegun,
    /// It was turned on; its boot was not seen.
    Booting(Booting),
    /// Its boot was seen.
    Seen,
}

impl Progress {
    /// Reads it from a host's annotations. Only what names this claim counts.
    #[must_use]
    pub fn of(host: &PhysicalHost, claim: &str) -> Self {
        if annotation(host, annotations::PROVISIONED) == Some(claim) {
            return Self::Seen;
        }
        match annotation(host, annotations::BOOTING).and_then(Booting::parse) {
            Some(booting) if booting.claim == claim => Self::Booting(booting),
            Some(_) | None => Self::NotBegun,
        }
    }
}

/// An annotation of a host.
pub(crate) fn annotation<'a>(host: &'a PhysicalHost, name: &str) -> Option<&'a str> {
    host.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_else() {
        let since = Timestamp::from_second(1_700_000_000).unwrap();
        for booting in [
            Booting { claim: "c1".into(), since, evidence: vec![] },
            Booting { claim: "c1".into(), since, evidence: vec![Evidence::Progress, Evidence::Override] },
        ] {
            assert_eq!(Booting::parse(&booting.to_string()), Some(booting));
        }
        for text in ["", "  ", "c1", "c1 soon", "c1 1700000000 moonlight", "c1 99999999999999999"] {
            assert_eq!(Booting::parse(text), None, "{text:?}");
        }
    }
}
