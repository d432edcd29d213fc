//! The way to the boot server: an interface that has a link, an address for it, and who is asked for names.
//!
//! What is decided (which interface, what is sent to DHCP servers next) is decided without sockets; [`Network`] carries
//! it out.

mod addressing;
mod connect;
mod dhcp;
mod interfaces;
mod keep;
mod kernel;
mod mac;
mod names;
mod reach;

pub use self::{
    addressing::{Addressing, Route, WrongAddressing},
    connect::{Connected, Network, NetworkError, Wanted, turn_all_on},
    dhcp::{DhcpError, Lease, lease, renew},
    interfaces::{Interface, candidates, interfaces},
    keep::keep,
    kernel::KernelError,
    mac::{Mac, MacError},
    reach::reach,
};
