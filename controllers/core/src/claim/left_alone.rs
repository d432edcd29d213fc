//! Whether a consumer is left as it is: nothing is bound for it then, and nothing released.
//!
//! What says so is the tenant's to write, and a host of another namespace is not the tenant's: it is taken back all the
//! same, and what is demanded behind its claim is written onto it. With its own namespace a host may be on its way to
//! another management cluster, and nothing of it may be touched.

use beskar7_api::PhysicalHost;

use super::{candidate::Candidate, consumer::Consumer, intent::Intent};
use crate::policy::Tenure;

/// What says that a consumer is to be left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// clusterctl moved it away, and deletes it here.
    Moved,
    /// It is paused, for this reason.
    Paused(String),
}

/// The mark of a consumer in the namespace `own`, where it counts. `intent` is what it intends, `host` what is known of the
/// host that this names. What was taken back is then forgotten; nothing else is begun.
#[must_use]
pub fn left_alone(
    mark: Mark,
    own: &str,
    intent: Option<&Intent>,
    host: Option<(&PhysicalHost, Tenure)>,
) -> Option<Mark> {
    let goes_on = host.is_some_and(|(host, tenure)| {
        let ends = match tenure {
            Tenure::Revoked => true,
            Tenure::Tolerated | Tenure::Unknown | Tenure::Allowed => is_given_back(intent, host),
        };
        is_elsewhere(own, &Candidate::new(host)) && ends
    });
    Some(mark).filter(|_| !goes_on)
}

/// Whether a consumer holds a host of another namespace: what is demanded behind its claim is written there also where the
/// consumer is left as it is.
#[must_use]
pub fn is_held_elsewhere(consumer: &Consumer<'_>, host: &Candidate<'_>) -> bool {
    let intent = consumer.intent.and_then(Intent::parse);
    let is_its = |id: &str| intent.as_ref().is_some_and(|intent| names(intent, id));
    is_elsewhere(consumer.identity.namespace, host)
        && host.claim.consumer.is_some_and(|reference| consumer.identity.is_meant_by(reference))
        && host.claim.claim_id.is_some_and(is_its)
}

fn is_elsewhere(own: &str, host: &Candidate<'_>) -> bool {
    host.namespace != own
}

/// Whether a consumer gave up its host, and the host is not under its claim any more. All that is left is to forget that.
fn is_given_back(intent: Option<&Intent>, host: &PhysicalHost) -> bool {
    let Some(intent) = intent.filter(|intent| intent.given_up) else { return false };
    let under = Candidate::new(host).claim;
    ![under.claim_id, under.machine_of].into_iter().flatten().any(|id| names(intent, id))
}

fn names(intent: &Intent, id: &str) -> bool {
    std::iter::once(&intent.claim_id).chain(intent.renews.as_ref()).any(|mine| mine.as_str() == id)
}

#[cfg(test)]
#[path = "left_alone_tests.rs"]
mod tests;
