//! Many BMCs visited at once, by our client or by bare requests.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use beskar7_redfish::{HttpClient, HttpClients};
use beskar7_redfish_bench::bare;
use beskar7_redfish_bench::simulator::Simulator;
use beskar7_redfish_bench::usage::processor_time;
use reqwest::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

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
        Visitor::Bare => Means::Bare(bare::client(simulator)?),
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
                Means::Bare(http) => bare::identify(http, &simulator.url(address)).await,
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
