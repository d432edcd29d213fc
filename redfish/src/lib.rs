//! A Redfish client for real BMCs, with their quirks by name.
//!
//! This crate knows HTTP and Redfish; it knows neither Kubernetes nor what a host is wanted for. It
//! holds no code yet: its border stands so that nothing else grows into its place.
