//! A machine that asks by DHCP what to boot, played by a test on the loopback interface. Asking from where DHCP clients do
//! needs root; without, the tests that do so are skipped, and say so.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_boot::dhcp::{Mac, Operation, Packet};
use beskar7_e2e::wait::{self, Seen};
use tokio::net::UdpSocket;
use tokio::sync::Mutex;

use super::setup::LIMIT;

/// There is one port of DHCP: one of these tests at a time.
pub static PORT: Mutex<()> = Mutex::const_new(());

/// For so long a machine waits for an answer before it asks again.
const RETRY: Duration = Duration::from_millis(500);

/// What firmware asks with.
pub const PXE: [(u8, &[u8]); 2] = [(60, b"PXEClient:Arch:00007:UNDI:003016"), (93, &[0, 7])];
/// What iPXE asks with.
pub const IPXE: [(u8, &[u8]); 4] =
    [(60, b"PXEClient:Arch:00007:UNDI:003010"), (93, &[0, 7]), (77, b"iPXE"), (175, &[19, 1, 1])];
/// What a running system asks with.
pub const SYSTEM: [(u8, &[u8]); 1] = [(60, b"MSFT 5.0")];

/// A machine that boots from the network because that is first in its boot order.
pub struct Machine {
    pub mac: Mac,
    socket: UdpSocket,
    address: Ipv4Addr,
}

impl Machine {
    /// With an address, so that the answers to everybody come to it alone; nothing, where that needs more rights.
    pub async fn plugged_in(mac: &str, address: Ipv4Addr) -> Result<Option<Self>> {
        match UdpSocket::bind((address, 68)).await {
            Ok(socket) => Ok(Some(Self { mac: Mac::parse(mac).context("a MAC")?, socket, address })),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks once, and returns what it is told to boot, if it is answered.
    pub async fn ask(&self, options: &[(u8, &[u8])]) -> Result<Option<String>> {
        let more = options.iter().map(|(code, value)| (*code, value.to_vec()));
        let packet = Packet {
            operation: Operation::Request,
            hops: 0,
            transaction: fastrand::u32(..),
            seconds: 0,
            flags: 0,
            client: self.address,
            yours: Ipv4Addr::UNSPECIFIED,
            next_server: Ipv4Addr::UNSPECIFIED,
            relay: Ipv4Addr::UNSPECIFIED,
            mac: self.mac,
            file: String::new(),
            options: std::iter::once((53, vec![1])).chain(more).collect(),
        };
        self.socket.send_to(&packet.bytes(), (Ipv4Addr::LOCALHOST, 67)).await?;
        let mut buffer = [0; 2048];
        loop {
            let Ok(received) = tokio::time::timeout(RETRY, self.socket.recv_from(&mut buffer)).await else {
                return Ok(None);
            };
            let (length, _) = received?;
            let answer = Packet::parse(buffer.get(..length).unwrap_or_default())?;
            if answer.transaction == packet.transaction {
                let file = answer.option(67).context("nothing to boot in an answer")?;
                return Ok(Some(String::from_utf8_lossy(file).into_owned()));
            }
        }
    }

    /// Asks until it is told what to boot.
    pub async fn until_answered(&self, options: &[(u8, &[u8])]) -> Result<String> {
        let found = wait::until(format!("an answer for {}", self.mac), LIMIT * 2, || async {
            Ok(match self.ask(options).await? {
                Some(file) => Seen::Done(file),
                None => Seen::NotYet("none".to_owned()),
            })
        });
        Ok(found.await?)
    }
}

/// Reads a file by TFTP, as firmware does that knows no options.
pub async fn read_by_tftp(server: SocketAddrV4, file: &str) -> Result<Vec<u8>> {
    const BLOCK: usize = 512;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    socket.send_to(format!("\0\x01{file}\0octet\0").as_bytes(), server).await?;
    let (mut read, mut buffer) = (Vec::new(), [0; 4 + BLOCK]);
    for number in 1_u16.. {
        let received = tokio::time::timeout(LIMIT, socket.recv_from(&mut buffer)).await;
        let (length, from) = received.context("no more of a file by TFTP")??;
        let (head, content) = buffer[..length].split_at_checked(4).context("no head")?;
        let [high, low] = number.to_be_bytes();
        ensure!(head == [0, 3, high, low], "{head:?} instead of block {number}");
        read.extend_from_slice(content);
        socket.send_to(&[0, 4, high, low], from).await?;
        if content.len() < BLOCK {
            break;
        }
    }
    Ok(read)
}

pub fn skipped(test: &str) -> Result<()> {
    beskar7_skipped::skipped(test, "listening at the port of DHCP clients needs root");
    Ok(())
}
