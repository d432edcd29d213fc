//! An image and what is presented of it, as files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use beskar7_boot::{
    overlay::{Image, Overlay},
    source::{Source as _, read},
};
use bytes::Bytes;
use tempfile::TempDir;

use crate::tools::{Tools, files};

/// The trees of an image, by xorriso's names for them.
const TREES: [&str; 4] = ["any", "norock", "nojoliet", "ecma119"];
/// What xorriso may say otherwise about an image that has become larger.
const GROWN: [&str; 6] = [
    "ISO image size/512",
    "MBR partition      :",
    "MBR secs per head",
    "MBR heads per cyl",
    "GPT lba range",
    "GPT start and size",
];

/// An image and what is presented of it.
pub struct Presented {
    pub tools: Tools,
    pub overlay: Arc<Overlay>,
    pub original: Bytes,
    pub bytes: Vec<u8>,
    directory: TempDir,
}

/// Files by path.
type Files = BTreeMap<String, Vec<u8>>;
/// Files by path, each as it was and as it is.
pub type Differences = BTreeMap<String, (Vec<u8>, Vec<u8>)>;

impl Presented {
    /// Presents an image with these parameters.
    pub async fn new(tools: &Tools, image: &Path, arguments: &[&str]) -> Result<Self> {
        let original = Bytes::from(std::fs::read(image)?);
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let overlay = Arc::new(Image::inspect(&original).await?.with_arguments(&arguments)?);
        let presented = overlay.clone().over(Arc::new(original.clone()));
        let bytes = read(&presented, 0..presented.length()).await?.to_vec();
        ensure!(bytes.len() as u64 == overlay.length());
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("original.iso"), &original)?;
        std::fs::write(directory.path().join("presented.iso"), &bytes)?;
        Ok(Self { tools: tools.clone(), overlay, original, bytes, directory })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The image as it was.
    pub fn original_file(&self) -> PathBuf {
        self.at("original.iso")
    }

    /// The image as it is presented.
    pub fn file(&self) -> PathBuf {
        self.at("presented.iso")
    }

    /// Whether it has become larger.
    pub fn has_grown(&self) -> bool {
        self.bytes.len() > self.original.len()
    }

