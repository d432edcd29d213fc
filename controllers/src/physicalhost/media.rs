//! What a machine is given to boot from: the image as it is, or as our server presents it, and the volume with its
//! configuration.
//!
//! An image that can't be presented is found out before the machine is touched. The URLs carry capabilities: they go to
//! the BMC and nowhere else.

use beskar7_api::conditions::host as reasons;
use beskar7_core::{
    delivery::Way,
    host::{boot_parameters::Parameters, contact::Trouble, plan::Wanted},
};

use crate::{boot_server::Presenter, causes::causes};

/// What a machine is given to boot from.
pub(super) struct Media {
    /// The URL of its image.
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
    presenter: Option<&Presenter>,
) -> Result<Media, Trouble> {
    let mut media = Media { image: wanted.image.clone(), volume: None, uefi_target: None };
    match &wanted.parameters {
        None => {}
        Some(Parameters::Overlay(arguments)) => {
            let presenter = presenter.ok_or_else(off)?;
            media.image = match &wanted.image {
                Some(source) => Some(presented(presenter, source, arguments, claim).await?),
                None => None,
            };
        }
        Some(Parameters::UefiTarget { loader, arguments }) => {
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
        Some(Way::Url) | None => {}
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

fn off() -> Trouble {
    Trouble {
        reason: reasons::BOOT_SERVER_OFF,
        message: "The machine is not booted: that needs the boot server, which is off. Start the manager with --boot-url"
            .to_owned(),
        passes: false,
    }
}
