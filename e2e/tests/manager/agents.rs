//! An agent on a machine, played by a test: it asks for orders, fetches what they name, and reports.

use anyhow::{Context, Result, ensure};
use beskar7_e2e::probe;
use beskar7_e2e::wait::{self, Seen};
use beskar7_e2e::workload::Installer;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::setup::LIMIT;
use super::site::Site;

/// What it logs with each report.
pub const LINE: &str = "a line of what it does";

/// What is in the drives of the first machine of a site.
pub fn in_drives(site: &Site) -> Result<Vec<String>> {
    site.bmc(0, |bmc| bmc.machine.slots().iter().filter_map(|slot| slot.image.clone()).collect())
}

/// The agent that the first machine of a site starts from its virtual drive.
pub async fn from_drive(site: &Site) -> Result<Agent> {
    let inserted = in_drives(site)?;
    let installer = Installer::read(inserted.first().context("no image")?).await?;
    Agent::started(installer.parameters.iter().map(String::as_str))
}

/// Asks below the URL that it was started with.
pub struct Agent {
    http: reqwest::Client,
    url: String,
}

impl Agent {
    /// Started with these kernel parameters.
    pub fn started<'a>(parameters: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let url = parameters.into_iter().find_map(|word| word.strip_prefix("beskar7.url="));
        let url = url.context("it is not told where to ask")?.to_owned();
        ensure!(url.ends_with('/'), "{url}");
        Ok(Self { http: probe::client(None)?, url })
    }

    /// What nobody else may know.
    pub fn secret(&self) -> Result<&str> {
        Ok(self.url.split("/c/").nth(1).context("no capability")?.trim_end_matches('/'))
    }

    /// What it is told to do; nothing, where there is nothing for now.
    pub async fn order(&self) -> Result<Option<Value>> {
        let (status, body) = self.ask_for_order().await?;
        match status {
            StatusCode::NO_CONTENT => Ok(None),
            StatusCode::OK => Ok(Some(serde_json::from_slice(&body)?)),
            other => anyhow::bail!("{other}"),
        }
    }

    /// The answer to that, whatever it is.
    pub async fn ask_for_order(&self) -> Result<(StatusCode, Vec<u8>)> {
        let answer = self.http.get(format!("{}agent/order", self.url)).send().await?;
        Ok((answer.status(), answer.bytes().await?.to_vec()))
    }

    /// Waits until it is told to do something of this kind.
    pub async fn until_told(&self, task: &str) -> Result<Value> {
        let found = wait::until(format!("the order to {task}"), LIMIT, || async {
            Ok(match self.order().await {
                Ok(Some(order)) if order["task"] == task => Seen::Done(order),
                other => Seen::NotYet(format!("{other:?}")),
            })
        });
        Ok(found.await?)
    }

    /// Says how an order stands.
    pub async fn report(&self, order: &Value, state: &Value) -> Result<StatusCode> {
        // What it logs may hold its URL.
        let mut report = json!({"order": order["id"], "log": [format!("{LINE} by {}", self.url)]});
        beskar7_e2e::objects::merge(&mut report, state);
        let sent = self.http.post(format!("{}agent/report", self.url)).body(report.to_string());
        Ok(sent.send().await?.status())
    }

    /// That it writes, and how far it is.
    pub async fn writes(&self, order: &Value, percent: u64) -> Result<StatusCode> {
        let state =
            json!({"state": "running", "step": "writing", "disk": "/dev/vda", "done": percent, "total": 100});
        self.report(order, &state).await
    }

    /// Something below its URL, as a whole or a part of it.
    pub async fn fetch(&self, path: &str, range: Option<&str>) -> Result<(StatusCode, Vec<u8>)> {
        let mut request = self.http.get(format!("{}{path}", self.url));
        if let Some(range) = range {
            request = request.header("range", format!("bytes={range}"));
        }
        let answer = request.send().await?;
        Ok((answer.status(), answer.bytes().await?.to_vec()))
    }

    /// Fetches the image of an order in two parts, as after a connection that broke off.
    pub async fn image(&self, order: &Value, length: usize) -> Result<Vec<u8>> {
        let path = order["image"]["path"].as_str().context("no path")?;
        let half = length / 2;
        let (first, mut bytes) = self.fetch(path, Some(&format!("0-{}", half - 1))).await?;
        let (second, rest) = self.fetch(path, Some(&format!("{half}-"))).await?;
        ensure!([first, second] == [StatusCode::PARTIAL_CONTENT; 2], "{first} {second}");
        bytes.extend(rest);
        Ok(bytes)
    }

    /// That the image is on its disk.
    pub async fn installed(&self, order: &Value) -> Result<StatusCode> {
        let state =
            json!({"state": "done", "installed": {"disk": "/dev/vda", "written": 7, "verified": true}});
        self.report(order, &state).await
    }

    /// Takes the order to restart, and says that it goes down.
    pub async fn restarts(&self) -> Result<()> {
        let order = self.until_told("reboot").await?;
        let status = self.report(&order, &json!({"state": "done", "goingDown": null})).await?;
        // Its host may count as provisioned by now: then nobody waits for this any more.
        ensure!(status == StatusCode::NO_CONTENT || status == StatusCode::GONE, "{status}");
        Ok(())
    }
}
