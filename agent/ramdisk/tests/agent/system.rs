//! A system to install: an image of a disk that starts by UEFI, finds its configuration, and says what that holds.

use std::fs;
use std::path::PathBuf;

use beskar7_agent_protocol::order::Configuration;
pub use beskar7_specimen::disk::PARTITION;
use beskar7_specimen::disk::{self, Parts};
use beskar7_specimen::initramfs::{self, Contents};
use beskar7_volume::iso;
use bytes::Bytes;

use crate::site::{OPTIONS, Site};
use crate::support::installed::program;

const INIT: &str = include_str!("init.sh");
/// What is not built into Debian's cloud kernel.
const MODULES: [&str; 4] = ["virtio_pci", "virtio_blk", "isofs", "cdrom"];

/// An image, and how long its partition is.
pub struct System {
    pub image: PathBuf,
    pub partition: u64,
}

/// Makes one. None where a tool is missing: then it has said that `test` is skipped.
pub fn make(site: &Site, test: &str) -> Option<System> {
    let (Some(busybox), Some(sgdisk)) = (program("busybox"), program("sgdisk").or_else(sgdisk_of_root))
    else {
        beskar7_skipped::skipped(test, "no busybox or sgdisk: apt-get install busybox-static gdisk");
        return None;
    };
    let contents = Contents {
        busybox: &busybox,
        modules: &site.installed.modules,
        wanted: &MODULES,
        scripts: &[("init", INIT)],
    };
    let parts = Parts {
        sgdisk: &sgdisk,
        loader: &site.installed.loader,
        kernel: &site.installed.kernel,
        initramfs: &initramfs::make(&contents).unwrap(),
        options: OPTIONS,
    };
    let image = site.at("system.raw");
    let partition = disk::write(&parts, &image).unwrap();
    Some(System { image, partition })
}

/// Where Debian has it, which is not in everybody's path.
fn sgdisk_of_root() -> Option<PathBuf> {
    Some(PathBuf::from("/usr/sbin/sgdisk")).filter(|path| path.is_file())
}

/// A configuration with a word, which is served from now on.
pub fn configuration(site: &Site, word: &str) -> Configuration {
    let file = |path, content: &str| iso::File { path, content: Bytes::from(content.to_owned()) };
    let files = [file("meta-data", "instance-id: b7\n"), file("user-data", word)];
    let volume = site.at("cidata.iso");
    fs::write(&volume, iso::iso("cidata", &files).unwrap()).unwrap();
    site.server.serve("cidata.iso", &volume);
    Configuration { path: "cidata.iso".to_owned(), label: "cidata".to_owned() }
}
