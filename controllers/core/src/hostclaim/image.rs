//! The image of a claim, and what its host is told because of it.

use beskar7_api::{
    HostClaim, PhysicalHost, annotations,
    boot::{BootMethod, BootParameterMechanism, ImageFormat},
    host_claim::HostImage,
    machine::OsFamily,
    physical_host::HostBoot,
};

use super::configuration::{Synced, names_configuration};
use crate::{
    claim::{Compared, Given, ImageMark, Instructions, kernel_name},
    delivery::{AgentBoot, Delivery, PLACEHOLDER},
    disk_image,
    host::hold::{Progress, annotation},
    machine::{
        parameters::{self, BootstrapData},
        parameters_by,
    },
    network_boot,
};

/// What a claim's image is to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image<'a> {
    /// None is wanted.
    None,
    /// An ISO that the host boots from.
    Iso(&'a str),
    /// A kernel that the host boots from the network, and what goes with it.
    Kernel(&'a str, Option<&'a str>),
    /// An image in a registry that the host boots from the network.
    Registry(&'a str),
    /// An image that is written to a disk of the host.
    Disk(&'a HostImage),
    /// One that can't be brought onto a host, for this reason.
    NotUsable(&'static str),
}

/// What a claim's image is.
#[must_use]
pub fn image(claim: &HostClaim) -> Image<'_> {
    if let Some(kernel) = &claim.spec.kernel {
        return Image::Kernel(kernel, claim.spec.initramfs.as_deref());
    }
    let Some(image) = &claim.spec.image else { return Image::None };
    match image.details.format.or_else(|| by_ending(&image.url)) {
        Some(ImageFormat::Iso) if image.details.checksum.is_some() => Image::NotUsable(
            "The checksum of an ISO can't be verified, as a host reads it in parts: leave image.checksum out",
        ),
        Some(ImageFormat::Iso) if !network_boot::is_web(&image.url) => {
            Image::NotUsable("An ISO is read from http:// or https:// only: give such a URL in image.url")
        }
        Some(ImageFormat::Iso) => Image::Iso(&image.url),
        Some(ImageFormat::Oci) if image.details.checksum.is_some() => Image::NotUsable(
            "An image in a registry is verified by its own digest: leave image.checksum out, and name it by @sha256:… where \
             it must be this very one",
        ),
        Some(ImageFormat::Oci) => Image::Registry(&image.url),
        Some(ImageFormat::Raw | ImageFormat::Qcow2) => Image::Disk(image),
        None => Image::NotUsable("What kind of image it is can't be told by its URL: set image.format"),
    }
}

impl Image<'_> {
    /// What it is told from another by.
    fn mark(self) -> Option<ImageMark> {
        match self {
            Self::Iso(name) | Self::Registry(name) => Some(ImageMark::named(name.to_owned())),
            Self::Kernel(kernel, initramfs) => Some(ImageMark::named(kernel_name(kernel, initramfs))),
            Self::Disk(image) => {
                Some(ImageMark { name: image.url.clone(), given: Some(Given::of(&image.details)) })
            }
            Self::None | Self::NotUsable(_) => None,
        }
    }

    /// Whether a host boots it from the network.
    fn is_from_network(self) -> bool {
        match self {
            Self::Kernel(..) | Self::Registry(_) => true,
            Self::Iso(_) | Self::Disk(_) | Self::None | Self::NotUsable(_) => false,
        }
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

/// What a claim's machine boots.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// What is written into the host.
    pub boot: HostBoot,
    /// The ways by which kernel parameters may reach the kernel; nothing, when none are needed.
    pub parameters_by: Option<&'static [BootParameterMechanism]>,
}

/// What a claim's machine boots beside its ISO.
///
/// # Errors
/// It can't be carried out: why, and what to write instead.
pub fn order(claim: &HostClaim, delivery: Delivery) -> Result<Order, String> {
    if let Image::Disk(image) = image(claim) {
        return to_disk(claim, image, delivery);
    }
    let spec = &claim.spec;
    let says_where = spec.kernel_args.iter().any(|argument| argument.contains(PLACEHOLDER));
    if (names_configuration(claim) || says_where) && delivery == Delivery::Off {
        return Err("The machine's configuration comes from the boot server, which the platform team has not turned on: \
                    use an image that holds its configuration"
            .to_owned());
    }
    let by_url = names_configuration(claim) && spec.config_volume.is_none();
    let (family, first) = match (spec.os_family, &spec.ignition_ref) {
        (Some(_) | None, None | Some(_)) if !by_url => (OsFamily::Other, None),
        (Some(family), None | Some(_)) => (family, None),
        (None, None | Some(_)) if says_where => (OsFamily::Other, None),
        // What says nothing of itself is taken for what most images are.
        (None, None) => (OsFamily::Other, Some(format!("ds=nocloud;s={PLACEHOLDER}/"))),
        (None, Some(_)) => (OsFamily::FedoraCoreos, None),
    };
    if by_url && !family_reads(claim, family) {
        return Err(
            "The osFamily reads a configuration of its own, and there is none: give userData or ignitionRef"
                .to_owned(),
        );
    }
    let arguments: Vec<String> = first.into_iter().chain(spec.kernel_args.iter().cloned()).collect();
    let kernel_args = parameters::given(family, &arguments, delivery).map_err(|error| error.to_string())?;
    if by_url && !kernel_args.iter().any(|argument| argument.contains(PLACEHOLDER)) {
        return Err(format!(
            "Nothing tells the image where its configuration is: write {PLACEHOLDER} into one of the kernelArgs, choose \
             another osFamily, or set configVolume"
        ));
    }
    let image = image(claim);
    let boot = HostBoot {
        method: if image.is_from_network() { BootMethod::Ipxe } else { BootMethod::VirtualMedia },
        boot_mode: spec.boot_mode,
        kernel_args,
        config_volume: spec.config_volume,
        kernel: spec.kernel.clone(),
        initramfs: spec.initramfs.clone(),
        image: match image {
            Image::Registry(reference) => Some(reference.to_owned()),
            Image::None | Image::Iso(_) | Image::Kernel(..) | Image::Disk(_) | Image::NotUsable(_) => None,
        },
        ..HostBoot::default()
    };
    if !image.is_from_network() {
        return Ok(Order { parameters_by: parameters_by(&boot, delivery), boot });
    }
    if delivery == Delivery::Off {
        return Err("Booting from the network needs the boot server, which the platform team has not turned on: use an ISO"
            .to_owned());
    }
    if boot.config_volume.is_some() {
        return Err("configVolume goes beside an ISO, and this does not boot from one: leave it out, and the configuration is \
                    read by the kernel's parameters"
            .to_owned());
    }
    network_boot::bootable(&boot)?;
    Ok(Order { parameters_by: None, boot })
}

/// An image that the agent writes to a disk, with the configuration behind it.
fn to_disk(claim: &HostClaim, image: &HostImage, delivery: Delivery) -> Result<Order, String> {
    let spec = &claim.spec;
    if delivery.agent() == AgentBoot::None {
        return Err("Writing a disk image needs the agent, which the platform team has not turned on: use an ISO, an image in \
                    a registry, or a kernel"
            .to_owned());
    }
    if !spec.kernel_args.is_empty() {
        return Err("kernelArgs can't be added to a disk image, which has its own: remove them".to_owned());
    }
    let install = disk_image::install(&image.url, Some(&image.details), None)?;
    let volume = match names_configuration(claim) {
        true => Some(disk_image::volume(spec.os_family, spec.ignition_ref.is_some(), spec.config_volume)?.0),
        false => None,
    };
    let boot = disk_image::boot(install, volume, spec.boot_mode, delivery)?;
    let parameters_by = match boot.method.is_from_network() {
        true => None,
        false => parameters_by(&boot, delivery),
    };
    Ok(Order { parameters_by, boot })
}

/// Whether there is what a family reads: only cloud-init makes something of metadata alone.
fn family_reads(claim: &HostClaim, family: OsFamily) -> bool {
    let has_its_own = claim.spec.user_data.is_some() || claim.spec.ignition_ref.is_some();
    has_its_own || parameters::row(family).bootstrap == BootstrapData::AsKernelArgsSay
}

/// What a claim's host is told to be. `held` is the host, where it is the claim's already: what it has begun to boot
/// stays, as another image would be another claim. Nothing is booted before its configuration is there.
#[must_use]
pub fn instructions(
    claim: &HostClaim,
    held: Option<&PhysicalHost>,
    synced: &Synced,
    delivery: Delivery,
) -> Instructions {
    let begun = held.filter(|host| has_begun(host));
    let may_boot = begun.is_some() || (claim.spec.online && *synced == Synced::Yes);
    let runs = begun.and_then(booted);
    let (boot_iso_source, boot) = match (&runs, image(claim), order(claim, delivery)) {
        (Some(runs), _, ordered) => {
            let told = begun.and_then(|host| host.spec.boot.clone());
            let boot = told.or_else(|| ordered.ok().map(|order| order.boot));
            let has_iso =
                boot.as_ref().is_none_or(|boot| !boot.method.is_from_network() && boot.install.is_none());
            (has_iso.then(|| runs.name.clone()), boot)
        }
        (None, Image::Iso(url), Ok(order)) if may_boot => (Some(url.to_owned()), Some(order.boot)),
        (None, Image::Kernel(..) | Image::Registry(_) | Image::Disk(_), Ok(order)) if may_boot => {
            (None, Some(order.boot))
        }
        (
            None,
            Image::Iso(_)
            | Image::Kernel(..)
            | Image::Registry(_)
            | Image::Disk(_)
            | Image::None
            | Image::NotUsable(_),
            Ok(_) | Err(_),
        ) => (None, None),
    };
    let told = Instructions::new(boot_iso_source, boot, Some(claim.spec.online));
    let Some(runs) = runs else { return told };
    // What it was turned on for is not what people write into it now.
    Instructions { image: Some(completed(runs, claim, begun, delivery)), ..told }
}

/// What an older version wrote down of an image that goes to a disk, with what is given of it now: nobody knows what was
/// given then. From here on a change of that is one.
fn completed(
    runs: ImageMark,
    claim: &HostClaim,
    host: Option<&PhysicalHost>,
    delivery: Delivery,
) -> ImageMark {
    let installs = host.and_then(|host| host.spec.boot.as_ref()).is_some_and(|boot| boot.install.is_some());
    let asked = image(claim).mark().filter(|asked| asked.name == runs.name && asked.given.is_some());
    match asked {
        Some(asked) if runs.given.is_none() && installs && order(claim, delivery).is_ok() => asked,
        Some(_) | None => runs,
    }
}

/// Whether what the machine was turned on for is not what the claim asks for any more: another image, or none. One that
/// can't be booted is no reason to take off what runs.
#[must_use]
pub fn wants_another(claim: &HostClaim, host: &PhysicalHost, delivery: Delivery) -> bool {
    has_begun(host)
        && match image(claim) {
            Image::Disk(_) if order(claim, delivery).is_err() => false,
            // What nobody knows goes on running.
            image @ (Image::Iso(_) | Image::Kernel(..) | Image::Registry(_) | Image::Disk(_)) => {
                match compared(host, image) {
                    Compared::Another => true,
                    // Before it runs, it is what was wrong with the image. What runs is not wiped for it.
                    Compared::MoreOrLess => !has_booted(host),
                    Compared::Same => false,
                }
            }
            Image::None => true,
            Image::NotUsable(_) => false,
        }
}

/// What of the image counts for the next one only: it runs already, and was told apart by less, or by more.
#[must_use]
pub fn later(claim: &HostClaim, host: &PhysicalHost) -> Option<&'static str> {
    let counts_later = has_booted(host) && compared(host, image(claim)) == Compared::MoreOrLess;
    counts_later.then_some(
        "image.format or image.checksum was added or removed since the image was written: that counts for the next one",
    )
}

fn compared(host: &PhysicalHost, asked: Image<'_>) -> Compared {
    booted(host).zip(asked.mark()).map_or(Compared::Same, |(runs, asked)| runs.compared_to(&asked))
}

/// The image that the machine was turned on for, as it was written down. Where that was lost, it is taken for the one that
/// the claim asks for.
#[must_use]
pub fn booted(host: &PhysicalHost) -> Option<ImageMark> {
    ImageMark::parse(annotation(host, annotations::IMAGE)?, host.spec.claim_id.as_deref()?)
}

/// Whether its machine was seen to run for the claim.
fn has_booted(host: &PhysicalHost) -> bool {
    host.spec.claim_id.as_deref().is_some_and(|claim| match Progress::of(host, claim) {
        Progress::NotBegun | Progress::Booting(_) => false,
        Progress::Seen => true,
    })
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
