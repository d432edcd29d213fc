//! The ramdisk itself: the agent as the first process, what the kernel needs before it runs, and the modules.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use beskar7_agent_protocol::ramdisk::CA;
use flate2::{Compression, GzBuilder};

use crate::cpio::{Archive, Device, Kind};
use crate::modules::Modules;
use crate::modules::index::Lists;

/// What there is even when it is empty: what the agent mounts over, and where it writes.
const DIRECTORIES: [&str; 8] = ["dev", "etc/beskar7", "lib/modules", "mnt", "proc", "run", "sys", "tmp"];

/// The kernel gives its first process a console before the agent could mount anything.
const NODES: [(&str, Device); 3] = [
    ("dev/console", Device { major: 5, minor: 1 }),
    ("dev/kmsg", Device { major: 1, minor: 11 }),
    ("dev/null", Device { major: 1, minor: 3 }),
];

/// What is put in.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The agent's program.
    pub agent: &'a [u8],
    /// A CA's certificate, in PEM.
    pub ca: Option<&'a [u8]>,
    /// The release of the kernel.
    pub release: &'a str,
    /// Its modules.
    pub modules: &'a Modules,
    /// Those of them that are taken.
    pub taken: &'a [crate::modules::Module],
    /// The lists of these.
    pub lists: &'a Lists,
}

/// How much of it is what, unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// All of it.
    pub all: u64,
    /// Modules and their lists.
    pub modules: u64,
}

/// Something in the ramdisk.
#[derive(Debug, Clone, Copy)]
enum Piece<'a> {
    Directory,
    Program(&'a [u8]),
    Text(&'a [u8]),
    Node(Device),
    Module(&'a crate::modules::Module),
}

/// Reads a CA's certificate.
///
/// # Errors
/// It can't be read, or is none.
pub fn read_ca(path: &Path) -> Result<Vec<u8>> {
    let pem = std::fs::read(path).with_context(|| format!("reading the CA {}", path.display()))?;
    let has = |mark: &[u8]| pem.windows(mark.len()).any(|window| window == mark);
    if has(b"PRIVATE KEY") {
        bail!(
            "{} holds a private key, which must not get into a ramdisk: name a certificate",
            path.display()
        );
    }
    if !has(b"-----BEGIN CERTIFICATE-----") {
        bail!("{} is no certificate in PEM", path.display());
    }
    Ok(pem)
}

/// Writes the ramdisk, packed with gzip, which every kernel unpacks.
///
/// # Errors
/// It can't be written, or a module can't be read.
pub fn write(contents: &Contents<'_>, to: impl Write) -> Result<Unpacked> {
    // Without a time and a name, the same pieces are the same bytes.
    let packed = GzBuilder::new().mtime(0).write(to, Compression::best());
    let mut archive = Archive::new(packed);
    let mut unpacked = Unpacked::default();
    for (path, piece) in pieces(contents) {
        let before = archive.written();
        let is_module = path.starts_with("lib/modules/");
        match piece {
            Piece::Directory => archive.add(&path, Kind::Directory),
            Piece::Program(content) => archive.add(&path, Kind::File { executable: true, content }),
            Piece::Text(content) => archive.add(&path, Kind::File { executable: false, content }),
            Piece::Node(device) => archive.add(&path, Kind::Node(device)),
            Piece::Module(module) => {
                let content = contents.modules.read(module)?;
                archive.add(&path, Kind::File { executable: false, content: &content })
            }
        }
        .with_context(|| format!("writing /{path} into the initramfs"))?;
        if is_module {
            unpacked.modules += archive.written() - before;
        }
    }
    unpacked.all = archive.written();
    let packed = archive.end().context("ending the initramfs")?;
    packed.finish().and_then(|mut to| to.flush()).context("ending the initramfs")?;
    Ok(unpacked)
}

/// All of it by path, so that each directory comes before what is in it.
fn pieces<'a>(contents: &Contents<'a>) -> BTreeMap<String, Piece<'a>> {
    let folder = format!("lib/modules/{}", contents.release);
    let mut pieces = BTreeMap::from([("init".to_owned(), Piece::Program(contents.agent))]);
    pieces.extend(DIRECTORIES.map(|path| (path.to_owned(), Piece::Directory)));
    pieces.extend(NODES.map(|(path, device)| (path.to_owned(), Piece::Node(device))));
    pieces.extend(contents.ca.map(|pem| (CA.to_owned(), Piece::Text(pem))));
    let lists = contents.lists.iter();
    pieces.extend(lists.map(|(name, text)| (format!("{folder}/{name}"), Piece::Text(text.as_bytes()))));
    let modules = contents.taken.iter();
    pieces.extend(modules.map(|module| (format!("{folder}/{}", module.path), Piece::Module(module))));
    let above: BTreeSet<String> = pieces.keys().flat_map(|path| directories_above(path)).collect();
    for path in above {
        pieces.entry(path).or_insert(Piece::Directory);
    }
    pieces
}

fn directories_above(path: &str) -> Vec<String> {
    let above = Path::new(path).ancestors().skip(1).map(PathBuf::from);
    above.map(|path| path.to_string_lossy().into_owned()).filter(|path| !path.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_is_a_certificate_and_never_a_key() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("ca.pem");
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
        for (text, why) in [
            (certificate.to_owned(), None),
            (format!("{certificate}-----BEGIN PRIVATE KEY-----\n"), Some("private key")),
            ("\x30\x01".to_owned(), Some("no certificate")),
        ] {
            std::fs::write(&at, &text).unwrap();
            match (read_ca(&at), why) {
                (Ok(read), None) => assert_eq!(read, text.as_bytes()),
                (Err(error), Some(why)) => assert!(error.to_string().contains(why), "{error}"),
                (Ok(_) | Err(_), None | Some(_)) => panic!("{why:?}"),
            }
        }
    }

    #[test]
    fn every_directory_on_the_way_is_there_before_what_is_in_it() {
        assert_eq!(directories_above("a/b/c"), ["a/b", "a"]);
        assert_eq!(directories_above("init"), Vec::<String>::new());
    }
}
