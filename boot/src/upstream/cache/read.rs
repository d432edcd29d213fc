//! One read through the cache: kept blocks from the disk, others after they were fetched, and what can't be kept past it.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _};

use super::buffers::PIECE;
use super::fill;
use super::image::{Fetched, Image, Reading};
use super::{BLOCK, Cache};
use crate::source::{Chunks, SourceError};
use crate::upstream::remote::Remote;

/// One read of a range.
pub(super) struct CachedRead {
    cache: Arc<Cache>,
    /// `None`: there is no file for this image, or none more.
    reading: Option<Reading>,
    remote: Remote,
    left: Range<u64>,
    /// What is being read past the cache.
    direct: Option<Chunks>,
}

impl CachedRead {
    pub(super) fn new(cache: Arc<Cache>, reading: Option<Reading>, remote: Remote, left: Range<u64>) -> Self {
        Self { cache, reading, remote, left, direct: None }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        loop {
            if let Some(direct) = &mut self.direct {
                if let Some(chunk) = direct.next().await {
                    return self.advance(chunk?);
                }
                self.direct = None;
            }
            if self.left.is_empty() {
                return Ok(None);
            }
            if let Some(chunk) = self.kept().await? {
                return self.advance(chunk);
            }
        }
    }

    fn advance(&mut self, chunk: Bytes) -> Result<Option<Bytes>, SourceError> {
        self.left.start = self.left.start.saturating_add(chunk.len() as u64);
        Ok(Some(chunk))
    }

    /// The next piece from the disk. `None`: it is not there, and `direct` is.
    async fn kept(&mut self) -> Result<Option<Bytes>, SourceError> {
        let start = self.left.start;
        let Some(reading) = &self.reading else {
            return self.go_past(self.left.end).map(|()| None);
        };
        let (image, block) = (reading.image(), start / BLOCK);
        if !image.has(block) && !obtain(&self.cache, image, block, &self.remote).await? {
            let until = image.missing_until(block).min(self.left.end);
            return self.go_past(until).map(|()| None);
        }
        let until = image.block(block).end.min(self.left.end);
        let length = usize::try_from(until.saturating_sub(start)).unwrap_or(PIECE);
        match image.read(self.cache.buffers.take(length), start).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => {
                image.fail(&error);
                self.go_past(self.left.end).map(|()| None)
            }
        }
    }

    fn go_past(&mut self, until: u64) -> Result<(), SourceError> {
        if !self.remote.has_ranges() {
            let why =
                "its server answers no ranges, and the image cache has no room for it, or its disk fails";
            return Err(SourceError::Unreadable { what: self.remote.name(), why: why.to_owned() });
        }
        self.direct = Some(self.remote.stream(self.left.start..until));
        Ok(())
    }
}

/// Sees to it that a block is there. Whether it is.
async fn obtain(
    cache: &Arc<Cache>,
    image: &Arc<Image>,
    block: u64,
    remote: &Remote,
) -> Result<bool, SourceError> {
    if image.has_failed() {
        return Ok(false);
    }
    if !remote.has_ranges() {
        return fill::wait(cache, image, block, remote).await;
    }
    let Some(cell) = join(image, block) else { return Ok(true) };
    // Whoever comes first fetches it, the others wait; if the first one leaves, the next one takes its place.
    let fetched = cell.get_or_init(|| fetch(cache, image, block, remote)).await.clone();
    let mut fetching = image.fetching.lock().unwrap_or_else(PoisonError::into_inner);
    if fetching.get(&block).is_some_and(|current| Arc::ptr_eq(current, &cell)) {
        fetching.remove(&block);
    }
    fetched
}

/// The fetch of a block, which may be under way. `None`: it was there in the meantime.
fn join(image: &Image, block: u64) -> Option<Arc<Fetched>> {
    let mut fetching = image.fetching.lock().unwrap_or_else(PoisonError::into_inner);
    if image.has(block) { None } else { Some(fetching.entry(block).or_default().clone()) }
}

async fn fetch(cache: &Cache, image: &Image, block: u64, remote: &Remote) -> Result<bool, SourceError> {
    let range = image.block(block);
    let length = range.end.saturating_sub(range.start);
    let Ok(_permit) = cache.fetches.try_acquire() else { return Ok(false) };
    let Some(room) = cache.reserve(image, length) else { return Ok(false) };
    let bytes = BytesMut::with_capacity(usize::try_from(length).unwrap_or_default());
    let bytes = remote.stream(range).try_fold(bytes, |mut all, chunk| async move {
        all.extend_from_slice(&chunk);
        Ok(all)
    });
    if let Err(error) = image.store(block, bytes.await?.freeze()).await {
        image.fail(&error);
        return Ok(false);
    }
    room.used();
    Ok(true)
}
