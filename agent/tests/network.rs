//! The way to a server on a real network: a cable of the kernel's, and a DHCP server of somebody else's at its other end.
//!
//! The test's program starts itself again in a network of its own, where nothing of this machine can be reached. Only root
//! may make one; where something is missing, the test says so, and is skipped.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use beskar7_agent::journal::Journal;
use beskar7_agent::network::{Mac, Network, Wanted, reach, renew};

/// By which the second process knows that it is the one.
const VARIABLE: &str = "BESKAR7_AGENT_NETWORK_TEST";
const TEST: &str = "an_address_is_had_by_dhcp_kept_and_replaced_by_a_fixed_one";
const MAC: &str = "52:54:00:ab:00:01";
const SITE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// At the other end of the cable: waits until that is there, and then gives addresses and names.
const NEIGHBOUR: &str = r#"
    echo ready; read -r directory
    ip link set lo up && ip address add 10.77.0.1/24 dev site0 && ip link set site0 up || exit 1
    exec dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root --pid-file="$directory/pid" --no-resolv \
        --no-hosts --interface=site0 --bind-interfaces --dhcp-leasefile="$directory/leases" --log-dhcp \
        --log-facility="$directory/log" --dhcp-range=10.77.0.10,10.77.0.20,255.255.255.0,2m \
        --dhcp-option=3,10.77.0.1 --dhcp-option=6,10.77.0.1 --address=/boot.test/10.77.0.1
"#;

#[test]
fn an_address_is_had_by_dhcp_kept_and_replaced_by_a_fixed_one() {
    if std::env::var_os(VARIABLE).is_some() {
        return inside();
    }
    if let Some(missing) = missing() {
        beskar7_skipped::skipped(TEST, missing);
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount"]).arg(program).args(["--exact", TEST, "--nocapture"]);
    let output = command.env(VARIABLE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{told}");
    beskar7_skipped::passed_on(&told);
}

fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root may make a network".to_owned());
    }
    let found = |program: &&&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|directory| directory.join(program).exists())
    };
    let program = ["ip", "dnsmasq", "unshare", "mount"].iter().find(|program| !found(program));
    let forbidden = || {
        let tried = Command::new("unshare")
            .args(["--net", "--mount", "ip", "link", "add", "x", "type", "veth"])
            .output();
        let is_possible = tried.is_ok_and(|output| output.status.success());
        (!is_possible).then(|| "no network of its own can be made here".to_owned())
    };
    program.map(|program| format!("{program} is not installed")).or_else(forbidden)
}

/// Another computer, which ends with the test.
struct Neighbour(Child);

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn ip(arguments: &str) -> String {
    run("ip", &arguments.split(' ').collect::<Vec<_>>())
}

/// A cable from here to another computer, that serves DHCP and names.
fn connected_to_a_neighbour(directory: &Path) -> Neighbour {
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", NEIGHBOUR]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut neighbour = Neighbour(command.spawn().unwrap());
    let mut ready = String::new();
    BufReader::new(neighbour.0.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    ip(&format!("link add agent0 address {MAC} type veth peer name site0 netns {}", neighbour.0.id()));
    writeln!(neighbour.0.stdin.take().unwrap(), "{}", directory.display()).unwrap();
    neighbour
}

/// A `/sys` that shows the interfaces of this network: the one that is there shows those of the machine.
fn mounted_sys(directory: &Path) -> PathBuf {
    let sys = directory.join("sys");
    std::fs::create_dir(&sys).unwrap();
    run("mount", &["-t", "sysfs", "sysfs", sys.to_str().unwrap()]);
    sys
}

fn inside() {
    let directory = tempfile::tempdir().unwrap();
    let (sys, etc) = (mounted_sys(directory.path()), directory.path().join("etc"));
    let _neighbour = connected_to_a_neighbour(directory.path());
    let journal = Journal::new(Box::new(std::io::stderr()), "");
    let mac: Mac = MAC.parse().unwrap();
    let wanted = Wanted { interface: Some(mac), address: None };
    let limit = Duration::from_secs(120);
    let mut network = Network { sys, etc: etc.clone(), wanted, limit, journal: &journal };
    // dnsmasq listens for names by TCP, too: that is a server to reach.
    let url = format!("http://{SITE}:53/").parse().unwrap();
    let connected = network.connect(&|| reach(&url)).unwrap();
    let (address, lease) = (connected.addressing.address, connected.lease.unwrap());
    assert!(
        (10..=20).contains(&address.octets()[3]) && address.octets()[..3] == SITE.octets()[..3],
        "{address}"
    );
    assert_eq!((lease.server, lease.lasts.as_secs()), (SITE, 120));
    assert!((1..=60).contains(&lease.renew_after.as_secs()), "{lease:?}");
    assert!(ip("-4 address show agent0").contains(&format!("inet {address}/24")));
    assert!(ip("route").contains("default via 10.77.0.1 dev agent0"), "{}", ip("route"));
    assert_eq!(std::fs::read_to_string(etc.join("resolv.conf")).unwrap(), "nameserver 10.77.0.1\n");
    // The same for longer.
    let renewed = renew(&connected.interface, &lease).unwrap();
    assert_eq!((&renewed.addressing, renewed.server, renewed.lasts), (&lease.addressing, SITE, lease.lasts));
    let log = std::fs::read_to_string(directory.path().join("log")).unwrap();
    assert_eq!(log.matches("DHCPACK(site0)").count(), 2, "{log}");
    assert!(!log.contains("vendor class"), "who boots firmware must not answer: {log}");
    // The same name is asked for by who has these servers, and is found.
    run("mount", &["--bind", etc.join("resolv.conf").to_str().unwrap(), "/etc/resolv.conf"]);
    reach(&"http://boot.test:53/".parse().unwrap()).unwrap();
    // A fixed address takes the place of the other one.
    network.wanted.address = Some("10.77.0.99/24,10.77.0.1".parse().unwrap());
    let connected = network.connect(&|| reach(&url)).unwrap();
    assert_eq!((connected.addressing.address, connected.lease), (Ipv4Addr::new(10, 77, 0, 99), None));
    let shown = ip("-4 address show agent0");
    assert!(shown.contains("inet 10.77.0.99/24") && !shown.contains(&address.to_string()), "{shown}");
}
