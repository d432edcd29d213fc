//! Volumes made from files: ISO 9660, that firmware can start from if it is to, and FAT, which firmware reads.
//!
//! Both are planned from the names and lengths of their files alone ([`plan::Plan`]), so that an image of any size is
//! written as it is read. There is no clock and no chance in it: the same files give the same bytes.
//!
//! Not for: changing volumes that somebody else made.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")
)]

pub mod error;
pub mod fat;
pub mod iso;
pub mod plan;
mod tree;
