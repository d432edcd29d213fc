//! DHCPv4 for machines that boot from the network. Pure: what a request is answered with, and where that goes, follows from
//! the request and from what is known of the machine; sockets are elsewhere.
//!
//! A machine that nobody knows gets no answer: this is no server for a site's addresses. Where a machine has an address
//! from elsewhere, it is only told what to boot, beside the site's own server (proxyDHCP).

mod answer;
mod client;
mod options;
mod packet;
mod reservation;

pub use self::{
    answer::{Arrived, Mode, Reply, Server, reply},
    client::{Architecture, Client, Loader},
    packet::{Packet, PacketError},
    reservation::{Addressing, Boot, Mac, Reservation},
};
