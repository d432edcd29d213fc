//! Files over loopback, from either kind of port.

use std::{net::Ipv4Addr, sync::Mutex};

use tokio::net::UdpSocket;

use super::*;
use crate::open_files::raise_limit;

/// What became of requests, in words.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Told {
    fn tell(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Watcher for Told {
    fn sent(&self, file: &str, _: SocketAddr) {
        self.tell(format!("sent {file}"));
    }

    fn refused(&self, file: &str, _: SocketAddr, why: ErrorCode) {
        self.tell(format!("refused {file}: {why:?}"));
    }

    fn gave_up(&self, file: &str, _: SocketAddr) {
        self.tell(format!("gave up {file}"));
    }
}

struct Served {
    at: SocketAddr,
    told: Arc<Told>,
    stop: CancellationToken,
    ended: tokio::task::JoinHandle<io::Result<()>>,
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at % 249).unwrap()).collect()
}

impl Served {
    async fn start(ports: Ports, files: &[(&str, usize)]) -> Self {
        Self::within(ports, files, Limits::default()).await
    }

    async fn within(ports: Ports, files: &[(&str, usize)], limits: Limits) -> Self {
        let files =
            Files::new(files.iter().map(|(name, length)| ((*name).to_owned(), content(*length).into())));
        let socket = bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, socket.address().unwrap().port()));
        let (told, stop) = (Arc::new(Told::default()), CancellationToken::new());
        let serving = serve(socket, files, (ports, limits), told.clone(), stop.clone());
        Self { at, told, stop, ended: tokio::spawn(serving) }
    }

    async fn end(self) -> Vec<String> {
        self.stop.cancel();
        self.ended.await.unwrap().unwrap();
        std::mem::take(&mut *self.told.0.lock().unwrap())
    }

    /// When as much was told as this.
    async fn told(&self, count: usize) {
        let enough = async {
            while self.told.0.lock().unwrap().len() < count {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), enough).await.unwrap();
    }
}

/// Reads a file as firmware does; the message where it is refused.
async fn read(at: SocketAddr, file: &str, options: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    read_with(&socket, at, file, options).await
}

