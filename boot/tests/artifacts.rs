//! Files and images that machines fetch, from mocks on loopback: what real servers and registries do now and then, and
//! what hostile ones may try. A real registry is in `e2e/tests/registry.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test may panic"
)]

#[path = "artifacts/files.rs"]
mod files;
#[path = "artifacts/images.rs"]
mod images;
#[path = "artifacts/lies.rs"]
mod lies;
#[path = "artifacts/mock.rs"]
mod mock;
#[path = "artifacts/mock_registry.rs"]
mod mock_registry;
#[path = "artifacts/tokens.rs"]
mod tokens;

use std::time::Duration;

use beskar7_boot::artifacts::{Architecture, ArtifactError, Artifacts, BootImage};
use beskar7_boot::upstream::{CacheSettings, Limits, UpstreamSettings, Upstreams};
use tempfile::TempDir;

use self::mock::MockServer;

/// Loopback is allowed, and nothing is waited for longer than it takes here.
fn settings() -> UpstreamSettings {
    let limits = Limits { resumes: 1, pause: Duration::from_millis(1), ..Limits::default() };
    UpstreamSettings { allow_loopback: true, limits, ..UpstreamSettings::default() }
}

fn artifacts() -> Artifacts {
    Artifacts::new(Upstreams::new(&settings()).unwrap())
}

/// What the image of a registry holds for the machines that most are.
async fn amd64(
    artifacts: &Artifacts,
    server: &MockServer,
    version: &str,
) -> Result<BootImage, ArtifactError> {
    artifacts.image(&format!("{}/boot/image{version}", server.address), Architecture::Amd64).await
}

/// With a cache, which ends with its directory.
fn cached() -> (TempDir, Upstreams) {
    let directory = tempfile::tempdir().unwrap();
    let cache = Some(CacheSettings { directory: directory.path().to_owned(), limit: 64 << 20 });
    let upstreams = Upstreams::new(&UpstreamSettings { cache, ..settings() }).unwrap();
    (directory, upstreams)
}
