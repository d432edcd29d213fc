//! The key that capabilities are made with. It is in a Secret of our own, made by whichever replica starts first; all
//! replicas use the same.

use std::collections::BTreeMap;

use beskar7_boot::capability::{Key, KeyTooShort};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};

use crate::chance::{NoChance, bits};

/// The Secret with the key.
pub const SECRET: &str = "beskar7-boot-key";
const KEY: &str = "key";

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The Secret can't be read or made.
    #[error("the boot server's key, Secret {namespace}/{SECRET}, can't be read or made")]
    Secret {
        /// Its namespace.
        namespace: String,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// What is in the Secret is no key.
    #[error(
        "the Secret {namespace}/{SECRET} holds no usable key under {KEY:?}: delete the Secret and restart all replicas, \
         and a new one is made. Machines that boot at that moment have to be booted again"
    )]
    Unusable {
        /// Its namespace.
        namespace: String,
        /// Why not.
        #[source]
        source: KeyTooShort,
    },
    /// No key could be drawn.
    #[error(transparent)]
    Chance(#[from] NoChance),
}

/// The key, made where there is none.
///
/// # Errors
/// It can't be read, made or used.
pub async fn key(client: &Client, namespace: &str) -> Result<Key, KeyError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let failed = |source| KeyError::Secret { namespace: namespace.to_owned(), source: Box::new(source) };
    let secret = match secrets.get_opt(SECRET).await.map_err(failed)? {
        Some(secret) => secret,
        None => match secrets.create(&PostParams::default(), &fresh()?).await {
            Ok(secret) => secret,
            // Another replica was faster: its key is the one.
            Err(kube::Error::Api(refusal)) if refusal.code == 409 => {
                secrets.get(SECRET).await.map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        },
    };
    let bytes = secret.data.and_then(|mut data| data.remove(KEY)).unwrap_or_default();
    Key::new(&bytes.0).map_err(|source| KeyError::Unusable { namespace: namespace.to_owned(), source })
}

fn fresh() -> Result<Secret, NoChance> {
    let bytes: Vec<u8> = [bits()?, bits()?].iter().flat_map(|part| part.to_be_bytes()).collect();
    Ok(Secret {
        metadata: ObjectMeta { name: Some(SECRET.to_owned()), ..ObjectMeta::default() },
        type_: Some("infrastructure.cluster.x-k8s.io/boot-key".to_owned()),
        data: Some(BTreeMap::from([(KEY.to_owned(), ByteString(bytes))])),
        ..Secret::default()
    })
}
