//! The manager when nothing happens: its memory, its processor time, what it asks of BMCs and of the API server.

use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::{most_resident, processor_time, resident};
use serde_json::json;

use super::Options;
use super::claims::{claim, make_owners};
use super::enrolment::{enrol, until_inventories_are_read};
use super::place::Place;
use super::sightings::Sightings;
use super::worker::Worker;
use crate::manager::Manager;
use crate::tools::progress::Progress;

const MOST_MEMORY: u64 = 60_000_000;
/// Of one core, in percent.
const MOST_PROCESSOR: f64 = 2.0;
/// When nothing happens any more.
const QUIET: Duration = Duration::from_secs(5);

pub(super) async fn measure(
    place: &mut Place,
    options: &Options,
    table: &mut Table,
    progress: &mut dyn Progress,
) -> Result<()> {
    let namespace = place.new_namespace().await?;
    let worker = Worker::Manager(Box::new(place.start_manager(&namespace).await?));
    let manager = worker.manager().context("it is one")?;
    let pid = manager.process().pid().unsigned_abs();
    let mut sightings = Sightings::begin(&place.client, &namespace).await?;
    enrol(place, &namespace, &worker, &mut sightings, 0).await?;
    let owners = make_owners(place, &namespace, options.claims).await?;
    claim(place, &namespace, &worker, &mut sightings, &owners, &json!({})).await?;
    drop(sightings);
    progress.note("steady state: waiting until all inventories are read");
    until_inventories_are_read(place, &namespace, options.hosts).await?;
    worker.quiet(place, QUIET).await?;

    progress.note(&format!("steady state: {} s", options.steady));
    let polls_before = reconciles(manager).await?;
    let asked_before: u64 = place.simulator.requests().await?.iter().sum();
    let used_before = processor_time(pid)?;
    place.asked()?;
    tokio::time::sleep(options.steady()).await;
    let used = processor_time(pid)?.saturating_sub(used_before);
    let writes = worker.quiet(place, Duration::ZERO).await?;
    let asked: u64 = place.simulator.requests().await?.iter().sum::<u64>().saturating_sub(asked_before);
    let polls = reconciles(manager).await?.saturating_sub(polls_before);
    let (memory, most) = (resident(pid)?, most_resident(pid)?);
    worker.end(place).await?;

    let what = format!("{} hosts, {} of them claimed, polls every 60 s", options.hosts, options.claims);
    table.add(
        format!("{what}: the manager's memory"),
        "< 60 MB",
        format!("{} MB, {} MB at most", memory / 1_000_000, most / 1_000_000),
        memory < MOST_MEMORY,
    );
    let share = used.as_secs_f64() / options.steady().as_secs_f64() * 100.0;
    table.add(
        format!("{what}, nothing happens for {} s: processor", options.steady),
        "< 2 % of a core",
        format!("{share:.2} %"),
        share < MOST_PROCESSOR,
    );
    table.add(
        format!("{what}, nothing happens for {} s: API writes", options.steady),
        "0",
        format!(
            "{}, {} refused; besides, {} renewals of the Lease and {} reads",
            writes.total(),
            writes.refused(),
            writes.renewals(),
            writes.reads()
        ),
        writes.total() + writes.refused() == 0,
    );
    let per_poll = asked as f64 / polls.max(1) as f64;
    table.add(
        format!("{what}, nothing happens for {} s: BMC requests per poll", options.steady),
        "1",
        format!(
            "{per_poll:.2}: {asked} requests, {polls} polls, {:.2} a host",
            polls as f64 / options.hosts.max(1) as f64
        ),
        // A poll may have begun before the time and ended in it, or the other way round.
        per_poll < 1.005,
    );
    Ok(())
}

/// How often hosts were looked at.
async fn reconciles(manager: &Manager) -> Result<u64> {
    let name = "beskar7_reconcile_total{controller=\"physicalhost\",result=\"success\"} ";
    let text = manager.metrics().await?;
    let count = text.lines().find_map(|line| line.strip_prefix(name));
    count.with_context(|| format!("no {name} in\n{text}"))?.parse().context("a count")
}
