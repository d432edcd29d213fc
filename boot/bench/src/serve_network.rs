//! Our TFTP and DHCP servers as processes of their own.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use beskar7_boot::dhcp::{
    self, Addressing, Asked, Boot, Counted, Door, Mac, Mode, PeerPorts, Register, Reservation, Settings,
    Stranger,
};
use beskar7_boot::tftp::{self, Files, Limits, Ports};
use tokio_util::sync::CancellationToken;

/// Files by TFTP.
#[derive(Debug, Clone, clap::Args)]
pub struct ServeTftp {
    /// The directory that they are in
    #[arg(long)]
    files: PathBuf,
}

/// Addresses by DHCP, to machines behind a relay.
#[derive(Debug, Clone, clap::Args)]
pub struct ServeDhcp {
    /// How many machines are known
    #[arg(long)]
    hosts: u32,

    /// Where the relay listens
    #[arg(long)]
    relay_port: u16,
}

/// Serves until it is killed.
pub fn tftp(serve: &ServeTftp) -> Result<()> {
    let files = Files::load(&serve.files)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = tftp::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        println!("{}", socket.address()?);
        let how = (Ports::Each, Limits::default());
        // As the manager does it: the thread that waits for the end is none of those that watch sockets.
        Ok(tokio::spawn(tftp::serve(socket, files, how, Arc::new(()), CancellationToken::new())).await??)
    })
}

/// Serves until it is killed.
pub fn dhcp(serve: &ServeDhcp) -> Result<()> {
    let known =
        Arc::new(Known((0..serve.hosts).map(|number| (mac_of(number), reservation(number))).collect()));
    let settings = Settings {
        mode: Mode::Reservations,
        port: 0,
        proxy_port: 0,
        peers: PeerPorts { relay: serve.relay_port, ..PeerPorts::default() },
        ..Settings::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let sockets = dhcp::bind(&settings)?;
        println!("{}", SocketAddr::from((Ipv4Addr::LOCALHOST, sockets.address(Door::Server)?.port())));
        Ok(dhcp::serve(sockets, settings, known, CancellationToken::new()).await?)
    })
}

/// A machine's MAC, by its number.
pub fn mac_of(number: u32) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    Mac([0x52, 0x54, a, b, c, d])
}

/// The address that is reserved for it.
pub fn address_of(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + number)
}

fn reservation(number: u32) -> Reservation {
    let addressing = Addressing {
        address: address_of(number),
        prefix: 16,
        gateway: Some(Ipv4Addr::new(10, 0, 255, 254)),
        name_servers: vec![Ipv4Addr::new(10, 0, 255, 253)],
        time_servers: vec![Ipv4Addr::new(10, 0, 255, 252)],
        host_name: Some(format!("host-{number}")),
        lease: Duration::from_secs(3600),
    };
    let script = format!("http://10.0.255.251:8080/c/{number:040}/ipxe");
    let boot = Boot::Script { script, program: None };
    Reservation { mac: mac_of(number), addressing: Some(addressing), boot }
}

struct Known(HashMap<Mac, Reservation>);

impl Register for Known {
    fn reservation(&self, mac: Mac) -> Option<Reservation> {
        self.0.get(&mac).cloned()
    }

    fn asked(&self, _: &Asked) {}

    fn is_looked_for(&self, _: Mac) -> bool {
        false
    }

    fn stranger(&self, _: &Stranger) {}

    fn counted(&self, _: Counted) {}
}
