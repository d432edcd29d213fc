//! The manager beside the bare client, and beside itself with some BMCs hung; the sides take turns.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_redfish_bench::bare::REQUESTS;
use beskar7_redfish_bench::figures::{median, percentile, ratios, seconds, spread};
use beskar7_redfish_bench::table::Table;
use serde_json::json;

use super::Options;
use super::bare::{Bare, HOSTS_AT_ONCE, MACHINES_AT_ONCE, Samples};
use super::claims::{claim, make_owners};
use super::enrolment::enrol;
use super::place::Place;
use super::sightings::Sightings;
use super::timed::Timed;
use super::worker::Worker;
use super::writes::Writes;
use crate::tools::progress::Progress;

/// How much longer the manager may take than the bare client.
const MOST: f64 = 1.5;
/// By how much hung BMCs may slow down the others, in percent.
const MOST_SLOWER: f64 = 10.0;
/// When work counts as done.
const QUIET: Duration = Duration::from_secs(1);

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Manager,
    Bare,
    /// The manager, with some BMCs hung.
    Hung,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Manager => "the manager",
            Self::Bare => "the bare client",
            Self::Hung => "the manager with hung BMCs",
        }
    }
}

/// What came of a turn of the manager or of the bare client.
struct Turn {
    enrolment: Timed,
    enrolment_writes: Writes,
    /// What each BMC was asked.
    requests: Vec<u64>,
    claims: Timed,
    claim_writes: Writes,
    samples: Option<Samples>,
}

/// All turns of all sides.
#[derive(Default)]
struct Turns {
    manager: Vec<Turn>,
    bare: Vec<Turn>,
    hung: Vec<Timed>,
}

pub(super) async fn measure(
    place: &mut Place,
    options: &Options,
    table: &mut Table,
    progress: &mut dyn Progress,
) -> Result<()> {
    // The first run counts for nothing: everything gets warm, and the bare client learns what a manager writes.
    progress.note("a manager, uncounted");
    let first = compared(place, options, Side::Manager, None).await?;
    let samples = first.samples.context("a manager's turn without samples")?;
    // The same hosts are left out of either side.
    let hung = hung_hosts(place).await?;
    let mut turns = Turns::default();
    for round in 0..options.rounds {
        // Who goes first changes: whatever drifts on this machine hits all alike.
        let order = if round % 2 == 0 {
            [Side::Bare, Side::Manager, Side::Hung]
        } else {
            [Side::Hung, Side::Manager, Side::Bare]
        };
        for side in order {
            let told = match side {
                Side::Manager | Side::Bare => {
                    let turn = compared(place, options, side, Some(&samples)).await?;
                    let told = format!(
                        "{:.1?} to Available, {:.1?} to bound",
                        turn.enrolment.wall, turn.claims.wall
                    );
                    match side {
                        Side::Bare => turns.bare.push(turn),
                        Side::Manager | Side::Hung => turns.manager.push(turn),
                    }
                    told
                }
                Side::Hung if hung.is_empty() => continue,
                Side::Hung => {
                    let timed = disturbed(place, hung.len()).await?;
                    let told = format!("{:.1?} to Available", timed.wall);
                    turns.hung.push(timed);
                    told
                }
            };
            progress.note(&format!("round {} of {}: {}: {told}", round + 1, options.rounds, side.name()));
        }
    }
    enrolment_rows(&turns, options, table);
    if !hung.is_empty() {
        hung_rows(&turns, &hung, options, table);
    }
    claim_rows(&turns, options, table);
    Ok(())
}

