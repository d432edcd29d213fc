//! The network interfaces that are hardware.

use std::path::Path;

use beskar7_agent_protocol::hardware::Nic;

use super::listening::Interface;
use crate::{sysfs, telling::Problem};

/// All of them in the order of their names, and those that have a link.
///
/// # Errors
/// The kernel's list can't be read.
pub fn all(root: &Path) -> Result<(Vec<Nic>, Vec<Interface>), Problem> {
    let directory = root.join("sys/class/net");
    let names = sysfs::names(&directory).map_err(|error| {
        Problem::new("inspecting", format!("the kernel's list of network interfaces can't be read: {error}"))
    })?;
    let nics: Vec<Nic> = names.into_iter().filter_map(|name| nic(&directory.join(&name), name)).collect();
    let interfaces = nics.iter().filter(|nic| nic.link_up).filter_map(|nic| {
        let index = sysfs::number(&directory.join(&nic.name).join("ifindex"))?;
        Some(Interface { name: nic.name.clone(), index: u32::try_from(index).ok()? })
    });
    let interfaces = interfaces.collect();
    Ok((nics, interfaces))
}

/// None where it is not Ethernet, or the kernel's own: bridges, tunnels, the loopback have no device.
fn nic(directory: &Path, name: String) -> Option<Nic> {
    const ETHERNET: u64 = 1;
    let device = directory.join("device");
    if !device.exists() || sysfs::number(&directory.join("type")) != Some(ETHERNET) {
        return None;
    }
    Some(Nic {
        name,
        mac_address: sysfs::text(&directory.join("address"))?.to_lowercase(),
        link_up: sysfs::flag(&directory.join("carrier")),
        speed_mbps: sysfs::number(&directory.join("speed")).filter(|speed| *speed > 0),
        driver: sysfs::link_name(&device.join("driver")),
        pci_address: sysfs::pci_address(&device),
        neighbour: None,
    })
}
