//! The command line: every flag, its environment variable and its default, and what may be combined.
//!
//! Names and defaults are those that users of other Cluster API providers know. Nothing here acts on them.

mod address;
mod checks;
mod duration;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};

use beskar7_boot::{
    dhcp::Ipv4Net,
    upstream::{HostRule, HostRuleError},
};
use beskar7_core::network_boot::Agent;
use clap::{ArgAction, Args, CommandFactory as _, Parser, ValueEnum};

pub use self::{address::BindAddress, checks::OptionsError};
use crate::{boot_server::Discovering, exit::EXIT_CODES_HELP};

/// What stands for every interface.
const EVERY_INTERFACE: &str = "*";

/// The Beskar7 manager: turns servers with Redfish BMCs into Cluster API machines.
///
/// Every flag can also be given as an environment variable, shown beside it; the flag wins.
/// Switches take --x, --x=true and --x=false.
#[derive(Debug, Clone, Parser)]
#[command(name = "manager", version = crate::VERSION, after_help = EXIT_CODES_HELP, args_override_self = true)]
pub struct Options {
    /// Which objects.
    #[command(flatten)]
    pub scope: Scope,
    /// Which API server.
    #[command(flatten)]
    pub kube: Kube,
    /// Which replica acts.
    #[command(flatten)]
    pub leader: Leader,
    /// How much at once.
    #[command(flatten)]
    pub controllers: Controllers,
    /// Health and metrics.
    #[command(flatten)]
    pub diagnostics: Diagnostics,
    /// Logs.
    #[command(flatten)]
    pub logging: Logging,
    /// The boot server.
    #[command(flatten)]
    pub boot: Boot,
}

/// Which objects this manager looks after.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Which objects")]
pub struct Scope {
    /// Look after the objects of this namespace only. Empty: all namespaces
    #[arg(
        long,
        env = "BESKAR7_NAMESPACE",
        hide_env_values = true,
        value_name = "NAMESPACE",
        default_value = "",
        hide_default_value = true
    )]
    pub namespace: String,
    /// Look after those objects only whose label cluster.x-k8s.io/watch-filter has this value.
    /// Empty: all objects
    #[arg(
        long,
        env = "BESKAR7_WATCH_FILTER",
        hide_env_values = true,
        value_name = "VALUE",
        default_value = "",
        hide_default_value = true
    )]
    pub watch_filter: String,
}

/// How the API server is reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "API server")]
pub struct Kube {
    /// Path of a kubeconfig. Without it: $KUBECONFIG, ~/.kube/config, then the pod's service account
    #[arg(long, env = "BESKAR7_KUBECONFIG", hide_env_values = true, value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Without it: its current one
    #[arg(long, env = "BESKAR7_CONTEXT", hide_env_values = true, value_name = "NAME")]
    pub context: Option<String>,
    /// How long one request may take until it is answered
    #[arg(long, env = "BESKAR7_KUBE_API_TIMEOUT", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "30s")]
    pub kube_api_timeout: Duration,
    /// How long to wait at start for an API server that does not answer
    #[arg(long, env = "BESKAR7_KUBE_API_WAIT", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "1m")]
    pub kube_api_wait: Duration,
}

/// Which of several replicas acts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Leader election")]
pub struct Leader {
    /// Act only while holding a Lease, so that several replicas can run
    #[arg(long, env = "BESKAR7_LEADER_ELECT", hide_env_values = true, value_name = "BOOL", action = ArgAction::Set,
          num_args = 0..=1, require_equals = true, value_parser = boolean,
          default_value = "false", default_missing_value = "true")]
    pub leader_elect: bool,
    /// How long others wait after the last renewal they saw before they take over; whole seconds
    #[arg(long, env = "BESKAR7_LEADER_ELECT_LEASE_DURATION", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "15s")]
    pub leader_elect_lease_duration: Duration,
    /// How long the leader goes on after its last renewal; shorter than the lease duration
    #[arg(long, env = "BESKAR7_LEADER_ELECT_RENEW_DEADLINE", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "10s")]
    pub leader_elect_renew_deadline: Duration,
    /// How long between two tries to get or renew the Lease; shorter than the renew deadline
    #[arg(long, env = "BESKAR7_LEADER_ELECT_RETRY_PERIOD", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "2s")]
    pub leader_elect_retry_period: Duration,
    /// Namespace of the Lease, and of the boot server's key, the Secret beskar7-boot-key. Empty: the namespace of the pod's
    /// service account
    #[arg(
        long,
        env = "BESKAR7_LEADER_ELECTION_NAMESPACE",
        hide_env_values = true,
        value_name = "NAMESPACE",
        default_value = "",
        hide_default_value = true
    )]
    pub leader_election_namespace: String,
}

