//! A DHCP message as it goes over the wire (RFC 2131, RFC 3396).

use std::net::Ipv4Addr;

use super::reservation::Mac;

/// The fixed part, up to the cookie.
const FIXED: usize = 236;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Some relays and firmwares drop what is shorter than a BOOTP message.
const LEAST: usize = 300;
/// No message is longer: it comes in one datagram on an ordinary network.
pub(super) const MOST: usize = 1500;
const PAD: u8 = 0;
const END: u8 = 255;
/// The file name's and the server name's place may hold options, too.
const OVERLOAD: u8 = 52;
const NAME: std::ops::Range<usize> = 44..108;
const FILE: std::ops::Range<usize> = 108..236;
/// The longest name of a file that has room in its place.
pub(super) const LONGEST_FILE: usize = 127;

/// Why something is no DHCP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It ends too early, or goes on for too long.
    #[error("its length is no DHCP message's")]
    Length,
    /// It has no magic cookie.
    #[error("it is BOOTP, or something else")]
    Cookie,
    /// It is not about an Ethernet address.
    #[error("its hardware address is not Ethernet's")]
    Hardware,
    /// An option says that it is longer than what is left.
    #[error("an option is cut off")]
    Option,
}

/// Whether a message asks or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A client asks.
    Request,
    /// A server answers.
    Reply,
}

/// A DHCP message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Whether it asks or answers.
    pub operation: Operation,
    /// How many relays it has passed.
    pub hops: u8,
    /// By which an answer is known as one.
    pub transaction: u32,
    /// For how long the client has been at it.
    pub seconds: u16,
    /// The first of them: the client can't receive what is addressed to it alone.
    pub flags: u16,
    /// The address that the client has.
    pub client: Ipv4Addr,
    /// The address that it is given.
    pub yours: Ipv4Addr,
    /// Where it boots from.
    pub next_server: Ipv4Addr,
    /// The relay that it came through.
    pub relay: Ipv4Addr,
    /// Whom it is about.
    pub mac: Mac,
    /// What to boot, in the place of old.
    pub file: String,
    /// Its options, in their order. Those that came in parts are whole.
    pub options: Vec<(u8, Vec<u8>)>,
}

impl Packet {
    /// Reads one.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, PacketError> {
        let (operation, mac) = glance(bytes)?;
        let (fixed, rest) = bytes.split_at_checked(FIXED).ok_or(PacketError::Length)?;
        let rest = rest.strip_prefix(&COOKIE).ok_or(PacketError::Cookie)?;
        let mut options = Vec::new();
        read_options(rest, &mut options)?;
        let overload = value(&options, OVERLOAD).and_then(|value| value.first()).copied().unwrap_or_default();
        if overload & 1 != 0 {
            read_options(part(fixed, FILE), &mut options)?;
        }
        if overload & 2 != 0 {
            read_options(part(fixed, NAME), &mut options)?;
        }
        let file = if overload & 1 == 0 { text(part(fixed, FILE)) } else { String::new() };
        Ok(Self {
            operation,
            hops: part(fixed, 3..4).first().copied().unwrap_or_default(),
            transaction: u32::from_be_bytes(array(fixed, 4)),
            seconds: u16::from_be_bytes(array(fixed, 8)),
            flags: u16::from_be_bytes(array(fixed, 10)),
            client: Ipv4Addr::from(array::<4>(fixed, 12)),
            yours: Ipv4Addr::from(array::<4>(fixed, 16)),
            next_server: Ipv4Addr::from(array::<4>(fixed, 20)),
            relay: Ipv4Addr::from(array::<4>(fixed, 24)),
            mac,
            file,
            options,
        })
    }

    /// The whole of an option.
    #[must_use]
    pub fn option(&self, code: u8) -> Option<&[u8]> {
        value(&self.options, code)
    }

    /// As it goes over the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let operation = match self.operation {
            Operation::Request => 1,
            Operation::Reply => 2,
        };
        let mut bytes = vec![operation, 1, 6, self.hops];
        bytes.extend(self.transaction.to_be_bytes());
        bytes.extend(self.seconds.to_be_bytes());
        bytes.extend(self.flags.to_be_bytes());
        for address in [self.client, self.yours, self.next_server, self.relay] {
            bytes.extend(address.octets());
        }
        bytes.extend(self.mac.0);
        bytes.resize(FILE.start, 0);
        bytes.extend(self.file.bytes().take(LONGEST_FILE));
        bytes.resize(FIXED, 0);
        bytes.extend(COOKIE);
        for (code, value) in &self.options {
            write_option(&mut bytes, *code, value);
        }
        bytes.push(END);
        let length = bytes.len().max(LEAST);
        bytes.resize(length, 0);
        bytes
    }
}

/// What has to be known of a message before it is worth to be read: nothing is kept of it yet.
///
/// # Errors
/// It is none.
pub(super) fn glance(bytes: &[u8]) -> Result<(Operation, Mac), PacketError> {
    if bytes.len() > MOST {
        return Err(PacketError::Length);
    }
    let (fixed, rest) = bytes.split_at_checked(FIXED).ok_or(PacketError::Length)?;
    if !rest.starts_with(&COOKIE) {
        return Err(PacketError::Cookie);
    }
    let operation = match fixed.first() {
        Some(1) => Operation::Request,
        Some(2) => Operation::Reply,
        Some(_) | None => return Err(PacketError::Cookie),
    };
    if part(fixed, 1..3) != [1, 6] {
        return Err(PacketError::Hardware);
    }
    Ok((operation, Mac(array(fixed, 28))))
}

/// An option of more than 255 bytes comes in parts.
fn write_option(bytes: &mut Vec<u8>, code: u8, value: &[u8]) {
    let mut parts = value.chunks(usize::from(u8::MAX));
    let first = parts.next().unwrap_or_default();
    for part in std::iter::once(first).chain(parts) {
        bytes.push(code);
        bytes.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
        bytes.extend(part);
    }
}

fn read_options(mut bytes: &[u8], options: &mut Vec<(u8, Vec<u8>)>) -> Result<(), PacketError> {
    loop {
        let (code, rest) = match bytes.split_first() {
            None | Some((&END, _)) => return Ok(()),
            Some((&PAD, rest)) => {
                bytes = rest;
                continue;
            }
            Some((code, rest)) => (*code, rest),
        };
        let (length, rest) = rest.split_first().ok_or(PacketError::Option)?;
        let (value, rest) = rest.split_at_checked(usize::from(*length)).ok_or(PacketError::Option)?;
        match options.iter_mut().find(|(known, _)| *known == code) {
            Some((_, whole)) => whole.extend(value),
            None => options.push((code, value.to_vec())),
        }
        bytes = rest;
    }
}

fn value(options: &[(u8, Vec<u8>)], code: u8) -> Option<&[u8]> {
    options.iter().find(|(known, _)| *known == code).map(|(_, value)| value.as_slice())
}

fn part(bytes: &[u8], range: std::ops::Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().unwrap_or([0; N])
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(part(bytes, 0..end)).into_owned()
}

#[cfg(test)]
#[path = "packet_tests.rs"]
pub(in crate::dhcp) mod tests;
