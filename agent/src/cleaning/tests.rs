mod erasing;
mod fake;
mod files;
mod full;
mod metadata;
mod together;

use std::{collections::BTreeMap, sync::Mutex};

use beskar7_agent_protocol::{
    hardware::{Disk, DiskKind},
    order::Thoroughness,
    report::{CleanedDisk, Progress},
};

use self::fake::{Fake, Fakes};
use super::{clean, spans::Span};
use crate::telling::{Problem, Telling};

const MIB: u64 = 1024 * 1024;

/// Keeps what it is told.
#[derive(Default)]
struct Listener {
    lines: Mutex<Vec<String>>,
    steps: Mutex<Vec<Progress>>,
    unwanted: bool,
}

impl Telling for Listener {
    fn progress(&self, progress: Progress) {
        self.steps.lock().unwrap().push(progress);
    }

    fn log(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }

    fn is_unwanted(&self) -> bool {
        self.unwanted
    }
}

impl Listener {
    fn log_text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

fn disk(path: &str, size: u64) -> Disk {
    Disk { path: path.into(), size_bytes: size, kind: DiskKind::Ssd, sector_bytes: 512, ..Disk::default() }
}

/// Wipes one disk, `/dev/sda`.
fn wipe(fake: &Fake, how: Thoroughness, partitions: &[Span]) -> (Result<CleanedDisk, Problem>, Listener) {
    let fakes = Fakes {
        disks: BTreeMap::from([("/dev/sda".to_owned(), fake.clone())]),
        partitions: partitions.to_vec(),
    };
    let listener = Listener::default();
    let size = fake.state().content.len() as u64;
    let outcome = clean(&[disk("/dev/sda", size)], how, &fakes, &listener);
    (outcome.map(|mut disks| disks.remove(0)), listener)
}
