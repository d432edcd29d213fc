//! What it takes until all objects that are created are where they should be.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::place::{Place, Processors};
use super::worker::Worker;

/// How many objects are created at once.
const CREATED_AT_ONCE: usize = 100;

/// What it took.
#[derive(Debug)]
pub(super) struct Timed {
    /// From the first creation until the last was there.
    pub(super) wall: Duration,
    /// Each by itself, from its creation on, by name.
    pub(super) each: HashMap<String, Duration>,
    pub(super) processors: Processors,
}

/// Runs all three at once: what creates the objects and tells when it began to create each; the bare client's work, if
/// it is its turn; and what waits until all were seen and tells when each was.
pub(super) async fn timed(
    place: &Place,
    worker: &Worker,
    create: impl Future<Output = Result<HashMap<String, Instant>>>,
    work: impl Future<Output = Result<()>>,
    see: impl Future<Output = Result<HashMap<String, Instant>>>,
) -> Result<Timed> {
    let before = place.processors(worker.manager())?;
    let begun = Instant::now();
    let see = async {
        let seen = see.await?;
        Ok((seen, place.processors(worker.manager())?))
    };
    let (created, (), (seen, after)) = tokio::try_join!(create, work, see)?;
    let last = seen.values().max().copied().unwrap_or(begun);
    let each = created.into_iter().filter_map(|(name, created)| {
        let took = seen.get(&name)?.saturating_duration_since(created);
        Some((name, took))
    });
    Ok(Timed {
        wall: last.saturating_duration_since(begun),
        each: each.collect(),
        processors: after.since(&before),
    })
}

/// Creates objects, some at once, and tells what came of each.
pub(super) async fn create_all<T>(
    all: impl Iterator<Item = impl Future<Output = Result<T>>>,
) -> Result<Vec<T>> {
    stream::iter(all).buffer_unordered(CREATED_AT_ONCE).try_collect().await
}
