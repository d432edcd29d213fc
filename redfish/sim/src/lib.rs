//! A fleet of simulated BMCs and the machines behind them, for tests, benchmarks and the demo.
//!
//! `machine` is what happens behind a BMC, `bmc` is Redfish over it, `profiles` are the habits of
//! vendors, `faults` what can go wrong by command, `selection` for whom, `os` the hook for what runs on a machine, `hardware`
//! the one for machines that are not simulated, `fleet` serves thousands of them. Nothing that ships depends on this crate.

pub mod bmc;
pub mod clock;
pub mod faults;
pub mod fleet;
pub mod hardware;
pub mod host;
pub mod machine;
pub mod os;
pub mod profiles;
pub mod selection;
pub mod tls;

mod control;
mod reader;
mod serve;
