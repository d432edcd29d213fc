//! Bytes that can be read from anywhere: an image behind a URL, one that is presented with changes, one in memory.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};

/// What a read gives, piece by piece.
pub type Chunks = BoxStream<'static, Result<Bytes, SourceError>>;

/// Why bytes can't be read. The text may be shown to people: no capability, no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It is not what it was when it was opened.
    #[error(
        "{0} has changed since it was opened: what was read of it before must not be mixed with what it is now"
    )]
    Changed(String),
    /// It did not answer as it should.
    #[error("{what} can't be read: {why}")]
    Unreadable {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// There are not so many bytes.
    #[error("bytes {start} to {end} were asked for, and there are {length}")]
    OutOfRange {
        /// The first.
        start: u64,
        /// Behind the last.
        end: u64,
        /// How many there are.
        length: u64,
    },
}

/// Bytes that can be read from anywhere.
pub trait Source: Send + Sync + 'static {
    /// How many there are.
    fn length(&self) -> u64;

    /// The bytes of a range, in order. Fewer come only before an error, which is the last item; more never.
    fn stream(&self, range: Range<u64>) -> Chunks;
}

/// Reads a range into memory: for the small parts that are looked at, never for whole images.
///
/// # Errors
/// It can't be read.
pub async fn read(source: &dyn Source, range: Range<u64>) -> Result<Bytes, SourceError> {
    let chunks = source.stream(range);
    let collected = chunks.try_fold(BytesMut::new(), |mut all, chunk| async move {
        all.extend_from_slice(&chunk);
        Ok(all)
    });
    collected.await.map(BytesMut::freeze)
}

/// Whether a range is within a source.
///
/// # Errors
/// It is not.
pub fn check(range: &Range<u64>, length: u64) -> Result<(), SourceError> {
    if range.start <= range.end && range.end <= length {
        return Ok(());
    }
    Err(SourceError::OutOfRange { start: range.start, end: range.end, length })
}

/// What tells a content from any other: 16 hexadecimal digits of a hash over its parts, each with its length.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> String {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    context.finish().as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes in memory.
impl Source for Bytes {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn stream(&self, range: Range<u64>) -> Chunks {
        let slice = check(&range, self.length()).and_then(|()| {
            let ends = (usize::try_from(range.start), usize::try_from(range.end));
            let (Ok(start), Ok(end)) = ends else {
                return Err(SourceError::OutOfRange {
                    start: range.start,
                    end: range.end,
                    length: self.length(),
                });
            };
            Ok(self.slice(start..end))
        });
        stream::once(async { slice }).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_parts_have_another_digest() {
        assert_eq!(digest(&[b"ab", b"c"]).len(), 16);
        assert_eq!(digest(&[b"ab", b"c"]), digest(&[b"ab", b"c"]));
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
    }

    #[tokio::test]
    async fn memory_gives_what_is_in_it_and_no_more() {
        let bytes = Bytes::from_static(b"0123456789");
        assert_eq!(read(&bytes, 2..5).await.unwrap(), "234");
        assert_eq!(read(&bytes, 10..10).await.unwrap(), "");
        let reversed = Range { start: 5, end: 2 };
        for range in [9..11, reversed, 11..11] {
            let error = read(&bytes, range).await.unwrap_err();
            assert!(matches!(error, SourceError::OutOfRange { length: 10, .. }), "{error}");
        }
    }
}
