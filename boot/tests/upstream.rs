//! Images from servers on loopback: one that does everything right, many that don't.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test may panic"
)]

#[path = "upstream/cache.rs"]
mod cache;
#[path = "upstream/nginx.rs"]
mod nginx;
#[path = "upstream/opening.rs"]
mod opening;
#[path = "upstream/reading.rs"]
mod reading;
#[path = "upstream/server.rs"]
mod server;

use std::time::Duration;

use beskar7_boot::upstream::{Limits, UpstreamSettings, Upstreams};

const ETAG: (&str, &str) = ("ETag", "\"one\"");
const MODIFIED: (&str, &str) = ("Last-Modified", "Mon, 02 Nov 2026 10:00:00 GMT");

/// Loopback is allowed, and nothing is waited for longer than it takes here.
fn settings() -> UpstreamSettings {
    let limits = Limits { resumes: 3, pause: Duration::from_millis(1), ..Limits::default() };
    UpstreamSettings { allow_loopback: true, limits, ..UpstreamSettings::default() }
}

fn upstreams() -> Upstreams {
    Upstreams::new(&settings()).unwrap()
}
