//! What machines fetch to boot from the network: found where it is, checked once, and found again for who serves it.

use beskar7_api::{
    HostBootConfiguration,
    boot::{ChecksumType, DiskInstall},
    hardware::Architecture as Hardware,
    host_boot_configuration::{HostBootConfigurationStatus, ServedArtifact},
};
use beskar7_boot::{
    artifacts::{
        Algorithm, Architecture, Artifact, ArtifactError, Artifacts, BootImage, Digest, Located, Running,
    },
    delivery::ArtifactName,
    upstream::Upstreams,
};
use beskar7_core::{
    disk_image::{Checksum, checksum, is_in_registry},
    network_boot::{What, what},
};

/// Why something can't be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// What is asked for can't be booted.
    #[error("{0}")]
    NotBootable(String),
    /// It is not there, or not what it should be.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// There is nothing in it that could be started.
    #[error("the image holds neither a kernel nor an EFI program")]
    NothingToStart,
    /// Its checksum can't be read.
    #[error("{0}")]
    Checksum(String),
    /// It is not what it was when the configuration became ready.
    #[error("there is no such thing in what the configuration names")]
    NotThere,
}

/// Something that is fetched, by its name.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub name: ArtifactName,
    /// Its content.
    pub artifact: Artifact,
}

/// All that a configuration has its host fetch.
#[derive(Debug, Clone, Default)]
pub struct Whole {
    /// Its parts, in the order in which a loader fetches them.
    pub parts: Vec<Part>,
    /// The digest of the manifest, for an image in a registry.
    pub image_digest: Option<String>,
    /// The kernel parameters that the image wants.
    pub command_line: Option<String>,
}

impl Whole {
    /// Whether there is a kernel for a loader to start.
    #[must_use]
    pub fn has_kernel(&self) -> bool {
        self.parts.iter().any(|part| part.name == ArtifactName::Kernel)
    }

    /// What is still being compared with the digest that was given for it, in the background.
    ///
    /// # Errors
    /// A part can't be read, or is not what it should be.
    pub fn compare(&self) -> Result<Vec<Running>, ArtifactError> {
        // All begin, and one that is wrong says so at once.
        let compared: Vec<_> = self.parts.iter().map(|part| part.artifact.compare()).collect();
        compared.into_iter().filter_map(Result::transpose).collect()
    }
}

/// Finds what is fetched; cheap to clone.
#[derive(Clone)]
pub struct Fetched(Artifacts);

impl Fetched {
    /// By these.
    #[must_use]
    pub fn new(upstreams: Upstreams) -> Self {
        Self(Artifacts::new(upstreams))
    }

    /// Finds all that a configuration names, as it is now. Nothing of it is read yet.
    ///
    /// # Errors
    /// It can't be booted, or does not answer.
    pub async fn find(
        &self,
        configuration: &HostBootConfiguration,
        architecture: Hardware,
    ) -> Result<Whole, FetchError> {
        let mut whole = match what(&configuration.spec).map_err(FetchError::NotBootable)? {
            None => Whole::default(),
            Some(What::Registry(reference)) => self.image(reference, architecture).await?,
            Some(What::Program(url)) => {
                Whole { parts: vec![self.file(ArtifactName::Program, url).await?], ..Whole::default() }
            }
            Some(What::Kernel { kernel, initramfs }) => {
                let mut parts = vec![self.file(ArtifactName::Kernel, kernel).await?];
                if let Some(url) = initramfs {
                    parts.push(self.file(ArtifactName::Initramfs(0), url).await?);
                }
                Whole { parts, ..Whole::default() }
            }
        };
        if let Some(install) = &configuration.spec.install {
            let (part, digest) = self.to_install(install, architecture).await?;
            whole.parts.push(part);
            // The agent, which boots here, is none of a registry's.
            whole.image_digest = digest.or(whole.image_digest);
        }
        Ok(whole)
    }

    /// What is served under a name, if it is still what it was when the configuration became ready.
    ///
    /// # Errors
    /// It is not, or can't be had.
    pub async fn get(
        &self,
        configuration: &HostBootConfiguration,
        name: ArtifactName,
        architecture: Hardware,
    ) -> Result<Artifact, FetchError> {
        let status = configuration.status.as_ref().ok_or(FetchError::NotThere)?;
        let pin =
            served(status, name).and_then(|served| served.pin.as_deref()).ok_or(FetchError::NotThere)?;
        if let (ArtifactName::Image, Some(install)) = (name, &configuration.spec.install) {
            if is_in_registry(&install.image) {
                let exact = exact(&install.image, status.image_digest.as_deref());
                let disk = self.0.disk_to_serve(&exact, of(architecture)).await?.disk;
                return if disk.pin() == pin { Ok(disk) } else { Err(FetchError::NotThere) };
            }
            return Ok(self.0.pinned(&Located::Url(install.image.clone()), pin).await?);
        }
        let url = match what(&configuration.spec).map_err(FetchError::NotBootable)? {
            Some(What::Registry(reference)) => {
                let exact = exact(reference, status.image_digest.as_deref());
                let image = self.0.image_to_serve(&exact, of(architecture)).await?;
                let part =
                    parts(image).into_iter().find(|part| part.name == name && part.artifact.pin() == pin);
                return part.map(|part| part.artifact).ok_or(FetchError::NotThere);
            }
            Some(What::Program(url)) if name == ArtifactName::Program => url,
            Some(What::Kernel { kernel, .. }) if name == ArtifactName::Kernel => kernel,
            Some(What::Kernel { initramfs: Some(url), .. }) if name == ArtifactName::Initramfs(0) => url,
            Some(What::Program(_) | What::Kernel { .. }) | None => return Err(FetchError::NotThere),
        };
        Ok(self.0.pinned(&Located::Url(url.to_owned()), pin).await?)
    }

