//! Which of several replicas acts: an election over one Lease, after client-go, and a fence around all writes.
//!
//! [`decision`] is the rule, [`elector`] carries it out, [`lease`] is the Lease; the [`Gate`] says at any moment
//! whether this replica leads, and the [`Fence`] asks it before each write. Correctness of the controllers never
//! rests on this alone: their writes are compare-and-swap, too.

pub mod decision;
pub mod elector;
pub mod fence;
mod gate;
pub mod lease;
pub(crate) mod socket;

pub use self::{
    decision::{Loss, Times},
    elector::{Elector, Ended},
    fence::Fence,
    gate::Gate,
    lease::LeaseRegister,
};

/// The name of the Lease.
pub const LEASE_NAME: &str = "beskar7-controller-manager";
