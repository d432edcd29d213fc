//! kube-apiserver: its keys, its flags, and when it is ready. The control plane has one; every workload cluster has one
//! of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use http::Request;
use kube::Client;

use super::audit;
use super::components::flag;
use super::pki::{Identity, write_private};
use crate::process::{Command, Process};
use crate::tools::{Tool, Tools};
use crate::wait::{self, Seen};

/// What it proves who it is with, and whom it trusts; PEM.
pub(crate) struct Keys {
    /// Whose client certificates it takes.
    pub(crate) authority: String,
    pub(crate) serving: Identity,
    /// What it signs the tokens of service accounts with.
    pub(crate) token_private: String,
    pub(crate) token_public: String,
    /// Users by token, a line each.
    pub(crate) tokens: String,
}

impl Keys {
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let files = [
            ("ca.crt", self.authority.as_str()),
            ("apiserver.crt", &self.serving.certificate),
            ("apiserver.key", &self.serving.key),
            ("service-accounts.key", &self.token_private),
            ("service-accounts.pub", &self.token_public),
            ("audit-policy.json", audit::POLICY),
            ("tokens.csv", &self.tokens),
        ];
        for (name, text) in files {
            write_private(&folder.join(name), text)?;
        }
        Ok(())
    }
}

/// Where its files and its data are, and where it listens.
pub(crate) struct Place {
    /// The folder that [`Keys::write`] wrote.
    pub(crate) keys: PathBuf,
    pub(crate) audit_log: PathBuf,
    /// The URL of etcd.
    pub(crate) etcd: String,
    pub(crate) listen: SocketAddr,
}

impl Place {
    pub(crate) fn command(&self, tools: &Tools) -> Result<Command> {
        let key = |name: &str| self.keys.join(name);
        Ok(Command::new("kube-apiserver", tools.path(Tool::KubeApiserver)?)
            .arg(format!("--etcd-servers={}", self.etcd))
            .arg(format!("--bind-address={}", self.listen.ip()))
            .arg(format!("--advertise-address={}", self.listen.ip()))
            .arg(format!("--secure-port={}", self.listen.port()))
            // No pod looks for the API server, and the endpoints of a Service may
            // not be on the loopback address.
            .arg("--endpoint-reconciler-type=none")
            .arg("--service-cluster-ip-range=10.96.0.0/16")
            .arg("--authorization-mode=RBAC")
            .arg(flag("--client-ca-file", &key("ca.crt")))
            .arg(flag("--tls-cert-file", &key("apiserver.crt")))
            .arg(flag("--tls-private-key-file", &key("apiserver.key")))
            .arg(flag("--token-auth-file", &key("tokens.csv")))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(flag("--service-account-signing-key-file", &key("service-accounts.key")))
            .arg(flag("--service-account-key-file", &key("service-accounts.pub")))
            .arg(flag("--audit-policy-file", &key("audit-policy.json")))
            .arg(flag("--audit-log-path", &self.audit_log))
            // One file, never rotated away from the test that reads it.
            .arg("--audit-log-maxsize=0")
            .arg("--profiling=false")
            .grace(Duration::from_secs(5)))
    }
}

/// Waits until it answers, for as long as its process lives.
pub(crate) async fn ready(process: &Process, client: &Client, limit: Duration) -> Result<()> {
    let ready = wait::until("kube-apiserver to be ready", limit, || async move {
        if let Err(ended) = process.check() {
            return Ok(Seen::Never(ended));
        }
        // The namespace that everybody takes for granted comes a moment
        // after the server calls itself ready.
        for path in ["/readyz", "/api/v1/namespaces/default"] {
            let answer = client.request_text(Request::get(path).body(Vec::new())?);
            // Whoever else holds the port may accept and stay silent.
            let answer = tokio::time::timeout(Duration::from_secs(2), answer).await;
            answer.with_context(|| format!("{path} was not answered"))?.context(path)?;
        }
        Ok(Seen::Done(()))
    });
    ready.await.map_err(|unmet| match process.ended() {
        Some(_) => unmet.into(),
        None => process.failure(&unmet.to_string()),
    })
}
