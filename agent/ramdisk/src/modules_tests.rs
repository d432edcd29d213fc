use std::fs;

use super::*;

const NEEDS: &str = "kernel/drivers/net/virtio_net.ko: kernel/net/core/failover.ko.gz\nkernel/net/core/failover.ko.gz:\n\
    kernel/drivers/block/virtio_blk.ko:\nkernel/sound/snd.ko:\n";

fn module(release: &str) -> Vec<u8> {
    format!("\x7fELF…\0name=x\0vermagic={release} SMP mod_unload \0").into_bytes()
}

/// A tree below a folder.
fn tree(folder: &Path, needs: &str) {
    fs::create_dir_all(folder.join("kernel/drivers/net")).unwrap();
    fs::write(folder.join("modules.dep"), needs).unwrap();
    fs::write(folder.join("modules.alias"), "alias virtio:* virtio_net\n").unwrap();
    fs::write(folder.join("modules.builtin"), "kernel/fs/efivarfs/efivarfs.ko\n").unwrap();
}

fn paths(modules: &[Module]) -> Vec<&str> {
    modules.iter().map(|module| module.path.as_str()).collect()
}

#[test]
fn a_tree_is_found_by_itself_from_above_and_in_a_root() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("usr/lib/modules/6.1");
    tree(&folder, NEEDS);
    for path in ["usr/lib/modules/6.1", "usr/lib/modules", "."] {
        let modules = Modules::open(&root.path().join(path), "6.1").unwrap();
        assert_eq!(modules.folder().canonicalize().unwrap(), folder.canonicalize().unwrap());
    }
}

#[test]
fn what_is_taken_is_sorted_plain_and_complete() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), NEEDS);
    let modules = Modules::open(root.path(), "6.1").unwrap();
    let (taken, lists) = modules.choose(&Wanted::default()).unwrap();
    let usual = [
        "kernel/drivers/block/virtio_blk.ko",
        "kernel/drivers/net/virtio_net.ko",
        "kernel/net/core/failover.ko",
    ];
    assert_eq!(paths(&taken), usual);
    assert!(taken[2].from.ends_with("kernel/net/core/failover.ko.gz"));
    assert!(lists.iter().any(|(name, text)| *name == "modules.dep" && text.contains("failover.ko\n")));
    for wanted in [
        Wanted { all: true, more: Vec::new() },
        Wanted { all: false, more: vec!["snd".to_owned(), "efivarfs".to_owned()] },
    ] {
        let (taken, _) = modules.choose(&wanted).unwrap();
        assert_eq!(paths(&taken), [&usual[..], &["kernel/sound/snd.ko"]].concat());
    }
}

#[test]
fn what_can_not_be_had_is_said() {
    let root = tempfile::tempdir().unwrap();
    let error = |path: &str| Modules::open(&root.path().join(path), "6.1").unwrap_err().to_string();
    assert!(error("absent").contains("there are no modules at"), "{}", error("absent"));
    tree(&root.path().join("6.2"), NEEDS);
    assert!(error("").contains("no modules of the kernel 6.1, but 6.2"), "{}", error(""));
    fs::create_dir_all(root.path().join("bare/kernel")).unwrap();
    assert!(error("bare").contains("run depmod"), "{}", error("bare"));

    for (needs, why) in [
        ("kernel/drivers/net/virtio_net.ko:\n", "no driver for disks"),
        ("kernel/drivers/ata/ahci.ko:\n", "no driver for network cards"),
    ] {
        let folder = root.path().join(why);
        tree(&folder, needs);
        let error = Modules::open(&folder, "6.1").unwrap().choose(&Wanted::default()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let modules = Modules::open(&root.path().join("6.2"), "6.2").unwrap();
    let error = modules.choose(&Wanted { all: false, more: vec!["absent".to_owned()] }).unwrap_err();
    assert!(error.to_string().contains("no module \"absent\""), "{error}");
}

#[test]
fn a_module_of_another_kernel_is_refused() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), NEEDS);
    let modules = Modules::open(root.path(), "6.1").unwrap();
    let at = root.path().join("kernel/drivers/net/virtio_net.ko");
    let (taken, _) = modules.choose(&Wanted::default()).unwrap();
    for (content, expected) in [
        (module("6.1"), None),
        (module("6.1-rt"), Some("is of the kernel 6.1-rt, and the kernel is 6.1")),
        (b"text".to_vec(), Some("is no module")),
    ] {
        fs::write(&at, &content).unwrap();
        match (modules.read(&taken[1]), expected) {
            (Ok(read), None) => assert_eq!(read, content),
            (Err(error), Some(why)) => assert!(error.to_string().contains(why), "{error}"),
            (Ok(_) | Err(_), None | Some(_)) => panic!("{expected:?}"),
        }
    }
}
