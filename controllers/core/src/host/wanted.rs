//! What is to be booted on a machine, if its consumer has said so, and what of that can't be.

use beskar7_api::{
    PhysicalHost,
    boot::{BootMethod, BootMode},
    conditions::host as reasons,
};

use super::{
    boot_parameters::{Parameters, parameters},
    contact::Trouble,
    plan::Plan,
};
use crate::{
    claim::told_to_boot,
    delivery::{AgentBoot, Delivery, Way, way},
    disk_image::NEEDS_AGENT,
    machine::NEEDS_SERVER,
};

/// What a consumer wants booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The ISO, for virtual media.
    pub image: Option<String>,
    /// From where.
    pub method: BootMethod,
    /// How firmware starts.
    pub mode: BootMode,
    /// Kernel parameters, and how they reach the kernel; nothing where there are none.
    pub parameters: Option<Parameters>,
    /// How it gets its configuration from us, if it does.
    pub configuration: Option<Way>,
    /// Whether it boots the agent.
    pub starts_agent: bool,
}

/// Makes a machine ready for what its consumer wants booted, from the beginning.
pub(super) fn begin(host: &PhysicalHost, delivery: Delivery) -> Plan {
    if host.spec.online == Some(false) {
        return Plan::WaitForConsumer;
    }
    match wanted(host, delivery) {
        Ok(Some(wanted)) => Plan::Install(wanted),
        Ok(None) => Plan::WaitForConsumer,
        Err(trouble) => Plan::Refuse(trouble),
    }
}

/// What the consumer wants booted, if it has said so.
fn wanted(host: &PhysicalHost, delivery: Delivery) -> Result<Option<Wanted>, Trouble> {
    let Some((method, image)) = medium(host) else { return Ok(None) };
    let boot = host.spec.boot.clone().unwrap_or_default();
    let configuration = way(&boot);
    if method.is_from_network() && delivery == Delivery::Off {
        return Err(Trouble {
            reason: reasons::BOOT_SERVER_OFF,
            message: format!("The machine is not booted. {NEEDS_SERVER}"),
            passes: false,
        });
    }
    if configuration.is_some() && delivery == Delivery::Off {
        return Err(Trouble {
            reason: reasons::BOOT_SERVER_OFF,
            message: "The machine is not booted: its configuration comes from the boot server, which is off. Start the manager with --boot-url".to_owned(),
            passes: false,
        });
    }
    if matches!(configuration, Some(Way::Volume(_))) && method != BootMethod::VirtualMedia {
        return Err(Trouble {
            reason: reasons::BOOT_PARAMETERS_UNSUPPORTED,
            message: "The machine is not booted: a volume with its configuration goes beside an ISO, and it does not boot from one. Remove configVolume".to_owned(),
            passes: false,
        });
    }
    let starts_agent = boot.install.is_some();
    if starts_agent {
        agent_is_there(method, delivery)?;
    }
    let parameters = parameters(host, &boot, method, delivery)?;
    Ok(Some(Wanted { image, method, mode: boot.boot_mode, parameters, configuration, starts_agent }))
}

/// Whether the agent can be started in this way.
fn agent_is_there(method: BootMethod, delivery: Delivery) -> Result<(), Trouble> {
    let why = match (method, delivery.agent()) {
        (BootMethod::VirtualMedia, AgentBoot::VirtualMedia) => return Ok(()),
        (BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot, AgentBoot::Network) => return Ok(()),
        (BootMethod::Disk, _) => {
            "A disk image is written by the agent, which is not on the machine's own disk: set another method"
        }
        (BootMethod::VirtualMedia, AgentBoot::None | AgentBoot::Network)
        | (
            BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot,
            AgentBoot::None | AgentBoot::VirtualMedia,
        ) => NEEDS_AGENT,
    };
    Err(Trouble {
        reason: reasons::AGENT_NOT_AVAILABLE,
        message: format!("The machine is not booted. {why}"),
        passes: false,
    })
}

/// From where the consumer wants its machine to boot, and its image; nothing where it has not said so. A consumer that
/// names an ISO and nothing else wants it as virtual media.
pub(super) fn medium(host: &PhysicalHost) -> Option<(BootMethod, Option<String>)> {
    let image = host.spec.boot_iso_source.clone().filter(|url| !url.is_empty());
    let method = match (&host.spec.boot, &image) {
        (Some(boot), _) => boot.method,
        (None, Some(_)) => BootMethod::VirtualMedia,
        (None, None) => return None,
    };
    let installs = host.spec.boot.as_ref().is_some_and(|boot| boot.install.is_some());
    match (method, &image) {
        // The agent's ISO, which the manager knows.
        (BootMethod::VirtualMedia, _) if installs => Some((method, None)),
        (BootMethod::VirtualMedia, None) => None,
        (BootMethod::Ipxe | BootMethod::PXE | BootMethod::HTTPBoot, _) => {
            told_to_boot(host).map(|_| (method, None))
        }
        (BootMethod::VirtualMedia, Some(_)) | (BootMethod::Disk, _) => Some((method, image)),
    }
}
