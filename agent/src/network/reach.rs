//! Whether the server is at the other end.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use url::Url;

const LIMIT: Duration = Duration::from_secs(5);

/// Tries whether something listens where a URL points to.
///
/// # Errors
/// Nothing does, and why.
pub fn reach(url: &Url) -> Result<(), String> {
    let host = url.host_str().ok_or("its URL names no host")?;
    let port = url.port_or_known_default().ok_or("its URL names no port")?;
    let named = |error: std::io::Error| format!("{host}:{port}: {error}");
    // An IPv6 address stands in brackets in a URL, and nowhere else.
    let host_alone = host.trim_start_matches('[').trim_end_matches(']');
    let mut last = format!("{host} has no address");
    for address in (host_alone, port).to_socket_addrs().map_err(named)? {
        match TcpStream::connect_timeout(&address, LIMIT) {
            Ok(_open) => return Ok(()),
            Err(error) => last = named(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_is_reached_where_it_listens_and_not_where_it_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let url: Url = format!("http://{address}/c/secret/").parse().unwrap();
        assert_eq!(reach(&url), Ok(()));
        drop(listener);
        let error = reach(&url).unwrap_err();
        assert!(error.starts_with(&address.to_string()) && !error.contains("secret"), "{error}");
    }
}