async fn read_with(
    socket: &UdpSocket,
    at: SocketAddr,
    file: &str,
    options: &[(&str, &str)],
) -> Result<Vec<u8>, String> {
    let mut ask = vec![0, 1];
    let words = options.iter().flat_map(|(name, value)| [*name, *value]);
    for text in [file, "octet"].into_iter().chain(words) {
        ask.extend(text.bytes());
        ask.push(0);
    }
    socket.send_to(&ask, at).await.unwrap();
    let (mut read, mut last, mut block) = (Vec::new(), 0_u16, 512);
    let mut buffer = [0; 2048];
    loop {
        let (length, from) =
            timeout(Duration::from_secs(20), socket.recv_from(&mut buffer)).await.unwrap().unwrap();
        assert_eq!(from.ip(), at.ip(), "firmware hears only whom it asked");
        let bytes = &buffer[..length];
        match bytes[1] {
            5 => return Err(String::from_utf8_lossy(&bytes[4..length - 1]).into_owned()),
            6 => {
                let text = String::from_utf8_lossy(&bytes[2..]).into_owned();
                let words: Vec<&str> = text.split('\0').collect();
                if let Some(at) = words.iter().position(|word| *word == "blksize") {
                    block = words[at + 1].parse().unwrap();
                }
                socket.send_to(&[0, 4, 0, 0], from).await.unwrap();
            }
            3 => {
                let number = u16::from_be_bytes([bytes[2], bytes[3]]);
                if number == last.wrapping_add(1) {
                    read.extend(&bytes[4..]);
                    last = number;
                    let [high, low] = number.to_be_bytes();
                    socket.send_to(&[0, 4, high, low], from).await.unwrap();
                    if bytes.len() - 4 < block {
                        return Ok(read);
                    }
                }
            }
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn many_read_at_once_and_each_gets_its_file_whole() {
    for ports in [Ports::Each, Ports::Single] {
        let served = Served::start(ports, &[("snponly.efi", 300_001), ("small", 0)]).await;
        let readers = (0..20).map(|number| {
            let at = served.at;
            tokio::spawn(async move {
                let options: &[(&str, &str)] = if number % 2 == 0 {
                    &[]
                } else {
                    &[("blksize", "1468"), ("windowsize", "8"), ("tsize", "0")]
                };
                read(at, "/snponly.efi", options).await.unwrap()
            })
        });
        for reader in readers.collect::<Vec<_>>() {
            assert!(reader.await.unwrap() == content(300_001), "{ports:?}");
        }
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], served.at.port()));
        assert_eq!(read(elsewhere, "small", &[]).await, Ok(Vec::new()));
        assert!(read(elsewhere, "nothing", &[]).await.is_err());
        served.told(22).await;
        let told = served.end().await;
        for (what, expected) in
            [("sent /snponly.efi", 20), ("sent small", 1), ("refused nothing: NotFound", 1)]
        {
            assert_eq!(told.iter().filter(|told| *told == what).count(), expected, "{told:?}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_can_not_be_had_and_nothing_can_be_written() {
    let served = Served::start(Ports::Single, &[("file", 9)]).await;
    for name in ["", "nothing", "../file", "/etc/passwd", "dir/file"] {
        assert!(read(served.at, name, &[]).await.unwrap_err().contains("no such file"), "{name}");
    }
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(b"\0\x02file\0octet\0", served.at).await.unwrap();
    let mut buffer = [0; 64];
    let length = timeout(Duration::from_secs(20), socket.recv(&mut buffer)).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&buffer[..length]).contains("nothing can be written"));
    // What nobody understands is not answered, and changes nothing for others.
    for junk in [&b""[..], b"\0", b"\0\x09", &[255; 1400], b"\0\x04\0\x07"] {
        socket.send_to(junk, served.at).await.unwrap();
    }
    assert_eq!(read(served.at, "file", &[]).await, Ok(content(9)));
    served.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_only_probes_is_not_told_of_and_who_falls_silent_is_given_up() {
    for ports in [Ports::Each, Ports::Single] {
        let served = Served::start(ports, &[("file", 9)]).await;
        let (probing, silent) =
            (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let mut buffer = [0; 64];
        probing.send_to(b"\0\x01file\0octet\0tsize\x000\0", served.at).await.unwrap();
        let (length, from) = probing.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"\0\x06tsize\x009\0");
        probing.send_to(b"\0\x05\0\x08enough\0", from).await.unwrap();
        silent.send_to(b"\0\x01file\0octet\0", served.at).await.unwrap();
        silent.recv_from(&mut buffer).await.unwrap();
        served.told(1).await;
        // The probe's transfer is over, too: it would have been given up before.
        assert_eq!(served.end().await, ["gave up file"], "{ports:?}");
    }
}

#[test]
fn a_port_that_can_not_be_had_says_why() {
    let first = bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let taken = SocketAddrV4::new(Ipv4Addr::LOCALHOST, first.address().unwrap().port());
    let said = bind(taken).unwrap_err().to_string();
    assert!(said.contains("TFTP") && said.contains("127.0.0.1") && said.contains("Another server"), "{said}");
}

#[tokio::test]
async fn a_client_may_read_one_file_after_the_other_from_the_same_port() {
    for ports in [Ports::Each, Ports::Single] {
        let served = Served::start(ports, &[("first", 9), ("second", 600)]).await;
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for (file, length) in [("first", 9), ("second", 600), ("second", 600), ("first", 9)].repeat(50) {
            // Nothing is asked twice: where a request gets lost, this waits in vain.
            assert_eq!(read_with(&socket, served.at, file, &[]).await, Ok(content(length)), "{ports:?}");
        }
        served.told(200).await;
        assert!(served.end().await.iter().all(|told| told.starts_with("sent ")));
    }
}

#[tokio::test]
async fn with_one_port_a_request_that_comes_twice_is_one_until_it_was_answered() {
    let served = Served::start(Ports::Single, &[("file", 9)]).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let say = async |bytes: &[u8]| socket.send_to(bytes, served.at).await.unwrap();
    let hear = async || {
        let mut buffer = [0; 64];
        let (length, _) =
            timeout(Duration::from_secs(20), socket.recv_from(&mut buffer)).await.unwrap().unwrap();
        buffer[..length].to_vec()
    };
    for _ in 0..20 {
        say(b"\0\x01file\0octet\0tsize\x000\0").await;
        say(b"\0\x01file\0octet\0tsize\x000\0").await;
        assert_eq!(hear().await, b"\0\x06tsize\x009\0");
        say(b"\0\x05\0\x08enough\0").await;
    }
    // Nothing came twice: what is heard next is the answer to what is asked next.
    say(b"\0\x01nothing\0octet\0").await;
    assert_eq!(hear().await[1], 5);
    assert_eq!(served.end().await, ["refused nothing: NotFound"]);
}

#[tokio::test]
async fn who_asks_for_everything_and_reads_nothing_keeps_nobody_else_waiting() {
    // How many there may be goes by the limit of the process, which another test raises.
    raise_limit();
    for ports in [Ports::Each, Ports::Single] {
        let served = Served::start(ports, &[("file", 600)]).await;
        let mut flood = Vec::new();
        for number in 0..Shares::now().transfers {
            let socket = UdpSocket::bind("127.0.0.3:0").await.unwrap();
            socket.send_to(b"\0\x01file\0octet\0timeout\x0010\0", served.at).await.unwrap();
            if number < MOST_OF_ONE {
                let answered = timeout(Duration::from_secs(20), socket.recv(&mut [0; 64])).await;
                answered.unwrap().unwrap();
            }
            flood.push(socket);
        }
        assert_eq!(read(served.at, "file", &[]).await, Ok(content(600)), "{ports:?}");
        served.end().await;
    }
}

#[tokio::test]
async fn blocks_have_room_in_a_packet_of_the_interface() {
    let limits = Limits { block: 1 << 20, ..Limits::default() };
    let loopback = i32::try_from(nix::net::if_::if_nametoindex("lo").unwrap()).unwrap();
    let expected = limits.within(Mtus::default().of(loopback)).block.min(65_530);
    let served = Served::within(Ports::Each, &[("a", 9)], limits).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(b"\0\x01a\0octet\0blksize\x0065530\0", served.at).await.unwrap();
    let mut buffer = [0; 100];
    let (length, _) = timeout(Duration::from_secs(20), socket.recv_from(&mut buffer)).await.unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&buffer[..length]), format!("\0\x06blksize\0{expected}\0"));
    served.end().await;
}
