//! Images kept on a local disk, in blocks, as they are read: a hundred hosts that boot from one image fetch it once.
//!
//! A cache that fails is no failure: what can't be kept is read from where it is. What is kept is not kept over a restart.

mod buffers;
mod fill;
mod image;
mod read;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt as _, stream};
use tokio::sync::Semaphore;

use self::buffers::Buffers;
use self::image::{Image, Reading};
use self::read::CachedRead;
use super::error::UpstreamError;
use super::pin::Pin;
use super::remote::Remote;
use super::settings::CacheSettings;
use crate::open_files::Shares;
use crate::source::{Chunks, check};

/// What is fetched and kept at once.
const BLOCK: u64 = 1 << 20;
/// How many blocks are fetched at once, each of which is in memory till it is written. Whoever comes later reads past the
/// cache.
const FETCHES: usize = 32;
/// How our files' names begin and end.
const PREFIX: &str = "beskar7-image-";
const SUFFIX: &str = ".blocks";

/// The images that are kept.
pub(crate) struct Cache {
    directory: PathBuf,
    limit: u64,
    /// How many images there may be: each has a file open.
    most: usize,
    kept: Mutex<Kept>,
    fetches: Semaphore,
    buffers: Arc<Buffers>,
    /// Whether it was said that no file can be made: once is enough.
    said: AtomicBool,
}

#[derive(Default)]
struct Kept {
    images: HashMap<Pin, Arc<Image>>,
    /// How many bytes are stored, or promised to be.
    used: u64,
    /// Counts reads: who was read last.
    clock: u64,
    /// Counts files: none has the name of one that is just being removed.
    files: u64,
}

impl Kept {
    /// Forgets an image, which nobody reads, and what it took.
    fn take(&mut self, pin: &Pin) -> Option<Arc<Image>> {
        let image = self.images.remove(pin)?;
        self.used = self.used.saturating_sub(image.stored());
        Some(image)
    }

    /// Forgets the image that was not read for the longest time, of those that nobody reads.
    fn take_oldest(&mut self) -> Option<Arc<Image>> {
        let idle = self.images.iter().filter(|(_, image)| !image.is_read());
        let oldest = idle.min_by_key(|(_, image)| image.last_read()).map(|(pin, _)| pin.clone())?;
        self.take(&oldest)
    }
}

impl Cache {
    /// Takes a directory over.
    pub(crate) fn new(settings: &CacheSettings) -> Result<Self, UpstreamError> {
        let directory = settings.directory.clone();
        let unusable = |error| UpstreamError::Cache { directory: directory.display().to_string(), error };
        fs::create_dir_all(&directory).and_then(|()| empty(&directory)).map_err(unusable)?;
        Ok(Self {
            directory,
            limit: settings.limit,
            most: Shares::now().images,
            kept: Mutex::default(),
            fetches: Semaphore::new(FETCHES),
            buffers: Arc::default(),
            said: AtomicBool::new(false),
        })
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether an image of this size can be kept as a whole.
    pub(crate) fn can_hold(&self, size: u64) -> bool {
        size <= self.limit
    }

    /// The bytes of a range, kept ones from here.
    pub(crate) fn stream(self: &Arc<Self>, remote: &Remote, range: Range<u64>) -> Chunks {
        if let Err(error) = check(&range, remote.pin().size()) {
            return stream::once(async { Err(error) }).boxed();
        }
        let read = CachedRead::new(self.clone(), self.begin(remote.pin()), remote.clone(), range);
        stream::try_unfold(read, |mut read| async move { Ok(read.next().await?.map(|chunk| (chunk, read))) })
            .boxed()
    }

    /// Removes what is kept of an image, unless somebody reads it.
    pub(crate) fn forget(&self, pin: &Pin) {
        let mut kept = self.kept();
        if kept.images.get(pin).is_some_and(|image| !image.is_read()) {
            remove(kept.take(pin).into_iter().collect());
        }
    }

    /// Begins to read an image: till the end of that it stays. `None`: there is no file for it, or all that there may be are
    /// being read.
    fn begin(&self, pin: &Pin) -> Option<Reading> {
        let mut kept = self.kept();
        kept.clock = kept.clock.saturating_add(1);
        let clock = kept.clock;
        match kept.images.get(pin) {
            Some(image) if image.may_be_tried_again() => remove(kept.take(pin).into_iter().collect()),
            Some(image) => return Some(image.begin(clock)),
            None => {}
        }
        if kept.images.len() >= self.most {
            remove(vec![kept.take_oldest()?]);
        }
        kept.files = kept.files.saturating_add(1);
        let path = self.directory.join(format!("{PREFIX}{pin}-{}{SUFFIX}", kept.files));
        // Quick enough to be done here: nothing is written.
        let image = match create(&path) {
            Ok(file) => Arc::new(Image::new(file, path, pin.size())),
            Err(error) => {
                if !self.said.swap(true, Ordering::Relaxed) {
                    let directory = self.directory.display().to_string();
                    tracing::warn!(directory, %error, "images can't be cached, and are read from where they are");
                }
                return None;
            }
        };
        kept.images.insert(pin.clone(), image.clone());
        Some(image.begin(clock))
    }

    /// Makes room for a part of an image, if need be at the cost of those that nobody reads, the one that was not read for
    /// the longest time first. `None`: there is no room.
    fn reserve<'a>(&'a self, image: &'a Image, bytes: u64) -> Option<Reservation<'a>> {
        let mut kept = self.kept();
        let mut evicted = Vec::new();
        while kept.used.saturating_add(bytes) > self.limit {
            let Some(oldest) = kept.take_oldest() else { break };
            evicted.push(oldest);
        }
        let fits = kept.used.saturating_add(bytes) <= self.limit;
        if fits {
            kept.used = kept.used.saturating_add(bytes);
            image.add(bytes);
        }
        drop(kept);
        remove(evicted);
        // Not before it is known: one that is dropped gives room back.
        fits.then(|| Reservation { cache: self, image, bytes, used: false })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cache({}, {} bytes)", self.directory.display(), self.limit)
    }
}

/// Room for a part of an image; given back unless it was used.
struct Reservation<'a> {
    cache: &'a Cache,
    image: &'a Image,
    bytes: u64,
    used: bool,
}

impl Reservation<'_> {
    fn used(mut self) {
        self.used = true;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.used {
            let mut kept = self.cache.kept();
            kept.used = kept.used.saturating_sub(self.bytes);
            self.image.subtract(self.bytes);
        }
    }
}

/// It grows as blocks are written, and is sparse between them: a length that nobody but its server vouches for is more than
/// many file systems give a file.
fn create(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).open(path)
}

/// Removes images' files where it may take long.
fn remove(images: Vec<Arc<Image>>) {
    if images.is_empty() {
        return;
    }
    // Nobody waits for it: the space is counted as free already, and is soon.
    drop(tokio::task::spawn_blocking(move || {
        for image in images {
            if let Err(error) = fs::remove_file(image.path()) {
                let path = image.path().display().to_string();
                tracing::warn!(path, %error, "a cached image can't be removed");
            }
        }
    }));
}

/// Removes what a cache left in a directory, and nothing else.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if ours && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
