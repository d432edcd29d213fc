//! Any bytes as an address, as a path that a BMC names, and as its headers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beskar7_redfish::fuzzing::texts(bytes));
