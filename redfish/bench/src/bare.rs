//! The least that identifies a BMC: the requests that our client sends, at paths that are known, by reqwest, without a
//! look at the answers.

use anyhow::{Context, Result};
use reqwest::Client;
use serde_json::json;

use crate::simulator::{PASSWORD, Simulator, USER};

/// The requests that our client sends to a plain BMC to identify it, and after the first of which it logs in.
const ROOT: &str = "/redfish/v1/";
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const READ: [&str; 2] = ["/redfish/v1/Systems", "/redfish/v1/Systems/System-1"];

/// How many requests that takes.
pub const REQUESTS: usize = 2 + READ.len();

/// As our client's, as far as reqwest decides about it.
pub fn client(simulator: &Simulator) -> Result<Client> {
    let mut builder = Client::builder().no_proxy();
    if let Some(pem) = simulator.ca() {
        builder = builder.tls_certs_only([reqwest::Certificate::from_pem(pem)?]);
    }
    Ok(builder.build()?)
}

/// Identifies the plain BMC at this URL.
pub async fn identify(http: &Client, origin: &str) -> Result<()> {
    http.get(format!("{origin}{ROOT}")).send().await?.error_for_status()?.bytes().await?;
    let log_in = json!({ "UserName": USER, "Password": PASSWORD });
    let session = http.post(format!("{origin}{SESSIONS}")).json(&log_in).send().await?.error_for_status()?;
    let token = session.headers().get("x-auth-token").context("no token")?.clone();
    session.bytes().await?;
    for path in READ {
        let request = http.get(format!("{origin}{path}")).header("X-Auth-Token", token.clone());
        request.send().await?.error_for_status()?.bytes().await?;
    }
    Ok(())
}
