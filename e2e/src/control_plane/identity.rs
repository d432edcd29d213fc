//! Who may speak to the API server: the administrator, service accounts under
//! their own roles, and users. Nobody here is impersonated.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;

use super::ControlPlane;
use super::kubeconfig::{self, Credential};

/// Longer than any demo: nobody renews it.
const TOKEN_SECONDS: i64 = 365 * 24 * 3600;

/// A user known to the API server by a token from its start on.
#[derive(Debug, Clone)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// The secret it shows.
    pub token: String,
}

impl User {
    /// Its line in the API server's file of tokens.
    pub(super) fn line(&self) -> String {
        let Self { name, groups, token } = self;
        format!("{token},{name},{name},\"{}\"\n", groups.join(","))
    }
}

impl ControlPlane {
    /// A kubeconfig under which a program has exactly the rights of a service
    /// account that exists.
    pub async fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client().await?, namespace);
        let spec =
            TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
        let answer = answer.with_context(|| format!("a token for the service account {namespace}/{name}"))?;
        let token =
            answer.status.and_then(|status| status.token).context("a token request without an answer")?;
        self.write_kubeconfig(&format!("{namespace}-{name}"), name, &Credential::Token(token), namespace)
    }

    /// A kubeconfig for a user, by client certificate. A certificate made here
    /// names one group; a user of several is declared in
    /// [`Options::users`](super::Options::users).
    pub fn kubeconfig_for_user(&self, name: &str, groups: &[&str]) -> Result<PathBuf> {
        let declared = self.options.users.iter().find(|user| user.name == name && user.groups == groups);
        let credential = match (declared, groups) {
            (Some(user), _) => Credential::Token(user.token.clone()),
            (None, []) => Credential::Certificate(self.authority.client(name, None)?),
            (None, [group]) => Credential::Certificate(self.authority.client(name, Some(group))?),
            (None, _) => {
                bail!("a certificate names one group: declare {name} with its {groups:?} in Options::users")
            }
        };
        let file = format!("user-{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        self.write_kubeconfig(&file, name, &credential, "default")
    }

    fn write_kubeconfig(
        &self,
        file: &str,
        user: &str,
        credential: &Credential,
        namespace: &str,
    ) -> Result<PathBuf> {
        let path = self.directory.at("kubeconfigs").join(file);
        kubeconfig::write(&path, &self.server(), self.authority.certificate(), user, credential, namespace)?;
        Ok(path)
    }

    /// The kubeconfigs name the API server's port, so they follow it.
    pub(super) fn write_own_kubeconfigs(&self) -> Result<PathBuf> {
        let admin = Credential::Certificate(self.authority.client("admin", Some("system:masters"))?);
        let authority = self.authority.certificate();
        kubeconfig::write(&self.kubeconfig(), &self.server(), authority, "admin", &admin, "default")?;
        let name = "system:kube-controller-manager";
        let controllers = Credential::Certificate(self.authority.client(name, None)?);
        self.write_kubeconfig("kube-controller-manager", name, &controllers, "kube-system")
    }
}
