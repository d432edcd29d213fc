//! The firmware's variables, as files: efivarfs. Four bytes with attributes come before a variable's content.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// Whose variables these are: those of UEFI itself.
const VENDOR: &str = "8be4df61-93ca-11d2-aa0d-00e098032b8c";
/// Kept over a restart, for loaders and for systems.
const ATTRIBUTES: [u8; 4] = [7, 0, 0, 0];

/// A directory with variables.
pub struct Variables<'a>(&'a Path);

impl<'a> Variables<'a> {
    /// Those of this directory.
    pub fn new(directory: &'a Path) -> Self {
        Self(directory)
    }

    /// All entries, by their numbers.
    pub fn entries(&self) -> io::Result<BTreeMap<u16, Vec<u8>>> {
        let mut entries = BTreeMap::new();
        for file in fs::read_dir(self.0)? {
            let file = file?;
            if let Some(number) = file.file_name().to_str().and_then(number) {
                entries.insert(number, content(&fs::read(file.path())?));
            }
        }
        Ok(entries)
    }

    /// The order in which entries are tried; empty where there is none.
    pub fn order(&self) -> io::Result<Vec<u16>> {
        match fs::read(self.path("BootOrder")) {
            Ok(bytes) => {
                Ok(content(&bytes).as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Writes an entry.
    pub fn write_entry(&self, number: u16, option: &[u8]) -> io::Result<()> {
        self.write(&entry_name(number), option)
    }

    /// Writes the order.
    pub fn write_order(&self, order: &[u16]) -> io::Result<()> {
        let bytes: Vec<u8> = order.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.write("BootOrder", &bytes)
    }

    /// Removes an entry.
    pub fn remove_entry(&self, number: u16) -> io::Result<()> {
        let path = self.path(&entry_name(number));
        make_changeable(&path)?;
        fs::remove_file(&path)
    }

    /// A variable is written with one call, or it is not written.
    fn write(&self, name: &str, value: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        make_changeable(&path)?;
        let bytes = [&ATTRIBUTES, value].concat();
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        let count = file.write(&bytes)?;
        if count != bytes.len() {
            return Err(io::Error::other(format!("only {count} bytes of {name} were written")));
        }
        cut(&file, bytes.len() as u64)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}-{VENDOR}"))
    }
}

fn entry_name(number: u16) -> String {
    format!("Boot{number:04X}")
}

/// Linux protects variables from `rm -rf`, where it does not know that firmware can do without them.
fn make_changeable(path: &Path) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match ioctl_getflags(&file) {
        Ok(flags) if flags.contains(IFlags::IMMUTABLE) => {
            ioctl_setflags(&file, flags - IFlags::IMMUTABLE).map_err(io::Error::from)
        }
        // A file system without such flags protects nothing.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// efivarfs takes what was written as the whole; other file systems keep what was longer.
fn cut(file: &File, length: u64) -> io::Result<()> {
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

/// The number of an entry, by the name of its file.
fn number(file: &str) -> Option<u16> {
    let (name, vendor) = file.split_once('-')?;
    let digits = name.strip_prefix("Boot").filter(|digits| digits.len() == 4)?;
    let is_entry =
        vendor.eq_ignore_ascii_case(VENDOR) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_entry)
}

fn content(bytes: &[u8]) -> Vec<u8> {
    bytes.get(ATTRIBUTES.len()..).unwrap_or_default().to_vec()
}
