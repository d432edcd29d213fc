//! Images that machines boot from the network, in a real registry.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use anyhow::Result;
use beskar7_boot::artifacts::{Architecture, ArtifactError, Artifacts, Located};
use beskar7_boot::source::read;
use beskar7_boot::upstream::{CacheSettings, UpstreamSettings, Upstreams};
use beskar7_e2e::registry::Registry;
use beskar7_e2e::tools::Tools;
use serde_json::{Value, json};

const KERNEL: &str = "application/vnd.ironcore.image.kernel";
const INITRAMFS: &str = "application/vnd.ironcore.image.initramfs";
const SQUASHFS: &str = "application/vnd.ironcore.image.squashfs";
const CONFIG: &str = "application/vnd.ironcore.image.config.v1+json";
/// What ORAS gives a file whose type nobody says.
const FILE: &str = "application/vnd.oci.image.layer.v1.tar";

fn upstreams(cache: Option<CacheSettings>) -> Upstreams {
    let settings = UpstreamSettings { allow_loopback: true, cache, ..UpstreamSettings::default() };
    Upstreams::new(&settings).unwrap()
}

/// Bytes that tell where they stand, and whose they are.
fn content(length: usize, whose: &str) -> Vec<u8> {
    whose.bytes().cycle().take(length).zip(0u32..).map(|(byte, at)| byte ^ at.to_le_bytes()[1]).collect()
}

/// An image for both architectures, each with parts of its own.
async fn push(registry: &Registry, repository: &str) -> Result<Value> {
    let mut manifests = Vec::new();
    for architecture in ["amd64", "arm64"] {
        let part = |name: &str| content(3_000_000, &format!("{architecture} {name}"));
        let layers = [
            registry.push_blob(repository, KERNEL, &part("kernel")).await?,
            registry.push_blob(repository, INITRAMFS, &part("initramfs")).await?,
            registry.push_blob(repository, SQUASHFS, &part("squashfs")).await?,
        ];
        let config = json!({ "commandLine": format!("console=ttyS0 name={architecture}") }).to_string();
        let config = registry.push_blob(repository, CONFIG, config.as_bytes()).await?;
        let tag = format!("1-{architecture}");
        let mut manifest = registry.push_manifest((repository, &tag), &config, &layers).await?;
        manifest["platform"] = json!({ "os": "linux", "architecture": architecture });
        manifests.push(manifest);
    }
    registry.push_index((repository, "1"), &manifests).await
}

#[tokio::test]
async fn an_image_is_found_read_by_range_and_compared() -> Result<()> {
    let registry = Registry::start(&Tools::registry_ready().await?).await?;
    let index = push(&registry, "os/linux").await?;
    let directory = tempfile::tempdir()?;
    let cache = CacheSettings { directory: directory.path().to_owned(), limit: 100 << 20 };
    let artifacts = Artifacts::new(upstreams(Some(cache)));
    let tagged = format!("oci://{}/os/linux:1", registry.address());
    let pinned = format!("{tagged}@{}", index["digest"].as_str().unwrap());
    for (architecture, name) in [(Architecture::Amd64, "amd64"), (Architecture::Arm64, "arm64")] {
        let image = artifacts.image(&tagged, architecture).await?;
        let expected = |part: &str| content(3_000_000, &format!("{name} {part}"));
        let (kernel, root) = (image.kernel.unwrap(), image.root.unwrap());
        assert_eq!((image.initramfs.len(), image.program.is_none()), (1, true));
        for (artifact, part) in [(&kernel, "kernel"), (&image.initramfs[0], "initramfs"), (&root, "squashfs")]
        {
            artifact.verify().await?;
            let middle = read(&*artifact.source(), 1_048_570..2_500_000).await?;
            assert!(middle == expected(part)[1_048_570..2_500_000], "{name} {part}: other bytes");
        }
        assert_eq!(image.command_line, Some(format!("console=ttyS0 name={name}")));
        assert_eq!(artifacts.image(&pinned, architecture).await?.digest, image.digest);

        // Another replica finds it again by what is written down, without a cache as well.
        let digest = kernel.digest().unwrap().to_string();
        let what = Located::blob(&tagged, &digest, kernel.size())?;
        let found = Artifacts::new(upstreams(None)).pinned(&what, kernel.pin()).await?;
        assert!(read(&*found.source(), 0..3_000_000).await? == expected("kernel"), "{name}: other bytes");
    }
    registry.stop().await
}

