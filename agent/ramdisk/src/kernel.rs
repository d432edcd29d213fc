//! A kernel for x86-64 as distributions ship it: what its image says of it.

pub mod configuration;

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// The setup code with all that is looked at is within this.
const HEAD: u64 = 64 * 1024;
/// The protocol from which on an image says whether it has 64 bits.
const SAYS_WIDTH: u16 = 0x020C;

/// What an image says of its kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname -r` says it.
    pub release: String,
    /// Whether UEFI firmware and boot loaders can start it as a program.
    pub has_efi_stub: bool,
}

impl Kernel {
    /// Reads the head of an image.
    ///
    /// # Errors
    /// It can't be read, or is no kernel for x86-64.
    pub fn read(path: &Path) -> Result<Self> {
        let mut head = Vec::new();
        let file =
            std::fs::File::open(path).with_context(|| format!("opening the kernel {}", path.display()))?;
        file.take(HEAD)
            .read_to_end(&mut head)
            .with_context(|| format!("reading the kernel {}", path.display()))?;
        Self::parse(&head).with_context(|| format!("the kernel {}", path.display()))
    }

    /// After the kernel's own description of its boot protocol (Documentation/arch/x86/boot.rst).
    fn parse(head: &[u8]) -> Result<Self> {
        if head.get(0x202..0x206) != Some(b"HdrS") {
            bail!("is no image of a kernel for x86 (a bzImage, as distributions have it in /boot/vmlinuz-…)");
        }
        let is_wide = u16_at(head, 0x206).is_some_and(|protocol| protocol >= SAYS_WIDTH)
            && u16_at(head, 0x236).is_some_and(|flags| flags & 1 == 1);
        if !is_wide {
            bail!("is one for 32 bits, and the agent has 64");
        }
        let release = release(head).context("does not say its version")?;
        Ok(Self { release, has_efi_stub: head.starts_with(b"MZ") })
    }
}

/// The first word of the version's text.
fn release(head: &[u8]) -> Option<String> {
    let offset = u16_at(head, 0x20E).filter(|offset| *offset > 0)?;
    let text = head.get(0x200 + usize::from(offset)..)?;
    let word = text.split(|byte| *byte == 0 || *byte == b' ').next()?;
    let word = str::from_utf8(word).ok()?;
    // It names a directory.
    let is_release =
        !word.is_empty() && !word.starts_with('.') && word.chars().all(|c| c.is_ascii_graphic() && c != '/');
    is_release.then(|| word.to_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(version: &[u8]) -> Vec<u8> {
        let mut head = b"MZ".to_vec();
        head.resize(0x400, 0);
        head[0x202..0x206].copy_from_slice(b"HdrS");
        head[0x206..0x208].copy_from_slice(&0x020F_u16.to_le_bytes());
        head[0x20E..0x210].copy_from_slice(&0x200_u16.to_le_bytes());
        head[0x236] = 0x7F;
        head.extend_from_slice(version);
        head
    }

    #[test]
    fn an_image_says_its_release() {
        let kernel = Kernel::parse(&image(b"6.1.0-9-amd64 (who@where) #1 SMP\0more")).unwrap();
        assert_eq!(kernel, Kernel { release: "6.1.0-9-amd64".to_owned(), has_efi_stub: true });
        let mut without_stub = image(b"6.1.0\0");
        without_stub[0] = 0;
        assert!(!Kernel::parse(&without_stub).unwrap().has_efi_stub);
    }

    #[test]
    fn what_is_no_kernel_for_x86_64_is_said() {
        let mut narrow = image(b"6.1.0\0");
        narrow[0x236] = 0;
        let mut old = image(b"6.1.0\0");
        old[0x207] = 1;
        let mut silent = image(b"6.1.0\0");
        silent[0x20E..0x210].fill(0);
        for (head, why) in [
            (b"ARM".to_vec(), "no image"),
            (narrow, "32 bits"),
            (old, "32 bits"),
            (silent, "version"),
            (image(b""), "version"),
            (image(b"../x\0"), "version"),
        ] {
            let error = Kernel::parse(&head).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
