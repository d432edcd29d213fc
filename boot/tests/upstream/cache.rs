//! Reads through the cache: what is fetched, how often, what is kept and what goes.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use beskar7_boot::source::{Source as _, SourceError, read};
use beskar7_boot::upstream::{CacheSettings, UpstreamSettings, Upstreams};
use futures::StreamExt as _;
use futures::future::join_all;
use tempfile::TempDir;
use tokio::sync::Notify;

use super::server::{Server, Then, content, good, reply};
use super::{ETAG, settings};

const BLOCK: usize = 1 << 20;

fn cached(limit: usize) -> (TempDir, Upstreams) {
    let directory = tempfile::tempdir().unwrap();
    let cache = Some(CacheSettings { directory: directory.path().to_owned(), limit: limit as u64 });
    let upstreams = Upstreams::new(&UpstreamSettings { cache, ..settings() }).unwrap();
    (directory, upstreams)
}

async fn serve(length: usize) -> (Server, Vec<u8>) {
    let image = content(length);
    let served = image.clone();
    (Server::start(move |request, _| good(request, &served, &[ETAG])).await, image)
}

/// What the images in a directory take of the disk.
fn on_disk(directory: &TempDir) -> u64 {
    let files = fs::read_dir(directory.path()).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().blocks() * 512).sum()
}

