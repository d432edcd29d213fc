//! Any bytes as a DHCP message, and its answer in every mode.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beskar7_boot::fuzzing::dhcp(bytes));
