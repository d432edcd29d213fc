//! What switches tell of themselves by LLDP.
//!
//! A message is a row of fields, each with its kind and length. Anyone on the wire can send one: nothing is taken from it
//! but text, and one that is not as it should be is none.

use std::{
    fmt::Write as _,
    net::{Ipv4Addr, Ipv6Addr},
};

use beskar7_agent_protocol::hardware::Neighbour;

/// The kind of frame (EtherType).
pub const PROTOCOL: u16 = 0x88cc;
/// The group that switches send to. It is never passed on by them.
pub const GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];

/// Who sent a message, without its Ethernet header. None where it is malformed, or says goodbye.
pub fn read(message: &[u8]) -> Option<Neighbour> {
    let (chassis, rest) = field(message, 1)?;
    let (port, rest) = field(rest, 2)?;
    let (lifetime, mut rest) = field(rest, 3)?;
    if lifetime.first_chunk::<2>()? == &[0, 0] {
        return None;
    }
    let mut neighbour =
        Neighbour { chassis: id(chassis, 4, 5)?, port: id(port, 3, 4)?, ..Neighbour::default() };
    loop {
        let (kind, value, behind) = next(rest)?;
        match kind {
            0 => return Some(neighbour),
            4 => neighbour.port_description = text(value),
            5 => neighbour.system_name = text(value),
            _ => {}
        }
        rest = behind;
        // The last one says that it is, but not every switch sends it.
        if rest.is_empty() {
            return Some(neighbour);
        }
    }
}

/// Kind and value of the first field, and what is behind it.
fn next(message: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (head, rest) = message.split_first_chunk::<2>()?;
    let head = u16::from_be_bytes(*head);
    let kind = u8::try_from(head >> 9).ok()?;
    let (value, behind) = rest.split_at_checked(usize::from(head & 0x1ff))?;
    Some((kind, value, behind))
}

/// The first field, which must be of this kind.
fn field(message: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    let (kind, value, behind) = next(message)?;
    (kind == wanted).then_some((value, behind))
}

/// An id: a byte that says of which kind, and the id. The numbers of the kinds are not the same for chassis and ports.
fn id(value: &[u8], mac: u8, network: u8) -> Option<String> {
    let (kind, id) = value.split_first()?;
    if *kind == mac {
        return id.first_chunk::<6>().filter(|_| id.len() == 6).map(|mac| in_hex(mac));
    }
    if *kind == network {
        return address(id);
    }
    text(id)
}

/// An address, with its family before it.
fn address(id: &[u8]) -> Option<String> {
    match id.split_first()? {
        (1, address) => Some(Ipv4Addr::from(<[u8; 4]>::try_from(address).ok()?).to_string()),
        (2, address) => Some(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?).to_string()),
        (_, address) => (!address.is_empty()).then(|| in_hex(address)),
    }
}

fn in_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let separator = if text.is_empty() { "" } else { ":" };
        // Writing to a text does not fail.
        write!(text, "{separator}{byte:02x}").unwrap_or_default();
    }
    text
}

/// Text without what terminals would act on.
fn text(value: &[u8]) -> Option<String> {
    let text: String = String::from_utf8_lossy(value).chars().filter(|letter| !letter.is_control()).collect();
    crate::sysfs::clean(&text)
}

#[cfg(test)]
#[path = "lldp_tests.rs"]
mod tests;
