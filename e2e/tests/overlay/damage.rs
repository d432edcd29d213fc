//! Damaged images: whatever is in them, they are looked at in bounded time, reads and memory, and nothing panics.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Result, ensure};
use beskar7_boot::{
    overlay::Image,
    source::{Chunks, Source, read},
};
use bytes::Bytes;

use crate::{
    small::{GRUB, ISOLINUX, Small},
    tools::Tools,
};

/// Rounds of each test.
const ROUNDS: u64 = 2000;

/// An image that counts what is read of it.
struct Counted {
    bytes: Bytes,
    reads: AtomicU64,
    total: AtomicU64,
    ranges: Mutex<Vec<Range<u64>>>,
}

impl Counted {
    fn new(bytes: Bytes) -> Self {
        Self { bytes, reads: AtomicU64::new(0), total: AtomicU64::new(0), ranges: Mutex::default() }
    }
}

impl Source for Counted {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn stream(&self, range: Range<u64>) -> Chunks {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(range.end.saturating_sub(range.start), Ordering::Relaxed);
        self.ranges.lock().unwrap().push(range.clone());
        self.bytes.stream(range)
    }
}

/// An image that has a bit of everything.
async fn image(tools: &Tools) -> Result<Vec<u8>> {
    let small = Small::new(tools)?;
    small.write("boot/grub/grub.cfg", GRUB)?;
    small.write("isolinux/isolinux.cfg", ISOLINUX)?;
    small.write("md5sum.txt", "d41d8cd98f00b204e9800998ecf8427e  ./boot/grub/grub.cfg\n")?;
    let inside =
        [("EFI/BOOT/BOOTX64.EFI", "MZ"), ("EFI/BOOT/grub.cfg", GRUB), ("loader/loader.conf", "timeout 60\n")];
    small.fat(&small.at("images/efiboot.img"), 12, 200, &inside, true).await?;
    let options = "-r -J -iso-level 4 -isohybrid-mbr /usr/lib/ISOLINUX/isohdpfx.bin -b images/vmlinuz -no-emul-boot -boot-load-size 4 -eltorito-alt-boot -e images/efiboot.img -no-emul-boot -isohybrid-gpt-basdat";
    let options: Vec<&str> = options.split(' ').collect();
    Ok(std::fs::read(small.iso(&options).await?)?)
}

/// Changes a few bytes, where the image is looked at.
fn damage(image: &mut Vec<u8>, places: &[usize], random: &mut fastrand::Rng) {
    for _ in 0..random.usize(1..6) {
        let place = places[random.usize(..places.len())].min(image.len().saturating_sub(8));
        let value = match random.u8(..5) {
            0 => 0,
            1 => u64::MAX,
            2 => random.u64(..16),
            3 => image[place..].iter().take(1).fold(0, |_, byte| u64::from(*byte) ^ 1 << random.u8(..8)),
            _ => random.u64(..),
        };
        let length = [1, 1, 2, 4, 8][random.usize(..5)];
        let order = if random.bool() { value.to_le_bytes() } else { value.to_be_bytes() };
        for (byte, new) in image[place..].iter_mut().zip(&order[..length]) {
            *byte = *new;
        }
    }
    if random.u8(..20) == 0 {
        image.truncate(random.usize(..image.len()));
    }
}

/// The bytes that say something: what is read, without the zeros between.
async fn places(image: &[u8]) -> Result<Vec<usize>> {
    let counted = Counted::new(Bytes::copy_from_slice(image));
    Image::inspect(&counted).await?;
    let ranges = counted.ranges.lock().unwrap().clone();
    let all = ranges.into_iter().flat_map(|range| range.start as usize..range.end as usize);
    Ok(all.filter(|place| image[*place] != 0).collect())
}

#[tokio::test]
async fn a_damaged_image_is_refused_or_presented_and_never_more() -> Result<()> {
    let test = "a_damaged_image_is_refused_or_presented_and_never_more";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    let whole = image(&tools).await?;
    let places = places(&whole).await?;
    let (mut taken, mut most_reads, mut most_bytes) = (0, 0, 0);
    for seed in 0..ROUNDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut image = whole.clone();
        damage(&mut image, &places, &mut random);
        let source = Arc::new(Counted::new(image.into()));
        if let Ok(image) = Image::inspect(source.as_ref()).await
            && let Ok(overlay) = image.with_arguments(&["a=b".repeat(random.usize(1..2000))])
        {
            taken += 1;
            let length = overlay.length();
            ensure!(length < 64 * 1024 * 1024, "seed {seed}: it has become {length} bytes long");
            ensure!(overlay.held() < 16 * 1024 * 1024, "seed {seed}: {} bytes are held", overlay.held());
            let presented = Arc::new(overlay).over(Arc::new(source.bytes.clone()));
            ensure!(read(&presented, 0..length).await?.len() as u64 == length, "seed {seed}");
        }
        most_reads = most_reads.max(source.reads.load(Ordering::Relaxed));
        most_bytes = most_bytes.max(source.total.load(Ordering::Relaxed));
    }
    ensure!(most_reads <= 1024 && most_bytes <= 64 * 1024 * 1024, "{most_reads} reads, {most_bytes} bytes");
    ensure!(taken > ROUNDS / 20, "only {taken} of {ROUNDS} were taken: the damage says nothing");
    ensure!(taken < ROUNDS, "nothing was damaged");
    Ok(())
}

#[tokio::test]
async fn an_image_is_looked_at_in_few_reads() -> Result<()> {
    let test = "an_image_is_looked_at_in_few_reads";
    let Some(tools) = Tools::find(test) else { return Ok(()) };
    let source = Counted::new(image(&tools).await?.into());
    Image::inspect(&source).await?;
    let (reads, bytes) = (source.reads.load(Ordering::Relaxed), source.total.load(Ordering::Relaxed));
    ensure!(reads <= 40 && bytes <= 2 * 1024 * 1024, "{reads} reads, {bytes} bytes");
    Ok(())
}
