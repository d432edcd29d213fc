//! dnsmasq's TFTP server on loopback, with nothing else of it. It knows no other port than 69, so that this needs root, and
//! nobody else there.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Where Debian has it, which is not in everybody's path.
const PROGRAMS: [&str; 2] = ["dnsmasq", "/usr/sbin/dnsmasq"];

/// A running dnsmasq. It does not outlive this.
pub struct Dnsmasq {
    child: Child,
}

impl Dnsmasq {
    /// Serves a directory, in which there must be a file of this name; it listens when this returns.
    pub fn start(files: &Path, probe: &str) -> Result<Self> {
        let free = UdpSocket::bind(Self::address());
        drop(free.context(
            "TFTP's port, which dnsmasq needs, can't be had: it takes root, and nobody else there",
        )?);
        let child = Command::new(program()?)
            .args(["--keep-in-foreground", "--conf-file=/dev/null", "--pid-file", "--user=root", "--port=0"])
            .args([
                "--listen-address=127.0.0.1",
                "--bind-interfaces",
                "--enable-tftp",
                "--log-facility=/dev/null",
            ])
            .arg(format!("--tftp-root={}", files.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("can't start dnsmasq")?;
        let dnsmasq = Self { child };
        let begun = Instant::now();
        while !answers(probe)? {
            ensure!(begun.elapsed() < Duration::from_secs(20), "dnsmasq does not listen");
        }
        Ok(dnsmasq)
    }

    pub fn address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 69))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// Asks for the size of a file, and wants no more than that.
fn answers(file: &str) -> Result<bool> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    socket.send_to(format!("\0\u{1}{file}\0octet\0tsize\x000\0").as_bytes(), Dnsmasq::address())?;
    let Ok((_, from)) = socket.recv_from(&mut [0; 600]) else { return Ok(false) };
    socket.send_to(b"\0\x05\0\x08enough\0", from)?;
    Ok(true)
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn program() -> Result<&'static str> {
    let runs = |program: &&str| Command::new(program).arg("-v").stdout(Stdio::null()).status().is_ok();
    PROGRAMS.into_iter().find(runs).context("dnsmasq is not installed: it is what this compares with")
}

/// What it calls itself, in a line.
pub fn version() -> Result<String> {
    let output = Command::new(program()?).arg("-v").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.split("  ").next().unwrap_or_default();
    Ok(format!("Compared with {}.\n", first.trim()))
}
