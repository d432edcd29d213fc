//! What goes over the wire, byte for byte: a machine's firmware, and whoever means harm, are not held to what a client's
//! library would send or accept.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};

use super::*;
use crate::{
    capability::{Capability, Key, Purpose},
    delivery::{
        ArtifactName, Configuration, Counted, Learned, Medium, MediumName, MetaData, Refusal, Reported,
    },
};

/// Whatever hangs is a failure. Longer than the pause for who asks wrongly, shorter than a head may take.
const LIMIT: Duration = Duration::from_secs(20);
/// Begins what is served, and nothing else.
const MARK: &str = "served-4711";
const SCRIPT: &str = "#!ipxe\n# served-4711\n";
const USER_DATA: &str = "#cloud-config\n# served-4711\n";

/// Serves some of each kind: what is larger than one piece, too.
struct Stocked;

fn capability(purpose: Purpose) -> Capability {
    Key::new(&[7; 32]).unwrap().capability(purpose, "c")
}

fn path(purpose: Purpose, name: &str) -> String {
    format!("/c/{}/{name}", capability(purpose).in_url())
}

fn kernel() -> Bytes {
    MARK.bytes().cycle().take(300_001).collect()
}

fn program() -> Bytes {
    MARK.bytes().cycle().take(70_001).collect()
}

fn ipxe() -> Bytes {
    MARK.bytes().cycle().take(1_001).collect()
}

impl Desk for Stocked {
    fn configuration<'a>(&'a self, shown: &'a Capability) -> BoxFuture<'a, Result<Configuration, Refusal>> {
        let found = *shown == capability(Purpose::Configuration);
        let meta_data = MetaData {
            instance_id: "i".to_owned(),
            hostname: MARK.to_owned(),
            provider_id: "b7://metal/h".to_owned(),
            zone: None,
            host: "h".to_owned(),
            namespace: "metal".to_owned(),
            cluster: None,
            uuid: None,
            phone_home_url: "http://b/home".to_owned(),
            more: Default::default(),
        };
        let configuration = Configuration { user_data: USER_DATA.into(), meta_data, network_config: None };
        Box::pin(async move { if found { Ok(configuration) } else { Err(Refusal::Nothing) } })
    }

    fn medium<'a>(
        &'a self,
        shown: &'a Capability,
        name: MediumName<'a>,
    ) -> BoxFuture<'a, Result<Medium, Refusal>> {
        let source = match name {
            MediumName::Artifact(ArtifactName::Kernel) => Some(kernel()),
            MediumName::Artifact(ArtifactName::Program) => Some(program()),
            MediumName::Artifact(_) | MediumName::Image { .. } | MediumName::Volume { .. } => None,
        };
        let source = source.filter(|_| *shown == capability(Purpose::Media));
        let medium =
            source.map(|source| Medium { source: Arc::new(source), etag: "e".to_owned(), telling: None });
        Box::pin(async move { medium.ok_or(Refusal::Nothing) })
    }

    fn script(&self, shown: &Capability) -> Result<String, Refusal> {
        if *shown == capability(Purpose::Media) { Ok(SCRIPT.to_owned()) } else { Err(Refusal::Nothing) }
    }

    fn loader(&self, name: &str) -> Option<Bytes> {
        (name == "snponly.efi").then(ipxe)
    }

    fn admit_agent(&self, shown: &Capability) -> Result<(), Refusal> {
        if *shown == capability(Purpose::Agent) { Ok(()) } else { Err(Refusal::Nothing) }
    }

    fn report<'a>(
        &'a self,
        _: &'a Capability,
        _: beskar7_agent_protocol::report::Report,
    ) -> BoxFuture<'a, Result<Reported, Refusal>> {
        Box::pin(std::future::ready(Ok(Reported::Taken)))
    }

    fn may_call_home(&self, shown: &Capability) -> bool {
        *shown == capability(Purpose::PhoneHome)
    }

    fn learned(&self, _: &Capability, _: Learned) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn counted(&self, _: Counted) {}
}

/// A server that listens.
struct Served {
    at: SocketAddr,
    stop: CancellationToken,
    server: JoinHandle<io::Result<()>>,
}

