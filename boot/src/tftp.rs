//! TFTP, read-only, for firmware that knows nothing else (RFC 1350, 2347, 2348, 2349, 7440). Pure: what is sent next
//! follows from what came; sockets and clocks are elsewhere.

mod message;
mod transfer;

pub use self::{
    message::{ErrorCode, Message, MessageError, Request, refusal},
    transfer::{Limits, Next, Transfer},
};
