//! How a control plane comes up, goes down, and is given up.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::api_server::{self, Keys, Place};
use super::directory::Directory;
use super::identity::User;
use super::pki::{self, Authority};
use super::{ControlPlane, Options, Ports, components};
use crate::ports::{self, Port};
use crate::probe;
use crate::process::{Output, Process, tail};
use crate::tools::Tools;

/// A machine that does other things too needs longer than the usual 5 s.
const START_LIMIT: Duration = Duration::from_secs(90);

/// How often a start is tried whose port somebody else took.
const ATTEMPTS: usize = 5;

impl Ports {
    fn reserve(api_server: Option<u16>) -> Result<Self> {
        Ok(Self {
            etcd: Port::reserve()?,
            etcd_peer: Port::reserve()?,
            api_server: api_server.map_or_else(Port::reserve, Port::named)?,
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
            authority: Authority::new("beskar7 local control plane")?,
            ports: Ports::reserve(options.api_server_port)?,
            options,
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
        let running = [self.controller_manager.take(), self.api_server.take(), self.etcd.take()];
        for mut process in running.into_iter().flatten() {
            process.stop().await?;
        }
        self.directory.remove()
    }

    fn write_files(&self) -> Result<()> {
        let further = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1"];
        let (token_private, token_public) = pki::token_keys()?;
        let keys = Keys {
            authority: self.authority.certificate().to_owned(),
            serving: self.authority.serving("kube-apiserver", &further)?,
            token_private,
            token_public,
            tokens: self.options.users.iter().map(User::line).collect(),
        };
        keys.write(&self.directory.at("pki"))
    }

    async fn bring_up(&mut self) -> Result<()> {
        let mut attempt = 1;
        loop {
            let Err(error) = self.try_bring_up().await else { return Ok(()) };
            let unlucky = self
                .processes()
                .any(|process| process.ended().is_some() && ports::taken(&tail(process.log(), 100)));
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
            self.ports = Ports::reserve(None)?;
            attempt += 1;
        }
    }

    async fn try_bring_up(&mut self) -> Result<()> {
        let controllers = self.write_own_kubeconfigs()?;
        let logs = self.logs();
        let plain = probe::client(None)?;
        let trusting = probe::client(Some(self.authority.certificate()))?;

        let etcd = components::etcd(&self.tools, &self.directory, &self.ports.etcd, &self.ports.etcd_peer)?;
        let health = format!("{}/health", self.etcd_url());
        let etcd = self.etcd.insert(etcd.spawn(logs.join("etcd.log"))?);
        probe::until_ok(etcd, &plain, &health, START_LIMIT).await?;

        self.spawn_api_server()?;
        self.api_server_ready().await?;

        let port = &self.ports.controller_manager;
        let command = components::controller_manager(&self.tools, &self.directory, &controllers, port)?;
        let process = command.spawn(logs.join("kube-controller-manager.log"))?;
        let process = self.controller_manager.insert(process);
        // It calls itself healthy before it has begun: ready are those
        // controllers that it lists.
        let health = format!("https://{}/healthz?verbose", self.ports.controller_manager.address());
        probe::until(process, &trusting, &health, START_LIMIT, |answer| {
            answer.status == 200 && components::CONTROLLERS.iter().all(|name| answer.body.contains(name))
        })
        .await
    }

    fn spawn_api_server(&mut self) -> Result<()> {
        let place = Place {
            keys: self.directory.at("pki"),
            audit_log: self.audit_log(),
            etcd: self.etcd_url(),
            listen: (Ipv4Addr::LOCALHOST, self.ports.api_server.number()).into(),
        };
        let command = place.command(&self.tools)?.args(&self.options.api_server_flags);
        self.api_server = Some(command.spawn(self.logs().join("kube-apiserver.log"))?);
        Ok(())
    }

    async fn api_server_ready(&self) -> Result<()> {
        api_server::ready(self.api_server()?, &self.client().await?, START_LIMIT).await
    }

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

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if self.well {
            return;
        }
        let ended: Vec<&str> =
            self.processes().filter(|process| process.ended().is_some()).map(Process::name).collect();
        report(self.directory(), &ended);
        self.save_events();
        for process in
            [&mut self.controller_manager, &mut self.api_server, &mut self.etcd].into_iter().flatten()
        {
            process.begin_stop(Duration::from_secs(1));
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
