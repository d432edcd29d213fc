use std::path::Path;
use std::process::Command;

use super::*;
use crate::plan::Part;

/// A file system in memory, from paths and contents.
fn made(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entries: Vec<Entry<'_>> =
        files.iter().map(|(path, content)| Entry { path, length: content.len() as u64 }).collect();
    let plan = plan(&entries).unwrap();
    let mut image = Vec::new();
    plan.write(&mut image, |number, to| {
        to.extend_from_slice(&files[number].1);
        Ok(files[number].1.len() as u64)
    })
    .unwrap();
    assert_eq!(image.len() as u64, plan.length());
    image
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes([bytes[at], bytes[at + 1]]).into()
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// A reader that knows only what stands in the file system.
struct Reader<'a> {
    image: &'a [u8],
    cluster: usize,
    root: usize,
    data: usize,
}

impl<'a> Reader<'a> {
    fn new(image: &'a [u8]) -> Self {
        let root = (u16_at(image, 14) + 2 * u16_at(image, 22)) * 512;
        let data = root + u16_at(image, 17) * SLOT;
        Self { image, cluster: usize::from(image[13]) * 512, root, data }
    }

    fn clusters(&self) -> usize {
        (self.length() - self.data) / self.cluster
    }

    fn length(&self) -> usize {
        let sectors = match u16_at(self.image, 19) {
            0 => u32_at(self.image, 32),
            short => short,
        };
        sectors * 512
    }

    fn content(&self, first: usize) -> Vec<u8> {
        let mut content = Vec::new();
        let mut at = first;
        while (2..0xFFF8).contains(&at) {
            content.extend_from_slice(&self.image[self.data + (at - 2) * self.cluster..][..self.cluster]);
            at = u16_at(self.image, u16_at(self.image, 14) * 512 + at * 2);
        }
        content
    }

    fn walk(&self, directory: &[u8], above: &str, found: &mut Vec<(String, Vec<u8>)>) {
        let mut long = String::new();
        for slot in directory.chunks(SLOT).take_while(|slot| slot[0] != 0) {
            if slot[11] == 0x0F {
                let places = (1..11).step_by(2).chain((14..26).step_by(2)).chain([28, 30]);
                let part: Vec<u16> = places.map(|at| u16::from_le_bytes([slot[at], slot[at + 1]])).collect();
                let part: Vec<u16> = part.into_iter().take_while(|letter| *letter != 0).collect();
                long = String::from_utf16(&part).unwrap() + &long;
                continue;
            }
            let text =
                |range: std::ops::Range<usize>| String::from_utf8_lossy(&slot[range]).trim().to_owned();
            let (stem, extension) = (text(0..8), text(8..11));
            let short = if extension.is_empty() { stem } else { format!("{stem}.{extension}") };
            let name = if long.is_empty() { short } else { std::mem::take(&mut long) };
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{above}{name}");
            let mut content = self.content(u16_at(slot, 26));
            if slot[11] == DIRECTORY {
                self.walk(&content, &format!("{path}/"), found);
            } else {
                content.truncate(u32_at(slot, 28));
                found.push((path, content));
            }
        }
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        self.walk(&self.image[self.root..self.data], "", &mut found);
        found.sort();
        found
    }
}

fn agent() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("EFI/BOOT/BOOTX64.EFI", vec![1; 100_000]),
        ("kernel", vec![2; 8_000_001]),
        ("initramfs", vec![3; 2048]),
        ("loader/loader.conf", b"timeout 0\n".to_vec()),
        ("loader/entries/agent.conf", b"title x\n".to_vec()),
        ("loader/entries/another-long-name-of-an-entry.conf", b"y".to_vec()),
        ("empty", Vec::new()),
    ]
}

fn sorted(files: &[(&str, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let mut sorted: Vec<_> =
        files.iter().map(|(path, content)| ((*path).to_owned(), content.clone())).collect();
    sorted.sort();
    sorted
}

#[test]
fn every_file_is_found_again_by_its_exact_name() {
    let many: Vec<String> = (0..150).map(|number| format!("d/same-beginning-{number}")).collect();
    let many: Vec<(&str, Vec<u8>)> =
        many.iter().map(|path| (path.as_str(), path.clone().into_bytes())).collect();
    for files in [agent(), many, vec![("A", vec![7; 9])], Vec::new()] {
        let image = made(&files);
        assert!(Reader::new(&image).files() == sorted(&files));
    }
}

#[test]
fn it_is_fat16_to_every_reader_however_small_or_large() {
    for (length, cluster) in [(0, 2048), (100 << 20, 2048), (200 << 20, 4096), (1 << 30, 32_768)] {
        let plan = plan(&[Entry { path: "a", length }]).unwrap();
        let Part::Bytes(head) = &plan.parts()[0] else { panic!("it begins with its tables") };
        let reader = Reader::new(head);
        assert_eq!(reader.length() as u64, plan.length());
        assert_eq!(reader.cluster, cluster, "{length}");
        assert!((4085..65_525).contains(&reader.clusters()), "{length}: {}", reader.clusters());
        assert_eq!(reader.data % 2048, 0, "clusters begin with a CD's sectors");
    }
    let error = plan(&[Entry { path: "a", length: 3 << 30 }]).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
}

#[test]
fn some_clusters_stay_free() {
    // So large that it would have enough clusters to be FAT16 without them.
    let image = made(&[("kernel", vec![2; 12_000_000])]);
    let table = &image[u16_at(&image, 14) * 512..];
    let clusters = Reader::new(&image).clusters();
    let free = (2..clusters + 2).filter(|cluster| u16_at(table, cluster * 2) == 0).count();
    assert!(free >= 32, "{free}");
}

#[test]
fn names_that_differ_in_case_alone_are_the_same() {
    let files = [Entry { path: "a/Name", length: 0 }, Entry { path: "a/name", length: 0 }];
    assert_eq!(plan(&files).unwrap_err(), VolumeError::Twice { path: "name".to_owned() });
}

/// Others' tools, where they are installed, find what was put in and nothing wrong.
#[test]
fn fsck_and_mtools_agree() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("fat.img");
    std::fs::write(&at, made(&agent())).unwrap();
    for (program, arguments) in [("fsck.fat", vec!["-n", "-v"]), ("minfo", vec!["-i"])] {
        match Command::new(program).args(&arguments).arg(&at).output() {
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{program}: {said}");
            }
            Err(error) => beskar7_skipped::skipped("fsck_and_mtools_agree", format!("{program}: {error}")),
        }
    }
    for (path, content) in agent() {
        let to = directory.path().join("extracted");
        let source = format!("::/{path}");
        let mcopy = Command::new("mcopy").arg("-n").arg("-i").arg(&at).arg(&source).arg(&to).output();
        match mcopy {
            Ok(output) => {
                assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
                assert!(read(&to) == content, "{path}");
                std::fs::remove_file(&to).unwrap();
            }
            Err(error) => beskar7_skipped::skipped("fsck_and_mtools_agree", format!("mcopy: {error}")),
        }
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
