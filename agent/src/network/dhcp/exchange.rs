//! A conversation with DHCP servers, without sockets and clocks: what is sent next follows from what came.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::super::{Addressing, Mac};
use super::message::{Answer, Asked, Kind, Question};

/// How often something is asked in all, until nobody is believed to be there.
const MOST_TRIES: u8 = 6;
/// How often an offer is asked for until others are listened to again.
const MOST_TRIES_TO_TAKE: u8 = 3;
/// How often the server itself is asked to go on, until every server is.
const TRIES_WITH_THE_SERVER: u8 = 2;
/// What a server means that does not say for how long.
const USUAL_LEASE: u32 = 3600;
/// What most networks have, where the server does not say.
const USUAL_PREFIX: u8 = 24;

/// An address, and for how long it may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What the interface is given.
    pub addressing: Addressing,
    /// Who gave it.
    pub server: Ipv4Addr,
    /// After what time it is asked to go on.
    pub renew_after: Duration,
    /// After what time it is somebody else's.
    pub lasts: Duration,
}

/// What is done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Send this there, and wait for so long for an answer.
    Send { message: Vec<u8>, to: Ipv4Addr, wait: Duration },
    /// Go on waiting: that said nothing.
    Wait,
    /// There is an address.
    Leased(Lease),
    /// The server says that the address is not ours any more.
    Refused,
    /// Nobody answers.
    Silent,
}

/// A conversation.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    mac: Mac,
    transaction: u32,
    step: Step,
    /// In all.
    tries: u8,
    /// With this question.
    tries_of_step: u8,
    waited: Duration,
}

#[derive(Debug, Clone)]
enum Step {
    Looking,
    Taking { address: Ipv4Addr, server: Ipv4Addr },
    Keeping(Lease),
}

impl Exchange {
    /// Looks for an address.
    pub(super) fn begin(mac: Mac, transaction: u32) -> (Self, Next) {
        Self::with(mac, transaction, Step::Looking)
    }

    /// Goes on with one.
    pub(super) fn renew(mac: Mac, transaction: u32, lease: &Lease) -> (Self, Next) {
        Self::with(mac, transaction, Step::Keeping(lease.clone()))
    }

    fn with(mac: Mac, transaction: u32, step: Step) -> (Self, Next) {
        let mut exchange =
            Self { mac, transaction, step, tries: 0, tries_of_step: 0, waited: Duration::ZERO };
        let next = exchange.send();
        (exchange, next)
    }

    /// What follows from an answer.
    pub(super) fn hear(&mut self, answer: &Answer) -> Next {
        if (answer.transaction, answer.mac) != (self.transaction, self.mac) {
            return Next::Wait;
        }
        match (&self.step, answer.kind) {
            (Step::Looking, Kind::Offer) => match answer.server {
                Some(server) if !answer.address.is_unspecified() => {
                    self.go_on(Step::Taking { address: answer.address, server })
                }
                // One that boots machines beside the server of addresses has none to offer.
                Some(_) | None => Next::Wait,
            },
            (Step::Taking { server, .. }, Kind::Acknowledged) => {
                leased(answer, *server).map_or(Next::Wait, Next::Leased)
            }
            (Step::Keeping(lease), Kind::Acknowledged) => {
                leased(answer, lease.server).map_or(Next::Wait, Next::Leased)
            }
            (Step::Taking { .. }, Kind::Refused) => self.go_on(Step::Looking),
            (Step::Keeping(_), Kind::Refused) => Next::Refused,
            (Step::Looking, Kind::Acknowledged | Kind::Refused)
            | (Step::Taking { .. } | Step::Keeping(_), Kind::Offer) => Next::Wait,
        }
    }

    /// Nothing was heard in time.
    pub(super) fn time_is_over(&mut self) -> Next {
        let gives_up = self.tries_of_step >= MOST_TRIES_TO_TAKE;
        match &self.step {
            Step::Taking { .. } if gives_up => self.go_on(Step::Looking),
            Step::Looking | Step::Taking { .. } | Step::Keeping(_) => self.send(),
        }
    }

    fn go_on(&mut self, step: Step) -> Next {
        self.step = step;
        self.tries_of_step = 0;
        self.send()
    }

    fn send(&mut self) -> Next {
        // An offer may always be taken, however long it took to come; else who is heard late would never be.
        let is_new = self.tries_of_step == 0 && matches!(self.step, Step::Taking { .. });
        if self.tries >= MOST_TRIES && !is_new {
            return Next::Silent;
        }
        let (question, to) = match &self.step {
            Step::Looking => (Question::Discover, Ipv4Addr::BROADCAST),
            Step::Taking { address, server } => {
                (Question::Take { address: *address, server: *server }, Ipv4Addr::BROADCAST)
            }
            Step::Keeping(lease) => {
                let asks_the_server = self.tries < TRIES_WITH_THE_SERVER;
                let to = if asks_the_server { lease.server } else { Ipv4Addr::BROADCAST };
                (Question::Keep { address: lease.addressing.address }, to)
            }
        };
        let seconds = u16::try_from(self.waited.as_secs()).unwrap_or(u16::MAX);
        let asked = Asked { question, mac: self.mac, transaction: self.transaction, seconds };
        let wait = Duration::from_secs(1 << self.tries_of_step.min(3));
        self.waited += wait;
        self.tries = self.tries.saturating_add(1);
        self.tries_of_step = self.tries_of_step.saturating_add(1);
        Next::Send { message: asked.bytes(), to, wait }
    }
}

/// What is given; nothing where no address is named.
fn leased(answer: &Answer, server: Ipv4Addr) -> Option<Lease> {
    if answer.address.is_unspecified() {
        return None;
    }
    let prefix = answer.prefix.unwrap_or(USUAL_PREFIX);
    let lasts = answer.lease.unwrap_or(USUAL_LEASE);
    let renew_after = answer.renewal.filter(|renewal| *renewal < lasts).unwrap_or(lasts / 2);
    Some(Lease {
        addressing: Addressing::new(
            answer.address,
            prefix,
            answer.routes.clone(),
            answer.name_servers.clone(),
        ),
        server: answer.server.unwrap_or(server),
        renew_after: Duration::from_secs(renew_after.into()),
        lasts: Duration::from_secs(lasts.into()),
    })
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
