//! Who a simulated machine is: everything follows from its address, so a restart changes nothing.

use std::net::Ipv4Addr;

use super::resource::NICS;

/// The names of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The BMC's address.
    pub address: Ipv4Addr,
    /// The machine's UUID.
    pub uuid: String,
    /// The BMC's UUID.
    pub bmc_uuid: String,
    /// The serial number.
    pub serial: String,
}

impl Identity {
    /// The identity that belongs to an address.
    #[must_use]
    pub fn of(address: Ipv4Addr) -> Self {
        let n = u64::from(address.to_bits());
        // A mixer with full period, so that neighbours look nothing alike.
        let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (n << 17);
        Self {
            address,
            uuid: uuid(mixed, n),
            bmc_uuid: uuid(mixed.rotate_left(32), n),
            serial: format!("B7{:08X}", address.to_bits()),
        }
    }

    /// The MAC address of a NIC.
    #[must_use]
    pub fn mac(&self, nic: usize) -> String {
        let [_, b, c, d] = self.address.octets();
        format!("02:b7:{b:02x}:{c:02x}:{d:02x}:{:02x}", nic + 1)
    }

    /// The MAC addresses of all NICs.
    #[must_use]
    pub fn macs(&self) -> Vec<String> {
        (0..NICS).map(|nic| self.mac(nic)).collect()
    }
}

fn uuid(mixed: u64, n: u64) -> String {
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        mixed >> 32,
        (mixed >> 16) & 0xffff,
        mixed & 0xfff,
        (mixed >> 4) & 0xfff,
        n | 0xb7_0000_0000
    )
}
