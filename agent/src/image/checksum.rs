//! Checksums of what is fetched.

use beskar7_agent_protocol::order::{Algorithm, Checksum};
use md5::{Digest as _, Md5};
use ring::digest::{Context, SHA256, SHA512};

/// A checksum in the making.
pub enum Hasher {
    /// MD5.
    Md5(Box<Md5>),
    /// SHA-256 or SHA-512.
    Sha(Box<Context>),
}

impl Hasher {
    /// Begins one.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Md5 => Self::Md5(Box::default()),
            Algorithm::Sha256 => Self::Sha(Box::new(Context::new(&SHA256))),
            Algorithm::Sha512 => Self::Sha(Box::new(Context::new(&SHA512))),
        }
    }

    /// Goes on with these bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(md5) => md5.update(bytes),
            Self::Sha(sha) => sha.update(bytes),
        }
    }

    /// What came out, in hex.
    #[must_use]
    pub fn finish(self) -> String {
        match self {
            Self::Md5(md5) => hex(md5.finalize().as_slice()),
            Self::Sha(sha) => hex(sha.finish().as_ref()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares what came out with what was expected.
///
/// # Errors
/// Both, where they differ.
pub fn check(expected: &Checksum, computed: &str) -> Result<(), String> {
    if expected.digest.trim().eq_ignore_ascii_case(computed) {
        return Ok(());
    }
    let algorithm = match expected.algorithm {
        Algorithm::Md5 => "MD5",
        Algorithm::Sha256 => "SHA-256",
        Algorithm::Sha512 => "SHA-512",
    };
    Err(format!(
        "the image's {algorithm} is {computed}, and {} was expected: it is another image, or it was damaged on its way",
        expected.digest.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_what_others_compute() {
        for (algorithm, expected) in [
            (Algorithm::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (Algorithm::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                Algorithm::Sha512,
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
        ] {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(b"a");
            hasher.update(b"bc");
            let computed = hasher.finish();
            assert_eq!(computed, expected);
            let upper = Checksum { algorithm, digest: format!(" {}\n", expected.to_uppercase()) };
            assert_eq!(check(&upper, &computed), Ok(()));
            let other = Checksum { algorithm, digest: "00ff".into() };
            let why = check(&other, &computed).unwrap_err();
            assert!(why.contains("00ff") && why.contains(expected), "{why}");
        }
    }
}
