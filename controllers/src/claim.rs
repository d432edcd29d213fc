//! Claims carried out, one way for every kind that holds hosts; what is decided stands in the claim engine
//! (`controllers/core`).
//!
//! Beside the objects, this process knows who waits for a host, who has just chosen one, who refers to whom
//! ([`Register`]). Nothing of that is needed for correctness: it wakes those who could go on, and keeps a thousand
//! consumers that choose at once from choosing the same host.

mod claimant;
mod claims;
mod error;
mod register;
#[cfg(test)]
mod register_tests;
mod report;
mod turn;
mod view;
mod wakes;
mod writes;

pub(crate) use self::error::write;
pub(crate) use self::{
    claimant::{Claimant, consumer, held_by, intended_host, intent},
    report::report,
    turn::{
        Claiming, Looked, Rest, Turn, after_lost_race, leave_alone, left_alone, patience_left, renew, revoke,
        steps,
    },
    view::{Found, View},
    wakes::saw,
};
pub use self::{
    claims::Claims,
    error::ClaimError,
    register::{ConsumerId, Register},
    wakes::Wakes,
};
