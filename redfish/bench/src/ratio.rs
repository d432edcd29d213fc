//! Our client beside bare requests: the same BMCs, the same requests, as many at once.

use std::sync::Arc;

use anyhow::Result;

use crate::Args;
use crate::fleet::{Round, Visitor, identify};
use beskar7_redfish_bench::figures::{median, ratios, spread};
use beskar7_redfish_bench::simulator::{Simulator, Wanted};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::{processor_time, resident};

/// How much longer ours may take.
const BAR: f64 = 1.5;

/// One way to compare.
#[derive(Clone, Copy)]
pub struct Comparison {
    tls: bool,
    at_once: usize,
}

/// From a leisurely manager to one that has just started and asks everybody at once.
pub const COMPARISONS: [Comparison; 3] = [
    Comparison { tls: false, at_once: 100 },
    Comparison { tls: true, at_once: 100 },
    Comparison { tls: true, at_once: 1000 },
];

pub async fn measure(args: &Args, comparison: Comparison, table: &mut Table) -> Result<()> {
    let Comparison { tls, at_once } = comparison;
    let simulator = Arc::new(Simulator::start(&Wanted {
        program: &args.simulator,
        count: args.bmcs,
        profile: "plain",
        latency: "20ms",
        tls,
    })?);
    // Once for each, uncounted: the simulator makes its certificates when they are first asked for.
    identify(&simulator, Visitor::Bare, at_once, &[]).await?;
    identify(&simulator, Visitor::Ours, at_once, &[]).await?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    let before = processor_time(simulator.pid())?;
    for round in 0..args.rounds {
        // Who goes first changes: whatever drifts on this machine hits both alike.
        let order =
            if round % 2 == 0 { [Visitor::Ours, Visitor::Bare] } else { [Visitor::Bare, Visitor::Ours] };
        for visitor in order {
            let round = identify(&simulator, visitor, at_once, &[]).await?;
            match visitor {
                Visitor::Ours => ours.push(round),
                Visitor::Bare => bare.push(round),
            }
        }
    }
    let simulated = processor_time(simulator.pid())?.saturating_sub(before);

    let wall = |rounds: &[Round]| rounds.iter().map(|round| round.wall.as_secs_f64()).collect::<Vec<_>>();
    let processor = |rounds: &[Round]| rounds.iter().map(|r| r.processor.as_secs_f64()).collect::<Vec<_>>();
    let ratios = ratios(&wall(&ours), &wall(&bare));
    let ratio = median(&ratios);
    let scheme = if tls { "https" } else { "http" };
    let what = format!("{} BMCs at 20 ms, {scheme}, cold, {at_once} at once", args.bmcs);
    table.add(
        format!("{what}: ours to bare reqwest"),
        "≤ 1.5 ×",
        format!("{}: {} to {}", spread(&ratios, "×"), spread(&wall(&ours), "s"), spread(&wall(&bare), "s")),
        ratio <= BAR,
    );
    table.note(
        format!("{what}: processor time a round"),
        format!(
            "ours {}, bare {}; the simulator {:.2} s",
            spread(&processor(&ours), "s"),
            spread(&processor(&bare), "s"),
            simulated.as_secs_f64() / (2 * args.rounds).max(1) as f64,
        ),
    );
    table.note(
        format!("{what}: memory after it"),
        format!(
            "this program {} MB, the simulator {} MB",
            resident(std::process::id())? / 1_000_000,
            resident(simulator.pid())? / 1_000_000
        ),
    );
    Ok(())
}
