//! What a mock of a registry holds, and how a faultless one answers. Tests change some of its answers.

use std::collections::HashMap;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::mock::{Asked, ranged, reply, sha256};

pub const KERNEL: &str = "application/vnd.ironcore.image.kernel";
pub const INITRAMFS: &str = "application/vnd.ironcore.image.initramfs";
pub const SQUASHFS: &str = "application/vnd.ironcore.image.squashfs";
pub const UKI: &str = "application/vnd.ironcore.image.uki";
pub const CONFIG: &str = "application/vnd.ironcore.image.config.v1+json";

/// Manifests by tag and digest, blobs by digest; all in one repository, `boot/image`.
#[derive(Clone, Default)]
pub struct Contents {
    manifests: HashMap<String, Vec<u8>>,
    blobs: HashMap<String, Vec<u8>>,
}

impl Contents {
    /// An image with these parts under a tag.
    pub fn with_image(tag: &str, parts: &[(&str, &[u8])]) -> Self {
        let mut contents = Self::default();
        contents.image(tag, "application/vnd.oci.empty.v1+json", b"{}", parts);
        contents
    }

    /// Adds an image, and gives what points at it.
    pub fn image(&mut self, tag: &str, config_type: &str, config: &[u8], parts: &[(&str, &[u8])]) -> Value {
        let layers: Vec<Value> = parts.iter().map(|(kind, bytes)| self.blob(kind, bytes)).collect();
        let config = self.blob(config_type, config);
        self.manifest(tag, &json!({ "schemaVersion": 2, "config": config, "layers": layers }))
    }

    /// Adds a blob, and gives what points at it.
    pub fn blob(&mut self, media_type: &str, bytes: &[u8]) -> Value {
        self.blobs.insert(sha256(bytes), bytes.to_vec());
        json!({ "mediaType": media_type, "digest": sha256(bytes), "size": bytes.len() })
    }

    /// Adds an index or a manifest, and gives what points at it.
    pub fn manifest(&mut self, tag: &str, manifest: &Value) -> Value {
        let bytes = manifest.to_string().into_bytes();
        let digest = sha256(&bytes);
        let size = bytes.len();
        self.manifests.insert(tag.to_owned(), bytes.clone());
        self.manifests.insert(digest.clone(), bytes);
        json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": size })
    }

    pub fn answer(&self, asked: &Asked) -> Response<Body> {
        let Some(rest) = asked.path.strip_prefix("/v2/boot/image/") else { return reply(404, &[], "") };
        let found = match rest.split_once('/') {
            Some(("manifests", name)) => self.manifests.get(name),
            Some(("blobs", digest)) => self.blobs.get(digest),
            _ => None,
        };
        found.map_or_else(|| reply(404, &[], ""), |bytes| ranged(asked, bytes, &[]))
    }
}

/// Whether a blob is asked for.
pub fn is_blob(asked: &Asked) -> bool {
    asked.path.contains("/blobs/")
}
