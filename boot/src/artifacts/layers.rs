//! Which layer of an image is what: by its media type, and where no layer has a known one, by the names of files.

use super::manifest::Descriptor;

/// How many initial ramdisks are given one after the other.
const RAMDISKS: usize = 16;

/// What a layer can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Kernel,
    Initramfs,
    Root,
    Program,
    CommandLine,
}

/// The layers of an image that are needed to boot it.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub kernel: Option<&'a Descriptor>,
    pub initramfs: Vec<&'a Descriptor>,
    pub root: Option<&'a Descriptor>,
    pub program: Option<&'a Descriptor>,
    pub command_line: Option<&'a Descriptor>,
}

impl<'a> Parts<'a> {
    /// Finds them. The error says why that can't be decided.
    pub(super) fn of(layers: &'a [Descriptor]) -> Result<Self, String> {
        let by_type = Self::by(layers, |layer| by_media_type(&layer.media_type))?;
        if by_type.is_empty() { Self::by(layers, by_name) } else { Ok(by_type) }
    }

    fn by(layers: &'a [Descriptor], part: impl Fn(&Descriptor) -> Option<Part>) -> Result<Self, String> {
        let mut parts = Self::default();
        for layer in layers {
            let (place, what) = match part(layer) {
                Some(Part::Kernel) => (&mut parts.kernel, "kernels"),
                Some(Part::Root) => (&mut parts.root, "root file systems"),
                Some(Part::Program) => (&mut parts.program, "EFI programs"),
                Some(Part::CommandLine) => (&mut parts.command_line, "command lines"),
                Some(Part::Initramfs) => {
                    parts.initramfs.push(layer);
                    continue;
                }
                None => continue,
            };
            if let Some(first) = place.replace(layer) {
                let (first, second) = (first.shown(), layer.shown());
                return Err(format!("it holds two {what}, {first} and {second}, and a machine boots one"));
            }
        }
        let count = parts.initramfs.len();
        if count > RAMDISKS {
            return Err(format!("it holds {count} initial ramdisks, and more than {RAMDISKS} are not given"));
        }
        Ok(parts)
    }

    /// Whether there is nothing that a machine could boot from.
    pub(super) fn is_empty(&self) -> bool {
        self.kernel.is_none() && self.initramfs.is_empty() && self.root.is_none() && self.program.is_none()
    }
}

/// IronCore's types, and those of Garden Linux.
fn by_media_type(media_type: &str) -> Option<Part> {
    let last = media_type
        .strip_prefix("application/vnd.ironcore.image.")
        .or_else(|| media_type.strip_prefix("application/io.gardenlinux."))?;
    match last {
        "kernel" => Some(Part::Kernel),
        "initramfs" | "initrd" => Some(Part::Initramfs),
        "squashfs" => Some(Part::Root),
        "uki" => Some(Part::Program),
        "cmdline" => Some(Part::CommandLine),
        _ => None,
    }
}

/// What stands beside such files under similar names.
const BESIDE: [&str; 16] = [
    ".sig",
    ".asc",
    ".sha256",
    ".sha512",
    ".md5",
    ".sha256sum",
    ".json",
    ".txt",
    ".config",
    ".manifest",
    ".tar",
    ".tgz",
    ".gz.sig",
    ".tar.gz",
    ".tar.xz",
    ".tar.zst",
];

fn by_name(layer: &Descriptor) -> Option<Part> {
    // Nothing is unpacked here: what is served is what is in the registry.
    if [".gzip", "+gzip", "+zstd"].iter().any(|end| layer.media_type.ends_with(end)) {
        return None;
    }
    let name = layer.file_name()?.to_ascii_lowercase();
    if BESIDE.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let ends = |words: &[&str]| words.iter().any(|word| name.ends_with(word));
    if name == "cmdline" {
        Some(Part::CommandLine)
    } else if begins(&["vmlinuz", "kernel", "bzimage"]) {
        Some(Part::Kernel)
    } else if begins(&["initrd", "initramfs"]) {
        Some(Part::Initramfs)
    } else if ends(&[".squashfs"]) || begins(&["rootfs"]) {
        Some(Part::Root)
    } else if ends(&[".efi", ".uki"]) {
        Some(Part::Program)
    } else {
        None
    }
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
