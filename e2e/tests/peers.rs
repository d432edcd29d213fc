//! The Redfish client and the simulator against programs that others have written: sushy-tools' emulator, the client
//! sushy, and DMTF's two validators. What a peer can't do, or complains of, is listed with its reason in
//! `peers/exceptions.rs`; the lists are compared exactly.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use beskar7_e2e::images;

#[path = "peers/emulator.rs"]
mod emulator;
#[path = "peers/exceptions.rs"]
mod exceptions;
#[path = "peers/protocol_validator.rs"]
mod protocol_validator;
#[path = "../../redfish/tests/scenario/mod.rs"]
mod scenario;
#[path = "peers/service_validator.rs"]
mod service_validator;
#[path = "peers/sushy.rs"]
mod sushy;
