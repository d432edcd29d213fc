//! The simulator's memory with many BMCs.

use std::time::Instant;

use anyhow::Result;
use beskar7_redfish::HttpClients;
use tokio::task::JoinSet;

use crate::Args;
use beskar7_redfish_bench::simulator::{Simulator, Wanted};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::resident;

const BAR: u64 = 300_000_000;
/// As many connections as are open at once: a listener for each BMC is open, too.
const AT_ONCE: usize = 500;

pub async fn measure(args: &Args, table: &mut Table) -> Result<()> {
    let begun = Instant::now();
    let simulator = Simulator::start(&Wanted {
        program: &args.simulator,
        count: args.most_bmcs,
        profile: "mix",
        latency: "0ms",
        tls: false,
    })?;
    let started = begun.elapsed();
    row(table, args, &format!("after its start, which took {:.1} s", started.as_secs_f64()), &simulator)?;
    let addresses = simulator.addresses();
    for some in addresses.chunks(AT_ONCE) {
        // A client for each: its connections end with it.
        let http = HttpClients::default().get(&simulator.trust())?;
        let mut visits = JoinSet::new();
        for address in some {
            let bmc = simulator.bmc(&http, *address)?;
            visits.spawn(async move { bmc.system(None).await.map(|_| ()) });
        }
        while let Some(visit) = visits.join_next().await {
            visit??;
        }
    }
    row(table, args, "after a log-in and a read of each", &simulator)
}

fn row(table: &mut Table, args: &Args, when: &str, simulator: &Simulator) -> Result<()> {
    let memory = resident(simulator.pid())?;
    table.add(
        format!("the simulator's memory, {} BMCs of all profiles, {when}", args.most_bmcs),
        "< 300 MB",
        format!("{} MB", memory / 1_000_000),
        memory < BAR,
    );
    Ok(())
}
