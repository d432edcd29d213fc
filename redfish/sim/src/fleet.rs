//! Many BMCs in one process, each at its own loopback address, all on one port.
//!
//! Linux answers for the whole of 127.0.0.0/8, so nothing has to be configured; a listener per
//! address keeps every socket on loopback and costs a file descriptor and a small task.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bmc::identity::Identity;
use crate::bmc::{Bmc, Credentials};
use crate::clock::{Clock, Pace};
use crate::control;
use crate::faults::Widespread;
use crate::hardware::Hardware;
use crate::host::{Host, World};
use crate::os::BootedOs;
use crate::profiles::{self, Profile};
use crate::reader::Reader;
use crate::serve::Server;
use crate::tls::{Authority, TlsError};

/// What a fleet is made of.
#[derive(Clone)]
pub struct FleetConfig {
    /// How many BMCs.
    pub count: usize,
    /// Their profiles, in turn.
    pub profiles: Vec<&'static Profile>,
    /// The address of the first; the others follow.
    pub first: Ipv4Addr,
    /// The port of all; 0 takes one that is free at the first address.
    pub port: u16,
    /// https instead of http.
    pub tls: bool,
    /// How long every answer takes at least.
    pub latency: Duration,
    /// How long machines and BMCs take for what they do, as a multiple of their profile's times.
    pub pace: f64,
    /// Who may log in.
    pub credentials: Credentials,
    /// Where the control API listens; none without it.
    pub control: Option<SocketAddr>,
    /// What runs on machines that have booted.
    pub os: Option<Arc<dyn BootedOs>>,
    /// What is behind the BMCs instead of simulated machines.
    pub hardware: Option<Arc<dyn Hardware>>,
}

impl Default for FleetConfig {
    fn default() -> Self {
        Self {
            count: 1,
            profiles: vec![profiles::plain()],
            first: Ipv4Addr::new(127, 20, 0, 1),
            port: 0,
            tls: false,
            latency: Duration::ZERO,
            pace: 1.0,
            credentials: Credentials { username: "admin".to_owned(), password: "password".to_owned() },
            control: None,
            os: None,
            hardware: None,
        }
    }
}

/// Why a fleet could not start or grow.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Only loopback is served.
    #[error("{0} is not a loopback address: simulated BMCs live in 127.0.0.0/8 only")]
    NotLoopback(std::net::IpAddr),
    /// Somebody is there already.
    #[error("there is a BMC at {0} already")]
    Taken(Ipv4Addr),
    /// The system said no.
    #[error("can't listen on {0}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// No certificates.
    #[error("no certificates")]
    Tls(#[from] TlsError),
    /// No HTTP client for the machines.
    #[error("the machines can't read over HTTP")]
    Reader(#[from] reqwest::Error),
}

/// A running fleet. Dropping it stops it.
pub struct Fleet {
    config: FleetConfig,
    world: Arc<World>,
    credentials: Arc<Credentials>,
    authority: Option<Arc<Authority>>,
    hosts: RwLock<BTreeMap<Ipv4Addr, Arc<Host>>>,
    port: OnceLock<u16>,
    control: OnceLock<SocketAddr>,
    stop: CancellationToken,
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet")
            .field("port", &self.port)
            .field("control", &self.control)
            .finish_non_exhaustive()
    }
}

