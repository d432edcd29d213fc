//! One HTTP client per distinct trust setting, not per BMC: ten thousand BMCs share a few.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::trust::{Trust, TrustError, client_config};

/// How long opening a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept: from one request to the next of the same work, not from one poll to the next.
/// BMCs have few, close them without a word, and each of thousands costs us tens of kilobytes.
const IDLE: Duration = Duration::from_secs(3);

/// The two ways to a BMC under one trust setting.
#[derive(Debug, Clone)]
pub struct HttpClient {
    /// Over connections that are kept.
    pub(crate) kept: reqwest::Client,
    /// Over a connection of its own, which is closed behind it. BMCs close kept ones without a word, and of an action
    /// that was sent into such a silence nobody could say whether it was carried out.
    pub(crate) fresh: reqwest::Client,
}

/// The clients made so far. Share one of these.
#[derive(Debug, Default)]
pub struct HttpClients {
    made: Mutex<HashMap<Trust, HttpClient>>,
}

impl HttpClients {
    /// The client for a setting, made when it is first asked for.
    ///
    /// # Errors
    /// The setting can't be used.
    pub fn get(&self, trust: &Trust) -> Result<HttpClient, TrustError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = made.get(trust) {
            return Ok(client.clone());
        }
        let client = build(trust)?;
        made.insert(trust.clone(), client.clone());
        Ok(client)
    }

    /// Forgets clients for settings that nobody uses any more.
    pub fn keep_only(&self, used: impl Fn(&Trust) -> bool) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).retain(|trust, _| used(trust));
    }
}

fn build(trust: &Trust) -> Result<HttpClient, TrustError> {
    let builder = || -> Result<reqwest::ClientBuilder, TrustError> {
        Ok(reqwest::Client::builder()
            .tls_backend_preconfigured(client_config(trust)?)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            // A BMC that redirects would be given our token wherever it points.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy())
    };
    let kept = builder()?.pool_max_idle_per_host(1).build().map_err(TrustError::Client)?;
    let fresh = builder()?.pool_max_idle_per_host(0).build().map_err(TrustError::Client)?;
    Ok(HttpClient { kept, fresh })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_setting_shares_a_client() {
        let clients = HttpClients::default();
        clients.get(&Trust::Anything).unwrap();
        clients.get(&Trust::Anything).unwrap();
        assert_eq!(clients.made.lock().unwrap().len(), 1);
        clients.keep_only(|trust| *trust != Trust::Anything);
        assert!(clients.made.lock().unwrap().is_empty());
    }

    #[test]
    fn a_bundle_that_is_none_is_said_so() {
        let clients = HttpClients::default();
        for (pem, said) in [
            ("", "holds no certificate"),
            ("not PEM at all", "holds no certificate"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "can't be used"),
            ("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", "is not PEM"),
        ] {
            let error = clients.get(&Trust::Bundle(pem.as_bytes().into())).unwrap_err().to_string();
            assert!(error.contains(said), "{pem:?}: {error}");
        }
    }
}
