//! NVMe disks that erase themselves.

use beskar7_agent_device::{
    DeviceError,
    nvme::{Erase, Sanitize, SanitizeState},
};

use super::{device::Nvme, full::Way, work::Work};
use crate::telling::Problem;

const STEP: &str = "erasing";

/// The ways that a disk has, the best first: one that erases all cells before one that throws a key away, as that can be
/// seen; one that concerns a single namespace before one that concerns all.
pub fn ways(work: &Work<'_>) -> Vec<Way> {
    let Some(nvme) = work.device.nvme() else { return Vec::new() };
    let abilities = match nvme.abilities() {
        Ok(abilities) => abilities,
        Err(error) => {
            work.log(&format!("does not tell how it can erase itself: {error}"));
            return Vec::new();
        }
    };
    let ways: Vec<Way> = [
        (abilities.format, Way::Format(Erase::UserData)),
        (abilities.crypto_format, Way::Format(Erase::Crypto)),
        (abilities.block_sanitize, Way::Sanitize(Sanitize::Block)),
        (abilities.crypto_sanitize, Way::Sanitize(Sanitize::Crypto)),
    ]
    .into_iter()
    .filter_map(|(can, way)| can.then_some(way))
    .collect();
    if ways.is_empty() {
        work.log("can't erase itself: it has neither Format nor Sanitize");
    }
    ways
}

/// The commands of a disk that is known to have them.
fn commands<'a>(work: &Work<'a>) -> Result<&'a dyn Nvme, Problem> {
    work.device.nvme().ok_or_else(|| work.problem(STEP, "it is no NVMe disk"))
}

/// Formats a disk.
///
/// # Errors
/// It refuses.
pub fn format(work: &Work<'_>, erase: Erase) -> Result<(), Problem> {
    commands(work)?.format(erase).map_err(|error| work.problem(STEP, error.to_string()))
}

/// Sanitizes a disk, and waits until that is done.
///
/// # Errors
/// It refuses, or fails.
pub fn sanitize(work: &Work<'_>, how: Sanitize) -> Result<(), Problem> {
    let nvme = commands(work)?;
    nvme.sanitize(how).map_err(|error| work.problem(STEP, error.to_string()))?;
    finish(work, nvme)
}

/// Where power went while a disk sanitized itself, it goes on when it comes back, and takes no other command meanwhile.
/// How that ends is only logged: what is done with the disk afterwards is seen by itself.
///
/// # Errors
/// Nobody wants to wait any more.
pub fn wait_for_sanitize(work: &Work<'_>) -> Result<(), Problem> {
    let Some(nvme) = work.device.nvme() else { return Ok(()) };
    let outcome = match nvme.sanitize_state() {
        Ok(SanitizeState::Running(_)) => {
            work.log("was sanitizing itself when it was turned off: this is waited for");
            finish(work, nvme)
        }
        Ok(SanitizeState::Failed) => finish(work, nvme),
        Ok(SanitizeState::Never | SanitizeState::Done | SanitizeState::Unknown(_)) => Ok(()),
        // Disks that can't sanitize have no such log.
        Err(DeviceError::Refused { .. } | DeviceError::Kernel { .. }) => Ok(()),
    };
    if let Err(problem) = outcome {
        work.log(&format!("was left by an earlier erase: {}", problem.message));
    }
    work.go_on(STEP)
}

fn finish(work: &Work<'_>, nvme: &dyn Nvme) -> Result<(), Problem> {
    let problem = |message: String| work.problem(STEP, message);
    loop {
        match nvme.sanitize_state().map_err(|error| problem(error.to_string()))? {
            SanitizeState::Running(part) => {
                let done = u128::from(work.disk.size_bytes) * u128::from(part) / 65536;
                work.progress(STEP, u64::try_from(done).ok());
                work.go_on(STEP)?;
                work.devices.pause();
            }
            SanitizeState::Done => return Ok(()),
            SanitizeState::Failed => {
                nvme.sanitize(Sanitize::GiveUp).map_err(|error| {
                    problem(format!(
                        "it failed to sanitize itself, and can't be used any more: {error}; replace the disk"
                    ))
                })?;
                return Err(problem("it failed to sanitize itself".into()));
            }
            SanitizeState::Never => return Err(problem("it did not begin to sanitize itself".into())),
            SanitizeState::Unknown(state) => {
                return Err(problem(format!("it tells a state of sanitizing that is not known: {state}")));
            }
        }
    }
}
