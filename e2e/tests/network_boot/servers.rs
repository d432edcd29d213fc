//! The boot crate's servers on a segment of the laboratory: DHCP, TFTP and HTTP, for one machine.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};
use beskar7_boot::dhcp::{self, Addressing, Boot, Ipv4Net, Mac, Mode};
use beskar7_boot::server;
use beskar7_boot::tftp::{self, Files, Ports, Watcher};
use beskar7_e2e::isos::Isos;
use beskar7_e2e::lab::{Lab, Segment};
use bytes::Bytes;

use super::claim::{Claim, Starts};
use super::desk::Desk;
use super::register::{Known, Sent};

/// The servers' address.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Another computer's, beside them.
pub const NEIGHBOUR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Who is answered: machines and their relay, here and behind a router.
const NETWORKS: [Ipv4Net; 2] = [
    Ipv4Net::new_assert(Ipv4Addr::new(10, 77, 0, 0), 24),
    Ipv4Net::new_assert(Ipv4Addr::new(10, 78, 0, 0), 24),
];
/// A name of `snponly.efi` that nobody is told by DHCP.
pub const OTHER_NAME: &str = "other.efi";
const HTTP: u16 = 8080;
const TFTP: u16 = 69;

/// What is told to the machine.
#[derive(Debug)]
pub struct Settings {
    pub mode: Mode,
    pub addressing: Option<Addressing>,
    /// Without, there is nothing to boot.
    pub starts: Option<Starts>,
    pub ports: Ports,
}

/// The running servers. They end with the process.
pub struct Servers {
    pub known: Arc<Known>,
    pub desk: Arc<Desk>,
    /// What was read by TFTP.
    pub sent: Arc<Sent>,
}

impl Servers {
    pub async fn start(
        lab: &Lab,
        isos: &Isos,
        segment: &Segment,
        mac: &str,
        settings: Settings,
    ) -> Result<Self> {
        let Settings { mode, addressing, starts, ports } = settings;
        let claim = Claim::new(base(), starts.unwrap_or(Starts::Kernel))?;
        let boot = match starts {
            Some(_) => Boot::Script { script: claim.script_url(), program: claim.program_url() },
            None => Boot::Disk,
        };
        let known = Arc::new(Known::new(Mac::parse(mac).context("a MAC")?, addressing, boot));
        serve_dhcp(mode, segment, Arc::clone(&known))?;
        let files = files(lab)?;
        let sent = serve_tftp(files.clone(), ports)?;
        let desk = Arc::new(Desk::new(isos, claim, files).await?);
        let listener = TcpListener::bind((ADDRESS, HTTP))?;
        listener.set_nonblocking(true)?;
        tokio::spawn(server::serve(listener, desk.clone(), None, Default::default()));
        Ok(Self { known, desk, sent })
    }
}

/// Where a boot loader is, by HTTP.
pub fn loader_url(name: &str) -> String {
    format!("{}/ipxe/{name}", base())
}

fn base() -> String {
    format!("http://{ADDRESS}:{HTTP}")
}

fn serve_dhcp(mode: Mode, segment: &Segment, known: Arc<Known>) -> Result<()> {
    let interfaces = vec![segment.name().to_owned()];
    let settings = dhcp::Settings {
        mode,
        interfaces,
        binaries: loader_url(""),
        networks: NETWORKS.to_vec(),
        ..dhcp::Settings::default()
    };
    let sockets = dhcp::bind(&settings)?;
    tokio::spawn(dhcp::serve(sockets, settings, known, Default::default()));
    Ok(())
}

fn serve_tftp(files: Files, ports: Ports) -> Result<Arc<Sent>> {
    let socket = tftp::bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, TFTP))?;
    let sent = Arc::new(Sent::default());
    let watcher: Arc<dyn Watcher> = sent.clone();
    let how = (ports, tftp::Limits::default());
    tokio::spawn(tftp::serve(socket, files, how, watcher, Default::default()));
    Ok(sent)
}

/// iPXE's binaries.
fn files(lab: &Lab) -> Result<Files> {
    let installed = lab.installed();
    let mut files = Vec::new();
    for (name, path) in [
        ("snponly.efi", &installed.snponly),
        (OTHER_NAME, &installed.snponly),
        ("undionly.kpxe", &installed.undionly),
    ] {
        let content = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        files.push((name.to_owned(), Bytes::from(content)));
    }
    Ok(Files::new(files))
}
