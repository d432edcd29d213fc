//! A fleet of simulated BMCs and the machines behind them, for tests and the demo.
//!
//! Nothing that ships depends on it. It holds no code yet.
