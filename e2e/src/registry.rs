//! An OCI registry on this machine, and images pushed to it as any client pushes them: by plain HTTP.
//!
//! It is the one of go-containerregistry, which keeps everything in memory and asks nobody who they are.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_boot::artifacts::Digest;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::probe;
use crate::process::{Command, Process};
use crate::tools::{Tool, Tools};
use crate::wait::{Seen, until};

const START_LIMIT: Duration = Duration::from_secs(30);
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A running registry; it ends when this is dropped.
#[derive(Debug)]
pub struct Registry {
    process: Process,
    port: u16,
    client: Client,
    _directory: TempDir,
}

impl Registry {
    /// Starts it on a port of its own choice.
    pub async fn start(tools: &Tools) -> Result<Self> {
        let directory = tempfile::tempdir().context("a directory for the registry's log")?;
        let process = Command::new("registry", tools.path(Tool::Registry)?)
            .args(["-port", "0"])
            .spawn(directory.path().join("registry.log"))?;
        let port = until("the registry's port", START_LIMIT, || async {
            if let Err(error) = process.check() {
                return Ok(Seen::Never(error));
            }
            let log = std::fs::read_to_string(process.log())?;
            Ok(port_in(&log).map_or_else(|| Seen::NotYet(log), Seen::Done))
        })
        .await?;
        Ok(Self { process, port, client: probe::client(None)?, _directory: directory })
    }

    /// Where it is: host and port.
    #[must_use]
    pub fn address(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// Pushes a blob into a repository, and gives the descriptor that points at it.
    pub async fn push_blob(&self, repository: &str, media_type: &str, content: &[u8]) -> Result<Value> {
        let url = format!("http://{}/v2/{repository}/blobs/uploads/", self.address());
        let begun = self.client.post(url).send().await.context("beginning an upload")?;
        let location = begun.headers().get("location").context("an upload without a location")?.to_str()?;
        let digest = digest_of(content);
        let url = format!("http://{}{location}?digest={digest}", self.address());
        self.send(self.client.request(Method::PUT, url), content).await?;
        Ok(json!({ "mediaType": media_type, "digest": digest, "size": content.len() }))
    }

    /// Pushes a manifest of layers under a tag, and gives the descriptor that points at it.
    pub async fn push_manifest(&self, name: (&str, &str), config: &Value, layers: &[Value]) -> Result<Value> {
        let manifest =
            json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers });
        self.push_document(name, MANIFEST, &manifest).await
    }

    /// Pushes an index of manifests under a tag, and gives the descriptor that points at it.
    pub async fn push_index(&self, name: (&str, &str), manifests: &[Value]) -> Result<Value> {
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
        self.push_document(name, INDEX, &index).await
    }

    async fn push_document(&self, name: (&str, &str), media_type: &str, document: &Value) -> Result<Value> {
        let (repository, tag) = name;
        let (content, url) =
            (document.to_string(), format!("http://{}/v2/{repository}/manifests/{tag}", self.address()));
        let put = self.client.put(url).header("content-type", media_type);
        self.send(put, content.as_bytes()).await?;
        let digest = digest_of(content.as_bytes());
        Ok(json!({ "mediaType": media_type, "digest": digest, "size": content.len() }))
    }

    async fn send(&self, request: RequestBuilder, content: &[u8]) -> Result<()> {
        let answer = request.body(content.to_vec()).send().await.context("pushing")?;
        let status = answer.status();
        ensure!(status.is_success(), "the registry answered {status}: {}", answer.text().await?);
        Ok(())
    }

    /// Ends it.
    pub async fn stop(mut self) -> Result<()> {
        self.process.stop().await.map(drop)
    }
}

fn digest_of(content: &[u8]) -> String {
    Digest::sha256(content).to_string()
}

/// The port that it says it serves on.
fn port_in(log: &str) -> Option<u16> {
    log.lines().find_map(|line| line.rsplit_once("serving on port ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_log() {
        assert_eq!(port_in("2026/11/18 12:00:00 serving on port 40001\n"), Some(40001));
        assert_eq!(port_in("2026/11/18 12:00:00 GET /v2/\n"), None);
    }
}
