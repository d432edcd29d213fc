//! From where DHCP is answered. What a machine is told to boot is a secret, and a MAC address is none: whoever can send
//! here from elsewhere could ask in a machine's name, and have the answer sent to himself.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use ipnet::Ipv4Net;
use nix::{ifaddrs::getifaddrs, net::if_::if_nametoindex};

use super::packet::Packet;

/// Addresses come and go: one that moves between nodes is seen after so long.
const FRESH: Duration = Duration::from_secs(1);

/// Whether a message is from one of these networks, as its answer may go to each of the addresses in it: who sent it, the
/// relay that it came through, and what the client calls its own. One that has none asks everybody, which no router
/// passes on.
#[must_use]
pub fn is_from(networks: &[Ipv4Net], from: Ipv4Addr, request: &Packet) -> bool {
    [from, request.relay, request.client]
        .iter()
        .filter(|address| !address.is_unspecified())
        .all(|address| networks.iter().any(|network| network.contains(address)))
}

/// The networks that this machine's interfaces stand in.
#[derive(Debug, Default)]
pub(super) struct OnLink {
    read: Option<Instant>,
    known: Vec<(i32, Ipv4Net)>,
}

impl OnLink {
    /// Those of one interface, by its number.
    pub fn of(&mut self, interface: i32) -> Vec<Ipv4Net> {
        if self.read.is_none_or(|read| read.elapsed() > FRESH) {
            self.known = read();
            self.read = Some(Instant::now());
        }
        let there = self.known.iter().filter(|(number, _)| *number == interface);
        there.map(|(_, network)| *network).collect()
    }
}

/// Where the system does not say, there are none: nobody is answered who would have to be in one.
fn read() -> Vec<(i32, Ipv4Net)> {
    let Ok(all) = getifaddrs() else { return Vec::new() };
    all.filter_map(|one| {
        let address = one.address?.as_sockaddr_in()?.ip();
        let mask = one.netmask?.as_sockaddr_in()?.ip();
        // Behind a colon stands the label of an address.
        let name = one.interface_name.split(':').next()?;
        let number = i32::try_from(if_nametoindex(name).ok()?).ok()?;
        Some((number, Ipv4Net::with_netmask(address, mask).ok()?))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{super::packet::tests::discover, *};

    #[test]
    fn every_address_that_an_answer_may_go_to_is_in_one_of_the_networks() {
        let networks: Vec<Ipv4Net> =
            ["10.0.0.0/24", "10.9.0.0/16"].map(|text| text.parse().unwrap()).to_vec();
        let none = [0, 0, 0, 0];
        let (here, far, outside) = ([10, 0, 0, 99], [10, 9, 7, 1], [10, 244, 1, 5]);
        for (from, relay, client, expected) in [
            // A machine without an address, on the interface itself.
            (none, none, none, true),
            // Its second question, or its lease's renewal.
            (here, none, none, true),
            (here, none, here, true),
            (far, none, far, true),
            // Through a relay, which may send from another of its addresses.
            (here, far, none, true),
            (far, far, none, true),
            (none, far, none, true),
            // A pod that asks in a machine's name, each way in which the answer would come to it.
            (outside, none, none, false),
            (outside, outside, none, false),
            (outside, none, outside, false),
            (here, outside, none, false),
            (here, none, outside, false),
            (none, outside, none, false),
            (none, none, outside, false),
            // It would learn nothing, and is told nothing.
            (outside, far, none, false),
        ] {
            let request = Packet { relay: relay.into(), client: client.into(), ..discover(&[]) };
            let found = is_from(&networks, from.into(), &request);
            assert_eq!(found, expected, "from {from:?} through {relay:?} for {client:?}");
            assert_eq!(
                is_from(&[], from.into(), &request),
                [from, relay, client] == [none; 3],
                "no networks"
            );
        }
    }

    #[test]
    fn an_interface_has_its_own_networks_and_no_others() {
        let loopback = i32::try_from(if_nametoindex("lo").unwrap()).unwrap();
        let mut on_link = OnLink::default();
        let here = on_link.of(loopback);
        assert!(here.iter().any(|network| network.contains(&Ipv4Addr::LOCALHOST)), "{here:?}");
        assert!(on_link.of(i32::MAX).is_empty());
    }
}
