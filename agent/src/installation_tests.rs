use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    sync::{LazyLock, Mutex},
};

use beskar7_agent_protocol::order::{Algorithm, Checksum, Configuration, Image, ImageFormat};

use super::*;
use crate::{
    image::{Hasher, qcow2::Packing},
    testing::{
        Files, Memory, Told,
        images::{MIB, looks_installed, usual},
        noise,
        qcow2::{Content, made},
    },
};

#[path = "installation/failing_tests.rs"]
mod failing;

const NO_VARIABLES: &str = "/nowhere/efivars";

fn first_that_fits<'d>(disks: &'d [Disk], _: &DiskHints, least: u64) -> Result<&'d Disk, Problem> {
    let mut disks = disks.iter();
    disks.find(|disk| disk.size_bytes >= least).ok_or_else(|| Problem::new("choosing", "no disk fits"))
}

struct Case {
    order: Install,
    files: Files,
    told: Told,
    sector: u32,
    variables: PathBuf,
    kernel: Mutex<Vec<String>>,
}

impl Case {
    fn new(image: &[u8]) -> Self {
        let image_order = Image { path: "image".into(), format: ImageFormat::Auto, checksum: None };
        Self {
            order: Install { image: image_order, disk: DiskHints::default(), configuration: None },
            files: Files::new(&[("image", image), ("volume", &noise(300_001, 5))]),
            told: Told::default(),
            sector: 512,
            variables: NO_VARIABLES.into(),
            kernel: Mutex::default(),
        }
    }

    fn with_checksum(mut self, algorithm: Algorithm, digest: &str) -> Self {
        self.order.image.checksum = Some(Checksum { algorithm, digest: digest.into() });
        self
    }

    fn with_configuration(mut self) -> Self {
        self.order.configuration = Some(Configuration { path: "volume".into(), label: "cidata".into() });
        self
    }

    fn on(&self, disk: &Memory) -> Result<Installed, Problem> {
        let size_bytes = disk.length();
        let about = Disk {
            path: "/dev/vda".into(),
            size_bytes,
            sector_bytes: self.sector,
            serial_number: Some("S1".into()),
            ..Disk::default()
        };
        let tell_kernel = |disk: &Disk| {
            self.kernel.lock().unwrap().push(disk.path.clone());
            Ok(())
        };
        let surroundings = Surroundings {
            choose: first_that_fits,
            open: &|_| Ok(Box::new(disk.clone())),
            tell_kernel: &tell_kernel,
            variables: &self.variables,
            architecture: Some(Architecture::X64),
        };
        install(&self.order, &[about], &self.files, &self.told, &surroundings)
    }
}

fn old_disk(mebibytes: usize) -> Memory {
    let mut old = usual(mebibytes, 512);
    old[MIB..(mebibytes - 1) * MIB].fill(0xAA);
    Memory::new(old)
}

fn digest(algorithm: Algorithm, bytes: &[u8]) -> String {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(bytes);
    hasher.finish()
}

static IMAGE: LazyLock<Vec<u8>> = LazyLock::new(|| usual(9, 512));

/// The image in all ways that it can be packed: once, for it takes long without optimisation.
static PACKED: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&IMAGE).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
    xz.write_all(&IMAGE).unwrap();
    vec![
        ("raw", IMAGE.clone()),
        ("gzip", gzip.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
        ("zstd", zstd::encode_all(IMAGE.as_slice(), 1).unwrap()),
    ]
});

#[test]
fn an_image_is_on_the_disk_however_it_is_packed() {
    let image = &*IMAGE;
    let algorithms = [Algorithm::Md5, Algorithm::Sha256, Algorithm::Sha512, Algorithm::Sha256];
    for ((name, packed), algorithm) in PACKED.iter().zip(algorithms) {
        let disk = old_disk(16);
        let case = Case::new(packed).with_checksum(algorithm, &digest(algorithm, packed));
        let installed = case.on(&disk).unwrap();
        let expected = Installed {
            disk: "/dev/vda".into(),
            serial_number: Some("S1".into()),
            written: image.len() as u64,
            verified: true,
            boot_entry: None,
        };
        assert_eq!(installed, expected, "{name}");
        let content = disk.content();
        assert!(content[MIB..8 * MIB] == image[MIB..8 * MIB], "{name}");
        // Zeros of the image are written, and what is behind it is not.
        assert!(content[9 * MIB..14 * MIB].iter().all(|byte| *byte == 0xAA), "{name}");
        assert!(looks_installed(&content, 512), "{name}");
        assert_eq!(*case.kernel.lock().unwrap(), ["/dev/vda"]);
    }
}