impl Served {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (at, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let server = tokio::spawn(serve(listener, Arc::new(Stocked), None, stop.clone()));
        Self { at, stop, server }
    }

    /// All that is answered to these bytes until the connection ends. Who is sent away may be cut off while it speaks.
    async fn says_to(&self, said: &[u8]) -> Vec<u8> {
        let exchange = async {
            let (mut reading, mut writing) = TcpStream::connect(self.at).await.unwrap().into_split();
            let mut answer = Vec::new();
            let spoken = async { writing.write_all(said).await.ok() };
            let heard = async { reading.read_to_end(&mut answer).await.ok() };
            tokio::join!(spoken, heard);
            answer
        };
        let start: Vec<u8> = said.iter().copied().take(80).collect();
        let answered = tokio::time::timeout(LIMIT, exchange).await;
        answered
            .unwrap_or_else(|_| panic!("{:?} is not answered, nor cut off", start.escape_ascii().to_string()))
    }

    /// Head and body of the answer to a request as it should be.
    async fn answer(&self, method: &str, path: &str) -> (Vec<String>, Vec<u8>) {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n");
        let answer = self.says_to(request.as_bytes()).await;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let head = head.split("\r\n").filter(|line| !line.starts_with("date: ")).map(str::to_owned).collect();
        (head, answer[end + 4..].to_vec())
    }

