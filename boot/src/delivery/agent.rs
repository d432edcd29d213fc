//! What the agent on a machine asks and says: its orders, and how far it is with them.

use axum::{
    body::{Body, to_bytes},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use beskar7_agent_protocol::report::Report;

use super::{
    Counted, Desk, Refusal, Reported,
    answer::{text, with_status},
};
use crate::capability::Capability;

/// So much of a report is read. An inventory of a large machine has some hundred KiB.
const LONGEST_REPORT: usize = 1 << 20;
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

/// What it says. Of strangers not a byte is read.
pub(super) async fn report(
    desk: &dyn Desk,
    capability: &Capability,
    body: Body,
) -> Result<Response, Refusal> {
    desk.admit_agent(capability)?;
    let Ok(body) = to_bytes(body, LONGEST_REPORT).await else {
        return Ok(with_status(StatusCode::BAD_REQUEST, "the report is too long, or broke off\n"));
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
