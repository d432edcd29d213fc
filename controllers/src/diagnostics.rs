//! What tells others how the manager is: health for the kubelet, metrics for Prometheus.

mod access;
mod health;
mod metrics;
mod server;

pub use self::{
    access::Guard,
    health::{Health, Pulse},
    metrics::{Discovered, Metrics, Outcome},
    server::{ServerError, Servers, bind},
};
