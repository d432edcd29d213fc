//! Where things are in the repository that this crate belongs to.

use std::path::{Path, PathBuf};

/// The version that `make release` writes when nothing else is asked for.
pub const RELEASE_VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where `make release` puts the releases, one directory per version:
/// `BESKAR7_RELEASE_DIR`, or `out/infrastructure-beskar7`.
#[must_use]
pub fn release_directory() -> PathBuf {
    std::env::var_os("BESKAR7_RELEASE_DIR")
        .map_or_else(|| root().join("out/infrastructure-beskar7"), |path| root().join(path))
}

/// The manager as cargo builds it beside the running program:
/// `BESKAR7_MANAGER`, or the `manager` of the same profile.
#[must_use]
pub fn manager_program() -> PathBuf {
    std::env::var_os("BESKAR7_MANAGER").map_or_else(|| built("manager"), |path| root().join(path))
}

/// The simulator as cargo builds it beside the running program.
#[must_use]
pub fn simulator_program() -> PathBuf {
    built("redfish-sim")
}

/// What makes the agent's ramdisk, as cargo builds it beside the running program.
#[must_use]
pub fn ramdisk_program() -> PathBuf {
    built("ramdisk")
}

/// A program of the same profile: beside the running one, or beside the directory of a running test.
fn built(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.ancestors().skip(1).take(2).map(|directory| directory.join(name));
    beside.filter(|path| path.is_file()).last().unwrap_or_else(|| root().join("target/debug").join(name))
}

/// Where the demo keeps its state.
#[must_use]
pub fn demo_directory() -> PathBuf {
    root().join(".demo")
}
