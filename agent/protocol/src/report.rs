//! What the agent says while it works, and when it is done.

use serde::{Deserialize, Serialize};

use crate::hardware::{Inventory, PciDevice};

/// So many lines of a log go with one report, and so many are taken.
pub const MOST_LINES: usize = 100;
/// So many bytes of a line, too: the kernel refuses a line of its log that is longer than about a thousand.
pub const LONGEST_LINE: usize = 900;

/// How far an order is.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The order's id.
    pub order: String,
    /// The SMBIOS UUID of the machine that says it, where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: State,
    /// What the agent has logged since its last report, oldest first; at most [`MOST_LINES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

/// Where an order stands.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum State {
    /// It is being carried out.
    Running(Progress),
    /// It was carried out.
    Done(Outcome),
    /// It was not, and trying the same again is of no use before something is changed.
    Failed(Failure),
}

/// How far it is.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// What is done just now: "writing", "wiping".
    pub step: String,
    /// With which disk, if with one: `/dev/sda`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Bytes that are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// Bytes in all, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// What came of it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// What the machine is made of.
    Inspected(Box<Inventory>),
    /// What became of the disks.
    Cleaned(Cleaned),
    /// Where the image is.
    Installed(Installed),
    /// The machine goes down now.
    GoingDown,
}

/// What a wiping came to.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(from = "CleanedForm", into = "CleanedForm")]
pub struct Cleaned {
    /// What became of each disk that was seen.
    pub disks: Vec<CleanedDisk>,
    /// Storage controllers that nothing in the agent's ramdisk drives: what is behind them was neither seen nor wiped.
    pub undriven: Vec<PciDevice>,
}

/// As it is written: a list of disks, as it was before controllers were told, unless there are some. Who knows the list only
/// can't read the other form, and calls nothing clean by it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CleanedForm {
    Disks(Vec<CleanedDisk>),
    More {
        #[serde(default)]
        disks: Vec<CleanedDisk>,
        #[serde(default)]
        undriven: Vec<PciDevice>,
    },
}

impl From<CleanedForm> for Cleaned {
    fn from(form: CleanedForm) -> Self {
        match form {
            CleanedForm::Disks(disks) => Self { disks, undriven: Vec::new() },
            CleanedForm::More { disks, undriven } => Self { disks, undriven },
        }
    }
}

impl From<Cleaned> for CleanedForm {
    fn from(Cleaned { disks, undriven }: Cleaned) -> Self {
        if undriven.is_empty() { Self::Disks(disks) } else { Self::More { disks, undriven } }
    }
}

/// A disk that was wiped.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CleanedDisk {
    /// Its path: `/dev/sda`.
    pub disk: String,
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// How it was wiped.
    pub method: Wiping,
}

/// How a disk was wiped.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Wiping {
    /// Its partition tables and signatures were written over.
    Metadata,
    /// The disk erased itself, by NVMe's format with secure erase, or sanitize.
    Nvme,
    /// The disk erased itself, by ATA's security commands.
    Ata,
    /// Every block was discarded, and reads as zeros.
    Discarded,
    /// Every block was written over with zeros.
    Overwritten,
}

/// An image that was installed.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    /// The disk's path: `/dev/sda`.
    pub disk: String,
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// Bytes that were written.
    pub written: u64,
    /// Whether the image's bytes were compared with a checksum.
    pub verified: bool,
    /// The entry that firmware starts it by, where one was written: `Boot0007`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_entry: Option<String>,
}

/// Why it was not done.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// In which step: "writing".
    pub step: String,
    /// With which disk, if with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// What happened, and what to do.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_as_it_is_documented() {
        let running =
            Progress { step: "writing".into(), disk: Some("/dev/vda".into()), done: Some(5), total: Some(9) };
        let disk = CleanedDisk { disk: "/dev/vda".into(), serial_number: None, method: Wiping::Nvme };
        let controller = PciDevice {
            address: "0000:02:00.0".into(),
            vendor: "1000".into(),
            device: "0097".into(),
            class: "010700".into(),
        };
        for (text, state) in [
            (
                r#"{"order":"1","state":"running","step":"writing","disk":"/dev/vda","done":5,"total":9}"#,
                State::Running(running),
            ),
            (
                r#"{"order":"1","state":"failed","step":"verifying","message":"why"}"#,
                State::Failed(Failure { step: "verifying".into(), disk: None, message: "why".into() }),
            ),
            (
                r#"{"order":"1","state":"done","installed":{"disk":"/dev/vda","written":7,"verified":true}}"#,
                State::Done(Outcome::Installed(Installed {
                    disk: "/dev/vda".into(),
                    serial_number: None,
                    written: 7,
                    verified: true,
                    boot_entry: None,
                })),
            ),
            (
                r#"{"order":"1","state":"done","cleaned":[{"disk":"/dev/vda","method":"nvme"}]}"#,
                State::Done(Outcome::Cleaned(Cleaned { disks: vec![disk.clone()], undriven: Vec::new() })),
            ),
            (
                concat!(
                    r#"{"order":"1","state":"done","cleaned":{"disks":[{"disk":"/dev/vda","method":"nvme"}],"#,
                    r#""undriven":[{"address":"0000:02:00.0","vendor":"1000","device":"0097","class":"010700"}]}}"#,
                ),
                State::Done(Outcome::Cleaned(Cleaned { disks: vec![disk], undriven: vec![controller] })),
            ),
        ] {
            let report = Report { order: "1".into(), machine: None, state, log: Vec::new() };
            assert_eq!(serde_json::to_string(&report).unwrap(), text);
            assert_eq!(serde_json::from_str::<Report>(text).unwrap(), report);
        }
    }
}
