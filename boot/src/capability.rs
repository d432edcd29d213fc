//! Capabilities: the part of a URL by which a machine shows that it is the one that was meant.
//!
//! A capability is made of a key that only we have and of the id of a claim. It can't be guessed, is stored nowhere, and
//! is of no use for another claim or another purpose.

use std::fmt;

use ring::hmac;

/// So many bytes of the code are used: 160 bits.
const BYTES: usize = 20;
/// So many characters a capability has in a URL.
pub const LENGTH: usize = 2 * BYTES;
/// A key that is shorter than this can be tried out.
const SHORTEST_KEY: usize = 32;
/// What a capability stands behind, in a URL.
pub const PREFIX: &str = "/c/";

/// What a capability is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To read the configuration.
    Configuration,
    /// To read the media that the machine is given.
    Media,
    /// To say that the machine runs.
    PhoneHome,
    /// To ask what the agent on the machine shall do, to read what it installs, and to report.
    Agent,
    /// To tell one installation from the next; it opens nothing.
    Instance,
}

impl Purpose {
    /// Those that hosts use.
    pub const OF_HOSTS: [Self; 4] = [Self::Configuration, Self::Media, Self::PhoneHome, Self::Agent];

    const fn word(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Media => "media",
            Self::PhoneHome => "phone-home",
            Self::Agent => "agent",
            Self::Instance => "instance",
        }
    }
}

/// A capability. It is a secret: nothing prints it but [`Capability::in_url`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capability([u8; BYTES]);

impl fmt::Debug for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Capability(…)")
    }
}

impl Capability {
    /// As it stands in a URL.
    #[must_use]
    pub fn in_url(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// From a URL; nothing where it can't be one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != LENGTH || !text.as_bytes().iter().all(is_hex) {
            return None;
        }
        let mut bytes = [0; BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// Why a key can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key has {0} bytes, and needs at least {SHORTEST_KEY}")]
pub struct KeyTooShort(usize);

/// The key that capabilities are made with.
#[derive(Clone)]
pub struct Key(hmac::Key);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    /// From its bytes.
    ///
    /// # Errors
    /// There are too few of them.
    pub fn new(bytes: &[u8]) -> Result<Self, KeyTooShort> {
        if bytes.len() < SHORTEST_KEY {
            return Err(KeyTooShort(bytes.len()));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// The capability of a claim for a purpose.
    #[must_use]
    pub fn capability(&self, purpose: Purpose, claim: &str) -> Capability {
        let code = hmac::sign(&self.0, format!("{}\n{claim}", purpose.word()).as_bytes());
        let mut bytes = [0; BYTES];
        for (byte, of_code) in bytes.iter_mut().zip(code.as_ref()) {
            *byte = *of_code;
        }
        Capability(bytes)
    }
}

/// A text without the capabilities in it. What a BMC answers may repeat the URL that it was told.
#[must_use]
pub fn hidden(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, after) = rest.split_at(at + PREFIX.len());
        shown.push_str(before);
        let end = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (capability, behind) = after.split_at(end);
        // A part of one helps to guess the rest.
        shown.push_str(if capability.len() >= LENGTH / 2 { "…" } else { capability });
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::new(&[byte; 32]).unwrap()
    }

    #[test]
    fn a_capability_is_good_for_one_claim_one_purpose_and_one_key() {
        let all: Vec<Capability> = ["c1", "c2"]
            .into_iter()
            .flat_map(|claim| Purpose::OF_HOSTS.map(|purpose| (purpose, claim)))
            .flat_map(|(purpose, claim)| [1, 2].map(|byte| key(byte).capability(purpose, claim)))
            .collect();
        for (at, one) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| other == one), Some(at));
        }
        assert_eq!(all.len(), 16);
        assert_eq!(key(1).capability(Purpose::Media, "c1"), key(1).capability(Purpose::Media, "c1"));
    }

    #[test]
    fn it_is_read_again_from_a_url_and_nothing_else_is() {
        let capability = key(1).capability(Purpose::Configuration, "c");
        let text = capability.in_url();
        assert_eq!((text.len(), Capability::parse(&text)), (LENGTH, Some(capability)));
        let (upper, long) = (text.to_uppercase(), format!("{text}0"));
        for other in ["", "0", &upper, &long, &text[1..], &format!("{}g", &text[1..]), &"é".repeat(20)] {
            assert_eq!(Capability::parse(other), None, "{other}");
        }
    }

    #[test]
    fn neither_a_key_nor_a_capability_is_printed() {
        let capability = key(1).capability(Purpose::PhoneHome, "c");
        assert_eq!(format!("{:?} {capability:?}", key(1)), "Key(…) Capability(…)");
        let text = format!("no image at http://h/c/{0}/p/a.iso, /c/{0}", capability.in_url());
        assert_eq!(hidden(&text), "no image at http://h/c/…/p/a.iso, /c/…");
        assert_eq!(hidden("http://h/c/x.iso /c/ok"), "http://h/c/x.iso /c/ok");
        assert_eq!(Key::new(&[0; 31]).unwrap_err(), KeyTooShort(31));
    }
}
