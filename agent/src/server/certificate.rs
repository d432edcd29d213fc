//! The CA that the server's certificate is verified by. Nobody vouches for it when it is fetched: it is known by the
//! fingerprint that came with the kernel's command line.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The SHA-256 of a certificate in DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// What is no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no SHA-256: 64 hex digits are")]
pub struct WrongFingerprint(String);

impl FromStr for Fingerprint {
    type Err = WrongFingerprint;

    /// With or without colons, as `openssl x509 -fingerprint` writes them.
    fn from_str(text: &str) -> Result<Self, WrongFingerprint> {
        let wrong = || WrongFingerprint(text.to_owned());
        let digits: Vec<char> = text.chars().filter(|letter| *letter != ':').collect();
        let (pairs, rest) = digits.as_chunks::<2>();
        let mut bytes = [0; 32];
        if !rest.is_empty() || pairs.len() != bytes.len() {
            return Err(wrong());
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let digit = |letter: &char| letter.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            *byte = digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low).ok_or_else(wrong)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why there is no CA to trust.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// There is no certificate at all.
    #[error("what the server gives as its CA is no certificate in PEM")]
    Nothing,
    /// Another one than was said.
    #[error(
        "the server's CA is {found}, but beskar7.ca on the kernel's command line says {expected}: this is not the \
         server that was meant, or its CA was changed and the machine has to be booted anew"
    )]
    Another {
        /// What the server gives.
        found: Fingerprint,
        /// What was said.
        expected: Fingerprint,
    },
}

/// The certificate with this fingerprint, among those of a PEM text.
pub(super) fn pinned(pem: &[u8], expected: Fingerprint) -> Result<CertificateDer<'static>, CertificateError> {
    let mut other = None;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_no_pem| CertificateError::Nothing)?;
        let found = fingerprint(&certificate);
        if found == expected {
            return Ok(certificate);
        }
        other.get_or_insert(found);
    }
    Err(other.map_or(CertificateError::Nothing, |found| CertificateError::Another { found, expected }))
}

fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(digest(&SHA256, certificate).as_ref()).for_each(|(to, from)| *to = *from);
    Fingerprint(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_64_hex_digits() {
        let text = "0123456789abcdef".repeat(4);
        let colons: Vec<String> =
            text.as_bytes().chunks(2).map(|pair| String::from_utf8(pair.to_vec()).unwrap()).collect();
        for good in [text.clone(), text.to_uppercase(), colons.join(":")] {
            assert_eq!(good.parse::<Fingerprint>().unwrap().to_string(), text);
        }
        for bad in
            [String::new(), text.repeat(2), text[1..].to_owned(), text.replace('0', "g"), "é".repeat(32)]
        {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_certificate_that_was_said_is_trusted() {
        let make = || rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap().cert;
        let (ours, other) = (make(), make());
        let expected = fingerprint(ours.der());
        let bundle = format!("{}{}", other.pem(), ours.pem());
        assert_eq!(pinned(bundle.as_bytes(), expected).unwrap(), *ours.der());
        let error = pinned(other.pem().as_bytes(), expected).unwrap_err();
        assert_eq!(error, CertificateError::Another { found: fingerprint(other.der()), expected });
        assert_eq!(pinned(b"<html>", expected), Err(CertificateError::Nothing));
    }
}
