//! Score: which of the hosts that will do is taken.

use std::collections::BTreeMap;

use super::{
    candidate::{Candidate, Size},
    filter::{Verdict, judge},
    waiting::Tally,
    wish::Wish,
};

/// Which host is taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice<'a> {
    /// This one.
    Host(Candidate<'a>),
    /// None will do. The tally says why.
    Nothing(Tally),
}

/// Chooses a host: the owner's zones stay even, then the smallest that fits, then one that the owner had last, then
/// by a hash, so that many consumers who choose at once do not all choose the same.
///
/// `zones` counts the hosts that the owner has in each zone; hosts without a zone count under the empty name.
#[must_use]
pub fn choose<'a>(
    wish: &Wish<'_>,
    hosts: impl IntoIterator<Item = Candidate<'a>>,
    zones: &BTreeMap<String, u32>,
) -> Choice<'a> {
    let mut tally = Tally::default();
    let mut best: Option<(Rank<'a>, Candidate<'a>)> = None;
    for host in hosts {
        let verdict = judge(wish, &host);
        tally.count(verdict);
        match verdict {
            Verdict::Fits => {}
            Verdict::Rejected(_) | Verdict::OutOfSight => continue,
        }
        let rank = rank(wish, &host, zones);
        if best.as_ref().is_none_or(|(least, _)| rank < *least) {
            best = Some((rank, host));
        }
    }
    best.map_or(Choice::Nothing(tally), |(_, host)| Choice::Host(host))
}

/// The lower, the better. The name at the end makes it total: the order of the hosts never matters.
type Rank<'a> = (u32, [i64; 3], bool, u64, (&'a str, &'a str));

fn rank<'a>(wish: &Wish<'_>, host: &Candidate<'a>, zones: &BTreeMap<String, u32>) -> Rank<'a> {
    let in_zone = zones.get(host.zone().unwrap_or_default()).copied().unwrap_or_default();
    let had_by_another = wish.owner.is_none() || host.last_owner != wish.owner;
    let hash = hash(&[wish.consumer, host.namespace, host.name]);
    (in_zone, weight(&host.size), had_by_another, hash, (host.namespace, host.name))
}

/// Memory is what machines are bought by, then cores, then disks. What is unknown counts as large: nobody is given
/// a big machine by mistake.
fn weight(size: &Size) -> [i64; 3] {
    [size.memory_mib, size.cores, size.disk_bytes].map(|part| part.unwrap_or(i64::MAX))
}

/// FNV-1a: the same on every machine and in every version, which the standard library's is not.
fn hash(parts: &[&str]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    // FNV leaves the last byte in the low bits only; names of hosts often differ in the last byte alone.
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
