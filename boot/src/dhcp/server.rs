//! Answers over UDP.

use std::{
    collections::HashSet,
    io,
    net::{Ipv4Addr, SocketAddrV4},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Arrived, Door, Reply, Server, reply},
    client::Client,
    kind::Kind,
    networks::{OnLink, is_from},
    options::BOOT_FILE,
    packet::{MOST, Operation, Packet, glance},
    register::{Asked, Counted, Register, Stranger},
    reservation::Mac,
    sockets::{Settings, Sockets},
};
use crate::datagrams::{Datagrams, Local, Received};

/// How long nothing is received after an error, which could be the next one, too.
const PAUSE: Duration = Duration::from_millis(100);
/// How often it is told that somebody from outside asks: whoever can do it could fill a log with it.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Answers until `stop`. A message that can't be read or answered is counted, and ends nothing.
///
/// # Errors
/// The sockets can't be watched, or who knows the machines panicked.
pub async fn serve(
    sockets: Sockets,
    settings: Settings,
    register: Arc<dyn Register>,
    stop: CancellationToken,
) -> io::Result<()> {
    let settings = Arc::new(settings);
    let mut desks = JoinSet::new();
    for (door, socket) in sockets.0 {
        let desk = Desk {
            datagrams: Datagrams::new(socket)?,
            door,
            settings: settings.clone(),
            register: register.clone(),
            complained: HashSet::new(),
            on_link: OnLink::default(),
            told: None,
        };
        desks.spawn(desk.run(stop.clone()));
    }
    while let Some(ended) = desks.join_next().await {
        ended.map_err(io::Error::other)?;
    }
    Ok(())
}

/// One socket, and who sits behind it.
struct Desk {
    datagrams: Datagrams,
    door: Door,
    settings: Arc<Settings>,
    register: Arc<dyn Register>,
    /// The errors that were told of, by the system's numbers: whoever can cause one could fill a log with it.
    complained: HashSet<Option<i32>>,
    on_link: OnLink,
    /// When it was last told that somebody from outside asks.
    told: Option<Instant>,
}

impl Desk {
    async fn run(mut self, stop: CancellationToken) {
        // One byte more than a message may have: what is longer is seen to be.
        let mut buffer = [0; MOST + 1];
        loop {
            let received = tokio::select! {
                received = self.datagrams.receive(&mut buffer) => received,
                () = stop.cancelled() => return,
            };
            let what = match received {
                Ok(received) => self.answer(buffer.get(..received.length).unwrap_or_default(), received),
                Err(error) => {
                    self.complain(&error, "receive");
                    tokio::select! {
                        () = sleep(PAUSE) => Counted::Failed,
                        () = stop.cancelled() => return,
                    }
                }
            };
            self.register.counted(what);
        }
    }

    /// Who is neither known nor looked for is not looked at any closer: a flood of them costs little.
    fn answer(&mut self, bytes: &[u8], received: Received) -> Counted {
        let mac = match glance(bytes) {
            Ok((Operation::Request, mac)) => mac,
            Ok((Operation::Reply, _)) => return Counted::NotForUs,
            Err(_) => return Counted::Malformed,
        };
        let Some(known) = self.register.reservation(mac) else {
            self.meet(mac, bytes, received);
            return Counted::Unknown;
        };
        let Ok(request) = Packet::parse(bytes) else { return Counted::Malformed };
        let Some(kind) = Kind::of(&request) else { return Counted::NotForUs };
        if !self.is_answered(&request, received) {
            return Counted::NotForUs;
        }
        let settings = self.settings.clone();
        let server = Server {
            address: settings.advertise.unwrap_or(received.at.address),
            mode: settings.mode,
            binaries: &settings.binaries,
            peers: settings.peers,
        };
        let arrived = Arrived { door: self.door, from: received.from };
        let reply = reply(&request, arrived, &known, &server);
        let given = reply.as_ref().map(|reply| reply.packet.yours).filter(|given| !given.is_unspecified());
        let boot = reply.as_ref().is_some_and(|reply| reply.packet.option(BOOT_FILE).is_some());
        let counted = match &reply {
            Some(reply) => self.send(reply, server.address, received.at),
            None => Counted::NotForUs,
        };
        self.register.asked(&Asked { mac, client: Client::of(&request), kind, given, boot });
        counted
    }

    /// Nobody knows it, but somebody may look for such machines.
    fn meet(&mut self, mac: Mac, bytes: &[u8], received: Received) {
        if !self.register.is_looked_for(mac) {
            return;
        }
        let Ok(request) = Packet::parse(bytes) else { return };
        if let Some(stranger) = Stranger::of(&request)
            && self.is_answered(&request, received)
        {
            self.register.stranger(&stranger);
        }
    }

    /// Whether a message is from a network that is answered.
    fn is_answered(&mut self, request: &Packet, received: Received) -> bool {
        let from = *received.from.ip();
        let is_ours = match self.settings.networks.as_slice() {
            // Most ask so, and need no look at the interfaces.
            [] => {
                is_from(&[], from, request) || is_from(&self.on_link.of(received.at.interface), from, request)
            }
            named => is_from(named, from, request),
        };
        if !is_ours && self.told.is_none_or(|told| told.elapsed() > TOLD_EVERY) {
            self.told = Some(Instant::now());
            let (mac, relay, client) = (request.mac, request.relay, request.client);
            tracing::warn!(
                %mac, %from, %relay, %client,
                "DHCP does not answer from outside of its networks: if machines or relays stand there, name the networks \
                 of all of these addresses in --dhcp-networks. This is told of once a minute at most"
            );
        }
        is_ours
    }

    fn send(&mut self, reply: &Reply, server: Ipv4Addr, asked: Local) -> Counted {
        match send(&self.datagrams, &reply.packet.bytes(), reply.to, (server, asked)) {
            Ok(()) => Counted::Answered,
            Err(error) => {
                self.complain(&error, "answer");
                Counted::Failed
            }
        }
    }

    fn complain(&mut self, error: &io::Error, what: &'static str) {
        if self.complained.insert(error.raw_os_error()) {
            tracing::warn!(%error, what, "DHCP goes on after an error; this one is told of once");
        }
    }
}

/// From the address that the answer names as the server's, where this machine has it. Behind something that translates
/// addresses it has not, and the one that was asked is as good: it is translated back.
fn send(
    datagrams: &Datagrams,
    bytes: &[u8],
    to: SocketAddrV4,
    (server, asked): (Ipv4Addr, Local),
) -> io::Result<()> {
    let sent = datagrams.send_now(bytes, to, leaving(to, server, asked));
    match sent {
        // Kernels say in more than one way that an address is not theirs.
        Err(_) if server != asked.address => datagrams.send_now(bytes, to, leaving(to, asked.address, asked)),
        Ok(()) | Err(_) => sent,
    }
}

/// Only what goes to everybody needs an interface: where one host or a relay is, the routes know.
fn leaving(to: SocketAddrV4, address: Ipv4Addr, asked: Local) -> Local {
    Local { interface: if to.ip().is_broadcast() { asked.interface } else { 0 }, address }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_everybody_goes_out_where_the_question_came_in() {
        let asked = Local { interface: 7, address: Ipv4Addr::new(10, 0, 0, 1) };
        let named = Ipv4Addr::new(10, 0, 0, 9);
        for (to, interface) in [(Ipv4Addr::BROADCAST, 7), (Ipv4Addr::new(10, 9, 0, 1), 0)] {
            let expected = Local { interface, address: named };
            assert_eq!(leaving(SocketAddrV4::new(to, 68), named, asked), expected, "{to}");
        }
    }
}
