//! What hosts boot from: the flags of the boot server, and what they come to.

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::Path,
    time::Duration,
};

use beskar7_boot::{
    dhcp::Ipv4Net,
    upstream::{HostRule, HostRuleError},
};
use beskar7_core::network_boot::Agent;
use clap::{ArgAction, Args, ValueEnum};

use super::{BindAddress, Options, address, boolean, duration, given, list, path};
use crate::boot_server::Discovering;

/// What stands for every interface.
const EVERY_INTERFACE: &str = "*";

/// Which hosts are inspected that do not say whether they want to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Inspect {
    /// Those that ask for it.
    OnRequest,
    /// All but those that refuse.
    Always,
}

/// What is answered by DHCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DhcpMode {
    /// Nothing.
    Off,
    /// What to boot, beside the site's own server.
    Proxy,
    /// Addresses to those who have one reserved, and what to boot to all who are known.
    Reservations,
}

/// What hosts boot from.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Boot server")]
pub struct Boot {
    /// Where hosts and BMCs reach the boot server: an absolute http or https URL. Empty: the boot server
    /// is off
    #[arg(
        long,
        env = "BESKAR7_BOOT_URL",
        hide_env_values = true,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub boot_url: String,
    /// Where the boot server listens
    #[arg(long, env = "BESKAR7_BOOT_BIND_ADDRESS", hide_env_values = true, value_name = "ADDRESS",
          value_parser = address::parse, default_value = ":8082")]
    pub boot_bind_address: BindAddress,
    /// A file with the certificate of the boot server, in PEM, with those that lead to its CA. Hosts, firmware and BMCs
    /// must trust it. Renewed files are taken up. Empty: plain HTTP
    #[arg(
        long,
        env = "BESKAR7_BOOT_TLS_CERT_FILE",
        hide_env_values = true,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub boot_tls_cert_file: String,
    /// A file with the key of that certificate, in PEM
    #[arg(
        long,
        env = "BESKAR7_BOOT_TLS_KEY_FILE",
        hide_env_values = true,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub boot_tls_key_file: String,
    /// Serve machines that boot, and nothing else: no controllers, no election. For nodes of the provisioning network. It
    /// needs --boot-url
    #[arg(long, env = "BESKAR7_BOOT_ONLY", hide_env_values = true, value_name = "BOOL", action = ArgAction::Set,
          num_args = 0..=1, require_equals = true, value_parser = boolean,
          default_value = "false", default_missing_value = "true")]
    pub boot_only: bool,
    /// Answer machines by DHCP: off, proxy (what to boot, beside the site's own DHCP server), or reservations
    /// (addresses, too, to hosts whose bootNetwork has one). It needs --boot-url, --ipxe-dir and --dhcp-interfaces
    #[arg(long, env = "BESKAR7_DHCP", hide_env_values = true, value_name = "MODE", default_value = "off")]
    pub dhcp: DhcpMode,
    /// The interfaces that DHCP listens on, separated by commas: those on the provisioning network. Needed with --dhcp. *
    /// is all, those of pods too: whoever is on one of them can ask in a machine's name
    #[arg(
        long,
        env = "BESKAR7_DHCP_INTERFACES",
        hide_env_values = true,
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true
    )]
    pub dhcp_interfaces: String,
    /// The IPv4 address by which machines and relays know this server, where it is not the interface's own. Empty: that
    /// one
    #[arg(
        long,
        env = "BESKAR7_DHCP_ADVERTISE_ADDRESS",
        hide_env_values = true,
        value_name = "ADDRESS",
        default_value = "",
        hide_default_value = true
    )]
    pub dhcp_advertise_address: String,
    /// The networks that DHCP answers, such as 192.0.2.0/24, separated by commas: those of machines that have an address
    /// already, and of relays, with the address that each sends from. Empty: those of the interface that is asked
    #[arg(
        long,
        env = "BESKAR7_DHCP_NETWORKS",
        hide_env_values = true,
        value_name = "NETWORKS",
        default_value = "",
        hide_default_value = true
    )]
    pub dhcp_networks: String,
    /// A directory with iPXE's programs, which are given out by TFTP and HTTP: undionly.kpxe, snponly.efi,
    /// snponly-arm64.efi. Empty: none, and no TFTP
    #[arg(
        long,
        env = "BESKAR7_IPXE_DIR",
        hide_env_values = true,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub ipxe_dir: String,
    /// Where TFTP listens, by IPv4. 0 turns it off
    #[arg(long, env = "BESKAR7_TFTP_BIND_ADDRESS", hide_env_values = true, value_name = "ADDRESS",
          value_parser = address::parse, default_value = ":69")]
    pub tftp_bind_address: BindAddress,
    /// Send files from the port that was asked, and not from one for each transfer: where something stands between that
    /// knows no other. Some firmware refuses that
    #[arg(long, env = "BESKAR7_TFTP_SINGLE_PORT", hide_env_values = true, value_name = "BOOL",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = boolean,
          default_value = "false", default_missing_value = "true")]
    pub tftp_single_port: bool,
    /// The URL of the kernel of the agent, which inspects machines, wipes disks and writes disk images: hosts start it from
    /// the network. It may end in #sha256= and the digest of its content. Needs --boot-url. Empty: none
    #[arg(
        long,
        env = "BESKAR7_AGENT_KERNEL",
        hide_env_values = true,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub agent_kernel: String,
    /// The URL of the agent's initial ramdisk, beside its kernel
    #[arg(
        long,
        env = "BESKAR7_AGENT_INITRAMFS",
        hide_env_values = true,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub agent_initramfs: String,
    /// The kernel's parameters where hosts start the agent from the network, separated by spaces: an ISO has its own. The
    /// last console is the one that the agent writes to
    #[arg(
        long,
        env = "BESKAR7_AGENT_KERNEL_ARGS",
        hide_env_values = true,
        value_name = "PARAMETERS",
        value_delimiter = ' ',
        default_value = "console=tty0 console=ttyS0,115200 panic=60"
    )]
    pub agent_kernel_args: Vec<String>,
    /// The URL of an ISO with the agent: hosts start it from virtual media. Where --agent-kernel is given, too, the ISO is
    /// taken. Needs --boot-url. Empty: none
    #[arg(
        long,
        env = "BESKAR7_AGENT_ISO",
        hide_env_values = true,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub agent_iso: String,
    /// Whether hosts that say nothing of it in spec.inspect are inspected by the agent before they are Available: on-request
    /// or always, which needs the agent. Machines are turned off and on for it
    #[arg(long, env = "BESKAR7_INSPECT", hide_env_values = true, value_name = "WHEN", value_enum,
          default_value_t = Inspect::OnRequest)]
    pub inspect: Inspect,
    /// Write down machines that ask our DHCP for something to boot and that nobody knows: as PhysicalHosts in this
    /// namespace, inspected and cordoned. It needs --boot-url, --dhcp, --agent-kernel and --agent-initramfs, and is the
    /// same as --namespace where that is set. Empty: none
    #[arg(
        long,
        env = "BESKAR7_DISCOVERY_NAMESPACE",
        hide_env_values = true,
        value_name = "NAMESPACE",
        default_value = "",
        hide_default_value = true
    )]
    pub discovery_namespace: String,
    /// How many of them may wait to be accepted. While so many do, no others are written down
    #[arg(long, env = "BESKAR7_DISCOVERY_LIMIT", hide_env_values = true, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..), default_value = "100")]
    pub discovery_limit: u16,
    /// How long a machine may read its configuration after it was turned on for it, if its boot is not seen before
    #[arg(long, env = "BESKAR7_CONFIGURATION_TIMEOUT", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "1h")]
    pub configuration_timeout: Duration,
    /// The only hosts that the boot server may read images from, separated by commas: names, *.example.org, addresses, each
    /// with :port where only that one is meant. Empty: all
    #[arg(long, env = "BESKAR7_ARTIFACT_HOSTS", hide_env_values = true, value_name = "HOSTS", value_delimiter = ',',
          value_parser = host_rule, default_value = "", hide_default_value = true)]
    pub artifact_hosts: Vec<Option<HostRule>>,
    /// A file with CA certificates, in PEM, that the boot server trusts for images besides those of the system
    #[arg(
        long,
        env = "BESKAR7_ARTIFACT_CA_FILE",
        hide_env_values = true,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub artifact_ca_file: String,
    /// A directory to keep images in, so that each is fetched once. What the cache left there before is removed at the
    /// start. Empty: none, images are read from where they are
    #[arg(
        long,
        env = "BESKAR7_ARTIFACT_CACHE_DIR",
        hide_env_values = true,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub artifact_cache_dir: String,
    /// How many GiB of images are kept there
    #[arg(long, env = "BESKAR7_ARTIFACT_CACHE_GIB", hide_env_values = true, value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=1_048_576), default_value = "20")]
    pub artifact_cache_gib: u64,
    /// Let the boot server read images from loopback addresses: for development on one machine only
    #[arg(long, env = "BESKAR7_ARTIFACT_ALLOW_LOOPBACK", hide_env_values = true, value_name = "BOOL",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = boolean,
          default_value = "false", default_missing_value = "true")]
    pub artifact_allow_loopback: bool,
}

