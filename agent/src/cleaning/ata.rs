//! ATA disks that erase themselves.

use std::time::Duration;

use beskar7_agent_device::{
    DeviceError,
    ata::{PASSWORD, Security},
};

use super::{device::Ata, full::Way, work::Work};
use crate::telling::Problem;

const STEP: &str = "erasing";

/// The ways that a disk has, the best first.
pub fn ways(work: &Work<'_>) -> Vec<Way> {
    let Some(ata) = work.device.ata() else { return Vec::new() };
    let security = match ata.security() {
        Ok(security) => security,
        Err(error) => {
            work.log(&format!("does not tell how it can erase itself: {error}"));
            return Vec::new();
        }
    };
    if let Some(reason) = hindrance(security) {
        work.log(&format!("can't erase itself: {reason}"));
        return Vec::new();
    }
    let plain = Way::Security(false);
    if security.enhanced { vec![Way::Security(true), plain] } else { vec![plain] }
}

fn hindrance(security: Security) -> Option<&'static str> {
    if !security.supported {
        Some("it has no security commands")
    } else if security.frozen {
        Some("firmware has frozen its security until it is turned off")
    } else {
        None
    }
}

/// How long a disk that tells no time may take.
const UNKNOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// Disks are optimists.
const LEAST: Duration = Duration::from_secs(2 * 60 * 60);

fn limit(security: Security, enhanced: bool) -> Duration {
    let told = if enhanced { security.enhanced_time } else { security.erase_time };
    told.map_or(UNKNOWN, |time| time.saturating_mul(2).max(LEAST))
}

/// Gives a disk our password, has it erase itself, and sees that the password is gone.
///
/// # Errors
/// It refuses or fails. Its password is taken away then, or the text says that it stays: also where it said that it does not
/// take it, for one whose answer was lost has it nevertheless.
pub fn erase(work: &Work<'_>, enhanced: bool) -> Result<(), Problem> {
    let problem = |message: String| work.problem(STEP, message);
    let ata = work.device.ata().ok_or_else(|| problem("it is no ATA disk".into()))?;
    let security = ata.security().map_err(|error| problem(error.to_string()))?;
    let erased = ata.set_password().and_then(|()| ata.erase(enhanced, limit(security, enhanced)));
    let opened = open_again(ata);
    match (erased, opened) {
        (Ok(()), Ok(())) => Ok(()),
        (Ok(()), Err(lock)) => Err(problem(lock)),
        (Err(error), Ok(())) => Err(problem(error.to_string())),
        (Err(error), Err(lock)) => Err(problem(format!("{error}; and {lock}"))),
    }
}

/// A disk that erased itself has no password any more; one that did not may be locked, and still has it.
fn open_again(ata: &dyn Ata) -> Result<(), String> {
    let stays = |why: String| {
        format!("the disk keeps the password {PASSWORD:?} that it was given for erasing: {why}")
    };
    let failed = |error: DeviceError| stays(error.to_string());
    let security = ata.security().map_err(failed)?;
    if security.locked {
        ata.unlock().map_err(failed)?;
    }
    if !security.enabled {
        return Ok(());
    }
    ata.disable_password().map_err(failed)?;
    if ata.security().map_err(failed)?.enabled {
        return Err(stays("it says that it is gone, and that it is there".to_owned()));
    }
    Ok(())
}

/// Sees that a disk that was to erase itself does not keep our password: whoever turns it on next would find it locked.
///
/// # Errors
/// It keeps it, or does not tell.
pub fn take_password_away(work: &Work<'_>) -> Result<(), Problem> {
    let Some(ata) = work.device.ata() else { return Ok(()) };
    open_again(ata).map_err(|lock| {
        let way_out = "turn the machine off and on, and try again; or take it away by hdparm --security-unlock and \
                       --security-disable with that password; or replace the disk";
        work.problem(STEP, format!("{lock}: {way_out}"))
    })
}

/// Unlocks a disk that lost power while it erased itself: it has our password. One that has it and lost no power is open
/// until it does.
///
/// # Errors
/// It is locked by another one.
pub fn unlock(work: &Work<'_>) -> Result<(), Problem> {
    let Some(ata) = work.device.ata() else { return Ok(()) };
    // A disk that does not tell is not locked in a way that we could open. If it is, writing to it fails.
    let Ok(security) = ata.security() else { return Ok(()) };
    match (security.locked, security.enabled, security.frozen) {
        (true, _, _) => {}
        (false, false, _) => return Ok(()),
        (false, true, true) => {
            work.log("has a password, and firmware keeps it from being taken away");
            return Ok(());
        }
        (false, true, false) => {
            match ata.disable_password() {
                Ok(()) => work.log("had our password from an erase that did not end, and has none any more"),
                Err(error) => work.log(&format!("has a password that is not ours: {error}")),
            }
            return Ok(());
        }
    }
    let outcome = ata.unlock().and_then(|()| ata.disable_password());
    outcome.map_err(|error| {
        let what = if security.worn_out || security.frozen {
            "turn the machine off and on, and try again"
        } else {
            "unlock it with the password that it was given, or replace it"
        };
        work.problem(
            "unlocking",
            format!("it is locked by a password, and ours does not open it: {error}; {what}"),
        )
    })?;
    work.log("was locked by an erase that lost power, and is unlocked again");
    Ok(())
}
