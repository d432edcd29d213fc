//! One file on its way to one client.

use std::time::Duration;

use bytes::Bytes;

use super::message::{ErrorCode, Message, Request, agreement, data, refusal};

const USUAL_BLOCK: usize = 512;
const LEAST_BLOCK: usize = 8;
/// What IP, UDP and TFTP need of a packet.
const HEADERS: usize = 20 + 8 + 4;
/// So many seconds a client may ask for between two tries.
const LONGEST_TIMEOUT: u32 = 10;
const USUAL_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the same is sent again, until nobody is believed to be there.
const MOST_TRIES: u8 = 6;

/// What is agreed to at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How large a block may be. What has no room in a frame is sent in pieces, which firmware can't put together.
    pub block: usize,
    /// How many blocks are sent before the next acknowledgement.
    pub window: u16,
}

impl Limits {
    /// No more than has room in a packet of the interface through which a client asks, where that is known. A block as it is
    /// without any agreement is always sent.
    #[must_use]
    pub fn within(self, mtu: Option<usize>) -> Self {
        let room = mtu.map_or(usize::MAX, |mtu| mtu.saturating_sub(HEADERS).max(USUAL_BLOCK));
        Self { block: self.block.min(room), ..self }
    }
}

impl Default for Limits {
    /// For an Ethernet frame of 1500 bytes.
    fn default() -> Self {
        Self { block: 1468, window: 16 }
    }
}

/// What is done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Send these, and wait for so long for an answer.
    Send(Vec<Bytes>, Duration),
    /// Go on waiting: that said nothing.
    Wait,
    /// There is nothing more to do.
    Done(End),
    /// Send this, and be done.
    Refuse(ErrorCode, Bytes),
}

/// How a transfer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All of it was read.
    Read,
    /// The client wanted no more: only the size, mostly.
    Unwanted,
    /// The client is not heard of any more.
    Silent,
    /// It was not to be had.
    Refused(ErrorCode),
}

/// One file on its way to one client.
#[derive(Debug, Clone)]
pub struct Transfer {
    content: Bytes,
    block: usize,
    window: u64,
    timeout: Duration,
    /// What was agreed to, until the client has acknowledged it.
    agreement: Option<Bytes>,
    /// The blocks that were acknowledged, from the first on.
    acknowledged: u64,
    /// The blocks that were sent, from the first on.
    sent: u64,
    tries: u8,
}

impl Transfer {
    /// Begins to send a file to who asked for it.
    #[must_use]
    pub fn begin(request: &Request, content: Bytes, limits: Limits) -> (Self, Next) {
        let mut transfer = Self {
            content,
            block: USUAL_BLOCK,
            window: 1,
            timeout: USUAL_TIMEOUT,
            agreement: None,
            acknowledged: 0,
            sent: 0,
            tries: 1,
        };
        if request.mode != "octet" {
            let why = refusal(ErrorCode::Illegal, "only mode octet is served");
            return (transfer, Next::Refuse(ErrorCode::Illegal, why));
        }
        let agreed = transfer.agree(request, limits);
        if !agreed.is_empty() {
            transfer.agreement = Some(agreement(&agreed));
        }
        let next = transfer.send();
        (transfer, next)
    }

    /// Agrees to what can be; what can't is left out, as the client will see.
    fn agree(&mut self, request: &Request, limits: Limits) -> Vec<(&'static str, String)> {
        let mut agreed = Vec::new();
        for (name, value) in &request.options {
            let Ok(number) = value.parse::<u32>() else { continue };
            // Twice the same option is a mistake: client and server must not each believe another one of them.
            if agreed.iter().any(|(known, _)| known == name) {
                continue;
            }
            match name.as_str() {
                "blksize" => {
                    let wanted = usize::try_from(number).unwrap_or(usize::MAX);
                    if wanted >= LEAST_BLOCK {
                        self.block = wanted.min(limits.block.max(LEAST_BLOCK));
                        agreed.push(("blksize", self.block.to_string()));
                    }
                }
                "tsize" => agreed.push(("tsize", self.content.len().to_string())),
                // Who never answers would hold its place for as long.
                "timeout" if (1..=LONGEST_TIMEOUT).contains(&number) => {
                    self.timeout = Duration::from_secs(u64::from(number));
                    agreed.push(("timeout", number.to_string()));
                }
                "windowsize" if number >= 1 => {
                    self.window = u64::from(number.min(u32::from(limits.window.max(1))));
                    agreed.push(("windowsize", self.window.to_string()));
                }
                _ => {}
            }
        }
        agreed
    }

    /// How many blocks there are. A last one that is not full says that it is the last: it may be empty.
    fn blocks(&self) -> u64 {
        (self.content.len() / self.block) as u64 + 1
    }

    /// What comes behind what was acknowledged, as far as the window goes.
    fn send(&mut self) -> Next {
        if let Some(agreement) = &self.agreement {
            return Next::Send(vec![agreement.clone()], self.timeout);
        }
        self.sent = (self.acknowledged + self.window).min(self.blocks());
        let blocks = (self.acknowledged + 1..=self.sent).map(|number| self.numbered(number)).collect();
        Next::Send(blocks, self.timeout)
    }

    fn numbered(&self, number: u64) -> Bytes {
        let start = usize::try_from(number - 1).unwrap_or(usize::MAX).saturating_mul(self.block);
        let end = start.saturating_add(self.block).min(self.content.len());
        // The client counts on from 0 after 65535.
        data(
            u16::try_from(number % 65_536).unwrap_or_default(),
            self.content.get(start..end).unwrap_or_default(),
        )
    }

    /// What follows from a message of the client's.
    pub fn hear(&mut self, message: &Message) -> Next {
        match message {
            Message::Ended => Next::Done(End::Unwanted),
            // It has not heard the first answer: that is sent again when its time is over.
            Message::Read(_) => Next::Wait,
            Message::Write => {
                let why = refusal(ErrorCode::Forbidden, "nothing can be written here");
                Next::Refuse(ErrorCode::Forbidden, why)
            }
            Message::Acknowledged(block) => self.acknowledge(*block),
        }
    }

    fn acknowledge(&mut self, block: u16) -> Next {
        if self.agreement.is_some() {
            if block != 0 {
                return Next::Wait;
            }
            self.agreement = None;
            self.tries = 1;
            return self.send();
        }
        let expected = u16::try_from(self.acknowledged % 65_536).unwrap_or_default();
        let further = u64::from(block.wrapping_sub(expected));
        if further > self.sent - self.acknowledged {
            return Next::Wait;
        }
        // The same again says nothing new, and is not answered, or all is sent twice from then on. With windows, some clients
        // say it for every block behind one that was lost: the first of those acknowledgements went further, and what was
        // missed is on its way since. Where the first block of a window was lost, none does: that waits for the time to be
        // over.
        if further == 0 {
            return Next::Wait;
        }
        self.tries = 1;
        self.acknowledged += further;
        if self.acknowledged == self.blocks() { Next::Done(End::Read) } else { self.send() }
    }

    /// Nothing was heard in time.
    pub fn time_is_over(&mut self) -> Next {
        if self.may_try_again() { self.send() } else { Next::Done(End::Silent) }
    }

    fn may_try_again(&mut self) -> bool {
        self.tries += 1;
        self.tries <= MOST_TRIES
    }
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
