//! An ISO that UEFI firmware starts the agent from, as virtual media.
//!
//! systemd-boot reads only the file system that it was started from. So the ISO has one file, a FAT file system that
//! El Torito leads firmware to, and everything is in that. The entry is a text file: the boot server's overlay adds a
//! machine's kernel parameters to it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use beskar7_volume::plan::Entry;
use beskar7_volume::{fat, iso};

/// The ISO's label.
const LABEL: &str = "BESKAR7";
/// The FAT file system in the ISO.
const SYSTEM_PARTITION: &str = "efiboot.img";
/// What firmware starts from a medium that it does not know.
const STARTED: &str = "EFI/BOOT/BOOTX64.EFI";
/// Programs for x86-64, as PE numbers machines.
const X86_64: u16 = 0x8664;

/// systemd-boot asks nobody.
const SETTINGS: &str = "timeout 0\ndefault agent.conf\neditor no\n";

/// What an ISO is made of.
#[derive(Debug, Clone, Copy)]
pub struct Medium<'a> {
    /// The boot loader.
    pub loader: &'a Path,
    /// The kernel.
    pub kernel: &'a Path,
    /// The initramfs.
    pub initramfs: &'a Path,
    /// The kernel's parameters.
    pub options: &'a str,
}

enum Content<'a> {
    File(&'a Path),
    Text(String),
}

impl Content<'_> {
    fn length(&self) -> Result<u64> {
        match self {
            Self::File(path) => {
                let about =
                    std::fs::metadata(path).with_context(|| format!("looking at {}", path.display()))?;
                Ok(about.len())
            }
            Self::Text(text) => Ok(text.len() as u64),
        }
    }

    fn write(&self, to: &mut impl Write) -> io::Result<u64> {
        match self {
            Self::File(path) => io::copy(&mut File::open(path)?, to),
            Self::Text(text) => to.write_all(text.as_bytes()).map(|()| text.len() as u64),
        }
    }
}

/// Writes an ISO. Nothing of its files is held in memory.
///
/// # Errors
/// It can't be written, or what it is made of can't be started.
pub fn write(medium: &Medium<'_>, to: &Path) -> Result<()> {
    check_loader(medium.loader)?;
    check_options(medium.options)?;
    let files = [
        (STARTED, Content::File(medium.loader)),
        ("kernel", Content::File(medium.kernel)),
        ("initramfs", Content::File(medium.initramfs)),
        ("loader/loader.conf", Content::Text(SETTINGS.to_owned())),
        ("loader/entries/agent.conf", Content::Text(entry(medium.options))),
    ];
    let mut entries = Vec::new();
    for (path, content) in &files {
        entries.push(Entry { path, length: content.length()? });
    }
    let partition = fat::plan(&entries).context("planning the EFI system partition")?;
    let whole = Entry { path: SYSTEM_PARTITION, length: partition.length() };
    let iso = iso::plan_bootable(LABEL, &[whole], SYSTEM_PARTITION).context("planning the ISO")?;

    let writing = || format!("writing {}", to.display());
    let mut out = BufWriter::new(File::create(to).with_context(writing)?);
    let written = iso.write(&mut out, |_, out| {
        partition
            .write(out, |number, out| files.get(number).map_or(Ok(0), |(_, content)| content.write(out)))?;
        Ok(partition.length())
    });
    written.and_then(|()| out.flush()).with_context(writing)
}

fn entry(options: &str) -> String {
    format!("title Beskar7 agent\nlinux /kernel\ninitrd /initramfs\noptions {options}\n")
}

/// One line of printable ASCII: that is what an entry has room for.
fn check_options(options: &str) -> Result<()> {
    if options.is_empty() || !options.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        bail!("the kernel's parameters must be one line of printable ASCII, and not empty: {options:?}");
    }
    Ok(())
}

fn check_loader(path: &Path) -> Result<()> {
    let program =
        std::fs::read(path).with_context(|| format!("reading the boot loader {}", path.display()))?;
    if machine(&program) != Some(X86_64) {
        bail!(
            "the boot loader {} is no EFI program for x86-64: name systemd-boot, such as \
             /usr/lib/systemd/boot/efi/systemd-bootx64.efi (on Debian: apt-get install systemd-boot-efi)",
            path.display()
        );
    }
    Ok(())
}

/// What machine a PE program is for.
fn machine(program: &[u8]) -> Option<u16> {
    let at: [u8; 4] = program.get(0x3C..0x40)?.try_into().ok()?;
    let header = program.get(usize::try_from(u32::from_le_bytes(at)).ok()?..)?;
    let machine: [u8; 2] = header.strip_prefix(b"PE\0\0")?.get(..2)?.try_into().ok()?;
    program.starts_with(b"MZ").then(|| u16::from_le_bytes(machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_efi_program_for_the_machine_is_a_boot_loader() {
        let mut program = b"MZ".to_vec();
        program.resize(0x40, 0);
        program[0x3C] = 0x40;
        program.extend_from_slice(b"PE\0\0\x64\x86");
        assert_eq!(machine(&program), Some(X86_64));
        assert_eq!(machine(&program[..0x45]), None);
        program[0] = b'X';
        assert_eq!(machine(&program), None);
        assert_eq!(machine(b"text"), None);
    }

    #[test]
    fn parameters_are_one_line() {
        assert!(check_options("console=ttyS0,115200 panic=60").is_ok());
        for wrong in ["", "a\nlinux /other", "a\tb", "ä"] {
            assert!(check_options(wrong).is_err(), "{wrong:?}");
        }
    }
}
