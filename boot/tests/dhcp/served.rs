//! A running server, who knows its machines, and a client that asks it.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use beskar7_boot::dhcp::{
    Addressing, Asked, Boot, Counted, Door, Mac, Mode, Operation, Packet, PeerPorts, Register, Reservation,
    Settings, Stranger, bind, serve,
};
use tokio::{net::UdpSocket, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

/// What takes longer went wrong.
pub const LIMIT: Duration = Duration::from_secs(30);
/// After so long a machine asks again.
const RETRY: Duration = Duration::from_millis(500);
pub const SCRIPT: &str = "http://127.0.0.1/c/0/ipxe";

pub const DISCOVER: u8 = 1;
pub const OFFER: u8 = 2;
pub const REQUEST: u8 = 3;
pub const ACK: u8 = 5;
pub const RELEASE: u8 = 7;

pub const PXE: [(u8, &[u8]); 2] = [(60, b"PXEClient:Arch:00007:UNDI:003016"), (93, &[0, 7])];

/// A machine's address, by its number.
pub fn mac(number: u16) -> Mac {
    let [high, low] = number.to_be_bytes();
    Mac([0x52, 0x54, 0, 0xab, high, low])
}

/// The address that is reserved for it.
pub fn reserved(number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, 1, high, low)
}

/// A message of a machine's.
pub fn message(number: u16, kind: u8, options: &[(u8, &[u8])]) -> Packet {
    let more = options.iter().map(|(code, value)| (*code, value.to_vec()));
    Packet {
        operation: Operation::Request,
        hops: 0,
        transaction: u32::from(number) | 0x5000_0000,
        seconds: 0,
        flags: 0x8000,
        client: Ipv4Addr::UNSPECIFIED,
        yours: Ipv4Addr::UNSPECIFIED,
        next_server: Ipv4Addr::UNSPECIFIED,
        relay: Ipv4Addr::UNSPECIFIED,
        mac: mac(number),
        file: String::new(),
        options: std::iter::once((53, vec![kind])).chain(more).collect(),
    }
}

/// A machine that nobody knows, and that is looked for.
pub const LOOKED_FOR: u16 = 200;

/// Who knows a hundred machines, and writes down what it is told.
#[derive(Default)]
pub struct Known {
    pub addressing: bool,
    pub asked: Mutex<Vec<Asked>>,
    pub strangers: Mutex<Vec<Stranger>>,
    pub counted: Mutex<HashMap<Counted, usize>>,
}

impl Register for Known {
    fn reservation(&self, asking: Mac) -> Option<Reservation> {
        let number = (1..=100).find(|number| mac(*number) == asking)?;
        let addressing = Addressing {
            address: reserved(number),
            prefix: 8,
            gateway: None,
            name_servers: vec![Ipv4Addr::new(127, 0, 0, 53)],
            time_servers: Vec::new(),
            host_name: Some(format!("host-{number}")),
            lease: Duration::from_secs(3600),
        };
        let boot = Boot::Script { script: SCRIPT.to_owned(), program: None };
        Some(Reservation { mac: asking, addressing: self.addressing.then_some(addressing), boot })
    }

    fn asked(&self, asked: &Asked) {
        self.asked.lock().unwrap().push(*asked);
    }

    fn is_looked_for(&self, asking: Mac) -> bool {
        asking == mac(LOOKED_FOR)
    }

    fn stranger(&self, stranger: &Stranger) {
        self.strangers.lock().unwrap().push(*stranger);
    }

    fn counted(&self, what: Counted) {
        *self.counted.lock().unwrap().entry(what).or_default() += 1;
    }
}

impl Known {
    pub fn count(&self, what: Counted) -> usize {
        self.counted.lock().unwrap().get(&what).copied().unwrap_or_default()
    }
}

/// A running server.
pub struct Served {
    pub known: Arc<Known>,
    pub server: u16,
    pub proxy: u16,
    stop: CancellationToken,
    ended: JoinHandle<io::Result<()>>,
}

impl Served {
    /// Starts one that answers to these ports.
    pub fn start(mode: Mode, addressing: bool, peers: PeerPorts) -> Self {
        Self::with(Settings { mode, peers, ..Settings::default() }, addressing)
    }

    pub fn with(settings: Settings, addressing: bool) -> Self {
        let binaries = "http://127.0.0.1/ipxe/".to_owned();
        let settings = Settings { port: 0, proxy_port: 0, binaries, ..settings };
        let sockets = bind(&settings).unwrap();
        let port = |door| sockets.address(door).unwrap().port();
        let (server, proxy) = (port(Door::Server), port(Door::Proxy));
        let (known, stop) = (Arc::new(Known { addressing, ..Known::default() }), CancellationToken::new());
        let ended = tokio::spawn(serve(sockets, settings, known.clone(), stop.clone()));
        Self { known, server, proxy, stop, ended }
    }

    pub async fn end(self) -> Arc<Known> {
        self.stop.cancel();
        timeout(LIMIT, self.ended).await.unwrap().unwrap().unwrap();
        self.known
    }
}

/// Who asks and hears, a client or a relay.
pub struct Listener {
    socket: UdpSocket,
    pub port: u16,
}

impl Listener {
    /// At this address; clients listen at all, because answers to everybody come there.
    pub async fn at(address: Ipv4Addr) -> Self {
        let socket = UdpSocket::bind((address, 0)).await.unwrap();
        let port = socket.local_addr().unwrap().port();
        Self { socket, port }
    }

    pub async fn send(&self, bytes: &[u8], to: (Ipv4Addr, u16)) {
        self.socket.send_to(bytes, to).await.unwrap();
    }

    /// What comes next, and from where.
    pub async fn hear(&self) -> (Packet, SocketAddr) {
        let mut buffer = [0; 2048];
        let (length, from) = timeout(LIMIT, self.socket.recv_from(&mut buffer)).await.unwrap().unwrap();
        assert!(length >= 300, "some firmware drops what is shorter: {length}");
        (Packet::parse(&buffer[..length]).unwrap(), from)
    }

    /// What a machine is answered with, unless nothing comes for a while; late answers to others are passed over.
    pub async fn hear_of(&self, number: u16) -> Option<Packet> {
        loop {
            let (answer, _) = timeout(RETRY, self.hear()).await.ok()?;
            if answer.mac == mac(number) {
                return Some(answer);
            }
        }
    }

    /// What a message is answered with; it comes from where it was asked, and names that as the server.
    pub async fn ask(&self, message: &Packet, to: (Ipv4Addr, u16)) -> Packet {
        self.send(&message.bytes(), to).await;
        let (answer, from) = self.hear().await;
        assert_eq!(from, SocketAddr::from(to));
        assert_eq!(answer.option(54), Some(&to.0.octets()[..]));
        assert_eq!((answer.transaction, answer.mac), (message.transaction, message.mac));
        answer
    }
}