impl Options {
    /// Where hosts reach the boot server, if it is on.
    #[must_use]
    pub fn boot_url(&self) -> Option<&str> {
        given(&self.boot.boot_url)
    }

    /// The files of the boot server's certificate and key, if it has one.
    #[must_use]
    pub fn boot_certificate(&self) -> Option<(&Path, &Path)> {
        Some((path(&self.boot.boot_tls_cert_file)?, path(&self.boot.boot_tls_key_file)?))
    }

    /// The interfaces that DHCP listens on; none are all. It was checked that this is what was asked for.
    #[must_use]
    pub fn dhcp_interfaces(&self) -> Vec<String> {
        let named = list(&self.boot.dhcp_interfaces);
        if named.iter().any(|name| name == EVERY_INTERFACE) { Vec::new() } else { named }
    }

    /// The networks that DHCP answers; none are those of its interfaces. It was checked that they are networks.
    #[must_use]
    pub fn dhcp_networks(&self) -> Vec<Ipv4Net> {
        list(&self.boot.dhcp_networks).iter().filter_map(|network| network.parse().ok()).collect()
    }

    /// The directory of iPXE's programs, if there is one.
    #[must_use]
    pub fn ipxe_dir(&self) -> Option<&Path> {
        path(&self.boot.ipxe_dir)
    }

