//! An image of a disk in a registry: one layer, a file as it is.

use super::Artifacts;
use super::artifact::Artifact;
use super::error::ArtifactError;
use super::manifest::Descriptor;
use super::resolve::{Fetched, Resolve};

/// How many layers are named where none can be chosen.
const SHOWN: usize = 5;
/// How the names of such files end, packed or not.
const ENDS: [&str; 3] = [".raw", ".img", ".qcow2"];
const PACKED: [&str; 3] = [".gz", ".xz", ".zst"];
/// How registries tell what containers run from, which is no disk.
const CONTAINER_LAYERS: [&str; 2] =
    ["application/vnd.oci.image.layer.", "application/vnd.docker.image.rootfs."];

/// An image of a disk, as a registry has it.
#[derive(Debug, Clone)]
pub struct DiskImage {
    /// Its bytes.
    pub disk: Artifact,
    /// The digest of the manifest for the machine's architecture.
    pub digest: String,
}

impl Artifacts {
    /// Finds the manifest for a machine, and the disk in it.
    pub(super) async fn find_disk(
        &self,
        resolve: &Resolve<'_>,
        top: Fetched,
    ) -> Result<DiskImage, ArtifactError> {
        let (digest, manifest) = resolve.manifest(top).await?;
        let layer = disk(&manifest.layers).map_err(|why| resolve.unusable(why))?;
        Ok(DiskImage { disk: self.layer(resolve, layer).await?, digest: digest.to_string() })
    }
}

/// The layer that is a disk: the one whose file is called so, or else the only one. Nobody guesses between two.
fn disk(layers: &[Descriptor]) -> Result<&Descriptor, String> {
    let named: Vec<&Descriptor> = layers.iter().filter(|layer| is_called_a_disk(layer)).collect();
    match (named.as_slice(), layers) {
        ([layer], _) => Ok(layer),
        ([], [layer]) if !is_of_a_container(layer) => Ok(layer),
        ([first, second, ..], _) => {
            let (first, second) = (first.shown(), second.shown());
            Err(format!("it holds several images of disks, {first} and {second}, and one is written"))
        }
        ([], _) => {
            let mut there: Vec<String> = layers.iter().take(SHOWN).map(Descriptor::shown).collect();
            there.dedup();
            let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
            Err(format!(
                "it holds no image of a disk that could be recognised by its file name (.raw, .img or .qcow2, also packed \
                 as .gz, .xz or .zst), but {there}"
            ))
        }
    }
}

fn is_called_a_disk(layer: &Descriptor) -> bool {
    let Some(name) = layer.file_name().map(str::to_ascii_lowercase) else { return false };
    let unpacked = PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    !is_of_a_container(layer) && ENDS.iter().any(|end| unpacked.ends_with(end))
}

/// ORAS gives files a type of containers' layers where it is told none: an uncompressed one with a file's name is a file.
fn is_of_a_container(layer: &Descriptor) -> bool {
    let is_file = layer.file_name().is_some() && layer.media_type.ends_with(".tar");
    !is_file && CONTAINER_LAYERS.iter().any(|prefix| layer.media_type.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The place of the layer that is taken; each is its media type and the name of its file.
    fn taken(layers: &[(&str, &str)]) -> Result<usize, String> {
        let layers: Vec<Descriptor> = layers
            .iter()
            .enumerate()
            .map(|(size, (media_type, name))| {
                let name = (!name.is_empty()).then(|| json!({"org.opencontainers.image.title": name}));
                let layer =
                    json!({"mediaType": media_type, "digest": "sha256:0", "size": size, "annotations": name});
                serde_json::from_value(layer).unwrap()
            })
            .collect();
        disk(&layers).map(|layer| usize::try_from(layer.size).unwrap())
    }

    #[test]
    fn the_one_file_that_is_a_disk_is_taken_and_nobody_guesses() {
        let (file, oras) = ("application/octet-stream", "application/vnd.oci.image.layer.v1.tar");
        let container = "application/vnd.oci.image.layer.v1.tar+gzip";
        for (layers, expected) in [
            (vec![(file, "os.raw")], Ok(0)),
            (vec![(file, "os.raw.sha256"), (file, "sub/OS.QCOW2"), (file, "vmlinuz")], Ok(1)),
            (vec![(oras, "os.img.zst")], Ok(0)),
            (vec![("application/x-qemu-disk", "")], Ok(0)),
            (vec![(file, "a.raw"), (file, "b.qcow2")], Err("a.raw and b.qcow2")),
            (vec![(container, "")], Err("tar+gzip")),
            (vec![(container, "os.raw")], Err("os.raw")),
            (vec![(file, "vmlinuz"), (file, "initrd")], Err("vmlinuz, initrd")),
            (vec![], Err("nothing")),
        ] {
            match (taken(&layers), expected) {
                (found, Ok(expected)) => assert_eq!(found, Ok(expected), "{layers:?}"),
                (found, Err(why)) => {
                    assert!(found.as_ref().is_err_and(|found| found.contains(why)), "{found:?}")
                }
            }
        }
    }
}
