//! DHCP, as a client (RFC 2131). What is sent next follows from what came (`exchange`, without sockets and clocks).

mod client;
mod exchange;
mod message;

pub use self::{
    client::{DhcpError, lease, renew},
    exchange::Lease,
};
