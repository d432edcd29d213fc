//! What a machine is given to boot from: the image as it is, or as our server presents it, and the volume with its
//! configuration.
//!
//! An image that can't be presented is found out before the machine is touched. The URLs carry capabilities: they go to
//! the BMC and nowhere else.

use beskar7_api::{PhysicalHost, boot::BootMethod, conditions::host as reasons, hardware::Architecture};
use beskar7_boot::{delivery::ArtifactName, dhcp};
use beskar7_core::{
    delivery::Way,
    host::{boot_parameters::Parameters, contact::Trouble, wanted::Wanted},
    network_boot::{architecture, starts_by_itself},
};

use crate::{boot_server::Presenter, causes::causes};

/// What a machine is given to boot from.
pub(super) struct Media {
    /// The URL of its image, or of the program that firmware fetches.
    pub(super) image: Option<String>,
    /// The URL of the volume with its configuration.
    pub(super) volume: Option<String>,
    /// What firmware is told to start, with kernel parameters behind it.
    pub(super) uefi_target: Option<String>,
}

/// What a machine is given for a claim.
pub(super) async fn media(
    wanted: &Wanted,
    claim: &str,
    host: &PhysicalHost,
    presenter: Option<&Presenter>,
) -> Result<Media, Trouble> {
    let mut media = Media { image: wanted.image.clone(), volume: None, uefi_target: None };
    if wanted.method == BootMethod::HTTPBoot {
        media.image = Some(program(host, claim, presenter.ok_or_else(off)?));
    }
    match &wanted.parameters {
        None => {}
        Some(Parameters::Overlay(arguments)) => {
            let presenter = presenter.ok_or_else(off)?;
            let source =
                if wanted.starts_agent { presenter.agent.iso.as_ref() } else { wanted.image.as_ref() };
            media.image = match source {
                Some(source) => Some(presented(presenter, source, arguments, claim).await?),
                None => None,
            };
        }
        Some(Parameters::UefiTarget { loader, arguments }) => {
            if let (true, Some(presenter)) = (wanted.starts_agent, presenter) {
                media.image.clone_from(&presenter.agent.iso);
            }
            let filled = match presenter {
                Some(presenter) => presenter.links.fill_in(arguments, claim),
                None => arguments.clone(),
            };
            media.uefi_target = Some(format!("{loader} {}", filled.join(" ")));
        }
    }
    match wanted.configuration {
        Some(Way::Volume(volume)) => {
            let presenter = presenter.ok_or_else(off)?;
            media.volume = Some(presenter.links.volume(claim, volume.label()));
        }
        // The agent fetches it by itself.
        Some(Way::Url | Way::Partition(_)) | None => {}
    }
    Ok(media)
}

/// The URL of an image with these kernel parameters.
async fn presented(
    presenter: &Presenter,
    source: &str,
    arguments: &[String],
    claim: &str,
) -> Result<String, Trouble> {
    let arguments = presenter.links.fill_in(arguments, claim);
    match presenter.images.prepare(source, &arguments).await {
        Ok(presented) => Ok(presenter.links.image(claim, &presented.pin, source)),
        Err(error) => Err(Trouble {
            reason: reasons::IMAGE_NOT_USABLE,
            message: format!("The machine is not booted: {}", causes(&error)),
            passes: error.passes(),
        }),
    }
}

/// What firmware starts that boots by HTTP: an EFI program that holds all, or iPXE for its architecture.
fn program(host: &PhysicalHost, claim: &str, presenter: &Presenter) -> String {
    let links = &presenter.links;
    if host.spec.boot.as_ref().is_some_and(starts_by_itself) {
        return links.artifact(claim, ArtifactName::Program);
    }
    let architecture = match architecture(host) {
        Architecture::Arm64 => dhcp::Architecture::Arm64,
        Architecture::Amd64 => dhcp::Architecture::X64,
    };
    format!("{}{}", links.loaders(), dhcp::binary(architecture))
}

pub(super) fn off() -> Trouble {
    Trouble {
        reason: reasons::BOOT_SERVER_OFF,
        message: "The machine is not booted: that needs the boot server, which is off. Start the manager with --boot-url"
            .to_owned(),
        passes: false,
    }
}
