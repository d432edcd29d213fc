use std::process::{Command, Stdio};

use super::*;

/// What a reader finds of an entry: path, mode, links, the node's device, content.
type Found = (String, u32, u32, (u32, u32), Vec<u8>);

fn field(header: &[u8], number: usize) -> u32 {
    let text = str::from_utf8(&header[6 + number * 8..][..8]).unwrap();
    u32::from_str_radix(text, 16).unwrap()
}

/// Reads an archive by the format's description: headers of 110 bytes, then names, then contents, each aligned to four.
fn read(archive: &[u8]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut at = 0;
    loop {
        let header = &archive[at..at + 110];
        assert!(header.starts_with(b"070701"));
        let name_length = field(header, 11) as usize;
        let name = &archive[at + 110..at + 110 + name_length];
        assert_eq!(name.last(), Some(&0));
        let name = String::from_utf8(name[..name_length - 1].to_vec()).unwrap();
        let content = (at + 110 + name_length).next_multiple_of(4);
        let end = content + field(header, 6) as usize;
        for zero in [2, 3, 5, 7, 8, 12] {
            assert_eq!(field(header, zero), 0, "user, group, time, device and checksum are nothing");
        }
        if name == END {
            assert_eq!(end, archive.len());
            return found;
        }
        let device = (field(header, 9), field(header, 10));
        found.push((name, field(header, 1), field(header, 4), device, archive[content..end].to_vec()));
        at = end.next_multiple_of(4);
    }
}

fn made(entries: &[(&str, Kind<'_>)]) -> Vec<u8> {
    let mut archive = Archive::new(Vec::new());
    for (path, kind) in entries {
        archive.add(path, *kind).unwrap();
    }
    let written = archive.written();
    let bytes = archive.end().unwrap();
    assert!(written < bytes.len() as u64 && written.is_multiple_of(4));
    bytes
}

#[test]
fn every_kind_of_entry_is_read_again_whatever_its_lengths_are() {
    let content = [7; 9];
    for name_length in 1..9 {
        let name = "n".repeat(name_length);
        for content_length in 0..content.len() {
            let content = &content[..content_length];
            let console = Device { major: 5, minor: 1 };
            let entries = [
                ("d", Kind::Directory),
                (name.as_str(), Kind::File { executable: true, content }),
                ("plain", Kind::File { executable: false, content }),
                ("link", Kind::Link(&name)),
                ("d/console", Kind::Node(console)),
            ];
            let expected: Vec<Found> = vec![
                ("d".into(), 0o040_755, 2, (0, 0), vec![]),
                (name.clone(), 0o100_755, 1, (0, 0), content.to_vec()),
                ("plain".into(), 0o100_644, 1, (0, 0), content.to_vec()),
                ("link".into(), 0o120_777, 1, (0, 0), name.clone().into_bytes()),
                ("d/console".into(), 0o020_600, 1, (5, 1), vec![]),
            ];
            assert_eq!(read(&made(&entries)), expected, "{name_length} {content_length}");
        }
    }
}

#[test]
fn no_two_entries_are_the_same_file() {
    let archive = made(&[("a", Kind::Directory), ("b", Kind::Directory), ("c", Kind::Directory)]);
    let inodes: std::collections::BTreeSet<u32> =
        (0..3).map(|number| field(&archive[number * 112..], 0)).collect();
    assert_eq!(inodes.len(), 3);
}

/// cpio itself, where it is installed, lists and unpacks it.
#[test]
fn cpio_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let archive = made(&[
        ("etc", Kind::Directory),
        ("etc/file", Kind::File { executable: false, content: b"content\n" }),
        ("etc/link", Kind::Link("file")),
    ]);
    let at = directory.path().join("archive");
    std::fs::write(&at, archive).unwrap();
    let run = |arguments: &[&str]| {
        let input = std::fs::File::open(&at).unwrap();
        Command::new("cpio").args(arguments).current_dir(directory.path()).stdin(Stdio::from(input)).output()
    };
    let listed = match run(&["-t", "--quiet"]) {
        Ok(listed) => listed,
        Err(error) => {
            beskar7_skipped::skipped("cpio_reads_it", format!("cpio: {error}"));
            return;
        }
    };
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "etc\netc/file\netc/link\n");
    assert!(listed.status.success() && listed.stderr.is_empty());
    assert!(run(&["-i", "--quiet"]).unwrap().status.success());
    assert_eq!(std::fs::read(directory.path().join("etc/link")).unwrap(), b"content\n");
}
