use std::{
    convert::Infallible,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
};

use beskar7_boot::{
    capability::Key as BootKey,
    upstream::{UpstreamSettings, Upstreams},
};
use beskar7_core::network_boot::Agent;
use kube::client::Body;
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use super::*;

const KERNEL: &[u8] = b"abc";
const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Says at once what it has, and gives it once it may.
fn files(may: Receiver<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let may = Arc::new(Mutex::new(may));
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let may = may.clone();
            std::thread::spawn(move || answer(stream, &may));
        }
    });
    format!("http://{address}/vmlinuz#sha256={DIGEST}")
}

fn answer(mut stream: TcpStream, may: &Mutex<Receiver<()>>) {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        asked.extend(byte);
    }
    let asked = String::from_utf8(asked).unwrap().to_ascii_lowercase();
    let (_, range) = asked.split_once("range: bytes=").unwrap();
    let (first, last) = range.split_once("\r\n").unwrap().0.split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes {first}-{last}/{}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        KERNEL.len(),
        last - first + 1
    );
    stream.write_all(head.as_bytes()).unwrap();
    if last > first {
        // Until it may, or the test is over.
        let _over = may.lock().unwrap().recv();
    }
    let _gone = stream.write_all(&KERNEL[first..=last]);
}

fn nobody() -> Client {
    let service = tower::service_fn(|_: http::Request<Body>| async {
        Ok::<_, Infallible>(http::Response::builder().status(500).body(Body::empty()).unwrap())
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn what_takes_long_to_compare_is_said_at_once_and_looked_at_again_at_its_end() {
    let (let_go, may) = channel();
    let upstreams = Upstreams::new(&UpstreamSettings { allow_loopback: true, ..UpstreamSettings::default() });
    let key_of_links = BootKey::new(&[1; 32]).unwrap();
    let presenter = Presenter::new("http://b", key_of_links, upstreams.unwrap(), Agent::default());
    let (keys, mut woken) = unbounded_channel();
    let context = Context::new(nobody(), Cache::empty(), Some(presenter), keys);
    let configuration: HostBootConfiguration = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostBootConfiguration",
        "metadata": {"name": "h", "namespace": "metal", "generation": 1},
        "spec": {"hostRef": {"name": "h"}, "kernel": files(may)},
    }))
    .unwrap();
    let host: PhysicalHost = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal"},
        "spec": {"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"}},
    }))
    .unwrap();
    for _ in 0..2 {
        let (checked, again) = check(&configuration, &host, &context).await;
        let Checked::Comparing(why) = checked else { panic!("{checked:?}") };
        assert!(why.contains("/vmlinuz is compared with its digest"), "{why}");
        assert_eq!(again, Again::Comparing);
    }
    let_go.send(()).unwrap();
    assert_eq!(woken.recv().await, Some(("metal".to_owned(), "h".to_owned())));
    let (checked, again) = check(&configuration, &host, &context).await;
    assert!(matches!(checked, Checked::Ready(_)) && again == Again::Never, "{checked:?}");
    assert!(woken.try_recv().is_err(), "it was looked at twice, and is woken once");
}
