//! What tests need: files to be fetched, disks in memory, somebody to be told, images.

mod disk;
pub mod images;
mod network;
pub mod qcow2;

pub use self::{
    disk::Memory,
    network::{Files, Told},
};

use std::{path::Path, process::Command};

/// Bytes without a pattern, but the same each time.
pub fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

/// Whether a program is there. A test that needs another says that it was skipped.
pub fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<_> = std::env::split_paths(&paths).collect();
    places.extend(["/sbin".into(), "/usr/sbin".into()]);
    places.iter().any(|place| place.join(program).exists())
}

/// Runs a program in a directory, and gives what it says.
pub fn run(place: &Path, line: &[&str]) -> String {
    let paths = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(line[0]);
    command.args(&line[1..]).current_dir(place).env("PATH", format!("{paths}:/usr/sbin:/sbin"));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line:?}: {text}{errors}");
    text
}
