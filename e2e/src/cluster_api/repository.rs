//! The directory from which clusterctl installs: Cluster API from the
//! manifests of its module, Beskar7 from what `make release` wrote.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::Provider;
use super::local_webhooks::{Target, field, rewrite, split};
use crate::control_plane::kubeconfig::base64;
use crate::tools::Manifests;
use crate::workspace;

/// A release of the Beskar7 provider, as clusterctl finds it.
#[derive(Debug, Clone)]
pub struct Infrastructure {
    /// The folder `infrastructure-beskar7`, with a folder per version.
    pub directory: PathBuf,
    /// The version to install.
    pub version: String,
}

impl Default for Infrastructure {
    fn default() -> Self {
        Self { directory: workspace::release_directory(), version: workspace::RELEASE_VERSION.to_owned() }
    }
}

impl Infrastructure {
    /// The folder of this version.
    #[must_use]
    pub fn release(&self) -> PathBuf {
        self.directory.join(&self.version)
    }

    /// The file that clusterctl installs, or what is missing.
    pub fn components(&self) -> Result<PathBuf> {
        let path = self.release().join("infrastructure-components.yaml");
        if !path.is_file() {
            bail!(
                "there is no release of Beskar7 to install: {} is missing; `make release` writes it",
                path.display()
            );
        }
        if !self.directory.ends_with("infrastructure-beskar7") {
            bail!(
                "clusterctl knows a provider by its folder: {} must end in infrastructure-beskar7",
                self.directory.display()
            );
        }
        Ok(path)
    }

    /// The flavours of cluster templates in the release; the default one is
    /// called "".
    pub fn flavors(&self) -> Result<Vec<String>> {
        let release = self.release();
        let mut flavors = Vec::new();
        for entry in std::fs::read_dir(&release).with_context(|| format!("reading {}", release.display()))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let stem = name.strip_prefix("cluster-template").and_then(|rest| rest.strip_suffix(".yaml"));
            if let Some(flavor) = stem {
                flavors.push(flavor.trim_start_matches('-').to_owned());
            }
        }
        flavors.sort();
        Ok(flavors)
    }
}

/// The repository of one control plane, while it is written and afterwards.
#[derive(Debug)]
pub(super) struct Repository {
    directory: PathBuf,
    config: PathBuf,
    manifests: Manifests,
    entries: Vec<Value>,
}

impl Repository {
    pub(super) fn new(directory: &Path, manifests: &Manifests) -> Result<Self> {
        let config = directory.join("clusterctl.yaml");
        create(&directory.join("overrides"))?;
        Ok(Self {
            directory: directory.join("repository"),
            config,
            manifests: manifests.clone(),
            entries: Vec::new(),
        })
    }

    pub(super) fn config(&self) -> &Path {
        &self.config
    }

    /// Adds a provider whose webhooks will be at `port`; returns namespace and
    /// name of the service account that it runs under.
    pub(super) fn add(
        &mut self,
        provider: &Provider,
        port: u16,
        authority: &str,
    ) -> Result<(String, String)> {
        let original = self.manifests.components(provider.folder)?;
        let account =
            account_in(&original).with_context(|| format!("the Deployment of {}", provider.folder))?;
        let target = Target { port, authority: &base64(authority)? };
        let components =
            rewrite(&original, &target).with_context(|| format!("the manifests of {}", provider.folder))?;
        let release = self.directory.join(provider.folder).join(self.manifests.version());
        create(&release)?;
        let path = release.join(provider.components);
        write(&path, &components)?;
        write(&release.join("metadata.yaml"), &self.manifests.metadata()?)?;
        self.entries.push(json!({"name": provider.name, "type": provider.kind, "url": path}));
        Ok(account)
    }

    /// Adds Beskar7, as released, and writes the configuration of clusterctl.
    pub(super) fn finish(&mut self, infrastructure: &Infrastructure) -> Result<()> {
        let components = infrastructure.components()?;
        self.entries.push(json!({"name": "beskar7", "type": "InfrastructureProvider", "url": components}));
        let config = json!({
            "providers": self.entries,
            "overridesFolder": self.config.with_file_name("overrides"),
            // It would ask the internet for a newer one.
            "CLUSTERCTL_DISABLE_VERSIONCHECK": "true",
            "CLUSTER_TOPOLOGY": "true",
        });
        write(&self.config, &serde_saphyr::to_string(&config).context("clusterctl.yaml")?)
    }
}

/// Namespace and service account of the one Deployment in the manifests.
fn account_in(documents: &str) -> Result<(String, String)> {
    let deployment =
        split(documents).into_iter().find(|document| field(document, "kind") == Some("Deployment"));
    let value: Value = serde_saphyr::from_str(deployment.context("no Deployment")?).context("reading it")?;
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let namespace = text("/metadata/namespace").context("it has no namespace")?;
    let account = text("/spec/template/spec/serviceAccountName").context("it has no service account")?;
    Ok((namespace, account))
}

fn create(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_account_is_that_of_the_deployment() {
        let text = "kind: Service\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  namespace: capi-system\nspec:\n  template:\n    spec:\n      serviceAccountName: capi-manager\n";
        assert_eq!(account_in(text).unwrap(), ("capi-system".to_owned(), "capi-manager".to_owned()));
        assert!(account_in("kind: Service\n").is_err());
    }

    #[test]
    fn a_missing_release_says_how_to_make_one() {
        let nowhere =
            Infrastructure { directory: "nowhere/infrastructure-beskar7".into(), version: "v1.0.0".into() };
        assert!(nowhere.components().unwrap_err().to_string().contains("`make release`"));
    }

    #[test]
    fn flavours_are_read_from_file_names() {
        let directory = tempfile::tempdir().unwrap();
        let infrastructure =
            Infrastructure { directory: directory.path().to_owned(), version: "v1".to_owned() };
        create(&infrastructure.release()).unwrap();
        for name in
            ["cluster-template.yaml", "cluster-template-pxe.yaml", "clusterclass-x.yaml", "metadata.yaml"]
        {
            write(&infrastructure.release().join(name), "").unwrap();
        }
        assert_eq!(infrastructure.flavors().unwrap(), ["", "pxe"]);
    }
}
