//! The certificate authority that Cluster API has made for a Cluster, to sign with.

use anyhow::{Context, Result, bail};
use rcgen::KeyPair as SigningKey;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::management::KeyPair;
use crate::control_plane::pki::Authority;

/// Cluster API calls every authority so.
const NAME: &str = "kubernetes";

/// Version 0 and the algorithm rsaEncryption, as PKCS#8 has them before the key.
const RSA: [u8; 18] = [
    0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05,
    0x00,
];

const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;

/// The authority in a Cluster's Secret `<cluster>-ca`.
pub(super) fn read(keys: &KeyPair) -> Result<Authority> {
    let private = PrivateKeyDer::from_pem_slice(keys.private.as_bytes()).context("the authority's key")?;
    let pkcs8 = match private {
        PrivateKeyDer::Pkcs8(key) => key,
        PrivateKeyDer::Pkcs1(key) => PrivatePkcs8KeyDer::from(wrapped(key.secret_pkcs1_der())),
        PrivateKeyDer::Sec1(_) | _ => {
            bail!("the authority's key is neither PKCS#8 nor an RSA key: leave encryptionAlgorithm unset")
        }
    };
    let key = SigningKey::try_from(&pkcs8).context("the authority's key")?;
    Authority::made_in_go(NAME, &keys.public, key)
}

/// An RSA key as Go writes it, in the form that is read here.
fn wrapped(pkcs1: &[u8]) -> Vec<u8> {
    tagged(SEQUENCE, &[RSA.as_slice(), &tagged(OCTET_STRING, pkcs1)].concat())
}

/// A value in DER.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let significant = length.iter().skip_while(|byte| **byte == 0).copied();
    let significant: Vec<u8> = significant.collect();
    let mut value = vec![tag];
    match (significant.as_slice(), u8::try_from(significant.len())) {
        (&[short], _) if short < 0x80 => value.push(short),
        (long, Ok(count)) => {
            value.push(0x80 | count);
            value.extend(long);
        }
        // A length has eight bytes at most.
        (_, Err(_)) => {}
    }
    value.extend(content);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_short_as_der_wants_them() {
        assert_eq!(tagged(OCTET_STRING, &[7]), [0x04, 1, 7]);
        assert_eq!(tagged(OCTET_STRING, &[7; 0x80])[..4], [0x04, 0x81, 0x80, 7]);
        assert_eq!(tagged(OCTET_STRING, &[7; 0x100])[..5], [0x04, 0x82, 1, 0, 7]);
    }
}
