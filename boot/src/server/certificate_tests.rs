//! Certificates that change while the server runs.

use std::net::SocketAddr;

use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::*;
use crate::server::tests::Empty;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn files(&self) -> (PathBuf, PathBuf) {
        (self.0.path().join("tls.crt"), self.0.path().join("tls.key"))
    }

    /// Writes a new certificate and returns it.
    fn renew(&self) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (certificate, key) = self.files();
        std::fs::write(certificate, made.cert.pem()).unwrap();
        std::fs::write(key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }
}

/// Whether the server shows this certificate.
async fn shows(at: SocketAddr, certificate: &CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(at).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(client)).connect(name, stream).await.is_ok()
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_up_and_a_broken_one_is_not() {
    let place = Place::new();
    let first = place.renew();
    let (certificate, key) = place.files();
    let mut loaded = Certificate::load(&certificate, &key).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (at, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let served =
        Certificate { config: loaded.config(), files: loaded.files.clone(), read: loaded.read.clone() };
    let server = tokio::spawn(super::super::serve(listener, Arc::new(Empty), Some(served), stop.clone()));
    assert!(shows(at, &first).await);

    let second = place.renew();
    assert!(shows(at, &first).await, "nobody has looked yet");
    loaded.look();
    assert!(shows(at, &second).await && !shows(at, &first).await);

    std::fs::write(&key, "no key").unwrap();
    loaded.look();
    assert!(shows(at, &second).await, "what was there stays");
    stop.cancel();
    server.await.unwrap().unwrap();
    assert!(TcpStream::connect(at).await.is_err());
}

#[test]
fn what_is_wrong_with_the_files_is_said() {
    let place = Place::new();
    let (certificate, key) = place.files();
    let load = || Certificate::load(&certificate, &key).err().unwrap().to_string();
    assert!(load().contains("tls.crt can't be read"));
    place.renew();
    std::fs::write(&key, "nothing").unwrap();
    assert!(load().contains("tls.key holds no private key"));
    std::fs::write(&certificate, "nothing").unwrap();
    assert!(load().contains("tls.crt holds no certificate"));
    place.renew();
    let of_another = rcgen::generate_simple_self_signed(vec!["x".to_owned()]).unwrap();
    std::fs::write(&key, of_another.signing_key.serialize_pem()).unwrap();
    assert!(load().contains("can't be used with its key"));
}
