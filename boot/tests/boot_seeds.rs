//! The seeds of the fuzzer, and what it once found, go through what it calls: without it, in every run of the tests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use beskar7_boot::fuzzing;

fn each(target: &str, read: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 5, "{target} has {} seeds", files.len());
    for file in files {
        read(&fs::read(&file).unwrap());
    }
}

#[test]
fn dhcp() {
    each("dhcp", fuzzing::dhcp);
}

#[test]
fn tftp() {
    each("tftp", fuzzing::tftp);
}
