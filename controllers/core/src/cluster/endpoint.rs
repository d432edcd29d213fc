//! Endpoints: whether one can work as it is given, and which address of a machine becomes one.

use std::net::IpAddr;

use beskar7_api::{
    address::{AddressType, MachineAddress},
    cluster::ApiEndpoint,
};

/// Where an API server listens unless somebody says otherwise.
const API_PORT: i32 = 6443;
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// The endpoint, if it names a host. Go programs write one with an empty host where they have none.
pub(super) fn named(endpoint: Option<&ApiEndpoint>) -> Option<&ApiEndpoint> {
    endpoint.filter(|endpoint| !endpoint.host.is_empty())
}

/// The endpoint as it is meant: without a port, the usual one.
///
/// # Errors
/// What is wrong with it, and what to write instead.
pub(super) fn checked(endpoint: &ApiEndpoint) -> Result<ApiEndpoint, String> {
    let ApiEndpoint { host, port } = endpoint;
    if !is_host(host) {
        return Err(format!(
            "{host:?} is neither an IP address nor a DNS name: write one of them, in lower case, without scheme, port \
             or brackets"
        ));
    }
    let port = if *port == 0 { API_PORT } else { *port };
    if !(1..=65535).contains(&port) {
        return Err(format!("{port} is no port: write a number from 1 to 65535, or none for {API_PORT}"));
    }
    Ok(ApiEndpoint { host: host.clone(), port })
}

/// The endpoint at an address; the port may have been wished for without a host.
pub(super) fn at(address: &str, wished: Option<&ApiEndpoint>) -> ApiEndpoint {
    let port = wished.map(|wished| wished.port).filter(|port| (1..=65535).contains(port));
    ApiEndpoint { host: address.to_owned(), port: port.unwrap_or(API_PORT) }
}

/// As people write it.
pub(super) fn text(endpoint: &ApiEndpoint) -> String {
    let ApiEndpoint { host, port } = endpoint;
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The best address to reach a machine at, and how good it is: the lower, the better. Of equally good ones, the first.
pub(super) fn best(addresses: &[MachineAddress]) -> Option<(u8, &str)> {
    addresses
        .iter()
        .filter(|address| reaches(&address.address))
        .map(|address| (rank(address.type_), address.address.as_str()))
        .min_by_key(|(rank, _)| *rank)
}

/// A cluster talks to itself at its endpoint, so inside comes before outside, and addresses, which need nobody to
/// resolve them, before names.
const fn rank(type_: AddressType) -> u8 {
    match type_ {
        AddressType::InternalIP => 0,
        AddressType::ExternalIP => 1,
        AddressType::InternalDNS => 2,
        AddressType::ExternalDNS => 3,
        AddressType::Hostname => 4,
    }
}

/// Whether others can reach somebody by this text. An address that counts on one wire only is of no use to them.
fn reaches(text: &str) -> bool {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => !address.is_link_local() && !address.is_unspecified(),
        Ok(IpAddr::V6(address)) => !address.is_unicast_link_local() && !address.is_unspecified(),
        Err(_) => is_host(text),
    }
}

fn is_host(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || is_dns_name(text)
}

/// A DNS name as Kubernetes and kubeadm take them. What ends in a number is a mistyped IP address.
fn is_dns_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= LONGEST_NAME
        && text.split('.').all(is_label)
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(host: &str, port: i32) -> ApiEndpoint {
        ApiEndpoint { host: host.to_owned(), port }
    }

    #[test]
    fn what_can_be_reached_is_taken_as_it_is() {
        let long = format!("{}.example.org", "a".repeat(63));
        for host in
            ["10.0.0.1", "2001:db8::7", "api", "api.example.org", "1a.b", "xn--bcher-kva.example", &long]
        {
            assert_eq!(checked(&endpoint(host, 443)), Ok(endpoint(host, 443)));
            assert_eq!(checked(&endpoint(host, 0)), Ok(endpoint(host, 6443)), "{host}");
        }
        assert_eq!(checked(&endpoint("a", 65535)), Ok(endpoint("a", 65535)));
    }

    #[test]
    fn what_cannot_be_reached_is_refused_with_what_to_write() {
        let (label, name) = ("a".repeat(64), format!("{}a", "a.".repeat(127)));
        for host in [
            "https://api.example.org",
            "api.example.org:6443",
            "10.0.0.1:6443",
            "[2001:db8::7]",
            "fe80::1%eth0",
            "10.0.0.300",
            "10.0.0",
            "Api.example.org",
            "api_1",
            "-api",
            "api-",
            "api..org",
            "api.",
            ".api",
            "api example",
            "api\n",
            "bücher.example",
            "*.example.org",
            &label,
            &name,
        ] {
            let told = checked(&endpoint(host, 6443)).expect_err(host);
            assert!(told.contains("without scheme, port or brackets"), "{told}");
        }
        for port in [-1, 65536] {
            let told = checked(&endpoint("api", port)).unwrap_err();
            assert!(told.contains("from 1 to 65535"), "{told}");
        }
    }

    #[test]
    fn an_empty_host_is_none() {
        assert_eq!(named(None), None);
        assert_eq!(named(Some(&endpoint("", 0))), None);
        assert_eq!(named(Some(&endpoint("", 6443))), None);
        assert!(named(Some(&endpoint("a", 0))).is_some());
    }

    #[test]
    fn inside_comes_before_outside_and_addresses_before_names() {
        use AddressType::*;
        let all = [
            (Hostname, "h"),
            (ExternalDNS, "e.example.org"),
            (InternalDNS, "i.example.org"),
            (ExternalIP, "192.0.2.1"),
            (InternalIP, "10.0.0.1"),
            (InternalIP, "10.0.0.2"),
        ]
        .map(|(type_, address)| MachineAddress { type_, address: address.to_owned() });
        let expected = ["10.0.0.1", "10.0.0.2", "192.0.2.1", "i.example.org", "e.example.org", "h"];
        let mut left = all.to_vec();
        for expected in expected {
            let (_, found) = best(&left).unwrap();
            assert_eq!(found, expected);
            let found = found.to_owned();
            left.retain(|address| address.address != found);
        }
        assert_eq!(best(&left), None);
        for useless in ["fe80::1", "169.254.3.4", "0.0.0.0", "::", "", "a b"] {
            let only = [MachineAddress { type_: InternalIP, address: useless.to_owned() }];
            assert_eq!(best(&only), None, "{useless}");
        }
    }

    #[test]
    fn a_port_may_be_wished_for() {
        assert_eq!(at("h", None), endpoint("h", 6443));
        assert_eq!(at("h", Some(&endpoint("", 0))), endpoint("h", 6443));
        assert_eq!(at("h", Some(&endpoint("", 8443))), endpoint("h", 8443));
        assert_eq!(at("h", Some(&endpoint("", -1))), endpoint("h", 6443));
        assert_eq!(text(&endpoint("10.0.0.1", 6443)), "10.0.0.1:6443");
        assert_eq!(text(&endpoint("2001:db8::7", 6443)), "[2001:db8::7]:6443");
    }
}
