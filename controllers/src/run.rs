//! Puts the manager together, runs it, and takes it apart again.
//!
//! Order at start: health server, API server and permissions, metrics and boot server, election, controllers.
//! Order at the end: controllers, then the Lease (only when nothing writes any more), then the servers.

mod boot;
mod controllers;
mod signals;

use std::path::PathBuf;

use beskar7_boot::{dhcp::BindError, open_files, server::CertificateError, upstream::UpstreamError};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

use self::{
    controllers::{Controllers, Parts},
    signals::Signals,
};
use crate::{
    boot_server::{KeyError, Presenter},
    caches::Feeds,
    clock,
    connection::{self, Connection, ConnectionError, Identity, IdentityError},
    diagnostics::{self, Guard, Health, Metrics, Pulse, ServerError, Servers},
    exit::Exit,
    leader::{Elector, Ended, Gate, LEASE_NAME, LeaseRegister, Times, elector::Reports},
    options::Options,
    preflight::{self, PreflightError},
};

/// What readiness waits for.
const CHECKS: &str = "the checks at start";
const CACHES: &str = "the caches";

/// Why the manager could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No way to the API server.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// It does not know enough about itself.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Something that must be true is not.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// A server does not serve.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The boot server ended.
    #[error("the boot server ended")]
    Boot(#[source] std::io::Error),
    /// The boot server has no key.
    #[error(transparent)]
    BootKey(#[from] KeyError),
    /// The boot server's certificate can't be used.
    #[error("--boot-tls-cert-file and --boot-tls-key-file can't be used")]
    BootCertificate(#[from] CertificateError),
    /// The CAs for images can't be read.
    #[error("--artifact-ca-file: {path} can't be read", path = .0.display())]
    ArtifactCa(PathBuf, #[source] std::io::Error),
    /// The boot loaders can't be read.
    #[error("--ipxe-dir: {path} can't be read", path = .0.display())]
    Loaders(PathBuf, #[source] std::io::Error),
    /// A port of DHCP or TFTP can't be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Images can't be read with these settings.
    #[error("images can't be read: check --artifact-ca-file and --artifact-cache-dir")]
    Upstream(#[from] UpstreamError),
    /// Signals can't be listened to.
    #[error("signals can't be listened to")]
    Signals(#[source] std::io::Error),
    /// A controller ended, which it never should by itself.
    #[error("a controller ended by itself; this is a bug, please report it with the log above")]
    ControllerEnded,
    /// The election ended, which it never should by itself.
    #[error("the election ended by itself; this is a bug, please report it with the log above")]
    ElectionEnded(#[source] tokio::task::JoinError),
}

/// Runs the manager until it is told to stop, or can't go on.
///
/// # Errors
/// Why it could not start, or could not go on.
pub async fn run(options: &Options) -> Result<Exit, RunError> {
    let signals = Signals::listen().map_err(RunError::Signals)?;
    let identity = Identity::new();
    tracing::info!(version = crate::VERSION, %identity, "beskar7 manager");
    // Before anything is made whose number goes by it.
    open_files::raise_limit();

    // Chosen once for the whole process. Already chosen is as good: nobody else here would choose another one.
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();

    let health = Health::default();
    health.wait_for(CHECKS);
    let pulse = Pulse::new("the runtime", RUNTIME_STUCK);
    health.watch(&pulse);
    let _ticker = Ticker(tokio::spawn(tick(pulse)));
    let mut servers = Servers::default();
    if let Some(listener) = diagnostics::bind("health-addr", options.diagnostics.health_addr)? {
        servers.health(listener, &health);
    }
    let mut manager = Manager { options, identity, health, metrics: Metrics::new(), servers };
    let result = tokio::select! {
        result = manager.serve(&signals) => result,
        () = signals.second() => Ok(Exit::StoppedAtOnce),
    };
    match &result {
        Ok(Exit::Stopped | Exit::Failed) => manager.servers.stop().await,
        // Nothing is tidied up: others go on, or somebody is in a hurry.
        Ok(Exit::LeadershipLost | Exit::StoppedAtOnce) | Err(_) => {}
    }
    result
}

struct Manager<'a> {
    options: &'a Options,
    identity: Identity,
    health: Health,
    metrics: Metrics,
    servers: Servers,
}

impl Manager<'_> {
    async fn serve(&mut self, signals: &Signals) -> Result<Exit, RunError> {
        let options = self.options;
        let connection = Connection::load(&options.kube, &self.identity, self.metrics.clone()).await?;
        let plain = connection.plain()?;
        let own_namespace = match options.leader.leader_elect || options.boot_url().is_some() {
            true => Some(connection::own_namespace(options.election_namespace())?),
            false => None,
        };
        tokio::select! {
            checked = preflight::check(&plain, connection.url(), options, own_namespace.as_deref()) => checked?,
            () = signals.first() => return Ok(Exit::Stopped),
        }
        self.health.passed(CHECKS);
        tracing::info!("the checks at start have passed");

        if let Some(listener) =
            diagnostics::bind("diagnostics-address", options.diagnostics.diagnostics_address)?
        {
            let guard = options.diagnostics_guarded().then(|| Guard::new(plain.clone()));
            self.servers.metrics(listener, &self.metrics, guard, self.identity.host())?;
        }
        let (mut watching, stop_watching) = (JoinSet::new(), CancellationToken::new());
        let mut feeds = Feeds::new(&plain, options);
        feeds.start(&mut watching, &stop_watching);
        self.wait_for_caches(&feeds, &mut watching, &stop_watching);
        let (stop_boot, mut boot_server) = (CancellationToken::new(), None);
        let presenter = boot::presenter(options, &plain, own_namespace.as_deref()).await?;
        if let Some(presenter) = &presenter {
            boot_server = boot::start(&self.parts(None), &plain, presenter, &feeds, &stop_boot)?;
        }
        if options.boot.boot_only {
            tracing::info!("serving machines that boot, and nothing else (--boot-only)");
            let exit = tokio::select! {
                () = signals.first() => Ok(Exit::Stopped),
                Some(_) = watching.join_next() => Err(RunError::ControllerEnded),
                error = self.servers.failure() => Err(error.into()),
                error = boot::failed(&mut boot_server) => Err(error),
            };
            stop_watching.cancel();
            boot::end(boot_server, &stop_boot).await;
            return exit;
        }
        let gate = if options.leader.leader_elect { Gate::closed() } else { Gate::always_open() };
        let leader_client = connection.leaders(&gate)?;
        let lease_namespace = own_namespace.filter(|_| options.leader.leader_elect);
        let mut election = self.election(plain, gate.clone(), lease_namespace);

        let mut controllers = Controllers::default();
        let exit = tokio::select! {
            () = signals.first() => Ok(Exit::Stopped),
            () = election.leading() => {
                controllers.start(&self.parts(presenter.clone()), &leader_client, gate, &feeds);
                tokio::select! {
                    () = signals.first() => Ok(Exit::Stopped),
                    ended = election.ended() => ended,
                    () = controllers.ended() => Err(RunError::ControllerEnded),
                    Some(_) = watching.join_next() => Err(RunError::ControllerEnded),
                    error = self.servers.failure() => Err(error.into()),
                    error = boot::failed(&mut boot_server) => Err(error),
                }
            }
            ended = election.ended() => ended,
            Some(_) = watching.join_next() => Err(RunError::ControllerEnded),
            error = self.servers.failure() => Err(error.into()),
            error = boot::failed(&mut boot_server) => Err(error),
        };
        match exit {
            Ok(Exit::Stopped) => {
                tracing::info!("stopping");
                let idle = controllers.stop(options.controllers.shutdown_timeout).await;
                election.stop(idle).await;
                stop_watching.cancel();
                boot::end(boot_server, &stop_boot).await;
                tracing::info!("stopped");
                Ok(Exit::Stopped)
            }
            other => other,
        }
    }

    /// A replica is ready when it knows what there is: it may lead, or be asked for a configuration, at any moment.
    fn wait_for_caches(&self, feeds: &Feeds, tasks: &mut JoinSet<()>, stop: &CancellationToken) {
        let (health, caches, stop) = (self.health.clone(), feeds.caches(), stop.clone());
        health.wait_for(CACHES);
        tasks.spawn(async move {
            if stop.run_until_cancelled(caches.filled()).await.is_some() {
                health.passed(CACHES);
            }
            stop.cancelled().await;
        });
    }

    fn parts(&self, presenter: Option<Presenter>) -> Parts<'_> {
        Parts {
            options: self.options,
            identity: &self.identity,
            health: &self.health,
            metrics: &self.metrics,
            presenter,
        }
    }

    fn election(&self, client: kube::Client, gate: Gate, namespace: Option<String>) -> Election {
        let (leading, receiver) = watch::channel(false);
        let release = CancellationToken::new();
        let Some(namespace) = namespace else {
            leading.send_replace(true);
            self.metrics.started_leading();
            tracing::info!("leading: there is no election (--leader-elect=false)");
            return Election { leading: receiver, release, task: None, _sender: Some(leading) };
        };
        let leader = &self.options.leader;
        let times = Times {
            lease: leader.leader_elect_lease_duration,
            renew_deadline: leader.leader_elect_renew_deadline,
            retry: leader.leader_elect_retry_period,
        };
        let pulse = Pulse::new("the election", times.lease * 2);
        self.health.watch(&pulse);
        let reports = Reports { gate, leading, metrics: self.metrics.clone(), pulse };
        let register = LeaseRegister::new(client, &namespace, times);
        let elector = Elector::new(self.identity.as_str(), register, times, reports, clock::uptime);
        tracing::info!(lease = LEASE_NAME, namespace, identity = %self.identity, "taking part in the election");
        let task = tokio::spawn(elector.run(release.clone()));
        Election { leading: receiver, release, task: Some(task), _sender: None }
    }
}

/// The election that runs, or the certainty of leading.
struct Election {
    leading: watch::Receiver<bool>,
    release: CancellationToken,
    task: Option<JoinHandle<Ended>>,
    /// Without an election nobody else keeps the channel open.
    _sender: Option<watch::Sender<bool>>,
}

impl Election {
    /// Ends when this replica leads.
    fn leading(&self) -> impl Future<Output = ()> + use<> {
        let mut leading = self.leading.clone();
        async move {
            if leading.wait_for(|leading| *leading).await.is_err() {
                std::future::pending().await
            }
        }
    }

    /// Ends when leadership is lost.
    async fn ended(&mut self) -> Result<Exit, RunError> {
        let Some(task) = &mut self.task else { return std::future::pending().await };
        match task.await {
            Ok(Ended::Lost(_)) => Ok(Exit::LeadershipLost),
            Ok(Ended::Released | Ended::NotReleased) => Ok(Exit::Stopped),
            Err(error) => Err(RunError::ElectionEnded(error)),
        }
    }

    /// Frees the Lease, but only when nothing writes any more; else it has to run out.
    async fn stop(&mut self, idle: bool) {
        let Some(task) = &mut self.task else { return };
        if idle {
            self.release.cancel();
            // How it ended is in the log; there is nothing to be done about it.
            let _ended = task.await;
        } else {
            task.abort();
            tracing::warn!(
                "the Lease is not released, because some work has not finished; it runs out by itself"
            );
        }
    }
}

const RUNTIME_TICK: std::time::Duration = std::time::Duration::from_secs(5);
const RUNTIME_STUCK: std::time::Duration = std::time::Duration::from_secs(60);

/// Shows that tasks get their turn.
async fn tick(pulse: Pulse) {
    let mut interval = tokio::time::interval(RUNTIME_TICK);
    loop {
        interval.tick().await;
        pulse.beat();
    }
}

/// Ends the ticking with the run.
struct Ticker(JoinHandle<()>);

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.abort();
    }
}
