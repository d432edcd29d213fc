use std::{collections::BTreeMap, sync::Mutex};

use beskar7_agent_protocol::{
    hardware::{BootMode, Inventory, Neighbour, Nic},
    report::Progress,
};

use super::{Interface, Wire, inspect};
use crate::{
    fixture::Tree,
    telling::{Problem, Telling},
};

/// Hears what it was told that it will.
struct Told(Result<BTreeMap<String, Neighbour>, String>, Mutex<Vec<Interface>>);

impl Wire for Told {
    fn listen(
        &self,
        interfaces: &[Interface],
        _: &(dyn Fn() -> bool + Sync),
    ) -> Result<BTreeMap<String, Neighbour>, String> {
        self.1.lock().unwrap().extend_from_slice(interfaces);
        self.0.clone()
    }
}

#[derive(Default)]
struct Listener {
    lines: Mutex<Vec<String>>,
    unwanted: bool,
}

impl Telling for Listener {
    fn progress(&self, _: Progress) {}

    fn log(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }

    fn is_unwanted(&self) -> bool {
        self.unwanted
    }
}

fn neighbour() -> Neighbour {
    Neighbour { chassis: "leaf-3".into(), port: "Ethernet12".into(), ..Neighbour::default() }
}

fn look(
    tree: &Tree,
    heard: Result<BTreeMap<String, Neighbour>, String>,
) -> (Result<Inventory, Problem>, Vec<String>, Vec<Interface>) {
    let (wire, listener) = (Told(heard, Mutex::default()), Listener::default());
    let outcome = inspect(tree.root(), &wire, &listener, || {});
    (outcome, listener.lines.into_inner().unwrap(), wire.1.into_inner().unwrap())
}

/// Two cards, of which one has a link, and what the kernel has besides.
fn machine() -> Tree {
    let tree = Tree::new();
    for (name, function, carrier, speed) in
        [("eth0", "0000:01:00.0", "1", "25000"), ("eth1", "0000:01:00.1", "0", "-1")]
    {
        let net = format!("sys/devices/pci0000:00/0000:00:01.0/{function}/net/{name}");
        for (attribute, value) in [
            ("type", "1"),
            ("address", "3C:FD:FE:00:00:01"),
            ("carrier", carrier),
            ("speed", speed),
            ("ifindex", "7"),
        ] {
            tree.file(&format!("{net}/{attribute}"), format!("{value}\n"));
        }
        tree.link(&format!("{net}/device"), &format!("../../../{function}"));
        tree.link(
            &format!("sys/devices/pci0000:00/0000:00:01.0/{function}/driver"),
            "../../../../bus/pci/drivers/i40e",
        );
        tree.link(
            &format!("sys/class/net/{name}"),
            &format!("../../devices/pci0000:00/0000:00:01.0/{function}/net/{name}"),
        );
    }
    tree.file("sys/class/net/lo/type", "772").file("sys/class/net/br0/type", "1");
    tree.file("sys/class/net/ib0/type", "32").file("sys/class/net/ib0/device/vendor", "0x15b3");
    tree.file("sys/firmware/efi/runtime", "0").file("proc/meminfo", "MemTotal: 1024 kB\n");
    tree.disk("pci0000:00/0000:00:04.0/virtio1/block/vda", "../../../virtio1", &[]);
    tree
}

#[test]
fn a_machine_is_told_with_what_it_is_connected_to() {
    let (outcome, lines, interfaces) = look(&machine(), Ok([("eth0".to_owned(), neighbour())].into()));
    let inventory = outcome.unwrap();
    let eth0 = Nic {
        name: "eth0".into(),
        mac_address: "3c:fd:fe:00:00:01".into(),
        link_up: true,
        speed_mbps: Some(25000),
        driver: Some("i40e".into()),
        pci_address: Some("0000:01:00.0".into()),
        neighbour: Some(neighbour()),
    };
    let eth1 = Nic {
        name: "eth1".into(),
        link_up: false,
        speed_mbps: None,
        pci_address: Some("0000:01:00.1".into()),
        neighbour: None,
        ..eth0.clone()
    };
    assert_eq!(inventory.nics, [eth0, eth1]);
    assert_eq!(inventory.boot_mode, BootMode::Uefi);
    assert_eq!(inventory.memory_bytes, 1024 * 1024);
    assert_eq!(inventory.disks[0].path, "/dev/vda");
    assert_eq!(lines, Vec::<String>::new());
    assert_eq!(interfaces, [Interface { name: "eth0".into(), index: 7 }]);
}