/// One turn of the manager or of the bare client: hosts are enrolled, then machines claim some of them.
async fn compared(
    place: &mut Place,
    options: &Options,
    side: Side,
    samples: Option<&Samples>,
) -> Result<Turn> {
    let namespace = place.new_namespace().await?;
    let worker = match samples {
        Some(samples) if side == Side::Bare => Worker::Bare(Bare::new(place, &namespace, samples).await?),
        Some(_) | None => Worker::Manager(Box::new(place.start_manager(&namespace).await?)),
    };
    let mut sightings = Sightings::begin(&place.client, &namespace).await?;
    let asked_before = place.simulator.requests().await?;
    place.asked()?;

    let enrolment = enrol(place, &namespace, &worker, &mut sightings, 0).await?;
    let enrolment_writes = worker.quiet(place, QUIET).await?;
    let asked = place.simulator.requests().await?;
    let requests = asked.iter().zip(asked_before).map(|(now, before)| now.saturating_sub(before)).collect();

    let owners = make_owners(place, &namespace, options.claims).await?;
    worker.quiet(place, QUIET).await?;
    let claims = claim(place, &namespace, &worker, &mut sightings, &owners, &json!({})).await?;
    let claim_writes = worker.quiet(place, QUIET).await?;

    let available = sightings.seen().status.clone();
    let samples = match (&worker, available) {
        (Worker::Manager(_), Some(available)) => {
            Some(Samples::learn(&place.client, &namespace, available).await?)
        }
        (Worker::Manager(_) | Worker::Bare(_), _) => None,
    };
    worker.end(place).await?;
    Ok(Turn { enrolment, enrolment_writes, requests, claims, claim_writes, samples })
}

/// The hosts whose BMCs hang when they are told to; none if there are too few to choose from.
async fn hung_hosts(place: &Place) -> Result<HashSet<String>> {
    let hung = place.simulator.arm(&json!({ "kind": "hang", "on": { "percent": 2 } })).await?;
    place.simulator.clear_faults().await?;
    let urls: HashSet<String> = hung.iter().map(|address| place.simulator.url(*address)).collect();
    let hosts = place.hosts().into_iter().filter(|host| urls.contains(&host.url));
    Ok(hosts.map(|host| host.name).collect())
}

/// One turn of the manager with some BMCs hung.
async fn disturbed(place: &mut Place, hung: usize) -> Result<Timed> {
    let namespace = place.new_namespace().await?;
    let worker = Worker::Manager(Box::new(place.start_manager(&namespace).await?));
    let mut sightings = Sightings::begin(&place.client, &namespace).await?;
    place.simulator.arm(&json!({ "kind": "hang", "on": { "percent": 2 } })).await?;
    let enrolment = enrol(place, &namespace, &worker, &mut sightings, hung).await?;
    worker.end(place).await?;
    place.simulator.clear_faults().await?;
    Ok(enrolment)
}

fn enrolment_rows(turns: &Turns, options: &Options, table: &mut Table) {
    let what = format!(
        "{} hosts created to Available, BMCs at 20 ms, {}, {HOSTS_AT_ONCE} at once",
        options.hosts,
        options.scheme()
    );
    ratio_row(&what, turns, |turn| &turn.enrolment, table);
    let asked: Vec<f64> =
        turns.manager.iter().flat_map(|turn| &turn.requests).map(|count| *count as f64).collect();
    table.note(
        format!("{what}: BMC requests per host"),
        format!(
            "manager {:.0} at least, {:.2} on average with the inventories read meanwhile; bare {REQUESTS}",
            percentile(&asked, 0.0),
            asked.iter().sum::<f64>() / asked.len().max(1) as f64
        ),
    );
    writes_row(&what, "host", turns, options.hosts, |turn| &turn.enrolment_writes, table);
    processor_row(&what, turns, |turn| &turn.enrolment, table);
}

fn claim_rows(turns: &Turns, options: &Options, table: &mut Table) {
    let what = format!(
        "{} machines created to bound, {} hosts, {MACHINES_AT_ONCE} at once",
        options.claims, options.hosts
    );
    ratio_row(&what, turns, |turn| &turn.claims, table);
    writes_row(&what, "claim", turns, options.claims, |turn| &turn.claim_writes, table);
    processor_row(&what, turns, |turn| &turn.claims, table);
}

