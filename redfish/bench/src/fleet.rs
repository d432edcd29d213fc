//! Many BMCs visited at once, by our client or by bare requests.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use beskar7_redfish::{HttpClient, HttpClients};
use reqwest::Client;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::simulator::{PASSWORD, Simulator, USER};
use crate::usage::processor_time;

/// The requests that our client sends to a plain BMC to identify it, and after the first of which it logs in.
const ROOT: &str = "/redfish/v1/";
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const READ: [&str; 2] = ["/redfish/v1/Systems", "/redfish/v1/Systems/System-1"];

/// Who visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visitor {
    /// Our client.
    Ours,
    /// The same requests by reqwest, at paths that are known, without a look at the answers.
    Bare,
}

/// What a visitor needs; both share one among all BMCs.
#[derive(Clone)]
enum Means {
    Ours(HttpClient),
    Bare(Client),
}

/// What one round over all BMCs took.
pub struct Round {
    /// From the first request to the last answer.
    pub wall: Duration,
    /// This process's processor time.
    pub processor: Duration,
    /// Each BMC by itself.
    pub each: Vec<Duration>,
}

/// Identifies all these BMCs, so many at once, over connections and TLS sessions that are new.
///
/// BMCs in `hung` are visited, too, but nobody waits for them.
pub async fn identify(
    simulator: &Arc<Simulator>,
    visitor: Visitor,
    at_once: usize,
    hung: &[Ipv4Addr],
) -> Result<Round> {
    simulator.forget_sessions().await?;
    let means = match visitor {
        Visitor::Ours => Means::Ours(HttpClients::default().get(&simulator.trust())?),
        Visitor::Bare => Means::Bare(bare_client(simulator)?),
    };
    let turns = Arc::new(Semaphore::new(at_once));
    let mut waited_for = JoinSet::new();
    let mut left_alone = JoinSet::new();
    let used = processor_time(std::process::id())?;
    let begun = Instant::now();
    for address in simulator.addresses() {
        let (simulator, means, turns) = (simulator.clone(), means.clone(), turns.clone());
        let visit = async move {
            let _turn = turns.acquire().await?;
            let begun = Instant::now();
            match &means {
                Means::Ours(http) => ours(&simulator, http, address).await,
                Means::Bare(http) => bare(http, &simulator.url(address)).await,
            }
            .with_context(|| format!("{visitor:?} at {address}"))?;
            anyhow::Ok(begun.elapsed())
        };
        if hung.contains(&address) {
            left_alone.spawn(visit)
        } else {
            waited_for.spawn(visit)
        };
    }
    let mut each = Vec::new();
    while let Some(done) = waited_for.join_next().await {
        each.push(done??);
    }
    let (wall, now) = (begun.elapsed(), processor_time(std::process::id())?);
    left_alone.shutdown().await;
    Ok(Round { wall, processor: now.saturating_sub(used), each })
}

async fn ours(simulator: &Simulator, http: &HttpClient, address: Ipv4Addr) -> Result<()> {
    simulator.bmc(http, address)?.system(None).await?;
    Ok(())
}

/// As our client's, as far as reqwest decides about it.
fn bare_client(simulator: &Simulator) -> Result<Client> {
    let mut builder = Client::builder().no_proxy();
    if let Some(pem) = simulator.ca() {
        builder = builder.tls_certs_only([reqwest::Certificate::from_pem(pem)?]);
    }
    Ok(builder.build()?)
}

async fn bare(http: &Client, origin: &str) -> Result<()> {
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
