//! What the agent's memory came to. A machine may have little, and an image much.

use std::fs;
use std::path::Path;

const NAME: &str = "VmHWM:";

/// The most that this process has used at once, in MB, as the kernel tells it.
pub(super) fn most_used(status: &Path) -> Option<u64> {
    // Where nobody knows, nothing is said.
    read(&fs::read_to_string(status).ok()?)
}

/// Rounded up: it is never less than it is said to be.
fn read(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(NAME))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes.saturating_mul(1024).div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_found_among_what_the_kernel_tells() {
        let status = "Name:\tinit\nVmPeak:\t  900000 kB\nVmHWM:\t   12000 kB\nVmRSS:\t    9000 kB\n";
        assert_eq!(read(status), Some(13));
        for unknown in ["", "Name:\tinit\n", "VmHWM:\t\n", "VmHWM:\tmuch kB\n"] {
            assert_eq!(read(unknown), None, "{unknown:?}");
        }
        assert!(most_used(Path::new("/proc/self/status")).is_some_and(|most| most > 0));
        assert_eq!(most_used(Path::new("/absent")), None);
    }
}
