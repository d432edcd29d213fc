//! What machines that boot from the network fetch: files behind URLs, and the parts of images in OCI registries. Each is
//! pinned to one content, read by range through the same client and cache as images, and compared with its digest where
//! there is one. Nothing here knows who fetches it.

mod architecture;
mod artifact;
mod boot_image;
mod checksums;
mod comparison;
mod digest;
mod disk_image;
mod error;
mod layers;
mod located;
mod manifest;
mod memory;
mod reference;
mod resolve;

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

pub use self::architecture::Architecture;
pub use self::artifact::Artifact;
pub use self::boot_image::BootImage;
pub use self::checksums::ChecksumError;
use self::comparison::Comparisons;
pub use self::comparison::Running;
pub use self::digest::{Algorithm, Digest, DigestError};
pub use self::disk_image::DiskImage;
pub use self::error::ArtifactError;
pub use self::located::{Blob, Located};
use self::memory::Memory;
use self::reference::Version;
pub use self::reference::{Reference, ReferenceError, Repository};
use self::resolve::Resolve;
use crate::upstream::{Registry, Upstreams, shown};

/// How many opened artifacts are remembered.
const OPENED: usize = 1024;
/// How many images, and how many repositories' tokens.
const IMAGES: usize = 256;
const REPOSITORIES: usize = 256;
/// As much of a list of checksums is read: those of whole mirrors have some hundred lines.
const LONGEST_LIST: usize = 1 << 20;
/// How long an image is taken for granted by who finds out what to boot: the registry may lose it.
const FRESH: Duration = Duration::from_secs(300);

/// What an image was found to be: by its repository, the digest of what its reference stands for, and architecture.
type Images = Memory<(Repository, Digest, Architecture), BootImage>;
/// The same for images of disks.
type Disks = Memory<(Repository, Digest, Architecture), DiskImage>;

/// Finds artifacts, and remembers what it found. Clone it: all clones remember together.
#[derive(Clone)]
pub struct Artifacts {
    upstreams: Upstreams,
    opened: Arc<Memory<Located, Artifact>>,
    images: Arc<Images>,
    disks: Arc<Disks>,
    registries: Arc<Memory<Repository, Arc<Registry>>>,
    comparisons: Arc<Comparisons>,
}

impl Artifacts {
    /// Reads by these.
    #[must_use]
    pub fn new(upstreams: Upstreams) -> Self {
        Self {
            upstreams,
            opened: Arc::new(Memory::new(OPENED)),
            images: Arc::new(Memory::new(IMAGES)),
            disks: Arc::new(Memory::new(IMAGES)),
            registries: Arc::new(Memory::new(REPOSITORIES)),
            comparisons: Arc::new(Comparisons::new()),
        }
    }

    /// A file at an http(s) URL, as it is now. The URL may end in `#sha256=` and hexadecimal digits (also `sha512`,
    /// `md5`): then its content must have that digest.
    ///
    /// # Errors
    /// The URL can't be read or may not be asked, its server does not answer, or what it answers can't be pinned or read
    /// in parts.
    pub async fn file(&self, url: &str) -> Result<Artifact, ArtifactError> {
        let digest = match Url::parse(url) {
            Ok(parsed) => parsed
                .fragment()
                .map(Digest::of_fragment)
                .transpose()
                .map_err(|why| ArtifactError::Digest { what: shown(&parsed), why })?,
            // Opening it says what is wrong.
            Err(_) => None,
        };
        let upstream = self.upstreams.open(url).await?;
        let located = Located::Url(url.to_owned());
        let artifact = Artifact::new(located.clone(), upstream, digest, self.comparisons.clone());
        self.opened.put(located, artifact.clone());
        Ok(artifact)
    }

    /// The same, where the digest that its content must have was given beside the URL.
    ///
    /// # Errors
    /// As of [`Artifacts::file`].
    pub async fn file_having(&self, url: &str, digest: Digest) -> Result<Artifact, ArtifactError> {
        let upstream = self.upstreams.open(url).await?;
        let located = Located::Url(url.to_owned());
        let artifact = Artifact::new(located.clone(), upstream, Some(digest), self.comparisons.clone());
        self.opened.put(located, artifact.clone());
        Ok(artifact)
    }

    /// The checksum of a file, as another file lists it. What that says now is what counts.
    ///
    /// # Errors
    /// It can't be read, or lists none of that file.
    pub async fn listed(
        &self,
        list: &str,
        file: &str,
        wanted: Option<Algorithm>,
    ) -> Result<Digest, ArtifactError> {
        let text = self.upstreams.document(list, LONGEST_LIST).await?;
        let what = Url::parse(list).map(|url| shown(&url)).unwrap_or_default();
        let name = Url::parse(file).ok().and_then(|url| url.path_segments()?.next_back().map(str::to_owned));
        let found = checksums::find(&String::from_utf8_lossy(&text), &name.unwrap_or_default(), wanted);
        found.map_err(|why| ArtifactError::Checksum { what, why })
    }

    /// What an image in an OCI registry holds for an architecture: all of its parts are there, and none was read yet.
    ///
    /// # Errors
    /// The reference can't be read, the registry does not give the image or one of its parts, or the image is not one
    /// that machines boot from.
    pub async fn image(
        &self,
        reference: &str,
        architecture: Architecture,
    ) -> Result<BootImage, ArtifactError> {
        self.image_within(reference, architecture, Some(FRESH)).await
    }

