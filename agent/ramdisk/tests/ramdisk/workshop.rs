//! Inputs for the program, and running it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::program;

/// The release of the kernel that is none.
pub const RELEASE: &str = "6.1.0-b7";
const NEEDS: &str = "kernel/drivers/net/virtio_net.ko: kernel/net/core/failover.ko\nkernel/net/core/failover.ko:\n\
    kernel/drivers/block/virtio_blk.ko:\nkernel/sound/snd.ko:\n";

/// A folder with an agent, and with a kernel, modules and a boot loader of which nothing can be started.
pub struct Workshop {
    pub folder: TempDir,
}

impl Workshop {
    pub fn new() -> Self {
        let workshop = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(workshop.at("agent"), program::saying("hello from the agent")).unwrap();
        fs::write(workshop.at("kernel"), kernel()).unwrap();
        fs::write(workshop.at("loader.efi"), loader()).unwrap();
        workshop.tree();
        workshop
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn tree(&self) {
        let tree = self.at("modules").join(RELEASE);
        for line in NEEDS.lines() {
            let path = tree.join(line.split(':').next().unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("\x7fELF\0vermagic={RELEASE} SMP \0")).unwrap();
        }
        fs::write(tree.join("modules.dep"), NEEDS).unwrap();
        fs::write(tree.join("modules.alias"), "alias virtio:d00000001v* virtio_net\nalias snd-* snd\n")
            .unwrap();
        fs::write(tree.join("modules.builtin"), "kernel/fs/efivarfs/efivarfs.ko\n").unwrap();
    }

    /// Runs the program with what is here, and with more.
    pub fn run(&self, more: &[&str]) -> Output {
        let (agent, kernel) = (self.at("agent"), self.at("kernel"));
        run(&agent, &kernel, &self.at("modules"), &self.at("loader.efi"), &self.at("out"), more)
    }

    /// The same, and it works.
    pub fn make(&self, more: &[&str]) -> String {
        let output = self.run(more);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Runs the program.
pub fn run(agent: &Path, kernel: &Path, modules: &Path, loader: &Path, out: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ramdisk"));
    command.env("RUST_BACKTRACE", "0");
    let named = [
        ("--agent", agent),
        ("--kernel", kernel),
        ("--modules", modules),
        ("--loader", loader),
        ("--out", out),
    ];
    for (option, path) in named {
        command.arg(option).arg(path);
    }
    command.args(more).output().unwrap()
}

/// What begins like a kernel.
fn kernel() -> Vec<u8> {
    let mut kernel = b"MZ".to_vec();
    kernel.resize(0x400, 0);
    kernel[0x202..0x206].copy_from_slice(b"HdrS");
    kernel[0x206..0x208].copy_from_slice(&0x020F_u16.to_le_bytes());
    kernel[0x20E..0x210].copy_from_slice(&0x200_u16.to_le_bytes());
    kernel[0x236] = 1;
    kernel.extend_from_slice(format!("{RELEASE} (nobody) #1\0").as_bytes());
    kernel.resize(1_000_000, 7);
    kernel
}

/// What begins like a program for UEFI.
fn loader() -> Vec<u8> {
    let mut loader = b"MZ".to_vec();
    loader.resize(0x40, 0);
    loader[0x3C] = 0x40;
    loader.extend_from_slice(b"PE\0\0\x64\x86");
    loader.resize(100_000, 3);
    loader
}
