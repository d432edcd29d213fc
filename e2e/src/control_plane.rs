//! A Kubernetes control plane on this machine: etcd, kube-apiserver and
//! kube-controller-manager on free loopback ports, with RBAC, under one
//! directory.
//!
//! There is no kubelet and no scheduler: pods can be created and never run.

mod audit;
mod components;
mod directory;
pub(crate) mod kubeconfig;
pub mod pki;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::Request;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};

pub use audit::{AuditEvent, AuditObject, AuditStatus, AuditUser};
use directory::Directory;
pub use kubeconfig::client as client_by_kubeconfig;
use kubeconfig::Credential;
use pki::{Authority, write_private};

use crate::ports::{self, Port};
use crate::probe;
use crate::process::{Command, Output, Process, tail};
use crate::tools::{Tool, Tools};
use crate::wait::{self, Seen};

/// A machine that does other things too needs longer than the usual 5 s.
const START_LIMIT: Duration = Duration::from_secs(90);

/// What a `kubectl` call may take.
const KUBECTL_LIMIT: Duration = Duration::from_secs(120);

/// How often a start is tried whose port somebody else took.
const ATTEMPTS: usize = 5;

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

/// What may differ from one control plane to another.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where everything goes; a temporary directory if not given.
    pub directory: Option<PathBuf>,
    /// Users by token. Needed only for more than one group: see
    /// [`ControlPlane::kubeconfig_for_user`].
    pub users: Vec<User>,
    /// Further flags of kube-apiserver.
    pub api_server_flags: Vec<String>,
}

/// A running control plane. [`ControlPlane::stop`] says that all went well;
/// dropping it otherwise keeps its directory and names it.
#[derive(Debug)]
pub struct ControlPlane {
    tools: Tools,
    options: Options,
    directory: Directory,
    authority: Authority,
    ports: Ports,
    // In the order in which they stop when nobody does it by hand.
    controller_manager: Option<Process>,
    api_server: Option<Process>,
    etcd: Option<Process>,
    well: bool,
}

/// The ports held for as long as the control plane lives.
#[derive(Debug)]
struct Ports {
    etcd: Port,
    etcd_peer: Port,
    api_server: Port,
    controller_manager: Port,
}

impl Ports {
    fn reserve() -> Result<Self> {
        Ok(Self {
            etcd: Port::reserve()?,
            etcd_peer: Port::reserve()?,
            api_server: Port::reserve()?,
            controller_manager: Port::reserve()?,
        })
    }
}

impl ControlPlane {
    /// Starts everything and waits until it is ready, a few seconds.
    pub async fn start(tools: &Tools, options: Options) -> Result<Self> {
        let mut plane = Self {
            tools: tools.clone(),
            directory: Directory::new(options.directory.as_deref())?,
            options,
            authority: Authority::new("beskar7 local control plane")?,
            ports: Ports::reserve()?,
            controller_manager: None,
            api_server: None,
            etcd: None,
            well: false,
        };
        plane.write_files()?;
        let place = plane.directory().display().to_string();
        plane.bring_up().await.with_context(|| format!("starting the local control plane in {place}"))?;
        Ok(plane)
    }

