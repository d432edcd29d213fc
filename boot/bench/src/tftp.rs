//! Files by TFTP: our server beside dnsmasq's.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beskar7_redfish_bench::figures::{median, ratios, spread};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::{most_resident, processor_time};

use crate::cores;
use crate::dnsmasq::Dnsmasq;
use crate::scripts::MEMORY;
use crate::serve::Ours;
use crate::tftp_client::{Manner, read};

/// The files: how large, and how often one is read in a round, so that a round is long enough to be measured.
const FILES: [(&str, usize, usize); 3] =
    [("small", 100_000, 40), ("middle", 1_000_000, 4), ("large", 16_000_000, 1)];
/// How many read at once.
const CLIENTS: [usize; 2] = [1, 8];
/// dnsmasq sends one block at a time; ours also by windows, as newer firmware asks for them.
const WINDOW: u16 = 8;

/// One of those that are compared.
struct Side {
    name: &'static str,
    manner: Manner,
    pid: u32,
}

/// What one side needed, round by round.
#[derive(Default)]
struct Rounds {
    /// Bytes a second.
    speeds: Vec<f64>,
    processor: Duration,
}

pub fn measure(rounds: usize, table: &mut Table) -> Result<()> {
    let own = tempfile::tempdir()?;
    for (name, size, _) in FILES {
        let mut content = vec![0; size];
        fastrand::Rng::with_seed(7).fill(&mut content);
        std::fs::write(own.path().join(name), content)?;
    }
    let dnsmasq = Dnsmasq::start(own.path(), "small")?;
    let ours = Ours::spawn("serve-tftp", &["--files".as_ref(), own.path().as_os_str()])?;
    let side = |name, server, window, pid| Side { name, manner: Manner { server, window }, pid };
    let sides = [
        side("dnsmasq", Dnsmasq::address(), 1, dnsmasq.pid()),
        side("ours", ours.address(), 1, ours.pid()),
        side("ours, 8 blocks at a time,", ours.address(), WINDOW, ours.pid()),
    ];
    same_bytes(&sides, own.path())?;
    let cores = cores::all()?;
    for clients in CLIENTS {
        let few = if clients == 1 { cores::first(&cores) } else { cores };
        for pid in [dnsmasq.pid(), ours.pid(), std::process::id()] {
            cores::keep(pid, &few)?;
        }
        for file in FILES {
            let measured = compare(&sides, file, clients, rounds)?;
            rows(table, &sides, &measured, file, clients);
        }
    }
    let figure = |memory: u64| format!("{:.1} MB", memory as f64 / 1e6);
    table.note("TFTP: most memory of dnsmasq", figure(most_resident(dnsmasq.pid())?));
    let memory = most_resident(ours.pid())?;
    table.add("TFTP: most memory of ours", "≤ 100 MB", figure(memory), memory <= MEMORY);
    Ok(())
}

/// Nobody is fast by giving something else.
fn same_bytes(sides: &[Side], files: &Path) -> Result<()> {
    for side in sides {
        for (name, ..) in FILES {
            let (expected, mut got) = (std::fs::read(files.join(name))?, Vec::<u8>::new());
            read(side.manner, name, |block| got.extend(block)).context(side.name)?;
            ensure!(got == expected, "{} gives other bytes of {name}", side.name);
        }
    }
    Ok(())
}

fn compare(sides: &[Side], file: (&str, usize, usize), clients: usize, rounds: usize) -> Result<Vec<Rounds>> {
    let mut measured: Vec<Rounds> = sides.iter().map(|_| Rounds::default()).collect();
    // The first round is not counted. Who goes first changes: whatever drifts on this machine hits all alike.
    for round in 0..=rounds {
        for turn in 0..sides.len() {
            let which = (turn + round) % sides.len();
            let (Some(side), Some(into)) = (sides.get(which), measured.get_mut(which)) else { continue };
            let before = processor_time(side.pid)?;
            let speed = read_all(side, file, clients)?;
            if round > 0 {
                into.speeds.push(speed);
                into.processor += processor_time(side.pid)?.saturating_sub(before);
            }
        }
    }
    Ok(measured)
}

/// Each client reads the file as often. Bytes a second.
fn read_all(side: &Side, (name, size, times): (&str, usize, usize), clients: usize) -> Result<f64> {
    let begun = Instant::now();
    thread::scope(|scope| {
        let one = || {
            (0..times).try_for_each(|_| {
                let got = read(side.manner, name, |_| ())?;
                ensure!(got == size, "{got} bytes of {size}");
                Ok(())
            })
        };
        let readers: Vec<_> = (0..clients).map(|_| scope.spawn(one)).collect();
        readers.into_iter().try_for_each(|reader| {
            reader.join().map_err(|_| anyhow::anyhow!("a client panicked"))?.context(side.name)
        })
    })?;
    Ok((size * times * clients) as f64 / begun.elapsed().as_secs_f64())
}

fn rows(
    table: &mut Table,
    sides: &[Side],
    measured: &[Rounds],
    (_, size, _): (&str, usize, usize),
    clients: usize,
) {
    let readers =
        if clients == 1 { "one client on the same core".to_owned() } else { format!("{clients} clients") };
    let what = format!("TFTP, {} kB, {readers}", size / 1000);
    let megabytes = |speeds: &[f64]| speeds.iter().map(|speed| speed / 1e6).collect::<Vec<f64>>();
    let Some((dnsmasq, others)) = measured.split_first() else { return };
    for (side, ours) in sides.iter().skip(1).zip(others) {
        let ratios = ratios(&ours.speeds, &dnsmasq.speeds);
        let figures = format!(
            "{}: {} to {}",
            spread(&ratios, "×"),
            spread(&megabytes(&ours.speeds), "MB/s"),
            spread(&megabytes(&dnsmasq.speeds), "MB/s")
        );
        let what = format!("{what}: {} to dnsmasq", side.name);
        if side.manner.window == 1 {
            table.add(what, "≥ 1 ×", figures, median(&ratios) >= 1.0);
        } else {
            table.note(what, figures);
        }
    }
    let processor = sides.iter().zip(measured).map(|(side, rounds)| {
        let each = rounds.processor.as_secs_f64() / rounds.speeds.len().max(1) as f64;
        format!("{} {each:.2} s", side.name)
    });
    table.note(format!("{what}: processor time a round"), processor.collect::<Vec<_>>().join(" "));
}
