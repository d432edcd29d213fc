//! As whom a server is asked.

use std::sync::Arc;

use http::header::HeaderName;
use url::Url;

use super::error::Why;
use super::registry::Registry;
use super::web::{Answer, Web};

/// As whom a server is asked.
#[derive(Debug, Clone)]
pub(crate) enum Access {
    /// As whoever the URL says, and mostly as nobody.
    Anybody(Arc<Web>),
    /// As somebody who got a token from the registry's own token server.
    Registry(Arc<Registry>),
}

impl Access {
    pub(crate) async fn get(&self, url: &Url, headers: &[(HeaderName, String)]) -> Result<Answer, Why> {
        match self {
            Self::Anybody(web) => web.get(url, headers).await,
            Self::Registry(registry) => registry.get(url, headers).await,
        }
    }
}
