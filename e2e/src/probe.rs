//! Asks local HTTP endpoints whether they are ready.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::{Certificate, Client};

use crate::process::Process;
use crate::wait::{self, Seen};

/// One question; an endpoint on this machine that is slower is not ready.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

static PROVIDER: OnceLock<()> = OnceLock::new();

/// Makes ring the provider of cryptography for this whole process. Done here,
/// once, because every TLS user of this crate comes through this crate.
pub(crate) fn install_crypto() {
    PROVIDER.get_or_init(|| {
        // An error means that somebody else chose first, which is as good.
        rustls::crypto::ring::default_provider().install_default().ok();
    });
}

/// A client that talks to local endpoints and trusts one authority.
pub fn client(authority_pem: Option<&str>) -> Result<Client> {
    install_crypto();
    let authority = match authority_pem {
        Some(pem) => vec![Certificate::from_pem(pem.as_bytes()).context("reading the authority")?],
        None => Vec::new(),
    };
    let client = Client::builder().no_proxy().timeout(ANSWER_LIMIT).tls_certs_only(authority).build();
    client.context("a client for local endpoints")
}

/// What an endpoint answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The text.
    pub body: String,
}

/// Asks once. Plain HTTP only.
pub async fn get(url: &str) -> Result<Answer> {
    get_with(&client(None)?, url).await
}

pub(crate) async fn get_with(client: &Client, url: &str) -> Result<Answer> {
    let response = client.get(url).send().await.with_context(|| format!("asking {url}"))?;
    let status = response.status().as_u16();
    let body = response.text().await.with_context(|| format!("reading the answer of {url}"))?;
    Ok(Answer { status, body })
}

/// "yes" if `url` answers with 200 at this moment, else why not.
pub(crate) async fn readiness(client: &Client, url: &str) -> String {
    match get_with(client, url).await {
        Ok(answer) if answer.status == 200 => "yes".to_owned(),
        Ok(answer) => format!("no: {}", answer.body.trim()),
        Err(error) => format!("no: {error:#}"),
    }
}

/// Waits until `url` answers with 200 while `process` lives.
pub(crate) async fn until_ok(process: &Process, client: &Client, url: &str, limit: Duration) -> Result<()> {
    until(process, client, url, limit, |answer| answer.status == 200).await
}

/// Waits until `url` answers in an accepted way while `process` lives. The
/// error carries the end of the process's log.
pub(crate) async fn until(
    process: &Process,
    client: &Client,
    url: &str,
    limit: Duration,
    accept: impl Fn(&Answer) -> bool,
) -> Result<()> {
    let accept = &accept;
    let ready = wait::until(format!("{} to answer at {url}", process.name()), limit, || async move {
        if let Err(ended) = process.check() {
            return Ok(Seen::Never(ended));
        }
        let answer = get_with(client, url).await?;
        Ok(if accept(&answer) {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("status {}: {}", answer.status, answer.body.trim()))
        })
    });
    let ready = ready.await;
    // An end was already reported with its log.
    ready.map_err(|unmet| match process.ended() {
        Some(_) => unmet.into(),
        None => process.failure(&unmet.to_string()),
    })
}
