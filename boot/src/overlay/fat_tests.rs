use std::collections::BTreeMap;

use super::{directory::SLOT, geometry::Width, *};
use crate::overlay::fields::put;

const GRUB: &str = "menuentry a {\n  linux /v quiet\n}\n";
/// Where the file system begins in its image.
const START: usize = 4096;

/// A file system in the making: clusters of one sector, given out in order.
struct Volume {
    width: Width,
    clusters: u32,
    table: Vec<u32>,
    data: Vec<u8>,
    root: Vec<u8>,
}

impl Volume {
    fn new(width: Width, clusters: u32) -> Self {
        let mut volume =
            Self { width, clusters, table: vec![width.last(); 2], data: Vec::new(), root: Vec::new() };
        if width == Width::ThirtyTwo {
            volume.add(&[0; 512]);
        }
        volume
    }

    /// Stores content and gives its first cluster.
    fn add(&mut self, content: &[u8]) -> u32 {
        let first = u32::try_from(self.table.len()).unwrap();
        let count = u32::try_from(content.len().div_ceil(512)).unwrap();
        for number in 1..=count {
            self.table.push(if number == count { self.width.last() } else { first + number });
        }
        self.data.extend_from_slice(content);
        self.data.resize(self.data.len().next_multiple_of(512), 0);
        first
    }

    fn slot(name: &str, attributes: u8, cluster: u32, length: usize) -> Vec<u8> {
        let mut slot = vec![0; SLOT];
        let (stem, extension) =
            name.rsplit_once('.').filter(|(stem, _)| stem.len() > 1).unwrap_or((name, ""));
        put(&mut slot, 0, format!("{stem:8}{extension:3}").as_bytes());
        put(&mut slot, 11, &[attributes, 0x18]);
        let [a, b, c, d] = cluster.to_le_bytes();
        put(&mut slot, 20, &[c, d]);
        put(&mut slot, 26, &[a, b]);
        put(&mut slot, 28, &u32::try_from(length).unwrap().to_le_bytes());
        slot
    }

    fn file(&mut self, name: &str, content: &[u8]) -> Vec<u8> {
        let cluster = self.add(content);
        Self::slot(name, 0x20, cluster, content.len())
    }

    fn directory(&mut self, name: &str, slots: &[Vec<u8>]) -> Vec<u8> {
        let dots = [Self::slot(".", 0x10, 0, 0), Self::slot("..", 0x10, 0, 0)];
        let mut content = [dots.concat(), slots.concat()].concat();
        content.resize(content.len().next_multiple_of(512), 0);
        let cluster = self.add(&content);
        Self::slot(name, 0x10, cluster, 0)
    }

    /// Leaves so many clusters free, and gives all bytes, behind others.
    fn finish(mut self, free: u32) -> Bytes {
        let taken = u32::try_from(self.table.len()).unwrap() - 2;
        let filler = usize::try_from(self.clusters - taken - free).unwrap() * 512;
        if filler > 0 {
            let slot = self.file("FILLER.BIN", &vec![b'f'; filler]);
            self.root.extend(slot);
        }
        let wide = self.width == Width::ThirtyTwo;
        let reserved = if wide { 8 } else { 1 };
        let mut bytes = vec![0; 512];
        put(&mut bytes, 0, &[0xEB, 0x3C, 0x90]);
        put(&mut bytes, 11, &[0, 2, 1, reserved, 0, 2]);
        put(&mut bytes, 17, &[if wide { 0 } else { 16 }, 0]);
        put(&mut bytes, 510, &[0x55, 0xAA]);
        let table_sectors = ((u64::from(self.clusters) + 2) * self.width.bits()).div_ceil(8 * 512);
        let table = u32::try_from(table_sectors).unwrap().to_le_bytes();
        let sectors = u64::from(reserved) + 2 * table_sectors + u64::from(!wide) + u64::from(self.clusters);
        put(&mut bytes, 32, &u32::try_from(sectors).unwrap().to_le_bytes());
        if wide {
            put(&mut bytes, 36, &table);
            put(&mut bytes, 44, &[2, 0, 0, 0, 1, 0, 6, 0]);
        } else {
            put(&mut bytes, 22, &table[..2]);
        }
        let boot = bytes.clone();
        bytes.resize(usize::from(reserved) * 512, 0);
        if wide {
            put(&mut bytes, 512, &0x4161_5252_u32.to_le_bytes());
            put(&mut bytes, 512 + 484, &0x6141_7272_u32.to_le_bytes());
            put(&mut bytes, 512 + 488, &free.to_le_bytes());
            put(&mut bytes, 6 * 512, &boot);
            put(&mut self.data, 0, &self.root.clone());
        }
        let table = self.encoded(usize::try_from(table_sectors).unwrap() * 512);
        bytes.extend(table.repeat(2));
        if !wide {
            self.root.resize(512, 0);
            bytes.extend(&self.root);
        }
        self.data.resize(usize::try_from(self.clusters).unwrap() * 512, 0);
        bytes.extend(self.data);
        [vec![b'?'; START], bytes].concat().into()
    }

