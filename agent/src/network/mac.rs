//! An Ethernet address.

use std::fmt;
use std::str::FromStr;

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

/// What is no Ethernet address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no MAC address: six pairs of hex digits are, with colons between them")]
pub struct MacError(String);

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let wrong = || MacError(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let part =
                parts.next().filter(|part| part.len() == 2 && !part.starts_with('+')).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_not_hex| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_it_are_read_and_nothing_else() {
        for text in ["52:54:00:ab:0f:01", "52-54-00-AB-0F-01"] {
            let mac: Mac = text.parse().unwrap();
            assert_eq!(mac.to_string(), "52:54:00:ab:0f:01");
        }
        for text in
            ["", "52:54:00:ab:0f", "52:54:00:ab:0f:01:02", "52:54:00:ab:f:01", "52:54:00:ab:0f:+1", "eth0"]
        {
            assert_eq!(text.parse::<Mac>(), Err(MacError(text.to_owned())));
        }
    }
}
