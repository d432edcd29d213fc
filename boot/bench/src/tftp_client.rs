//! A client that reads as firmware does, and does as little as it can with what it is given, so that the servers' costs are
//! seen and not its own.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// As much as an Ethernet frame has room for.
pub const BLOCK: usize = 1468;
/// What takes longer on loopback was lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a file is read.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    pub server: SocketAddr,
    /// How many blocks come before each acknowledgement.
    pub window: u16,
}

/// Reads a file, and shows each block of it. How long it is.
pub fn read(manner: Manner, file: &str, mut block: impl FnMut(&[u8])) -> Result<usize> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send_to(&request(file, manner.window), manner.server)?;
    let mut buffer = [0; BLOCK + 4];
    let (length, server) = socket.recv_from(&mut buffer).context("nobody answers")?;
    let agreed = String::from_utf8_lossy(buffer.get(2..length).unwrap_or_default()).into_owned();
    ensure!(agreed.contains(&format!("blksize\0{BLOCK}\0")), "another size of blocks: {agreed:?}");
    if manner.window > 1 {
        ensure!(agreed.contains(&format!("windowsize\0{}\0", manner.window)), "another window: {agreed:?}");
    }
    socket.connect(server)?;
    acknowledge(&socket, 0)?;
    let (mut last, mut total) = (0_u16, 0);
    loop {
        let length = socket.recv(&mut buffer).context("the server stopped")?;
        let [0, 3, high, low, content @ ..] = buffer.get(..length).unwrap_or_default() else {
            bail!("something else than a block")
        };
        let number = u16::from_be_bytes([*high, *low]);
        // Something came twice, or was lost: the server sees that from what is acknowledged.
        if number != last.wrapping_add(1) {
            acknowledge(&socket, last)?;
            continue;
        }
        last = number;
        total += content.len();
        block(content);
        let is_last = content.len() < BLOCK;
        if is_last || last % manner.window == 0 {
            acknowledge(&socket, last)?;
        }
        if is_last {
            return Ok(total);
        }
    }
}

fn acknowledge(socket: &UdpSocket, block: u16) -> Result<()> {
    let [high, low] = block.to_be_bytes();
    socket.send(&[0, 4, high, low])?;
    Ok(())
}

fn request(file: &str, window: u16) -> Vec<u8> {
    let (block, window) = (BLOCK.to_string(), window.to_string());
    let mut texts = vec![file, "octet", "blksize", &block];
    if window != "1" {
        texts.extend(["windowsize", &window]);
    }
    let mut bytes = vec![0, 1];
    for text in texts {
        bytes.extend(text.bytes());
        bytes.push(0);
    }
    bytes
}