#[test]
fn without_a_checksum_nothing_is_verified_and_any_bytes_are_an_image() {
    // It ends in a sector, and as large as the disk it is held back at both ends.
    for length in [5 * MIB + 700, 6 * MIB] {
        let image = noise(length, 8);
        let disk = Memory::new(vec![0xAA; 6 * MIB]);
        let installed = Case::new(&image).on(&disk).unwrap();
        assert_eq!((installed.verified, installed.written), (false, length as u64));
        let content = disk.content();
        assert!(content[..length] == image);
        let padding = length.next_multiple_of(512);
        assert!(content[length..padding].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_checksum_is_also_that_of_what_follows_the_image() {
    let gzip = [PACKED[1].1.clone(), vec![0; 3 * MIB]].concat();
    let disk = old_disk(9);
    let case = Case::new(&gzip).with_checksum(Algorithm::Md5, &digest(Algorithm::Md5, &gzip));
    assert!(case.on(&disk).unwrap().verified);
}

#[test]
fn the_configuration_is_in_a_partition_of_its_own() {
    let image = &*IMAGE;
    for hides_length in [false, true] {
        let disk = old_disk(16);
        let mut case = Case::new(image).with_configuration();
        case.files.hides_length = hides_length;
        let installed = case.on(&disk).unwrap();
        assert_eq!(installed.written, image.len() as u64 + 300_001);
        let content = disk.content();
        let partition = &content[14 * MIB..15 * MIB];
        assert!(partition[..300_001] == noise(300_001, 5));
        assert!(partition[300_001..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn the_configuration_is_not_asked_for_again_when_the_image_is_written() {
    // By then the server may not give it out any more, or give out another.
    let case = Case::new(&IMAGE).with_configuration();
    case.on(&old_disk(16)).unwrap();
    let opened = case.files.opened.lock().unwrap();
    assert_eq!(*opened, [("image".to_owned(), 0), ("volume".to_owned(), 0)]);
}

#[test]
fn progress_is_told_all_the_time() {
    let image = &*IMAGE;
    let case = Case::new(image);
    case.on(&old_disk(9)).unwrap();
    let told = case.told.progress.lock().unwrap();
    let mut steps: Vec<&str> = told.iter().map(|progress| progress.step.as_str()).collect();
    steps.dedup();
    assert_eq!(steps, ["fetching", "writing", "configuring", "booting"]);
    let done: Vec<u64> = told.iter().filter_map(|progress| progress.done).collect();
    assert_eq!(done, (1..=9).map(|block| block * MIB as u64).collect::<Vec<_>>());
    assert!(told.iter().filter(|progress| progress.done.is_some()).all(|p| p.total == Some(9 * MIB as u64)));
}

#[test]
fn a_disk_that_takes_long_for_zeros_is_heard_of() {
    // One cluster of each kind that holds nothing, and behind 159 of them one that does.
    let clusters: Vec<Content> = (0..160)
        .map(|number| match number {
            159 => Content::Plain(7),
            number if number % 2 == 0 => Content::Missing,
            _ => Content::Zeros,
        })
        .collect();
    let image = made(3, 20, Packing::Zlib, 160 << 20, &clusters);
    let case = Case::new(&image);
    case.on(&Memory::new(vec![0; 161 * MIB])).unwrap();
    let told = case.told.progress.lock().unwrap();
    let zeros = told.iter().filter(|progress| progress.step == "writing zeros");
    let how_far: Vec<_> =
        zeros.map(|progress| (progress.disk.as_deref(), progress.done, progress.total)).collect();
    let of = |mebibytes: u64| (Some("/dev/vda"), Some(mebibytes << 20), Some(159 << 20));
    assert_eq!(how_far, [of(64), of(128)]);
}

#[test]
fn a_disk_behind_a_file_is_written_the_same() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("disk");
    let image = &*IMAGE;
    fs::write(&path, vec![0xAA; 16 * MIB + 512]).unwrap();
    let in_memory = Memory::new(vec![0xAA; 16 * MIB + 512]);
    let case = Case::new(image);
    case.on(&in_memory).unwrap();
    let about =
        Disk { path: "d".into(), size_bytes: (16 * MIB + 512) as u64, sector_bytes: 512, ..Disk::default() };
    let surroundings = Surroundings {
        choose: first_that_fits,
        open: &|_| Ok(Box::new(crate::target::DiskFile::open(&path)?)),
        tell_kernel: &|_| Err(io::Error::other("it does not listen")),
        variables: Path::new(NO_VARIABLES),
        architecture: None,
    };
    install(&case.order, &[about], &case.files, &case.told, &surroundings).unwrap();
    assert!(fs::read(&path).unwrap() == in_memory.content());
    assert!(case.told.lines.lock().unwrap().iter().any(|line| line.contains("it does not listen")));
}

/// A disk of 6 MiB, each cluster of which is another.
fn qcow2() -> Vec<u8> {
    let clusters: Vec<Content> = (0..96).map(|number| Content::Plain(number + 1)).collect();
    made(3, 16, Packing::Zlib, 6 << 20, &clusters)
}

#[test]
fn a_qcow2_is_verified_before_the_disk_is_touched() {
    let image = qcow2();
    let case = Case::new(&image).with_checksum(Algorithm::Sha256, &digest(Algorithm::Sha256, &image));
    let disk = old_disk(9);
    let installed = case.on(&disk).unwrap();
    assert_eq!((installed.verified, installed.written), (true, 6 << 20));
    let content = disk.content();
    assert!((0..96).all(|number| {
        content[number << 16..][..1 << 16].iter().all(|byte| usize::from(*byte) == number + 1)
    }));
    let told = case.told.progress.lock().unwrap();
    let mut steps: Vec<&str> = told.iter().map(|progress| progress.step.as_str()).collect();
    steps.dedup();
    assert_eq!(steps, ["fetching", "verifying", "writing", "configuring", "booting"]);
}
