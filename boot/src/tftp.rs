//! TFTP, read-only, for firmware that knows nothing else (RFC 1350, 2347, 2348, 2349, 7440). What is sent next follows
//! from what came ([`Transfer`], without sockets and clocks); [`serve`] carries it out.

mod files;
mod line;
mod message;
mod mtus;
mod server;
mod transfer;
mod watcher;

pub use self::{
    files::Files,
    message::{ErrorCode, Message, MessageError, Request, refusal},
    server::{Ports, Socket, bind, serve},
    transfer::{End, Limits, Next, Transfer},
    watcher::Watcher,
};
pub use crate::datagrams::BindError;
