//! What this process knows of claims beside the objects themselves: who waits for a host, who has just chosen one, who
//! refers to whom. Nothing here is needed for correctness: it wakes those who could go on, and keeps a thousand
//! consumers that choose at once from choosing the same host.

mod register;
#[cfg(test)]
mod register_tests;

pub use self::register::{ConsumerId, Register};