#[tokio::test]
async fn files_are_known_by_their_names_and_a_moved_tag_is_another_image() -> Result<()> {
    let registry = Registry::start(&Tools::registry_ready().await?).await?;
    let artifacts = Artifacts::new(upstreams(None));
    let config = registry.push_blob("files", "application/vnd.oci.empty.v1+json", b"{}").await?;
    let mut digests = Vec::new();
    for version in ["first", "second"] {
        let mut layers = Vec::new();
        for name in ["vmlinuz", "initrd.img", "SHA256SUMS"] {
            let mut layer = registry.push_blob("files", FILE, format!("{version} {name}").as_bytes()).await?;
            layer["annotations"] = json!({ "org.opencontainers.image.title": name });
            layers.push(layer);
        }
        registry.push_manifest(("files", "latest"), &config, &layers).await?;
        let reference = format!("{}/files", registry.address());
        let image = artifacts.image(&reference, Architecture::Amd64).await?;
        let kernel = image.kernel.unwrap();
        kernel.verify().await?;
        assert_eq!(read(&*kernel.source(), 0..kernel.size()).await?, format!("{version} vmlinuz"));
        assert_eq!(image.initramfs[0].size(), format!("{version} initrd.img").len() as u64);
        digests.push(image.digest);
    }
    assert_ne!(digests[0], digests[1]);
    registry.stop().await
}

#[tokio::test]
async fn an_image_of_a_disk_is_the_one_file_that_is_called_so() -> Result<()> {
    let registry = Registry::start(&Tools::registry_ready().await?).await?;
    let artifacts = Artifacts::new(upstreams(None));
    let config = registry.push_blob("disks", "application/vnd.oci.empty.v1+json", b"{}").await?;
    let bytes = content(3_000_000, "a disk");
    let mut layers = Vec::new();
    for (name, bytes) in [("node.qcow2.sha256", b"sums".as_slice()), ("node.qcow2", &bytes)] {
        let mut layer = registry.push_blob("disks", FILE, bytes).await?;
        layer["annotations"] = json!({ "org.opencontainers.image.title": name });
        layers.push(layer);
    }
    registry.push_manifest(("disks", "1"), &config, &layers).await?;
    let reference = format!("oci://{}/disks:1", registry.address());
    let found = artifacts.disk(&reference, Architecture::Amd64).await?;
    found.disk.verify().await?;
    assert!(read(&*found.disk.source(), 10..2_500_000).await? == bytes[10..2_500_000], "other bytes");

    // The tag moves: who names the manifest has what it was.
    registry.push_manifest(("disks", "1"), &config, &layers[..1]).await?;
    let exact = artifacts.disk(&format!("{reference}@{}", found.digest), Architecture::Amd64).await?;
    assert_eq!(exact.disk.pin(), found.disk.pin());
    push(&registry, "os/linux").await?;
    let other = format!("oci://{}/os/linux:1", registry.address());
    let error = artifacts.disk(&other, Architecture::Amd64).await.unwrap_err();
    assert!(error.to_string().contains("no image of a disk"), "{error}");
    registry.stop().await
}

#[tokio::test]
async fn what_is_not_there_is_told() -> Result<()> {
    let registry = Registry::start(&Tools::registry_ready().await?).await?;
    push(&registry, "os/linux").await?;
    let artifacts = Artifacts::new(upstreams(None));
    let zeros = "0".repeat(64);
    for version in [":2", &format!("@sha256:{zeros}")] {
        let reference = format!("{}/os/linux{version}", registry.address());
        let error = artifacts.image(&reference, Architecture::Amd64).await.unwrap_err();
        assert!(matches!(&error, ArtifactError::Registry { .. }) && !error.is_passing(), "{error}");
        assert!(error.to_string().contains("404 Not Found"), "{error}");
    }
    let reference = format!("{}/os/linux", registry.address());
    let what = Located::blob(&reference, &format!("sha256:{zeros}"), 7)?;
    let error = artifacts.pinned(&what, "0123456789abcdef").await.unwrap_err();
    assert!(error.to_string().contains("404 Not Found"), "{error}");
    let address = registry.address();
    registry.stop().await?;
    let error = artifacts.image(&format!("{address}/os/linux:1"), Architecture::Amd64).await.unwrap_err();
    assert!(error.is_passing(), "a registry that is away may come back: {error}");
    Ok(())
}
