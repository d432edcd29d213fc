//! What an interface is given, so that the server can be reached through it.

use std::net::Ipv4Addr;
use std::str::FromStr;

/// An address, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressing {
    /// The interface's own.
    pub address: Ipv4Addr,
    /// How many bits of it are the network's.
    pub prefix: u8,
    /// Ways to other networks, in the order in which they are set: one may need the one before it.
    pub routes: Vec<Route>,
    /// Who is asked for names.
    pub name_servers: Vec<Ipv4Addr>,
}

/// A way to a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The network.
    pub to: Ipv4Addr,
    /// How many bits of it count.
    pub prefix: u8,
    /// Through whom; without it, it is on the wire itself.
    pub through: Option<Ipv4Addr>,
}

/// Why something is no fixed address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no fixed address: {part:?} is wrong. It is written <address>/<prefix>[,<gateway>[,<DNS server>…]]"
)]
pub struct WrongAddressing {
    text: String,
    part: String,
}

impl Addressing {
    /// With these ways to other networks. A gateway that is not on the network itself is made known as being on the wire.
    #[must_use]
    pub fn new(address: Ipv4Addr, prefix: u8, routes: Vec<Route>, name_servers: Vec<Ipv4Addr>) -> Self {
        let mut all: Vec<Route> = Vec::new();
        for route in routes {
            if let Some(gateway) = route.through.filter(|gateway| !is_within(*gateway, address, prefix)) {
                let known = all.iter().any(|known| known.through.is_none() && known.contains(gateway));
                if !known {
                    all.push(Route { to: gateway, prefix: 32, through: None });
                }
            }
            all.push(route);
        }
        Self { address, prefix, routes: all, name_servers }
    }
}

impl Route {
    /// Everything that has no way of its own.
    #[must_use]
    pub fn default_through(gateway: Ipv4Addr) -> Self {
        Self { to: Ipv4Addr::UNSPECIFIED, prefix: 0, through: Some(gateway) }
    }

    fn contains(&self, address: Ipv4Addr) -> bool {
        is_within(address, self.to, self.prefix)
    }
}

fn is_within(address: Ipv4Addr, network: Ipv4Addr, prefix: u8) -> bool {
    let mask = u32::MAX.checked_shl(32_u32.saturating_sub(u32::from(prefix))).unwrap_or(0);
    u32::from(address) & mask == u32::from(network) & mask
}

impl FromStr for Addressing {
    type Err = WrongAddressing;

    fn from_str(text: &str) -> Result<Self, WrongAddressing> {
        let wrong = |part: &str| WrongAddressing { text: text.to_owned(), part: part.to_owned() };
        let address_of = |part: &str| part.parse::<Ipv4Addr>().map_err(|_no_address| wrong(part));
        let mut parts = text.split(',');
        let first = parts.next().unwrap_or_default();
        let (address, prefix) = first.split_once('/').ok_or_else(|| wrong(first))?;
        let prefix =
            prefix.parse().ok().filter(|prefix| (1..=32).contains(prefix)).ok_or_else(|| wrong(prefix))?;
        // There may be a server for names on a network that has no gateway.
        let gateway = parts.next().filter(|part| !part.is_empty()).map(address_of).transpose()?;
        let name_servers = parts.map(address_of).collect::<Result<_, _>>()?;
        let routes = gateway.map(Route::default_through).into_iter().collect();
        Ok(Self::new(address_of(address)?, prefix, routes, name_servers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, last)
    }

    #[test]
    fn a_fixed_address_is_read_with_what_belongs_to_it() {
        let default = vec![Route::default_through(address(1))];
        for (text, routes, name_servers) in [
            ("10.0.0.5/24", vec![], vec![]),
            ("10.0.0.5/24,10.0.0.1", default.clone(), vec![]),
            ("10.0.0.5/24,10.0.0.1,10.0.0.2,10.0.0.3", default, vec![address(2), address(3)]),
            ("10.0.0.5/24,,10.0.0.2", vec![], vec![address(2)]),
        ] {
            let expected = Addressing { address: address(5), prefix: 24, routes, name_servers };
            assert_eq!(text.parse::<Addressing>().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_fixed_address_is_told_by_its_part() {
        for (text, part) in [
            ("", ""),
            ("10.0.0.5", "10.0.0.5"),
            ("10.0.0.5/33", "33"),
            ("10.0.0.5/0", "0"),
            ("10.0.0/24", "10.0.0"),
            ("10.0.0.5/24,x", "x"),
            ("10.0.0.5/24,10.0.0.1,y", "y"),
            ("fd00::1/24", "fd00::1"),
        ] {
            let error = text.parse::<Addressing>().unwrap_err().to_string();
            assert!(error.contains(&format!("{part:?} is wrong")), "{error}");
        }
    }

    #[test]
    fn a_gateway_elsewhere_is_on_the_wire() {
        let direct = |to, prefix| Route { to, prefix, through: None };
        let far = Ipv4Addr::new(169, 254, 1, 1);
        let default = Route::default_through(far);
        for (prefix, routes, expected) in [
            (32, vec![default], vec![direct(far, 32), default]),
            (32, vec![direct(far, 24), default], vec![direct(far, 24), default]),
            (24, vec![Route::default_through(address(1))], vec![Route::default_through(address(1))]),
        ] {
            assert_eq!(Addressing::new(address(5), prefix, routes, Vec::new()).routes, expected);
        }
    }
}
