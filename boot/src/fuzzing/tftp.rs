//! Any bytes as what a client of TFTP sends, one message after the other.

use bytes::Bytes;

use crate::tftp::{End, Files, Limits, Message, Next, Transfer};

const LENGTH: usize = 5000;
const NAME: &str = "snponly.efi";

/// Reads bytes as messages, each behind a byte that says how long it is. The first that asks for something begins a
/// transfer, and what is no message is as if time passed.
pub fn tftp(bytes: &[u8]) {
    let content: Bytes = (0..LENGTH).map(|at| u8::try_from(at % 251).unwrap_or_default()).collect();
    let files = Files::new([(NAME.to_owned(), content.clone())]);
    let mut messages = messages(bytes).map(|message| Message::parse(message).ok());
    let Some(request) = messages.find_map(|message| match message {
        Some(Message::Read(request)) => Some(request),
        Some(Message::Write | Message::Acknowledged(_) | Message::Ended) | None => None,
    }) else {
        return;
    };
    if files.get(&request.file).is_some() {
        assert_eq!(request.file.trim_start_matches('/'), NAME, "no other name leads to a file");
    }
    let limits = Limits::default();
    let (mut transfer, mut next) = Transfer::begin(&request, content.clone(), limits);
    let mut client = Client { content, block: 512, last: 0 };
    for message in messages {
        match &next {
            Next::Send(parts, patience) => {
                assert!((1..=255).contains(&patience.as_secs()));
                assert!((1..=usize::from(limits.window)).contains(&parts.len()), "{}", parts.len());
                parts.iter().for_each(|part| client.takes(part));
            }
            Next::Wait => {}
            Next::Refuse(_, why) => return assert!(why.starts_with(&[0, 5])),
            Next::Done(End::Read) => return assert_eq!(client.last, LENGTH, "all of it was sent before"),
            Next::Done(End::Unwanted | End::Silent | End::Refused(_)) => return,
        }
        next = match message {
            Some(message) => transfer.hear(&message),
            None => transfer.time_is_over(),
        };
    }
}

fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first()?;
        let (message, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = rest;
        Some(message)
    })
}

/// What a client can say of what it is sent.
struct Client {
    content: Bytes,
    block: usize,
    /// How far the file was sent.
    last: usize,
}

impl Client {
    fn takes(&mut self, part: &Bytes) {
        match part.get(..2) {
            Some([0, 3]) => self.block(part),
            Some([0, 6]) => {
                let text = String::from_utf8_lossy(part);
                let mut words = text.split('\0').skip_while(|word| !word.ends_with("blksize"));
                if let Some(agreed) = words.nth(1) {
                    self.block = agreed.parse().unwrap_or_default();
                    assert!((8..=Limits::default().block).contains(&self.block), "{agreed}");
                }
            }
            other => panic!("a server does not say {other:?}"),
        }
    }

    /// The right part of the file, and all of it. There are too few blocks for their numbers to begin again.
    fn block(&mut self, part: &Bytes) {
        let start = (usize::from(u16::from_be_bytes([part[2], part[3]])) - 1) * self.block;
        let end = (start + self.block).min(LENGTH);
        assert!(start <= self.last, "nothing is left out");
        assert_eq!(part[4..], self.content[start..end]);
        self.last = self.last.max(end);
    }
}
