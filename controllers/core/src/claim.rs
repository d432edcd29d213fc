//! Claims: how a consumer gets a host, keeps it and gives it back. One engine for every kind of consumer.
//!
//! **filter** ([`judge`]) → **score** ([`choose`]) → **bind and release** ([`next`], the consumer's side, and
//! [`custody`], the host's). Each call says the one next write; whoever carries it out looks again afterwards. Nothing
//! here remembers anything, so a crash between two writes is nothing special.
//!
//! What callers owe the engine, because no function can check it (ADR 9 says why, and the model in `tests/claim_model`
//! breaks when it is not so):
//! - Every write but [`Step::FenceHost`] carries the `resourceVersion` of the object that was looked at. That holds
//!   for a host's status too. A conflict is no error: look again.
//! - The intended host and the consumer are read in the [`Order`] that is said to [`next`]: **what binds reads the host
//!   first, what gives up or forgets a claim reads it last.** Only the host that is read first may come from a cache.
//!   A look that ends in no write needs none of this: where caches say [`Step::Bound`] or [`Step::Wait`], nothing is read.
//! - A claim ID is drawn fresh for every new intent, and never used again.

mod candidate;
mod consumer;
mod custody;
mod filter;
mod image_mark;
mod instructions;
mod intent;
mod labels;
mod left_alone;
pub mod moving;
mod obstacle;
#[cfg(test)]
pub(crate) mod samples;
mod score;
mod step;
mod waiting;
mod wake;
mod wanting;
mod wish;

pub(crate) use self::instructions::kernel_name;
pub use self::{
    candidate::{Candidate, ClaimFields, Size},
    consumer::{Consumer, Identity},
    custody::{Custody, Kept, custody},
    filter::{Rejection, Verdict, judge, suits},
    image_mark::{Compared, Given, ImageMark},
    instructions::{Instructions, told_to_boot},
    intent::{ClaimId, Intent},
    left_alone::{Mark, is_held_elsewhere, left_alone},
    obstacle::Obstacle,
    score::{Choice, choose},
    step::{GivenUp, Intended, Order, Step, Wait, Why, next},
    waiting::Tally,
    wake::woken,
    wanting::Wanting,
    wish::{ReservationRule, Wish},
};
