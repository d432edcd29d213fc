//! Contents that are read to their end and hashed, in the background: one task for each, however many want to know. Some run
//! at once, and of those few read from one server, so that a slow one holds up nobody who reads from elsewhere. Whoever
//! waits asks again and again; what nobody asks for any more ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::TryStreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::digest::{Algorithm, Digest};
use super::memory::Memory;
use crate::source::{Source as _, SourceError};
use crate::upstream::Upstream;

/// How many contents' digests are remembered.
const KNOWN: usize = 4096;
/// How long a registry that gave wrong bytes is not asked for them again.
const DISTRUST: Duration = Duration::from_secs(300);
/// So many are read at once, and of those so many from one server.
const AT_ONCE: usize = 16;
const OF_ONE_SERVER: usize = 4;
/// How many servers' turns are remembered.
const SERVERS: usize = 1024;
/// For so long nothing is said of how fast it comes; after that, so much must come in each second. What is larger may take
/// longer, and who gives a byte now and then does not hold a turn for ever.
const PATIENCE: Duration = Duration::from_secs(900);
const SLOWEST: u64 = 256 << 10;
/// What nobody asked for so long is not read any further.
const UNWANTED: Duration = Duration::from_secs(300);

/// What contents hash to, by pin.
pub(super) struct Comparisons {
    all: Memory<(String, Algorithm), Arc<Comparison>>,
    turns: Arc<Turns>,
}

/// What is to be compared.
pub(super) struct Wanted<'a> {
    pub upstream: &'a Upstream,
    pub pin: &'a str,
    pub expected: &'a Digest,
    /// What a URL gives is pinned by its server; what a registry gives by the digest alone, and it may do better.
    pub may_improve: bool,
}

impl Comparisons {
    pub(super) fn new() -> Self {
        Self { all: Memory::new(KNOWN), turns: Arc::new(Turns::new(AT_ONCE, OF_ONE_SERVER)) }
    }

    /// The comparison of a content. It begins now, where it has not, or anew, where it failed so long ago.
    pub(super) fn of(&self, wanted: &Wanted<'_>, again: Duration) -> Arc<Comparison> {
        let key = (wanted.pin.to_owned(), wanted.expected.algorithm());
        if self.all.get(&key).is_some_and(|known| known.is_over(wanted, again)) {
            self.all.forget(&key);
        }
        let comparison = self.all.get_or_put(key, || Arc::new(Comparison::begin(wanted, self.turns.clone())));
        comparison.course.is_wanted();
        comparison
    }
}

/// How one ended.
#[derive(Debug, Clone)]
struct Ended {
    at: Instant,
    found: Result<Digest, SourceError>,
}

/// A content that is hashed, or was. With it goes its task.
pub(super) struct Comparison {
    ended: watch::Receiver<Option<Ended>>,
    course: Arc<Course>,
    task: AbortHandle,
}

impl Drop for Comparison {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Comparison {
    fn begin(wanted: &Wanted<'_>, turns: Arc<Turns>) -> Self {
        let (say, ended) = watch::channel(None);
        let course = Arc::new(Course { read: AtomicU64::new(0), asked: Mutex::new(Instant::now()) });
        let (upstream, expected) = (wanted.upstream.clone(), wanted.expected.clone());
        let (shared, may_improve) = (course.clone(), wanted.may_improve);
        let task = tokio::spawn(async move {
            let found = hash(&upstream, &expected, &shared, &turns).await;
            if may_improve && found.as_ref().is_ok_and(|found| *found != expected) {
                // The registry may do better the next time, and must be asked then.
                upstream.forget();
            }
            // Nobody may wait for it any more.
            let _unheard = say.send(Some(Ended { at: Instant::now(), found }));
        });
        Self { ended, course, task: task.abort_handle() }
    }

    /// Whether its end says nothing any more.
    fn is_over(&self, wanted: &Wanted<'_>, again: Duration) -> bool {
        match &*self.ended.borrow() {
            None => self.ended.has_changed().is_err(),
            Some(Ended { at, found: Ok(found) }) => {
                wanted.may_improve && found != wanted.expected && at.elapsed() > DISTRUST
            }
            Some(Ended { at, found: Err(_) }) => at.elapsed() >= again,
        }
    }

    /// What it hashes to, where that is known by now.
    pub(super) fn found(&self) -> Option<Result<Digest, SourceError>> {
        self.ended.borrow().as_ref().map(|ended| ended.found.clone())
    }