impl Fleet {
    /// Starts every BMC, and the control API if one is asked for.
    pub async fn start(config: FleetConfig) -> Result<Arc<Self>, FleetError> {
        // Another part of the process may have chosen a provider: then that one serves.
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::debug!("a TLS provider is installed already");
        }
        raise_file_limit();
        let world = World {
            clock: Clock::start(),
            reader: Reader::new()?,
            os: config.os.clone(),
            hardware: config.hardware.clone(),
        };
        let authority = if config.tls { Some(Arc::new(Authority::new()?)) } else { None };
        let fleet = Arc::new(Self {
            credentials: Arc::new(config.credentials.clone()),
            world: Arc::new(world),
            authority,
            hosts: RwLock::default(),
            port: OnceLock::new(),
            control: OnceLock::new(),
            stop: CancellationToken::new(),
            config,
        });
        fleet.add_all().await?;
        if let Some(address) = fleet.config.control {
            fleet.serve_control(address).await?;
        }
        Ok(fleet)
    }

    async fn add_all(&self) -> Result<(), FleetError> {
        let first = self.config.first.to_bits();
        for i in 0..self.config.count {
            let offset = u32::try_from(i).unwrap_or(u32::MAX);
            let address = Ipv4Addr::from_bits(first.saturating_add(offset));
            let kinds = self.config.profiles.len().max(1);
            let profile = self.config.profiles.get(i % kinds).copied().unwrap_or_else(profiles::plain);
            self.add(address, profile).await?;
        }
        Ok(())
    }

    /// Adds a BMC at an address.
    pub async fn add(&self, address: Ipv4Addr, profile: &'static Profile) -> Result<Arc<Host>, FleetError> {
        if !address.is_loopback() {
            return Err(FleetError::NotLoopback(address.into()));
        }
        if self.host(address).is_some() {
            return Err(FleetError::Taken(address));
        }
        let port = self.port.get().copied().unwrap_or(self.config.port);
        let at = SocketAddr::V4(SocketAddrV4::new(address, port));
        let listener = TcpListener::bind(at).await.map_err(|error| FleetError::Listen(at, error))?;
        let bound = listener.local_addr().map_err(|error| FleetError::Listen(at, error))?.port();
        self.port.get_or_init(|| bound);

        let pace = Pace::new(self.config.pace);
        let bmc = Bmc::new(profile, Identity::of(address), self.credentials.clone(), self.world.clock, pace);
        let host = Host::new(bmc, self.world.clone());
        let server = Arc::new(Server {
            host: host.clone(),
            address,
            authority: self.authority.clone(),
            acceptor: OnceLock::new(),
            latency: self.config.latency,
            stop: self.stop.clone(),
        });
        tokio::spawn(server.run(listener));
        self.hosts.write().unwrap_or_else(PoisonError::into_inner).insert(address, host.clone());
        Ok(host)
    }

    async fn serve_control(self: &Arc<Self>, at: SocketAddr) -> Result<(), FleetError> {
        if !at.ip().is_loopback() {
            return Err(FleetError::NotLoopback(at.ip()));
        }
        let listener = TcpListener::bind(at).await.map_err(|error| FleetError::Listen(at, error))?;
        let bound = listener.local_addr().map_err(|error| FleetError::Listen(at, error))?;
        self.control.get_or_init(|| bound);
        tokio::spawn(control::serve(listener, Arc::downgrade(self), self.stop.clone()));
        Ok(())
    }

    /// The BMC at an address.
    #[must_use]
    pub fn host(&self, address: Ipv4Addr) -> Option<Arc<Host>> {
        self.hosts.read().unwrap_or_else(PoisonError::into_inner).get(&address).cloned()
    }

    /// All BMCs, by address.
    #[must_use]
    pub fn hosts(&self) -> Vec<(Ipv4Addr, Arc<Host>)> {
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        hosts.iter().map(|(address, host)| (*address, host.clone())).collect()
    }

    /// Puts a fault into many BMCs, and says into which.
    pub fn arm(&self, fault: &Widespread) -> Vec<Ipv4Addr> {
        let numbers = (1..).filter_map(NonZeroUsize::new);
        let mut armed = Vec::new();
        for (number, (address, host)) in numbers.zip(self.hosts()) {
            host.with(|bmc, _| {
                if fault.on.includes(number, bmc.profile) {
                    bmc.faults.arm(fault.armed.clone());
                    armed.push(address);
                }
            });
        }
        armed
    }

    /// Takes every fault out of every BMC.
    pub fn clear_faults(&self) {
        for (_, host) in self.hosts() {
            host.with(|bmc, _| bmc.faults.clear());
        }
    }

    /// The port of all BMCs.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.get().copied().unwrap_or(self.config.port)
    }

    /// The URL of the BMC at an address, without a path.
    #[must_use]
    pub fn url(&self, address: Ipv4Addr) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}:{}", self.port())
    }

    /// Where the control API listens.
    #[must_use]
    pub fn control(&self) -> Option<SocketAddr> {
        self.control.get().copied()
    }

    /// The CA's certificate, if the fleet serves https.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.authority.as_deref().map(Authority::pem)
    }

    /// Closes every listener and connection.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A listener per BMC needs as many file descriptors as the system allows.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: now.maximum, maximum: now.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}
