//! A server on loopback that answers as it is told to, byte by byte, and remembers what it was asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What was asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    pub headers: HashMap<String, String>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The range that was asked for, its end excluded.
    pub fn range(&self) -> Option<(usize, usize)> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().unwrap(), last.parse::<usize>().unwrap() + 1))
    }
}

/// What happens behind an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Keep,
    Close,
    /// Nothing is sent any more, and nothing is closed.
    Stall,
}

/// An answer, with whatever length it claims.
pub struct Reply {
    pub head: String,
    pub body: Vec<u8>,
    pub then: Then,
}

/// A complete answer.
pub fn reply(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut head = format!("HTTP/1.1 {status} x\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !headers.iter().any(|(name, _)| *name == "Content-Length") {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    Reply { head, body: body.to_vec(), then: Then::Keep }
}

/// What a faultless server answers.
pub fn good(request: &Request, content: &[u8], validators: &[(&str, &str)]) -> Reply {
    let Some((start, end)) = request.range() else { return reply(200, validators, content) };
    let range = format!("bytes {start}-{}/{}", end - 1, content.len());
    let headers: Vec<_> = validators.iter().copied().chain([("Content-Range", range.as_str())]).collect();
    reply(206, &headers, &content[start..end])
}

/// Bytes that tell where they stand.
pub fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// The server. It ends with the test's runtime.
pub struct Server {
    pub origin: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers each request by this, which is also told how many there were before.
    pub async fn start(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (log, answer) = (asked.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, answer.clone(), log.clone()));
            }
        });
        Self { origin, asked }
    }

    pub fn url(&self) -> String {
        format!("{}/image.iso", self.origin)
    }

    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// The ranges that were asked for, the opening left out.
    pub fn ranges(&self) -> Vec<(usize, usize)> {
        self.asked().iter().filter_map(Request::range).filter(|range| *range != (0, 1)).collect()
    }
}

async fn connection(
    stream: TcpStream,
    answer: Arc<impl Fn(&Request, usize) -> Reply>,
    log: Arc<Mutex<Vec<Request>>>,
) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = receive(&mut stream).await {
        let reply = {
            let mut log = log.lock().unwrap();
            let reply = answer(&request, log.len());
            log.push(request);
            reply
        };
        let all = [reply.head.as_bytes(), b"\r\n", &reply.body].concat();
        if stream.get_mut().write_all(&all).await.is_err() || reply.then == Then::Close {
            return;
        }
        if reply.then == Then::Stall {
            // Till the client has had enough.
            stream.read_u8().await.ok();
            return;
        }
    }
}

async fn receive(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    Some(Request { path, headers })
}
