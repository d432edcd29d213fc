//! Machines of files: devices appear when the driver of their bus is loaded.

use std::sync::Mutex;

use super::*;

const DEPENDENCIES: &str = "kernel/virtio.ko:\n\
    kernel/virtio_ring.ko: kernel/virtio.ko\n\
    kernel/virtio_pci.ko: kernel/virtio_ring.ko kernel/virtio.ko\n\
    kernel/virtio_net.ko: kernel/virtio_ring.ko kernel/virtio.ko\n\
    kernel/broken.ko: kernel/virtio.ko\n\
    kernel/lonely.ko: kernel/nowhere.ko\n\
    kernel/not_in_the_ramdisk.ko: kernel/virtio.ko\n\
    kernel/vfat.ko: kernel/fat.ko\n\
    kernel/fat.ko:\n";
const ALIASES: &str = "alias pci:v00001AF4d*sv*sd*bc*sc*i* virtio_pci\n\
    alias virtio:d00000001v* virtio_net\n\
    alias virtio:d00000001v* broken\n\
    alias virtio:d00000001v* lonely\n\
    alias virtio:d00000001v* not_in_the_ramdisk\n\
    alias virtio:d00000001v* not_in_the_table\n";

fn add_device(sys: &Path, place: &str, modalias: &str) {
    let directory = sys.join("devices").join(place);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("modalias"), format!("{modalias}\n")).unwrap();
}

#[test]
fn drivers_are_loaded_in_order_as_buses_reveal_devices() {
    let root = tempfile::tempdir().unwrap();
    let (modules, sys) = (root.path().join("modules"), root.path().join("sys"));
    fs::create_dir_all(modules.join("kernel")).unwrap();
    for name in ["virtio", "virtio_ring", "virtio_pci", "virtio_net", "broken", "lonely", "vfat", "fat"] {
        fs::write(modules.join(format!("kernel/{name}.ko")), "").unwrap();
    }
    fs::write(modules.join("modules.dep"), DEPENDENCIES).unwrap();
    fs::write(modules.join("modules.alias"), ALIASES).unwrap();
    add_device(&sys, "pci0/0", "pci:v00001AF4d00001000sv00001AF4sd00000001bc02sc00i00");
    let loaded = Mutex::new(Vec::new());
    let insert = |path: &Path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "virtio_pci" {
            add_device(&sys, "pci0/0/virtio0", "virtio:d00000001v00001AF4");
        }
        let is_broken = name == "broken";
        loaded.lock().unwrap().push(name);
        if is_broken { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    };
    let journal = Journal::new(Box::new(io::sink()), "");
    let mut drivers = Drivers::open(modules, sys.clone(), &journal, &insert).unwrap();
    assert_eq!(drivers.settle().unwrap(), 4);
    // In the order of their names, each after what it needs.
    assert_eq!(*loaded.lock().unwrap(), ["virtio", "virtio_ring", "virtio_pci", "broken", "virtio_net"]);
    let said = journal.waiting().lines.join("\n");
    assert!(
        said.contains("driver broken") && said.contains("lonely is not loaded: module nowhere"),
        "{said}"
    );
    assert!(!said.contains("not_in_the"), "{said}");
    drivers.load_named(&["vfat", "no-such-thing", "virtio-net"]);
    assert_eq!(loaded.lock().unwrap()[5..], ["fat", "vfat"]);
    assert_eq!(drivers.load_for_new_devices().unwrap(), 0, "nothing is loaded twice");
    assert_eq!(loaded.lock().unwrap().len(), 7);
}

#[test]
fn a_kernel_without_tables_is_told_of() {
    let journal = Journal::new(Box::new(io::sink()), "");
    let nowhere = PathBuf::from("/nowhere");
    assert!(Drivers::open(nowhere.clone(), nowhere, &journal, &insert).is_err());
    assert!(insert(Path::new("/nowhere/a.ko")).is_err());
}

#[test]
fn what_a_driver_would_like_before_it_is_loaded_first_and_it_goes_without() {
    let root = tempfile::tempdir().unwrap();
    let (modules, sys) = (root.path().join("modules"), root.path().join("sys"));
    fs::create_dir_all(modules.join("kernel")).unwrap();
    for name in ["r8169", "realtek", "libphy", "tg3"] {
        fs::write(modules.join(format!("kernel/{name}.ko")), "").unwrap();
    }
    let dependencies = "kernel/r8169.ko: kernel/libphy.ko\nkernel/realtek.ko: kernel/libphy.ko\nkernel/libphy.ko:\n\
        kernel/tg3.ko:\nkernel/broadcom.ko: kernel/nowhere.ko\n";
    fs::write(modules.join("modules.dep"), dependencies).unwrap();
    fs::write(modules.join("modules.alias"), "alias pci:v1* r8169\nalias pci:v2* tg3\n").unwrap();
    let soft = "softdep r8169 pre: realtek not-in-the-ramdisk\nsoftdep tg3 pre: broadcom\n";
    fs::write(modules.join("modules.softdep"), soft).unwrap();
    add_device(&sys, "pci0/0", "pci:v1d1");
    add_device(&sys, "pci0/1", "pci:v2d1");
    let loaded = Mutex::new(Vec::new());
    let insert = |path: &Path| {
        loaded.lock().unwrap().push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        Ok(())
    };
    let journal = Journal::new(Box::new(io::sink()), "");
    let mut drivers = Drivers::open(modules, sys, &journal, &insert).unwrap();
    assert_eq!(drivers.settle().unwrap(), 4);
    assert_eq!(*loaded.lock().unwrap(), ["libphy", "realtek", "r8169", "tg3"]);
}
