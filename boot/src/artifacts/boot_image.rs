//! What an image in a registry holds for a machine, put together from the layers of its manifest.

use super::Artifacts;
use super::artifact::Artifact;
use super::error::ArtifactError;
use super::layers::Parts;
use super::located::Blob;
use super::manifest::Descriptor;
use super::reference::Reference;
use super::resolve::{Fetched, Resolve};

/// How many layers of an image of no use are named.
const SHOWN: usize = 5;

/// What an image in a registry holds for a machine. There is at least one of kernel, initramfs, root and program.
#[derive(Debug, Clone)]
pub struct BootImage {
    /// The kernel.
    pub kernel: Option<Artifact>,
    /// The initial ramdisks, in the order in which the kernel gets them.
    pub initramfs: Vec<Artifact>,
    /// The root file system, a squashfs.
    pub root: Option<Artifact>,
    /// Kernel, ramdisk and command line in one EFI program (a unified kernel image).
    pub program: Option<Artifact>,
    /// The digest of the manifest for the machine's architecture.
    pub digest: String,
    /// The kernel parameters that the image wants.
    pub command_line: Option<String>,
}

impl Artifacts {
    /// Finds the manifest for a machine, and opens what it lists.
    pub(super) async fn assemble(
        &self,
        resolve: &Resolve<'_>,
        top: Fetched,
    ) -> Result<BootImage, ArtifactError> {
        let (digest, manifest) = resolve.manifest(top).await?;
        let parts = Parts::of(&manifest.layers).map_err(|why| resolve.unusable(why))?;
        if parts.is_empty() {
            return Err(nothing_to_boot(resolve.image, &manifest.layers));
        }
        let mut initramfs = Vec::new();
        for layer in &parts.initramfs {
            initramfs.push(self.layer(resolve, layer).await?);
        }
        Ok(BootImage {
            kernel: self.layer_if_any(resolve, parts.kernel).await?,
            initramfs,
            root: self.layer_if_any(resolve, parts.root).await?,
            program: self.layer_if_any(resolve, parts.program).await?,
            digest: digest.to_string(),
            command_line: resolve.command_line(&manifest, &parts).await?,
        })
    }

    async fn layer_if_any(
        &self,
        resolve: &Resolve<'_>,
        layer: Option<&Descriptor>,
    ) -> Result<Option<Artifact>, ArtifactError> {
        match layer {
            Some(layer) => self.layer(resolve, layer).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn layer(
        &self,
        resolve: &Resolve<'_>,
        layer: &Descriptor,
    ) -> Result<Artifact, ArtifactError> {
        let digest = layer.digest().map_err(|why| resolve.unusable(why))?;
        let repository = resolve.image.repository().clone();
        self.blob_from(resolve.registry, &Blob { repository, digest, size: layer.size }).await
    }
}

fn nothing_to_boot(image: &Reference, layers: &[Descriptor]) -> ArtifactError {
    let mut there: Vec<String> = layers.iter().take(SHOWN).map(Descriptor::shown).collect();
    there.dedup();
    let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
    ArtifactError::NothingToBoot { image: image.to_string(), there }
}
