//! Serves files over UDP.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::mpsc::{Sender, channel},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    files::Files,
    line::{LONGEST, Line},
    message::{ErrorCode, Message, Request, refusal},
    mtus::Mtus,
    transfer::{End, Limits, Transfer},
    watcher::Watcher,
};
use crate::{
    datagrams::{BindError, Datagrams, Local, Place, Received, bind as bind_place},
    open_files::Shares,
    places::{Places, most_of_one},
};

/// So many files are on their way to one address: a machine reads one or two, and asks again for what gets lost.
const MOST_OF_ONE: usize = 64;
/// So many messages of one client wait to be looked at.
const WAITING: usize = 64;
/// No file takes longer, however slowly it is read.
const LONGEST_TRANSFER: Duration = Duration::from_secs(900);
/// How long nothing is received after an error, which could be the next one, too.
const PAUSE: Duration = Duration::from_millis(100);

/// From which port files are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// One for each transfer, as the protocol has it.
    Each,
    /// The one that was asked: what stands between may know no other.
    Single,
}

/// What TFTP listens with. Only by IPv4: who asks was told of it by DHCPv4.
#[derive(Debug)]
pub struct Socket(UdpSocket);

impl Socket {
    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Listens there.
///
/// # Errors
/// The port can't be had; the text says what to do.
pub fn bind(address: SocketAddrV4) -> Result<Socket, BindError> {
    let place = Place { what: "TFTP", address: *address.ip(), port: address.port(), interface: None };
    bind_place(&place).map(Socket)
}

/// Serves until `stop`. What is on its way then is given up: who reads it asks again.
///
/// # Errors
/// The socket can't be watched.
pub async fn serve(
    socket: Socket,
    files: Files,
    (ports, limits): (Ports, Limits),
    watcher: Arc<dyn Watcher>,
    stop: CancellationToken,
) -> io::Result<()> {
    let most = Shares::now().transfers;
    let mut desk = Desk {
        datagrams: Arc::new(Datagrams::new(socket.0)?),
        files,
        ports,
        limits,
        watcher,
        talks: HashMap::new(),
        places: Places::new(most, MOST_OF_ONE.min(most_of_one(most))),
        mtus: Mtus::default(),
        transfers: JoinSet::new(),
    };
    let mut buffer = [0; LONGEST];
    loop {
        let received = tokio::select! {
            received = desk.datagrams.receive(&mut buffer) => received,
            Some(ended) = desk.transfers.join_next(), if !desk.transfers.is_empty() => {
                if let Ok(peer) = ended {
                    desk.ended(peer);
                }
                continue;
            }
            () = stop.cancelled() => return Ok(()),
        };
        match received {
            Ok(received) => {
                desk.received(buffer.get(..received.length).unwrap_or_default(), received).await;
            }
            // It concerns one client, or passes: nobody else is to suffer from it.
            Err(error) => {
                tracing::debug!(%error, "TFTP goes on after an error");
                sleep(PAUSE).await;
            }
        }
    }
}

struct Desk {
    datagrams: Arc<Datagrams>,
    files: Files,
    ports: Ports,
    limits: Limits,
    watcher: Arc<dyn Watcher>,
    /// With one port for all: who is being sent a file.
    talks: HashMap<SocketAddrV4, Talk>,
    places: Arc<Places<Ipv4Addr>>,
    mtus: Mtus,
    transfers: JoinSet<SocketAddrV4>,
}

/// A transfer whose client is known by its address alone.
struct Talk {
    request: Request,
    messages: Sender<Message>,
    /// Whether the client has said anything since.
    answered: bool,
}

impl Desk {
    async fn received(&mut self, bytes: &[u8], received: Received) {
        let Ok(message) = Message::parse(bytes) else { return };
        let Some(message) = self.pass_on(message, received.from) else { return };
        let line = (received.from, received.at);
        match message {
            Message::Read(request) => self.begin(request, line).await,
            Message::Write => {
                self.refuse("", line, ErrorCode::Forbidden, "nothing can be written here").await;
            }
            Message::Acknowledged(_) | Message::Ended => {}
        }
    }

    /// What belongs to a transfer goes there. A request does not, unless it is the same again before anything else was said: a
    /// client may read its next file from the same port before the last one is known to be over.
    fn pass_on(&mut self, message: Message, peer: SocketAddrV4) -> Option<Message> {
        let Some(talk) = self.talks.get_mut(&peer).filter(|talk| !talk.messages.is_closed()) else {
            return Some(message);
        };
        match &message {
            Message::Read(request) if talk.answered || *request != talk.request => return Some(message),
            Message::Acknowledged(_) | Message::Ended => talk.answered = true,
            Message::Read(_) | Message::Write => {}
        }
        // Who sends more than is looked at has to send it again.
        let _full = talk.messages.try_send(message);
        None
    }

    async fn begin(&mut self, request: Request, (peer, asked): (SocketAddrV4, Local)) {
        let Some(content) = self.files.get(&request.file) else {
            let why = "there is no such file";
            return self.refuse(&request.file, (peer, asked), ErrorCode::NotFound, why).await;
        };
        // Who finds no place asks again.
        let Some(place) = self.places.take(*peer.ip()) else { return };
        let line = match self.ports {
            Ports::Single => {
                let (sender, messages) = channel(WAITING);
                let talk = Talk { request: request.clone(), messages: sender, answered: false };
                // One before it ends by that.
                self.talks.insert(peer, talk);
                Line::Shared { datagrams: self.datagrams.clone(), peer, asked, messages }
            }
            // Each has a port of its own: a client that asked twice tells the second one that it has the first.
            Ports::Each => match Line::own(asked, peer).await {
                Ok(line) => line,
                Err(error) => return tracing::error!(%error, "no port for a transfer"),
            },
        };
        let limits = self.limits.within(self.mtus.of(asked.interface));
        let (transfer, next) = Transfer::begin(&request, content, limits);
        let watcher = self.watcher.clone();
        self.transfers.spawn(async move {
            let end = timeout(LONGEST_TRANSFER, line.run(transfer, next)).await.unwrap_or(End::Silent);
            tell(watcher.as_ref(), &request.file, peer.into(), end);
            drop(place);
            peer
        });
    }

    /// A transfer is over; another one with the same client may have begun.
    fn ended(&mut self, peer: SocketAddrV4) {
        if self.talks.get(&peer).is_some_and(|talk| talk.messages.is_closed()) {
            self.talks.remove(&peer);
        }
    }

    async fn refuse(&self, file: &str, (peer, asked): (SocketAddrV4, Local), code: ErrorCode, why: &str) {
        let from = Local { interface: 0, ..asked };
        // Whether it arrives is the client's to see: it asks again.
        let _sent = self.datagrams.send(&refusal(code, why), peer, from).await;
        self.watcher.refused(file, peer.into(), code);
    }
}

fn tell(watcher: &dyn Watcher, file: &str, peer: SocketAddr, end: End) {
    match end {
        End::Read => watcher.sent(file, peer),
        End::Unwanted => {}
        End::Silent => watcher.gave_up(file, peer),
        End::Refused(why) => watcher.refused(file, peer, why),
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
