//! Two replicas, and a leader that dies or stalls while it writes: there are never two writers.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::Manager;
use beskar7_e2e::process::{Exit, Signal};
use beskar7_e2e::wait;
use kube::Client;

use super::churn::{Churn, until_writing};
use super::setup::*;

/// How long until the other one leads: the lease, counted from the last look before the leader fell silent, and one
/// more try. What is added is for a busy machine, not for the election.
pub const TAKEOVER: Duration = LEASE.saturating_add(RETRY).saturating_add(Duration::from_secs(10));

/// Two replicas, of which the first leads and writes all the time.
async fn two_replicas(plane: &ControlPlane, client: &Client) -> Result<(Manager, String, Manager, Churn)> {
    let first = Manager::start(plane, &replica("first")).await?;
    let leader = until_held_by_other(client, None, LIMIT).await?;
    let second = Manager::start(plane, &replica("second")).await?;
    let churn = Churn::start(client).await?;
    until_writing(plane, &leader, 100).await?;
    Ok((first, leader, second, churn))
}

/// All that the old leader tried came to the API server, and was answered, before anything that the new one tried.
fn never_both(plane: &ControlPlane, old: &str, new: &str) -> Result<()> {
    let (before, after) = (attempts(plane, old)?, attempts(plane, new)?);
    ensure!(before.len() >= 100 && after.len() >= 100, "{} and {} writes", before.len(), after.len());
    let last = before.iter().map(|event| &event.stage_timestamp).max().context("no writes")?;
    let first = after.iter().map(|event| &event.request_received_timestamp).min().context("no writes")?;
    ensure!(last < first, "{old} wrote until {last}, {new} from {first}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_leader_is_killed_while_it_writes_the_other_one_leads() -> Result<()> {
    let plane = installed().await?;
    let client = plane.client().await?;
    let (first, leader, second, churn) = two_replicas(&plane, &client).await?;
    ensure!(metric(&second, "beskar7_leader").await? == "0");
    ensure!(attempts(&plane, &leader)?.iter().all(|event| event.request_uri.contains("timeout=")));

    first.process().kill().await?;
    let next = until_held_by_other(&client, Some(&leader), TAKEOVER).await?;
    until_writing(&plane, &next, 100).await?;
    churn.stop().await?;
    never_both(&plane, &leader, &next)?;
    ensure!(metric(&second, "beskar7_leader").await? == "1");
    let exit = second.stop().await?;
    ensure!(exit == Exit::Code(0), "{exit}");
    ensure!(holder(&client).await?.is_none(), "the Lease was not released");
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_leader_that_wakes_up_writes_nothing_and_ends() -> Result<()> {
    let plane = installed().await?;
    let client = plane.client().await?;
    let (first, leader, second, churn) = two_replicas(&plane, &client).await?;

    first.process().pause()?;
    let next = until_held_by_other(&client, Some(&leader), TAKEOVER).await?;
    until_writing(&plane, &next, 100).await?;
    first.process().resume()?;
    let exit = tokio::time::timeout(LIMIT, first.process().wait()).await.context("it does not end")??;
    ensure!(exit == Exit::Code(3), "{exit}");
    until_writing(&plane, &next, 100).await?;
    churn.stop().await?;
    never_both(&plane, &leader, &next)?;
    let log = logged(&first)?;
    ensure!(log.contains("leadership lost"), "it does not say why it ended");
    ensure!(holder(&client).await?.as_deref() == Some(next.as_str()), "the Lease changed hands again");
    second.stop().await?;
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_api_server_the_leader_stops_in_time_and_ends() -> Result<()> {
    let mut plane = installed().await?;
    let client = plane.client().await?;
    let manager = Manager::start(&plane, &replica("manager")).await?;
    until_held_by_other(&client, None, LIMIT).await?;
    plane.stop_api_server().await?;
    let exit = tokio::time::timeout(LIMIT, manager.process().wait()).await.context("it does not end")??;
    ensure!(exit == Exit::Code(3), "{exit}");
    plane.start_api_server().await?;
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() -> Result<()> {
    let plane = installed().await?;
    let client = plane.client().await?;
    let manager = Manager::start(&plane, &replica("manager")).await?;
    until_held_by_other(&client, None, LIMIT).await?;
    // A polite end has to wait for the API server, which does not answer.
    plane.api_server()?.pause()?;
    manager.process().signal(Signal::TERM)?;
    let asked = wait::until_true("the first signal to be seen", LIMIT, || async {
        Ok(if logged(&manager)?.contains("asked to stop") { Ok(()) } else { Err("not yet".to_owned()) })
    });
    asked.await?;
    manager.process().signal(Signal::TERM)?;
    let exit = tokio::time::timeout(LIMIT, manager.process().wait()).await.context("it does not end")??;
    plane.api_server()?.resume()?;
    ensure!(exit == Exit::Code(130), "{exit}");
    plane.stop().await
}