    pub(super) fn running(&self, what: String, size: u64) -> Running {
        Running { what, size, read: self.course.read(), ended: self.ended.clone() }
    }
}

/// A comparison that is under way.
#[derive(Debug, Clone)]
pub struct Running {
    what: String,
    size: u64,
    read: u64,
    ended: watch::Receiver<Option<Ended>>,
}

impl Running {
    /// What is compared, as people are told.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// How much of it was read, in per cent; nothing, where it waits for its turn.
    #[must_use]
    pub fn percent(&self) -> Option<u64> {
        (self.read > 0).then(|| self.read.saturating_mul(100) / self.size.max(1))
    }

    /// Waits for its end, however that is.
    pub async fn ended(&mut self) {
        // An error says that nobody will tell: it has ended all the same.
        let _ended = self.ended.wait_for(Option::is_some).await;
    }
}

/// How far one is, and when somebody asked for it last.
struct Course {
    read: AtomicU64,
    asked: Mutex<Instant>,
}

impl Course {
    fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn came(&self, bytes: usize) -> u64 {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.read.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes)
    }

    fn is_wanted(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_unwanted(&self) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > UNWANTED
    }
}

async fn hash(
    upstream: &Upstream,
    expected: &Digest,
    course: &Course,
    turns: &Turns,
) -> Result<Digest, SourceError> {
    let unreadable = |why: String| SourceError::Unreadable { what: upstream.name(), why };
    let _turn = turns.take(upstream.server()).await;
    let begun = Instant::now();
    let mut chunks = upstream.stream(0..upstream.length());
    let mut hasher = expected.hasher();
    while let Some(chunk) = chunks.try_next().await? {
        hasher.update(&chunk);
        let read = course.came(chunk.len());
        if course.is_unwanted() {
            return Err(unreadable("nobody wants to know any more what it hashes to".to_owned()));
        }
        if is_too_slow(read, begun.elapsed()) {
            return Err(unreadable(format!(
                "it comes too slowly to be compared with its digest, {} of {} MiB in {} minutes: put a copy nearer, or \
                 give the managers a cache (--artifact-cache-dir), which keeps what was read",
                read >> 20,
                upstream.length() >> 20,
                begun.elapsed().as_secs() / 60
            )));
        }
    }
    Ok(hasher.finish())
}

fn is_too_slow(read: u64, since: Duration) -> bool {
    read < since.saturating_sub(PATIENCE).as_secs().saturating_mul(SLOWEST)
}

/// Who may read: first those who wait for the same server, so that they take no turn from others.
struct Turns {
    all: Arc<Semaphore>,
    of_one_server: usize,
    servers: Memory<String, Arc<Semaphore>>,
}

impl Turns {
    fn new(at_once: usize, of_one_server: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(at_once)), of_one_server, servers: Memory::new(SERVERS) }
    }

    /// Held until what is returned is dropped.
    async fn take(&self, server: &str) -> Vec<OwnedSemaphorePermit> {
        let new = || Arc::new(Semaphore::new(self.of_one_server));
        let of_server = self.servers.get_or_put(server.to_owned(), new);
        // Nobody closes them.
        let first = of_server.acquire_owned().await.ok();
        let second = self.all.clone().acquire_owned().await.ok();
        first.into_iter().chain(second).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn what_is_large_may_take_long_and_what_drips_may_not() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        for (read, since, expected) in [
            (0, minutes(15), false),
            (14, minutes(16), true),
            // 5 GB at 1 MB/s.
            (5_000_000_000, minutes(84), false),
            (3_600_000_000, minutes(60), false),
            (100 << 20, minutes(60), true),
        ] {
            assert_eq!(is_too_slow(read, since), expected, "{read} in {since:?}");
        }
    }

    #[tokio::test]
    async fn who_waits_for_a_slow_server_takes_no_turn_from_others() {
        let turns = Turns::new(3, 2);
        let slow = [turns.take("slow").await, turns.take("slow").await];
        let mut third = Box::pin(turns.take("slow"));
        assert!((&mut third).now_or_never().is_none(), "too many of one server");
        let other = turns.take("other").now_or_never().unwrap();
        assert!(turns.take("more").now_or_never().is_none(), "too many at once");
        drop(slow);
        assert!((&mut third).now_or_never().is_some());
        drop(other);
    }
}
