//! A client that reads as BMCs do: one range after the other on one kept connection. It does as little as it can with what
//! it is given, so that the servers' costs are seen and not its own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;

use anyhow::{Context, Result, ensure};

/// One kept connection.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 256 << 10] })
    }

    /// Reads a part of an image by ranges of so many bytes.
    pub fn read(&mut self, path: &str, part: Range<u64>, at_once: u64) -> Result<()> {
        let mut start = part.start;
        while start < part.end {
            let end = start.saturating_add(at_once).min(part.end);
            self.range(path, start..end, |_| ()).with_context(|| format!("bytes {start} to {end}"))?;
            start = end;
        }
        Ok(())
    }

    /// Reads one range, and shows each piece of it.
    pub fn range(&mut self, path: &str, range: Range<u64>, mut piece: impl FnMut(&[u8])) -> Result<()> {
        let (start, last) = (range.start, range.end.saturating_sub(1));
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nRange: bytes={start}-{last}\r\n\r\n");
        self.stream.write_all(request.as_bytes())?;
        let mut left = range.end.saturating_sub(range.start);
        let mut filled = 0;
        let behind_head = loop {
            let space = self.buffer.get_mut(filled..).unwrap_or_default();
            let read = self.stream.read(space)?;
            ensure!(read > 0, "the server closed the connection");
            filled += read;
            let so_far = self.buffer.get(..filled).unwrap_or_default();
            if let Some(end) = so_far.windows(4).position(|window| window == b"\r\n\r\n") {
                check(so_far.get(..end).unwrap_or_default(), left)?;
                break end.saturating_add(4)..filled;
            }
        };
        let first = self.buffer.get(behind_head).unwrap_or_default();
        piece(first);
        left = left.checked_sub(first.len() as u64).context("more than was asked for")?;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            let space = self.buffer.get_mut(..most).unwrap_or_default();
            let read = self.stream.read(space)?;
            ensure!(read > 0, "the server ended early");
            piece(space.get(..read).unwrap_or_default());
            left = left.saturating_sub(read as u64);
        }
        Ok(())
    }

    /// Reads all of something small, and says how many bytes it has.
    pub fn whole(&mut self, path: &str) -> Result<u64> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n");
        self.stream.write_all(request.as_bytes())?;
        let mut filled = 0;
        loop {
            let space = self.buffer.get_mut(filled..).unwrap_or_default();
            let read = self.stream.read(space)?;
            ensure!(read > 0, "the server closed the connection");
            filled += read;
            let so_far = self.buffer.get(..filled).unwrap_or_default();
            let Some(end) = so_far.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let length = length(so_far.get(..end).unwrap_or_default())?;
            if filled as u64 >= (end as u64).saturating_add(4).saturating_add(length) {
                return Ok(length);
            }
        }
    }
}

/// How long the body of a good answer is.
fn length(head: &[u8]) -> Result<u64> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    ensure!(head.starts_with("http/1.1 200 "), "no good answer: {head}");
    let said = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    Ok(said.context("an answer without a length")?.trim().parse()?)
}

/// A head that is short enough not to be searched twice: it comes in one piece.
fn check(head: &[u8], length: u64) -> Result<()> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    ensure!(head.starts_with("http/1.1 206 "), "not a range: {head}");
    ensure!(head.contains(&format!("\r\ncontent-length: {length}")), "another length: {head}");
    Ok(())
}
