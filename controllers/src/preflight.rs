//! What must be true before work begins, checked once at start, with an error that says what to do.
//!
//! Order: the API server answers and knows us; our kinds and Cluster API's are installed; we are allowed what
//! [`permissions`](crate::permissions) lists. Everything that is missing is named at once.

mod access;
mod kinds;
#[cfg(test)]
mod tests;

use std::time::Duration;

use kube::Client;
use tokio::time::Instant;

use crate::{causes::causes, options::Options, retry};

/// Why work can't begin.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Nobody answers.
    #[error(
        "no API server answers at {url} (tried for {} s): check that it runs and can be reached from here, and \
         that the kubeconfig names the right address", waited.as_secs()
    )]
    NoApiServer {
        /// Where it should be.
        url: http::Uri,
        /// For how long it was tried.
        waited: Duration,
        /// What happened the last time.
        #[source]
        source: Box<kube::Error>,
    },
    /// Somebody answers, but not with a certificate that we trust.
    #[error(
        "the certificate of the API server at {url} is not trusted: check certificate-authority and the address in \
         the kubeconfig"
    )]
    Certificate {
        /// Where it is.
        url: http::Uri,
        /// What is wrong with it.
        #[source]
        source: Box<kube::Error>,
    },
    /// We are not who the API server knows.
    #[error(
        "the API server at {url} does not accept our credentials: check the token or client certificate in the \
         kubeconfig, or the pod's service account"
    )]
    Credentials {
        /// Where it is.
        url: http::Uri,
        /// What it said.
        #[source]
        source: Box<kube::Error>,
    },
    /// Our own kinds are not installed.
    #[error(
        "the API server does not know {}: install them with `clusterctl init --infrastructure beskar7`, or with \
         `kubectl apply -k config/crd`{note}", missing.join(", ")
    )]
    Kinds {
        /// Which, with group and version.
        missing: Vec<String>,
        /// What is there instead.
        note: String,
    },
    /// Cluster API is not installed.
    #[error(
        "the API server does not know {}: install Cluster API v1.11 or newer with `clusterctl init`{note}",
        missing.join(", ")
    )]
    ClusterApi {
        /// Which, with group and version.
        missing: Vec<String>,
        /// What is there instead.
        note: String,
    },
    /// We are not allowed what we need.
    #[error(
        "{subject} is not allowed to: {}. Grant it, as config/rbac does with the ClusterRole beskar7-manager-role and \
         the Role beskar7-leader-election-role; what discovery needs, with a RoleBinding of beskar7-discovery-role", missing.join("; ")
    )]
    Forbidden {
        /// Who we are.
        subject: String,
        /// What is missing: verb, resource, group and place.
        missing: Vec<String>,
    },
    /// A question was not answered.
    #[error("{what} can't be found out from the API server")]
    Unanswered {
        /// What was asked.
        what: &'static str,
        /// What happened.
        #[source]
        source: Box<kube::Error>,
    },
}

/// Checks all of it.
///
/// # Errors
/// The first that is missing, as a text that says what to do.
pub async fn check(
    client: &Client,
    url: &http::Uri,
    options: &Options,
    own_namespace: Option<&str>,
) -> Result<(), PreflightError> {
    api_server(client, url, options.kube.kube_api_wait).await?;
    kinds::check(client).await?;
    access::check(client, options, own_namespace).await
}

/// Waits until the API server answers, for a limited time.
async fn api_server(client: &Client, url: &http::Uri, patience: Duration) -> Result<(), PreflightError> {
    let started = Instant::now();
    let mut pauses = retry::pauses(Duration::from_secs(5));
    loop {
        let source = match client.apiserver_version().await {
            Ok(version) => {
                tracing::info!(%url, version = version.git_version, "the API server answers");
                return Ok(());
            }
            Err(error) => Box::new(error),
        };
        let url = url.clone();
        match trouble(&source) {
            Trouble::Passing => {}
            Trouble::Certificate => return Err(PreflightError::Certificate { url, source }),
            Trouble::Credentials => return Err(PreflightError::Credentials { url, source }),
            Trouble::Other => return Err(PreflightError::Unanswered { what: "its version", source }),
        }
        let waited = started.elapsed();
        let left = patience.saturating_sub(waited);
        if left.is_zero() {
            return Err(PreflightError::NoApiServer {
                url,
                waited: Duration::from_secs(waited.as_secs()),
                source,
            });
        }
        tracing::warn!(
            %url,
            error = causes(&*source),
            giving_up_in = ?Duration::from_secs(left.as_secs()),
            "the API server does not answer; trying again"
        );
        // Never past the limit: the last try is made when it is reached, however long the jitter is.
        tokio::time::sleep(pauses.next().unwrap_or(left).min(left)).await;
    }
}

/// What a failed request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// It may work later.
    Passing,
    /// It is the wrong server, or the wrong certificate.
    Certificate,
    /// It does not know us.
    Credentials,
    /// Anything else: trying again does not help.
    Other,
}

fn trouble(error: &kube::Error) -> Trouble {
    if let kube::Error::Api(status) = error {
        return match status.code {
            401 => Trouble::Credentials,
            429 | 500..=599 => Trouble::Passing,
            _ => Trouble::Other,
        };
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if is_tls(error) {
            return Trouble::Certificate;
        }
        if error.is::<kube::client::AuthError>() {
            return Trouble::Credentials;
        }
        cause = error.source();
    }
    let not_answered =
        matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_));
    if not_answered { Trouble::Passing } else { Trouble::Other }
}

/// Whether an error is one of TLS. They come inside of I/O errors, whose `source()` skips them.
fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(inside) => is_tls(inside),
        None => error.is::<rustls::Error>(),
    }
}
