//! One image in the cache: a sparse file, which of its blocks are there, and who reads it.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use tokio::sync::{OnceCell, watch};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::BLOCK;
use super::buffers::Buffer;
use super::fill::Progress;
use crate::source::SourceError;

/// How the fetch of a block ended: whether it is there now.
pub(super) type Fetched = OnceCell<Result<bool, SourceError>>;

/// How long a file that was given up is left alone: a disk that was full may have room again.
const RETRY: Duration = Duration::from_secs(300);

/// An image's file.
pub(super) struct Image {
    file: Arc<File>,
    path: PathBuf,
    size: u64,
    /// The blocks that are there. What an image takes goes by what is kept of it, never by how large somebody else's server
    /// says it is.
    present: RwLock<BTreeSet<u64>>,
    /// How many bytes of the cache's limit it takes.
    stored: AtomicU64,
    readers: AtomicUsize,
    last_read: AtomicU64,
    /// When its file was given up.
    failed: OnceLock<Instant>,
    /// The blocks that are being fetched.
    pub(super) fetching: Mutex<HashMap<u64, Arc<Fetched>>>,
    /// How far a fetch of the whole has come.
    pub(super) filling: Mutex<Option<watch::Receiver<Progress>>>,
}

impl Image {
    pub(super) fn new(file: File, path: PathBuf, size: u64) -> Self {
        Self {
            file: Arc::new(file),
            path,
            size,
            present: RwLock::default(),
            stored: AtomicU64::new(0),
            readers: AtomicUsize::new(0),
            last_read: AtomicU64::new(0),
            failed: OnceLock::new(),
            fetching: Mutex::default(),
            filling: Mutex::default(),
        }
    }

    pub(super) fn begin(self: &Arc<Self>, clock: u64) -> Reading {
        self.readers.fetch_add(1, Ordering::Relaxed);
        self.last_read.store(clock, Ordering::Relaxed);
        Reading { image: self.clone() }
    }

    pub(super) fn is_read(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    pub(super) fn last_read(&self) -> u64 {
        self.last_read.load(Ordering::Relaxed)
    }

    pub(super) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, bytes: u64) {
        self.stored.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn subtract(&self, bytes: u64) {
        self.stored.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where a block begins and ends.
    pub(super) fn block(&self, block: u64) -> std::ops::Range<u64> {
        let start = block.saturating_mul(BLOCK);
        start..start.saturating_add(BLOCK).min(self.size)
    }

    /// Whether a block can be read from here.
    pub(super) fn has(&self, block: u64) -> bool {
        !self.has_failed() && self.present.read().unwrap_or_else(PoisonError::into_inner).contains(&block)
    }

    /// Where the blocks that are not here end, from this one on.
    pub(super) fn missing_until(&self, block: u64) -> u64 {
        if self.has_failed() {
            return self.size;
        }
        let present = self.present.read().unwrap_or_else(PoisonError::into_inner);
        let next = present.range(block.saturating_add(1)..).next();
        next.map_or(self.size, |block| self.block(*block).start)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// Whether a file that was given up may be made anew.
    pub(super) fn may_be_tried_again(&self) -> bool {
        !self.is_read() && self.failed.get().is_some_and(|at| at.elapsed() >= RETRY)
    }

    /// Gives its file up: from now on it is read from where it is.
    pub(super) fn fail(&self, error: &io::Error) {
        if self.failed.set(Instant::now()).is_ok() {
            let path = self.path.display().to_string();
            tracing::warn!(path, %error, "an image can't be cached any more, and is read from where it is");
        }
    }

    /// Writes a block, and says that it is there.
    pub(super) async fn store(&self, block: u64, bytes: Bytes) -> io::Result<()> {
        let (file, offset) = (self.file.clone(), self.block(block).start);
        spawn_blocking(move || file.write_all_at(&bytes, offset)).await.map_err(io::Error::other)??;
        self.present.write().unwrap_or_else(PoisonError::into_inner).insert(block);
        Ok(())
    }

    /// Reads into a buffer: at once if it is in memory, which costs no change of threads; else where it may take long.
    pub(super) async fn read(&self, mut buffer: Buffer, offset: u64) -> io::Result<Bytes> {
        let read =
            preadv2(&*self.file, &mut [IoSliceMut::new(buffer.space())], offset, ReadWriteFlags::NOWAIT);
        let (buffer, length) = match read {
            Ok(length) => (buffer, length),
            // It is not in memory, or this file system can't tell.
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::INTR) => {
                let file = self.file.clone();
                let read = spawn_blocking(move || {
                    let length = file.read_at(buffer.space(), offset)?;
                    Ok::<_, io::Error>((buffer, length))
                });
                read.await.map_err(io::Error::other)??
            }
            Err(error) => return Err(error.into()),
        };
        if length == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(buffer.filled(length)) }
    }
}

/// Keeps an image from being removed.
pub(super) struct Reading {
    image: Arc<Image>,
}

impl Reading {
    pub(super) fn image(&self) -> &Arc<Image> {
        &self.image
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.image.readers.fetch_sub(1, Ordering::Relaxed);
    }
}