    /// An image for a disk, with what it must hash to: as it was given, as a checksum file says now, or as its registry says;
    /// and there the digest of its manifest.
    async fn to_install(
        &self,
        install: &DiskInstall,
        architecture: Hardware,
    ) -> Result<(Part, Option<String>), FetchError> {
        if is_in_registry(&install.image) {
            let found = self.0.disk(&install.image, of(architecture)).await?;
            return Ok((Part { name: ArtifactName::Image, artifact: found.disk }, Some(found.digest)));
        }
        Ok((self.file_to_install(install).await?, None))
    }

    async fn file_to_install(&self, install: &DiskInstall) -> Result<Part, FetchError> {
        let url = &install.image;
        let asked = install.checksum.as_deref().map(|text| checksum(text, install.checksum_type));
        let digest = match asked.transpose().map_err(FetchError::Checksum)? {
            None => return Ok(self.file(ArtifactName::Image, url).await?),
            Some(Checksum::Digest(_, hex)) => Digest::of_hex(&hex),
            Some(Checksum::File(list)) => {
                Some(self.0.listed(&list, url, algorithm(install.checksum_type)).await?)
            }
        };
        let digest = digest.ok_or_else(|| FetchError::Checksum("The checksum is no digest".to_owned()))?;
        Ok(Part { name: ArtifactName::Image, artifact: self.0.file_having(url, digest).await? })
    }

    async fn file(&self, name: ArtifactName, url: &str) -> Result<Part, ArtifactError> {
        Ok(Part { name, artifact: self.0.file(url).await? })
    }

    async fn image(&self, reference: &str, architecture: Hardware) -> Result<Whole, FetchError> {
        let image = self.0.image(reference, of(architecture)).await?;
        let (image_digest, command_line) = (Some(image.digest.clone()), image.command_line.clone());
        let parts = parts(image);
        let starts = |part: &Part| matches!(part.name, ArtifactName::Kernel | ArtifactName::Program);
        if !parts.iter().any(starts) {
            return Err(FetchError::NothingToStart);
        }
        Ok(Whole { parts, image_digest, command_line })
    }
}

/// What is said to be served under a name.
pub(super) fn served(status: &HostBootConfigurationStatus, name: ArtifactName) -> Option<&ServedArtifact> {
    let name = name.to_string();
    status.artifacts.iter().find(|served| served.name == name)
}

/// In the order in which a loader fetches them.
fn parts(image: BootImage) -> Vec<Part> {
    let BootImage { kernel, initramfs, root, program, .. } = image;
    let initramfs = initramfs.into_iter().zip(0_u8..);
    let named = |name| move |artifact| Part { name, artifact };
    let mut parts: Vec<Part> = kernel.map(named(ArtifactName::Kernel)).into_iter().collect();
    parts
        .extend(initramfs.map(|(artifact, number)| Part { name: ArtifactName::Initramfs(number), artifact }));
    parts.extend(program.map(named(ArtifactName::Program)));
    parts.extend(root.map(named(ArtifactName::Root)));
    parts
}

const fn algorithm(asked: ChecksumType) -> Option<Algorithm> {
    match asked {
        ChecksumType::Auto => None,
        ChecksumType::Md5 => Some(Algorithm::Md5),
        ChecksumType::Sha256 => Some(Algorithm::Sha256),
        ChecksumType::Sha512 => Some(Algorithm::Sha512),
    }
}

const fn of(architecture: Hardware) -> Architecture {
    match architecture {
        Hardware::Amd64 => Architecture::Amd64,
        Hardware::Arm64 => Architecture::Arm64,
    }
}

/// The very image that was found, whatever its tag stands for by now.
fn exact(reference: &str, digest: Option<&str>) -> String {
    match digest.filter(|_| !reference.contains('@')) {
        Some(digest) => format!("{reference}@{digest}"),
        None => reference.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_was_found_is_named_by_its_digest() {
        for (reference, digest, expected) in [
            ("foo:latest", Some("sha256:0"), "foo:latest@sha256:0"),
            ("oci://r/foo@sha256:1", Some("sha256:0"), "oci://r/foo@sha256:1"),
            ("foo", None, "foo"),
        ] {
            assert_eq!(exact(reference, digest), expected);
        }
    }
}
