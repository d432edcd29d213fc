//! `e2e bench-configurations`: what it costs when very many machines read their configuration at the same moment.
//!
//! The manager is the built one, with its boot server, against a real API server. It has enrolled the hosts and taken them
//! for machines by itself; their BMCs are simulated and their machines stay off. Only that they boot is written onto them
//! from here. Measured are the replica that leads, with all that it knows of the BMCs, one that does not, and a boot server
//! by itself.

mod machines;
mod rush;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_boot::capability::Key;
use beskar7_redfish_bench::table::Table;
use beskar7_redfish_bench::usage::{self, most_resident, resident};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use self::machines::{FILES, begin_to_boot, make};
use self::rush::{Rush, rush};
use super::place::Place;
use super::worker::Worker;
use crate::manager::{self, BOOT_SERVICE_ACCOUNT, Manager, NAMESPACE};
use crate::probe::install_crypto;
use crate::tools::Tool;
use crate::tools::progress::{self, Progress};
use crate::workspace;

const MOST_MEMORY: u64 = 100_000_000;
/// When nothing happens any more.
const QUIET: Duration = Duration::from_secs(5);
/// Where the manager keeps the key that capabilities are made with.
const KEY_SECRET: &str = "beskar7-boot-key";

/// What is measured, and with what.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many machines read their configuration at once.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub machines: usize,
    /// How large the bootstrap data of each is.
    #[arg(long, value_name = "BYTES", default_value_t = 20_000)]
    pub bytes: usize,
    /// The built manager.
    #[arg(long, value_name = "PATH", default_value_os_t = workspace::manager_program())]
    pub manager: PathBuf,
    /// The built simulator of BMCs.
    #[arg(long, value_name = "PATH", default_value_os_t = workspace::simulator_program())]
    pub simulator: PathBuf,
    /// Where the table is written, too.
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// Measures, and returns the table as text.
pub fn run(options: &Options) -> Result<String> {
    ensure!(options.machines > 0, "--machines must be at least 1");
    for program in [&options.manager, &options.simulator] {
        ensure!(program.is_file(), "there is no {}: `make bench-boot` builds it", program.display());
    }
    install_crypto();
    usage::raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("a runtime")?;
    let text = runtime.block_on(measure(options, &mut *progress::on_stderr()))?;
    if let Some(path) = &options.out {
        std::fs::write(path, &text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(text)
}

async fn measure(options: &Options, progress: &mut dyn Progress) -> Result<String> {
    progress.note("a control plane with our release, and simulated BMCs");
    let mut place = Place::open(&options.manager, &options.simulator, options.machines, false).await?;
    let kubernetes = place.plane.tools().version(Tool::KubeApiserver)?;
    let namespace = place.new_namespace().await?;
    let mut replica = place.replica("leader", &namespace);
    replica.boot_server = true;
    let leader = Worker::Manager(Box::new(place.lead(&replica).await?));
    progress.note(&format!("{} machines, each on a host of its own", options.machines));
    let machines = make(&place, &namespace, &leader, options).await?;
    replica.name = "follower".to_owned();
    let follower = Manager::start(&place.plane, &replica).await?;
    let by_itself = start_by_itself(&place, &replica).await?;
    let key = key(&place).await?;

    let mut table = Table::default();
    let leading = leader.manager().context("it is one")?;
    let all = [
        ("the replica that leads", leading),
        ("a replica that follows", &follower),
        ("a boot server by itself", &by_itself),
    ];
    for (who, replica) in all {
        progress.note(&format!("all of them read their configuration from {who}"));
        begin_to_boot(&place, &namespace, &machines).await?;
        leader.quiet(&mut place, QUIET).await?;
        let pid = replica.process().pid().unsigned_abs();
        let before = resident(pid)?;
        let rush = rush(replica, &key, &machines, options.bytes).await?;
        // What follows from the rush is a part of it: that each configuration was read is written down.
        let asked = leader.quiet(&mut place, QUIET).await?;
        let memory = Memory { before, most: most_resident(pid)?, after: resident(pid)? };
        let asked = format!(
            "{} reads, {} writes, {} of them refused",
            asked.reads(),
            asked.total() + asked.refused(),
            asked.refused()
        );
        add_rows(&mut table, options, who, &rush, &memory, asked);
    }
    by_itself.stop().await?;
    follower.stop().await?;
    leader.end(&place).await?;
    place.close().await?;
    let who = format!("manager, API server (Kubernetes {kubernetes}), etcd, simulator and all clients");
    let crates = ["beskar7-controllers", "beskar7-boot", "axum", "hyper", "kube", "tokio"];
    Ok(format!("{}\n{table}", usage::machine(&who, &crates)))
}

/// As its DaemonSet has it: with its own rights, and no controllers.
async fn start_by_itself(place: &Place, like: &manager::Options) -> Result<Manager> {
    let manifests = workspace::root().join("config/boot");
    place.plane.kubectl(&["apply", "-k", &manifests.to_string_lossy()]).await?.success()?;
    let mut options = like.clone();
    options.name = "boot-only".to_owned();
    (options.leader_elect, options.service_account) = (false, BOOT_SERVICE_ACCOUNT);
    options.flags.push("--boot-only".to_owned());
    Manager::start(&place.plane, &options).await
}

/// In bytes.
struct Memory {
    before: u64,
    most: u64,
    after: u64,
}

fn add_rows(table: &mut Table, options: &Options, who: &str, rush: &Rush, memory: &Memory, asked: String) {
    let what = format!(
        "{} machines read {}, with {} kB of bootstrap data each, from {who}",
        options.machines,
        FILES.join(", "),
        options.bytes / 1000
    );
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    table.add(
        format!("{what}: its memory"),
        "< 100 MB",
        format!(
            "{} at most; {} before, {} after",
            megabytes(memory.most),
            megabytes(memory.before),
            megabytes(memory.after)
        ),
        memory.most < MOST_MEMORY,
    );
    let wanted = options.machines * FILES.len();
    let wrong = rush.wrong.first().map(|why| format!("; one of the others: {why}")).unwrap_or_default();
    table.add(
        format!("{what}: right answers"),
        &wanted.to_string(),
        format!("{}, with up to {} connections open at once{wrong}", rush.right, rush.connections),
        rush.right == wanted,
    );
    table.note(
        format!("{what}: time"),
        format!(
            "{:.1} s; a machine has all it asked for after {:.1} s (median; {:.1} to {:.1})",
            rush.wall.as_secs_f64(),
            rush.each(0.5).as_secs_f64(),
            rush.each(0.0).as_secs_f64(),
            rush.each(1.0).as_secs_f64()
        ),
    );
    table.note(format!("{what}: what all replicas asked of the API server meanwhile"), asked);
}

async fn key(place: &Place) -> Result<Key> {
    let secrets: Api<Secret> = Api::namespaced(place.client.clone(), NAMESPACE);
    let secret = secrets.get(KEY_SECRET).await.context("the boot server's key")?;
    let bytes = secret.data.and_then(|mut data| data.remove("key")).context("there is no key in it")?;
    Ok(Key::new(&bytes.0)?)
}
