//! Serves files over UDP.

use std::{collections::HashMap, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    net::UdpSocket,
    sync::mpsc::{Receiver, Sender, channel},
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    files::Files,
    message::{ErrorCode, Message, refusal},
    transfer::{Limits, Next, Transfer},
};

/// Nothing that a client sends is longer.
const LONGEST: usize = 1024;
/// So many files are on their way at once; who asks then asks again.
const MOST: usize = 1024;
/// So many messages of one client wait to be looked at.
const WAITING: usize = 64;
/// No file takes longer, however slowly it is read.
const LONGEST_TRANSFER: Duration = Duration::from_secs(900);

/// From which port files are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// One for each transfer, as the protocol has it.
    Each,
    /// The one that was asked: what stands between may know no other.
    Single,
}

/// Serves until `stop`. What is on its way then is given up: who reads it asks again.
///
/// # Errors
/// The socket fails.
pub async fn serve(
    socket: UdpSocket,
    files: Files,
    (ports, limits): (Ports, Limits),
    stop: CancellationToken,
) -> io::Result<()> {
    let mut desk = Desk {
        socket: Arc::new(socket),
        files,
        ports,
        limits,
        lines: HashMap::new(),
        transfers: JoinSet::new(),
    };
    let mut buffer = [0; LONGEST];
    loop {
        let received = tokio::select! {
            received = desk.socket.recv_from(&mut buffer) => received,
            Some(ended) = desk.transfers.join_next(), if !desk.transfers.is_empty() => {
                if let Ok(peer) = ended {
                    desk.lines.remove(&peer);
                }
                continue;
            }
            () = stop.cancelled() => return Ok(()),
        };
        match received {
            Ok((length, peer)) => desk.received(buffer.get(..length).unwrap_or_default(), peer).await,
            // A client that is gone says so in this way: it concerns nobody else.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        }
    }
}

struct Desk {
    socket: Arc<UdpSocket>,
    files: Files,
    ports: Ports,
    limits: Limits,
    /// Who is being sent a file, and where its messages go when they come to the one port.
    lines: HashMap<SocketAddr, Sender<Message>>,
    transfers: JoinSet<SocketAddr>,
}

impl Desk {
    async fn received(&mut self, bytes: &[u8], peer: SocketAddr) {
        let Ok(message) = Message::parse(bytes) else { return };
        if let Some(line) = self.lines.get(&peer) {
            // Who sends more than is looked at has to send it again.
            let _full = line.try_send(message);
            return;
        }
        let request = match message {
            Message::Read(request) => request,
            Message::Write => {
                return self.refuse(peer, ErrorCode::Forbidden, "nothing can be written here").await;
            }
            Message::Acknowledged(_) | Message::Ended => return,
        };
        let Some(content) = self.files.get(&request.file) else {
            return self.refuse(peer, ErrorCode::NotFound, "there is no such file").await;
        };
        if self.transfers.len() >= MOST {
            return;
        }
        let (sender, receiver) = channel(WAITING);
        let (transfer, next) = Transfer::begin(&request, content, self.limits);
        let line = match self.ports {
            Ports::Single => Line::Shared { socket: self.socket.clone(), peer, messages: receiver },
            Ports::Each => match own(&self.socket, peer).await {
                Ok(socket) => Line::Own(socket),
                Err(error) => {
                    tracing::error!(%error, "no port for a transfer");
                    return;
                }
            },
        };
        self.lines.insert(peer, sender);
        self.transfers.spawn(async move {
            // What is not done by then is given up.
            let _late = timeout(LONGEST_TRANSFER, run(transfer, next, line)).await;
            peer
        });
    }

    async fn refuse(&self, peer: SocketAddr, code: ErrorCode, why: &str) {
        // Whether it arrives is the client's to see: it asks again.
        let _sent = self.socket.send_to(&refusal(code, why), peer).await;
    }
}

/// A socket of its own, at the same address as the one that was asked.
async fn own(asked: &UdpSocket, peer: SocketAddr) -> io::Result<UdpSocket> {
    let mut address = asked.local_addr()?;
    address.set_port(0);
    let socket = UdpSocket::bind(address).await?;
    socket.connect(peer).await?;
    Ok(socket)
}

/// How one client is reached.
enum Line {
    Own(UdpSocket),
    Shared { socket: Arc<UdpSocket>, peer: SocketAddr, messages: Receiver<Message> },
}

impl Line {
    async fn send(&self, bytes: &Bytes) -> io::Result<()> {
        match self {
            Self::Own(socket) => socket.send(bytes).await.map(drop),
            Self::Shared { socket, peer, .. } => socket.send_to(bytes, peer).await.map(drop),
        }
    }

    /// The next message; nothing, when there will be none.
    async fn hear(&mut self) -> Option<Message> {
        match self {
            Self::Own(socket) => loop {
                let mut buffer = [0; LONGEST];
                let length = socket.recv(&mut buffer).await.ok()?;
                if let Ok(message) = Message::parse(buffer.get(..length).unwrap_or_default()) {
                    return Some(message);
                }
            },
            Self::Shared { messages, .. } => messages.recv().await,
        }
    }
}

async fn run(mut transfer: Transfer, mut next: Next, mut line: Line) {
    loop {
        let (parts, patience) = match next {
            Next::Send(parts, patience) => (parts, patience),
            // Only what is heard while something is awaited says nothing.
            Next::Wait | Next::Done => return,
            Next::Refuse(why) => {
                let _sent = line.send(&why).await;
                return;
            }
        };
        for part in &parts {
            if line.send(part).await.is_err() {
                return;
            }
        }
        let until = Instant::now() + patience;
        next = loop {
            match timeout_at(until, line.hear()).await {
                Ok(Some(message)) => match transfer.hear(&message) {
                    Next::Wait => {}
                    next @ (Next::Send(..) | Next::Done | Next::Refuse(_)) => break next,
                },
                Ok(None) => return,
                Err(_elapsed) => break transfer.time_is_over(),
            }
        };
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
