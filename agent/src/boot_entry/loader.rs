//! Which file of an EFI system partition is to be started.

use std::io;

use super::fat::{Entry, Fat};

/// What the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// x86, 64 bits.
    X64,
    /// ARM, 64 bits.
    Aa64,
}

impl Architecture {
    /// By the kernel's word; none for what no image is made for.
    #[must_use]
    pub fn of(machine: &str) -> Option<Self> {
        match machine {
            "x86_64" => Some(Self::X64),
            "aarch64" => Some(Self::Aa64),
            _ => None,
        }
    }

    /// As names of loaders have it.
    const fn name(self) -> &'static str {
        match self {
            Self::X64 => "x64",
            Self::Aa64 => "aa64",
        }
    }
}

/// A loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loader {
    /// Its path, with backslashes.
    pub path: String,
    /// Whether there is one that firmware starts by itself, too.
    pub has_fallback: bool,
}

impl Loader {
    /// Finds the best: what a distribution installed, shim before GRUB, then what is for firmware that knows nothing.
    ///
    /// # Errors
    /// The partition can't be read.
    pub fn find(fat: &Fat<'_, '_>, architecture: Architecture) -> io::Result<Option<Self>> {
        let name = architecture.name();
        let Some(efi) = find(&fat.root()?, "EFI", true) else { return Ok(None) };
        let mut directories = fat.list(&efi)?;
        directories.retain(|entry| entry.is_directory);
        directories.sort_by(|one, other| one.name.cmp(&other.name));
        let mut fallback = None;
        let mut best: Option<(usize, String)> = None;
        for directory in &directories {
            let files = fat.list(directory)?;
            let path = |file: &Entry| format!(r"\{}\{}\{}", efi.name, directory.name, file.name);
            if directory.name.eq_ignore_ascii_case("BOOT") {
                fallback = find(&files, &format!("boot{name}.efi"), false).map(|file| path(&file));
                continue;
            }
            let known =
                [format!("shim{name}.efi"), format!("grub{name}.efi"), format!("systemd-boot{name}.efi")];
            let found = known.iter().enumerate();
            let found =
                found.filter_map(|(rank, known)| find(&files, known, false).map(|file| (rank, path(&file))));
            best = best.into_iter().chain(found).min_by_key(|(rank, _)| *rank);
        }
        let has_fallback = fallback.is_some();
        Ok(best.map(|(_, path)| path).or(fallback).map(|path| Self { path, has_fallback }))
    }
}

fn find(entries: &[Entry], name: &str, is_directory: bool) -> Option<Entry> {
    let mut entries = entries.iter();
    entries.find(|entry| entry.is_directory == is_directory && entry.name.eq_ignore_ascii_case(name)).cloned()
}
