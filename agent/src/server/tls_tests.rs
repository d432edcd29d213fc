//! A server that is known by its CA, and clocks that are off.

use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::client::tests::{limits, read};
use super::*;
use crate::fetching::{Fetch as _, FetchError};
use crate::loopback::{Loopback, Reply};

/// A server's end of TLS, with a certificate for these years by a CA; and that CA's certificate.
fn with_tls(since: i32, until: i32) -> (Arc<ServerConfig>, rcgen::Certificate) {
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = parameters.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::new(parameters, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let mut leaf = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    leaf.not_before = rcgen::date_time_ymd(since, 1, 1);
    leaf.not_after = rcgen::date_time_ymd(until, 1, 1);
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = key.serialize_der().try_into().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![leaf.der().clone()], key).unwrap();
    (Arc::new(config), ca)
}

/// The file that a ramdisk made with this CA has.
fn in_ramdisk(ca: &rcgen::Certificate) -> Ca {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, ca.pem()).unwrap();
    Ca::read(&path).unwrap().unwrap()
}

/// A server with this end of TLS, that says this as the time.
fn serve(config: &Arc<ServerConfig>, date: Option<&'static str>) -> Loopback {
    let config = Arc::clone(config);
    Loopback::behind(
        move |_, _| date.into_iter().fold(Reply::new(200, "image"), |reply, date| reply.with("Date", date)),
        move |stream| Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream)),
    )
}

#[test]
fn only_a_server_of_the_ca_in_the_ramdisk_is_spoken_to() {
    let (config, ca) = with_tls(2000, 2900);
    let loopback = serve(&config, None);
    let server = Server::connect(loopback.url("https"), Some(&in_ramdisk(&ca)), limits()).unwrap();
    assert_eq!(read(server.open("image", 0)).unwrap(), b"image");
    let error = Server::connect(loopback.url("https"), None, limits()).map(drop).unwrap_err();
    assert!(error.to_string().contains("make ramdisk CA="), "{error}");
}

#[test]
fn who_is_not_verified_is_not_told_the_machines_url() {
    let (config, _) = with_tls(2000, 2900);
    let (_, ca) = with_tls(2000, 2900);
    let pretending = serve(&config, None);
    let server = Server::connect(pretending.url("https"), Some(&in_ramdisk(&ca)), limits()).unwrap();
    let error = server.open("image", 0).map(drop).unwrap_err();
    assert!(matches!(&error, FetchError::Unreachable(text) if text.contains("certificate")), "{error}");
    let asked: Vec<String> = pretending.asked().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, ["/healthz"]);
}

#[test]
fn a_machine_whose_clock_is_off_believes_the_server() {
    for (since, until, date, is_off, works) in [
        (2890, 2900, Some("Sat, 01 Jan 2895 10:00:00 GMT"), true, true),
        (2000, 2005, Some("Thu, 01 Jan 2004 10:00:00 GMT"), true, true),
        (2890, 2900, Some("Thu, 01 Jan 2004 10:00:00 GMT"), true, false),
        (2890, 2900, None, false, false),
        (2000, 2900, Some("yesterday"), false, true),
    ] {
        let (config, ca) = with_tls(since, until);
        let loopback = serve(&config, date);
        let server = Server::connect(loopback.url("https"), Some(&in_ramdisk(&ca)), limits()).unwrap();
        assert_eq!(server.clock_is_off(), is_off, "{date:?}");
        assert_eq!(read(server.open("image", 0)).is_ok(), works, "{since} {until} {date:?}");
    }
}
