//! DHCP messages as a client writes and reads them (RFC 2131, 2132, 3396, 3442).

use std::net::Ipv4Addr;
use std::ops::Range;

use super::super::{Mac, Route};

/// The fixed part, up to the cookie.
const FIXED: usize = 236;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Some relays drop what is shorter than a BOOTP message.
const LEAST: usize = 300;
const MAC: Range<usize> = 28..34;
/// The places of names may hold options, too.
const NAME: Range<usize> = 44..108;
const FILE: Range<usize> = 108..236;
const PAD: u8 = 0;
const END: u8 = 255;

const SUBNET_MASK: u8 = 1;
const ROUTERS: u8 = 3;
const NAME_SERVERS: u8 = 6;
const REQUESTED_ADDRESS: u8 = 50;
const LEASE_TIME: u8 = 51;
const OVERLOAD: u8 = 52;
const MESSAGE_TYPE: u8 = 53;
const SERVER: u8 = 54;
const WANTED: u8 = 55;
const RENEWAL_TIME: u8 = 58;
const CLASSLESS_ROUTES: u8 = 121;

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Who has an address for me?
    Discover,
    /// I take what this server offered.
    Take { address: Ipv4Addr, server: Ipv4Addr },
    /// I go on with what I have.
    Keep { address: Ipv4Addr },
}

/// A question, with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub question: Question,
    pub mac: Mac,
    /// By which an answer is known as one.
    pub transaction: u32,
    /// For how long it has been asked.
    pub seconds: u16,
}

impl Asked {
    /// As it goes over the wire. Nothing says what kind of machine asks: servers take who does for firmware that boots.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![1, 1, 6, 0];
        bytes.extend(self.transaction.to_be_bytes());
        bytes.extend(self.seconds.to_be_bytes());
        let (kind, client, options) = match self.question {
            Question::Discover => (1, Ipv4Addr::UNSPECIFIED, vec![]),
            Question::Take { address, server } => {
                (3, Ipv4Addr::UNSPECIFIED, vec![(REQUESTED_ADDRESS, address), (SERVER, server)])
            }
            Question::Keep { address } => (3, address, vec![]),
        };
        // Who has no address yet hears only what is sent to everybody.
        let flags: u16 = if client.is_unspecified() { 0x8000 } else { 0 };
        bytes.extend(flags.to_be_bytes());
        bytes.extend(client.octets());
        bytes.resize(MAC.start, 0);
        bytes.extend(self.mac.0);
        bytes.resize(FIXED, 0);
        bytes.extend(COOKIE);
        bytes.extend([MESSAGE_TYPE, 1, kind]);
        for (code, address) in options {
            bytes.extend([code, 4]);
            bytes.extend(address.octets());
        }
        let wanted = [SUBNET_MASK, CLASSLESS_ROUTES, ROUTERS, NAME_SERVERS, LEASE_TIME, SERVER, RENEWAL_TIME];
        bytes.extend([WANTED, 7]);
        bytes.extend(wanted);
        bytes.push(END);
        bytes.resize(bytes.len().max(LEAST), 0);
        bytes
    }
}

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Offer,
    Acknowledged,
    Refused,
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub kind: Kind,
    pub transaction: u32,
    pub mac: Mac,
    /// The address that is given.
    pub address: Ipv4Addr,
    /// How many bits of it are the network's, where it is said.
    pub prefix: Option<u8>,
    pub server: Option<Ipv4Addr>,
    /// Seconds.
    pub lease: Option<u32>,
    /// Seconds.
    pub renewal: Option<u32>,
    pub routes: Vec<Route>,
    pub name_servers: Vec<Ipv4Addr>,
}

