//! Files that list the checksums of others, as publishers put them beside their images.

use super::digest::{Algorithm, Digest};

/// Why a file gives no checksum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// There is none in it.
    #[error("it lists no checksum of the kind that is wanted: md5, sha256 and sha512 are known")]
    None,
    /// There are several, and none is of the image.
    #[error("it lists {0} checksums, and none of a file that is called {1}")]
    OfOthers(usize, String),
    /// There are several of the image.
    #[error("it lists different checksums of {0}: say by checksumType which is meant, or correct the file")]
    Several(String),
}

/// The checksum of a file in a list of them: `<hex>  <name>` or `<hex> *<name>` in each line, `SHA256 (<name>) = <hex>`,
/// or nothing but the checksum. The only one that there is is meant, whatever name stands beside it.
///
/// # Errors
/// There is none, or it can't be told which is meant.
pub fn find(text: &str, file: &str, wanted: Option<Algorithm>) -> Result<Digest, ChecksumError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut all: Vec<(Digest, Option<&str>)> = lines.filter_map(entry).collect();
    all.retain(|(digest, _)| wanted.is_none_or(|wanted| digest.algorithm() == wanted));
    let count = all.len();
    if count > 1 {
        all.retain(|(_, name)| name.is_some_and(|name| base(name) == file));
        all.dedup_by(|one, other| one.0 == other.0);
    }
    let mut found = all.into_iter().map(|(digest, _)| digest);
    match (found.next(), found.next()) {
        (Some(digest), None) => Ok(digest),
        (Some(_), Some(_)) => Err(ChecksumError::Several(file.to_owned())),
        (None, _) if count == 0 => Err(ChecksumError::None),
        (None, _) => Err(ChecksumError::OfOthers(count, file.to_owned())),
    }
}

fn entry(line: &str) -> Option<(Digest, Option<&str>)> {
    if let Some((before, hex)) = line.rsplit_once(" = ") {
        let name = before.split_once('(').and_then(|(_, name)| name.strip_suffix(')'));
        return Digest::of_hex(hex.trim()).map(|digest| (digest, name));
    }
    let (hex, name) = match line.split_once(char::is_whitespace) {
        Some((hex, name)) => (hex, Some(name.trim_start().trim_start_matches('*'))),
        None => (line, None),
    };
    Digest::of_hex(hex).map(|digest| (digest, name))
}

/// The name of a file without where it is.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_found_in_what_publishers_write() {
        let (one, two) = ("a".repeat(64), "b".repeat(64));
        let (md5, sha512) = ("c".repeat(32), "d".repeat(128));
        for (text, wanted, expected) in [
            (one.clone(), None, &one),
            (format!("{md5}\n"), None, &md5),
            (format!("{one}  img.qcow2\n"), None, &one),
            (format!("{}  another.qcow2\n", one.to_uppercase()), None, &one),
            (format!("{one}  other.raw\n{two} *./images/img.qcow2\n"), None, &two),
            (format!("# of today\nSHA256 (other.raw) = {one}\nSHA256 (img.qcow2) = {two}\n"), None, &two),
            (format!("{one}  img.qcow2\n{one}  img.qcow2\n"), None, &one),
            (format!("{sha512}  img.qcow2\n{one}  img.qcow2\n"), Some(Algorithm::Sha256), &one),
            (format!("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n{one}  img.qcow2\n"), None, &one),
        ] {
            let found = find(&text, "img.qcow2", wanted).unwrap();
            assert_eq!(found.hex(), expected, "{text}");
        }
    }

    #[test]
    fn what_leaves_a_choice_is_no_checksum() {
        let (one, two) = ("a".repeat(64), "b".repeat(64));
        for (text, wanted, expected) in [
            (String::new(), None, ChecksumError::None),
            ("<html>not found</html>".to_owned(), None, ChecksumError::None),
            (one.clone(), Some(Algorithm::Md5), ChecksumError::None),
            (format!("{one}  a\n{two}  b\n"), None, ChecksumError::OfOthers(2, "img".to_owned())),
            (format!("{one}\n{two}\n"), None, ChecksumError::OfOthers(2, "img".to_owned())),
            (format!("{one}  img\n{two}  img\n"), None, ChecksumError::Several("img".to_owned())),
        ] {
            assert_eq!(find(&text, "img", wanted), Err(expected), "{text}");
        }
    }
}
