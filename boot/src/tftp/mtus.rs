//! How long a packet of an interface may be. Whoever sends requests has it asked for, and everybody waits meanwhile: so the
//! system is asked now and then, not for each of them.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant},
};

use nix::net::if_::if_indextoname;

/// An interface that is changed is seen after so long.
const FRESH: Duration = Duration::from_secs(1);

/// What is known of interfaces, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Mtus {
    known: HashMap<i32, (Instant, Option<usize>)>,
}

impl Mtus {
    /// That of one interface. Nothing, where the system does not say.
    pub fn of(&mut self, interface: i32) -> Option<usize> {
        self.remembered(interface, Instant::now(), read)
    }

    fn remembered(
        &mut self,
        interface: i32,
        now: Instant,
        read: impl FnOnce(i32) -> Option<usize>,
    ) -> Option<usize> {
        // Interfaces that are gone are not kept.
        self.known.retain(|_, (at, _)| now.saturating_duration_since(*at) <= FRESH);
        self.known.entry(interface).or_insert_with(|| (now, read(interface))).1
    }
}

fn read(interface: i32) -> Option<usize> {
    let name = if_indextoname(u32::try_from(interface).ok()?).ok()?;
    let said = fs::read_to_string(format!("/sys/class/net/{}/mtu", name.to_str().ok()?)).ok()?;
    said.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use nix::net::if_::if_nametoindex;

    use super::*;

    #[test]
    fn the_system_is_asked_for_each_interface_and_not_for_each_request() {
        let (mut mtus, mut asked, begin) = (Mtus::default(), Vec::new(), Instant::now());
        for (milliseconds, interface, says, expected) in [
            (0, 1, Some(1500), Some(1500)),
            (500, 1, Some(9000), Some(1500)),
            (500, 2, None, None),
            (1000, 1, Some(9000), Some(1500)),
            (1000, 2, Some(1280), None),
            (1001, 1, Some(9000), Some(9000)),
            (1501, 2, Some(1280), Some(1280)),
        ] {
            let now = begin + Duration::from_millis(milliseconds);
            let found = mtus.remembered(interface, now, |interface| {
                asked.push((milliseconds, interface));
                says
            });
            assert_eq!(found, expected, "{interface} after {milliseconds} ms");
        }
        assert_eq!(asked, [(0, 1), (500, 2), (1001, 1), (1501, 2)]);
        mtus.remembered(3, begin + Duration::from_secs(60), |_| None);
        assert_eq!(mtus.known.len(), 1, "what is gone is not kept");
    }

    #[test]
    fn the_system_says_how_long_packets_of_an_interface_may_be() {
        let loopback = i32::try_from(if_nametoindex("lo").unwrap()).unwrap();
        let mut mtus = Mtus::default();
        assert!(mtus.of(loopback).is_some_and(|mtu| mtu >= 1280), "{mtus:?}");
        assert_eq!([0, -1, i32::MAX].map(|interface| mtus.of(interface)), [None; 3]);
    }
}
