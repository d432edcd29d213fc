//! The boot server of this process: what it is made of by the options, its start and its end.

use beskar7_boot::{
    dhcp,
    open_files::{self, Shares},
    server::Certificate,
    tftp::{self, Files, Ports},
    upstream::{CacheSettings, UpstreamSettings, Upstreams},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{RunError, controllers::Parts};
use crate::{
    boot_server::{self, Presenter, Sockets},
    caches::Feeds,
    diagnostics,
    leader::LEASE_NAME,
    options::{DhcpMode, Options},
    tell::Recorder,
};

/// The boot server that runs, where it is on.
pub(super) type BootServer = Option<JoinHandle<std::io::Result<()>>>;

/// What the boot server presents, where it is on.
pub(super) async fn presenter(
    options: &Options,
    client: &kube::Client,
    namespace: Option<&str>,
) -> Result<Option<Presenter>, RunError> {
    let (Some(url), Some(namespace)) = (options.boot_url(), namespace) else {
        tracing::info!("boot server off: no --boot-url");
        return Ok(None);
    };
    let boot = &options.boot;
    let extra_ca = match options.artifact_ca_file() {
        Some(path) => {
            Some(std::fs::read(path).map_err(|source| RunError::ArtifactCa(path.to_owned(), source))?)
        }
        None => None,
    };
    let cache = options.artifact_cache_dir().map(|directory| CacheSettings {
        directory: directory.to_owned(),
        limit: boot.artifact_cache_gib.saturating_mul(1 << 30),
    });
    let settings = UpstreamSettings {
        allow_loopback: boot.artifact_allow_loopback,
        hosts: boot.artifact_hosts.iter().flatten().cloned().collect(),
        extra_ca,
        cache,
        ..UpstreamSettings::default()
    };
    let upstreams = Upstreams::new(&settings)?;
    let key = boot_server::key(client, namespace).await?;
    Ok(Some(Presenter::new(url, key, upstreams, options.agent())))
}

/// Listens, and serves until `stop`.
pub(super) fn start(
    parts: &Parts<'_>,
    client: &kube::Client,
    presenter: &Presenter,
    feeds: &Feeds,
    stop: &CancellationToken,
) -> Result<BootServer, RunError> {
    let options = parts.options;
    let Some(http) = diagnostics::bind("boot-bind-address", options.boot.boot_bind_address)? else {
        return Ok(None);
    };
    let certificate = match options.boot_certificate() {
        Some((certificate, key)) => Some(Certificate::load(certificate, key)?),
        None => None,
    };
    if let Ok(address) = http.local_addr() {
        tracing::info!(url = options.boot_url(), %address, tls = certificate.is_some(), "boot server on");
    }
    warn_if_short_of_files();
    let loaders = match options.ipxe_dir() {
        Some(path) => Files::load(path).map_err(|source| RunError::Loaders(path.to_owned(), source))?,
        None => Files::default(),
    };
    let parts = boot_server::Parts {
        client: client.clone(),
        recorder: Recorder::new(client.clone(), LEASE_NAME, parts.identity.as_str()),
        metrics: parts.metrics.clone(),
        configuration_timeout: options.boot.configuration_timeout,
        certificate,
        sockets: Sockets { http, dhcp: dhcp_sockets(options, presenter)?, tftp: tftp_socket(options)? },
        loaders,
        discovering: options.discovering(),
    };
    Ok(Some(boot_server::start(parts, presenter.clone(), feeds, stop)))
}

fn warn_if_short_of_files() {
    let limit = open_files::limit();
    let shares = Shares::of(limit);
    if shares.are_short() {
        let Shares { connections, transfers, images } = shares;
        tracing::warn!(
            limit,
            connections,
            transfers,
            images,
            "few files may be open at once, and so many machines are served and images kept at most: raise the hard limit \
             (nofile) of this container's runtime or of this service"
        );
    }
}

fn dhcp_sockets(
    options: &Options,
    presenter: &Presenter,
) -> Result<Option<(dhcp::Sockets, dhcp::Settings)>, RunError> {
    let mode = match options.boot.dhcp {
        DhcpMode::Off => return Ok(None),
        DhcpMode::Proxy => dhcp::Mode::Proxy,
        DhcpMode::Reservations => dhcp::Mode::Reservations,
    };
    let settings = dhcp::Settings {
        mode,
        interfaces: options.dhcp_interfaces(),
        binaries: presenter.links.loaders(),
        advertise: options.dhcp_advertised(),
        networks: options.dhcp_networks(),
        ..dhcp::Settings::default()
    };
    let sockets = dhcp::bind(&settings)?;
    tracing::info!(?mode, interfaces = ?settings.interfaces, networks = ?settings.networks, "DHCP on");
    if options.needs_https_loaders() {
        tracing::warn!(
            "--boot-url is https: iPXE, in cards and in --ipxe-dir, fetches its script only if it was built with HTTPS \
             (DOWNLOAD_PROTO_HTTPS) and trusts the CA of the boot server (TRUST). Programs of distributions often do \
             not: build your own, or give these machines an http URL"
        );
    }
    Ok(Some((sockets, settings)))
}

fn tftp_socket(options: &Options) -> Result<Option<(tftp::Socket, Ports)>, RunError> {
    let Some(address) = options.tftp_address() else { return Ok(None) };
    let ports = if options.boot.tftp_single_port { Ports::Single } else { Ports::Each };
    let socket = tftp::bind(address)?;
    tracing::info!(%address, ?ports, "TFTP on");
    Ok(Some((socket, ports)))
}

/// Ends the boot server.
pub(super) async fn end(boot: BootServer, stop: &CancellationToken) {
    stop.cancel();
    if let Some(boot) = boot.filter(|boot| !boot.is_finished()) {
        // It was told to end; how it ends changes nothing any more.
        let _ended = boot.await;
    }
}

/// Why the boot server ended; pending as long as it runs, or is off.
pub(super) async fn failed(boot: &mut BootServer) -> RunError {
    match boot {
        Some(task) => match task.await {
            Ok(Ok(())) => RunError::Boot(std::io::Error::other("it was not told to")),
            Ok(Err(error)) => RunError::Boot(error),
            Err(panic) => RunError::Boot(std::io::Error::other(panic)),
        },
        None => std::future::pending().await,
    }
}
