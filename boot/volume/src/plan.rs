//! What a volume is written of, before a byte of its files was read.

use std::io::{self, Write};

use bytes::Bytes;

/// Zeros that are written as often as needed.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A file that a volume will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path in the volume, with or without a slash in front.
    pub path: &'a str,
    /// How many bytes it has.
    pub length: u64,
}

/// A part of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// These bytes.
    Bytes(Bytes),
    /// All of a file: its place among the entries that the volume was planned from.
    File(usize),
    /// So many zeros.
    Zeros(u64),
}

/// A volume, part by part, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    parts: Vec<Part>,
    files: Vec<u64>,
}

impl Plan {
    /// Nothing yet. The files are those that it is made from.
    pub(crate) fn new(files: &[Entry<'_>]) -> Self {
        Self { parts: Vec::new(), files: files.iter().map(|file| file.length).collect() }
    }

    pub(crate) fn bytes(&mut self, bytes: impl Into<Bytes>) {
        self.parts.push(Part::Bytes(bytes.into()));
    }

    pub(crate) fn zeros(&mut self, count: u64) {
        if count > 0 {
            self.parts.push(Part::Zeros(count));
        }
    }

    /// A file, and zeros up to a multiple of so many bytes.
    pub(crate) fn file(&mut self, number: usize, multiple: u64) {
        let length = self.file_length(number);
        self.parts.push(Part::File(number));
        self.zeros(length.next_multiple_of(multiple) - length);
    }

    fn file_length(&self, number: usize) -> u64 {
        self.files.get(number).copied().unwrap_or_default()
    }

    /// The parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many bytes it has.
    #[must_use]
    pub fn length(&self) -> u64 {
        let length = |part: &Part| match part {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::File(number) => self.file_length(*number),
            Part::Zeros(count) => *count,
        };
        self.parts.iter().map(length).sum()
    }

    /// Writes it; `file` writes the file of a number, and says how many bytes that were.
    ///
    /// # Errors
    /// It can't be written, or a file is not as long as it was said to be.
    pub fn write<W: Write>(
        &self,
        to: &mut W,
        mut file: impl FnMut(usize, &mut W) -> io::Result<u64>,
    ) -> io::Result<()> {
        for part in &self.parts {
            match part {
                Part::Bytes(bytes) => to.write_all(bytes)?,
                Part::Zeros(count) => write_zeros(to, *count)?,
                Part::File(number) => {
                    let (written, planned) = (file(*number, to)?, self.file_length(*number));
                    if written != planned {
                        return Err(io::Error::other(format!(
                            "file {number} of a volume has {written} bytes, and {planned} were planned: it was changed \
                             meanwhile"
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}

fn write_zeros(to: &mut impl Write, count: u64) -> io::Result<()> {
    let mut left = count;
    while left > 0 {
        let some = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        to.write_all(ZEROS.get(..some).unwrap_or(&ZEROS))?;
        left -= some as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let mut plan = Plan::new(&[Entry { path: "a", length: 3 }, Entry { path: "b", length: 8 }]);
        plan.bytes("head");
        plan.file(1, 8);
        plan.file(0, 8);
        plan.zeros(100_000);
        plan
    }

    #[test]
    fn it_is_written_in_order_and_as_long_as_it_says() {
        let plan = plan();
        let mut written = Vec::new();
        let contents: [&[u8]; 2] = [b"aaa", b"bbbbbbbb"];
        plan.write(&mut written, |number, to| {
            to.extend_from_slice(contents[number]);
            Ok(contents[number].len() as u64)
        })
        .unwrap();
        assert!(written.starts_with(b"headbbbbbbbbaaa\0\0\0\0\0\0"));
        assert_eq!((written.len(), plan.length()), (100_020, 100_020));
    }

    #[test]
    fn a_file_of_another_length_than_planned_is_an_error() {
        let error = plan().write(&mut Vec::new(), |_, _| Ok(7)).unwrap_err();
        assert!(error.to_string().contains("7 bytes, and 8 were planned"), "{error}");
    }
}
