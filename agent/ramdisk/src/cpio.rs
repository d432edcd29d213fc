//! Archives that the kernel unpacks as its first file system: cpio's "newc" format.
//!
//! It is written as it comes, so that an archive of any size needs no memory. Everything in it belongs to root and has
//! no time.

use std::io::{self, Write};

/// What an archive ends with.
const END: &str = "TRAILER!!!";

/// The device of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Its kind.
    pub major: u32,
    /// Which of its kind.
    pub minor: u32,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A directory.
    Directory,
    /// A file.
    File {
        /// Whether it can be started.
        executable: bool,
        /// What is in it.
        content: &'a [u8],
    },
    /// A link to another path.
    Link(&'a str),
    /// The node of a character device, which root alone may use.
    Node(Device),
}

impl Kind<'_> {
    fn mode(self) -> u32 {
        match self {
            Self::Directory => 0o040_755,
            Self::File { executable: true, .. } => 0o100_755,
            Self::File { executable: false, .. } => 0o100_644,
            Self::Link(_) => 0o120_777,
            Self::Node(_) => 0o020_600,
        }
    }

    fn links(self) -> u32 {
        match self {
            Self::Directory => 2,
            Self::File { .. } | Self::Link(_) | Self::Node(_) => 1,
        }
    }

    fn content(&self) -> &[u8] {
        match self {
            Self::File { content, .. } => content,
            Self::Link(target) => target.as_bytes(),
            Self::Directory | Self::Node(_) => &[],
        }
    }
}

/// An archive in the making.
#[derive(Debug)]
pub struct Archive<W> {
    to: W,
    entries: u32,
    written: u64,
}

impl<W: Write> Archive<W> {
    /// An empty one.
    pub fn new(to: W) -> Self {
        Self { to, entries: 0, written: 0 }
    }

    /// Adds an entry. What is above it must be there already: the kernel makes no directories by itself.
    ///
    /// # Errors
    /// It can't be written, or is too large for an archive.
    pub fn add(&mut self, path: &str, kind: Kind<'_>) -> io::Result<()> {
        self.entries += 1;
        let device = match kind {
            Kind::Node(device) => device,
            Kind::Directory | Kind::File { .. } | Kind::Link(_) => Device { major: 0, minor: 0 },
        };
        self.entry(path, self.entries, kind.mode(), kind.links(), device, kind.content())
    }

    /// How many bytes were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Ends it.
    ///
    /// # Errors
    /// It can't be written.
    pub fn end(mut self) -> io::Result<W> {
        self.entry(END, 0, 0, 1, Device { major: 0, minor: 0 }, &[])?;
        Ok(self.to)
    }

    fn entry(
        &mut self,
        path: &str,
        inode: u32,
        mode: u32,
        links: u32,
        device: Device,
        content: &[u8],
    ) -> io::Result<()> {
        let too_large =
            |_| io::Error::other(format!("/{path} is too large for an initramfs: 4 GiB are the most"));
        let size = u32::try_from(content.len()).map_err(too_large)?;
        let name_size = u32::try_from(path.len() + 1).map_err(too_large)?;
        let Device { major, minor } = device;
        // inode, mode, user, group, links, time, size, device of the file system (2), of the node (2), name, checksum
        let fields = [inode, mode, 0, 0, links, 0, size, 0, 0, major, minor, name_size, 0];
        let fields: String = fields.iter().map(|field| format!("{field:08x}")).collect();
        self.write(format!("070701{fields}{path}\0").as_bytes())?;
        self.write(content)
    }

    /// Everything begins at a multiple of four.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        self.to.write_all(bytes)?;
        self.to.write_all([0; 3].get(..padding).unwrap_or_default())?;
        self.written += (bytes.len() + padding) as u64;
        Ok(())
    }
}

#[cfg(test)]
#[path = "cpio_tests.rs"]
mod tests;
