//! The Beskar7 manager: the process around the reconcilers, and the reconcilers.
//!
//! A reconciler here observes, asks `beskar7-core` what follows, and reports; what follows is decided there.
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

pub mod beskar7cluster;
pub mod beskar7machine;
pub mod beskar7machinetemplate;
pub mod boot_server;
pub mod bootstrap_data;
pub mod caches;
pub mod causes;
pub mod chance;
pub mod claim;
pub mod clock;
mod collect;
pub mod connection;
pub mod controller;
mod copies;
pub mod dhcpreservation;
pub mod diagnostics;
pub mod exit;
pub mod hostbootconfiguration;
pub mod hostclaim;
pub mod hostdeploypolicy;
pub mod leader;
pub mod logging;
pub mod options;
pub mod permissions;
pub mod physicalhost;
pub mod preflight;
pub mod retry;
pub mod run;
pub mod status;
pub mod tell;
pub mod tenancy;
pub mod upkeep;
pub mod watch;
pub mod workloads;
pub mod write;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
