//! Messages as they go over the wire.

use bytes::Bytes;

const READ: u16 = 1;
const WRITE: u16 = 2;
const DATA: u16 = 3;
const ACKNOWLEDGEMENT: u16 = 4;
const ERROR: u16 = 5;
const OPTIONS: u16 = 6;
/// Nobody's request is longer.
const LONGEST_REQUEST: usize = 512;

/// What a client wants to read, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The name of the file, as it was written.
    pub file: String,
    /// `octet`, where it is to be read as it is.
    pub mode: String,
    /// Options, by their names in small letters.
    pub options: Vec<(String, String)>,
}

/// Why nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// Something else.
    Other,
    /// There is no such file.
    NotFound,
    /// It may not be had.
    Forbidden,
    /// That was not understood.
    Illegal,
    /// An option can't be used.
    Option,
}

impl ErrorCode {
    const fn number(self) -> u16 {
        match self {
            Self::Other => 0,
            Self::NotFound => 1,
            Self::Forbidden => 2,
            Self::Illegal => 4,
            Self::Option => 8,
        }
    }
}

/// What a client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// It wants to read.
    Read(Request),
    /// It wants to write: nobody may.
    Write,
    /// It has read so far. Numbers begin again after 65535.
    Acknowledged(u16),
    /// It wants no more.
    Ended,
}

/// Why something is no message of a client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It ends too early, or goes on for too long.
    #[error("its length is no message's")]
    Length,
    /// What it says is not what a client says.
    #[error("no client says that")]
    Kind,
    /// A name or an option is not text that ends.
    #[error("a text in it does not end, or is none")]
    Text,
}

impl Message {
    /// Reads what a client sends.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let (kind, rest) = bytes.split_first_chunk::<2>().ok_or(MessageError::Length)?;
        match u16::from_be_bytes(*kind) {
            READ if bytes.len() > LONGEST_REQUEST => Err(MessageError::Length),
            READ => request(rest).map(Self::Read),
            WRITE => Ok(Self::Write),
            ACKNOWLEDGEMENT => {
                let block = rest.first_chunk::<2>().ok_or(MessageError::Length)?;
                Ok(Self::Acknowledged(u16::from_be_bytes(*block)))
            }
            ERROR => Ok(Self::Ended),
            _ => Err(MessageError::Kind),
        }
    }
}

fn request(rest: &[u8]) -> Result<Request, MessageError> {
    let without_end = rest.strip_suffix(&[0]).ok_or(MessageError::Text)?;
    let mut texts = without_end.split(|byte| *byte == 0).map(|text| std::str::from_utf8(text).ok());
    let mut next = || texts.next().flatten().map(str::to_owned);
    let (file, mode) = (next().ok_or(MessageError::Text)?, next().ok_or(MessageError::Text)?);
    let mut options = Vec::new();
    while let Some(name) = next() {
        // Some firmware leaves its last option without a value.
        let Some(value) = next() else { break };
        options.push((name.to_ascii_lowercase(), value));
    }
    Ok(Request { file, mode: mode.to_ascii_lowercase(), options })
}

/// A part of a file.
pub(super) fn data(block: u16, content: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(content.len() + 4);
    bytes.extend(DATA.to_be_bytes());
    bytes.extend(block.to_be_bytes());
    bytes.extend(content);
    Bytes::from(bytes)
}

/// The options that are agreed to.
pub(super) fn agreement(options: &[(&'static str, String)]) -> Bytes {
    let mut bytes = OPTIONS.to_be_bytes().to_vec();
    for (name, value) in options {
        for text in [*name, value] {
            bytes.extend(text.bytes());
            bytes.push(0);
        }
    }
    Bytes::from(bytes)
}

/// That nothing is sent, and why.
#[must_use]
pub fn refusal(code: ErrorCode, why: &str) -> Bytes {
    let mut bytes = ERROR.to_be_bytes().to_vec();
    bytes.extend(code.number().to_be_bytes());
    bytes.extend(why.bytes().filter(|byte| *byte != 0));
    bytes.push(0);
    Bytes::from(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_with_their_options_in_any_case() {
        let read = |text: &[u8]| Message::parse(&[&[0, 1], text].concat());
        let Ok(Message::Read(request)) = read(b"/snponly.efi\0OCTET\0BlkSize\x001468\0tsize\x000\0") else {
            panic!("it is a request")
        };
        assert_eq!((request.file.as_str(), request.mode.as_str()), ("/snponly.efi", "octet"));
        let options = [("blksize".to_owned(), "1468".to_owned()), ("tsize".to_owned(), "0".to_owned())];
        assert_eq!(request.options, options);
        assert!(
            matches!(read(b"f\0octet\0"), Ok(Message::Read(Request { options, .. })) if options.is_empty())
        );
        assert!(
            matches!(read(b"f\0octet\0tsize\0"), Ok(Message::Read(Request { options, .. })) if options.is_empty())
        );
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (bytes, expected) in [
            (&b""[..], MessageError::Length),
            (&[0], MessageError::Length),
            (&[0, 4, 0], MessageError::Length),
            (&[0, 3, 0, 1], MessageError::Kind),
            (&[0, 9, 0, 1], MessageError::Kind),
            (&[0, 1], MessageError::Text),
            (b"\0\x01file", MessageError::Text),
            (b"\0\x01file\0", MessageError::Text),
            (b"\0\x01\xff\0octet\0", MessageError::Text),
            (&[[0, 1].as_slice(), &[b'x'; 600], &[0]].concat(), MessageError::Length),
        ] {
            assert_eq!(Message::parse(bytes), Err(expected), "{bytes:?}");
        }
        assert_eq!(Message::parse(&[0, 4, 1, 2]), Ok(Message::Acknowledged(258)));
        assert_eq!(Message::parse(b"\0\x02f\0octet\0"), Ok(Message::Write));
        assert_eq!(Message::parse(b"\0\x05\0\x08no\0"), Ok(Message::Ended));
        assert_eq!(refusal(ErrorCode::NotFound, "no\0 such"), &b"\0\x05\0\x01no such\0"[..]);
    }
}
