//! The agent's side: its installation, through its own HTTP client, in this process.

use std::io;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use beskar7_agent::disks;
use beskar7_agent::installation::{Surroundings, install};
use beskar7_agent::server::{Limits, Server};
use beskar7_agent::target::{Device, DiskFile};
use beskar7_agent::telling::Telling;
use beskar7_agent_protocol::hardware::Disk;
use beskar7_agent_protocol::order::{Algorithm, Checksum, DiskHints, Image, ImageFormat, Install};
use beskar7_agent_protocol::report::Progress;
use beskar7_redfish_bench::usage;

use crate::{Job, rounds};

struct Nobody;

impl Telling for Nobody {
    fn progress(&self, _: Progress) {}
    fn log(&self, _: &str) {}
    fn is_unwanted(&self) -> bool {
        false
    }
}

/// Installs, and says how long that took and what memory it took at most.
pub fn run(job: &Job) -> Result<()> {
    let path = job.disk.to_str().context("the disk's path is no text")?;
    let size_bytes = DiskFile::open(&job.disk)?.length();
    let disk = Disk { path: path.to_owned(), size_bytes, sector_bytes: 512, ..Disk::default() };
    let checksum = Some(Checksum { algorithm: Algorithm::Sha256, digest: job.digest.clone() });
    let image = Image { path: job.url.to_string(), format: ImageFormat::Raw, checksum };
    let order = Install { image, disk: DiskHints::default(), configuration: None };
    let open =
        |disk: &Disk| -> io::Result<Box<dyn Device>> { Ok(Box::new(DiskFile::open(Path::new(&disk.path))?)) };
    let surroundings = Surroundings {
        choose: disks::choose,
        open: &open,
        tell_kernel: &|_| Ok(()),
        // No firmware is told of a benchmark.
        variables: Path::new("/nowhere"),
        architecture: None,
    };
    let begun = Instant::now();
    let server = Server::connect(job.url.join("/")?, None, Limits::default())?;
    let installed = install(&order, &[disk], &server, &Nobody, &surroundings)?;
    let took = begun.elapsed();
    ensure!(installed.verified, "it was not verified");
    rounds::tell(took, usage::most_resident(std::process::id())?);
    Ok(())
}
