//! Any bytes as the body of a BMC's answer, through everything that reads one.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| beskar7_redfish::fuzzing::resource(body));
