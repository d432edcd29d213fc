//! An image read by range: our server beside nginx, which serves the plain file.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beskar7_redfish_bench::figures::{median, ratios, spread};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::{processor_time, resident};

use crate::Bench;
use crate::client::Client;
use crate::image;
use crate::serve::{Ours, Serve};
use beskar7_redfish_bench::nginx::Nginx;

/// How fast ours must be, beside nginx.
const BAR: f64 = 0.8;
/// How much is read at once, and by how many.
const SHAPES: [(u64, usize); 6] =
    [(64 << 10, 1), (512 << 10, 1), (4 << 20, 1), (64 << 10, 8), (512 << 10, 8), (4 << 20, 8)];
const PATH: &str = "/image.iso";

/// One of those that are compared.
struct Side {
    name: &'static str,
    address: SocketAddr,
    pids: Vec<u32>,
    /// Whether it must be within the bar.
    barred: bool,
}

/// What one side needed for a shape, round by round.
#[derive(Default)]
struct Rounds {
    /// Bytes a second.
    speeds: Vec<f64>,
    processor: Duration,
}

pub fn measure(args: &Bench, table: &mut Table) -> Result<()> {
    let own = tempfile::tempdir()?;
    let iso = image::make(own.path(), args.size.saturating_mul(1_000_000))?;
    let size = iso.metadata()?.len();
    let files = own.path().join("files");
    std::fs::create_dir(&files)?;
    std::fs::rename(&iso, files.join("image.iso"))?;
    let nginx = Nginx::start(own.path(), &files)?;
    let plain = Serve::plain(&format!("http://{}{PATH}", nginx.address()));
    let cached = Ours::start(&plain.clone().cached(own.path().join("cached")))?;
    let overlaid =
        plain.clone().cached(own.path().join("overlaid")).overlaid(&["ip=dhcp", "beskar7.bench=1"]);
    let overlaid = Ours::start(&overlaid)?;
    let proxied = Ours::start(&plain)?;
    let ours =
        |name, ours: &Ours, barred| Side { name, address: ours.address(), pids: vec![ours.pid()], barred };
    let sides = [
        Side { name: "nginx", address: nginx.address(), pids: workers(nginx.pid())?, barred: false },
        ours("the overlay from a warm cache", &overlaid, true),
        ours("the plain image from a warm cache", &cached, false),
        ours("the plain image by proxy", &proxied, false),
    ];
    // The overlay is a little longer than the image; that rest is left alone.
    same_bytes(&sides, size)?;
    for (at_once, clients) in SHAPES {
        let measured = compare(&sides, size, at_once, clients, args.rounds)?;
        rows(table, &sides, &measured, at_once, clients);
    }
    for side in &sides {
        let memory: Result<Vec<u64>> = side.pids.iter().map(|pid| resident(*pid)).collect();
        let memory: u64 = memory?.iter().sum();
        table.note(format!("memory after all of it: {}", side.name), format!("{} MB", memory / 1_000_000));
    }
    Ok(())
}

/// nginx's work is done by its children.
fn workers(master: u32) -> Result<Vec<u32>> {
    let path = format!("/proc/{master}/task/{master}/children");
    let children = std::fs::read_to_string(&path).with_context(|| format!("can't read {path}"))?;
    Ok(children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// Nobody is fast by giving something else: the noise in the image is the same from all, whatever was changed around it.
/// This also warms the cache.
fn same_bytes(sides: &[Side], size: u64) -> Result<()> {
    let noise = (size / 8)..(size / 8 * 7);
    let mut sums = Vec::new();
    for side in sides {
        let mut client = Client::connect(side.address)?;
        client.read(PATH, 0..size, 16 << 20)?;
        let mut sum: u64 = 0;
        client.range(PATH, noise.clone(), |piece| {
            sum = piece.iter().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        })?;
        sums.push(sum);
    }
    ensure!(sums.windows(2).all(|pair| pair.first() == pair.last()), "the servers give different bytes");
    Ok(())
}

fn compare(sides: &[Side], size: u64, at_once: u64, clients: usize, rounds: usize) -> Result<Vec<Rounds>> {
    let mut measured: Vec<Rounds> = sides.iter().map(|_| Rounds::default()).collect();
    // The first round is not counted. Who goes first changes: whatever drifts on this machine hits all alike.
    for round in 0..=rounds {
        for turn in 0..sides.len() {
            let which = (turn + round) % sides.len();
            let (Some(side), Some(into)) = (sides.get(which), measured.get_mut(which)) else { continue };
            let before = used(side)?;
            let speed = read(side, size, at_once, clients)?;
            if round > 0 {
                into.speeds.push(speed);
                into.processor += used(side)?.saturating_sub(before);
            }
        }
    }
    Ok(measured)
}

fn used(side: &Side) -> Result<Duration> {
    side.pids.iter().map(|pid| processor_time(*pid)).sum()
}

/// Reads the image once in all: each client a part of its own. Bytes a second.
fn read(side: &Side, size: u64, at_once: u64, clients: usize) -> Result<f64> {
    let part = size / clients as u64;
    let connections: Result<Vec<Client>> = (0..clients).map(|_| Client::connect(side.address)).collect();
    let begun = Instant::now();
    thread::scope(|scope| {
        let readers: Vec<_> = connections?
            .into_iter()
            .zip(0_u64..)
            .map(|(mut client, which)| {
                let start = which * part;
                scope.spawn(move || client.read(PATH, start..start + part, at_once))
            })
            .collect();
        readers.into_iter().try_for_each(|reader| {
            reader.join().map_err(|_| anyhow::anyhow!("a client panicked"))?.context(side.name)
        })
    })?;
    Ok((part * clients as u64) as f64 / begun.elapsed().as_secs_f64())
}

fn rows(table: &mut Table, sides: &[Side], measured: &[Rounds], at_once: u64, clients: usize) {
    let who = if clients == 1 { "one client".to_owned() } else { format!("{clients} clients") };
    let what = format!("ranges of {} KiB, {who}", at_once >> 10);
    let gigabytes = |speeds: &[f64]| speeds.iter().map(|speed| speed / 1e9).collect::<Vec<_>>();
    let Some((nginx, others)) = measured.split_first() else { return };
    for (side, ours) in sides.iter().skip(1).zip(others) {
        let ratios = ratios(&ours.speeds, &nginx.speeds);
        let figures = format!(
            "{}: {} to {}",
            spread(&ratios, "×"),
            spread(&gigabytes(&ours.speeds), "GB/s"),
            spread(&gigabytes(&nginx.speeds), "GB/s")
        );
        let what = format!("{what}: {} to nginx", side.name);
        if side.barred {
            table.add(what, "≥ 0.8 ×", figures, median(&ratios) >= BAR);
        } else {
            table.note(what, figures);
        }
    }
    let processor: Vec<String> = sides
        .iter()
        .zip(measured)
        .map(|(side, rounds)| {
            let each = rounds.processor.as_secs_f64() / rounds.speeds.len().max(1) as f64;
            format!("{} {each:.2} s", side.name)
        })
        .collect();
    table.note(format!("{what}: processor time a round"), processor.join(", "));
}
