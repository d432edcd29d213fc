//! The command line: every flag, its environment variable and its default, and what may be combined.
//!
//! Names and defaults are those that users of other Cluster API providers know. Nothing here acts on them.

mod address;
mod boot;
mod checks;
mod duration;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgAction, Args, CommandFactory as _, Parser, ValueEnum};

pub use self::{
    address::BindAddress,
    boot::{Boot, DhcpMode, Inspect},
    checks::OptionsError,
};
use crate::exit::EXIT_CODES_HELP;

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