    fn encoded(&self, length: usize) -> Vec<u8> {
        let nibbles: Vec<u8> = self
            .table
            .iter()
            .flat_map(|entry| (0..self.width.bits() / 4).map(move |at| (entry >> (at * 4)) as u8 & 0xF))
            .collect();
        let mut bytes: Vec<u8> =
            nibbles.chunks(2).map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 4).collect();
        bytes.resize(length, 0);
        bytes
    }
}

fn arguments(argument: &str) -> Arguments {
    Arguments::new(&[argument.to_owned()])
}

async fn fat(image: &Bytes) -> Fat {
    Fat::read(&mut Reader::new(image), START as u64).await.unwrap().unwrap()
}

/// The rebuilt file system, behind other bytes again.
fn present(image: &Bytes, rebuilt: &Rebuilt) -> Bytes {
    let mut all = image.to_vec();
    if !rebuilt.pieces.is_empty() {
        all.truncate(START);
        for (length, what) in &rebuilt.pieces {
            let length = usize::try_from(*length).unwrap();
            match what {
                What::Original(start) => {
                    let start = usize::try_from(*start).unwrap();
                    all.extend_from_slice(&image[start..start + length]);
                }
                What::Zeros => all.resize(all.len() + length, 0),
                What::Memory(bytes) => all.extend_from_slice(bytes),
            }
        }
    }
    for (at, bytes) in &rebuilt.patches {
        let at = START + usize::try_from(*at).unwrap();
        all[at..at + bytes.len()].copy_from_slice(bytes);
    }
    all.into()
}

fn texts(fat: &Fat) -> BTreeMap<String, String> {
    fat.files.iter().map(|file| (file.path.clone(), String::from_utf8(file.text.to_vec()).unwrap())).collect()
}

const ALL: [(Width, u32); 3] = [(Width::Twelve, 340), (Width::Sixteen, 5119), (Width::ThirtyTwo, 66_000)];

fn with_grub(width: Width, clusters: u32, free: u32) -> Bytes {
    let mut volume = Volume::new(width, clusters);
    let slot = volume.file("GRUB.CFG", GRUB.as_bytes());
    let boot = volume.directory("BOOT", &[slot]);
    let efi = volume.directory("EFI", &[boot]);
    volume.root = efi;
    volume.finish(free)
}

#[tokio::test]
async fn each_width_is_told_and_read() {
    for (width, clusters) in ALL {
        let fat = fat(&with_grub(width, clusters, 3)).await;
        assert_eq!((fat.geometry.width, fat.geometry.clusters), (width, clusters));
        assert_eq!(texts(&fat), [("efi/boot/grub.cfg".to_owned(), GRUB.to_owned())].into());
        assert_eq!(fat.free, (width == Width::ThirtyTwo).then_some(3));
    }
}