    async fn end(self) {
        self.stop.cancel();
        self.server.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_machines_boot_is_sent_whole_with_its_length_and_from_where_they_asked() {
    let served = Served::start();
    for (path, content_type, content) in [
        (path(Purpose::Media, "boot.ipxe"), "text/plain; charset=utf-8", SCRIPT.into()),
        (path(Purpose::Media, "kernel"), "application/octet-stream", kernel()),
        (path(Purpose::Media, "program.efi"), "application/efi", program()),
        (path(Purpose::Configuration, "user-data"), "text/plain; charset=utf-8", USER_DATA.into()),
        ("/ipxe/snponly.efi".to_owned(), "application/efi", ipxe()),
    ] {
        let (mut head, body) = served.answer("GET", &path).await;
        assert!(body == content, "{path}: {} bytes are not what is served", body.len());
        let (mut looked, nothing) = served.answer("HEAD", &path).await;
        assert!(nothing.is_empty(), "{path}: {} bytes for HEAD", nothing.len());
        assert_eq!(head[0], "HTTP/1.1 200 OK", "{path}");
        for line in [format!("content-length: {}", content.len()), format!("content-type: {content_type}")] {
            assert_eq!(head.iter().filter(|found| **found == line).count(), 1, "{path}: {line} in {head:?}");
        }
        for name in ["transfer-encoding", "location", "content-encoding"] {
            assert!(!head.iter().any(|line| line.starts_with(name)), "{path}: {head:?}");
        }
        head.sort();
        looked.sort();
        assert_eq!(looked, head, "{path}: HEAD says what GET says");
    }
    served.end().await;
}

/// Bytes without a pattern, the same each time, that end as a head ends.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .take(64)
    .flatten()
    .collect();
    bytes.extend(b"\r\n\r\n");
    bytes
}

/// What nobody sends who means well. Each is to be answered, or cut off; what is a request asks to be the last one.
fn hostile() -> Vec<(String, Vec<u8>)> {
    let own = |name: &str| path(Purpose::Configuration, name);
    let home = path(Purpose::PhoneHome, "phone-home");
    let paths = [
        own("../../user-data"),
        own("../user-data"),
        own("./user-data"),
        own("/user-data"),
        own("%2e%2e%2fuser-data"),
        own("..%2f..%2fetc/passwd"),
        own("../../../../../../etc/passwd"),
        own("..\\..\\user-data"),
        own("user%2ddata"),
        own("user-data%00"),
        own("user-data;x"),
        path(Purpose::Media, "../kernel"),
        path(Purpose::Media, "../../etc/kernel.iso"),
        path(Purpose::Media, "volume/..%2fkernel.iso"),
        path(Purpose::Media, "program.efi/../kernel/"),
        "/ipxe/..%2fsecret".to_owned(),
        "/ipxe/../../etc/passwd".to_owned(),
        "/ipxe/%2e%2e/snponly.efi%00".to_owned(),
        "/ipxe//etc/passwd".to_owned(),
        "//etc/passwd".to_owned(),
        "*".to_owned(),
        "etc/passwd".to_owned(),
        "http://elsewhere/etc/passwd".to_owned(),
    ];
    let get =
        |path: &str| format!("GET {path} HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n").into_bytes();
    let mut all: Vec<(String, Vec<u8>)> = paths.iter().map(|path| (path.clone(), get(path))).collect();
    let good = own("user-data");
    let post = |headers: &str, body: &str| {
        format!("POST {good} HTTP/1.1\r\nHost: b\r\nConnection: close\r\n{headers}\r\n{body}").into_bytes()
    };
    let headers: String = (0..1_000).map(|number| format!("X-{number}: y\r\n")).collect();
    let named = [
        ("a request line of a megabyte", get(&format!("/{}", "a".repeat(1 << 20)))),
        ("a method of a megabyte", "A".repeat(1 << 20).into_bytes()),
        ("a thousand headers", format!("GET {good} HTTP/1.1\r\n{headers}\r\n").into_bytes()),
        (
            "a header of a megabyte",
            format!("GET {good} HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(1 << 20)).into_bytes(),
        ),
        ("more than anybody sends", post("Content-Length: 99999999999\r\n", "x")),
        ("more than a number holds", post("Content-Length: 99999999999999999999999999\r\n", "x")),
        ("less than nothing", post("Content-Length: -1\r\n", "x")),
        ("two lengths", post("Content-Length: 1\r\nContent-Length: 2\r\n", "xy")),
        ("a length, and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
        ("a chunk without a number", post("Transfer-Encoding: chunked\r\n", "zz\r\nx\r\n")),
        ("a chunk too large", post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nx\r\n")),
        ("an unknown encoding", post("Transfer-Encoding: moonlight\r\n", "x")),
        ("NUL in a path", b"GET /\0 HTTP/1.1\r\nHost: b\r\n\r\n".to_vec()),
        ("NUL in a header", format!("GET {good} HTTP/1.1\r\nX: a\0b\r\n\r\n").into_bytes()),
        ("NULs", b"\0\0\0\0\0\0\0\0\r\n\r\n".to_vec()),
        ("no version", b"GET /\r\n\r\n".to_vec()),
        ("another version", format!("GET {good} HTTP/9.9\r\n\r\n").into_bytes()),
        ("a header without a name", format!("GET {good} HTTP/1.1\r\n: x\r\n\r\n").into_bytes()),
        ("no path", b"GET  HTTP/1.1\r\n\r\n".to_vec()),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec()),
        ("another's call", get(&home)),
        ("a tunnel", b"CONNECT etc:22 HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n".to_vec()),
    ];
    all.extend(named.map(|(name, bytes)| (name.to_owned(), bytes)));
    all.extend((1..=40).map(|seed| (format!("noise {seed}"), noise(seed))));
    all
}

#[tokio::test]
async fn hostile_requests_get_nothing_and_others_are_answered_as_before() {
    let served = Served::start();
    let (good, script) = (path(Purpose::Configuration, "user-data"), path(Purpose::Media, "boot.ipxe"));
    let expected = [served.answer("GET", &good).await, served.answer("GET", &script).await];
    assert_eq!([&expected[0].1[..], &expected[1].1[..]], [USER_DATA.as_bytes(), SCRIPT.as_bytes()]);
    for (name, said) in hostile() {
        let answer = served.says_to(&said).await;
        let answer = answer.escape_ascii().to_string();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4"),
            "{name}: {answer:.300}"
        );
        assert!(!answer.contains(MARK) && !answer.contains("root:"), "{name}: {answer:.300}");
        let now = [served.answer("GET", &good).await, served.answer("GET", &script).await];
        assert!(now == expected, "after {name}: {:?}", [&now[0].0, &now[1].0]);
    }
    served.end().await;
}
