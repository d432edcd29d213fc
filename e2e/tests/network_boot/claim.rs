//! What the one machine is booted for, and how it is told so: its URLs, its script, and its kernel's parameters.

use anyhow::Result;
use beskar7_boot::capability::{Capability, Key, Purpose};
use beskar7_boot::ipxe;

const CLAIM: &str = "default/m/1";

/// What a machine is told to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    /// A kernel, by iPXE's script.
    Kernel,
    /// The same; but who reads the script first is told to fetch another iPXE.
    KernelByAnotherIpxe,
    /// The same kernel as a program that firmware starts by itself.
    Program,
    /// What is on the machine's disk, by iPXE's script.
    Disk,
}

/// The claim.
pub struct Claim {
    key: Key,
    /// Where the server is, without a slash behind it.
    base: String,
    pub starts: Starts,
}

impl Claim {
    pub fn new(base: String, starts: Starts) -> Result<Self> {
        Ok(Self { key: Key::new(&[7; 32])?, base, starts })
    }

    pub fn url(&self, purpose: Purpose, file: &str) -> String {
        format!("{}/c/{}/{file}", self.base, self.key.capability(purpose, CLAIM).in_url())
    }

    /// Where the script is.
    pub fn script_url(&self) -> String {
        self.url(Purpose::Media, "boot.ipxe")
    }

    /// Where the program is, if the machine is told of one.
    pub fn program_url(&self) -> Option<String> {
        match self.starts {
            Starts::Program => Some(self.url(Purpose::Media, "program.efi")),
            Starts::Kernel | Starts::KernelByAnotherIpxe | Starts::Disk => None,
        }
    }

    /// What a capability is good for.
    pub fn purpose(&self, capability: &Capability) -> Option<Purpose> {
        Purpose::OF_HOSTS.into_iter().find(|purpose| self.key.capability(*purpose, CLAIM) == *capability)
    }

    /// By which cloud-init finds the configuration.
    pub fn seed(&self) -> String {
        format!("ds=nocloud;s={}", self.url(Purpose::Configuration, ""))
    }

    /// The kernel's parameters. Quiet: what it says would stand among what the guest says.
    pub fn parameters(&self) -> [String; 5] {
        ["console=ttyS0", "quiet", "no_timer_check", "ip=dhcp", &self.seed()].map(str::to_owned)
    }

    /// The script for who reads it.
    pub fn script(&self, is_first: bool) -> String {
        match self.starts {
            Starts::Disk => ipxe::disk().to_owned(),
            Starts::KernelByAnotherIpxe if is_first => {
                "#!ipxe\nchain tftp://${next-server}/undionly.kpxe || exit 1\n".to_owned()
            }
            Starts::Kernel | Starts::Program | Starts::KernelByAnotherIpxe => {
                let kernel = self.url(Purpose::Media, "kernel");
                let initramfs = [self.url(Purpose::Media, "initramfs")];
                let arguments = &self.parameters();
                ipxe::start(&ipxe::Start { kernel: &kernel, initramfs: &initramfs, arguments }).unwrap()
            }
        }
    }
}
