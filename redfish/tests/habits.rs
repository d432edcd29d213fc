//! What BMCs really do, one test for each habit. `docs/src/reference/bmc-habits.md` is the list, and says who does it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic"
)]

#[path = "habits/scripted.rs"]
mod scripted;

#[path = "habits/beside.rs"]
mod beside;
#[path = "habits/boot.rs"]
mod boot;
#[path = "habits/listed.rs"]
mod listed;
#[path = "habits/manners.rs"]
mod manners;
#[path = "habits/media.rs"]
mod media;
#[path = "habits/power.rs"]
mod power;
#[path = "habits/trees.rs"]
mod trees;
