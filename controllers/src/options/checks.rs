//! What one flag's type can't say: rules on single values, and on flags together.

use std::{net::SocketAddr, time::Duration};

use beskar7_boot::dhcp::Ipv4Net;
use beskar7_core::delivery::AgentBoot;
use beskar7_core::kernel_line::{self, ArgumentError};

use super::{BindAddress, DhcpMode, Inspect, Options, list};

/// A value or a combination of flags that can't work.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OptionsError {
    /// Not a name that a namespace can have.
    #[error(
        "--{flag}: {value:?} can't be the name of a namespace: use lower-case letters, digits and '-', at most 63"
    )]
    Namespace {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        value: String,
    },
    /// Not a value that a label can have.
    #[error(
        "--watch-filter: {0:?} can't be the value of a label: use letters, digits, '-', '_' and '.', at most 63"
    )]
    WatchFilter(String),
    /// A Lease stores whole seconds.
    #[error(
        "--leader-elect-lease-duration is {0:?}: a Lease stores whole seconds, so use 1s or more, without fractions"
    )]
    LeaseSeconds(Duration),
    /// A leader would go on after others took over.
    #[error(
        "--leader-elect-renew-deadline ({renew:?}) must be shorter than --leader-elect-lease-duration ({lease:?}): \
         else a leader would go on after another replica took over"
    )]
    RenewDeadline {
        /// The renew deadline.
        renew: Duration,
        /// The lease duration.
        lease: Duration,
    },
    /// A leader would have no second try.
    #[error(
        "--leader-elect-retry-period ({retry:?}) must be longer than 0s and shorter than \
         --leader-elect-renew-deadline ({renew:?})"
    )]
    RetryPeriod {
        /// The retry period.
        retry: Duration,
        /// The renew deadline.
        renew: Duration,
    },
    /// A duration that must not be zero.
    #[error("--{0} must be longer than 0s")]
    Zero(&'static str),
    /// Not a URL that a host could open.
    #[error(
        "--boot-url: {0:?} is not an absolute http or https URL: write one such as http://boot.example.org:8082"
    )]
    BootUrl(String),
    /// Not a prefix that labels can have.
    #[error(
        "--node-label-prefixes: {0:?} can't be the beginning of a label with a domain: write one such as \
         topology.kubernetes.io/ or example.org/rack-"
    )]
    LabelPrefix(String),
    /// A prefix of labels that are somebody else's.
    #[error(
        "--node-label-prefixes: labels of {0} on Nodes are Kubernetes' or Cluster API's own: of theirs, only \
         topology.kubernetes.io/ and node-restriction.kubernetes.io/ may come from hosts"
    )]
    LabelOwned(String),
    /// A boot server that is on but listens nowhere.
    #[error(
        "--boot-url is given, but --boot-bind-address is 0: give an address to listen on, or no --boot-url"
    )]
    BootUnbound,
    /// A certificate without its key, or the other way round.
    #[error("--boot-tls-cert-file and --boot-tls-key-file belong together: give both, or neither")]
    BootCertificate,
    /// It would serve nothing.
    #[error("--{0} needs --boot-url: machines must be told where the boot server is")]
    NeedsBootUrl(&'static str),
    /// Machines would be told to fetch what nobody gives out.
    #[error(
        "--dhcp needs --ipxe-dir: a directory with iPXE's programs, such as that of a distribution's package"
    )]
    NeedsLoaders,
    /// Pods could ask in the name of machines.
    #[error(
        "--dhcp needs --dhcp-interfaces: the interfaces on the provisioning network, such as eth1, separated by commas. \
         * is all of them, those of the node's pods too, which could then ask in a machine's name"
    )]
    NeedsInterfaces,
    /// Not an address.
    #[error("--dhcp-advertise-address: {0:?} is not an IPv4 address")]
    Advertised(String),
    /// Not a network.
    #[error("--dhcp-networks: {0:?} is not an IPv4 network: write one such as 192.0.2.0/24")]
    AnsweredNetwork(String),
    /// TFTP by IPv6.
    #[error("--tftp-bind-address: TFTP is served by IPv4 only: give an IPv4 address, or :PORT")]
    TftpAddress,
    /// Two things that exclude each other.
    #[error(
        "--boot-only runs no controllers, so there is nothing to elect a leader for: leave --leader-elect out"
    )]
    NothingToLead,
    /// One half of the agent.
    #[error("--agent-kernel and --agent-initramfs belong together: give both, or neither")]
    AgentHalf,
    /// Nobody could inspect.
    #[error("--inspect=always needs the agent: give --agent-iso, or --agent-kernel and --agent-initramfs")]
    NothingInspects,
    /// Nobody could find, boot or inspect a machine.
    #[error("--discovery-namespace needs {0}")]
    DiscoveryNeeds(&'static str),
    /// What is written there would be nobody's.
    #[error(
        "--discovery-namespace is {discovery:?}, but --namespace is {watched:?}: discovered machines would be \
         in a namespace that is not watched. Give the same, or leave --namespace out"
    )]
    DiscoveryElsewhere {
        /// Where they would be.
        discovery: String,
        /// What is watched.
        watched: String,
    },
    /// Not a URL that the agent could be fetched from.
    #[error("--{flag}: {value:?} is not an absolute http or https URL")]
    AgentUrl {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        value: String,
    },
    /// No kernel could be told so.
    #[error("--agent-kernel-args: {0}")]
    AgentArguments(ArgumentError),
    /// Hosts would speak plain HTTP to a server that speaks HTTPS.
    #[error(
        "--boot-tls-cert-file is given, but --boot-url begins with http: write https, or give no certificate"
    )]
    BootScheme,
}