#[tokio::test]
async fn content_takes_what_is_free_and_then_more() {
    let long = "x".repeat(6000);
    for (width, clusters) in ALL {
        for free in [0, 3, 100] {
            let image = with_grub(width, clusters, free);
            let before = fat(&image).await;
            let rebuilt = before.rebuild(&arguments(&long)).unwrap().unwrap();
            assert_eq!(rebuilt.pieces.is_empty(), free == 100, "{width:?}, {free} free");
            let after = fat(&present(&image, &rebuilt)).await;
            assert_eq!(after.geometry.width, width);
            let text = &texts(&after)["efi/boot/grub.cfg"];
            assert_eq!(*text, format!("set timeout=5\n{}", GRUB.replace("quiet", &format!("quiet {long}"))));
            // Eleven more clusters.
            let grown = after.geometry.clusters - clusters;
            assert_eq!(grown, 11_u32.saturating_sub(free), "{width:?}, {free} free");
            assert_eq!(after.free, (width == Width::ThirtyTwo).then_some(free.saturating_sub(11)));
            let tables: Vec<_> = (0..2).map(|number| after.geometry.table_at(number)).collect();
            assert_eq!(tables[1] - tables[0], after.geometry.table_sectors * 512);
        }
    }
}

#[tokio::test]
async fn both_tables_and_both_boot_sectors_say_the_same() {
    for (width, clusters) in ALL {
        let image = with_grub(width, clusters, 1);
        let rebuilt = fat(&image).await.rebuild(&arguments(&"x".repeat(6000))).unwrap().unwrap();
        let presented = present(&image, &rebuilt);
        let after = fat(&presented).await;
        let table = |number| {
            let start = START + usize::try_from(after.geometry.table_at(number)).unwrap();
            presented.slice(start..start + usize::try_from(after.geometry.table_sectors).unwrap() * 512)
        };
        assert_eq!(table(0), table(1), "{width:?}");
        if let Some(copy) = after.geometry.copy_sector {
            let copy = START + usize::try_from(copy).unwrap() * 512;
            assert_eq!(presented[START..START + 512], presented[copy..copy + 512]);
        }
    }
}

#[tokio::test]
async fn a_file_that_becomes_shorter_frees_what_it_no_longer_needs() {
    let mut volume = Volume::new(Width::ThirtyTwo, 400);
    let text = format!("linux /v {}", "rd.live.check ".repeat(100));
    let slot = volume.file("GRUB.CFG", text.as_bytes());
    let boot = volume.directory("BOOT", &[slot]);
    volume.root = volume.directory("EFI", &[boot]);
    let image = volume.finish(5);
    let rebuilt = fat(&image).await.rebuild(&arguments("a")).unwrap().unwrap();
    let after = fat(&present(&image, &rebuilt)).await;
    assert_eq!(texts(&after)["efi/boot/grub.cfg"], "linux /v a ");
    assert_eq!((after.free, after.files[0].chain.len()), (Some(7), 1));
}

#[tokio::test]
async fn the_last_cluster_that_a_width_can_have_is_the_last() {
    let image = with_grub(Width::Twelve, 4080, 0);
    let fat = fat(&image).await;
    assert!(fat.rebuild(&arguments(&"x".repeat(1900))).is_ok(), "four more");
    let error = fat.rebuild(&arguments(&"x".repeat(2600))).unwrap_err();
    assert!(matches!(error, OverlayError::Full(_)), "{error}");
}

#[tokio::test]
async fn a_grub_that_hands_over_is_left_alone() {
    let mut volume = Volume::new(Width::Twelve, 100);
    let slot = volume.file(
        "GRUB.CFG",
        b"set timeout=60\nsearch --set=root --file /.disk/info\nconfigfile /boot/grub/grub.cfg\n",
    );
    let boot = volume.directory("BOOT", &[slot]);
    volume.root = volume.directory("EFI", &[boot]);
    let fat = fat(&volume.finish(10)).await;
    assert!(!fat.has_kernel());
    assert!(fat.rebuild(&arguments("a")).unwrap().is_none());
}

/// A program with these sections.
fn program(sections: &[(&[u8; 8], &[u8])]) -> Vec<u8> {
    let mut program = vec![0; 1024];
    put(&mut program, 0, b"MZ");
    put(&mut program, 0x3C, &[64]);
    put(&mut program, 64, b"PE\0\0");
    put(&mut program, 70, &[u8::try_from(sections.len()).unwrap()]);
    for (index, (name, content)) in sections.iter().enumerate() {
        let at = 88 + index * 40;
        let (length, start) = (u32::try_from(content.len()).unwrap(), u32::try_from(program.len()).unwrap());
        put(&mut program, at, *name);
        put(&mut program, at + 8, &length.to_le_bytes());
        put(&mut program, at + 16, &length.to_le_bytes());
        put(&mut program, at + 20, &start.to_le_bytes());
        program.extend_from_slice(content);
    }
    program
}

