//! Which modules go into the ramdisk: the drivers of network cards and disks, and what little else the agent uses.
//!
//! By their places in the kernel's source, which all distributions have in common. What a kernel does not have, or has
//! built in, is not missed.

/// How the paths of what is taken begin.
const TAKEN: [&str; 25] = [
    // What a machine writes to. Intel's VMD hides NVMe disks behind itself.
    "drivers/ata/",
    "drivers/block/virtio_blk",
    "drivers/block/xen-blkfront",
    "drivers/message/fusion/",
    "drivers/nvme/host/nvme.",
    "drivers/pci/controller/vmd",
    "drivers/scsi/",
    "drivers/virtio/",
    // What it talks through. Some cards do not work without the driver of their PHY.
    "drivers/net/ethernet/",
    "drivers/net/hyperv/",
    "drivers/net/mdio/",
    "drivers/net/phy/",
    "drivers/net/virtio_net",
    "drivers/net/vmxnet3/",
    "drivers/net/xen-netfront",
    "net/packet/",
    // What it tells of itself.
    "drivers/char/tpm/",
    "drivers/firmware/dmi-sysfs",
    // What is mounted.
    "fs/efivarfs/",
    "fs/fat/",
    "fs/isofs/",
    "fs/nls/nls_ascii",
    "fs/nls/nls_cp437",
    "fs/nls/nls_iso8859-1.",
    "fs/nls/nls_utf8",
];

/// How the paths of what is left out begin, although it is among the others: tapes and changers, what pretends to be
/// a disk or lends disks to others, disks behind a network, PC cards, and the chips of switches.
const LEFT_OUT: [&str; 17] = [
    "drivers/ata/pata_pcmcia",
    "drivers/net/ethernet/mellanox/mlxsw/",
    "drivers/scsi/be2iscsi/",
    "drivers/scsi/bnx2fc/",
    "drivers/scsi/bnx2i/",
    "drivers/scsi/ch.",
    "drivers/scsi/cxgbi/",
    "drivers/scsi/fcoe/",
    "drivers/scsi/iscsi_tcp",
    "drivers/scsi/osst.",
    "drivers/scsi/pcmcia/",
    "drivers/scsi/qedf/",
    "drivers/scsi/qedi/",
    "drivers/scsi/qla2xxx/tcm_",
    "drivers/scsi/qla4xxx/",
    "drivers/scsi/scsi_debug",
    "drivers/scsi/st.",
];

/// Whether a module is taken for its own sake. What it needs is taken besides.
#[must_use]
pub fn is_taken(path: &str) -> bool {
    let path = path.strip_prefix("kernel/").unwrap_or(path);
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
    begins(&TAKEN) && !begins(&LEFT_OUT) && !is_for_cards_of_laptops(path)
}

/// Drivers of PC cards end so.
fn is_for_cards_of_laptops(path: &str) -> bool {
    super::index::name_of(path).ends_with("_cs")
}

/// Whether it drives a network card.
#[must_use]
pub fn is_network_driver(path: &str) -> bool {
    ["ethernet/", "hyperv/", "virtio_net", "vmxnet3/", "xen-netfront"]
        .iter()
        .any(|prefix| path.starts_with(&format!("kernel/drivers/net/{prefix}")))
}

/// Whether it drives disks.
#[must_use]
pub fn is_disk_driver(path: &str) -> bool {
    ["ata/", "block/virtio_blk", "block/xen-blkfront", "nvme/host/", "scsi/"]
        .iter()
        .any(|prefix| path.starts_with(&format!("kernel/drivers/{prefix}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_of_disks_and_cards_are_taken_and_nothing_else() {
        for taken in [
            "kernel/drivers/net/ethernet/intel/e1000e/e1000e.ko",
            "kernel/drivers/net/virtio_net.ko.xz",
            "kernel/drivers/nvme/host/nvme.ko",
            "kernel/drivers/scsi/megaraid/megaraid_sas.ko.zst",
            "kernel/drivers/scsi/sd_mod.ko",
            "kernel/drivers/scsi/qla2xxx/qla2xxx.ko",
            "kernel/drivers/pci/controller/vmd.ko",
            "kernel/fs/fat/vfat.ko",
            "kernel/fs/nls/nls_iso8859-1.ko",
        ] {
            assert!(is_taken(taken), "{taken}");
        }
        for left_out in [
            "kernel/drivers/net/wireless/intel/iwlwifi/iwlwifi.ko",
            "kernel/drivers/net/ethernet/3com/3c574_cs.ko",
            "kernel/drivers/net/ethernet/mellanox/mlxsw/mlxsw_core.ko",
            "kernel/drivers/nvme/host/nvme-tcp.ko",
            "kernel/drivers/scsi/scsi_debug.ko",
            "kernel/drivers/scsi/st.ko.xz",
            "kernel/drivers/scsi/qla2xxx/tcm_qla2xxx.ko",
            "kernel/drivers/md/raid1.ko",
            "kernel/drivers/hwmon/coretemp.ko",
            "kernel/fs/nls/nls_cp850.ko",
            "kernel/fs/ext4/ext4.ko",
        ] {
            assert!(!is_taken(left_out), "{left_out}");
        }
    }
}