/// How much is done at once, and how often again.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Controllers")]
pub struct Controllers {
    /// The longest time after which an object is looked at again though nothing changed
    #[arg(long, env = "BESKAR7_SYNC_PERIOD", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "10m")]
    pub sync_period: Duration,
    /// How many PhysicalHosts are worked on at the same time
    #[arg(long, env = "BESKAR7_PHYSICALHOST_CONCURRENCY", hide_env_values = true, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..), default_value = "500")]
    pub physicalhost_concurrency: u16,
    /// How many Beskar7Machines are worked on at the same time
    #[arg(long, env = "BESKAR7_BESKAR7MACHINE_CONCURRENCY", hide_env_values = true, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..), default_value = "50")]
    pub beskar7machine_concurrency: u16,
    /// How many HostClaims are worked on at the same time
    #[arg(long, env = "BESKAR7_HOSTCLAIM_CONCURRENCY", hide_env_values = true, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..), default_value = "50")]
    pub hostclaim_concurrency: u16,
    /// How many Beskar7Clusters are worked on at the same time
    #[arg(long, env = "BESKAR7_BESKAR7CLUSTER_CONCURRENCY", hide_env_values = true, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..), default_value = "10")]
    pub beskar7cluster_concurrency: u16,
    /// How often a BMC is asked while nothing happens
    #[arg(long, env = "BESKAR7_BMC_POLL_INTERVAL", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "1m")]
    pub bmc_poll_interval: Duration,
    /// How long the boot of a machine is awaited, before lesser signs count or it is provisioned with the reason
    /// BootUnobservable. A machine that asks the boot server for its configuration is ConfigurationNotRead then
    #[arg(long, env = "BESKAR7_BOOT_TIMEOUT", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "15m")]
    pub boot_timeout: Duration,
    /// How long the deletion of a host waits for a BMC that does not turn the machine off, and that of a Beskar7Machine
    /// for its host until it says how to go on without
    #[arg(long, env = "BESKAR7_RELEASE_TIMEOUT", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "10m")]
    pub release_timeout: Duration,
    /// Labels of a host that its Node gets, too: those that begin with one of these, separated by commas. Empty: none
    #[arg(
        long,
        env = "BESKAR7_NODE_LABEL_PREFIXES",
        hide_env_values = true,
        value_name = "PREFIXES",
        default_value = "topology.kubernetes.io/,node.beskar7.io/"
    )]
    pub node_label_prefixes: String,
    /// How long running work may take to finish when the manager is stopped; keep it below the pod's
    /// terminationGracePeriodSeconds
    #[arg(long, env = "BESKAR7_SHUTDOWN_TIMEOUT", hide_env_values = true, value_name = "DURATION",
          value_parser = duration::parse, default_value = "8s")]
    pub shutdown_timeout: Duration,
}

/// What tells others how the manager is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Diagnostics")]
pub struct Diagnostics {
    /// Where /metrics is served: by HTTPS, to callers whose token may get the non-resource URL /metrics.
    /// 0 turns it off
    #[arg(long, env = "BESKAR7_DIAGNOSTICS_ADDRESS", hide_env_values = true, value_name = "ADDRESS",
          value_parser = address::parse, default_value = ":8443")]
    pub diagnostics_address: BindAddress,
    /// Serve /metrics by plain HTTP to everybody
    #[arg(long, env = "BESKAR7_INSECURE_DIAGNOSTICS", hide_env_values = true, value_name = "BOOL",
          action = ArgAction::Set, num_args = 0..=1, require_equals = true, value_parser = boolean,
          default_value = "false", default_missing_value = "true")]
    pub insecure_diagnostics: bool,
    /// Where /healthz and /readyz are served. 0 turns it off
    #[arg(long, env = "BESKAR7_HEALTH_ADDR", hide_env_values = true, value_name = "ADDRESS",
          value_parser = address::parse, default_value = ":9440")]
    pub health_addr: BindAddress,
}

/// What is logged, and how.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Logs")]
pub struct Logging {
    /// How much is logged: 0 to 3 what happens, 4 and 5 why, 6 to 10 every step. BESKAR7_LOG, in the
    /// notation of RUST_LOG, overrules it per module
    #[arg(short, long, env = "BESKAR7_V", hide_env_values = true, value_name = "LEVEL",
          value_parser = clap::value_parser!(u8).range(0..=10), default_value = "2")]
    pub v: u8,
    /// One line of text, or one JSON object, per event
    #[arg(
        long,
        env = "BESKAR7_LOGGING_FORMAT",
        hide_env_values = true,
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub logging_format: LogFormat,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For log collectors.
    Json,
}

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
    /// Reads the command line and the environment.
    ///
    /// # Errors
    /// The text for the person who typed it, ready to print; `--help` and `--version` come this way too.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let options = Self::try_parse_from(arguments)?;
        checks::check(&options)
            .map_err(|error| Self::command().error(clap::error::ErrorKind::ValueValidation, error))?;
        Ok(options)
    }

    /// The one namespace to watch, if not all.
    #[must_use]
    pub fn watch_namespace(&self) -> Option<&str> {
        given(&self.scope.namespace)
    }

    /// The value that `cluster.x-k8s.io/watch-filter` must have, if one is asked for.
    #[must_use]
    pub fn watch_filter(&self) -> Option<&str> {
        given(&self.scope.watch_filter)
    }

    /// The namespace that the person names for the Lease, if any.
    #[must_use]
    pub fn election_namespace(&self) -> Option<&str> {
        given(&self.leader.leader_election_namespace)
    }

    /// What labels of a host must begin with for its Node to get them.
    #[must_use]
    pub fn node_label_prefixes(&self) -> Vec<String> {
        list(&self.controllers.node_label_prefixes)
    }

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

    /// Whether callers of /metrics must show a token.
    #[must_use]
    pub fn diagnostics_guarded(&self) -> bool {
        !self.diagnostics.insecure_diagnostics && self.diagnostics.diagnostics_address != BindAddress::Off
    }
}

/// An empty value is one that was not given: manifests pass `--namespace=${NAMESPACE:=}`.
fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// What stands between commas.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Where images may come from; an empty one is none.
fn host_rule(text: &str) -> Result<Option<HostRule>, HostRuleError> {
    given(text.trim()).map(str::parse).transpose()
}

/// A path, if one was given.
fn path(text: &str) -> Option<&Path> {
    given(text).map(Path::new)
}

/// Reads a boolean as Go's flag packages do.
fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false"),
    }
}
