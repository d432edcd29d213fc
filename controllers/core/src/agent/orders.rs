//! What the agent on a machine is told to do next.

use beskar7_agent_protocol::order::{
    Algorithm, Checksum, Configuration, DiskHints, Image, ImageFormat, Install, Order, Task,
};
use beskar7_api::{
    HostBootConfiguration, PhysicalHost,
    boot::{DiskInstall, ImageFormat as Format},
    hardware::RootDeviceHints,
    host_boot_configuration::ServedArtifact,
};

use super::said::{Said, Stage};
use crate::{
    delivery::{Way, booting, way},
    host::{
        heard::{Heard, Word},
        hold::Booting,
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
    /// To install an image.
    Install(Order),
    /// To start the machine anew, from its disk.
    Restart(Order),
}

/// What it is told to do can't be said yet: what it installs is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotReady;

/// The name of the order to install. A machine that is armed again gets another one.
#[must_use]
pub fn install_id(booting: &Booting) -> String {
    format!("install-{}-{}", booting.since.as_second(), booting.tries)
}

/// The name of the order to restart that follows it.
#[must_use]
pub fn restart_id(booting: &Booting) -> String {
    format!("restart-{}-{}", booting.since.as_second(), booting.tries)
}

/// What the agent on the machine of a host is told under this claim. `heard_here` says which words this server has heard of
/// it, and not written down yet.
///
/// # Errors
/// Its HostBootConfiguration is not ready.
pub fn next(
    host: &PhysicalHost,
    claim: &str,
    configuration: Option<&HostBootConfiguration>,
    heard_here: impl Fn(Word) -> bool,
) -> Result<Next, NotReady> {
    let (Some(booting), Some(boot)) = (booting(host, claim), &host.spec.boot) else {
        return Ok(Next::Nothing);
    };
    let Some(install) = &boot.install else { return Ok(Next::Nothing) };
    let heard = Heard::of(host, claim);
    if heard.has(Word::Installed) || heard_here(Word::Installed) {
        return Ok(Next::Restart(Order { id: restart_id(&booting), task: Task::Reboot }));
    }
    // The same again would fail again. Who changed something turns the machine off, and it is begun anew.
    if Said::of(host, &booting).is_some_and(|said| said.stage() == Stage::Failed) {
        return Ok(Next::Nothing);
    }
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
    let install = Install {
        image: Image { path: IMAGE.to_owned(), format: format(install), checksum: checksum(served) },
        disk: hints(install.root_device_hints.as_ref(), host.spec.root_device_hints.as_ref()),
        configuration,
    };
    Ok(Next::Install(Order { id: install_id(&booting), task: Task::Install(Box::new(install)) }))
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
