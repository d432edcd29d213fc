//! Why an image can't be presented with changes.

use crate::source::SourceError;

/// What else there is when an image can't be changed.
const OTHER_WAYS: &str = "use an image that has its parameters built in with provisioningMode PreBakedISO, deliver the configuration on a second virtual medium (spec.configVolume), or set bootParameterMechanism UefiTarget on hosts whose firmware passes parameters on";

/// Why an image can't be presented with changes. No kernel parameter is in the text: it may carry a capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverlayError {
    /// It can't be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is something else.
    #[error("the image is no ISO 9660 file system: {0}")]
    NotIso(&'static str),
    /// It says things about itself that can't be.
    #[error("the image is damaged, or not made as such images are: {0}")]
    Damaged(String),
    /// More would have to be read or kept than an image of this kind needs.
    #[error("the image has too much of what boot loaders read: {what} (at most {most})")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much is taken.
        most: u64,
    },
    /// No boot loader configuration was found in it.
    #[error(
        "no boot loader configuration with a kernel line was found in the image (GRUB, isolinux, systemd-boot; in the image and in its EFI system partition): {ways}",
        ways = OTHER_WAYS
    )]
    NothingToChange,
    /// Firmware starts the kernel itself.
    #[error(
        "in UEFI mode firmware itself starts the unified kernel image {0}, whose command line is inside it: {ways}",
        ways = OTHER_WAYS
    )]
    UnifiedKernel(String),
    /// The EFI system partition in the image can't take what has to be added.
    #[error("the EFI system partition in the image can't be made larger: {0}; {ways}", ways = OTHER_WAYS)]
    Full(String),
    /// The whole would be larger than ISO 9660 can say.
    #[error("the image is larger than ISO 9660 can describe: 8 TiB at most")]
    TooLarge,
    /// A boot loader would hand a parameter over in another form.
    #[error(
        "GRUB can't hand over the kernel parameter {name:?} as it is: it puts a backslash before every backslash and quote; write it without them (double quotes around a whole value are fine)"
    )]
    Argument {
        /// Its name, without its value.
        name: String,
    },
}

/// Says what is wrong with it.
pub(super) fn damaged(what: impl Into<String>) -> OverlayError {
    OverlayError::Damaged(what.into())
}
