//! What a read from a warm cache costs by itself, without HTTP: beside the bare system call, and beside the same call on a
//! thread that may block, which is what it would cost not to ask the kernel for what is in memory only.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use beskar7_boot::source::{Source as _, SourceError};
use beskar7_boot::upstream::{CacheSettings, Upstream, UpstreamSettings, Upstreams};
use beskar7_redfish_bench::figures::spread;
use beskar7_redfish_bench::table::Table;
use futures::TryStreamExt as _;

use beskar7_redfish_bench::nginx::Nginx;

/// How large the image is, and how often it is read from.
const SIZE: usize = 16 << 20;
const READS: u64 = 2000;
const ROUNDS: usize = 9;

pub fn measure(table: &mut Table) -> Result<()> {
    let own = tempfile::tempdir()?;
    let files = own.path().join("files");
    std::fs::create_dir(&files)?;
    std::fs::write(files.join("image.iso"), vec![7; SIZE])?;
    let nginx = Nginx::start(own.path(), &files)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let file = Arc::new(File::open(files.join("image.iso"))?);
    runtime.block_on(async {
        let cache = Some(CacheSettings { directory: own.path().join("cache"), limit: u64::MAX });
        let settings = UpstreamSettings { allow_loopback: true, cache, ..UpstreamSettings::default() };
        let upstream =
            Upstreams::new(&settings)?.open(&format!("http://{}/image.iso", nginx.address())).await?;
        through_cache(&upstream, 0, SIZE).await?;
        for length in [4 << 10, 64 << 10] {
            row(table, &upstream, &file, length).await?;
        }
        Ok(())
    })
}

async fn row(table: &mut Table, upstream: &Upstream, file: &Arc<File>, length: usize) -> Result<()> {
    let (mut cached, mut bare, mut moved) = (Vec::new(), Vec::new(), Vec::new());
    let mut buffer = vec![0; length];
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for read in 0..READS {
            through_cache(upstream, offset(read, length), length).await?;
        }
        cached.push(microseconds(begun));
        let begun = Instant::now();
        for read in 0..READS {
            file.read_exact_at(&mut buffer, offset(read, length))?;
        }
        bare.push(microseconds(begun));
        let begun = Instant::now();
        for read in 0..READS {
            let (file, mut own) = (file.clone(), std::mem::take(&mut buffer));
            let at = offset(read, length);
            let read = tokio::task::spawn_blocking(move || file.read_exact_at(&mut own, at).map(|()| own));
            buffer = read.await??;
        }
        moved.push(microseconds(begun));
    }
    table.note(
        format!("{} KiB from a warm cache, without HTTP", length >> 10),
        format!(
            "{}; the bare system call {}; on a blocking thread {}",
            spread(&cached, "µs"),
            spread(&bare, "µs"),
            spread(&moved, "µs")
        ),
    );
    Ok(())
}

fn offset(read: u64, length: usize) -> u64 {
    (read * length as u64) % (SIZE - length) as u64
}

fn microseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6 / READS as f64
}

async fn through_cache(upstream: &Upstream, start: u64, length: usize) -> Result<(), SourceError> {
    upstream.stream(start..start + length as u64).try_for_each(|_| async { Ok(()) }).await
}
