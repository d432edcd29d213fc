//! Who knows the machines that may ask, and is told that they did.

use std::net::Ipv4Addr;

use super::{
    client::Client,
    kind::Kind,
    reservation::{Mac, Reservation},
};

/// Who knows the machines that may ask. All of it is called for every message, one after the other: nothing here may wait.
pub trait Register: Send + Sync + 'static {
    /// What is known of the machine with this address, at this moment.
    fn reservation(&self, mac: Mac) -> Option<Reservation>;

    /// A machine that is known asked. It must not make the answer wait.
    fn asked(&self, asked: &Asked);

    /// What became of a message, for who counts.
    fn counted(&self, what: Counted);
}

/// That a machine asked, and what it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// By which it is known.
    pub mac: Mac,
    /// What runs there.
    pub client: Client,
    /// What it wanted.
    pub kind: Kind,
    /// The address that it was offered or given.
    pub given: Option<Ipv4Addr>,
    /// Whether it was told something to boot.
    pub boot: bool,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// It was answered.
    Answered,
    /// Nobody knows the machine.
    Unknown,
    /// It is no DHCP message.
    Malformed,
    /// It is a server's, or is for another one, or there is nothing to say.
    NotForUs,
    /// The answer could not be sent, or something could not be received.
    Failed,
}
