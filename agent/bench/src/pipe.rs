//! The other sides: what people type.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use nix::sys::resource::{UsageWho, getrusage};

use crate::{Job, rounds};

/// The checksum is computed beside the writing, and waited for. `$3` computes it; without it there is none.
const SCRIPT: &str = r#"
set -euo pipefail
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
write() { dd of="$1" bs=4M iflag=fullblock oflag=direct conv=fsync,notrunc status=none; }
if [ -z "$3" ]; then
  curl -sSf "$1" | write "$2"
  exit
fi
mkfifo bytes
$3 <bytes >sum &
curl -sSf "$1" | tee bytes | write "$2"
wait $!
grep -oE '[0-9a-f]{64}' sum
"#;

/// Who computes the checksum.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Hash {
    /// coreutils, which not everywhere use what the processor has for it
    Sha256sum,
    /// openssl, which does
    Openssl,
    /// Nobody
    None,
}

impl Hash {
    fn command(self) -> &'static str {
        match self {
            Self::Sha256sum => "sha256sum",
            Self::Openssl => "openssl dgst -sha256",
            Self::None => "",
        }
    }
}

/// Runs it, and says how long that took and what memory its largest process took at most.
///
/// # Errors
/// It does not work, or another checksum comes out.
pub fn run(job: &Job, hash: Hash) -> Result<()> {
    let begun = Instant::now();
    let output = Command::new("bash")
        .args(["-c", SCRIPT, "pipe", job.url.as_str()])
        .arg(&job.disk)
        .arg(hash.command())
        .output()
        .context("can't start bash")?;
    let took = begun.elapsed();
    ensure!(output.status.success(), "curl | dd: {}", String::from_utf8_lossy(&output.stderr));
    let computed = String::from_utf8_lossy(&output.stdout);
    ensure!(hash == Hash::None || computed.trim() == job.digest, "another checksum came out");
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    rounds::tell(took, u64::try_from(kibibytes)?.saturating_mul(1024));
    Ok(())
}