fn ratio_row(what: &str, turns: &Turns, of: fn(&Turn) -> &Timed, table: &mut Table) {
    let walls = |turns: &[Turn]| turns.iter().map(|turn| of(turn).wall.as_secs_f64()).collect::<Vec<_>>();
    let (manager, bare) = (walls(&turns.manager), walls(&turns.bare));
    let ratios = ratios(&manager, &bare);
    table.add(
        format!("{what}: manager to bare client"),
        "≤ 1.5 ×",
        format!("{}: {} to {}", spread(&ratios, "×"), spread(&manager, "s"), spread(&bare, "s")),
        median(&ratios) <= MOST,
    );
    let each = |turns: &[Turn], share: f64| {
        let all: Vec<f64> =
            turns.iter().map(|turn| percentile(&seconds_of(of(turn), &HashSet::new()), share)).collect();
        spread(&all, "s")
    };
    table.note(
        format!("{what}: each by itself, median and 99th percentile"),
        format!(
            "manager {} and {}; bare {} and {}",
            each(&turns.manager, 0.5),
            each(&turns.manager, 0.99),
            each(&turns.bare, 0.5),
            each(&turns.bare, 0.99)
        ),
    );
}

fn writes_row(
    what: &str,
    each: &str,
    turns: &Turns,
    objects: usize,
    of: fn(&Turn) -> &Writes,
    table: &mut Table,
) {
    // Of the last turns: they hardly differ.
    let told = |turns: &[Turn]| {
        turns.last().map(of).map_or_else(String::new, |writes| {
            format!("{}, {} refused, {} reads", writes.for_each(objects), writes.refused(), writes.reads())
        })
    };
    table.note(
        format!("{what}: API writes per {each}"),
        format!("manager {}; bare {}", told(&turns.manager), told(&turns.bare)),
    );
}

fn processor_row(what: &str, turns: &Turns, of: fn(&Turn) -> &Timed, table: &mut Table) {
    let told = |turns: &[Turn]| turns.last().map_or_else(String::new, |turn| of(turn).processors.text());
    table.note(
        format!("{what}: processor time"),
        format!("with the manager: {}; bare: {}", told(&turns.manager), told(&turns.bare)),
    );
}

/// What is looked at with hung BMCs.
type Figure = (&'static str, fn(&Timed, &HashSet<String>) -> f64);

const FIGURES: [Figure; 3] = [
    ("median", |timed, hung| median(&seconds_of(timed, hung))),
    ("99th percentile", |timed, hung| percentile(&seconds_of(timed, hung), 0.99)),
    ("all of them", |timed, _| timed.wall.as_secs_f64()),
];

fn hung_rows(turns: &Turns, hung: &HashSet<String>, options: &Options, table: &mut Table) {
    for (name, figure) in FIGURES {
        let without: Vec<f64> = turns.manager.iter().map(|turn| figure(&turn.enrolment, hung)).collect();
        let with: Vec<f64> = turns.hung.iter().map(|timed| figure(timed, hung)).collect();
        let changes: Vec<f64> = ratios(&with, &without).iter().map(|ratio| (ratio - 1.0) * 100.0).collect();
        table.add(
            format!(
                "{} of {} BMCs hung: the others, created to Available, {name}",
                hung.len(),
                options.hosts
            ),
            "< 10 % slower",
            format!(
                "{}: {} without, {} with",
                spread(&changes, "%"),
                spread(&without, "s"),
                spread(&with, "s")
            ),
            median(&changes) < MOST_SLOWER,
        );
    }
}

/// Each by itself, but for some.
fn seconds_of(timed: &Timed, without: &HashSet<String>) -> Vec<f64> {
    let each = timed.each.iter().filter(|(name, _)| !without.contains(*name));
    seconds(&each.map(|(_, took)| *took).collect::<Vec<_>>())
}