    /// The files that differ, by the names that each tree has for them.
    pub async fn differences(&self) -> Result<BTreeMap<&'static str, Differences>> {
        let mut all = BTreeMap::new();
        for tree in TREES {
            let before = self.tools.tree(&self.original_file(), tree, &self.at("before")).await?;
            let after = self.tools.tree(&self.file(), tree, &self.at("after")).await?;
            all.insert(tree, differences(&before, after).with_context(|| format!("through {tree}"))?);
        }
        Ok(all)
    }

    /// The files that differ when the first partition is mounted by itself.
    pub async fn partition_differences(&self, tree: &str) -> Result<Differences> {
        let mut files = Vec::new();
        for bytes in [&self.original[..], &self.bytes] {
            let number =
                |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            let (start, length) = (usize::try_from(number(454))? * 512, usize::try_from(number(458))? * 512);
            let partition = bytes.get(start..start + length).context("it ends behind the image")?;
            let file = self.at("partition.iso");
            std::fs::write(&file, partition)?;
            files.push(self.tools.tree(&file, tree, &self.at("partition")).await?);
        }
        let after = files.pop().unwrap_or_default();
        differences(&files.pop().unwrap_or_default(), after)
    }

    /// The files of the EFI system partition that firmware starts from this image, which is whole.
    pub async fn system_partition(&self, image: &Path) -> Result<Files> {
        let report = self.tools.report(image, "-report_el_torito").await?;
        let line = report.iter().find(|line| line.starts_with("El Torito boot img") && line.contains("UEFI"));
        let block = line.and_then(|line| line.split_whitespace().last()).context("nothing for UEFI")?;
        let start = block.parse::<usize>()? * 2048;
        let bytes = std::fs::read(image)?;
        let boot = bytes.get(start..start + 512).context("it is not there")?;
        let short = u32::from(u16::from_le_bytes([boot[19], boot[20]]));
        let long = u32::from_le_bytes([boot[32], boot[33], boot[34], boot[35]]);
        let length = usize::try_from(if short == 0 { long } else { short })? * 512;
        let partition = bytes.get(start..start + length).context("it ends behind the image")?;
        let file = self.at("esp.img");
        std::fs::write(&file, partition)?;
        fat_files(&self.tools, &file, &self.at("esp")).await
    }

    /// Checks that whatever points into the image says the same as before, but for what has become larger or was moved.
    pub async fn check_structures(&self) -> Result<()> {
        let (before, after) = self.reports("-report_el_torito").await?;
        for (was, is) in before.iter().zip(&after) {
            let may_move =
                self.has_grown() && (was.contains("UEFI") || was.starts_with("El Torito img blks"));
            ensure!(was == is || may_move, "El Torito: {was}, and then {is}");
        }
        ensure!(before.len() == after.len(), "El Torito: {before:?}, and then {after:?}");
        let (before, after) = self.reports("-report_system_area").await?;
        for (was, is) in before.iter().zip(&after) {
            let may_grow = self.has_grown() && GROWN.iter().any(|start| was.starts_with(start));
            ensure!(was == is || may_grow, "system area: {was}, and then {is}");
        }
        ensure!(before.len() == after.len(), "system area: {before:?}, and then {after:?}");
        for (tool, option) in [("sfdisk", "--verify"), ("sgdisk", "-v")] {
            let before = self.verdict(tool, option, &self.original_file()).await?;
            let after = self.verdict(tool, option, &self.file()).await?;
            ensure!(after.is_subset(&before), "{tool}: {before:?}, and then {after:?}");
        }
        Ok(())
    }

    /// What is wrong with the partitions of an image. Hybrid images always have something.
    async fn verdict(&self, tool: &str, option: &str, image: &Path) -> Result<BTreeSet<String>> {
        let output = self.tools.run(tool, &[option, &image.to_string_lossy()]).await?;
        let said = format!("{}\n{}", output.stdout, output.stderr).to_lowercase();
        let words =
            ["error", "problem", "overlap", "crc", "mismatch", "invalid", "corrupt", "damaged", "beyond"];
        // Alignment to whole megabytes is a wish of its own.
        let no_matter = |line: &&str| line.starts_with("no problems") || line.contains("encryption tools");
        let bad = said
            .lines()
            .filter(|line| !no_matter(line))
            .filter(|line| words.iter().any(|word| line.contains(word)));
        Ok(bad.map(str::to_owned).collect())
    }

    /// Checks that the places of changed configuration hold these parameters.
    pub fn check_configuration(&self, arguments: &[&str]) -> Result<()> {
        let mut all = String::new();
        for range in self.overlay.loader_configuration() {
            let range = usize::try_from(range.start)?..usize::try_from(range.end)?;
            all.push_str(&String::from_utf8_lossy(self.bytes.get(range).context("behind the image")?));
        }
        ensure!(arguments.iter().all(|argument| all.contains(argument)), "{all}");
        ensure!(!all.contains('\0'), "{all}");
        Ok(())
    }

    /// Checks the image by its own list of checksums.
    pub async fn check_sums(&self) -> Result<()> {
        let into = self.at("sums");
        self.tools.extract(&self.file(), "any", &into).await?;
        self.tools.output_in("md5sum", &["--quiet", "-c", "md5sum.txt"], &into).await?;
        Ok(std::fs::remove_dir_all(&into)?)
    }

    /// Checks that GRUB takes this for a script.
    pub async fn check_script(&self, text: &str) -> Result<()> {
        let file = self.at("script.cfg");
        std::fs::write(&file, text)?;
        self.tools.output("grub-script-check", &[&file.to_string_lossy()]).await.map(drop)
    }

    /// How the image is started, by xorriso, as it was and as it is.
    pub async fn reports(&self, command: &str) -> Result<(Vec<String>, Vec<String>)> {
        let before = self.tools.report(&self.original_file(), command).await?;
        Ok((before, self.tools.report(&self.file(), command).await?))
    }
}

/// Checks a FAT file system and gives its files.
async fn fat_files(tools: &Tools, image: &Path, into: &Path) -> Result<Files> {
    let image = image.to_string_lossy();
    tools.output("fsck.fat", &["-n", "-v", &image]).await?;
    std::fs::create_dir_all(into)?;
    tools.output("mcopy", &["-s", "-n", "-i", &image, "::*", &into.to_string_lossy()]).await?;
    let files = files(into)?;
    std::fs::remove_dir_all(into)?;
    Ok(files)
}

/// What differs. A file that is new was nothing; none is gone.
pub fn differences(before: &Files, after: Files) -> Result<Differences> {
    let gone: Vec<&String> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    ensure!(gone.is_empty(), "gone: {gone:?}");
    let was = |path: &str| before.get(path).cloned().unwrap_or_default();
    let pairs = after.into_iter().map(|(path, is)| (was(&path), path, is));
    Ok(pairs.filter(|(was, _, is)| was != is).map(|(was, path, is)| (path, (was, is))).collect())
}
