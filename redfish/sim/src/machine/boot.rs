//! What a machine boots from: the override and the firmware's choice.
//!
//! The names are Redfish's, because a BMC stores and shows what it was given.

use serde::Serialize;

/// How long an override holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum OverrideEnabled {
    /// Not at all.
    Disabled,
    /// For the next boot.
    Once,
    /// Until it is changed.
    Continuous,
}

impl OverrideEnabled {
    /// Reads the Redfish name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Disabled, Self::Once, Self::Continuous].into_iter().find(|e| e.name() == name)
    }

    /// The Redfish name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::Once => "Once",
            Self::Continuous => "Continuous",
        }
    }
}

/// What an override points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Target {
    /// Nothing.
    None,
    /// The network.
    Pxe,
    /// A floppy; nothing is ever in it here.
    Floppy,
    /// A CD, virtual ones included.
    Cd,
    /// A USB stick.
    Usb,
    /// A virtual CD that appears on USB.
    UsbCd,
    /// The disk.
    Hdd,
    /// The firmware's menu.
    BiosSetup,
    /// A URL given in `HttpBootUri`.
    UefiHttp,
    /// A device path given in `UefiTargetBootSourceOverride`.
    UefiTarget,
    /// Diagnostics of the vendor.
    Diags,
    /// Utilities of the vendor.
    Utilities,
    /// An SD card; nothing is ever in it here.
    SDCard,
}

const TARGETS: [Target; 13] = [
    Target::None,
    Target::Pxe,
    Target::Floppy,
    Target::Cd,
    Target::Usb,
    Target::UsbCd,
    Target::Hdd,
    Target::BiosSetup,
    Target::UefiHttp,
    Target::UefiTarget,
    Target::Diags,
    Target::Utilities,
    Target::SDCard,
];

impl Target {
    /// Reads the Redfish name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|t| t.name() == name)
    }

    /// The Redfish name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Pxe => "Pxe",
            Self::Floppy => "Floppy",
            Self::Cd => "Cd",
            Self::Usb => "Usb",
            Self::UsbCd => "UsbCd",
            Self::Hdd => "Hdd",
            Self::BiosSetup => "BiosSetup",
            Self::UefiHttp => "UefiHttp",
            Self::UefiTarget => "UefiTarget",
            Self::Diags => "Diags",
            Self::Utilities => "Utilities",
            Self::SDCard => "SDCard",
        }
    }
}

/// The boot override as a BMC keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Override {
    /// How long it holds.
    pub enabled: OverrideEnabled,
    /// What it points at.
    pub target: Target,
    /// `UEFI` or `Legacy`.
    pub mode: String,
    /// A device path, for [`Target::UefiTarget`].
    pub uefi_target: Option<String>,
    /// A URL, for [`Target::UefiHttp`].
    pub http_uri: Option<String>,
    /// Whether the firmware will listen; the fault "ignored override" takes it away.
    pub obeyed: bool,
}

impl Default for Override {
    fn default() -> Self {
        Self {
            enabled: OverrideEnabled::Disabled,
            target: Target::None,
            mode: "UEFI".to_owned(),
            uefi_target: None,
            http_uri: None,
            obeyed: true,
        }
    }
}

/// The loaders that removable media have for their architectures, as the UEFI specification names them.
const REMOVABLE_LOADERS: [&str; 2] = [r"\EFI\BOOT\BOOTX64.EFI", r"\EFI\BOOT\BOOTAA64.EFI"];

/// Whether a device path is that of a loader of removable media, with or without arguments.
pub(super) fn is_removable_loader(path: &str) -> bool {
    let file = path.split(' ').next().unwrap_or_default();
    REMOVABLE_LOADERS.iter().any(|loader| loader.eq_ignore_ascii_case(file))
}

/// What the firmware starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "camelCase")]
pub enum BootSource {
    /// An image in a virtual media slot.
    Media {
        /// The slot's id.
        slot: String,
        /// The image's URL.
        image: String,
    },
    /// A URL.
    Http {
        /// The URL.
        uri: String,
    },
    /// A file of an image in a virtual media slot.
    MediaFile {
        /// The slot's id.
        slot: String,
        /// The image's URL.
        image: String,
        /// The file's path, arguments included.
        path: String,
    },
    /// A device path.
    DevicePath {
        /// The path, arguments included.
        path: String,
    },
    /// The disk.
    Disk {
        /// What was installed on it.
        installed: String,
    },
    /// The network: DHCP and what follows.
    Network,
    /// The firmware's menu, vendor tools: no operating system.
    Setup,
}

impl BootSource {
    /// The URL that the firmware reads itself, if there is one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Media { image, .. } | Self::MediaFile { image, .. } => Some(image),
            Self::Http { uri } => Some(uri),
            Self::DevicePath { .. } | Self::Disk { .. } | Self::Network | Self::Setup => None,
        }
    }
}
