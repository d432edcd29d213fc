//! Bootable ISOs made on the spot: a distribution's kernel, an initramfs with a shell script in it, and the boot
//! loaders laid out as well-known images lay them out.
//!
//! What boots prints its kernel parameters to the serial port, fetches the configuration that they name, and calls
//! home: see `isos/init.sh`. The same inputs give the same bytes. Nothing here is an installer.

mod initramfs;
pub mod installed;
mod layouts;
mod loaders;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::{Context, Result};
use beskar7_specimen::disk::{self, Parts};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use self::installed::Installed;
pub use self::layouts::{Firmware, Layout};

/// What begins every line that a booted image prints. With the space: a boot loader may name a MAC with these letters.
pub const MARK: &str = "b7: ";

/// The directory that all tests of a process share for as long as one of them holds it.
static SHARED: Mutex<Weak<Isos>> = Mutex::new(Weak::new());

/// The number of a directory, and what was made in it.
type Made = (usize, Arc<OnceCell<PathBuf>>);

/// Makes ISOs and keeps them until it is dropped.
#[derive(Debug)]
pub struct Isos {
    installed: Installed,
    directory: TempDir,
    made: Mutex<BTreeMap<String, Made>>,
}

impl Isos {
    /// Where they are made, shared with the other tests of this process. None where a package is missing: then it
    /// has said that `test` is skipped, and why.
    pub fn shared(test: &str) -> Result<Option<Arc<Self>>> {
        let installed = match Installed::find() {
            Ok(installed) => installed,
            Err(missing) => {
                beskar7_skipped::skipped(test, missing);
                return Ok(None);
            }
        };
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(isos) = shared.upgrade() {
            return Ok(Some(isos));
        }
        let isos = Arc::new(Self::new(installed)?);
        *shared = Arc::downgrade(&isos);
        Ok(Some(isos))
    }

    /// Makes them in a directory of its own.
    pub fn new(installed: Installed) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("beskar7-isos-").tempdir();
        let directory = directory.context("a directory for ISOs")?;
        Ok(Self { installed, directory, made: Mutex::default() })
    }

    /// The programs and files that they are made from.
    #[must_use]
    pub fn installed(&self) -> &Installed {
        &self.installed
    }

    /// An ISO whose boot loaders give the kernel these parameters besides those that such an image always has. It is
    /// made once.
    pub async fn iso(&self, layout: Layout, parameters: &[&str]) -> Result<PathBuf> {
        let name = format!("{} {}", layout.name(), parameters.join(" "));
        let parameters = parameters.join(" ");
        self.once(name, async |directory| layouts::make(self, layout, &parameters, directory).await)
            .await
            .with_context(|| format!("an ISO laid out like {}", layout.name()))
    }

    /// The initramfs of all of them; by itself, with the kernel, what boots from the network.
    pub async fn initramfs(&self) -> Result<PathBuf> {
        self.once("initramfs".to_owned(), async |directory| {
            initramfs::make(&self.installed, &directory.join("initramfs"))
        })
        .await
        .context("an initramfs")
    }

    /// An image of a disk whose system has these parameters, and finds its configuration in a partition. `sgdisk` makes
    /// its partition table. UEFI only.
    pub async fn disk(&self, sgdisk: &Path, parameters: &[&str]) -> Result<PathBuf> {
        let options = parameters.join(" ");
        let initramfs = self.initramfs().await?;
        self.once(format!("disk {options}"), async |directory| {
            let parts = Parts {
                sgdisk,
                loader: &self.installed.systemd_boot,
                kernel: &self.installed.kernel,
                initramfs: &std::fs::read(&initramfs)?,
                options: &options,
            };
            let image = directory.join("system.raw");
            disk::write(&parts, &image)?;
            Ok(image)
        })
        .await
        .context("an image of a disk")
    }

    /// A unified kernel image by itself, with these parameters in it: a program that UEFI firmware starts.
    pub async fn program(&self, parameters: &[&str]) -> Result<PathBuf> {
        let parameters = parameters.join(" ");
        let initramfs = self.initramfs().await?;
        self.once(format!("program {parameters}"), async |directory| {
            loaders::uki(&self.installed, &initramfs, &parameters, directory).await
        })
        .await
        .context("a unified kernel image")
    }

    /// What is made under a name, each in a directory of its own.
    async fn once(&self, name: String, make: impl AsyncFnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
        let (number, cell) = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let next = made.len();
            made.entry(name).or_insert_with(|| (next, Arc::default())).clone()
        };
        let directory = self.directory.path().join(number.to_string());
        let made = cell.get_or_try_init(async || {
            std::fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
            make(&directory).await
        });
        made.await.cloned()
    }
}
