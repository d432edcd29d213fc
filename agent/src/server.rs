//! The boot server, as the agent sees it: orders, reports, and everything that is fetched.
//!
//! The machine's URL is a secret: who has it is taken for the machine. No text here repeats it.

mod answer;
mod body;
mod certificate;
mod client;
mod clock;
mod patience;
mod requests;
mod trouble;

#[cfg(test)]
pub(crate) use self::client::tests::limits as test_limits;
pub(crate) use self::trouble::Trouble;
pub use self::{
    certificate::{Ca, CertificateError},
    client::{ConnectError, Limits, Server},
    patience::Patience,
    requests::{Asked, Told},
};

#[cfg(test)]
#[path = "server/tls_tests.rs"]
mod tests;
