//! Small images, each with what the well-known ones don't have.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::tools::Tools;

/// A GRUB configuration like many.
pub const GRUB: &str = "set timeout=60\nmenuentry 'Install' {\n  linux /images/vmlinuz quiet rd.live.check\n  initrd /images/initrd.img\n}\n";
/// The same for isolinux.
pub const ISOLINUX: &str = "default a\nprompt 1\nlabel a\n  kernel /images/vmlinuz\n  append initrd=/images/initrd.img quiet --- x\n";

/// A folder that becomes an image.
pub struct Small {
    tools: Tools,
    directory: TempDir,
}

impl Small {
    /// With a kernel that is none.
    pub fn new(tools: &Tools) -> Result<Self> {
        let small = Self { tools: tools.clone(), directory: tempfile::tempdir()? };
        small.write("images/vmlinuz", "a kernel\n".repeat(3000))?;
        small.write("images/initrd.img", "an initramfs\n".repeat(3000))?;
        Ok(small)
    }

    /// Where a file of the tree is.
    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("tree").join(path)
    }

    /// A file beside the tree.
    pub fn beside(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// A file of the tree.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        write(&self.at(path), content)
    }

    /// A FAT file system with these files, and, where it is to be full, one more that takes the rest.
    pub async fn fat(
        &self,
        image: &Path,
        bits: u8,
        kib: u64,
        files: &[(&str, &str)],
        full: bool,
    ) -> Result<()> {
        std::fs::create_dir_all(image.parent().context("no folder")?)?;
        File::create(image)?.set_len(kib * 1024)?;
        let name = image.to_string_lossy();
        let cluster = if bits == 32 { "1" } else { "2" };
        self.tools
            .output("mkfs.fat", &["-F", &bits.to_string(), "-s", cluster, "-i", "b7b7b7b7", &name])
            .await?;
        let folder = self.beside("fat");
        for (path, text) in files {
            write(&folder.join(path), text)?;
        }
        let mut top: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            top.push(entry?.path().to_string_lossy().into_owned());
        }
        top.sort();
        let top: Vec<&str> = top.iter().map(String::as_str).collect();
        let copy = [&["-s", "-i", &name][..], &top, &["::/"]].concat();
        self.tools.output("mcopy", &copy).await?;
        std::fs::remove_dir_all(&folder)?;
        if full {
            self.fill(image).await?;
        }
        Ok(())
    }

    /// Fills what is free of a FAT file system, to the last cluster.
    async fn fill(&self, image: &Path) -> Result<()> {
        let name = image.to_string_lossy();
        let said = self.tools.output("mdir", &["-i", &name, "::/"]).await?;
        let free = said.lines().find(|line| line.contains("bytes free")).context("mdir says nothing")?;
        let free: String = free.chars().filter(char::is_ascii_digit).collect();
        let filler = self.beside("filler.bin");
        let bytes: Vec<u8> = (0..free.parse::<usize>()?).map(|index| (index / 512 % 251) as u8).collect();
        std::fs::write(&filler, bytes)?;
        self.tools.output("mcopy", &["-i", &name, &filler.to_string_lossy(), "::/"]).await.map(drop)
    }

    /// Makes the image: `options` are those of mkisofs, as xorriso takes them.
    pub async fn iso(&self, options: &[&str]) -> Result<PathBuf> {
        let image = self.beside("small.iso");
        let (to, from) = (image.to_string_lossy().into_owned(), self.at("").to_string_lossy().into_owned());
        let all = [&["-as", "mkisofs", "-quiet", "-V", "SMALL", "-o", &to][..], options, &[&from]].concat();
        self.tools.output("xorriso", &all).await?;
        Ok(image)
    }
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    std::fs::create_dir_all(path.parent().context("no folder")?)?;
    std::fs::write(path, content).with_context(|| format!("writing {}", path.display()))
}
