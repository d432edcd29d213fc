//! Where a host stands in its life, and in which words that is said.

use beskar7_api::{HostState, PhysicalHost, PhysicalHostStatus, annotations, conditions::host as reasons};

use super::contact::{Contact, Trouble};
use super::decide::{Emptied, Observed};
use super::discovery::{is_candidate, is_identified, is_inspecting, known_of};
use super::errand::{Errand, Purpose};
use super::heard::{Heard, Word};
use super::hold::{Booting, Evidence, Hold, Progress, consumer_is_missing, is_released};
use super::plan::{Plan, Sight};
use crate::agent::{Assignment, Said, Work};
use crate::claim::Kept;
use crate::conditions::{Finding, Truth, get};

/// Where a host stands.
pub(super) struct Standing {
    pub(super) state: Option<HostState>,
    pub(super) ready: Finding,
    pub(super) available: Finding,
    pub(super) provisioned: Finding,
}

/// Judges a host. `status` is the one that is being written, with what the BMC told in it.
pub(super) fn standing(
    host: &PhysicalHost,
    status: &PhysicalHostStatus,
    observed: &Observed,
    connection: &Finding,
    (plan, inspects): (&Plan, bool),
) -> Standing {
    let provisioned = provisioned(host, status, observed, plan);
    let inspects = inspects || is_on_errand(host);
    let available = available(host, observed, inspects);
    let ready = match (connection.truth, trouble(observed, plan)) {
        (Truth::False | Truth::Unknown, _) => connection.clone(),
        (Truth::True, Some(trouble)) => trouble.finding(),
        (Truth::True, None) => {
            Finding { truth: Truth::True, reason: reasons::CONNECTED, message: String::new() }
        }
    };
    Standing { state: state(host, status, observed, inspects), ready, available, provisioned }
}

/// What is wrong with the machine, or with what is wanted of it. What went wrong before it was refused is over.
fn trouble<'a>(observed: &'a Observed, plan: &'a Plan) -> Option<&'a Trouble> {
    plan.refusal().or(observed.trouble.as_ref())
}

/// A state follows from what is written down about the claim, never from an error: what a consumer holds stays what it
/// is while its BMC is away.
fn state(
    host: &PhysicalHost,
    status: &PhysicalHostStatus,
    observed: &Observed,
    inspects: bool,
) -> Option<HostState> {
    match Hold::of(host) {
        Hold::Held { claim } => Some(match Progress::of(host, claim) {
            Progress::NotBegun => HostState::Claimed,
            Progress::Booting(_) => HostState::Provisioning,
            Progress::Seen => HostState::Provisioned,
        }),
        // Emptied for the one who has it already, who wants something else on it: its disks were not wiped. Released now, it
        // must not look like one that is clean for others.
        Hold::Leaving if observed.emptied == Some(Emptied::Clean) && !is_released(host) => {
            Some(HostState::Claimed)
        }
        Hold::Leaving | Hold::Cleaned => Some(HostState::Deprovisioning),
        // Nothing is certain of how far it came: what was said before stays.
        Hold::Kept(_) | Hold::OnHold => status.state.or(Some(HostState::Claimed)),
        Hold::Free if observed.another.is_some() => Some(HostState::Error),
        Hold::Free => Some(free(host, status, &observed.contact, inspects)),
    }
}

fn is_on_errand(host: &PhysicalHost) -> bool {
    Errand::of(host).is_some_and(|errand| errand.purpose == Purpose::Inspect)
}

/// How far the agent is with the errand of a host.
fn on_errand(host: &PhysicalHost) -> Option<String> {
    let errand = Errand::of(host)?;
    let work = errand.purpose.work();
    let Some(booting) = errand.armed else { return Some("The agent is made ready to be started".to_owned()) };
    Some(match Said::of(host, &Assignment { work, booting }) {
        Some(said) => format!("Its agent {}: {said}", work.does()),
        None => "It was turned on; its agent has not asked what to do yet".to_owned(),
    })
}

/// A host that was identified once stays available; whether it may be claimed now is a condition.
fn free(host: &PhysicalHost, status: &PhysicalHostStatus, contact: &Contact, inspects: bool) -> HostState {
    let known = if inspects { HostState::Inspecting } else { HostState::Available };
    let identified = is_identified(host, status);
    match contact {
        Contact::Answered(_) => known,
        Contact::Failed(_) | Contact::NotTried if identified => known,
        // The agent looks at a machine whose BMC nobody knows yet.
        Contact::Failed(_) | Contact::NotTried if is_on_errand(host) => HostState::Inspecting,
        Contact::Failed(trouble) if !trouble.passes => HostState::Error,
        Contact::Failed(_) | Contact::NotTried => HostState::Enrolling,
    }
}

