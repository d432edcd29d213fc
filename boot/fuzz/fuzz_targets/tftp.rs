//! Any bytes as the messages of a TFTP client, and what a transfer sends it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beskar7_boot::fuzzing::tftp(bytes));
