//! What a loader is told to boot, in its own words.

use super::{
    answer::Server,
    client::{Architecture, Client, Loader},
    options::{BOOT_FILE, BOOT_SERVER, IPXE, VENDOR, VENDOR_CLASS},
    packet::{LONGEST_FILE, Packet},
    reservation::Boot,
};

/// PXE's own discovery is skipped: the name of the file is all.
const BOOT_THE_FILE: [u8; 4] = [6, 1, 8, 255];
/// iPXE does not wait for a server beside this one.
const NO_PROXY: [u8; 3] = [176, 1, 1];

/// What a loader is told to boot.
pub(super) struct Loading {
    /// A name that TFTP knows, or a URL.
    file: String,
    more: Vec<(u8, Vec<u8>)>,
}

impl Loading {
    /// Nothing, where it is to boot its disk, or there is nothing for it.
    pub fn of(client: &Client, boot: &Boot, server: &Server<'_>) -> Option<Self> {
        let Boot::Script { script, program } = boot else { return None };
        let class = |name: &[u8]| (VENDOR_CLASS, name.to_vec());
        let ipxe = || vec![class(b"PXEClient"), (IPXE, NO_PROXY.to_vec())];
        match client.loader {
            Loader::System => None,
            Loader::Ipxe { http: true } => Some(Self { file: script.clone(), more: ipxe() }),
            // One that was burnt into a card long ago: it fetches one that can.
            Loader::Ipxe { http: false } => {
                let file = format!("tftp://{}/{}", server.address, binary(client.architecture?));
                Some(Self { file, more: ipxe() })
            }
            Loader::Pxe => {
                let named = server.address.to_string().into_bytes();
                let more = vec![class(b"PXEClient"), (VENDOR, BOOT_THE_FILE.to_vec()), (BOOT_SERVER, named)];
                Some(Self { file: binary(client.architecture?).to_owned(), more })
            }
            Loader::Http => {
                let file = match program {
                    Some(program) => program.clone(),
                    None => format!("{}{}", server.binaries, binary(client.architecture?)),
                };
                Some(Self { file, more: vec![class(b"HTTPClient")] })
            }
        }
    }

    /// Firmware reads the one or the other place.
    pub fn put_into(self, packet: &mut Packet) {
        packet.options.extend(self.more);
        packet.options.push((BOOT_FILE, self.file.clone().into_bytes()));
        if self.file.len() <= LONGEST_FILE {
            packet.file = self.file;
        }
    }
}

/// The file in which a package has iPXE for an architecture. On UEFI, the one that uses the firmware's own driver.
#[must_use]
pub const fn binary(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Bios => "undionly.kpxe",
        Architecture::X64 => "snponly.efi",
        Architecture::Arm64 => "snponly-arm64.efi",
    }
}

#[cfg(test)]
#[path = "loading_tests.rs"]
mod tests;
