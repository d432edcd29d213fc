//! Who may ask for an address and for something to boot: one machine. What it asked as, and what it fetched by TFTP, is
//! written down.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::Duration;

use beskar7_boot::dhcp::{Addressing, Asked, Boot, Counted, Loader, Mac, Register, Reservation, Stranger};
use beskar7_boot::tftp::{ErrorCode, Watcher};

/// The one machine, and how it asked.
pub struct Known {
    reservation: Reservation,
    asked: Mutex<Vec<Heard>>,
}

/// That it asked, and what it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// What ran there.
    pub loader: Loader,
    /// The address that it was offered or given.
    pub given: Option<Ipv4Addr>,
    /// Whether it was told something to boot.
    pub boot: bool,
}

impl Known {
    pub fn new(mac: Mac, addressing: Option<Addressing>, boot: Boot) -> Self {
        Self { reservation: Reservation { mac, addressing, boot }, asked: Mutex::default() }
    }

    /// How it asked, in its order; what followed in the same way is left out.
    pub fn heard(&self) -> Vec<Heard> {
        let mut heard = self.asked.lock().unwrap().clone();
        heard.dedup();
        heard
    }
}

impl Register for Known {
    fn reservation(&self, mac: Mac) -> Option<Reservation> {
        Some(self.reservation.clone()).filter(|known| known.mac == mac)
    }

    fn asked(&self, asked: &Asked) {
        let heard = Heard { loader: asked.client.loader, given: asked.given, boot: asked.boot };
        self.asked.lock().unwrap().push(heard);
    }

    fn is_looked_for(&self, _: Mac) -> bool {
        false
    }

    fn stranger(&self, _: &Stranger) {}

    fn counted(&self, _: Counted) {}
}

/// The files that were read to their ends by TFTP.
#[derive(Default)]
pub struct Sent(Mutex<Vec<String>>);

impl Sent {
    pub fn files(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Watcher for Sent {
    fn sent(&self, file: &str, _: SocketAddr) {
        self.0.lock().unwrap().push(file.to_owned());
    }

    fn refused(&self, _: &str, _: SocketAddr, _: ErrorCode) {}

    fn gave_up(&self, _: &str, _: SocketAddr) {}
}

/// An address that is reserved, in a network of 24 bits.
pub fn reserved(address: Ipv4Addr, gateway: Option<Ipv4Addr>) -> Addressing {
    Addressing {
        address,
        prefix: 24,
        gateway,
        name_servers: vec![],
        time_servers: vec![],
        host_name: Some("edge-1".to_owned()),
        lease: Duration::from_secs(3600),
    }
}