impl Answer {
    /// Reads one. What is none is nothing: anybody may send anything to that port.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (fixed, rest) = bytes.split_at_checked(FIXED)?;
        let rest = rest.strip_prefix(&COOKIE)?;
        if fixed.get(..3)? != [2, 1, 6] {
            return None;
        }
        let options = all_options(fixed, rest)?;
        let kind = match options.get(MESSAGE_TYPE)? {
            [2] => Kind::Offer,
            [5] => Kind::Acknowledged,
            [6] => Kind::Refused,
            _ => return None,
        };
        // Who gives networks says with them where everything else goes: the plain gateway does not count then.
        let routes = match options.get(CLASSLESS_ROUTES) {
            Some(value) => networks(value)?,
            None => addresses(&options, ROUTERS).into_iter().take(1).map(Route::default_through).collect(),
        };
        Some(Self {
            kind,
            transaction: u32::from_be_bytes(array(fixed, 4)?),
            mac: Mac(array(fixed, MAC.start)?),
            address: Ipv4Addr::from(array::<4>(fixed, 16)?),
            prefix: addresses(&options, SUBNET_MASK).first().map(|mask| prefix_of(*mask)),
            server: addresses(&options, SERVER).first().copied(),
            lease: number(&options, LEASE_TIME),
            renewal: number(&options, RENEWAL_TIME),
            routes,
            name_servers: addresses(&options, NAME_SERVERS),
        })
    }
}

/// Options, those that came in parts made whole.
#[derive(Default)]
struct Options(Vec<(u8, Vec<u8>)>);

impl Options {
    fn get(&self, code: u8) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| *known == code).map(|(_, value)| value.as_slice())
    }

    fn read(&mut self, mut bytes: &[u8]) -> Option<()> {
        loop {
            let (code, rest) = match bytes.split_first() {
                None | Some((&END, _)) => return Some(()),
                Some((&PAD, rest)) => {
                    bytes = rest;
                    continue;
                }
                Some((code, rest)) => (*code, rest),
            };
            let (length, rest) = rest.split_first()?;
            let (value, rest) = rest.split_at_checked(usize::from(*length))?;
            match self.0.iter_mut().find(|(known, _)| *known == code) {
                Some((_, whole)) => whole.extend(value),
                None => self.0.push((code, value.to_vec())),
            }
            bytes = rest;
        }
    }
}

fn all_options(fixed: &[u8], rest: &[u8]) -> Option<Options> {
    let mut options = Options::default();
    options.read(rest)?;
    let overload = options.get(OVERLOAD).and_then(|value| value.first()).copied().unwrap_or_default();
    for (bit, place) in [(1, FILE), (2, NAME)] {
        if overload & bit != 0 {
            options.read(fixed.get(place)?)?;
        }
    }
    Some(options)
}

fn addresses(options: &Options, code: u8) -> Vec<Ipv4Addr> {
    let (parts, _rest) = options.get(code).unwrap_or_default().as_chunks::<4>();
    parts.iter().map(|part| Ipv4Addr::from(*part)).collect()
}

fn number(options: &Options, code: u8) -> Option<u32> {
    options.get(code).and_then(|value| value.try_into().ok()).map(u32::from_be_bytes)
}

fn prefix_of(mask: Ipv4Addr) -> u8 {
    u8::try_from(u32::from(mask).leading_ones()).unwrap_or(32)
}

/// Each is a prefix, as many bytes of the network as it has, and the gateway, which is zero for what is on the wire.
fn networks(mut bytes: &[u8]) -> Option<Vec<Route>> {
    let mut routes = Vec::new();
    while let Some((prefix, rest)) = bytes.split_first() {
        let length = usize::from(prefix.div_ceil(8));
        let (network, rest) = rest.split_at_checked(length).filter(|_| *prefix <= 32)?;
        let (gateway, rest) = rest.split_first_chunk::<4>()?;
        let mut to = [0; 4];
        to.iter_mut().zip(network).for_each(|(to, from)| *to = *from);
        let through = Some(Ipv4Addr::from(*gateway)).filter(|gateway| !gateway.is_unspecified());
        routes.push(Route { to: Ipv4Addr::from(to), prefix: *prefix, through });
        bytes = rest;
    }
    Some(routes)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied()
}

#[cfg(test)]
#[path = "message_tests.rs"]
pub(super) mod tests;
