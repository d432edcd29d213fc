//! Who holds a host, and what has been written down about its claim.
//!
//! All of it stands in spec and annotations, none in status: a status may be lost (a restore, a `clusterctl move`), and
//! a running machine must not suffer for it.

use std::{fmt, time::Duration};

use beskar7_api::{HostState, PhysicalHost, annotations};
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

/// Whether nobody shall have a host after the one that it is cleaned of. Otherwise its consumer took a new claim on it:
/// it wants something else booted, or nothing.
#[must_use]
pub fn is_released(host: &PhysicalHost) -> bool {
    match &host.spec.claim_id {
        Some(claim) => annotation(host, annotations::RELEASE) == Some(claim),
        None => true,
    }
}

/// Whether what is said of a host's power is its claim's, and goes with it. What people say of a machine's is theirs.
#[must_use]
pub fn power_is_the_claims(host: &PhysicalHost) -> bool {
    host.spec.consumer_ref.as_ref().and_then(|holder| holder.kind.as_deref()) == Some("HostClaim")
}

/// How a boot can be seen, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// It called home.
    Home,
    /// Its Node is in its cluster.
    Node,
    /// Its agent wrote its image to its disk, and was told to start it.
    Installed,
    /// It read the configuration that our server has for it.
    Configuration,
    /// The BMC tells how far the boot has come.
    Progress,
    /// Its boot loader read what our server changed in the image.
    Image,
    /// The one-time override is used up.
    Override,
}

impl Evidence {
    const ALL: [Self; 7] = [
        Self::Home,
        Self::Node,
        Self::Installed,
        Self::Configuration,
        Self::Progress,
        Self::Image,
        Self::Override,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Node => "node",
            Self::Installed => "installed",
            Self::Configuration => "configuration",
            Self::Progress => "progress",
            Self::Image => "image",
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
    /// Whether it was seen to have power since. An installer may turn it off when it is done: it is not begun again then.
    pub on: bool,
    /// How often it was made ready for this claim.
    pub tries: u32,
    /// What can be believed when it is seen. What showed an old boot while the machine was off can't.
    pub evidence: Vec<Evidence>,
}

/// That power was seen, in the annotation.
const ON: &str = "on";
/// Before the number of tries, in the annotation; the first needs no number.
const TRY: &str = "try-";

impl Booting {
    /// The mark of a machine that is about to be turned on for a claim, after those that were written for it before.
    #[must_use]
    pub fn begun(host: &PhysicalHost, claim: &str, since: Timestamp, evidence: Vec<Evidence>) -> Self {
        let before = match Progress::of(host, claim) {
            Progress::Booting(before) => before.tries,
            Progress::NotBegun | Progress::Seen => 0,
        };
        Self { claim: claim.to_owned(), since, on: false, tries: before.saturating_add(1), evidence }
    }

    /// The same, now that the machine is off and armed: what can be believed of its boot.
    #[must_use]
    pub fn armed(self, since: Timestamp, evidence: Vec<Evidence>) -> Self {
        Self { since, evidence, on: false, ..self }
    }

    /// The same, now that the machine was seen to have power.
    #[must_use]
    pub fn seen_on(self) -> Self {
        Self { on: true, ..self }
    }

    /// Reads the annotation; what is not one of ours is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let claim = words.next()?.to_owned();
        let since = Timestamp::from_second(words.next()?.parse().ok()?).ok()?;
        let mut booting = Self { claim, since, on: false, tries: 1, evidence: Vec::new() };
        for word in words {
            if word == ON {
                booting.on = true;
            } else if let Some(tries) = word.strip_prefix(TRY) {
                booting.tries = tries.parse().ok()?;
            } else {
                // A word of another version says nothing here; the rest still holds.
                booting.evidence.extend(Evidence::ALL.into_iter().find(|evidence| evidence.word() == word));
            }
        }
        Some(booting)
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
        if self.tries > 1 {
            write!(f, " {TRY}{}", self.tries)?;
        }
        if self.on {
            write!(f, " {ON}")?;
        }
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
    /// Reads it from a host's annotations. Only what names this claim counts. Where somebody's `kubectl replace` took them
    /// off, the status still says that a boot was seen: what runs is not begun again.
    #[must_use]
    pub fn of(host: &PhysicalHost, claim: &str) -> Self {
        if annotation(host, annotations::PROVISIONED) == Some(claim) {
            return Self::Seen;
        }
        match annotation(host, annotations::BOOTING).and_then(Booting::parse) {
            Some(booting) if booting.claim == claim => Self::Booting(booting),
            Some(_) | None if was_seen(host, claim) => Self::Seen,
            Some(_) | None => Self::NotBegun,
        }
    }
}

fn was_seen(host: &PhysicalHost, claim: &str) -> bool {
    host.status.as_ref().is_some_and(|status| {
        status.claim_id.as_deref() == Some(claim) && status.state == Some(HostState::Provisioned)
    })
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
        let first = Booting { claim: "c1".into(), since, on: false, tries: 1, evidence: vec![] };
        let both = vec![Evidence::Progress, Evidence::Override];
        for booting in [
            first.clone(),
            Booting { evidence: both.clone(), ..first.clone() },
            Booting { on: true, tries: 3, evidence: both, ..first.clone() },
            first.clone().seen_on(),
        ] {
            assert_eq!(Booting::parse(&booting.to_string()), Some(booting));
        }
        assert_eq!(first.to_string(), "c1 1700000000");
        let newer = Booting::parse("c1 1700000000 try-3 moonlight on").unwrap();
        assert_eq!(newer, Booting { on: true, tries: 3, ..first }, "of a newer version");
        for text in ["", "  ", "c1", "c1 soon", "c1 1700000000 try-x", "c1 99999999999999999"] {
            assert_eq!(Booting::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_the_status_says_of_a_boot_counts_where_the_marks_are_gone() {
        let mut host = PhysicalHost::new("h", beskar7_api::PhysicalHostSpec::default());
        let status = |state, claim: &str| beskar7_api::PhysicalHostStatus {
            state: Some(state),
            claim_id: Some(claim.to_owned()),
            ..Default::default()
        };
        for (state, claim, expected) in [
            (HostState::Provisioned, "c1", Progress::Seen),
            (HostState::Provisioned, "older", Progress::NotBegun),
            (HostState::Provisioning, "c1", Progress::NotBegun),
            (HostState::Claimed, "c1", Progress::NotBegun),
        ] {
            host.status = Some(status(state, claim));
            assert_eq!(Progress::of(&host, "c1"), expected, "{state:?} {claim}");
        }
    }

    #[test]
    fn tries_are_counted_for_each_claim() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let mut host = PhysicalHost::new("h", beskar7_api::PhysicalHostSpec::default());
        assert_eq!(Booting::begun(&host, "c1", now, vec![]).tries, 1);
        let marks = [(annotations::BOOTING.to_owned(), "c1 1600000000 try-4 on".to_owned())];
        host.metadata.annotations = Some(marks.into());
        let again = Booting::begun(&host, "c1", now, vec![]);
        assert_eq!((again.tries, again.on, again.since), (5, false, now));
        assert_eq!(Booting::begun(&host, "c2", now, vec![]).tries, 1);
    }
}
