//! The smallest agent there is: a static program that says a word and turns the machine off.

/// Where it is loaded.
const ADDRESS: u64 = 0x40_0000;
/// The two headers before the code.
const HEADERS: u64 = 64 + 56;

/// A program for x86-64 that writes a line to its output, waits until it is sent, and turns the machine off.
pub fn saying(word: &str) -> Vec<u8> {
    let line = format!("{word}\n");
    let length = u32::try_from(line.len()).unwrap();
    let call = [0x0F, 0x05];
    // write(1, line, length); where the line is comes last, when the code's length is known.
    let write = [&[0xB8, 1, 0, 0, 0, 0xBF, 1, 0, 0, 0, 0xBA][..], &length.to_le_bytes(), &[0x48, 0x8D, 0x35]]
        .concat();
    // ioctl(1, TCSBRK, 1): what was written to a serial port is on its way for a while.
    let drain = [&[0xB8, 16, 0, 0, 0, 0xBF, 1, 0, 0, 0, 0xBE, 0x09, 0x54, 0, 0, 0xBA, 1, 0, 0, 0][..], &call]
        .concat();
    // reboot(magic, magic, power off, nothing), and for ever nothing where that is refused.
    let off = [
        &[0xB8, 169, 0, 0, 0, 0xBF][..],
        &0xFEE1_DEAD_u32.to_le_bytes(),
        &[0xBE],
        &0x2812_1969_u32.to_le_bytes(),
        &[0xBA],
        &0x4321_FEDC_u32.to_le_bytes(),
        &[0x45, 0x31, 0xD2],
        &call,
        &[0xEB, 0xFE],
    ]
    .concat();
    let behind = [&call[..], &drain, &off].concat();
    let to_line = u32::try_from(behind.len()).unwrap().to_le_bytes();
    let code = [&write[..], &to_line, &behind, line.as_bytes()].concat();
    [headers(code.len() as u64), code].concat()
}

/// The headers of an ELF program of one segment.
fn headers(code: u64) -> Vec<u8> {
    let mut headers = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // A program for x86-64, version 1.
    headers.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for number in [ADDRESS + HEADERS, 64, 0] {
        headers.extend(number.to_le_bytes());
    }
    // No flags; the lengths of the headers; one segment and no sections.
    headers.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    // It is loaded, to be read and run.
    headers.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for number in [0, ADDRESS, ADDRESS, HEADERS + code, HEADERS + code, 0x1000] {
        headers.extend(number.to_le_bytes());
    }
    headers
}
