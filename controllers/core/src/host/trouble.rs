//! What is wrong with a host, for those who use it and may not know its BMC.

use beskar7_api::{PhysicalHost, conditions::host as reasons};

use crate::{
    agent::{Assignment, Said},
    conditions::{Truth, get},
};

/// What is wrong with a host while it is provisioned or deprovisioned, in the word of its condition. Its sentence is not
/// for everybody: it may speak of the BMC.
#[must_use]
pub fn trouble(host: &PhysicalHost) -> Option<&str> {
    let conditions = &host.status.as_ref()?.conditions;
    let wrong = |type_: &str| get(conditions, type_).filter(|found| found.status == Truth::False.as_str());
    if let Some(connection) = wrong(reasons::REDFISH_CONNECTION_READY) {
        return Some(&connection.reason);
    }
    let on_the_way = [
        reasons::NOT_CLAIMED,
        reasons::PROVISIONING,
        reasons::DEPROVISIONING,
        reasons::WAITING_FOR_BOOT_INFO,
    ];
    let provisioned = wrong(reasons::PROVISIONED)?;
    (!on_the_way.contains(&provisioned.reason.as_str())).then_some(provisioned.reason.as_str())
}

/// What the agent on the machine of a host said when it gave up. That speaks of the image and of disks, and of no BMC: who
/// uses the host may read it. That another machine came is not among it: that one may be another tenant's, and only the
/// platform team can put it right.
#[must_use]
pub fn agents_words(host: &PhysicalHost) -> Option<String> {
    let assignment = Assignment::of(host, host.spec.claim_id.as_deref()?)?;
    let said = Said::of(host, &assignment).filter(Said::gave_up)?;
    Some(format!("The agent on the machine could not {}: {said}", assignment.work.failed_to()))
}
