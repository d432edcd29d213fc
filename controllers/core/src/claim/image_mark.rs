//! Which image a host was told to boot for a claim, as it is written down on it: whether a claim asks for another one is
//! told by this, and by nothing that people may edit or that a newer version writes in other words.
//!
//! `<claim> <name>`, and of an image that is written to a disk
//! `<claim>/<format>/<type of the checksum> <URL>[ <checksum>]`. Older versions wrote the first of every image; they take
//! the second for that of another claim, and let the machine run.

use beskar7_api::{
    boot::{ChecksumType, ImageDetails, ImageFormat},
    physical_host::HostBoot,
};

use super::instructions::kernel_name;
use crate::disk_image::{self, Checksum};

/// What was not given.
const NOTHING: &str = "-";
const FORMATS: [ImageFormat; 4] = [ImageFormat::Raw, ImageFormat::Qcow2, ImageFormat::Iso, ImageFormat::Oci];
const TYPES: [ChecksumType; 4] =
    [ChecksumType::Auto, ChecksumType::Md5, ChecksumType::Sha256, ChecksumType::Sha512];

/// An image, as it is told from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageMark {
    /// Its name: the ISO, the image in a registry, the kernel and what goes with it, the image that is written to a disk.
    pub name: String,
    /// What else was given of an image that is written to a disk. Older versions did not write it down.
    pub given: Option<Given>,
}

/// What is given of an image beside its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    format: Option<ImageFormat>,
    checksum: Option<String>,
    /// Of a checksum that is in a file: how many digits one has tells its type.
    checksum_type: ChecksumType,
}

/// What one image is to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// The same, as far as was written down.
    Same,
    /// The same by all that was given of both; something is given of one only.
    MoreOrLess,
    /// Another one.
    Another,
}

impl ImageMark {
    /// Of what a host is told to boot.
    #[must_use]
    pub fn of(iso: Option<&str>, boot: Option<&HostBoot>) -> Option<Self> {
        if let Some(install) = boot.and_then(|boot| boot.install.as_ref()) {
            let given = Given::new(install.format, install.checksum.as_deref(), install.checksum_type);
            return Some(Self { name: install.image.clone(), given: Some(given) });
        }
        let name = match boot.filter(|boot| boot.method.is_from_network()) {
            None => iso.map(str::to_owned),
            Some(HostBoot { image: Some(image), .. }) => Some(image.clone()),
            Some(HostBoot { image: None, kernel, initramfs, .. }) => {
                kernel.as_deref().map(|kernel| kernel_name(kernel, initramfs.as_deref()))
            }
        };
        name.map(Self::named)
    }

    /// Of one that is not written to a disk.
    #[must_use]
    pub fn named(name: String) -> Self {
        Self { name, given: None }
    }

    /// As it is written down for a claim.
    #[must_use]
    pub fn written(&self, claim: &str) -> String {
        let Self { name, given } = self;
        let Some(Given { format, checksum, checksum_type }) = given else { return format!("{claim} {name}") };
        let (format, type_) = (format.map_or(NOTHING, format_word), type_word(*checksum_type));
        let checksum = checksum.as_ref().map(|checksum| format!(" {checksum}")).unwrap_or_default();
        format!("{claim}/{format}/{type_} {name}{checksum}")
    }

    /// Reads what is written down for a claim. What is not one of ours, or of another claim, is none.
    #[must_use]
    pub fn parse(text: &str, claim: &str) -> Option<Self> {
        let (head, rest) = text.split_once(' ')?;
        let Some((of, given)) = head.split_once('/') else {
            return (head == claim).then(|| Self::named(rest.to_owned()));
        };
        let (format, type_) = given.split_once('/').filter(|_| of == claim)?;
        let (name, checksum) =
            rest.split_once(' ').map_or((rest, None), |(name, checksum)| (name, Some(checksum)));
        let given = Given {
            format: match format {
                NOTHING => None,
                word => Some(FORMATS.into_iter().find(|format| format_word(*format) == word)?),
            },
            checksum: checksum.map(str::to_owned),
            checksum_type: TYPES.into_iter().find(|one| type_word(*one) == type_)?,
        };
        Some(Self { name: name.to_owned(), given: Some(given) })
    }

    /// What an image that is asked for is to this one, which was written down.
    #[must_use]
    pub fn compared_to(&self, asked: &Self) -> Compared {
        if self.name != asked.name {
            return Compared::Another;
        }
        match (&self.given, &asked.given) {
            (Some(was), Some(is)) => was.compared_to(is),
            // It was written to a disk, and what is asked for is not.
            (Some(_), None) => Compared::Another,
            (None, None | Some(_)) => Compared::Same,
        }
    }
}

impl Given {
    /// Of what somebody wrote.
    #[must_use]
    pub fn of(details: &ImageDetails) -> Self {
        Self::new(details.format, details.checksum.as_deref(), details.checksum_type)
    }

    /// The same digest in other letters, or with its type beside it, is the same.
    fn new(format: Option<ImageFormat>, checksum: Option<&str>, checksum_type: ChecksumType) -> Self {
        let Some(checksum) = checksum else {
            return Self { format, checksum: None, checksum_type: ChecksumType::Auto };
        };
        let (checksum, checksum_type) = match disk_image::checksum(checksum, checksum_type) {
            Ok(Checksum::Digest(_, digest)) => (digest, ChecksumType::Auto),
            Ok(Checksum::File(url)) => (url, checksum_type),
            Err(_) => (checksum.to_owned(), checksum_type),
        };
        Self { format, checksum: Some(checksum), checksum_type }
    }

    fn compared_to(&self, asked: &Self) -> Compared {
        if self == asked {
            return Compared::Same;
        }
        let formats = self.format.zip(asked.format);
        let checksums = self.checksum.as_ref().zip(asked.checksum.as_ref());
        let differ =
            formats.is_some_and(|(was, is)| was != is) || checksums.is_some_and(|(was, is)| was != is);
        if differ { Compared::Another } else { Compared::MoreOrLess }
    }
}

const fn format_word(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Raw => "raw",
        ImageFormat::Qcow2 => "qcow2",
        ImageFormat::Iso => "iso",
        ImageFormat::Oci => "oci",
    }
}

const fn type_word(type_: ChecksumType) -> &'static str {
    match type_ {
        ChecksumType::Auto => NOTHING,
        ChecksumType::Md5 => "md5",
        ChecksumType::Sha256 => "sha256",
        ChecksumType::Sha512 => "sha512",
    }
}

#[cfg(test)]
#[path = "image_mark_tests.rs"]
mod tests;
