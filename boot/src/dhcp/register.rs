//! Who knows the machines that may ask, and is told that they did.

use std::net::Ipv4Addr;

use super::{
    client::{Architecture, Client, Loader},
    kind::Kind,
    options::SERVER,
    packet::{Operation, Packet},
    reservation::{Mac, Reservation},
};

/// Who knows the machines that may ask. All of it is called for every message, one after the other: nothing here may wait.
pub trait Register: Send + Sync + 'static {
    /// What is known of the machine with this address, at this moment.
    fn reservation(&self, mac: Mac) -> Option<Reservation>;

    /// A machine that is known asked. It must not make the answer wait.
    fn asked(&self, asked: &Asked);

    /// Whether it is to be told of a machine that nobody knows. Only then is what that one sent looked at any closer, so
    /// this must be quick: whoever sends anything may have it asked.
    fn is_looked_for(&self, mac: Mac) -> bool;

    /// A machine that nobody knows, and that is looked for, asked for something to boot. It gets no answer.
    fn stranger(&self, stranger: &Stranger);

    /// What became of a message, for who counts.
    fn counted(&self, what: Counted);
}

/// That a machine asked, and what it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// By which it is known.
    pub mac: Mac,
    /// What runs there.
    pub client: Client,
    /// What it wanted.
    pub kind: Kind,
    /// The address that it was offered or given.
    pub given: Option<Ipv4Addr>,
    /// Whether it was told something to boot.
    pub boot: bool,
}

/// A machine that nobody knows, and that asked for something to boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stranger {
    /// The address that it asked with. It may be made up.
    pub mac: Mac,
    /// What runs there: firmware or iPXE.
    pub loader: Loader,
    /// On what. There is something to boot for it.
    pub architecture: Architecture,
}

impl Stranger {
    /// Of a request, where it is for something to boot, and there is something: what only wants an address is no machine
    /// that waits for us, and what asks for another server was answered by that one.
    #[must_use]
    pub fn of(request: &Packet) -> Option<Self> {
        let Client { loader, architecture } = Client::of(request);
        let asks = match (loader, Kind::of(request)?) {
            (Loader::Pxe | Loader::Http | Loader::Ipxe { .. }, Kind::Discover) => true,
            (Loader::Pxe | Loader::Http | Loader::Ipxe { .. }, Kind::Request | Kind::Inform) => {
                request.option(SERVER).is_none()
            }
            (Loader::System, Kind::Discover | Kind::Request | Kind::Inform)
            | (_, Kind::Decline | Kind::Release) => false,
        };
        let stranger = Self { mac: request.mac, loader, architecture: architecture? };
        (asks && request.operation == Operation::Request).then_some(stranger)
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// It was answered.
    Answered,
    /// Nobody knows the machine.
    Unknown,
    /// It is no DHCP message.
    Malformed,
    /// It is a server's, or is for another one, or there is nothing to say.
    NotForUs,
    /// The answer could not be sent, or something could not be received.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            options::{ARCHITECTURE, MESSAGE_TYPE, USER_CLASS, VENDOR_CLASS},
            packet::tests::discover,
        },
        *,
    };

    #[test]
    fn a_stranger_asks_for_something_to_boot_that_there_is() {
        const DISCOVER: (u8, &[u8]) = (MESSAGE_TYPE, &[1]);
        const REQUEST: (u8, &[u8]) = (MESSAGE_TYPE, &[3]);
        const RELEASE: (u8, &[u8]) = (MESSAGE_TYPE, &[7]);
        const PXE: (u8, &[u8]) = (VENDOR_CLASS, b"PXEClient:Arch:00007:UNDI:003016");
        const HTTP: (u8, &[u8]) = (VENDOR_CLASS, b"HTTPClient:Arch:00016:UNDI:003001");
        const X64: (u8, &[u8]) = (ARCHITECTURE, &[0, 7]);
        let ipxe: (u8, &[u8]) = (USER_CLASS, b"iPXE");
        for (options, expected) in [
            (vec![DISCOVER, PXE, X64], Some((Loader::Pxe, Architecture::X64))),
            (vec![DISCOVER, HTTP, (ARCHITECTURE, &[0, 19])], Some((Loader::Http, Architecture::Arm64))),
            (vec![DISCOVER, PXE, ipxe, X64], Some((Loader::Ipxe { http: false }, Architecture::X64))),
            (vec![REQUEST, PXE, X64], Some((Loader::Pxe, Architecture::X64))),
            // Another server has answered it.
            (vec![REQUEST, PXE, X64, (SERVER, &[10, 0, 0, 9])], None),
            // A running system, something that we have nothing for, and something that does not say what it is.
            (vec![DISCOVER, X64], None),
            (vec![DISCOVER, PXE, (ARCHITECTURE, &[0, 27])], None),
            (vec![DISCOVER, PXE], None),
            (vec![RELEASE, PXE, X64], None),
        ] {
            let mut request = discover(&[]);
            request.options = options.iter().map(|(code, value)| (*code, value.to_vec())).collect();
            let found = Stranger::of(&request).map(|stranger| (stranger.loader, stranger.architecture));
            assert_eq!(found, expected, "{options:?}");
            request.operation = Operation::Reply;
            assert_eq!(Stranger::of(&request), None, "a server's");
        }
    }
}
