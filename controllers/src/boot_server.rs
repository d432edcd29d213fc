//! The boot server's side of the API server: which capability belongs to which host, what its machine is given, and what
//! is heard of it. What is served, and how, is in the crate `beskar7-boot`.
//!
//! It runs on every replica. It writes what it heard of machines, and nothing else: annotations of their hosts, the
//! status of reservations, events; and where it is to look for machines that nobody knows, hosts for them. Whether a replica leads does not matter for it.

mod agency;
mod agents;
mod chatter;
mod configuration;
mod desk;
mod discovery;
mod fetched;
mod hearing;
mod holders;
mod images;
mod key;
pub mod links;
mod register;
mod remembered;
mod scripts;
mod sightings;
mod volumes;
mod witness;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use beskar7_api::HostBootConfiguration;
use beskar7_boot::{
    capability::Key,
    dhcp,
    server::{self, Certificate},
    tftp::{self, ErrorCode, Files, Limits, Ports, Watcher},
    upstream::Upstreams,
};
use beskar7_core::{delivery::Delivery, network_boot::Agent};
use kube::Client;
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

use self::{
    agents::Agents,
    chatter::Chatter,
    desk::{AT_ONCE, BootDesk},
    discovery::Discovery,
    hearing::Hearing,
    holders::Holders,
    register::Machines,
    sightings::Sightings,
    volumes::Volumes,
    witness::Witness,
};
pub use self::{
    discovery::Discovering,
    fetched::{FetchError, Fetched, Part, Whole},
    images::{ImageError, Images},
    key::{KeyError, SECRET, key},
    links::Links,
};
use crate::{
    caches::{Caches, Feeds},
    causes::causes,
    diagnostics::Metrics,
    tell::Recorder,
};

/// What hosts are told of the boot server, and what it presents: for those who make machines ready.
#[derive(Clone)]
pub struct Presenter {
    /// Where things are.
    pub links: Links,
    /// The images that are presented.
    pub images: Arc<Images>,
    /// What is booted from the network.
    pub artifacts: Fetched,
    /// What writes images to disks.
    pub agent: Agent,
}

impl Presenter {
    /// For a server at this URL.
    #[must_use]
    pub fn new(url: &str, key: Key, upstreams: Upstreams, agent: Agent) -> Self {
        Self {
            agent,
            links: Links::new(url, key),
            artifacts: Fetched::new(upstreams.clone()),
            images: Arc::new(Images::new(upstreams)),
        }
    }
}

impl Presenter {
    /// What decisions need to know of it.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.links.delivery(self.agent.boot())
    }

    /// Whether a loader can be told to start what a configuration serves.
    ///
    /// # Errors
    /// It can't, for this reason.
    pub fn try_script(&self, configuration: &HostBootConfiguration) -> Result<(), String> {
        // All capabilities are equally long: any claim will do.
        scripts::script(configuration, &self.links, "").map(drop).map_err(|error| causes(&error))
    }
}

/// What the boot server needs.
pub struct Parts {
    /// Reads what may be given out, and writes what is heard.
    pub client: Client,
    /// Tells people what machines are seen to do.
    pub recorder: Recorder,
    /// What is counted.
    pub metrics: Metrics,
    /// For so long a configuration is given out.
    pub configuration_timeout: Duration,
    /// Its certificate, where it serves by HTTPS.
    pub certificate: Option<Certificate>,
    /// Where it listens.
    pub sockets: Sockets,
    /// The boot loaders that it gives out.
    pub loaders: Files,
    /// Which machines that nobody knows are written down, if any.
    pub discovering: Option<Discovering>,
}

/// Where the boot server listens.
pub struct Sockets {
    /// By HTTP.
    pub http: TcpListener,
    /// By DHCP, where it does.
    pub dhcp: Option<(dhcp::Sockets, dhcp::Settings)>,
    /// By TFTP, where it does.
    pub tftp: Option<(tftp::Socket, Ports)>,
}

/// Serves until `stop`.
pub fn start(
    parts: Parts,
    presenter: Presenter,
    feeds: &Feeds,
    stop: &CancellationToken,
) -> JoinHandle<io::Result<()>> {
    let Parts {
        client,
        recorder,
        metrics,
        configuration_timeout,
        certificate,
        sockets,
        loaders,
        discovering,
    } = parts;
    let caches: Caches = feeds.caches();
    let holders = Holders::new(presenter.links.clone(), &caches);
    tokio::spawn(holders.clone().follow(feeds.hosts.changes(), stop.clone()));
    let discovery = discovering.map(|settings| {
        let writing = (client.clone(), recorder.clone());
        let (discovery, queue) = Discovery::new(settings, writing, metrics.clone(), caches.hosts.clone());
        tokio::spawn(discovery.clone().follow(feeds.hosts.changes(), stop.clone()));
        tokio::spawn(discovery.clone().run(queue, stop.clone()));
        discovery
    });
    let (hearing, witness) = (Hearing::new(client.clone()), Witness::new(recorder));
    let seen = (hearing.clone(), witness.clone(), Sightings::new(client.clone()));
    let machines = Machines::new(presenter.links.clone(), &caches, seen, metrics.clone(), discovery);
    tokio::spawn(machines.clone().follow(feeds.reservations.changes(), stop.clone()));
    let desk = BootDesk {
        agents: Agents::new(client.clone()),
        chatter: Chatter::new(),
        client,
        metrics: metrics.clone(),
        caches,
        holders,
        hearing: hearing.clone(),
        witness,
        loaders: loaders.clone(),
        presenter,
        volumes: Volumes::default(),
        turns: Semaphore::new(AT_ONCE),
        configuration_timeout,
    };
    let (mut serving, stop) = (JoinSet::new(), stop.clone());
    serving.spawn(server::serve(sockets.http, Arc::new(desk), certificate, stop.clone()));
    if let Some((listening, settings)) = sockets.dhcp {
        serving.spawn(dhcp::serve(listening, settings, Arc::new(machines), stop.clone()));
    }
    if let Some((socket, ports)) = sockets.tftp {
        let counting = Arc::new(CountedTransfers(metrics));
        serving.spawn(tftp::serve(socket, loaders, (ports, Limits::default()), counting, stop.clone()));
    }
    tokio::spawn(async move {
        // Whichever ends first ends it: by an error, or because it was told to.
        let first = serving.join_next().await;
        if stop.is_cancelled() {
            while serving.join_next().await.is_some() {}
        }
        hearing.finish().await;
        match first {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => Err(io::Error::other(panic)),
            None => Ok(()),
        }
    })
}

/// Counts what is sent by TFTP.
struct CountedTransfers(Metrics);

impl Watcher for CountedTransfers {
    fn sent(&self, file: &str, peer: SocketAddr) {
        tracing::info!(file, %peer, "a boot loader was sent by TFTP");
        self.0.tftp_counted("sent");
    }

    fn refused(&self, file: &str, peer: SocketAddr, why: ErrorCode) {
        tracing::debug!(file, %peer, ?why, "TFTP refused");
        self.0.tftp_counted("refused");
    }

    fn gave_up(&self, file: &str, peer: SocketAddr) {
        // Counted, and not logged for everybody: who forges addresses could have as many as he likes.
        tracing::debug!(file, %peer, "a transfer by TFTP was given up: the machine is not heard of any more");
        self.0.tftp_counted("given-up");
    }
}
