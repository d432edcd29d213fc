//! Packed images: gzip, xz and zstd, within a memory of known size.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use liblzma::{bufread::XzDecoder, stream::Stream};

use crate::fetching::FetchError;

/// Memory for xz: what `xz -8` needs. `-9` needs more, and gains nothing for most images.
const XZ_MEMORY: u64 = 40 << 20;
/// The window of zstd, as a power of two: 32 MiB. `zstd -19` needs 8 MiB, `--long` and `--ultra -22` 128 MiB.
const ZSTD_WINDOW: u32 = 25;

/// How an image is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// zstd.
    Zstd,
}

impl Compression {
    /// Recognises it by an image's first bytes.
    #[must_use]
    pub fn of(first: &[u8]) -> Option<Self> {
        match first {
            [0x1f, 0x8b, 0x08, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            // The second begins with a frame to be skipped.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// How many bytes come out, by an image's first bytes, where these say so, and by how many bytes the image has itself,
    /// where that is known.
    ///
    /// Another frame may follow, and then it is only the least that comes out. What shows that one does is no size at all.
    #[must_use]
    pub fn least_size(self, first: &[u8], packed: Option<u64>) -> Option<u64> {
        match self {
            Self::Gzip | Self::Xz => None,
            Self::Zstd => {
                // Of a frame to be skipped it says 0; and of an empty one, which is no image by itself.
                let size =
                    zstd::zstd_safe::get_frame_content_size(first).ok().flatten().filter(|size| *size > 0)?;
                let has_others = packed.is_some_and(|packed| packed > most_packed(size));
                (!has_others).then_some(size)
            }
        }
    }
}

/// How many bytes one frame of zstd has at most, if so many come out of it.
fn most_packed(size: u64) -> u64 {
    usize::try_from(size).map_or(u64::MAX, |size| zstd::zstd_safe::compress_bound(size) as u64)
}

/// An image that is unpacked while it is read.
pub enum Decoder<R: BufRead> {
    /// gzip: the member that is being read.
    Gzip(GzDecoder<R>),
    /// xz.
    Xz(XzDecoder<R>),
    /// zstd.
    Zstd(Box<zstd::Decoder<'static, R>>),
    /// All was unpacked: what is left is not part of the image.
    Ended(R),
    /// While one member follows another.
    Between,
}

impl<R: BufRead> Decoder<R> {
    /// Begins to unpack.
    ///
    /// # Errors
    /// There is too little memory.
    pub fn new(compression: Compression, from: R) -> io::Result<Self> {
        Ok(match compression {
            Compression::Gzip => Self::Gzip(GzDecoder::new(from)),
            Compression::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
                Self::Xz(XzDecoder::new_stream(from, stream))
            }
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(from)?;
                decoder.window_log_max(ZSTD_WINDOW)?;
                Self::Zstd(Box::new(decoder))
            }
        })
    }

    /// What it is read from.
    pub fn inner(&mut self) -> Option<&mut R> {
        match self {
            Self::Gzip(decoder) => Some(decoder.get_mut()),
            Self::Xz(decoder) => Some(decoder.get_mut()),
            Self::Zstd(decoder) => Some(decoder.get_mut()),
            Self::Ended(from) => Some(from),
            Self::Between => None,
        }
    }

    /// Goes on behind the end of a gzip member. As gzip itself does, what follows the last one and is none is left: some
    /// write zeros up to the next block there.
    fn next_member(&mut self) -> io::Result<()> {
        let mut from = match std::mem::replace(self, Self::Between) {
            Self::Gzip(decoder) => decoder.into_inner(),
            other @ (Self::Xz(_) | Self::Zstd(_) | Self::Ended(_) | Self::Between) => {
                *self = other;
                return Ok(());
            }
        };
        let is_member = from.fill_buf()?.first() == Some(&0x1f);
        *self = if is_member { Self::Gzip(GzDecoder::new(from)) } else { Self::Ended(from) };
        Ok(())
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Self::Gzip(decoder) => match decoder.read(bytes)? {
                    0 if !bytes.is_empty() => self.next_member()?,
                    count => return Ok(count),
                },
                Self::Xz(decoder) => return decoder.read(bytes).map_err(explain_xz),
                Self::Zstd(decoder) => return decoder.read(bytes).map_err(explain_zstd),
                Self::Ended(_) | Self::Between => return Ok(0),
            }
        }
    }
}

fn explain_xz(error: io::Error) -> io::Error {
    if FetchError::behind(&error).is_some() {
        return error;
    }
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<liblzma::stream::Error>());
    if inner == Some(&liblzma::stream::Error::MemLimit) {
        let most = XZ_MEMORY >> 20;
        return io::Error::other(format!(
            "unpacking xz needs more than {most} MiB: pack it with xz -8 or less"
        ));
    }
    io::Error::new(error.kind(), format!("xz: {error}"))
}

fn explain_zstd(error: io::Error) -> io::Error {
    if FetchError::behind(&error).is_some() {
        return error;
    }
    let text = error.to_string();
    if text.contains("too much memory") {
        let most = (1_u64 << ZSTD_WINDOW) >> 20;
        let why = format!(
            "unpacking zstd needs a window of more than {most} MiB: pack it without --long and --ultra"
        );
        return io::Error::other(why);
    }
    io::Error::new(error.kind(), format!("zstd: {text}"))
}

#[cfg(test)]
#[path = "compression_tests.rs"]
mod tests;
