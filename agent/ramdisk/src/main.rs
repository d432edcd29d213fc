//! `ramdisk`: makes the initramfs and the ISO that the agent runs from, out of the agent, a kernel and its modules.
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use beskar7_ramdisk::initramfs::{self, Contents};
use beskar7_ramdisk::iso::{self, Medium};
use beskar7_ramdisk::kernel::{Kernel, configuration};
use beskar7_ramdisk::modules::{Modules, Wanted};
use beskar7_ramdisk::{agent, sizes::Sizes};
use clap::Parser;

/// Where Debian and others have systemd-boot.
const USUAL_LOADER: &str = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";

/// Makes the initramfs and the ISO that the agent runs from.
#[derive(Parser)]
struct Args {
    /// The agent's static program
    #[arg(long)]
    agent: PathBuf,

    /// The kernel: a distribution's vmlinuz
    #[arg(long)]
    kernel: PathBuf,

    /// The kernel's modules: /lib/modules/<release>, or a root that has it
    #[arg(long)]
    modules: PathBuf,

    /// systemd-boot; without it, the installed one is taken, and without that no ISO is made
    #[arg(long)]
    loader: Option<PathBuf>,

    /// A CA's certificate (PEM) for the boot server
    #[arg(long)]
    ca: Option<PathBuf>,

    /// A module to take besides, by its name
    #[arg(long = "add-module", value_name = "NAME")]
    add_modules: Vec<String>,

    /// A file with names of modules to take besides, one in a line
    #[arg(long, value_name = "FILE")]
    modules_list: Option<PathBuf>,

    /// Take all modules
    #[arg(long)]
    all_modules: bool,

    /// The kernel's parameters in the ISO. The last console is the one that the agent writes to
    #[arg(long, default_value = "console=tty0 console=ttyS0,115200 panic=60")]
    options: String,

    /// Where kernel, initramfs and agent.iso are written
    #[arg(long, default_value = "out/ramdisk")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let wanted = wanted(&args)?;
    let kernel = Kernel::read(&args.kernel)?;
    let modules = Modules::open(&args.modules, &kernel.release)?;
    println!("kernel {}, modules of {}", kernel.release, modules.folder().display());
    match configuration::find(&args.kernel, &kernel.release, modules.folder()) {
        Some(path) => configuration::check(&path)?,
        None => println!(
            "not checked: what the kernel was built with; there is no config-{} beside it",
            kernel.release
        ),
    }
    fs::create_dir_all(&args.out).with_context(|| format!("making {}", args.out.display()))?;
    let mut sizes = make_initramfs(&args, &kernel, &modules, &wanted)?;
    let copy = args.out.join("kernel");
    sizes.kernel = fs::copy(&args.kernel, &copy).with_context(|| format!("writing {}", copy.display()))?;
    match loader(&args) {
        Some(loader) => {
            if !kernel.has_efi_stub {
                bail!("the kernel {} can't be started by UEFI: it has no EFI stub", args.kernel.display());
            }
            make_iso(&args, &loader, &mut sizes)?;
        }
        None => println!(
            "no agent.iso: there is no systemd-boot. On Debian: apt-get install systemd-boot-efi; else name it (LOADER=…)"
        ),
    }
    print!("{}\n{sizes}", args.out.display());
    sizes.check()
}

fn wanted(args: &Args) -> Result<Wanted> {
    let mut more = args.add_modules.clone();
    if let Some(path) = &args.modules_list {
        let list = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let names = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        more.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    Ok(Wanted { all: args.all_modules, more })
}

fn loader(args: &Args) -> Option<PathBuf> {
    args.loader.clone().or_else(|| Some(PathBuf::from(USUAL_LOADER)).filter(|path| path.is_file()))
}

fn make_initramfs(args: &Args, kernel: &Kernel, modules: &Modules, wanted: &Wanted) -> Result<Sizes> {
    let program = agent::read(&args.agent)?;
    let ca = args.ca.as_deref().map(initramfs::read_ca).transpose()?;
    let (taken, lists) = modules.choose(wanted)?;
    let contents = Contents {
        agent: &program,
        ca: ca.as_deref(),
        release: &kernel.release,
        modules,
        taken: &taken,
        lists: &lists,
    };
    let path = args.out.join("initramfs");
    let unpacked = finished(&path, |part| {
        let file = File::create(part).with_context(|| format!("writing {}", part.display()))?;
        initramfs::write(&contents, BufWriter::new(file))
    })?;
    let agent = program.len() as u64;
    Ok(Sizes {
        agent,
        modules: unpacked.modules,
        module_count: taken.len(),
        rest: unpacked.all.saturating_sub(unpacked.modules + agent),
        initramfs: length(&path)?,
        ..Sizes::default()
    })
}

fn make_iso(args: &Args, loader: &Path, sizes: &mut Sizes) -> Result<()> {
    let (kernel, initramfs) = (args.out.join("kernel"), args.out.join("initramfs"));
    let medium = Medium { loader, kernel: &kernel, initramfs: &initramfs, options: &args.options };
    let path = args.out.join("agent.iso");
    finished(&path, |part| iso::write(&medium, part))?;
    sizes.iso = Some(length(&path)?);
    sizes.loader = length(loader)?;
    Ok(())
}

/// A file that gets its name when it is whole.
fn finished<T>(path: &Path, write: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let part = path.with_extension("part");
    let made = write(&part)?;
    fs::rename(&part, path).with_context(|| format!("naming {}", path.display()))?;
    Ok(made)
}

fn length(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("looking at {}", path.display()))?.len())
}