fn available(host: &PhysicalHost, observed: &Observed, inspects: bool) -> Finding {
    let no = |reason: &'static str, message: &str| Finding {
        truth: Truth::False,
        reason,
        message: message.to_owned(),
    };
    if consumer_is_missing(host, observed.consumer_exists) {
        return kept(host, Kept::ConsumerMissing);
    }
    let deleted = host.metadata.deletion_timestamp.is_some();
    match Hold::of(host) {
        Hold::Held { .. } | Hold::Kept(_) if deleted => {
            let told = format!("The host is deleted while {} holds it: delete that first", consumer(host));
            return no(reasons::WAITING_FOR_CONSUMER_RELEASE, &told);
        }
        Hold::Free | Hold::Leaving | Hold::Cleaned if deleted => {
            return no(reasons::DELETING, "The host is being deleted");
        }
        Hold::Held { .. } => return no(reasons::CLAIMED, &format!("Held by {}", consumer(host))),
        Hold::Kept(why) => return kept(host, why),
        Hold::Leaving | Hold::Cleaned => {
            return no(reasons::DEPROVISIONING, "It is turned off and cleaned first");
        }
        Hold::OnHold => return no(reasons::CLAIMED, "It is paused"),
        Hold::Free => {}
    }
    if host.spec.externally_provisioned {
        return no(reasons::EXTERNALLY_PROVISIONED, "It runs something that we did not install");
    }
    if let Some(another) = &observed.another {
        return another.trouble().finding();
    }
    if is_inspecting(host) {
        let wrong = observed.trouble.as_ref().map(|trouble| trouble.message.clone());
        return no(reasons::INSPECTING, &wrong.or_else(|| on_errand(host)).unwrap_or_default());
    }
    match &host.spec.cordoned {
        Some(why) if is_candidate(host) => {
            return no(reasons::CORDONED, &format!("{why}. {}", known_of(host)));
        }
        Some(why) => return no(reasons::CORDONED, why),
        None => {}
    }
    if inspects {
        let how_far = on_errand(host);
        return no(reasons::INSPECTING, how_far.as_deref().unwrap_or("Its hardware is inspected first"));
    }
    match &observed.contact {
        Contact::Answered(sighting) if sighting.is_unhealthy() => no(
            reasons::UNHEALTHY,
            "The BMC reports critical health: repair the machine, or replace the part it names",
        ),
        Contact::Answered(_) => Finding { truth: Truth::True, reason: reasons::FREE, message: String::new() },
        Contact::Failed(_) | Contact::NotTried => {
            no(reasons::NOT_CONNECTED, "Its BMC does not answer: see RedfishConnectionReady")
        }
    }
}

/// Why a host is left as it is, and who puts it right.
fn kept(host: &PhysicalHost, why: Kept) -> Finding {
    let (reason, message) = match why {
        Kept::NoClaimId => (
            reasons::CLAIMED_WITHOUT_ID,
            format!(
                "consumerRef names {}, but there is no claimID: clear consumerRef to free the host",
                consumer(host)
            ),
        ),
        Kept::ReferenceLost | Kept::ClaimLost => (
            reasons::CLAIM_LOST,
            format!(
                "Somebody took the claim off the host. Nothing is done until its consumer puts it back; who is sure \
                 that there is none sets the annotation {} to {}",
                annotations::RELEASE,
                claim(host)
            ),
        ),
        Kept::ConsumerMissing => (
            reasons::CONSUMER_MISSING,
            format!(
                "{} does not exist. Nothing is done, it may be on its way; who is sure sets the annotation {} to {}",
                consumer(host),
                annotations::RELEASE,
                claim(host)
            ),
        ),
    };
    Finding { truth: Truth::False, reason, message }
}

/// The claim that a host is, or was, under.
fn claim(host: &PhysicalHost) -> &str {
    let of_machine = || host.status.as_ref()?.claim_id.as_deref();
    host.spec.claim_id.as_deref().or_else(of_machine).unwrap_or_default()
}

