//! What kinds of messages there are (RFC 2132, option 53).

use super::{options::MESSAGE_TYPE, packet::Packet};

/// What a client wants with its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It looks for a server.
    Discover,
    /// It takes what it was offered, or wants to keep what it has.
    Request,
    /// Somebody else has the address that it was given.
    Decline,
    /// It gives its address back.
    Release,
    /// It has an address, and wants to know the rest.
    Inform,
}

impl Kind {
    /// What a message says of itself; nothing, where it is BOOTP or a server's.
    #[must_use]
    pub fn of(message: &Packet) -> Option<Self> {
        match message.option(MESSAGE_TYPE)? {
            [1] => Some(Self::Discover),
            [3] => Some(Self::Request),
            [4] => Some(Self::Decline),
            [7] => Some(Self::Release),
            [8] => Some(Self::Inform),
            _ => None,
        }
    }
}

/// What a server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Offer,
    Acknowledge,
    Refuse,
}

impl Says {
    pub const fn number(self) -> u8 {
        match self {
            Self::Offer => 2,
            Self::Acknowledge => 5,
            Self::Refuse => 6,
        }
    }
}