    /// Where TFTP listens, if it does: there is nothing to give out without a directory.
    #[must_use]
    pub fn tftp_address(&self) -> Option<SocketAddrV4> {
        self.ipxe_dir()?;
        match self.boot.tftp_bind_address {
            BindAddress::Off | BindAddress::At(SocketAddr::V6(_)) => None,
            BindAddress::Any(port) => Some(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)),
            BindAddress::At(SocketAddr::V4(address)) => Some(address),
        }
    }

    /// Whether machines are told by DHCP to fetch by HTTPS, which not every iPXE can.
    #[must_use]
    pub fn needs_https_loaders(&self) -> bool {
        let is_https = |url: &str| url.to_ascii_lowercase().starts_with("https:");
        self.boot.dhcp != DhcpMode::Off && self.boot_url().is_some_and(is_https)
    }

    /// The address by which machines know the DHCP server, where one was given. It was checked that it is one.
    #[must_use]
    pub fn dhcp_advertised(&self) -> Option<Ipv4Addr> {
        given(&self.boot.dhcp_advertise_address)?.parse().ok()
    }

    /// Where the agent is.
    #[must_use]
    pub fn agent(&self) -> Agent {
        let owned = |text| given(text).map(str::to_owned);
        let (kernel, initramfs) = (owned(&self.boot.agent_kernel), owned(&self.boot.agent_initramfs));
        let arguments = self.boot.agent_kernel_args.iter().filter(|word| !word.is_empty()).cloned().collect();
        Agent { kernel: kernel.zip(initramfs), arguments, iso: owned(&self.boot.agent_iso) }
    }

    /// Where machines that nobody knows are written down, if they are.
    #[must_use]
    pub fn discovery_namespace(&self) -> Option<&str> {
        given(&self.boot.discovery_namespace)
    }

    /// The same, with all that belongs to it.
    #[must_use]
    pub fn discovering(&self) -> Option<Discovering> {
        Some(Discovering {
            namespace: self.discovery_namespace()?.to_owned(),
            limit: usize::from(self.boot.discovery_limit),
            watch_filter: self.watch_filter().map(str::to_owned),
        })
    }

    /// A file with CAs for images, if one was given.
    #[must_use]
    pub fn artifact_ca_file(&self) -> Option<&Path> {
        path(&self.boot.artifact_ca_file)
    }

    /// Where images are kept, if they are.
    #[must_use]
    pub fn artifact_cache_dir(&self) -> Option<&Path> {
        path(&self.boot.artifact_cache_dir)
    }
}

/// Where images may come from; an empty one is none.
fn host_rule(text: &str) -> Result<Option<HostRule>, HostRuleError> {
    given(text.trim()).map(str::parse).transpose()
}
