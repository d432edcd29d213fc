//! What Beskar7 decides. Pure: time, chance and everything observed come in as parameters, and what is to be done
//! comes out as data. No client, no clock, no I/O; `clippy.toml` and a test keep it so.
//!
//! A decision reads what is wanted and what was observed, and says what to report, what to tell people and when to
//! look again.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::needless_pass_by_value,
        reason = "tests may panic, and read better without borrows"
    )
)]

pub mod agent;
pub mod claim;
pub mod cluster;
pub mod conditions;
pub mod delivery;
pub mod disk_image;
pub mod events;
pub mod host;
pub mod hostclaim;
pub mod kernel_line;
pub mod machine;
pub mod network_boot;
pub mod policy;
pub mod pool;
pub mod template;
mod untouched;
