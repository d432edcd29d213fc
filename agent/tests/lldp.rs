//! Hearing a switch at the other end of a cable that the kernel makes.
//!
//! The test's program starts itself again in a network of its own, so that no cable is left in the machine's. Only root may
//! make one; where something is missing, the test says so, and is skipped.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use std::{
    fs,
    num::NonZeroU32,
    os::fd::AsRawFd as _,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use beskar7_agent::inspection::{Interface, Listening, Wire as _};
use nix::{
    ifaddrs::getifaddrs,
    sys::socket::{LinkAddr, MsgFlags, sendto},
};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};

/// By which the second process knows that it is the one.
const VARIABLE: &str = "BESKAR7_AGENT_LLDP_TEST";
const TEST: &str = "the_switch_at_the_other_end_is_heard_and_nobody_else";

/// Whole frame: to the group, from somebody, and a message.
fn frame(port: &str) -> Vec<u8> {
    let port_length = u8::try_from(port.len() + 1).unwrap();
    [
        b"\x01\x80\xc2\x00\x00\x0e\x00\x1c\x73\xaa\xbb\xcc\x88\xcc".as_slice(),
        b"\x02\x07\x04\x00\x1c\x73\xaa\xbb\xcc",
        &[4, port_length, 5],
        port.as_bytes(),
        b"\x06\x02\x00\x78\x0a\x04leaf\x00\x00",
    ]
    .concat()
}

fn link(name: &str) -> LinkAddr {
    let mut all = getifaddrs().unwrap().filter(|interface| interface.interface_name == name);
    all.find_map(|interface| interface.address?.as_link_addr().copied()).unwrap()
}

/// Whether both cards let the group's frames through.
fn have_joined() -> bool {
    let groups = fs::read_to_string("/proc/thread-self/net/dev_mcast").unwrap();
    let joined = |name: &str| groups.lines().any(|line| line.contains(name) && line.contains("0180c200000e"));
    joined("cable0") && joined("cable1")
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

#[test]
fn the_switch_at_the_other_end_is_heard_and_nobody_else() {
    if std::env::var_os(VARIABLE).is_some() {
        return inside();
    }
    if let Some(missing) = missing() {
        beskar7_skipped::skipped(TEST, missing);
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.arg("--net").arg(program).args(["--exact", TEST, "--nocapture"]);
    let output = command.env(VARIABLE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{told}");
}

fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root may make a network".to_owned());
    }
    let tried = Command::new("unshare")
        .args(["--net", "ip", "link", "add", "cable0", "type", "veth", "peer", "name", "switch0"])
        .output();
    let is_possible = tried.is_ok_and(|output| output.status.success());
    (!is_possible)
        .then(|| "no network of its own can be made here, or unshare and ip are not installed".to_owned())
}

fn inside() {
    for (ours, theirs) in [("cable0", "switch0"), ("cable1", "switch1")] {
        ip(&format!("link add {ours} type veth peer name {theirs}"));
        ip(&format!("link set {ours} up"));
        ip(&format!("link set {theirs} up"));
    }
    let protocol = NonZeroU32::new(u32::from(0x88cc_u16.to_be())).map(Protocol::from_raw);
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, protocol).unwrap();
    let interfaces = ["cable0", "cable1"]
        .map(|name| Interface { name: name.to_owned(), index: u32::try_from(link(name).ifindex()).unwrap() });
    let over = AtomicBool::new(false);
    let heard = thread::scope(|scope| {
        scope.spawn(|| {
            // Until it is heard: a switch repeats itself too.
            while !over.load(Ordering::Relaxed) {
                if !have_joined() {
                    thread::yield_now();
                    continue;
                }
                for (name, port) in [("switch0", "Ethernet1"), ("switch1", "Ethernet2")] {
                    sendto(socket.as_raw_fd(), &frame(port), &link(name), MsgFlags::empty()).unwrap();
                }
                thread::yield_now();
            }
        });
        let heard = Listening::new(Duration::from_secs(600)).listen(&interfaces, &|| false);
        over.store(true, Ordering::Relaxed);
        heard.unwrap()
    });
    let ports: Vec<_> = heard.iter().map(|(name, heard)| (name.as_str(), heard.port.as_str())).collect();
    assert_eq!(ports, [("cable0", "Ethernet1"), ("cable1", "Ethernet2")]);
    assert!(heard.values().all(|heard| heard.system_name.as_deref() == Some("leaf")));

    let silent = Listening::new(Duration::from_millis(1)).listen(&interfaces, &|| false).unwrap();
    assert!(silent.is_empty(), "a short while without a message ends without one");
}