/// Finds the first thing that can't work.
pub(super) fn check(options: &Options) -> Result<(), OptionsError> {
    namespace("namespace", options.watch_namespace())?;
    namespace("leader-election-namespace", options.election_namespace())?;
    if let Some(value) = options.watch_filter().filter(|value| !is_label_value(value)) {
        return Err(OptionsError::WatchFilter(value.to_owned()));
    }
    election(options)?;
    for (flag, value) in [
        ("kube-api-timeout", options.kube.kube_api_timeout),
        ("sync-period", options.controllers.sync_period),
        ("bmc-poll-interval", options.controllers.bmc_poll_interval),
        ("boot-timeout", options.controllers.boot_timeout),
        ("release-timeout", options.controllers.release_timeout),
        ("configuration-timeout", options.boot.configuration_timeout),
    ] {
        if value.is_zero() {
            return Err(OptionsError::Zero(flag));
        }
    }
    options.node_label_prefixes().iter().try_for_each(|prefix| label_prefix(prefix))?;
    boot(options)
}

/// Whole domains only: a part of one would choose labels of strangers.
fn label_prefix(prefix: &str) -> Result<(), OptionsError> {
    let unusable = || OptionsError::LabelPrefix(prefix.to_owned());
    let (domain, name) = prefix.split_once('/').ok_or_else(unusable)?;
    let named = name.is_empty() || is_label_value(name.trim_end_matches(['-', '_', '.']));
    if domain.len() > 253 || !domain.contains('.') || !domain.split('.').all(is_dns_label) || !named {
        return Err(unusable());
    }
    let is_theirs = |owner: &str| domain == owner || domain.ends_with(&format!(".{owner}"));
    let free = ["topology.kubernetes.io", "node-restriction.kubernetes.io"].contains(&domain);
    if !free && ["kubernetes.io", "k8s.io", "cluster.x-k8s.io"].into_iter().any(is_theirs) {
        return Err(OptionsError::LabelOwned(domain.to_owned()));
    }
    Ok(())
}

fn election(options: &Options) -> Result<(), OptionsError> {
    let lease = options.leader.leader_elect_lease_duration;
    let renew = options.leader.leader_elect_renew_deadline;
    let retry = options.leader.leader_elect_retry_period;
    if lease.is_zero() || lease.subsec_nanos() != 0 {
        return Err(OptionsError::LeaseSeconds(lease));
    }
    if renew >= lease {
        return Err(OptionsError::RenewDeadline { renew, lease });
    }
    if retry.is_zero() || retry >= renew {
        return Err(OptionsError::RetryPeriod { retry, renew });
    }
    Ok(())
}

