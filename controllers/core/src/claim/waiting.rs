//! Why a consumer waits, counted over the hosts that it may know of.

use std::{cmp::Reverse, collections::BTreeMap};

use beskar7_api::{boot::BootParameterMechanism, hardware::Architecture};

use super::{
    filter::{Rejection, Verdict},
    wish::Wish,
};

/// How many hosts were rejected, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    rejected: BTreeMap<Rejection, usize>,
    fitting: usize,
}

impl Tally {
    /// Counts one host.
    pub(super) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Fits => self.fitting = self.fitting.saturating_add(1),
            Verdict::Rejected(reason) => {
                let count = self.rejected.entry(reason).or_default();
                *count = count.saturating_add(1);
            }
            Verdict::OutOfSight => {}
        }
    }

    /// For people: `0 of 12 hosts match: 7 claimed, 3 zone ≠ a, 2 memory < 64Gi`. The most frequent reason comes
    /// first, and the same counts give the same text.
    #[must_use]
    pub fn message(&self, wish: &Wish<'_>) -> String {
        let all = self.rejected.values().fold(self.fitting, |sum, count| sum.saturating_add(*count));
        match (all, wish.host) {
            // A host that is forbidden and one that does not exist look alike.
            (0, Some(name)) => return format!("There is no host {name} that this may have"),
            (0, None) => return "There are no hosts that this may have: add PhysicalHosts to the pool, or change what is wanted of it".to_owned(),
            (_, None | Some(_)) => {}
        }
        let mut reasons: Vec<(Rejection, usize)> =
            self.rejected.iter().map(|(reason, count)| (*reason, *count)).collect();
        // Stable: equal counts stay in the order of the reasons.
        reasons.sort_by_key(|(_, count)| Reverse(*count));
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{count} {}", text(*reason, wish))).collect();
        let fitting = self.fitting;
        let hosts = if all == 1 { "host matches" } else { "hosts match" };
        match reasons.is_empty() {
            true => format!("{fitting} of {all} {hosts}"),
            false => format!("{fitting} of {all} {hosts}: {}", reasons.join(", ")),
        }
    }
}

fn text(reason: Rejection, wish: &Wish<'_>) -> String {
    let wanted = wish.requirements;
    let number = |number: Option<i32>| number.unwrap_or_default();
    let fixed = match reason {
        Rejection::Deprovisioning => "being deprovisioned",
        Rejection::Claimed => "claimed",
        Rejection::ExternallyProvisioned => "externally provisioned",
        Rejection::Enrolling => "enrolling",
        Rejection::InError => "in error",
        Rejection::StateUnknown => "in unknown state",
        Rejection::Unhealthy => "unhealthy",
        Rejection::Cordoned => "cordoned",
        Rejection::OnHold => "paused",
        Rejection::Deleting => "being deleted",
        Rejection::Reserved => "reserved for another",
        Rejection::NotTheReserved => "not the reserved host",
        Rejection::Labels => "without the wanted labels",
        Rejection::BootMac => "without bootMACAddress",
        Rejection::CoresUnknown => "cores unknown",
        Rejection::MemoryUnknown => "memory unknown",
        Rejection::DiskUnknown => "disks unknown",
        Rejection::ArchitectureUnknown => "architecture unknown",
        Rejection::Zone => return format!("zone ≠ {}", wish.zone.unwrap_or_default()),
        Rejection::BootParameters => return ways(wish.parameters_by.unwrap_or_default()),
        Rejection::Cores => return format!("cores < {}", number(wanted.and_then(|w| w.min_cpu_cores))),
        Rejection::Memory => return format!("memory < {}Gi", number(wanted.and_then(|w| w.min_memory_gb))),
        Rejection::Disk => return format!("disk < {}G", number(wanted.and_then(|w| w.min_disk_gb))),
        Rejection::Architecture => match wanted.and_then(|w| w.architecture) {
            Some(Architecture::Amd64) | None => "architecture ≠ amd64",
            Some(Architecture::Arm64) => "architecture ≠ arm64",
        },
    };
    fixed.to_owned()
}

fn ways(ways: &[BootParameterMechanism]) -> String {
    let names: Vec<&str> = ways.iter().map(|way| way.name()).collect();
    format!("bootParameterMechanism ≠ {}", names.join(" or "))
}
