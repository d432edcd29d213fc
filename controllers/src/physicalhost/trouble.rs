//! What went wrong with a BMC, in the words of conditions.

use beskar7_api::conditions::host as reasons;
use beskar7_boot::capability::hidden;
use beskar7_core::host::contact::Trouble;
use beskar7_redfish::Error;

use crate::causes::causes;

/// A BMC that was only asked.
pub(super) fn of_contact(error: &Error) -> Trouble {
    let reason = match error {
        Error::Unreachable { .. }
        | Error::NotAnswered { .. }
        | Error::Resting { .. }
        | Error::Untrusted { .. }
        | Error::Trust(_)
        | Error::BadCredentials { .. } => reasons::REDFISH_CONNECTION_FAILED,
        Error::NotAllowed { .. }
        | Error::NoSystem { .. }
        | Error::NoSuchSystem { .. }
        | Error::SeveralSystems { .. }
        | Error::NotSupported { .. }
        | Error::NotSeen { .. }
        | Error::Withdrawn { .. }
        | Error::Busy { .. }
        | Error::ImageRefused { .. }
        | Error::SecondImageRefused { .. }
        | Error::Said { .. }
        | Error::Malformed { .. } => reasons::REDFISH_QUERY_FAILED,
    };
    Trouble { reason, message: told(error), passes: passes(error) }
}

/// A BMC that was told to do something.
pub(super) fn of_act(reason: &'static str, error: &Error) -> Trouble {
    Trouble { reason, message: told(error), passes: passes(error) }
}

/// In words that stay the same from try to try: they stand in a condition.
fn told(error: &Error) -> String {
    if let Error::Resting { address, .. } = error {
        return format!(
            "the BMC at {address} does not answer, and is tried again from time to time: check its address, that it \
             has power and network, and firewalls between"
        );
    }
    // Some repeat the URL that they were told to read from.
    hidden(&causes(error))
}

/// Whether trying again may help. The rest waits for a person, and is tried again seldom.
fn passes(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. }
        | Error::NotAnswered { .. }
        | Error::NotSeen { .. }
        | Error::Resting { .. }
        | Error::Withdrawn { .. }
        | Error::Busy { .. }
        | Error::Said { .. }
        | Error::Malformed { .. } => true,
        Error::SecondImageRefused { reason, .. } => passes(reason),
        Error::Untrusted { .. }
        | Error::Trust(_)
        | Error::BadCredentials { .. }
        | Error::NotAllowed { .. }
        | Error::NoSystem { .. }
        | Error::NoSuchSystem { .. }
        | Error::SeveralSystems { .. }
        | Error::NotSupported { .. }
        | Error::ImageRefused { .. } => false,
    }
}