fn with_unified_kernel(width: Width, clusters: u32, free: u32, loader: Option<&[u8]>, first: &[u8]) -> Bytes {
    let kernel =
        program(&[(b".linux\0\0", b"a kernel"), (b".cmdline", b"talos.platform=metal console=tty0\n\0")]);
    let mut volume = Volume::new(width, clusters);
    let kernel = volume.file("TALOS.EFI", &kernel);
    let first = volume.file("BOOTX64.EFI", first);
    let linux = volume.directory("LINUX", &[kernel]);
    let boot = volume.directory("BOOT", &[first]);
    volume.root = volume.directory("EFI", &[boot, linux]);
    if let Some(text) = loader {
        let mut long = vec![0xFF; SLOT];
        put(&mut long, 0, &[0x41]);
        put(&mut long, 11, &[0x0F, 0, 0]);
        let name: Vec<u16> = "loader.conf\0".encode_utf16().collect();
        for (letter, at) in name.iter().zip([1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28]) {
            put(&mut long, at, &letter.to_le_bytes());
        }
        let slot = volume.file("LOADER~1.CON", text);
        let slots = [long, slot].concat();
        let directory = volume.directory("LOADER", &[slots]);
        volume.root.extend(directory);
    }
    volume.finish(free)
}

#[tokio::test]
async fn a_unified_kernel_behind_systemd_boot_gets_an_entry() {
    let systemd_boot = program(&[(b".sdmagic", b"#### LoaderInfo: systemd-boot 252 ####")]);
    let entry =
        "title beskar7\nefi /efi/linux/talos.efi\noptions talos.platform=metal console=tty0 talos.config=u\n";
    for (width, clusters) in ALL {
        for (free, loader, expected) in [
            (20, None, "default beskar7.conf\n"),
            (0, None, "default beskar7.conf\n"),
            (1, Some(b"timeout 60\n".as_slice()), "timeout 5\ndefault beskar7.conf\n"),
        ] {
            let image = with_unified_kernel(width, clusters, free, loader, &systemd_boot);
            let before = fat(&image).await;
            let rebuilt = before.rebuild(&arguments("talos.config=u")).unwrap().unwrap();
            let after = fat(&present(&image, &rebuilt)).await;
            let texts = texts(&after);
            assert_eq!(texts["loader/entries/beskar7.conf"], entry, "{width:?}");
            assert_eq!(texts["loader/loader.conf"], expected, "{width:?}");
        }
    }
}

#[tokio::test]
async fn a_unified_kernel_that_firmware_starts_is_named() {
    let kernel =
        program(&[(b".linux\0\0", b"a kernel"), (b".sdmagic", b"#### LoaderInfo: systemd-stub 252 ####")]);
    let image = with_unified_kernel(Width::Sixteen, 5119, 3, None, &kernel);
    let fat = fat(&image).await;
    assert_eq!(fat.started_by_firmware(), Some("efi/boot/bootx64.efi"));
    assert!(!fat.has_kernel());
    // Nor is it known that anything else than systemd-boot would read an entry.
    let other = program(&[(b".text\0\0\0", b"a program")]);
    let fat = self::fat(&with_unified_kernel(Width::Sixteen, 5119, 3, None, &other)).await;
    assert!(!fat.has_kernel() && fat.started_by_firmware().is_none());
}

#[tokio::test]
async fn chains_that_lead_nowhere_or_in_a_ring_are_refused() {
    let image = with_grub(Width::Sixteen, 5119, 3);
    // Entry 2 is that of the configuration, which has one cluster; 3 and 4 are those of directories.
    for (entry, value) in [(2, 0_u16), (2, 1), (2, 2), (2, 0xFFF7), (3, 3), (4, 4), (3, 0)] {
        let mut damaged = image.to_vec();
        put(&mut damaged, START + 512 + entry * 2, &value.to_le_bytes());
        let read = Fat::read(&mut Reader::new(&Bytes::from(damaged)), START as u64).await;
        assert!(matches!(read, Err(OverlayError::Damaged(_))), "{entry}: {value}");
    }
}
