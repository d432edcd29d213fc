//! Which addresses images may come from: never this machine itself, and nothing that only this machine can see. A URL is
//! written by whoever may create a machine; it must not read the metadata service or what listens on loopback here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is refused; `None`: it is not.
pub(crate) fn refused(address: IpAddr, allow_loopback: bool) -> Option<&'static str> {
    let why = match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    };
    why.filter(|why| !(allow_loopback && *why == LOOPBACK))
}

const LOOPBACK: &str = "a loopback address";
const LINK_LOCAL: &str = "a link-local address";
const NOT_ONE_HOST: &str = "not the address of one host";
const METADATA: &str = "a metadata service";

/// Where clouds have what gives out credentials, elsewhere than at a link-local address: Alibaba Cloud's, Azure's.
const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
/// The same by IPv6: AWS's, Google Cloud's.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

fn v4(address: Ipv4Addr) -> Option<&'static str> {
    if METADATA_V4.contains(&address) {
        return Some(METADATA);
    }
    if address.is_loopback() {
        return Some(LOOPBACK);
    }
    if address.is_link_local() {
        return Some(LINK_LOCAL);
    }
    // All of 0.0.0.0/8: some of it is loopback by another name.
    let this_network = address.octets().first() == Some(&0);
    (this_network || address.is_multicast() || address.is_broadcast()).then_some(NOT_ONE_HOST)
}

fn v6(address: Ipv6Addr) -> Option<&'static str> {
    if METADATA_V6.contains(&address) {
        return Some(METADATA);
    }
    if address.is_loopback() {
        return Some(LOOPBACK);
    }
    if address.is_unspecified() || address.is_multicast() {
        return Some(NOT_ONE_HOST);
    }
    if address.is_unicast_link_local() {
        return Some(LINK_LOCAL);
    }
    embedded(address).and_then(v4)
}

/// The IPv4 address that an IPv6 address leads to: mapped, compatible, through NAT64 or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(join(high, low))
        }
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_of_nobody_are_refused() {
        for (address, expected) in [
            ("127.0.0.1", Some(LOOPBACK)),
            ("127.255.255.254", Some(LOOPBACK)),
            ("::1", Some(LOOPBACK)),
            ("::ffff:127.0.0.1", Some(LOOPBACK)),
            ("::127.0.0.1", Some(LOOPBACK)),
            ("64:ff9b::7f00:1", Some(LOOPBACK)),
            ("2002:7f00:1::", Some(LOOPBACK)),
            ("169.254.169.254", Some(LINK_LOCAL)),
            ("::ffff:169.254.169.254", Some(LINK_LOCAL)),
            ("64:ff9b::a9fe:a9fe", Some(LINK_LOCAL)),
            ("fe80::1", Some(LINK_LOCAL)),
            ("febf::1", Some(LINK_LOCAL)),
            ("100.100.100.200", Some(METADATA)),
            ("::ffff:100.100.100.200", Some(METADATA)),
            ("64:ff9b::6464:64c8", Some(METADATA)),
            ("2002:6464:64c8::", Some(METADATA)),
            ("168.63.129.16", Some(METADATA)),
            ("::168.63.129.16", Some(METADATA)),
            ("64:ff9b::a83f:8110", Some(METADATA)),
            ("fd00:ec2::254", Some(METADATA)),
            ("fd20:ce::254", Some(METADATA)),
            ("0.0.0.0", Some(NOT_ONE_HOST)),
            ("0.1.2.3", Some(NOT_ONE_HOST)),
            ("::", Some(NOT_ONE_HOST)),
            ("::ffff:0.0.0.0", Some(NOT_ONE_HOST)),
            ("224.0.0.1", Some(NOT_ONE_HOST)),
            ("239.1.2.3", Some(NOT_ONE_HOST)),
            ("255.255.255.255", Some(NOT_ONE_HOST)),
            ("ff02::1", Some(NOT_ONE_HOST)),
            ("10.0.0.1", None),
            ("192.168.7.8", None),
            ("203.0.113.9", None),
            ("126.255.255.255", None),
            ("169.253.0.1", None),
            ("100.100.100.201", None),
            ("168.63.129.17", None),
            ("fd00::1", None),
            ("fd00:ec2::253", None),
            ("fd20:ce::255", None),
            ("fec0::1", None),
            ("2001:db8::1", None),
            ("::ffff:10.0.0.1", None),
            ("64:ff9b::a00:1", None),
        ] {
            assert_eq!(refused(address.parse().unwrap(), false), expected, "{address}");
        }
    }

    #[test]
    fn the_development_flag_lifts_loopback_and_nothing_else() {
        for (address, allowed) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("169.254.169.254", false),
            ("fe80::1", false),
            ("100.100.100.200", false),
            ("::ffff:168.63.129.16", false),
            ("fd00:ec2::254", false),
            ("fd20:ce::254", false),
            ("0.0.0.0", false),
            ("::", false),
            ("224.0.0.1", false),
        ] {
            assert_eq!(refused(address.parse().unwrap(), true).is_none(), allowed, "{address}");
        }
    }
}
