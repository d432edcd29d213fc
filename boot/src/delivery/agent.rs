//! What the agent on a machine asks and says: its orders, and how far it is with them.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use beskar7_agent_protocol::report::Report;
use tokio::time::timeout;

use super::{
    Counted, Desk, Refusal, Reported,
    answer::{text, with_status},
};
use crate::{capability::Capability, places::Places};

/// So much of a report is read. An inventory of a large machine has some hundred KiB.
const LONGEST_REPORT: usize = 1 << 20;
/// How long a report may take to come. What is installed can read its agent's URL, and may send what it likes as it likes.
const COMES_WITHIN: Duration = Duration::from_secs(30);
/// So many reports are in memory at once, and so many of one machine, whose agent has one after the other.
const MOST_READ: usize = 64;
const MOST_READ_OF_ONE: usize = 2;
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What it is told to do next.
pub(super) async fn order(desk: &dyn Desk, capability: &Capability) -> Result<Response, Refusal> {
    let order = desk.order(capability).await?;
    desk.counted(Counted::Agent);
    let Some(order) = order else { return Ok(with_status(StatusCode::NO_CONTENT, "")) };
    let written = serde_json::to_vec(&order).map_err(|error| {
        tracing::error!(%error, "an order can't be written");
        Refusal::NotNow
    })?;
    let mut response = text(written.into());
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    Ok(response)
}

/// Room for the reports that are being read.
pub(super) fn room() -> Arc<Places<Capability>> {
    Places::new(MOST_READ, MOST_READ_OF_ONE)
}

/// What it says. Of strangers not a byte is read.
pub(super) async fn report(
    desk: &dyn Desk,
    room: &Arc<Places<Capability>>,
    capability: &Capability,
    body: Body,
) -> Result<Response, Refusal> {
    desk.admit_agent(capability)?;
    let _place = room.take(*capability).ok_or(Refusal::NotNow)?;
    let body = match timeout(COMES_WITHIN, to_bytes(body, LONGEST_REPORT)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return Ok(with_status(StatusCode::BAD_REQUEST, "the report is too long, or broke off\n"));
        }
        Err(_) => return Ok(with_status(StatusCode::REQUEST_TIMEOUT, "the report takes too long\n")),
    };
    let reported = match serde_json::from_slice::<Report>(&body) {
        Ok(report) => desk.report(capability, report).await?,
        Err(_) => Reported::Nonsense,
    };
    desk.counted(Counted::Agent);
    Ok(match reported {
        Reported::Taken => with_status(StatusCode::NO_CONTENT, ""),
        Reported::NotWanted => with_status(StatusCode::GONE, "not wanted any more\n"),
        Reported::Nonsense => with_status(StatusCode::BAD_REQUEST, "this is no report of that order\n"),
    })
}
