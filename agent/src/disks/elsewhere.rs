//! Disks that are not in the machine: a network leads to them, and other machines may use them at the same time.
//!
//! Disks in an enclosure that several machines are cabled to look as if they were in each of them.

use std::path::Path;

use crate::sysfs;

/// The classes of SCSI hosts that lead into a network. Not all of their drivers show the other end in a disk's path.
const HOSTS: [(&str, &str); 3] =
    [("fc_host", FIBRE_CHANNEL), ("iscsi_host", ISCSI), ("srp_host", "SCSI over RDMA")];
const FIBRE_CHANNEL: &str = "Fibre Channel";
const ISCSI: &str = "iSCSI";
const FABRICS: &str = "NVMe over Fabrics";
/// How NVMe disks in the machine are spoken to.
const IN_THE_MACHINE: &str = "pcie";

/// What leads to a disk that is not in the machine. None for those that are.
pub fn reached_over(block: &Path, name: &str) -> Option<&'static str> {
    if ["nbd", "rbd", "rnbd", "drbd"].iter().any(|prefix| name.starts_with(prefix)) {
        return Some("a network");
    }
    [block.to_owned(), block.join("device")].iter().find_map(|place| by_path(place)).or_else(|| {
        let device = block.join("device");
        let of_path = || is_on_fabrics(&device);
        let of_subsystem = || {
            // What has several paths belongs to none of their controllers.
            let names = sysfs::names(&device).unwrap_or_default();
            names.iter().any(|name| name.starts_with("nvme") && is_on_fabrics(&device.join(name)))
        };
        (name.starts_with("nvme") && (of_path() || of_subsystem())).then_some(FABRICS)
    })
}

fn by_path(place: &Path) -> Option<&'static str> {
    let place = place.canonicalize().ok()?;
    place.ancestors().find_map(|part| {
        let name = part.file_name()?.to_string_lossy();
        let is_numbered = |prefix: &str| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
        };
        if is_numbered("rport-") {
            return Some(FIBRE_CHANNEL);
        }
        if is_numbered("session") {
            return Some(ISCSI);
        }
        if name == "nvme-fabrics" {
            return Some(FABRICS);
        }
        HOSTS
            .iter()
            .find(|(class, _)| is_numbered("host") && part.join(class).exists())
            .map(|(_, what)| *what)
    })
}

fn is_on_fabrics(controller: &Path) -> bool {
    sysfs::text(&controller.join("transport")).is_some_and(|transport| transport != IN_THE_MACHINE)
}
