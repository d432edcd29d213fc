//! The boot server's side of the API server: which capability belongs to which host, what its machine is given, and what
//! is heard of it. What is served, and how, is in the crate `beskar7-boot`.
//!
//! It runs on every replica. It writes one annotation and nothing else: whether a replica leads does not matter for it.

mod configuration;
mod desk;
mod hearing;
mod holders;
mod images;
mod key;
pub mod links;
mod volumes;

use std::{net::TcpListener, sync::Arc, time::Duration};

use beskar7_boot::{
    capability::Key,
    server::{self, Certificate},
    upstream::Upstreams,
};
use kube::Client;
use tokio::{sync::Semaphore, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use self::{
    desk::{AT_ONCE, BootDesk},
    hearing::Hearing,
    holders::Holders,
    volumes::Volumes,
};
pub use self::{
    images::{ImageError, Images},
    key::{KeyError, SECRET, key},
    links::Links,
};
use crate::{
    caches::{Caches, Feeds},
    diagnostics::Metrics,
};

/// What hosts are told of the boot server, and what it presents: for those who make machines ready.
#[derive(Clone)]
pub struct Presenter {
    /// Where things are.
    pub links: Links,
    /// The images that are presented.
    pub images: Arc<Images>,
}

impl Presenter {
    /// For a server at this URL.
    #[must_use]
    pub fn new(url: &str, key: Key, upstreams: Upstreams) -> Self {
        Self { links: Links::new(url, key), images: Arc::new(Images::new(upstreams)) }
    }
}

/// What the boot server needs.
pub struct Parts {
    /// Reads what may be given out, and writes what is heard.
    pub client: Client,
    /// What is counted.
    pub metrics: Metrics,
    /// For so long a configuration is given out.
    pub configuration_timeout: Duration,
    /// Its certificate, where it serves by HTTPS.
    pub certificate: Option<Certificate>,
}

/// Serves until `stop`.
pub fn start(
    listener: TcpListener,
    parts: Parts,
    presenter: Presenter,
    feeds: &Feeds,
    stop: &CancellationToken,
) -> JoinHandle<std::io::Result<()>> {
    let caches: Caches = feeds.caches();
    let holders = Holders::new(presenter.links.clone(), &caches);
    tokio::spawn(holders.clone().follow(feeds.hosts.changes(), stop.clone()));
    let hearing = Hearing::new(parts.client.clone());
    let desk = BootDesk {
        client: parts.client,
        metrics: parts.metrics,
        caches,
        holders,
        hearing: hearing.clone(),
        presenter,
        volumes: Volumes::default(),
        turns: Semaphore::new(AT_ONCE),
        configuration_timeout: parts.configuration_timeout,
    };
    let (certificate, stop) = (parts.certificate, stop.clone());
    tokio::spawn(async move {
        let served = server::serve(listener, Arc::new(desk), certificate, stop).await;
        hearing.finish().await;
        served
    })
}
