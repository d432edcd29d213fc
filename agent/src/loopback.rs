//! A small HTTP server for tests, that can also do what a server should not: break off, be silent.

use std::io::{BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use url::Url;

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub method: String,
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// With these headers, and this body, of which the connection gives so many bytes.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8>, gives: usize },
    /// Nothing, for as long as somebody waits.
    Silence,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::Answer { status, headers: Vec::new(), gives: body.len(), body }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    /// The connection ends after so many bytes of the body.
    pub(crate) fn breaking_after(mut self, bytes: usize) -> Self {
        if let Self::Answer { gives, .. } = &mut self {
            *gives = bytes;
        }
        self
    }
}

/// A server. It ends when it is dropped.
pub(crate) struct Loopback {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
    asked: Arc<Mutex<Vec<Request>>>,
}

type Answering = Arc<dyn Fn(usize, &Request) -> Reply + Send + Sync>;

impl Loopback {
    /// One that answers by a rule, which is given how many requests there were before, and the request.
    pub(crate) fn serve(answering: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::behind(answering, Box::new)
    }

    /// The same behind something like TLS.
    pub(crate) fn behind<S: std::io::Read + Write + 'static>(
        answering: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
        wrapped: impl Fn(TcpStream) -> Box<S> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (ends, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (answering, wrapped): (Answering, _) = (Arc::new(answering), Arc::new(wrapped));
        let (its_end, its_asked) = (Arc::clone(&ends), Arc::clone(&asked));
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if its_end.load(Ordering::SeqCst) {
                    return;
                }
                let (answering, asked, wrapped) =
                    (Arc::clone(&answering), Arc::clone(&its_asked), Arc::clone(&wrapped));
                std::thread::spawn(move || answer(*wrapped(stream.unwrap()), &answering, &asked));
            }
        });
        Self { address, ends, listening: Some(listening), asked }
    }

    pub(crate) fn url(&self, scheme: &str) -> Url {
        format!("{scheme}://127.0.0.1:{}/c/secret/", self.address.port()).parse().unwrap()
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            listening.join().ok();
        }
    }
}

/// Answers one request; a client that goes away is nothing special.
fn answer(stream: impl std::io::Read + Write, answering: &Answering, asked: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    let Some(request) = read(&mut reader) else { return };
    let before = {
        let mut asked = asked.lock().unwrap();
        asked.push(request.clone());
        asked.len() - 1
    };
    match answering(before, &request) {
        Reply::Silence => drop(reader.read(&mut [0])),
        Reply::Answer { status, headers, body, gives } => {
            let mut head = format!("HTTP/1.1 {status} Some\r\nConnection: close\r\n");
            if status != 204 {
                head += &format!("Content-Length: {}\r\n", body.len());
            }
            headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
            let all = [head.as_bytes(), b"\r\n", &body[..gives]].concat();
            reader.get_mut().write_all(&all).and_then(|()| reader.get_mut().flush()).ok();
        }
    }
}

fn read(reader: &mut impl std::io::BufRead) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut first = lines[0].split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let header = |line: &String| {
        line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
    };
    let headers: Vec<(String, String)> = lines[1..].iter().filter_map(header).collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, text)| text.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body: String::from_utf8(body).unwrap() })
}
