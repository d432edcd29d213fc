//! Lists of checksums in the image, by which installers check what they were started from.
//!
//! A checksum is as long as the one that takes its place: it is written over, and the list stays where it is.

use std::collections::BTreeMap;

use md5::{Digest as _, Md5};

use super::{error::OverlayError, reader::Reader};

/// The lists that installers know.
const LISTS: [&str; 3] = ["md5sum.txt", "md5sums.txt", "sha256sum.txt"];
/// The list of a DVD with all packages has about a megabyte.
const LARGEST: u64 = 8 * 1024 * 1024;

/// How a checksum is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// MD5, 32 digits.
    Md5,
    /// SHA-256, 64 digits.
    Sha256,
}

/// A checksum in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// Where its digits are in the image.
    pub at: u64,
    algorithm: Algorithm,
}

impl Checksum {
    /// The digits for other content.
    pub fn of(&self, content: &[u8]) -> String {
        let bytes = match self.algorithm {
            Algorithm::Md5 => Md5::digest(content).to_vec(),
            Algorithm::Sha256 => ring::digest::digest(&ring::digest::SHA256, content).as_ref().to_vec(),
        };
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Whether a file at the top of an image is such a list.
pub fn is_list(path: &str) -> bool {
    LISTS.contains(&path.to_lowercase().as_str())
}

/// The checksums in a list, by path in lower case without `./`: some trees have no others. A list that is too long is
/// not read: what it checks is not what boots.
///
/// # Errors
/// The image can't be read.
pub async fn read(
    reader: &mut Reader<'_>,
    start: u64,
    length: u64,
    wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Checksum>, OverlayError> {
    if length > LARGEST {
        return Ok(BTreeMap::new());
    }
    let text = reader.read(start, length).await?;
    let mut found = BTreeMap::new();
    let mut at = start;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if let Some((path, checksum)) = parse(line, at).filter(|(path, _)| wanted(path)) {
            found.insert(path, checksum);
        }
        at += line.len() as u64;
    }
    Ok(found)
}

/// A line is `<digits>  ./path`, or `<digits> *path`.
fn parse(line: &[u8], at: u64) -> Option<(String, Checksum)> {
    let line = str::from_utf8(line).ok()?;
    let (digits, path) = line.split_once(' ')?;
    let algorithm = match digits.len() {
        32 => Algorithm::Md5,
        64 => Algorithm::Sha256,
        _ => return None,
    };
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let path = path.trim().trim_start_matches('*').trim_start_matches("./").trim_start_matches('/');
    Some((path.to_lowercase(), Checksum { at, algorithm }))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[tokio::test]
    async fn checksums_are_found_where_they_are_written() {
        let text = "d41d8cd98f00b204e9800998ecf8427e  ./boot/grub/grub.cfg\n\
                    d41d8cd98f00b204e9800998ecf8427e *Isolinux/TXT.cfg\n\
                    # a comment\n\
                    e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  ./a\r\n\
                    d41d8cd98f00b204e9800998ecf8427e  ./pool/x.deb";
        let image = Bytes::from(format!("....{text}"));
        let mut reader = Reader::new(&image);
        let found = read(&mut reader, 4, text.len() as u64, |path| !path.starts_with("pool")).await.unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "boot/grub/grub.cfg", "isolinux/txt.cfg"]);
        for (path, content, expected) in [
            ("boot/grub/grub.cfg", "", "d41d8cd98f00b204e9800998ecf8427e"),
            ("isolinux/txt.cfg", "abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("a", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ] {
            let checksum = &found[path];
            assert_eq!(checksum.of(content.as_bytes()), expected);
            let at = usize::try_from(checksum.at).unwrap();
            assert_eq!(image[at + expected.len()], b' ', "{path}");
            assert!(at == 4 || image[at - 1] == b'\n', "{path}");
        }
    }
}
