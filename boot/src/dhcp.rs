//! DHCPv4 for machines that boot from the network. What a request is answered with, and where that goes, follows from the
//! request and from what is known of the machine ([`reply`], without sockets); [`serve`] carries it out.
//!
//! A machine that nobody knows gets no answer: this is no server for a site's addresses. Nor does one that asks from a
//! network that is not ours ([`is_from`]). Where a machine has an address
//! from elsewhere, it is only told what to boot, beside the site's own server (proxyDHCP).

mod answer;
mod client;
mod kind;
mod loading;
mod networks;
mod options;
mod packet;
mod register;
mod reservation;
mod server;
mod sockets;

pub use self::{
    answer::{Arrived, Door, Mode, PeerPorts, Reply, Server, reply},
    client::{Architecture, Client, Loader},
    kind::Kind,
    loading::binary,
    networks::is_from,
    packet::{Operation, Packet, PacketError},
    register::{Asked, Counted, Register, Stranger},
    reservation::{Addressing, Boot, Mac, Reservation},
    server::serve,
    sockets::{Settings, Sockets, bind},
};
pub use crate::datagrams::BindError;
pub use ipnet::Ipv4Net;
