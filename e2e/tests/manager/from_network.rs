//! A machine that boots from the network, played by a test: it asks for what its loader would ask for. Machines with real
//! firmware do so in `network_boot.rs`.

use anyhow::{Context, Result, ensure};
use beskar7_boot::capability::{Key, Purpose};
use beskar7_e2e::manager::NAMESPACE;
use beskar7_e2e::{probe, wait};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use reqwest::StatusCode;

use super::setup::LIMIT;

/// Asks the boot server in the name of one claim.
pub struct Loader {
    http: reqwest::Client,
    key: Key,
    base: String,
    claim: String,
}

impl Loader {
    /// `base` is the boot server's URL, `claim` the claim that holds the host.
    pub async fn new(client: &Client, base: &str, claim: &str) -> Result<Self> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
        let secret = secrets.get("beskar7-boot-key").await?;
        let bytes = secret.data.and_then(|mut data| data.remove("key")).context("no key")?;
        let (http, key) = (probe::client(None)?, Key::new(&bytes.0)?);
        Ok(Self { http, key, base: base.to_owned(), claim: claim.to_owned() })
    }

    /// Where this claim's things of a kind are.
    pub fn url(&self, purpose: Purpose, name: &str) -> String {
        format!("{}/c/{}/{name}", self.base, self.key.capability(purpose, &self.claim).in_url())
    }

    /// What is at a URL.
    pub async fn get(&self, url: &str) -> Result<(StatusCode, Vec<u8>)> {
        let answer = self.http.get(url).send().await.context("no answer")?;
        Ok((answer.status(), answer.bytes().await?.to_vec()))
    }

    /// What iPXE is told to start.
    pub async fn script(&self) -> Result<String> {
        let (status, body) = self.get(&self.url(Purpose::Media, "boot.ipxe")).await?;
        ensure!(status.is_success(), "{status}");
        Ok(String::from_utf8(body)?)
    }

    /// Waits until the script says something.
    pub async fn until_script(&self, word: &str) -> Result<String> {
        let found = wait::until(format!("a script with {word}"), LIMIT, || async {
            let (status, body) = self.get(&self.url(Purpose::Media, "boot.ipxe")).await?;
            let script = String::from_utf8_lossy(&body).into_owned();
            Ok(match script.contains(word) {
                true => wait::Seen::Done(script),
                false => wait::Seen::NotYet(format!("{status} {script}")),
            })
        });
        Ok(found.await?)
    }

    /// Fetches what a script names, to the end, and returns its kernel's command line.
    pub async fn fetch_all(&self, script: &str) -> Result<(String, Vec<Vec<u8>>)> {
        let mut fetched = Vec::new();
        let mut line = String::new();
        for command in script.lines() {
            let mut words = command.split(' ');
            if !matches!(words.next(), Some("kernel" | "initrd")) {
                continue;
            }
            let url = words.find(|word| word.starts_with("http://")).context("no URL in a script")?;
            let (status, body) = self.get(url).await?;
            ensure!(status.is_success(), "{status}");
            fetched.push(body);
            if command.starts_with("kernel") {
                line = words.take_while(|word| *word != "||").collect::<Vec<_>>().join(" ");
            }
        }
        Ok((line, fetched))
    }

    /// Says that the machine runs.
    pub async fn call_home(&self) -> Result<()> {
        let url = self.url(Purpose::PhoneHome, "phone-home");
        self.http.post(url).send().await?.error_for_status()?;
        Ok(())
    }
}
