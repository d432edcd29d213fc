//! Scripts for iPXE: ours makes each for its machine, beside nginx, which serves a file of the same size to all.

use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use beskar7_redfish_bench::figures::{median, ratios, spread};
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::most_resident;

use crate::client::Client;
use crate::serve::Ours;
use crate::serve_scripts::{CLAIMS, script_path, script_size};
use beskar7_redfish_bench::nginx::Nginx;

/// How many ours must answer, beside nginx.
const BAR: f64 = 0.5;
/// It may take so much memory at once.
pub const MEMORY: u64 = 100_000_000;
/// Each client asks so often in a round.
const ASKS: usize = 4_000;
const CLIENTS: [usize; 2] = [1, 8];

pub fn measure(rounds: usize, table: &mut Table) -> Result<()> {
    let own = tempfile::tempdir()?;
    let files = own.path().join("files");
    std::fs::create_dir(&files)?;
    std::fs::write(files.join("boot.ipxe"), vec![b'#'; script_size()?])?;
    let nginx = Nginx::start(own.path(), &files)?;
    let ours = Ours::spawn("serve-scripts", &[])?;
    for clients in CLIENTS {
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        // The first round is not counted; who goes first changes.
        for round in 0..=rounds {
            let mut run = |is_ours: bool| -> Result<()> {
                let (address, into) =
                    if is_ours { (ours.address(), &mut own) } else { (nginx.address(), &mut theirs) };
                let answered = ask(address, clients, is_ours)?;
                if round > 0 {
                    into.push(answered);
                }
                Ok(())
            };
            run(round % 2 == 0)?;
            run(round % 2 != 0)?;
        }
        let who = if clients == 1 { "one client".to_owned() } else { format!("{clients} clients") };
        let ratio = ratios(&own, &theirs);
        let figures = format!("{}: {} to {}", spread(&ratio, "×"), spread(&own, "/s"), spread(&theirs, "/s"));
        table.add(
            format!("scripts for {CLAIMS} machines, {who}: ours to a file from nginx"),
            "≥ 0.5 ×",
            figures,
            median(&ratio) >= BAR,
        );
    }
    let memory = most_resident(ours.pid())?;
    let figure = format!("{} MB", memory / 1_000_000);
    table.add("most memory: scripts".to_owned(), "≤ 100 MB", figure, memory <= MEMORY);
    Ok(())
}

/// All clients ask as fast as they are answered, each on one connection. Answers a second.
fn ask(address: SocketAddr, clients: usize, each_its_own: bool) -> Result<f64> {
    let size = script_size()? as u64;
    let connections: Result<Vec<Client>> = (0..clients).map(|_| Client::connect(address)).collect();
    let connections = connections?;
    let paths: Result<Vec<String>> = (0..CLAIMS).map(script_path).collect();
    let paths = &paths?;
    let begun = Instant::now();
    thread::scope(|scope| {
        let readers: Vec<_> = connections
            .into_iter()
            .enumerate()
            .map(|(which, mut client)| {
                scope.spawn(move || -> Result<()> {
                    for number in 0..ASKS {
                        let path = match each_its_own {
                            true => paths.get((which * ASKS + number) % CLAIMS).context("no path")?,
                            false => "/boot.ipxe",
                        };
                        let read = client.whole(path)?;
                        ensure!(read == size, "{read} bytes instead of {size}");
                    }
                    Ok(())
                })
            })
            .collect();
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().map_err(|_| anyhow::anyhow!("a client panicked"))?)
    })?;
    Ok((clients * ASKS) as f64 / begun.elapsed().as_secs_f64())
}