fn provisioned(
    host: &PhysicalHost,
    status: &PhysicalHostStatus,
    observed: &Observed,
    plan: &Plan,
) -> Finding {
    let trouble = trouble(observed, plan);
    let not = |reason: &'static str, message: &str| Finding {
        truth: Truth::False,
        reason,
        message: message.to_owned(),
    };
    let claim = match Hold::of(host) {
        Hold::Free => return not(reasons::NOT_CLAIMED, "Nobody holds the host"),
        Hold::Kept(why) => return kept(host, why),
        Hold::OnHold => return not(reasons::NOT_CLAIMED, "It is paused"),
        Hold::Leaving | Hold::Cleaned => {
            let how_far = on_errand(host);
            let how_far = how_far.as_deref().unwrap_or("It is turned off, emptied and cleaned");
            return trouble.map_or_else(|| not(reasons::DEPROVISIONING, how_far), Trouble::finding);
        }
        Hold::Held { claim } => claim,
    };
    match Progress::of(host, claim) {
        Progress::Seen => seen(status, observed.sight),
        Progress::Booting(_) | Progress::NotBegun if consumer_is_missing(host, observed.consumer_exists) => {
            kept(host, Kept::ConsumerMissing)
        }
        Progress::Booting(_) | Progress::NotBegun if trouble.is_some() => {
            trouble.map_or_else(|| not(reasons::PROVISIONING, ""), Trouble::finding)
        }
        Progress::Booting(booting) if installs(host) => {
            not(reasons::PROVISIONING, &being_installed(host, &booting))
        }
        Progress::Booting(_) => not(reasons::PROVISIONING, on_its_way(&Heard::of(host, claim))),
        Progress::NotBegun if *plan == Plan::WaitForConsumer => {
            not(reasons::WAITING_FOR_BOOT_INFO, "Its consumer has not said what to boot, or wants it off")
        }
        Progress::NotBegun => not(reasons::PROVISIONING, "It is made ready to boot"),
    }
}

fn installs(host: &PhysicalHost) -> bool {
    host.spec.boot.as_ref().is_some_and(|boot| boot.install.is_some())
}

/// How far the agent has come.
fn being_installed(host: &PhysicalHost, booting: &Booting) -> String {
    let heard = Heard::of(host, &booting.claim);
    if heard.has(Word::Restarting) {
        return "Its image is installed, and it starts from its disk; its call, or its Node, is awaited"
            .to_owned();
    }
    if heard.has(Word::Installed) {
        return "Its image is installed; it is told to start from its disk".to_owned();
    }
    let assignment = Assignment { work: Work::Install, booting: booting.clone() };
    match Said::of(host, &assignment) {
        Some(said) => format!("Its agent installs the image: {said}"),
        None => "It was turned on; its agent has not asked what to do yet".to_owned(),
    }
}

/// How far a machine has come whose boot does not count as seen yet.
fn on_its_way(heard: &Heard) -> &'static str {
    if heard.has(Word::Configuration) {
        "It has read its configuration; its call, or its Node, is awaited"
    } else if heard.has(Word::Image) {
        "Its boot loader has started; its boot has not been seen yet"
    } else {
        "It was turned on; its boot has not been seen yet"
    }
}

/// How the boot was seen is told once; afterwards what was told stays.
fn seen(status: &PhysicalHostStatus, sight: Option<Sight>) -> Finding {
    let told =
        get(&status.conditions, reasons::PROVISIONED).filter(|told| told.status == Truth::True.as_str());
    let known = [
        reasons::CALLED_HOME,
        reasons::NODE_SEEN,
        reasons::IMAGE_INSTALLED,
        reasons::CONFIGURATION_READ,
        reasons::BOOT_PROGRESS_SEEN,
        reasons::IMAGE_READ,
        reasons::OVERRIDE_USED,
        reasons::BOOT_UNOBSERVABLE,
    ];
    let before = known.into_iter().find(|known| told.is_some_and(|told| told.reason == *known));
    let reason = sight.map(reason_of).or(before).unwrap_or(reasons::BOOT_SEEN);
    let message = match reason {
        reasons::IMAGE_INSTALLED => {
            "Its image was written to its disk, and it was told to start from it. That it did was not seen"
        }
        _ => "",
    };
    Finding { truth: Truth::True, reason, message: message.to_owned() }
}

/// The word for a sight.
const fn reason_of(sight: Sight) -> &'static str {
    match sight {
        Sight::By(Evidence::Home) => reasons::CALLED_HOME,
        Sight::By(Evidence::Node) => reasons::NODE_SEEN,
        Sight::By(Evidence::Installed) => reasons::IMAGE_INSTALLED,
        Sight::By(Evidence::Configuration) => reasons::CONFIGURATION_READ,
        Sight::By(Evidence::Progress) => reasons::BOOT_PROGRESS_SEEN,
        Sight::By(Evidence::Image) => reasons::IMAGE_READ,
        Sight::By(Evidence::Override) => reasons::OVERRIDE_USED,
        Sight::Unobservable => reasons::BOOT_UNOBSERVABLE,
    }
}

fn consumer(host: &PhysicalHost) -> String {
    let Some(reference) = &host.spec.consumer_ref else { return "nobody".to_owned() };
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{} {}/{}", text(&reference.kind), text(&reference.namespace), text(&reference.name))
}
