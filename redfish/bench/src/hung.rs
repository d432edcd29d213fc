//! What a few hung BMCs cost the others.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use crate::Args;
use crate::fleet::{Round, Visitor, identify};
use beskar7_redfish_bench::figures::{median, percentile, ratios, seconds, spread};
use beskar7_redfish_bench::simulator::{Simulator, Wanted};
use beskar7_redfish_bench::table::Table;

/// By how much the others may be slower, in percent.
const BAR: f64 = 10.0;

/// What is looked at in a round.
type Figure = (&'static str, fn(&Round) -> f64);

const FIGURES: [Figure; 3] = [
    ("median", |round| median(&seconds(&round.each))),
    ("99th percentile", |round| percentile(&seconds(&round.each), 0.99)),
    ("the last of them", |round| round.wall.as_secs_f64()),
];

pub async fn measure(args: &Args, table: &mut Table) -> Result<()> {
    let simulator = Arc::new(Simulator::start(&Wanted {
        program: &args.simulator,
        count: args.bmcs,
        profile: "plain",
        latency: "20ms",
        tls: true,
    })?);
    let hang = json!({ "kind": "hang", "on": { "percent": 2 } });
    // The same BMCs are left out of either side. Armed once to learn which; and the simulator gets warm.
    let hung = simulator.arm(&hang).await?;
    simulator.clear_faults().await?;
    // Each BMC has a task of its own that begins at once: a hung one takes nobody's turn.
    let at_once = args.bmcs;
    identify(&simulator, Visitor::Ours, at_once, &hung).await?;
    let (mut well, mut unwell) = (Vec::new(), Vec::new());
    for round in 0..args.rounds {
        for with_hung in if round % 2 == 0 { [false, true] } else { [true, false] } {
            if with_hung {
                simulator.arm(&hang).await?;
                unwell.push(identify(&simulator, Visitor::Ours, at_once, &hung).await?);
                simulator.clear_faults().await?;
            } else {
                well.push(identify(&simulator, Visitor::Ours, at_once, &hung).await?);
            }
        }
    }
    for (name, figure) in FIGURES {
        let of = |rounds: &[Round]| rounds.iter().map(figure).collect::<Vec<_>>();
        let (without, with) = (of(&well), of(&unwell));
        let changes: Vec<f64> = ratios(&with, &without).iter().map(|ratio| (ratio - 1.0) * 100.0).collect();
        let change = median(&changes);
        table.add(
            format!("{} of {} BMCs hung, https, all at once: the others, {name}", hung.len(), args.bmcs),
            "< 10 % slower",
            format!(
                "{}: {} without, {} with",
                spread(&changes, "%"),
                spread(&without, "s"),
                spread(&with, "s")
            ),
            change < BAR,
        );
    }
    Ok(())
}
