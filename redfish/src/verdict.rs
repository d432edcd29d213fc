//! What an answer means: done, busy, or refused, and why.

use reqwest::StatusCode;
use serde_json::Value;

use crate::bmc::Bmc;
use crate::error::Error;
use crate::message::Messages;
use crate::transport::Answer;

/// A refusal with one of these passes by itself: the machine is in its self-test (iLO), the BMC has not gathered its
/// data yet (iDRAC SYS518), or a job runs (iDRAC RAC0679, sushy-oem-idrac).
const PASSING: [&str; 5] = [
    "UnableToModifyDuringSystemPOST",
    "InvalidOperationForSystemState",
    "ServiceTemporarilyUnavailable",
    "SYS518",
    "RAC0679",
];

/// An answer with one of these under `error` is none.
const FINE: [&str; 6] =
    ["Success", "Created", "Accepted", "ResetRequired", "SystemResetRequired", "NoOperation"];

impl Bmc {
    /// An answer that is none of a refusal, or what kind of refusal it is.
    pub(crate) fn accepted(&self, what: &str, answer: Answer) -> Result<Answer, Error> {
        // What was read is what was asked for; its body is decoded once, by whoever asked.
        if answer.status.is_success() && what.starts_with("GET") {
            return Ok(answer);
        }
        let messages = Messages::of(&answer.body);
        if answer.status.is_success() && !reports_failure(&answer, &messages) {
            return Ok(answer);
        }
        let (address, what) = (self.address().to_string(), what.to_owned());
        Err(match answer.status {
            StatusCode::UNAUTHORIZED => Error::BadCredentials { address },
            // Some answer 403 to what they can't do now, and say so.
            status if is_busy(status, &messages) => {
                Error::Busy { address, messages, after: answer.retry_after() }
            }
            StatusCode::FORBIDDEN => Error::NotAllowed { address, what, messages },
            status => Error::Said { address, status: status.as_u16(), what, messages },
        })
    }
}

fn is_busy(status: StatusCode, messages: &Messages) -> bool {
    matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
        || PASSING.iter().any(|key| messages.has(key))
}

/// Some BMCs refuse with status 200 and an error in the body (iLO); others report success in the same place.
fn reports_failure(answer: &Answer, messages: &Messages) -> bool {
    if messages.is_empty() {
        return false;
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body.get("error").is_some() && !FINE.iter().any(|key| messages.has(key))
}
