//! What the agent on a machine is told to do next.

use beskar7_agent_protocol::order::{
    Algorithm, Checksum, Clean, Configuration, DiskHints, Image, ImageFormat, Install, Order, Task,
    Thoroughness,
};
use beskar7_api::{
    HostBootConfiguration, PhysicalHost, annotations,
    boot::{DiskInstall, ImageFormat as Format},
    hardware::RootDeviceHints,
    host_boot_configuration::ServedArtifact,
};

use super::{
    assignment::{Assignment, Work},
    identity::machine_of,
    said::Said,
};
use crate::{
    delivery::{Way, way},
    host::{
        cleaning::demand_with_agent,
        discovery::turned_out_to_be,
        heard::{Heard, Word},
        hold::annotation,
    },
    network_boot::readiness,
};

/// The name of the artifact that is written to a disk.
const IMAGE: &str = "image";

/// What the agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing for now.
    Nothing,
    /// What it was started for.
    Work(Order),
    /// To start the machine anew, from its disk.
    Restart(Order),
    /// To turn it off.
    PowerOff(Order),
}

/// What it is told to do can't be said yet: what it installs is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotReady;

/// What the agent on the machine of a host is told under this claim, or on this errand. `heard_here` says which words this
/// server has heard of it, and not written down yet.
///
/// # Errors
/// Its HostBootConfiguration is not ready.
pub fn next(
    host: &PhysicalHost,
    id: &str,
    configuration: Option<&HostBootConfiguration>,
    heard_here: impl Fn(Word) -> bool,
) -> Result<Next, NotReady> {
    let Some(assignment) = Assignment::of(host, id) else { return Ok(Next::Nothing) };
    if let Some(farewell) = farewell(host, &assignment, heard_here) {
        return Ok(farewell);
    }
    // The same again would fail again. Who changed something turns the machine off, and it is begun anew. That another
    // machine asked is none of this one's business; and that one is told so again, and goes.
    if Said::of(host, &assignment).is_some_and(|said| said.gave_up()) {
        return Ok(Next::Nothing);
    }
    let task = match assignment.work {
        Work::Inspect => Task::Inspect,
        Work::Clean(how) if is_enough(host, how) => Task::Clean(Clean { how }),
        // More is wanted by now: it is begun anew.
        Work::Clean(_) => return Ok(Next::Nothing),
        Work::Install => Task::Install(Box::new(install(host, configuration)?)),
    };
    Ok(Next::Work(Order { id: assignment.order(), machine: machine(host), task }))
}

fn machine(host: &PhysicalHost) -> Option<String> {
    machine_of(host).map(|uuid| uuid.to_string())
}

/// What it is told when it is done.
fn farewell(host: &PhysicalHost, assignment: &Assignment, heard_here: impl Fn(Word) -> bool) -> Option<Next> {
    let order = |task| Order { id: assignment.farewell(), machine: machine(host), task };
    let is_done = match assignment.work {
        Work::Install => {
            let heard = Heard::of(host, &assignment.booting.claim);
            let is_installed = heard.has(Word::Installed) || heard_here(Word::Installed);
            return is_installed.then(|| Next::Restart(order(Task::Reboot)));
        }
        Work::Inspect => annotation(host, annotations::INSPECTED).is_some(),
        Work::Clean(_) => demand_with_agent(host).is_none(),
    };
    // It was found in use: what runs on it is not to stay off.
    let down = || match turned_out_to_be(host) {
        Some(_) => Next::Restart(order(Task::Reboot)),
        None => Next::PowerOff(order(Task::PowerOff)),
    };
    is_done.then(down)
}

/// Whether a host whose disks are wiped so is clean enough for others.
pub(super) fn is_enough(host: &PhysicalHost, how: Thoroughness) -> bool {
    demand_with_agent(host).is_none_or(|demand| demand.how == how || how == Thoroughness::Full)
}

/// Whether what it is told to install has a checksum. What people gave as one counts where the configuration is not known;
/// without, that is not known either: an image in a registry always has one.
pub(super) fn is_to_be_verified(
    host: &PhysicalHost,
    configuration: Option<&HostBootConfiguration>,
) -> Result<bool, NotReady> {
    let wanted = host.spec.boot.as_ref().and_then(|boot| boot.install.as_ref());
    if wanted.is_some_and(|install| install.checksum.is_some()) {
        return Ok(true);
    }
    install(host, configuration).map(|install| install.image.checksum.is_some())
}

fn install(host: &PhysicalHost, configuration: Option<&HostBootConfiguration>) -> Result<Install, NotReady> {
    let boot = host.spec.boot.as_ref().ok_or(NotReady)?;
    let install = boot.install.as_ref().ok_or(NotReady)?;
    let ready = configuration.filter(|found| readiness(found).is_ok()).ok_or(NotReady)?;
    let artifacts = ready.status.as_ref().map(|status| status.artifacts.as_slice()).unwrap_or_default();
    let served = artifacts.iter().find(|artifact| artifact.name == IMAGE).ok_or(NotReady)?;
    let configuration = match way(boot) {
        Some(Way::Partition(volume)) => Some(Configuration {
            path: format!("volume/{}.iso", volume.label()),
            label: volume.label().to_owned(),
        }),
        Some(Way::Url | Way::Volume(_)) | None => None,
    };
    Ok(Install {
        image: Image { path: IMAGE.to_owned(), format: format(install), checksum: checksum(served) },
        disk: hints(install.root_device_hints.as_ref(), host.spec.root_device_hints.as_ref()),
        configuration,
    })
}

const fn format(install: &DiskInstall) -> ImageFormat {
    match install.format {
        Some(Format::Raw) => ImageFormat::Raw,
        Some(Format::Qcow2) => ImageFormat::Qcow2,
        // Nobody writes the others here; what comes tells what it is.
        Some(Format::Iso | Format::Oci) | None => ImageFormat::Auto,
    }
}

/// What the image was compared with before the machine was turned on: it is compared again where it is written.
fn checksum(served: &ServedArtifact) -> Option<Checksum> {
    let (algorithm, digest) = served.digest.as_deref()?.split_once(':')?;
    let algorithm = match algorithm {
        "md5" => Algorithm::Md5,
        "sha256" => Algorithm::Sha256,
        "sha512" => Algorithm::Sha512,
        _ => return None,
    };
    Some(Checksum { algorithm, digest: digest.to_owned() })
}

/// Those of the consumer, and the host's own where these are silent: what the platform team says of its disks is not undone
/// by a machine that says something else of them.
fn hints(of_consumer: Option<&RootDeviceHints>, of_host: Option<&RootDeviceHints>) -> DiskHints {
    let first = of_consumer.cloned().unwrap_or_default();
    let then = of_host.cloned().unwrap_or_default();
    let size = first.min_size_gigabytes.or(then.min_size_gigabytes);
    DiskHints {
        device_name: first.device_name.or(then.device_name),
        hctl: first.hctl.or(then.hctl),
        model: first.model.or(then.model),
        vendor: first.vendor.or(then.vendor),
        serial_number: first.serial_number.or(then.serial_number),
        wwn: first.wwn.or(then.wwn),
        min_size_gigabytes: size.and_then(|size| u64::try_from(size).ok()),
        rotational: first.rotational.or(then.rotational),
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
