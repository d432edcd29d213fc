//! Everything that a server may do to who reads from it.

use std::io;
use std::net::TcpStream;

use super::*;
use crate::loopback::{Loopback, Reply, Request};

/// Quick, and with few tries.
pub(crate) fn limits() -> Limits {
    let pause = Duration::from_millis(1);
    Limits {
        connection: Duration::from_secs(10),
        silence: Duration::from_secs(10),
        patience: Patience { first: pause, longest: pause, tries: 3 },
    }
}

fn server(loopback: &Loopback) -> Server {
    Server::connect(loopback.url("http"), None, limits()).unwrap()
}

fn content() -> Vec<u8> {
    (0..100_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

/// What a good server answers to a request for a part.
fn part(request: &Request, etag: &str) -> Reply {
    let all = content();
    let from = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    match from {
        None => Reply::new(200, all),
        Some(from) => Reply::new(206, &all[from..])
            .with("Content-Range", format!("bytes {from}-{}/{}", all.len() - 1, all.len())),
    }
    .with("ETag", etag)
}

pub(crate) fn read(fetched: Result<Fetched, FetchError>) -> Result<Vec<u8>, FetchError> {
    let mut all = Vec::new();
    let read = fetched?.body.read_to_end(&mut all);
    read.map(|_| all).map_err(|error| error.downcast::<FetchError>().unwrap())
}

#[test]
fn what_breaks_off_goes_on_from_there() {
    let loopback = Loopback::serve(|before, request| match before {
        0 => part(request, "\"1\"").breaking_after(30_000),
        1 => Reply::new(503, "busy"),
        2 => part(request, "\"1\"").breaking_after(0),
        3 => part(request, "\"1\"").breaking_after(20_000),
        _ => part(request, "\"1\""),
    });
    let fetched = server(&loopback).open("image", 0);
    assert_eq!(fetched.as_ref().unwrap().total, Some(100_000));
    assert!(read(fetched).unwrap() == content());
    let asked = loopback.asked();
    assert_eq!(asked[0].path, "/c/secret/image");
    assert_eq!((asked[0].header("range"), asked[0].header("if-range")), (None, None));
    for (request, from) in asked[1..].iter().zip([30_000, 30_000, 30_000, 50_000]) {
        assert_eq!(request.header("range"), Some(format!("bytes={from}-").as_str()));
        assert_eq!(request.header("if-range"), Some("\"1\""));
    }
    assert_eq!(asked.len(), 5);
}

#[test]
fn a_server_without_ranges_is_read_again_from_the_beginning() {
    let loopback = Loopback::serve(|before, _| {
        let reply = Reply::new(200, content()).with("ETag", "\"1\"");
        if before < 2 { reply.breaking_after(40_000 + before * 1000) } else { reply }
    });
    assert!(read(server(&loopback).open("image", 0)).unwrap() == content());
    assert_eq!(loopback.asked().len(), 3);
    // Also for who begins later.
    assert!(read(server(&loopback).open("image", 99_990)).unwrap() == content()[99_990..]);
}

#[test]
fn what_changes_while_it_is_read_is_told() {
    for changed in [
        |request: &Request| part(request, "\"2\""),
        |_: &Request| Reply::new(200, content()).with("ETag", "\"2\""),
        |_: &Request| Reply::new(200, &content()[1..]).with("ETag", "\"1\""),
        |_: &Request| Reply::new(200, content()),
    ] {
        let loopback = Loopback::serve(move |before, request| match before {
            0 => part(request, "\"1\"").breaking_after(30_000),
            _ => changed(request),
        });
        let error = read(server(&loopback).open("image", 0)).unwrap_err();
        assert!(matches!(&error, FetchError::Changed(text) if text.contains("image")), "{error:?}");
    }
}

#[test]
fn parts_that_are_read_later_are_of_what_was_begun() {
    let loopback =
        Loopback::serve(|before, request| part(request, if before < 2 { "\"1\"" } else { "\"2\"" }));
    let server = server(&loopback);
    assert!(read(server.open("image", 0)).unwrap() == content());
    assert!(read(server.open("image", 50_000)).unwrap() == content()[50_000..]);
    assert!(matches!(server.open("image", 60_000).map(drop), Err(FetchError::Changed(_))));
    assert!(read(server.open("image", 0)).unwrap() == content(), "who begins anew takes what is there");
    assert!(read(server.open("image", 60_000)).unwrap() == content()[60_000..]);
}

#[test]
fn what_the_server_does_not_have_is_not_asked_for_again() {
    for status in [404, 410, 403, 301] {
        let loopback = Loopback::serve(move |_, _| Reply::new(status, "").with("Location", "/elsewhere"));
        let error = server(&loopback).open("image", 0).map(drop).unwrap_err();
        let is_lasting = matches!(&error, FetchError::Refused(_) | FetchError::NotThere(_));
        assert!(is_lasting && error.to_string().contains(&status.to_string()), "{error}");
        assert_eq!(loopback.asked().len(), 1);
    }
    let loopback = Loopback::serve(|before, request| match before {
        0 => part(request, "\"1\"").breaking_after(30_000),
        _ => Reply::new(410, ""),
    });
    let error = read(server(&loopback).open("image", 0)).unwrap_err();
    assert!(matches!(error, FetchError::NotThere(_)), "{error:?}");
}

#[test]
fn a_server_that_is_away_or_silent_is_not_waited_for_for_ever() {
    let gone = Loopback::serve(|_, _| Reply::Silence).url("http");
    let error = Server::connect(gone, None, limits()).unwrap().open("image", 0).map(drop).unwrap_err();
    assert!(matches!(&error, FetchError::Unreachable(text) if !text.contains("secret")), "{error}");
    let impatient = Limits { silence: Duration::from_millis(300), ..limits() };
    let silent = Loopback::serve(|_, _| Reply::Silence);
    let server = Server::connect(silent.url("http"), None, impatient).unwrap();
    assert!(matches!(server.open("image", 0).map(drop), Err(FetchError::Unreachable(_))));
    assert!(silent.asked().len() <= 4);
    // In the middle, too: it goes on elsewhere, and the part that was missing comes.
    let stuck = Loopback::behind(
        |before, request| match before {
            0 => part(request, "\"1\"").breaking_after(30_000),
            _ => part(request, "\"1\""),
        },
        |stream| Box::new(Stuck(stream)),
    );
    let patience = Patience { tries: 100, ..impatient.patience };
    let server = Server::connect(stuck.url("http"), None, Limits { patience, ..impatient }).unwrap();
    assert!(read(server.open("image", 0)).unwrap() == content());
}

/// A connection that is not closed when there is nothing more to send, until the client has gone away.
struct Stuck(TcpStream);

impl io::Read for Stuck {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl io::Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        drop(io::copy(&mut self.0, &mut io::sink()));
    }
}
