//! Digests that somebody gave for a content, and the comparison while it is read.

use std::fmt;

use md5::{Digest as _, Md5};
use ring::digest::{Context, SHA256, SHA512};

/// How a digest is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// MD5: against accidents only, as some publishers give nothing else.
    Md5,
}

impl Algorithm {
    fn named(name: &str) -> Option<Self> {
        match name {
            "sha256" => Some(Self::Sha256),
            "sha512" => Some(Self::Sha512),
            "md5" => Some(Self::Md5),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            Self::Md5 => "md5",
        }
    }

    /// How many hexadecimal digits it has.
    fn digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
            Self::Md5 => 32,
        }
    }
}

/// What a content must hash to. Its text is `sha256:` and lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

/// Why a text is no digest. The text itself is left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// It is not of this form.
    #[error("a digest is written sha256, sha512 or md5, and then the value in hexadecimal digits")]
    Form,
    /// It has more or fewer digits than its kind has, or others.
    #[error("{algorithm} has {digits} hexadecimal digits, and these are {given}, or others")]
    Digits {
        /// The name of its kind.
        algorithm: &'static str,
        /// How many it has.
        digits: usize,
        /// How many there are.
        given: usize,
    },
    /// Its kind can be forged.
    #[error("images in registries are told apart by sha256 or sha512")]
    Weak,
}

impl Digest {
    /// From `sha256:…`, as registries write it.
    ///
    /// # Errors
    /// It is none, or one that can be forged.
    pub fn of_content(text: &str) -> Result<Self, DigestError> {
        let digest = Self::parse(text, ':')?;
        match digest.algorithm {
            Algorithm::Sha256 | Algorithm::Sha512 => Ok(digest),
            Algorithm::Md5 => Err(DigestError::Weak),
        }
    }

    /// From hexadecimal digits alone, of which there are as many as one kind has.
    #[must_use]
    pub fn of_hex(hex: &str) -> Option<Self> {
        let all = [Algorithm::Sha256, Algorithm::Sha512, Algorithm::Md5];
        let algorithm = all.into_iter().find(|algorithm| algorithm.digits() == hex.len())?;
        let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| Self { algorithm, hex: hex.to_ascii_lowercase() })
    }

    /// From `sha256=…`, as it stands at the end of a URL.
    pub(crate) fn of_fragment(text: &str) -> Result<Self, DigestError> {
        Self::parse(text, '=')
    }

    fn parse(text: &str, separator: char) -> Result<Self, DigestError> {
        let (name, hex) = text.split_once(separator).ok_or(DigestError::Form)?;
        let algorithm = Algorithm::named(name).ok_or(DigestError::Form)?;
        let (digits, given) = (algorithm.digits(), hex.len());
        if given != digits || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(DigestError::Digits { algorithm: algorithm.name(), digits, given });
        }
        Ok(Self { algorithm, hex: hex.to_ascii_lowercase() })
    }

    /// The SHA-256 of bytes.
    #[must_use]
    pub fn sha256(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(bytes);
        hasher.finish()
    }

    /// Whether bytes hash to it.
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish() == *self
    }

    /// What hashes a content as this digest was made.
    pub(crate) fn hasher(&self) -> Hasher {
        Hasher::new(self.algorithm)
    }

    /// How it is made.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Its value, in lower-case hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A content that is being hashed.
pub(crate) struct Hasher {
    algorithm: Algorithm,
    state: State,
}

enum State {
    Sha(Context),
    Md5(Md5),
}

impl Hasher {
    fn new(algorithm: Algorithm) -> Self {
        let state = match algorithm {
            Algorithm::Sha256 => State::Sha(Context::new(&SHA256)),
            Algorithm::Sha512 => State::Sha(Context::new(&SHA512)),
            Algorithm::Md5 => State::Md5(Md5::new()),
        };
        Self { algorithm, state }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Sha(context) => context.update(bytes),
            State::Md5(context) => context.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        let hex = match self.state {
            State::Sha(context) => in_hex(context.finish().as_ref()),
            State::Md5(context) => in_hex(&context.finalize()),
        };
        Digest { algorithm: self.algorithm, hex }
    }
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
