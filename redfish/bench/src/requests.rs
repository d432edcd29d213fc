//! How many requests and log-ins a BMC costs, as the simulator counts them.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use beskar7_redfish::HttpClients;

use beskar7_redfish_bench::simulator::{Simulator, Wanted};
use beskar7_redfish_bench::table::Table;

/// What identification may cost.
const MOST_REQUESTS: u64 = 6;
/// How often the steady poll is repeated.
const POLLS: u64 = 10;

/// What a BMC has been asked so far.
struct Counts {
    requests: u64,
    log_ins: u64,
    unchanged: u64,
}

async fn counts(simulator: &Simulator, address: Ipv4Addr) -> Result<(String, Counts)> {
    let state = simulator.state(address).await?;
    let number = |pointer: &str| {
        state.pointer(pointer).and_then(serde_json::Value::as_u64).with_context(|| format!("no {pointer}"))
    };
    let profile = state.get("profile").and_then(|name| name.as_str()).context("no profile")?;
    let counts = Counts {
        requests: number("/requests")?,
        log_ins: number("/sessions/opened")?,
        unchanged: number("/unchanged")?,
    };
    Ok((profile.to_owned(), counts))
}

pub async fn measure(program: &Path, table: &mut Table) -> Result<()> {
    let simulator =
        Simulator::start(&Wanted { program, count: 6, profile: "mix", latency: "0ms", tls: false })?;
    let http = HttpClients::default().get(&simulator.trust())?;
    let mut polls = Vec::new();
    let mut slots = Vec::new();
    for address in simulator.addresses() {
        let bmc = simulator.bmc(&http, address)?;
        let system = bmc.system(None).await?;
        let (profile, identified) = counts(&simulator, address).await?;
        table.add(
            format!("{profile}: identified, with power, health, boot override"),
            "≤ 6 requests, 1 log-in",
            format!("{} requests, {} log-in", identified.requests, identified.log_ins),
            identified.requests <= MOST_REQUESTS && identified.log_ins == 1,
        );
        for _ in 0..POLLS {
            bmc.refresh(&system).await?;
        }
        let (_, polled) = counts(&simulator, address).await?;
        polls.push((
            profile.clone(),
            polled.requests - identified.requests,
            polled.unchanged,
            polled.log_ins,
        ));
        bmc.slots(&system).await?;
        let (_, read) = counts(&simulator, address).await?;
        slots.push((profile, identified.requests + read.requests - polled.requests));
    }
    for (profile, requests, unchanged, log_ins) in polls {
        table.add(
            format!("{profile}: steady poll, {POLLS} times"),
            "1 request each, no log-in",
            format!("{requests} requests, {unchanged} answered 304"),
            requests == POLLS && log_ins == 1,
        );
    }
    let each: Vec<String> = slots.iter().map(|(profile, requests)| format!("{profile} {requests}")).collect();
    table.add(
        "identified, and every media slot read besides, as an insertion does",
        "≤ 6 requests",
        each.join(", "),
        slots.iter().all(|(_, requests)| *requests <= MOST_REQUESTS),
    );
    Ok(())
}
