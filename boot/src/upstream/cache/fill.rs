//! An image whose server gives no parts: it is fetched once as a whole, in the background, and its readers wait for the
//! blocks that they need.

use std::sync::{Arc, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::sync::watch;

use super::image::{Image, Reading};
use super::{BLOCK, Cache};
use crate::source::SourceError;
use crate::upstream::remote::{Body, Remote};

/// How far a fetch of the whole has come.
#[derive(Clone, Default)]
pub(super) struct Progress {
    /// The first block that is not there yet.
    next: u64,
    /// How it ended; `false`: the cache could not keep it.
    ended: Option<Result<bool, SourceError>>,
}

/// Waits until a block is there, and begins the fetch if nobody has. Whether it is there.
pub(super) async fn wait(
    cache: &Arc<Cache>,
    image: &Arc<Image>,
    block: u64,
    remote: &Remote,
) -> Result<bool, SourceError> {
    let mut progress = watched(cache, image, remote);
    let told = progress.wait_for(|progress| progress.next > block || progress.ended.is_some()).await;
    match told.map(|progress| progress.clone()) {
        Ok(Progress { ended: Some(Err(error)), next }) if next <= block => Err(error),
        Ok(_) => Ok(image.has(block)),
        // The task ended without a word: it panicked, or the runtime ends.
        Err(_) => Ok(false),
    }
}

/// The fetch that is under way, or a new one.
fn watched(cache: &Arc<Cache>, image: &Arc<Image>, remote: &Remote) -> watch::Receiver<Progress> {
    let mut filling = image.filling.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = &*filling
        && running.has_changed().is_ok()
    {
        return running.clone();
    }
    let (sender, receiver) = watch::channel(Progress::default());
    let (cache, reading, remote) = (cache.clone(), image.begin(image.last_read()), remote.clone());
    tokio::spawn(async move {
        let ended = fill(&cache, &reading, &remote, &sender).await;
        sender.send_modify(|progress| progress.ended = Some(ended));
    });
    *filling = Some(receiver.clone());
    receiver
}

async fn fill(
    cache: &Cache,
    reading: &Reading,
    remote: &Remote,
    sender: &watch::Sender<Progress>,
) -> Result<bool, SourceError> {
    let image = reading.image();
    let mut body = remote.whole().await?;
    let mut pending = BytesMut::new();
    for block in 0..remote.pin().size().div_ceil(BLOCK) {
        let bytes = take(remote, &mut body, &mut pending, image.block(block)).await?;
        if !image.has(block) && !keep(cache, image, block, bytes).await {
            return Ok(false);
        }
        sender.send_modify(|progress| progress.next = block.saturating_add(1));
    }
    Ok(true)
}

/// The next bytes of the body, as many as a block has.
async fn take(
    remote: &Remote,
    body: &mut Body,
    pending: &mut BytesMut,
    block: std::ops::Range<u64>,
) -> Result<Bytes, SourceError> {
    let length = usize::try_from(block.end.saturating_sub(block.start)).unwrap_or_default();
    let broken = |why| SourceError::Unreadable { what: remote.name(), why };
    while pending.len() < length {
        match body.next().await.map_err(|why| broken(why.to_string()))? {
            Some(chunk) => pending.extend_from_slice(&chunk),
            None => return Err(broken("the server ended its answer too early".to_owned())),
        }
    }
    Ok(pending.split_to(length).freeze())
}

async fn keep(cache: &Cache, image: &Image, block: u64, bytes: Bytes) -> bool {
    let Some(room) = cache.reserve(image, bytes.len() as u64) else { return false };
    if let Err(error) = image.store(block, bytes).await {
        image.fail(&error);
        return false;
    }
    room.used();
    true
}
