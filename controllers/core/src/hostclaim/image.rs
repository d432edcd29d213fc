//! The image of a claim, and what its host is told because of it.

use beskar7_api::{
    HostClaim, PhysicalHost,
    boot::{BootMethod, ImageFormat},
    physical_host::HostBoot,
};

use crate::{claim::Instructions, host::hold::Progress};

/// What a claim's image is to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image<'a> {
    /// None is wanted.
    None,
    /// An ISO that the host boots from.
    Iso(&'a str),
    /// One that can't be brought onto a host, for this reason.
    NotUsable(&'static str),
}

/// What a claim's image is.
#[must_use]
pub fn image(claim: &HostClaim) -> Image<'_> {
    let Some(image) = &claim.spec.image else { return Image::None };
    match image.details.format.or_else(|| by_ending(&image.url)) {
        Some(ImageFormat::Iso) if image.details.checksum.is_some() => Image::NotUsable(
            "The checksum of an ISO can't be verified, as a host reads it in parts: leave image.checksum out",
        ),
        Some(ImageFormat::Iso) if !is_web(&image.url) => {
            Image::NotUsable("An ISO is read from http:// or https:// only: give such a URL in image.url")
        }
        Some(ImageFormat::Iso) => Image::Iso(&image.url),
        Some(ImageFormat::Raw | ImageFormat::Qcow2 | ImageFormat::Oci) => Image::NotUsable(
            "Images of disks and from registries are not brought onto hosts by this version: use an ISO, with image.format \
             iso",
        ),
        None => Image::NotUsable("What kind of image it is can't be told by its URL: set image.format"),
    }
}

fn by_ending(url: &str) -> Option<ImageFormat> {
    if url.starts_with("oci://") {
        return Some(ImageFormat::Oci);
    }
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let name =
        ["gz", "xz", "zst"].iter().find_map(|end| path.strip_suffix(end)?.strip_suffix('.')).unwrap_or(&path);
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("iso") => Some(ImageFormat::Iso),
        Some("qcow2") => Some(ImageFormat::Qcow2),
        Some("raw" | "img") => Some(ImageFormat::Raw),
        Some(_) | None => None,
    }
}

fn is_web(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
}

/// What a claim's host is told to be. `held` is the host, where it is the claim's already: what it has begun to boot
/// stays, as another image would be another claim.
#[must_use]
pub fn instructions(claim: &HostClaim, held: Option<&PhysicalHost>) -> Instructions {
    let begun = held.filter(|host| has_begun(host));
    let (boot_iso_source, boot) = match (begun, image(claim)) {
        (Some(host), _) => (host.spec.boot_iso_source.clone(), host.spec.boot.clone()),
        (None, Image::Iso(url)) if claim.spec.online && !names_configuration(claim) => {
            let boot = HostBoot { method: BootMethod::VirtualMedia, ..HostBoot::default() };
            (Some(url.to_owned()), Some(boot))
        }
        (None, Image::Iso(_) | Image::None | Image::NotUsable(_)) => (None, None),
    };
    Instructions { boot_iso_source, boot, online: Some(claim.spec.online) }
}

/// Whether the machine runs, or is about to run, another image than the claim asks for; in words.
#[must_use]
pub fn drift(claim: &HostClaim, host: &PhysicalHost) -> Option<String> {
    if !has_begun(host) {
        return None;
    }
    let runs = host.spec.boot_iso_source.as_deref()?;
    match image(claim) {
        Image::Iso(wanted) if wanted == runs => None,
        Image::Iso(_) | Image::None | Image::NotUsable(_) => Some(format!(
            "The machine was installed from {runs}, and image says something else now. This version changes no image of \\
             a machine that was booted: delete the claim, and write another one"
        )),
    }
}

/// Whether the machine is to be given a configuration. None is delivered yet, and none is left out.
pub(super) fn names_configuration(claim: &HostClaim) -> bool {
    let spec = &claim.spec;
    spec.user_data.is_some()
        || spec.meta_data.is_some()
        || spec.network_data.is_some()
        || spec.ignition_ref.is_some()
}

/// Whether its machine was turned on for the claim.
fn has_begun(host: &PhysicalHost) -> bool {
    host.spec.claim_id.as_deref().is_some_and(|claim| match Progress::of(host, claim) {
        Progress::NotBegun => false,
        Progress::Booting(_) | Progress::Seen => true,
    })
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