    /// The same, for whoever serves it. What was found by its digest costs nothing, whether its registry answers now or not:
    /// what a digest stands for does not change.
    ///
    /// # Errors
    /// As of [`Artifacts::image`].
    pub async fn image_to_serve(
        &self,
        reference: &str,
        architecture: Architecture,
    ) -> Result<BootImage, ArtifactError> {
        self.image_within(reference, architecture, None).await
    }

    async fn image_within(
        &self,
        reference: &str,
        architecture: Architecture,
        within: Option<Duration>,
    ) -> Result<BootImage, ArtifactError> {
        let image: Reference = reference.parse().map_err(ArtifactError::Reference)?;
        let key = |digest: &Digest| (image.repository().clone(), digest.clone(), architecture);
        if let Version::Digest(digest) = image.version()
            && let Some(known) = known(&self.images, &key(digest), within)
        {
            return Ok(known);
        }
        let registry = self.registry(image.repository())?;
        let resolve = Resolve { registry: &registry, image: &image, architecture };
        let top = resolve.top().await?;
        let above = key(&top.digest);
        if let Some(known) = known(&self.images, &above, within) {
            return Ok(known);
        }
        let found = self.assemble(&resolve, top).await?;
        self.images.put(above, found.clone());
        // Who serves it asks for it by the digest of its own manifest, and not by that of an index.
        if let Ok(own) = Digest::of_content(&found.digest) {
            self.images.put(key(&own), found.clone());
        }
        Ok(found)
    }

    /// The image of a disk that an image in an OCI registry is, for an architecture. It was not read yet.
    ///
    /// # Errors
    /// The reference can't be read, the registry does not give the image, or there is no disk in it.
    pub async fn disk(
        &self,
        reference: &str,
        architecture: Architecture,
    ) -> Result<DiskImage, ArtifactError> {
        self.disk_within(reference, architecture, Some(FRESH)).await
    }

    /// The same, for whoever serves it: as [`Artifacts::image_to_serve`].
    ///
    /// # Errors
    /// As of [`Artifacts::disk`].
    pub async fn disk_to_serve(
        &self,
        reference: &str,
        architecture: Architecture,
    ) -> Result<DiskImage, ArtifactError> {
        self.disk_within(reference, architecture, None).await
    }

    async fn disk_within(
        &self,
        reference: &str,
        architecture: Architecture,
        within: Option<Duration>,
    ) -> Result<DiskImage, ArtifactError> {
        let image: Reference = reference.parse().map_err(ArtifactError::Reference)?;
        let key = |digest: &Digest| (image.repository().clone(), digest.clone(), architecture);
        if let Version::Digest(digest) = image.version()
            && let Some(known) = known(&self.disks, &key(digest), within)
        {
            return Ok(known);
        }
        let registry = self.registry(image.repository())?;
        let resolve = Resolve { registry: &registry, image: &image, architecture };
        let top = resolve.top().await?;
        let above = key(&top.digest);
        if let Some(known) = known(&self.disks, &above, within) {
            return Ok(known);
        }
        let found = self.find_disk(&resolve, top).await?;
        self.disks.put(above, found.clone());
        if let Ok(own) = Digest::of_content(&found.digest) {
            self.disks.put(key(&own), found.clone());
        }
        Ok(found)
    }

    /// The very content of a pin, for whoever serves it. What was opened before costs nothing, whether its server answers
    /// now or not.
    ///
    /// # Errors
    /// It can't be opened, or another content is there now.
    pub async fn pinned(&self, what: &Located, pin: &str) -> Result<Artifact, ArtifactError> {
        if let Some(artifact) = self.opened.get(what)
            && artifact.pin() == pin
        {
            return Ok(artifact);
        }
        let artifact = self.open(what).await?;
        if artifact.pin() == pin {
            return Ok(artifact);
        }
        let (what, now) = (what.to_string(), artifact.pin().to_owned());
        Err(ArtifactError::Replaced { what, pin: pin.to_owned(), now })
    }

    async fn blob(&self, blob: &Blob) -> Result<Artifact, ArtifactError> {
        self.blob_from(&self.registry(&blob.repository)?, blob).await
    }

    async fn blob_from(&self, registry: &Arc<Registry>, blob: &Blob) -> Result<Artifact, ArtifactError> {
        let upstream = self.upstreams.open_blob(registry, blob.digest.to_string(), blob.size).await?;
        let located = Located::Blob(blob.clone());
        let digest = Some(blob.digest.clone());
        let artifact = Artifact::new(located.clone(), upstream, digest, self.comparisons.clone());
        self.opened.put(located, artifact.clone());
        Ok(artifact)
    }

    /// A repository, with the token that it may have given before.
    fn registry(&self, repository: &Repository) -> Result<Arc<Registry>, ArtifactError> {
        let base = repository.base(self.upstreams.allows_loopback()).map_err(ArtifactError::Reference)?;
        let new = || self.upstreams.registry(&base, repository.name());
        Ok(self.registries.get_or_put(repository.clone(), new))
    }

    async fn open(&self, what: &Located) -> Result<Artifact, ArtifactError> {
        match what {
            Located::Url(url) => self.file(url).await,
            Located::Blob(blob) => self.blob(blob).await,
        }
    }
}

/// What was found before: within a time, or ever.
fn known<K: Eq + Hash + Clone, V: Clone>(
    memory: &Memory<K, V>,
    key: &K,
    within: Option<Duration>,
) -> Option<V> {
    match within {
        Some(within) => memory.recent(key, within),
        None => memory.get(key),
    }
}