#[tokio::test]
async fn what_was_read_once_is_not_fetched_again() {
    let (server, image) = serve(3 * BLOCK + 1000).await;
    let (directory, upstreams) = cached(100 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    let ranges = [(BLOCK - 10, BLOCK + 10), (0, 5), (3 * BLOCK + 999, 3 * BLOCK + 1000), (0, image.len())];
    for (start, end) in ranges {
        assert_eq!(read(&upstream, start as u64..end as u64).await.unwrap(), image[start..end], "{start}");
    }
    let blocks = [(0, BLOCK), (BLOCK, 2 * BLOCK), (3 * BLOCK, 3 * BLOCK + 1000), (2 * BLOCK, 3 * BLOCK)];
    assert_eq!(server.ranges(), blocks);
    // Opened again, it is the same image.
    let again = upstreams.open(&server.url()).await.unwrap();
    assert_eq!(read(&again, 0..image.len() as u64).await.unwrap(), image);
    assert_eq!(server.ranges().len(), 4);
    assert_eq!(on_disk(&directory) / BLOCK as u64, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_readers_fetch_a_block_once() {
    let (server, image) = serve(4 * BLOCK).await;
    let (_directory, upstreams) = cached(100 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    let readers = (0..20).map(|_| {
        let upstream = upstream.clone();
        tokio::spawn(async move { read(&upstream, 0..4 * BLOCK as u64).await })
    });
    for result in join_all(readers).await {
        assert!(result.unwrap().unwrap() == image, "a reader got other bytes");
    }
    assert_eq!(server.ranges().len(), 4);
}

#[tokio::test]
async fn if_the_one_that_fetches_leaves_the_next_one_takes_its_place() {
    let image = content(BLOCK);
    let served = image.clone();
    let asked = Arc::new(Notify::new());
    let notified = asked.clone();
    let server = Server::start(move |request, count| {
        let mut reply = good(request, &served, &[ETAG]);
        if count == 1 {
            reply.body.truncate(10);
            reply.then = Then::Stall;
            notified.notify_one();
        }
        reply
    })
    .await;
    let (_directory, upstreams) = cached(100 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    let reader = || {
        let upstream = upstream.clone();
        tokio::spawn(async move { read(&upstream, 0..100).await })
    };
    let first = reader();
    asked.notified().await;
    let second = reader();
    tokio::task::yield_now().await;
    first.abort();
    assert_eq!(second.await.unwrap().unwrap(), image[..100]);
    assert_eq!(server.ranges().len(), 2);
}

#[tokio::test]
async fn the_image_that_was_not_read_for_the_longest_time_goes_first() {
    let (server, image) = serve(2 * BLOCK).await;
    let (directory, upstreams) = cached(4 * BLOCK);
    let mut opened = Vec::new();
    for name in ["a", "b", "c"] {
        opened.push(upstreams.open(&format!("{}/{name}", server.origin)).await.unwrap());
    }
    let fetched = async |which: usize| {
        let before = server.ranges().len();
        assert_eq!(read(&opened[which], 0..2 * BLOCK as u64).await.unwrap(), image);
        server.ranges().len() - before
    };
    assert_eq!((fetched(0).await, fetched(1).await, fetched(0).await), (2, 2, 0));
    // There is room for two: the second goes, not the first, which was read after it.
    assert_eq!((fetched(2).await, fetched(0).await), (2, 0));
    assert_eq!(fetched(1).await, 2);
    // Its file goes soon after.
    let gone = async {
        while on_disk(&directory) > 5 * BLOCK as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("evicted images stay on the disk");
}

#[tokio::test]
async fn an_image_that_is_being_read_stays_and_the_rest_is_read_past_the_cache() {
    let (server, image) = serve(2 * BLOCK).await;
    let (_directory, upstreams) = cached(2 * BLOCK);
    let first = upstreams.open(&format!("{}/a", server.origin)).await.unwrap();
    let second = upstreams.open(&format!("{}/b", server.origin)).await.unwrap();
    assert_eq!(read(&first, 0..2 * BLOCK as u64).await.unwrap(), image);
    let mut reading = first.stream(0..2 * BLOCK as u64);
    let begun = reading.next().await.unwrap().unwrap();
    assert_eq!(read(&second, 0..2 * BLOCK as u64).await.unwrap(), image);
    // One request for all that can't be kept.
    assert_eq!(server.ranges()[2..], [(0, 2 * BLOCK)]);
    let mut all = begun.to_vec();
    while let Some(chunk) = reading.next().await {
        all.extend_from_slice(&chunk.unwrap());
    }
    assert!(all == image, "other bytes");
    drop(reading);
    assert_eq!(read(&first, 0..2 * BLOCK as u64).await.unwrap(), image);
    assert_eq!(server.ranges().len(), 3);
    // Now nobody reads it, and it goes.
    assert_eq!(read(&second, 0..2 * BLOCK as u64).await.unwrap(), image);
    assert_eq!(server.ranges().len(), 5);
}

#[tokio::test]
async fn an_image_larger_than_the_cache_is_read_all_the_same() {
    let (server, image) = serve(5 * BLOCK).await;
    let (directory, upstreams) = cached(2 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(read(&upstream, 0..5 * BLOCK as u64).await.unwrap(), image);
    }
    let rest = (2 * BLOCK, 5 * BLOCK);
    assert_eq!(server.ranges(), [(0, BLOCK), (BLOCK, 2 * BLOCK), rest, rest]);
    assert_eq!(on_disk(&directory) / BLOCK as u64, 2);
}

#[tokio::test]
async fn a_server_that_says_it_has_more_than_a_disk_can_hold_is_read_and_keeps_nobody_out() {
    const SIZE: u64 = 64 << 40;
    let server = Server::start(|request, _| {
        let (start, end) = request.range().unwrap();
        let range = format!("bytes {start}-{}/{SIZE}", end - 1);
        reply(206, &[ETAG, ("content-range", &range)], &vec![7; end - start])
    })
    .await;
    let (directory, upstreams) = cached(10 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    for start in [5, SIZE - 100, 5] {
        assert_eq!(read(&upstream, start..start + 100).await.unwrap(), vec![7; 100], "{start}");
    }
    assert!(on_disk(&directory) <= 2 * BLOCK as u64);
    // Others are kept as before.
    let (other, image) = serve(2 * BLOCK).await;
    let upstream = upstreams.open(&other.url()).await.unwrap();
    for _ in 0..2 {
        assert!(read(&upstream, 0..2 * BLOCK as u64).await.unwrap() == image, "other bytes");
    }
    assert_eq!(other.ranges().len(), 2);
}

#[tokio::test]
async fn without_its_directory_the_cache_is_left_out() {
    let (server, image) = serve(2 * BLOCK).await;
    let (directory, upstreams) = cached(100 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    directory.close().unwrap();
    assert_eq!(read(&upstream, 5..2 * BLOCK as u64).await.unwrap(), image[5..]);
    assert_eq!(server.ranges(), [(5, 2 * BLOCK)]);
}

#[tokio::test]
async fn a_change_is_seen_through_the_cache_and_nothing_wrong_is_kept() {
    let image = content(2 * BLOCK);
    let changed = Arc::new(AtomicBool::new(false));
    let (served, now) = (image.clone(), changed.clone());
    let server = Server::start(move |request, _| match now.load(Ordering::SeqCst) {
        false => good(request, &served, &[ETAG]),
        true => good(request, &content(2 * BLOCK), &[("ETag", "\"two\"")]),
    })
    .await;
    let (_directory, upstreams) = cached(100 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    assert_eq!(read(&upstream, 0..100).await.unwrap(), image[..100]);
    changed.store(true, Ordering::SeqCst);
    let error = read(&upstream, 0..2 * BLOCK as u64).await.unwrap_err();
    assert_eq!(error, SourceError::Changed(server.url()));
    // What was fetched before is of the image that was opened, and is still read.
    assert_eq!(read(&upstream, 0..BLOCK as u64).await.unwrap(), image[..BLOCK]);
    changed.store(false, Ordering::SeqCst);
    assert_eq!(read(&upstream, 0..2 * BLOCK as u64).await.unwrap(), image);
}

#[tokio::test]
async fn a_server_without_ranges_is_asked_once_for_the_whole() {
    let image = content(3 * BLOCK + 7);
    let served = image.clone();
    let server = Server::start(move |_, _| reply(200, &[ETAG], &served)).await;
    let (_directory, upstreams) = cached(4 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    let readers = (0..4).map(|at| {
        let upstream = upstream.clone();
        tokio::spawn(async move { read(&upstream, (at * BLOCK) as u64..(at * BLOCK + 7) as u64).await })
    });
    for (at, result) in join_all(readers).await.into_iter().enumerate() {
        assert_eq!(result.unwrap().unwrap(), image[at * BLOCK..at * BLOCK + 7]);
    }
    assert_eq!(read(&upstream, 0..image.len() as u64).await.unwrap(), image);
    // The opening, and the one.
    assert_eq!(server.asked().len(), 2);
    assert_eq!(server.asked()[1].header("range"), None);
}

#[tokio::test]
async fn a_whole_that_breaks_off_or_changes_is_an_error_and_is_tried_again() {
    let image = content(2 * BLOCK);
    let served = image.clone();
    let server = Server::start(move |_, count| match count {
        1 => {
            let mut reply = reply(200, &[ETAG], &served);
            reply.body.truncate(BLOCK + 5);
            reply.then = Then::Close;
            reply
        }
        2 => reply(200, &[("ETag", "\"two\"")], &served),
        _ => reply(200, &[ETAG], &served),
    })
    .await;
    let (_directory, upstreams) = cached(2 * BLOCK);
    let upstream = upstreams.open(&server.url()).await.unwrap();
    let last = || read(&upstream, BLOCK as u64..2 * BLOCK as u64);
    assert!(matches!(last().await, Err(SourceError::Unreadable { .. })));
    assert!(matches!(last().await, Err(SourceError::Changed(_))));
    assert_eq!(last().await.unwrap(), image[BLOCK..]);
    assert_eq!(read(&upstream, 0..10).await.unwrap(), image[..10]);
    assert_eq!(server.asked().len(), 4);
}
