//! What the agent is told to do.

use serde::{Deserialize, Serialize};

/// One thing to do.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Reports name it. The same order again, after a restart, has the same one.
    pub id: String,
    /// The SMBIOS UUID of the machine that it is for, where that is known. Another one leaves it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// What is to be done.
    #[serde(flatten)]
    pub task: Task,
}

/// What is to be done.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(tag = "task", rename_all = "camelCase")]
pub enum Task {
    /// Say what the machine is made of.
    Inspect,
    /// Wipe all disks.
    Clean(Clean),
    /// Write an image to a disk.
    Install(Box<Install>),
    /// Start the machine anew.
    Reboot,
    /// Turn it off.
    PowerOff,
}

/// How disks are wiped.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Clean {
    /// How thoroughly.
    pub how: Thoroughness,
}

/// How thoroughly disks are wiped.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Thoroughness {
    /// Partition tables and the signatures of file systems.
    Metadata,
    /// Every block: by the disk itself where it can (secure erase, format), else by writing over it.
    Full,
}

/// What is installed, and where.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Install {
    /// The image.
    pub image: Image,
    /// The disk that it goes to: the smallest that fits.
    #[serde(default)]
    pub disk: DiskHints,
    /// What the installed system is configured by, if by anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Configuration>,
}

/// An image of a whole disk.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Where it is, below the machine's URL, or a whole URL.
    pub path: String,
    /// What it is.
    pub format: ImageFormat,
    /// Of the bytes as they are fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<Checksum>,
}

/// What an image is.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum ImageFormat {
    /// A disk byte by byte; gzip, xz and zstd are recognised by their first bytes.
    Raw,
    /// QEMU's.
    Qcow2,
    /// Either, told by its first bytes.
    Auto,
}

/// What an image's bytes must come to.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Checksum {
    /// How it is computed.
    pub algorithm: Algorithm,
    /// What comes out, in hex.
    pub digest: String,
}

/// How a checksum is computed.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// MD5: against accidents only.
    Md5,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// A volume with the installed system's configuration, which gets a partition of its own at the end of the disk.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// Where the volume is, below the machine's URL: a small file system with the label that the system looks for.
    pub path: String,
    /// Its label, which the partition gets as well: cidata or config-2.
    pub label: String,
}

/// Which disk. All hints that are given must fit.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DiskHints {
    /// The device's path: `/dev/nvme0n1`, or a link below `/dev/disk/by-path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The SCSI address: `0:0:0:0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hctl: Option<String>,
    /// A part of the model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A part of the vendor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// The serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// The World Wide Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// The least size, in GB (10⁹ bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_size_gigabytes: Option<u64>,
    /// Whether it spins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_reads_as_it_is_documented() {
        for (text, task) in [
            (r#"{"id":"1","task":"inspect"}"#, Task::Inspect),
            (
                r#"{"id":"1","task":"clean","how":"metadata"}"#,
                Task::Clean(Clean { how: Thoroughness::Metadata }),
            ),
            (
                r#"{"id":"1","task":"install","image":{"path":"image","format":"qcow2","checksum":{"algorithm":"sha256","digest":"00"}},"disk":{"minSizeGigabytes":8},"configuration":{"path":"cidata.iso","label":"cidata"}}"#,
                Task::Install(Box::new(Install {
                    image: Image {
                        path: "image".into(),
                        format: ImageFormat::Qcow2,
                        checksum: Some(Checksum { algorithm: Algorithm::Sha256, digest: "00".into() }),
                    },
                    disk: DiskHints { min_size_gigabytes: Some(8), ..DiskHints::default() },
                    configuration: Some(Configuration { path: "cidata.iso".into(), label: "cidata".into() }),
                })),
            ),
            (r#"{"id":"1","task":"powerOff"}"#, Task::PowerOff),
        ] {
            let order = Order { id: "1".into(), machine: None, task };
            assert_eq!(serde_json::to_string(&order).unwrap(), text);
            assert_eq!(serde_json::from_str::<Order>(text).unwrap(), order);
        }
        let text = r#"{"id":"1","machine":"4c4c4544-0035-3410-8050-c6c04f314733","task":"inspect"}"#;
        let machine = Some("4c4c4544-0035-3410-8050-c6c04f314733".to_owned());
        let order = Order { id: "1".into(), machine, task: Task::Inspect };
        assert_eq!(serde_json::to_string(&order).unwrap(), text);
        assert_eq!(serde_json::from_str::<Order>(text).unwrap(), order);
    }
}
