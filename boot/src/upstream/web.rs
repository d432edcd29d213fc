//! One request for an image, through its redirects, each of which is checked before it is followed.

use std::time::Duration;

use http::header::{ACCEPT_ENCODING, HeaderName, LOCATION};
use reqwest::{Client, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use url::Url;

use super::error::{UpstreamError, Why, shown, told};
use super::settings::{Limits, UpstreamSettings};
use super::targets::{Resolver, Targets, refusal};

/// How many redirects are followed. Mirrors need one or two.
const REDIRECTS: usize = 5;
/// How long an idle connection is kept: from one range that a BMC reads to its next.
const IDLE: Duration = Duration::from_secs(30);
/// How many idle connections are kept to one server: as many hosts as boot from it at once, within reason.
const KEPT: usize = 32;

/// The HTTP client that all images share.
#[derive(Debug)]
pub(crate) struct Web {
    client: Client,
    targets: Targets,
    limits: Limits,
}

/// The head of an answer, and which URL it came from in the end.
pub(crate) struct Answer {
    pub response: Response,
    pub from: Url,
}

impl Web {
    pub(crate) fn new(settings: &UpstreamSettings) -> Result<Self, UpstreamError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls(settings.extra_ca.as_deref())?)
            .dns_resolver(Resolver { allow_loopback: settings.allow_loopback })
            .connect_timeout(settings.limits.connect)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(KEPT)
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would connect where we may not.
            .no_proxy()
            .build()
            .map_err(UpstreamError::Client)?;
        let targets = Targets { hosts: settings.hosts.clone(), allow_loopback: settings.allow_loopback };
        Ok(Self { client, targets, limits: settings.limits })
    }

    /// Whether loopback addresses may be connected to.
    pub(crate) fn allows_loopback(&self) -> bool {
        self.targets.allow_loopback
    }

    /// Asks for what a URL points at, and follows where it leads.
    pub(crate) async fn get(&self, url: &Url, headers: &[(HeaderName, String)]) -> Result<Answer, Why> {
        self.get_with_token(url, headers, None).await
    }

    /// The same, with a token for the server that the URL names. It goes to no other that redirects lead to.
    pub(crate) async fn get_with_token(
        &self,
        url: &Url,
        headers: &[(HeaderName, String)],
        token: Option<&str>,
    ) -> Result<Answer, Why> {
        let meant_for = url.origin();
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            self.targets.check(&url)?;
            let token = token.filter(|_| url.origin() == meant_for);
            let response = self.send(&url, headers, token).await?;
            match response.status().as_u16() {
                301 | 302 | 303 | 307 | 308 => url = next(&url, &response)?,
                _ => return Ok(Answer { response, from: url }),
            }
        }
        Err(Why::Redirect(format!("it redirects more than {REDIRECTS} times")))
    }

    async fn send(
        &self,
        url: &Url,
        headers: &[(HeaderName, String)],
        token: Option<&str>,
    ) -> Result<Response, Why> {
        // User and password in the URL become Basic authentication.
        let mut request = self.client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        match timeout(self.limits.first_byte, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(refusal(&error).unwrap_or_else(|| Why::Unreachable(told(error)))),
            Err(_) => {
                let waited = self.limits.first_byte.as_secs_f64();
                Err(Why::Unreachable(format!("the server did not answer within {waited} s")))
            }
        }
    }
}

/// Where a redirect leads. Credentials go along only to the same server.
fn next(url: &Url, response: &Response) -> Result<Url, Why> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| Why::Redirect("it redirects without saying where".to_owned()))?;
    let mut next = url
        .join(location)
        .map_err(|error| Why::Redirect(format!("it redirects to what is no URL: {error}")))?;
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(Why::Redirect(format!(
            "it redirects from https to {}, where anybody on the way could change it; give that URL if it is meant",
            shown(&next)
        )));
    }
    let own = !next.username().is_empty() || next.password().is_some();
    if !own && next.origin() == url.origin() {
        // Neither can fail where there is a host, and an origin that equals another has one.
        next.set_username(url.username()).ok();
        next.set_password(url.password()).ok();
    }
    Ok(next)
}

/// The CAs that this system trusts, and those of the bundle. There may be none at all: plain HTTP needs none.
fn tls(bundle: Option<&[u8]>) -> Result<ClientConfig, UpstreamError> {
    let mut roots = RootCertStore::empty();
    // What this system's store holds beside usable roots is none of our business.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(pem) = bundle {
        add(&mut roots, pem).map_err(UpstreamError::Bundle)?;
    }
    let provider = rustls::crypto::ring::default_provider();
    Ok(ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(UpstreamError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    let mut none = true;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| format!("it is not PEM: {error}"))?;
        roots.add(certificate).map_err(|error| error.to_string())?;
        none = false;
    }
    if none { Err("it holds no certificate".to_owned()) } else { Ok(()) }
}
