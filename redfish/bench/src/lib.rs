//! What benchmarks are made of: the simulator and nginx as programs of their own, bare requests to compare with, what processes
//! use, and a table that puts every figure beside its bar.

pub mod bare;
pub mod figures;
pub mod nginx;
pub mod simulator;
pub mod table;
pub mod usage;
