//! A Redfish client for real BMCs, with their quirks by name.
//!
//! This crate knows HTTP and Redfish; it knows neither Kubernetes nor what a host is wanted for.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic"))]

pub mod address;
mod bmc;
mod boot_override;
mod breaker;
mod credentials;
mod error;
mod etag;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod http_clients;
mod inventory;
mod media;
mod message;
mod patience;
mod power;
mod quirks;
mod resource;
mod session;
mod shown;
mod system;
mod task;
mod transport;
mod trust;
mod verdict;

pub use beskar7_machine_uuid::MachineUuid;

pub use address::{Address, AddressError};
pub use bmc::Bmc;
pub use boot_override::{BootMode, BootTarget};
pub use breaker::Rest;
pub use credentials::Credentials;
pub use error::Error;
pub use http_clients::{HttpClient, HttpClients};
pub use inventory::{Drive, Firmware, Inventory, MemoryModule, NetworkInterface, Processor};
pub use media::{Image, ImageTrust, Slot};
pub use message::{Message, Messages};
pub use patience::Deadline;
pub use power::PowerLimits;
pub use quirks::Quirks;
pub use resource::Resource;
pub use shown::shown;
pub use system::{BootProgress, PackedSystem, Power, Summary, System};
pub use transport::{Guard, Limits};
pub use trust::{Trust, TrustError, Untrusted};
