//! Who asks: which loader runs there, on which architecture.

use super::{
    options::{ARCHITECTURE, IPXE, USER_CLASS, VENDOR_CLASS},
    packet::Packet,
};

/// An architecture for which there is something to boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// A PC with a BIOS.
    Bios,
    /// A PC with UEFI.
    X64,
    /// 64-bit ARM with UEFI.
    Arm64,
}

/// What runs on a machine that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loader {
    /// Firmware that boots by TFTP.
    Pxe,
    /// Firmware that boots by HTTP.
    Http,
    /// iPXE, and whether it can read from HTTP.
    Ipxe {
        /// Whether it can.
        http: bool,
    },
    /// Something that wants an address, and nothing to boot.
    System,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// What runs there.
    pub loader: Loader,
    /// On what, where there is something for it.
    pub architecture: Option<Architecture>,
}

const PXE_CLIENT: &[u8] = b"PXEClient";
const HTTP_CLIENT: &[u8] = b"HTTPClient";
const IPXE_CLASS: &[u8] = b"iPXE";
/// iPXE's own word for "reads from HTTP", in option 175.
const FEATURE_HTTP: u8 = 19;

impl Client {
    /// What a request says of who asks.
    #[must_use]
    pub fn of(request: &Packet) -> Self {
        let vendor = request.option(VENDOR_CLASS).unwrap_or_default();
        let loader = if is_ipxe(request) {
            Loader::Ipxe { http: request.option(IPXE).is_some_and(|features| has(features, FEATURE_HTTP)) }
        } else if vendor.starts_with(HTTP_CLIENT) {
            Loader::Http
        } else if vendor.starts_with(PXE_CLIENT) {
            Loader::Pxe
        } else {
            Loader::System
        };
        Self { loader, architecture: architecture(request) }
    }
}

/// iPXE sends its name as it is; RFC 3004 has a length before each.
fn is_ipxe(request: &Packet) -> bool {
    let Some(classes) = request.option(USER_CLASS) else { return false };
    if classes == IPXE_CLASS {
        return true;
    }
    let mut rest = classes;
    while let Some((length, behind)) = rest.split_first() {
        let Some((class, behind)) = behind.split_at_checked(usize::from(*length)) else { return false };
        if class == IPXE_CLASS {
            return true;
        }
        rest = behind;
    }
    false
}

/// Whether iPXE's options name this one, and not as 0.
fn has(features: &[u8], wanted: u8) -> bool {
    let mut rest = features;
    while let [code, length, behind @ ..] = rest {
        let Some((value, behind)) = behind.split_at_checked(usize::from(*length)) else { return false };
        if *code == wanted {
            return value.iter().any(|byte| *byte != 0);
        }
        rest = behind;
    }
    false
}

/// The first that there is something for: firmware may name several.
fn architecture(request: &Packet) -> Option<Architecture> {
    let named = request.option(ARCHITECTURE)?.chunks_exact(2);
    named
        .filter_map(|pair| match pair {
            [0, 0] => Some(Architecture::Bios),
            // 9 is EBC, which only x64 firmware says.
            [0, 7 | 9 | 16] => Some(Architecture::X64),
            [0, 11 | 19] => Some(Architecture::Arm64),
            _ => None,
        })
        .next()
}

#[cfg(test)]
mod tests {
    use super::{super::packet::tests::discover, *};

    fn of(options: &[(u8, &[u8])]) -> Client {
        Client::of(&discover(options))
    }

    #[test]
    fn loaders_are_known_by_what_they_say() {
        let pxe: (u8, &[u8]) = (VENDOR_CLASS, b"PXEClient:Arch:00007:UNDI:003016");
        let http: (u8, &[u8]) = (VENDOR_CLASS, b"HTTPClient:Arch:00016:UNDI:003001");
        let old = Loader::Ipxe { http: false };
        for (options, expected) in [
            (vec![], Loader::System),
            (vec![(VENDOR_CLASS, &b"MSFT 5.0"[..])], Loader::System),
            (vec![pxe], Loader::Pxe),
            (vec![http], Loader::Http),
            (vec![pxe, (USER_CLASS, b"iPXE")], old),
            (vec![pxe, (USER_CLASS, b"\x04iPXE")], old),
            (vec![pxe, (USER_CLASS, b"\x03abc\x04iPXE")], old),
            (vec![pxe, (USER_CLASS, b"\x09iPXE")], Loader::Pxe),
            (vec![pxe, (USER_CLASS, b"iPXE"), (IPXE, &[19, 1, 1, 36, 1, 1])], Loader::Ipxe { http: true }),
            (vec![pxe, (USER_CLASS, b"iPXE"), (IPXE, &[36, 1, 1, 19, 1, 0])], old),
            (vec![pxe, (USER_CLASS, b"iPXE"), (IPXE, &[36, 9, 1])], old),
        ] {
            assert_eq!(of(&options).loader, expected, "{options:?}");
        }
    }

    #[test]
    fn of_several_architectures_the_first_that_is_known_counts() {
        for (value, expected) in [
            (&[0, 0][..], Some(Architecture::Bios)),
            (&[0, 7], Some(Architecture::X64)),
            (&[0, 9], Some(Architecture::X64)),
            (&[0, 16], Some(Architecture::X64)),
            (&[0, 11], Some(Architecture::Arm64)),
            (&[0, 19], Some(Architecture::Arm64)),
            (&[0, 6, 0, 7], Some(Architecture::X64)),
            (&[0, 27], None),
            (&[1, 7], None),
            (&[7], None),
            (&[], None),
        ] {
            assert_eq!(of(&[(ARCHITECTURE, value)]).architecture, expected, "{value:?}");
        }
        assert_eq!(of(&[]).architecture, None);
    }
}
