//! The presented image: pieces of the original and bytes in memory, in order.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt as _, future, stream};

use super::assembly::{Piece, What, slice};
use crate::source::{Chunks, Source, SourceError, check};

/// Zeros that are handed out as often as needed.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// An image with changed places. It holds what differs, and nothing of the image.
#[derive(Debug, Clone)]
pub struct Overlay {
    pub(super) original: u64,
    pub(super) length: u64,
    pub(super) pieces: Vec<Piece>,
    pub(super) changed_files: Vec<String>,
    pub(super) loader_configuration: Vec<Range<u64>>,
}

impl Overlay {
    /// How long the presented image is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The files that differ, by the names that people know them by. Those in an EFI system partition come as
    /// `images/efiboot.img:EFI/BOOT/grub.cfg`.
    pub fn changed_files(&self) -> &[String] {
        &self.changed_files
    }

    /// Where the changed configuration lies in the presented image. Firmware has no reason to read it: whoever does is
    /// a boot loader.
    pub fn loader_configuration(&self) -> &[Range<u64>] {
        &self.loader_configuration
    }

    /// How many bytes it holds in memory.
    pub fn held(&self) -> usize {
        let held = |piece: &Piece| match &piece.what {
            What::Memory(bytes) => bytes.len(),
            What::Original(_) | What::Zeros => 0,
        };
        self.pieces.iter().map(held).sum::<usize>() + self.pieces.len() * size_of::<Piece>()
    }

    /// These changes over the image that they were made for.
    pub fn over(self: Arc<Self>, source: Arc<dyn Source>) -> Overlaid {
        Overlaid { overlay: self, source }
    }

    /// The pieces that a range touches.
    fn touched(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.pieces.partition_point(|piece| piece.end() <= range.start);
        let behind = self.pieces.partition_point(|piece| piece.start < range.end);
        first..behind.max(first)
    }
}

/// An image that is presented with changes.
#[derive(Clone)]
pub struct Overlaid {
    overlay: Arc<Overlay>,
    source: Arc<dyn Source>,
}

impl Source for Overlaid {
    fn length(&self) -> u64 {
        self.overlay.length
    }

    fn stream(&self, range: Range<u64>) -> Chunks {
        if let Err(error) = check(&range, self.overlay.length) {
            return stream::once(future::err(error)).boxed();
        }
        if self.source.length() != self.overlay.original {
            let what = "the image behind the overlay".to_owned();
            return stream::once(future::err(SourceError::Changed(what))).boxed();
        }
        let touched = self.overlay.touched(&range);
        // Nearly every range is one part of the original: it costs what the original costs.
        if let Some([piece]) = self.overlay.pieces.get(touched.clone()) {
            return read_piece(piece, &range, self.source.as_ref());
        }
        let Self { overlay, source } = self.clone();
        let pieces = stream::iter(touched)
            .map(move |index| match overlay.pieces.get(index) {
                Some(piece) => read_piece(piece, &range, source.as_ref()),
                None => stream::empty().boxed(),
            })
            .flatten();
        // What follows a piece that failed must not take its place.
        let until_error = pieces.scan(false, |failed, chunk| {
            let item = (!*failed).then_some(chunk);
            *failed |= item.as_ref().is_none_or(Result::is_err);
            future::ready(item)
        });
        until_error.boxed()
    }
}

/// What a range takes of one piece.
fn read_piece(piece: &Piece, range: &Range<u64>, source: &dyn Source) -> Chunks {
    let skipped = range.start.saturating_sub(piece.start);
    let length = range.end.min(piece.end()).saturating_sub(range.start.max(piece.start));
    match &piece.what {
        What::Original(offset) => {
            let start = offset.saturating_add(skipped);
            source.stream(start..start.saturating_add(length))
        }
        What::Memory(bytes) => stream::once(future::ok(slice(bytes, skipped, length))).boxed(),
        What::Zeros => zeros(length),
    }
}

fn zeros(length: u64) -> Chunks {
    let some = |left: u64| {
        let bytes = Bytes::from_static(&ZEROS);
        let chunk = slice(&bytes, 0, left);
        let rest = left.saturating_sub(chunk.len() as u64);
        (left > 0).then_some((Ok(chunk), rest))
    };
    stream::unfold(length, move |left| future::ready(some(left))).boxed()
}

#[cfg(test)]
#[path = "overlaid_tests.rs"]
mod tests;