fn agent(options: &Options) -> Result<(), OptionsError> {
    let boot = &options.boot;
    if boot.agent_kernel.is_empty() != boot.agent_initramfs.is_empty() {
        return Err(OptionsError::AgentHalf);
    }
    if boot.inspect == Inspect::Always && options.agent().boot() == AgentBoot::None {
        return Err(OptionsError::NothingInspects);
    }
    for (flag, value) in [
        ("agent-kernel", &boot.agent_kernel),
        ("agent-initramfs", &boot.agent_initramfs),
        ("agent-iso", &boot.agent_iso),
    ] {
        if value.is_empty() {
            continue;
        }
        if !is_absolute(value) {
            return Err(OptionsError::AgentUrl { flag, value: value.clone() });
        }
        if options.boot_url().is_none() {
            return Err(OptionsError::NeedsBootUrl(flag));
        }
    }
    kernel_line::line(&options.agent().arguments).map(drop).map_err(OptionsError::AgentArguments)
}

fn discovery(options: &Options) -> Result<(), OptionsError> {
    let Some(discovery) = options.discovery_namespace() else { return Ok(()) };
    namespace("discovery-namespace", Some(discovery))?;
    if options.boot_url().is_none() {
        return Err(OptionsError::NeedsBootUrl("discovery-namespace"));
    }
    if options.boot.dhcp == DhcpMode::Off {
        return Err(OptionsError::DiscoveryNeeds(
            "--dhcp: machines that nobody knows are found when they ask by DHCP",
        ));
    }
    if options.agent().kernel.is_none() {
        return Err(OptionsError::DiscoveryNeeds(
            "--agent-kernel and --agent-initramfs: the agent that inspects is started from the network",
        ));
    }
    match options.watch_namespace() {
        Some(watched) if watched != discovery => Err(OptionsError::DiscoveryElsewhere {
            discovery: discovery.to_owned(),
            watched: watched.to_owned(),
        }),
        Some(_) | None => Ok(()),
    }
}

fn is_absolute(url: &str) -> bool {
    url.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    })
}

fn boot(options: &Options) -> Result<(), OptionsError> {
    network(options)?;
    agent(options)?;
    discovery(options)?;
    let Some(url) = options.boot_url() else { return Ok(()) };
    if !is_absolute(url) || url.contains('?') {
        return Err(OptionsError::BootUrl(url.to_owned()));
    }
    if options.boot.boot_bind_address == BindAddress::Off {
        return Err(OptionsError::BootUnbound);
    }
    let files = [&options.boot.boot_tls_cert_file, &options.boot.boot_tls_key_file];
    let given = files.iter().filter(|file| !file.is_empty()).count();
    if given == 1 {
        return Err(OptionsError::BootCertificate);
    }
    if given == 2 && !url.to_ascii_lowercase().starts_with("https:") {
        return Err(OptionsError::BootScheme);
    }
    Ok(())
}

fn network(options: &Options) -> Result<(), OptionsError> {
    let boot = &options.boot;
    let has_dhcp = boot.dhcp != DhcpMode::Off;
    for (flag, is_on) in [("boot-only", boot.boot_only), ("dhcp", has_dhcp)] {
        if is_on && options.boot_url().is_none() {
            return Err(OptionsError::NeedsBootUrl(flag));
        }
    }
    if has_dhcp && options.ipxe_dir().is_none() {
        return Err(OptionsError::NeedsLoaders);
    }
    if has_dhcp && list(&boot.dhcp_interfaces).is_empty() {
        return Err(OptionsError::NeedsInterfaces);
    }
    let advertised = &boot.dhcp_advertise_address;
    if !advertised.is_empty() && options.dhcp_advertised().is_none() {
        return Err(OptionsError::Advertised(advertised.clone()));
    }
    let is_network = |text: &String| text.parse::<Ipv4Net>().is_ok();
    if let Some(other) = list(&boot.dhcp_networks).into_iter().find(|text| !is_network(text)) {
        return Err(OptionsError::AnsweredNetwork(other));
    }
    if matches!(boot.tftp_bind_address, BindAddress::At(SocketAddr::V6(_))) {
        return Err(OptionsError::TftpAddress);
    }
    if boot.boot_only && options.leader.leader_elect {
        return Err(OptionsError::NothingToLead);
    }
    Ok(())
}

fn namespace(flag: &'static str, value: Option<&str>) -> Result<(), OptionsError> {
    match value {
        Some(value) if !is_dns_label(value) => Err(OptionsError::Namespace { flag, value: value.to_owned() }),
        Some(_) | None => Ok(()),
    }
}

fn is_dns_label(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 63
        && text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|c| edge(c) || c == '-')
}

fn is_label_value(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|c| edge(c) || matches!(c, '-' | '_' | '.'))
}
