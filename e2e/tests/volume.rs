//! Configuration volumes, read by other people's software: every file is found by its name in every tree.
//!
//! The programs are looked for on this machine; a test whose program is absent says so and ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use beskar7_boot::delivery::{Configuration, MetaData};
use beskar7_boot::volume::contents::Format;
use beskar7_boot::volume::{File, bootable_iso, iso};
use tempfile::TempDir;

/// Runs a program and gives what it printed; nothing if it is not on this machine.
fn run<A: AsRef<OsStr>>(
    test: &str,
    program: &str,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Option<String>> {
    let ended = match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            beskar7_skipped::skipped(test, format!("{program} is not on this machine"));
            return Ok(None);
        }
        ended => ended.with_context(|| format!("running {program}"))?,
    };
    let (said, complained) = (String::from_utf8(ended.stdout)?, String::from_utf8_lossy(&ended.stderr));
    ensure!(ended.status.success(), "{program}: {}\n{said}\n{complained}", ended.status);
    // xorriso ends well even where it could not read a part.
    let bad =
        complained.lines().find(|line| ["FAILURE", "SORRY", "WARNING"].iter().any(|w| line.contains(w)));
    ensure!(bad.is_none(), "{program}: {complained}");
    Ok(Some(said))
}

/// A volume as a file.
struct Volume {
    place: TempDir,
    label: &'static str,
    files: BTreeMap<String, Vec<u8>>,
}

impl Volume {
    fn new(label: &'static str, files: &[File<'_>], image: &[u8]) -> Result<Self> {
        let place = tempfile::tempdir()?;
        std::fs::write(place.path().join("volume.iso"), image)?;
        let files = files.iter().map(|file| (file.path.to_owned(), file.content.to_vec())).collect();
        Ok(Self { place, label, files })
    }

    fn image(&self) -> PathBuf {
        self.place.path().join("volume.iso")
    }

    /// As the plain tree names its files.
    fn plain_files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files
            .iter()
            .map(|(path, content)| (path.to_uppercase().replace('-', "_"), content.clone()))
            .collect()
    }
}

/// The two configuration volumes, and something like an installer.
fn volumes() -> Result<Vec<Volume>> {
    let configuration = Configuration {
        user_data: "#cloud-config\n".repeat(2000).into(),
        meta_data: MetaData {
            instance_id: "claim-1".into(),
            hostname: "node-1".into(),
            provider_id: "b7://metal/host-1".into(),
            zone: Some("rack-1".into()),
            host: "host-1".into(),
            namespace: "metal".into(),
            cluster: None,
            uuid: None,
            phone_home_url: "http://127.0.0.1/home".into(),
            more: Default::default(),
        },
        network_config: Some("version: 2\n".into()),
    };
    let mut volumes = Vec::new();
    for format in [Format::Cidata, Format::Config2] {
        let files = format.files(&configuration);
        volumes.push(Volume::new(format.label(), &files, &iso(format.label(), &files)?)?);
    }
    let installer = [
        File { path: "boot/grub/grub.cfg", content: "menuentry Install {}\n".into() },
        File { path: "boot/grub/efi.img", content: vec![5; 1 << 20].into() },
        File { path: "casper/vmlinuz", content: vec![6; 70_001].into() },
        File { path: "casper/empty", content: "".into() },
    ];
    let image = bootable_iso("Installer_1", &installer, "boot/grub/efi.img")?;
    volumes.push(Volume::new("Installer_1", &installer, &image)?);
    Ok(volumes)
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(here) = waiting.pop() {
        for entry in std::fs::read_dir(&here)? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(folder)?.to_str().context("a name")?.to_owned();
                found.insert(name, std::fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// The files as xorriso extracts them through one of the trees.
fn extracted(test: &str, volume: &Volume, tree: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>> {
    let target = volume.place.path().join(tree);
    let (image, target_text) = (volume.image(), target.to_str().context("a path")?.to_owned());
    let image = image.to_str().context("a path")?;
    let arguments = [
        "-abort_on",
        "FAILURE",
        "-read_fs",
        tree,
        "-indev",
        image,
        "-osirrox",
        "on",
        "-extract",
        "/",
        &target_text,
    ];
    match run(test, "xorriso", arguments)? {
        None => Ok(None),
        Some(_) => files(&target).map(Some),
    }
}

#[test]
fn xorriso_reads_every_file_through_every_tree() -> Result<()> {
    for volume in volumes()? {
        // With Rock Ridge; the same where Joliet is not looked at; Joliet alone; neither.
        for (tree, expected) in [
            ("any", volume.files.clone()),
            ("nojoliet", volume.files.clone()),
            ("norock", volume.files.clone()),
            ("ecma119", volume.plain_files()),
        ] {
            let read = extracted("xorriso_reads_every_file_through_every_tree", &volume, tree)?;
            let Some(read) = read else { return Ok(()) };
            ensure!(
                read.keys().eq(expected.keys()),
                "{} by {tree}: {:?}, not {:?}",
                volume.label,
                read.keys(),
                expected.keys()
            );
            for (path, content) in &expected {
                ensure!(read.get(path) == Some(content), "{} by {tree}: {path} differs", volume.label);
            }
        }
    }
    Ok(())
}

#[test]
fn xorriso_finds_what_firmware_starts_from_where_there_is_something() -> Result<()> {
    for volume in volumes()? {
        let image = volume.image();
        let image = image.to_str().context("a path")?;
        let arguments = ["-indev", image, "-report_el_torito", "plain", "-pvd_info"];
        let test = "xorriso_finds_what_firmware_starts_from_where_there_is_something";
        let Some(said) = run(test, "xorriso", arguments)? else { return Ok(()) };
        ensure!(said.contains(&format!("Volume Id    : {}", volume.label)), "{said}");
        let starts = said.contains("El Torito boot img :   1  UEFI  y");
        ensure!(starts == (volume.label == "Installer_1"), "{}: {said}", volume.label);
    }
    Ok(())
}

#[test]
fn blkid_sees_the_label_that_cloud_init_looks_for() -> Result<()> {
    for volume in volumes()? {
        for (tag, expected) in [("LABEL", volume.label), ("TYPE", "iso9660")] {
            let image = volume.image();
            let arguments = [
                OsStr::new("-p"),
                "-o".as_ref(),
                "value".as_ref(),
                "-s".as_ref(),
                tag.as_ref(),
                image.as_ref(),
            ];
            let test = "blkid_sees_the_label_that_cloud_init_looks_for";
            let Some(said) = run(test, "blkid", arguments)? else { return Ok(()) };
            assert_eq!(said.trim(), expected);
        }
    }
    Ok(())
}

#[test]
fn isoinfo_reads_every_file_by_its_name() -> Result<()> {
    let test = "isoinfo_reads_every_file_by_its_name";
    for volume in volumes()? {
        let image = volume.image();
        let image = image.to_str().context("a path")?;
        for option in ["-R", "-J"] {
            let Some(said) = run(test, "isoinfo", ["-i", image, option, "-f"])? else { return Ok(()) };
            let listed: Vec<&str> = said.lines().map(|line| line.trim_start_matches('/')).collect();
            for path in volume.files.keys() {
                ensure!(listed.contains(&path.as_str()), "{} by {option}: no {path}: {said}", volume.label);
            }
        }
    }
    Ok(())
}
