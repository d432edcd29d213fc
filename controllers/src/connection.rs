//! How the manager talks to the API server: whose address and credentials, under which name, with which limits.
//!
//! Two kinds of client come from here. The *plain* one asks questions and runs the election. The *leader's* one is
//! what controllers get: its writes pass the [`Fence`].

mod counted;
mod identity;

use std::{path::PathBuf, time::Duration};

use http::{HeaderValue, Request, Response, header::USER_AGENT};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    Client, Config,
    client::{Body, ConfigExt as _},
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tower::{BoxError, ServiceBuilder, ServiceExt as _, limit::ConcurrencyLimit, util::BoxService};

use self::counted::{Counted, Limited};
pub use self::identity::{Identity, IdentityError, own_namespace};
use crate::{
    diagnostics::Metrics,
    leader::{Fence, Gate, socket::GatedConnector},
    options,
};

/// How long opening a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How many requests of controllers are under way at once. More would not be answered sooner: they would wait in the API
/// server's queues, past the time for which this replica leads and before the renewals of its Lease, and each would need
/// a connection.
const AT_ONCE: usize = 64;
/// How long a connection that nobody uses is kept. After a rush there are as many as requests were under way, each with
/// buffers as large as the largest answer; what watches and renews the Lease is never idle for so long.
const IDLE: Duration = Duration::from_secs(10);
/// After how much silence the other side is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Why there is no way to an API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The kubeconfig that was named can't be used.
    #[error("the kubeconfig {path} can't be used: check --kubeconfig and --context")]
    Kubeconfig {
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// The context that was named can't be used.
    #[error("the context {context} of the kubeconfig can't be used: check --context and $KUBECONFIG")]
    Context {
        /// Its name.
        context: String,
        /// What is wrong with it.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// Nothing tells where the API server is.
    #[error("nothing says where the API server is: pass --kubeconfig, set $KUBECONFIG, or run in a pod")]
    Nowhere(#[source] Box<kube::config::InferConfigError>),
    /// A proxy is asked for, which this program can't use.
    #[error("the kubeconfig asks for the proxy {0}, which is not supported: remove proxy-url")]
    Proxy(http::Uri),
    /// The credentials or certificates can't be used.
    #[error("the credentials or certificates for {url} can't be used")]
    Credentials {
        /// Where they were meant for.
        url: http::Uri,
        /// What is wrong with them.
        #[source]
        source: Box<kube::Error>,
    },
}

/// Everything that makes a client.
#[derive(Clone)]
pub struct Connection {
    config: Config,
    timeout: Duration,
    /// Where failed requests are counted, if they are.
    metrics: Option<Metrics>,
}

impl Connection {
    /// Reads where the API server is, as `kubectl` would.
    ///
    /// # Errors
    /// There is no usable configuration; the error says where it was looked for.
    pub async fn load(
        options: &options::Kube,
        identity: &Identity,
        metrics: Metrics,
    ) -> Result<Self, ConnectionError> {
        let mut config = configuration(options).await?;
        if let Some(proxy) = config.proxy_url {
            return Err(ConnectionError::Proxy(proxy));
        }
        // Retries in the client would carry a write past the fence, and a call past its caller's patience.
        config.default_retry = false;
        config.headers.push((USER_AGENT, user_agent(identity)));
        Ok(Self { config, timeout: options.kube_api_timeout, metrics: Some(metrics) })
    }

    /// To another cluster than our own. Its failed requests are not counted among those of our API server.
    #[must_use]
    pub fn elsewhere(mut config: Config, user_agent: HeaderValue, timeout: Duration) -> Self {
        config.default_retry = false;
        config.headers.push((USER_AGENT, user_agent));
        Self { config, timeout, metrics: None }
    }

    /// Where the API server is.
    #[must_use]
    pub fn url(&self) -> &http::Uri {
        &self.config.cluster_url
    }

    /// A client for questions and for the election.
    ///
    /// # Errors
    /// The credentials or certificates can't be used.
    pub fn plain(&self) -> Result<Client, ConnectionError> {
        let service = Limited::new(self.transport(None)?, self.timeout);
        Ok(Client::new(service, self.config.default_namespace.clone()))
    }

    /// A client for controllers: it writes only while `gate` is open.
    ///
    /// # Errors
    /// The credentials or certificates can't be used.
    pub fn leaders(&self, gate: &Gate) -> Result<Client, ConnectionError> {
        let open = self.transport(None)?;
        let gated = self.transport(Some(gate.clone()))?;
        // Who waits for a turn passes the fence only then, with the time that is left then.
        let service = ConcurrencyLimit::new(Fence::new(gate.clone(), open, gated, self.timeout), AT_ONCE);
        Ok(Client::new(service, self.config.default_namespace.clone()))
    }

    fn transport(
        &self,
        gate: Option<Gate>,
    ) -> Result<BoxService<Request<Body>, Response<Incoming>, BoxError>, ConnectionError> {
        let config = &self.config;
        let unusable = |source| ConnectionError::Credentials {
            url: config.cluster_url.clone(),
            source: Box::new(source),
        };
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_LIMIT.min(self.timeout)));
        tcp.set_keepalive(Some(KEEPALIVE));
        let connector =
            config.rustls_https_connector_with_connector(GatedConnector::new(tcp, gate)).map_err(unusable)?;
        let client: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer().map_err(unusable)?)
            .layer(config.extra_headers_layer().map_err(unusable)?)
            .map_err(BoxError::from)
            .service(client);
        Ok(match self.metrics.clone() {
            Some(metrics) => Counted::new(service, metrics).boxed(),
            None => service.boxed(),
        })
    }
}

async fn configuration(options: &options::Kube) -> Result<Config, ConnectionError> {
    let choice = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    match (&options.kubeconfig, &options.context) {
        (Some(path), _) => {
            let unusable =
                |source| ConnectionError::Kubeconfig { path: path.clone(), source: Box::new(source) };
            let file = Kubeconfig::read_from(path).map_err(unusable)?;
            Config::from_custom_kubeconfig(file, &choice).await.map_err(unusable)
        }
        (None, Some(context)) => Config::from_kubeconfig(&choice).await.map_err(|source| {
            ConnectionError::Context { context: context.clone(), source: Box::new(source) }
        }),
        (None, None) => Config::infer().await.map_err(|source| ConnectionError::Nowhere(Box::new(source))),
    }
}

/// Names version and replica: the API server's audit log then tells which replica wrote what.
pub(crate) fn user_agent(identity: &Identity) -> HeaderValue {
    HeaderValue::from_str(&format!("beskar7-manager/{} ({identity})", crate::VERSION))
        .unwrap_or_else(|_| HeaderValue::from_static("beskar7-manager"))
}
