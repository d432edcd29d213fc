//! The agent as it is, on machines in QEMU: it inspects, wipes and installs what a boot server tells it to.
//!
//! `BESKAR7_AGENT` names its static program; `make agent-vms` builds it, and runs all of these.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")]
#![allow(clippy::print_stderr, reason = "a test says how long a machine took")]

#[path = "agent/answer.rs"]
mod answer;
#[path = "agent/boot_server.rs"]
mod boot_server;
#[path = "agent/cleaning.rs"]
mod cleaning;
#[path = "agent/content.rs"]
mod content;
#[path = "agent/failing.rs"]
mod failing;
#[path = "agent/inspecting.rs"]
mod inspecting;
#[path = "agent/installing.rs"]
mod installing;
#[path = "agent/interrupted.rs"]
mod interrupted;
#[path = "agent/site.rs"]
mod site;
mod support;
#[path = "agent/system.rs"]
mod system;