    /// Where everything of this control plane is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where logs are; others that run beside it put theirs there too.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.directory.at("logs")
    }

    /// The URL of the API server.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://{}", self.ports.api_server.address())
    }

    /// The authority that signs what this control plane trusts.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The tools it was started from.
    #[must_use]
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The kubeconfig of the administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.at("kubeconfig")
    }

    /// A client as the administrator.
    pub async fn client(&self) -> Result<Client> {
        kubeconfig::client(&self.kubeconfig()).await
    }

    /// The processes that run, for tables and for tests that hurt them.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        [&self.etcd, &self.api_server, &self.controller_manager].into_iter().flatten()
    }

    /// The API server's process, while it runs.
    pub fn api_server(&self) -> Result<&Process> {
        self.api_server.as_ref().context("the API server is stopped")
    }

    /// An error if one of the processes has ended by itself.
    pub fn check(&self) -> Result<()> {
        self.processes().try_for_each(Process::check)
    }

    /// `kubectl` as the administrator.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<Output> {
        self.kubectl_command()?.args(arguments).run(KUBECTL_LIMIT).await
    }

    /// `kubectl` as the administrator with something on its standard input.
    pub async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<Output> {
        self.kubectl_command()?.args(arguments).run_with_input(KUBECTL_LIMIT, input).await
    }

    fn kubectl_command(&self) -> Result<Command> {
        let command = Command::new("kubectl", self.tools.path(Tool::Kubectl)?);
        // kubectl keeps discovery results at home, where another API server
        // may have had the same port.
        Ok(command.env("KUBECONFIG", self.kubeconfig()).env("KUBECACHEDIR", self.directory.at("kubectl-cache")))
    }

    /// What was asked of the API server so far.
    pub fn audit(&self) -> Result<Vec<AuditEvent>> {
        audit::read(&self.audit_log())
    }

    /// The audit log's file, one JSON object a line.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    /// A kubeconfig under which a program has exactly the rights of a service
    /// account that exists.
    pub async fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client().await?, namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
        let answer = answer.with_context(|| format!("a token for the service account {namespace}/{name}"))?;
        let token = answer.status.and_then(|status| status.token).context("a token request without an answer")?;
        self.write_kubeconfig(&format!("{namespace}-{name}"), name, &Credential::Token(token), namespace)
    }

    /// A kubeconfig for a user, by client certificate. A certificate made here
    /// names one group; a user of several is declared in [`Options::users`].
    pub fn kubeconfig_for_user(&self, name: &str, groups: &[&str]) -> Result<PathBuf> {
        let declared = self.options.users.iter().find(|user| user.name == name && user.groups == groups);
        let credential = match (declared, groups) {
            (Some(user), _) => Credential::Token(user.token.clone()),
            (None, []) => Credential::Certificate(self.authority.client(name, None)?),
            (None, [group]) => Credential::Certificate(self.authority.client(name, Some(group))?),
            (None, _) => bail!("a certificate names one group: declare {name} with its {groups:?} in Options::users"),
        };
        let file = format!("user-{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        self.write_kubeconfig(&file, name, &credential, "default")
    }

    fn write_kubeconfig(&self, file: &str, user: &str, credential: &Credential, namespace: &str) -> Result<PathBuf> {
        let path = self.directory.at("kubeconfigs").join(file);
        kubeconfig::write(&path, &self.server(), self.authority.certificate(), user, credential, namespace)?;
        Ok(path)
    }

    /// Stops the API server; its data, port and certificates stay.
    pub async fn stop_api_server(&mut self) -> Result<()> {
        if let Some(mut process) = self.api_server.take() {
            process.stop().await?;
        }
        Ok(())
    }

    /// Starts the API server again, where it was, and waits until it is ready.
    pub async fn start_api_server(&mut self) -> Result<()> {
        // The old one has ended, whoever did it.
        self.api_server = None;
        self.spawn_api_server()?;
        self.api_server_ready().await
    }

    /// Stops everything in order and removes the directory: all went well.
    pub async fn stop(mut self) -> Result<()> {
        self.well = true;
        for process in [self.controller_manager.take(), self.api_server.take(), self.etcd.take()] {
            if let Some(mut process) = process {
                process.stop().await?;
            }
        }
        self.directory.remove()
    }

    /// Writes what the cluster's Events say into the logs, as far as the API
    /// server still answers.
    pub async fn collect_events(&self) -> Result<PathBuf> {
        let path = self.logs().join("events.txt");
        let table = self.kubectl(&["get", "events", "-A", "--sort-by=.lastTimestamp"]).await?.success()?;
        std::fs::write(&path, table).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    fn write_files(&self) -> Result<()> {
        let pki = |name: &str, text: &str| write_private(&self.directory.at("pki").join(name), text);
        let further = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1"];
        let serving = self.authority.serving("kube-apiserver", &further)?;
        let (private, public) = pki::token_keys()?;
        pki("ca.crt", self.authority.certificate())?;
        pki("apiserver.crt", &serving.certificate)?;
        pki("apiserver.key", &serving.key)?;
        pki("service-accounts.key", &private)?;
        pki("service-accounts.pub", &public)?;
        pki("audit-policy.json", audit::POLICY)?;
        let tokens = self.options.users.iter().map(|user| {
            format!("{},{},{},\"{}\"\n", user.token, user.name, user.name, user.groups.join(","))
        });
        pki("tokens.csv", &tokens.collect::<String>())?;
        Ok(())
    }

    /// The kubeconfigs name the API server's port, so they follow it.
    fn write_own_kubeconfigs(&self) -> Result<PathBuf> {
        let admin = Credential::Certificate(self.authority.client("admin", Some("system:masters"))?);
        let authority = self.authority.certificate();
        kubeconfig::write(&self.kubeconfig(), &self.server(), authority, "admin", &admin, "default")?;
        let name = "system:kube-controller-manager";
        let controllers = Credential::Certificate(self.authority.client(name, None)?);
        self.write_kubeconfig("kube-controller-manager", name, &controllers, "kube-system")
    }

    async fn bring_up(&mut self) -> Result<()> {
        for attempt in 1.. {
            let outcome = self.try_bring_up().await;
            let Err(error) = outcome else { return Ok(()) };
            let unlucky = self.processes().any(|process| {
                process.ended().is_some() && ports::taken(&tail(process.log(), 100))
            });
            if !unlucky || attempt == ATTEMPTS {
                return Err(error);
            }
            for process in [&mut self.controller_manager, &mut self.api_server, &mut self.etcd] {
                if let Some(mut process) = process.take() {
                    process.stop().await?;
                    std::fs::remove_file(process.log()).ok();
                }
            }
            std::fs::remove_dir_all(self.directory.at("etcd")).ok();
            self.ports = Ports::reserve()?;
        }
        Ok(())
    }

    async fn try_bring_up(&mut self) -> Result<()> {
        let controllers = self.write_own_kubeconfigs()?;
        let logs = self.logs();
        let plain = probe::client(None)?;
        let trusting = probe::client(Some(self.authority.certificate()))?;

        let etcd = components::etcd(&self.tools, &self.directory, &self.ports.etcd, &self.ports.etcd_peer)?;
        let etcd = self.etcd.insert(etcd.spawn(logs.join("etcd.log"))?);
        let health = format!("http://{}/health", self.ports.etcd.address());
        probe::until_ok(etcd, &plain, &health, START_LIMIT).await?;

        self.spawn_api_server()?;
        self.api_server_ready().await?;

        let port = &self.ports.controller_manager;
        let command = components::controller_manager(&self.tools, &self.directory, &controllers, port)?;
        let process = command.spawn(logs.join("kube-controller-manager.log"))?;
        let process = self.controller_manager.insert(process);
        let health = format!("https://{}/healthz", self.ports.controller_manager.address());
        probe::until_ok(process, &trusting, &health, START_LIMIT).await
    }

    fn spawn_api_server(&mut self) -> Result<()> {
        let flags = &self.options.api_server_flags;
        let command =
            components::api_server(&self.tools, &self.directory, &self.ports.etcd, &self.ports.api_server, flags)?;
        self.api_server = Some(command.spawn(self.logs().join("kube-apiserver.log"))?);
        Ok(())
    }

    async fn api_server_ready(&self) -> Result<()> {
        let client = &self.client().await?;
        let process = self.api_server()?;
        let ready = wait::until("kube-apiserver to be ready", START_LIMIT, || async move {
            if let Err(ended) = process.check() {
                return Ok(Seen::Never(ended));
            }
            // The namespace that everybody takes for granted comes a moment
            // after the server calls itself ready.
            for path in ["/readyz", "/api/v1/namespaces/default"] {
                client.request_text(Request::get(path).body(Vec::new())?).await.context(path)?;
            }
            Ok(Seen::Done(()))
        });
        ready.await.map_err(|unmet| match process.ended() {
            Some(_) => unmet.into(),
            None => process.failure(&unmet.to_string()),
        })
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if self.well {
            return;
        }
        let ended: Vec<&str> = self.processes().filter(|process| process.ended().is_some()).map(Process::name).collect();
        report(self.directory(), &ended);
        self.save_events();
        for process in [&mut self.controller_manager, &mut self.api_server, &mut self.etcd].into_iter().flatten() {
            process.begin_stop(Duration::from_secs(1));
        }
    }
}

impl ControlPlane {
    /// [`ControlPlane::collect_events`] for a control plane that is given up.
    fn save_events(&self) {
        let alive = self.api_server.as_ref().is_some_and(|process| process.ended().is_none());
        let Ok(command) = self.kubectl_command() else { return };
        if alive {
            let events = command.args(["get", "events", "-A"]).run_blocking(Duration::from_secs(5));
            let table = events.and_then(Output::success).unwrap_or_else(|error| format!("{error:#}\n"));
            std::fs::write(self.logs().join("events.txt"), table).ok();
        }
    }
}

#[expect(clippy::print_stderr, reason = "a failed test is read by a person, who needs to know where to look")]
fn report(directory: &Path, ended: &[&str]) {
    eprintln!("the local control plane was given up; its logs and state are kept in {}", directory.display());
    if !ended.is_empty() {
        eprintln!("it had already ended: {}", ended.join(", "));
    }
}
