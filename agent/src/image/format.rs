//! What an image is, by its first bytes.

use beskar7_agent_protocol::order::ImageFormat;

use super::Compression;

/// What an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A disk byte by byte, as it is or packed.
    Raw(Option<Compression>),
    /// QEMU's.
    Qcow2,
}

const QCOW2: &[u8] = b"QFI\xfb";

/// Recognises an image by its first bytes, and compares that with what it was said to be.
///
/// # Errors
/// It is something else than it was said to be.
pub fn recognise(first: &[u8], said: ImageFormat) -> Result<Kind, String> {
    let is_qcow2 = first.starts_with(QCOW2);
    match said {
        ImageFormat::Qcow2 if !is_qcow2 => {
            Err("the image is no qcow2: set its format to what it is, or to auto".to_owned())
        }
        ImageFormat::Raw if is_qcow2 => {
            Err("the image is a qcow2, and its format says raw: set it to qcow2, or to auto".to_owned())
        }
        ImageFormat::Qcow2 | ImageFormat::Auto if is_qcow2 => Ok(Kind::Qcow2),
        ImageFormat::Raw | ImageFormat::Auto | ImageFormat::Qcow2 => Ok(Kind::Raw(Compression::of(first))),
    }
}

/// Looks at what is inside a packed image: a qcow2 can't be read from its beginning to its end.
///
/// # Errors
/// It is no disk byte by byte.
pub fn check_unpacked(first: &[u8]) -> Result<(), String> {
    if first.starts_with(QCOW2) {
        return Err("a qcow2 is inside a packed image: unpack it where it is served".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_what_its_first_bytes_say() {
        let gzip = Kind::Raw(Some(Compression::Gzip));
        for (first, said, expected) in [
            (&b"QFI\xfb\0\0\0\x03"[..], ImageFormat::Qcow2, Some(Kind::Qcow2)),
            (b"QFI\xfb\0\0\0\x03", ImageFormat::Auto, Some(Kind::Qcow2)),
            (b"QFI\xfb\0\0\0\x03", ImageFormat::Raw, None),
            (b"\xeb\x63\x90", ImageFormat::Qcow2, None),
            (b"\xeb\x63\x90", ImageFormat::Auto, Some(Kind::Raw(None))),
            (b"", ImageFormat::Raw, Some(Kind::Raw(None))),
            (b"\x1f\x8b\x08\0", ImageFormat::Raw, Some(gzip)),
            (b"\x1f\x8b\x08\0", ImageFormat::Auto, Some(gzip)),
            (b"\x1f\x8b\x08\0", ImageFormat::Qcow2, None),
            (b"\xfd7zXZ\0\0", ImageFormat::Raw, Some(Kind::Raw(Some(Compression::Xz)))),
            (b"\x28\xb5\x2f\xfd\0", ImageFormat::Raw, Some(Kind::Raw(Some(Compression::Zstd)))),
            (b"\x5a\x2a\x4d\x18\0", ImageFormat::Raw, Some(Kind::Raw(Some(Compression::Zstd)))),
        ] {
            assert_eq!(recognise(first, said).ok(), expected, "{first:?} {said:?}");
        }
        assert!(check_unpacked(b"QFI\xfb").is_err());
        assert!(check_unpacked(b"\xeb\x63").is_ok());
    }
}
