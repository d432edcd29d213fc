//! One boot of one machine, from power to the call home.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beskar7_boot::capability::Purpose;
use beskar7_boot::delivery::{ArtifactName, Learned};
use beskar7_boot::dhcp::Loader;
use beskar7_e2e::isos::{Isos, Layout};
use beskar7_e2e::vm::{Console, Disk, Hardware, Start, Vm};
use beskar7_e2e::wait;
use ring::digest::{SHA256, digest};

use super::claim::Starts;
use super::desk::USER_DATA;
use super::servers::Servers;

/// It takes 20 to 50 s, and took 180 where compilers had all cores and this had what was left.
pub const LIMIT: Duration = Duration::from_secs(900);

/// A parameter of what is on disks, by which it is known.
const FROM_DISK: &str = "b7.from=disk";

/// iPXE of any kind that is in use.
pub const IPXE: Loader = Loader::Ipxe { http: true };

/// Boots a machine once, and lets the kernel that it is given call home. Returns the address that this has got.
pub async fn boots(isos: &Isos, hardware: Hardware, start: Start, servers: &Servers) -> Result<Ipv4Addr> {
    let begin = Instant::now();
    let what = format!("{} {start:?}", hardware.firmware);
    let vm = Vm::new(isos.installed(), hardware)?;
    vm.power_on(start).await?;
    let console = vm.console().await;
    calls_home(&console, servers).await?;
    eprintln!("{what}: {:.1} s", begin.elapsed().as_secs_f64());
    let address = console.said("address")?.context("no address")?;
    let (address, prefix) = address.split_once('/').with_context(|| format!("no network: {address}"))?;
    ensure!(prefix == "24", "another network: {prefix}");
    vm.power_off().await?;
    Ok(address.parse()?)
}

/// Waits until a kernel has read its configuration and called home, each with the capability for it.
pub async fn calls_home(console: &Console, servers: &Servers) -> Result<()> {
    console.until("done", LIMIT).await.with_context(|| format!("it asked: {:?}", servers.known.heard()))?;
    let lines = console.lines()?;
    let read = console.said("user-data sha256")?;
    ensure!(read == Some(sha256(USER_DATA)), "the configuration is another: {lines:#?}");
    let parameters = console.said("cmdline")?.with_context(|| format!("no parameters: {lines:#?}"))?;
    let seed = servers.desk.claim.seed();
    ensure!(parameters.split_whitespace().any(|word| word == seed), "{seed} is not among {parameters}");
    let expected = learned(servers.desk.claim.starts);
    wait::until_true("a call home", LIMIT, || async {
        let learned = servers.desk.learned();
        Ok(if learned == expected { Ok(()) } else { Err(format!("{learned:?}")) })
    })
    .await?;
    Ok(())
}

/// What is learned of a machine until it has called home, in its order, and by which of its capabilities.
fn learned(starts: Starts) -> Vec<(Purpose, Learned)> {
    let fetched = |artifact, last| (Purpose::Media, Learned::Fetched { artifact, last });
    let script = (Purpose::Media, Learned::ScriptRead);
    let kernel = [script, fetched(ArtifactName::Kernel, false), fetched(ArtifactName::Initramfs(0), true)];
    let mut learned = match starts {
        Starts::Kernel => kernel.to_vec(),
        Starts::KernelByAnotherIpxe => [script].into_iter().chain(kernel).collect(),
        Starts::Program => vec![fetched(ArtifactName::Program, true)],
        Starts::Disk => vec![script],
    };
    learned.push((Purpose::Configuration, Learned::ConfigurationRead));
    learned.push((Purpose::PhoneHome, Learned::CalledHome));
    learned
}

/// What runs on a machine, one after the other, as it asked for addresses.
pub fn loaders(servers: &Servers) -> Vec<Loader> {
    let mut loaders: Vec<_> = servers.known.heard().into_iter().map(|heard| heard.loader).collect();
    loaders.dedup();
    loaders
}

/// A machine's disk, from which both firmwares start.
pub async fn disks(isos: &Isos) -> Result<Vec<Disk>> {
    Ok(vec![Disk::with(isos.iso(Layout::Debian, &[FROM_DISK, "quiet"]).await?)])
}

/// Waits until a machine has started from its disk.
pub async fn starts_from_disk(console: &Console) -> Result<()> {
    console.until("done", LIMIT).await?;
    let parameters = console.said("cmdline")?.context("no parameters")?;
    ensure!(parameters.split_whitespace().any(|word| word == FROM_DISK), "not from its disk: {parameters}");
    Ok(())
}

/// The SHA-256 of a text, in hex.
pub fn sha256(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
