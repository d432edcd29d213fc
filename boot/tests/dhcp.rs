//! DHCP over loopback: machines, relays and strangers ask, and who is known is answered.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")]

#[path = "dhcp/asking.rs"]
mod asking;
#[path = "dhcp/served.rs"]
mod served;
#[path = "dhcp/strangers.rs"]
mod strangers;
