//! A Machine's bootstrap data, as its Secret has it now. It is read by name, at use, and kept nowhere.

use beskar7_core::machine::Kind;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

const VALUE: &str = "value";
const FORMAT: &str = "format";

/// What a Secret with bootstrap data holds.
#[derive(Clone)]
pub struct Bootstrap {
    /// The data, byte for byte.
    pub value: Vec<u8>,
    /// What it is.
    pub kind: Kind,
}

/// Nobody prints what is in it.
impl std::fmt::Debug for Bootstrap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bootstrap").field("bytes", &self.value.len()).field("kind", &self.kind).finish()
    }
}

/// What came of reading it.
#[derive(Debug)]
pub enum Found {
    /// This.
    Data(Bootstrap),
    /// There is no such Secret.
    Absent,
    /// The Secret has no data.
    Empty,
}

/// Reads the bootstrap data of a Secret.
///
/// # Errors
/// The API server did not give it.
pub async fn read(client: &Client, namespace: &str, name: &str) -> Result<Found, kube::Error> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let Some(mut data) = secrets.get_opt(name).await?.map(|secret| secret.data.unwrap_or_default()) else {
        return Ok(Found::Absent);
    };
    let format = data.remove(FORMAT);
    match data.remove(VALUE).filter(|value| !value.0.is_empty()) {
        Some(value) => {
            let kind = Kind::of(format.as_ref().map(|format| format.0.as_slice()), &value.0);
            Ok(Found::Data(Bootstrap { value: value.0, kind }))
        }
        None => Ok(Found::Empty),
    }
}
