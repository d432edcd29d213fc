//! One client, and the way to it.

use std::{
    io::{
        self,
        ErrorKind::{ConnectionRefused, WouldBlock},
    },
    net::SocketAddrV4,
    sync::Arc,
};

use bytes::Bytes;
use tokio::{
    io::Interest,
    net::UdpSocket,
    sync::mpsc::Receiver,
    time::{Instant, timeout_at},
};

use super::{
    message::Message,
    transfer::{End, Next, Transfer},
};
use crate::datagrams::{Datagrams, Local};

/// Nothing that a client sends is longer.
pub(super) const LONGEST: usize = 1024;

/// How one client is reached.
pub(super) enum Line {
    /// By a port of its own.
    Own(UdpSocket),
    /// By the one port of all.
    Shared { datagrams: Arc<Datagrams>, peer: SocketAddrV4, asked: Local, messages: Receiver<Message> },
}

impl Line {
    /// A port of its own, at the address that was asked: firmware drops what comes from another.
    pub async fn own(asked: Local, peer: SocketAddrV4) -> io::Result<Self> {
        let socket = UdpSocket::bind((asked.address, 0)).await?;
        socket.connect(peer).await?;
        Ok(Self::Own(socket))
    }

    async fn send(&self, bytes: &Bytes) -> io::Result<()> {
        match self {
            Self::Own(socket) => match socket.send(bytes).await {
                // That was about something sent before: a client that has all closes its port.
                Err(error) if error.kind() == ConnectionRefused => socket.send(bytes).await.map(drop),
                sent => sent.map(drop),
            },
            Self::Shared { datagrams, peer, asked, .. } => {
                datagrams.send(bytes, *peer, Local { interface: 0, ..*asked }).await
            }
        }
    }

    /// What comes next answers what is sent now. Said here, it is not asked of the system again whether there is more: that
    /// is one call of four for each block. What was there all the same, twice the same mostly, is found before the answer.
    fn has_heard_all(&self) {
        if let Self::Own(socket) = self {
            let _nothing = socket.try_io(Interest::READABLE, || Err::<(), _>(WouldBlock.into()));
        }
    }

    /// The next message, or the end where there will be none.
    async fn hear(&mut self) -> Result<Message, End> {
        match self {
            Self::Own(socket) => {
                let mut buffer = [0; LONGEST];
                loop {
                    let length = match socket.recv(&mut buffer).await {
                        Ok(length) => length,
                        // The client's last word may still wait behind this one.
                        Err(error) if error.kind() == ConnectionRefused => continue,
                        Err(_) => return Err(End::Silent),
                    };
                    if let Ok(message) = Message::parse(buffer.get(..length).unwrap_or_default()) {
                        return Ok(message);
                    }
                }
            }
            // The client has begun something else.
            Self::Shared { messages, .. } => messages.recv().await.ok_or(End::Unwanted),
        }
    }

    /// Carries a transfer out, to its end.
    pub async fn run(mut self, mut transfer: Transfer, mut next: Next) -> End {
        loop {
            let (parts, patience) = match next {
                Next::Send(parts, patience) => (parts, patience),
                // Only what is heard while something is awaited says nothing.
                Next::Wait => return End::Silent,
                Next::Done(end) => return end,
                Next::Refuse(code, why) => {
                    // Whether it arrives is the client's to see.
                    let _sent = self.send(&why).await;
                    return End::Refused(code);
                }
            };
            self.has_heard_all();
            for part in &parts {
                if self.send(part).await.is_err() {
                    return End::Silent;
                }
            }
            let until = Instant::now() + patience;
            next = loop {
                match timeout_at(until, self.hear()).await {
                    Ok(Ok(message)) => match transfer.hear(&message) {
                        Next::Wait => {}
                        next @ (Next::Send(..) | Next::Done(_) | Next::Refuse(..)) => break next,
                    },
                    Ok(Err(end)) => return end,
                    Err(_elapsed) => break transfer.time_is_over(),
                }
            };
        }
    }
}
