//! Rounds: all sides write the same image to the same disk, in turns.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_redfish_bench::figures::{median, percentile, ratios, spread};
use beskar7_redfish_bench::nginx::Nginx;
use beskar7_redfish_bench::table::Table;

use crate::disk::Target;
use crate::{Bench, image};

/// What is written to it stays in memory: the processors decide.
const MEMORY: &str = "/dev/shm";
/// The least share of another side's speed.
const BAR: f64 = 0.8;
/// The most memory, in MB.
const MOST_MEMORY: f64 = 64.0;

/// Who writes.
struct Side {
    /// What the table calls it.
    name: &'static str,
    /// How this program is told to be it.
    arguments: &'static [&'static str],
    /// Whether the agent has a bar beside it: it computes the same checksum.
    has_bar: bool,
}

const OURS: Side = Side { name: "the agent", arguments: &["install"], has_bar: false };
const OTHERS: [Side; 3] = [
    Side {
        name: "`curl \\| tee \\| dd` with sha256sum",
        arguments: &["pipe", "--hash", "sha256sum"],
        has_bar: true,
    },
    Side {
        name: "`curl \\| tee \\| dd` with openssl",
        arguments: &["pipe", "--hash", "openssl"],
        has_bar: true,
    },
    Side {
        name: "`curl \\| dd`, which verifies nothing",
        arguments: &["pipe", "--hash", "none"],
        has_bar: false,
    },
];

/// What a side took in its rounds.
#[derive(Default)]
struct Took {
    /// MB/s.
    speeds: Vec<f64>,
    /// MB.
    memory: Vec<f64>,
}

/// What one side says to the benchmark.
#[allow(clippy::print_stdout, reason = "the benchmark reads it")]
pub fn tell(took: Duration, memory: u64) {
    println!("{} {memory}", took.as_secs_f64());
}

/// What is to be written.
struct Written<'a> {
    name: &'a str,
    path: PathBuf,
    digest: String,
    mebibytes: u64,
    server: &'a Nginx,
}

/// Measures all of it.
///
/// # Errors
/// Something can't be run.
pub fn measure(args: &Bench, table: &mut Table) -> Result<()> {
    let memory = Path::new(MEMORY);
    ensure!(memory.is_dir(), "there is no {MEMORY}, which the image is kept in");
    let own = tempfile::tempdir_in(memory)?;
    let server = Nginx::start(own.path(), own.path()).context("starting nginx")?;
    for (name, mebibytes, rounds, places) in [
        ("small", args.size, args.rounds, vec![memory, &args.place]),
        ("large", args.size * 4, args.rounds.div_ceil(2), vec![memory]),
    ] {
        let path = own.path().join(name);
        let digest = image::make(&path, mebibytes)?;
        let written = Written { name, path, digest, mebibytes, server: &server };
        for place in places {
            written.compare(place, rounds, table)?;
        }
        std::fs::remove_file(&written.path)?;
    }
    Ok(())
}

impl Written<'_> {
    fn compare(&self, place: &Path, rounds: usize, table: &mut Table) -> Result<()> {
        let target = Target::new(place, (self.mebibytes + 16) << 20)?;
        let mut all: Vec<(Side, Took)> =
            [OURS].into_iter().chain(OTHERS).map(|side| (side, Took::default())).collect();
        // One round is not counted: it warms up, and what each side writes is looked at.
        for (side, _) in &all {
            target.blank()?;
            self.once(side, &target)?;
            ensure!(image::is_on(&mut target.content()?, &self.path)?, "{} wrote something else", side.name);
        }
        for _ in 0..rounds {
            for (side, took) in &mut all {
                let (speed, memory) = self.once(side, &target)?;
                took.speeds.push(speed);
                took.memory.push(memory);
            }
            // Who goes first changes.
            all.rotate_left(1);
        }
        // The table has them in the order in which they were named.
        let turned = rounds % all.len().max(1);
        all.rotate_right(turned);
        let on = if place == Path::new(MEMORY) { "in memory" } else { "on a disk" };
        let what = format!("{} MiB to {} {on}", self.mebibytes, target.kind());
        put(&what, &all, table);
        Ok(())
    }

    /// Its speed in MB/s, and its memory in MB.
    fn once(&self, side: &Side, target: &Target) -> Result<(f64, f64)> {
        let url = format!("http://{}/{}", self.server.address(), self.name);
        let output = Command::new(std::env::current_exe()?)
            .args(side.arguments)
            .args(["--url", &url, "--digest", &self.digest, "--disk"])
            .arg(target.path())
            .output()?;
        ensure!(output.status.success(), "{}: {}", side.name, String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout)?;
        let (seconds, memory) = said.trim().split_once(' ').context("a side said nothing")?;
        let (seconds, memory): (f64, f64) = (seconds.parse()?, memory.parse()?);
        Ok(((self.mebibytes << 20) as f64 / seconds / 1e6, memory / 1e6))
    }
}

fn put(what: &str, all: &[(Side, Took)], table: &mut Table) {
    let Some((_, ours)) = all.iter().find(|(side, _)| side.arguments == OURS.arguments) else { return };
    for (side, took) in all.iter().filter(|(side, _)| side.arguments != OURS.arguments) {
        let ratios = ratios(&ours.speeds, &took.speeds);
        let (own, other) = (spread(&ours.speeds, "MB/s"), spread(&took.speeds, "MB/s"));
        let figures = format!("{}: {own} to {other}", spread(&ratios, "×"));
        let row = format!("{what}: the agent to {}", side.name);
        if side.has_bar {
            table.add(row, "≥ 0.8 ×", figures, median(&ratios) >= BAR);
        } else {
            table.note(row, figures);
        }
    }
    let most = |took: &Took| percentile(&took.memory, 1.0);
    let memory = most(ours);
    table.add(
        format!("{what}: the agent's memory"),
        "< 64 MB",
        format!("{memory:.0} MB"),
        memory < MOST_MEMORY,
    );
    let others = all.iter().map(|(_, took)| took).filter(|took| !std::ptr::eq(*took, ours)).map(most);
    let others = others.fold(0.0, f64::max);
    table.note(format!("{what}: memory of the largest process of the others"), format!("{others:.0} MB"));
}
