//! HTTP, as much of it as the agent speaks: one request, one answer, and the connection is closed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use beskar7_agent_protocol::paths;

use crate::boot_server::{Mishap, Shared};

const BASE: &str = "/c/capability/";
/// What is sent at once.
const PIECE: usize = 256 << 10;
/// Longer than any test.
const FOR_EVER: Duration = Duration::from_secs(3600);

struct Request {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Answers one request.
pub fn answer(mut connection: TcpStream, shared: &Shared) -> io::Result<()> {
    let request = read(&connection)?;
    let path = request.path.strip_prefix(BASE).unwrap_or_default();
    match (request.method.as_str(), path) {
        ("GET", paths::ORDER) => {
            let order = shared.lock().order().map(|order| serde_json::to_vec(order).unwrap());
            match order {
                Some(order) => say(&mut connection, "200 OK", "Content-Type: application/json\r\n", &order),
                None => say(&mut connection, "204 No Content", "", &[]),
            }
        }
        ("POST", paths::REPORT) => {
            let report = serde_json::from_slice(&request.body).map_err(io::Error::other)?;
            let wanted = shared.change(|known| known.hear(report));
            say(&mut connection, if wanted { "204 No Content" } else { "410 Gone" }, "", &[])
        }
        ("GET", path) => {
            let file = shared.lock().files.get(path).cloned();
            match file {
                Some(file) => serve(connection, shared, path, &file, &request),
                None => say(&mut connection, "404 Not Found", "", &[]),
            }
        }
        (_, _) => say(&mut connection, "405 Method Not Allowed", "", &[]),
    }
}

fn read(connection: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(connection);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).map(|_| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut headers = HashMap::new();
    while let Some((name, value)) = line()?.split_once(':') {
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Ok(Request { method, path, headers, body })
}

fn say(connection: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    connection.write_all(head.as_bytes())?;
    connection.write_all(body)
}

/// Serves a file, or a range of it, as badly as it is to be.
fn serve(
    mut connection: TcpStream,
    shared: &Shared,
    path: &str,
    file: &Path,
    request: &Request,
) -> io::Result<()> {
    let file = File::open(file)?;
    let total = file.metadata()?.len();
    let tag = format!("\"{path}-{total}\"");
    let header = |name: &str| request.headers.get(name).map(String::as_str);
    let is_same = header("if-range").is_none_or(|known| known == tag);
    let range = header("range").filter(|_| is_same).and_then(|range| range.strip_prefix("bytes="));
    let (from, to) = range.and_then(|range| range.split_once('-')).unwrap_or(("0", ""));
    let from: u64 = from.parse().map_err(io::Error::other)?;
    let end = to.parse().map_or(total, |last: u64| (last + 1).min(total));
    shared.change(|known| known.asked.push((path.to_owned(), from)));
    if from >= end {
        let headers = format!("Content-Range: bytes */{total}\r\n");
        return say(&mut connection, "416 Range Not Satisfiable", &headers, &[]);
    }
    let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
    let head = format!(
        "HTTP/1.1 {status}\r\nETag: {tag}\r\nAccept-Ranges: bytes\r\nContent-Range: bytes {from}-{}/{total}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        end - 1,
        end - from
    );
    connection.write_all(head.as_bytes())?;
    let mut at = from;
    let mut piece = vec![0; PIECE];
    while at < end {
        if has_mishap(shared, path, at) {
            return Ok(());
        }
        let length = piece.len().min(usize::try_from(end - at).unwrap());
        file.read_exact_at(&mut piece[..length], at)?;
        connection.write_all(&piece[..length])?;
        at += length as u64;
    }
    Ok(())
}

/// What is to happen here happens. Whether the connection ends by it.
fn has_mishap(shared: &Shared, path: &str, at: u64) -> bool {
    let next = shared.change(|known| {
        let mishaps = known.mishaps.get_mut(path)?;
        let is_here = mishaps.front().is_some_and(|(place, _)| at >= *place);
        let next = if is_here { mishaps.pop_front() } else { None };
        next.map(|(_, mishap)| mishap)
    });
    match next {
        None => false,
        Some(Mishap::BreaksOff) => true,
        Some(Mishap::Vanishes(duration)) => {
            shared.change(|known| known.vanish(duration));
            true
        }
        Some(Mishap::Holds) => {
            shared.change(|known| known.is_held = true);
            shared.wait(FOR_EVER, |known| (!known.is_held).then_some(())).is_err()
        }
    }
}