/// A machine of which one more disk appears by the time that the listening is over: then it is asked whether that is wanted.
struct Growing(Tree);

impl Telling for Growing {
    fn progress(&self, _: Progress) {}

    fn log(&self, _: &str) {}

    fn is_unwanted(&self) -> bool {
        self.0.disk("pci0000:00/0000:00:05.0/virtio2/block/vdb", "../../../virtio2", &[]);
        false
    }
}

#[test]
fn a_disk_that_comes_while_neighbours_are_listened_to_is_told_too() {
    let growing = Growing(machine());
    let wire = Told(Ok(BTreeMap::new()), Mutex::default());
    let inventory = inspect(growing.0.root(), &wire, &growing, || {}).unwrap();
    let paths: Vec<_> = inventory.disks.iter().map(|disk| disk.path.as_str()).collect();
    assert_eq!(paths, ["/dev/vda", "/dev/vdb"]);
}

#[test]
fn disks_that_come_after_that_are_waited_for_and_those_that_are_left_alone_are_said_once() {
    let (tree, listener) = (machine(), Listener::default());
    let wire = Told(Ok(BTreeMap::new()), Mutex::default());
    let mut pauses = 0;
    let pause = || {
        pauses += 1;
        match pauses {
            3 => tree.disk("pci0000:00/0000:00:05.0/virtio2/block/vdb", "../../../virtio2", &[]),
            5 => tree.disk("platform/x/block/sdx", "../../../x", &[("removable", "1")]),
            _ => &tree,
        };
    };
    let inventory = inspect(tree.root(), &wire, &listener, pause).unwrap();
    let paths: Vec<_> = inventory.disks.iter().map(|disk| disk.path.as_str()).collect();
    assert_eq!(paths, ["/dev/vda", "/dev/vdb"]);
    let lines = listener.lines.into_inner().unwrap();
    assert!(matches!(&lines[..], [line] if line.starts_with("/dev/sdx is left alone")), "{lines:?}");
}

#[test]
fn a_wire_that_can_not_be_heard_is_no_reason_to_tell_nothing() {
    let (outcome, lines, _) = look(&machine(), Err("no permission".into()));
    assert_eq!(outcome.unwrap().nics.len(), 2);
    assert_eq!(lines, ["what the network interfaces are connected to is not known: no permission"]);
}

#[test]
fn a_machine_that_tells_nothing_has_an_empty_inventory() {
    let inventory = look(&Tree::new(), Ok(BTreeMap::new())).0.unwrap();
    let expected = Inventory { cpu: inventory.cpu.clone(), ..Inventory::default() };
    assert_eq!(inventory, expected);
}

#[test]
fn a_list_that_can_not_be_read_is_a_problem() {
    for list in ["sys/block", "sys/class/net", "sys/bus/pci/devices", "sys/devices/system/cpu"] {
        let tree = Tree::new();
        tree.file(list, "no directory");
        assert_eq!(look(&tree, Ok(BTreeMap::new())).0.unwrap_err().step, "inspecting", "{list}");
    }
}

#[test]
fn nobody_is_told_what_nobody_wants_to_know() {
    let wire = Told(Ok(BTreeMap::new()), Mutex::default());
    let listener = Listener { unwanted: true, ..Listener::default() };
    assert!(inspect(machine().root(), &wire, &listener, || {}).unwrap_err().message.contains("not wanted"));
}
