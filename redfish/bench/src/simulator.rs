//! The simulator as a program of its own, and its control API.

use std::io::{BufRead, BufReader, Read as _};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use beskar7_redfish::{Address, Bmc, Credentials, HttpClient, Limits, Trust};
use serde_json::{Value, json};

/// The address of the first BMC.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 24, 0, 1);
/// What every BMC knows.
pub const USER: &str = "admin";
/// Its password.
pub const PASSWORD: &str = "password";

/// What a simulator is started with.
pub struct Wanted<'a> {
    /// The simulator's program.
    pub program: &'a Path,
    /// How many BMCs.
    pub count: usize,
    /// What hardware: a profile, or `mix`.
    pub profile: &'a str,
    /// How long every answer takes at least: `20ms`.
    pub latency: &'a str,
    /// https instead of http.
    pub tls: bool,
}

/// A running simulator. It does not outlive this.
pub struct Simulator {
    child: Child,
    control: String,
    origin: String,
    count: usize,
    http: reqwest::Client,
    ca: Option<Arc<[u8]>>,
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // There is nobody to tell, and it has no state worth an orderly end.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Simulator {
    /// Starts it; it listens when this returns.
    pub fn start(wanted: &Wanted<'_>) -> Result<Self> {
        let ca_file = tempfile::NamedTempFile::new().context("can't make a file for the CA")?;
        let mut command = Command::new(wanted.program);
        command
            .args(["--port=0", "--control=127.0.0.1:0", "--profile", wanted.profile])
            .arg(format!("--first-address={FIRST}"))
            .arg(format!("--count={}", wanted.count))
            .arg(format!("--latency={}", wanted.latency))
            .stdout(Stdio::piped());
        if wanted.tls {
            command.arg("--tls").arg("--ca-file").arg(ca_file.path());
        }
        let child = command.spawn().with_context(|| format!("can't start {}", wanted.program.display()))?;
        let mut simulator = Self {
            child,
            control: String::new(),
            origin: String::new(),
            count: wanted.count,
            http: reqwest::Client::builder().no_proxy().build()?,
            ca: None,
        };
        let greeting = simulator.greeting()?;
        let scheme = if wanted.tls { "https" } else { "http" };
        simulator.origin = word(&greeting, &format!("{scheme}://{FIRST}:"))?;
        simulator.control = word(&greeting, "http://127.0.0.1:")?;
        if wanted.tls {
            simulator.ca = Some(std::fs::read(ca_file.path()).context("no CA")?.into());
        }
        Ok(simulator)
    }

    fn greeting(&mut self) -> Result<String> {
        let output = self.child.stdout.take().context("the simulator has no output")?;
        let mut lines = BufReader::new(output);
        let mut greeting = String::new();
        while !greeting.contains("stops it.") {
            if lines.read_line(&mut greeting)? == 0 {
                bail!("the simulator ended: {:?}", self.child.wait()?);
            }
        }
        // Its last word must find a reader.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Ok(greeting)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The addresses of its BMCs.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let first = FIRST.to_bits();
        (first..).take(self.count).map(Ipv4Addr::from_bits).collect()
    }

    /// The URL of a BMC, without a path.
    pub fn url(&self, address: Ipv4Addr) -> String {
        self.origin.replace(&FIRST.to_string(), &address.to_string())
    }

    /// The CA of its BMCs, if they serve https.
    pub fn ca(&self) -> Option<&[u8]> {
        self.ca.as_deref()
    }

    /// By what its BMCs are trusted.
    pub fn trust(&self) -> Trust {
        self.ca.clone().map_or(Trust::Anything, Trust::Bundle)
    }

    /// Our client of a BMC.
    pub fn bmc(&self, http: &HttpClient, address: Ipv4Addr) -> Result<Bmc> {
        let url = Address::parse(&self.url(address))?;
        Ok(Bmc::new(http.clone(), url, Credentials::new(USER, PASSWORD), Limits::default()))
    }

    /// What the simulator knows of a BMC.
    pub async fn state(&self, address: Ipv4Addr) -> Result<Value> {
        let answer = self.http.get(format!("{}/bmcs/{address}", self.control)).send().await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    /// How many requests each BMC has got so far, in the order of their addresses.
    pub async fn requests(&self) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        for address in self.addresses() {
            let state = self.state(address).await?;
            let requests = state.get("requests").and_then(Value::as_u64);
            all.push(requests.with_context(|| format!("it does not say how often {address} was asked"))?);
        }
        Ok(all)
    }

    /// Puts a fault into many BMCs; into which.
    pub async fn arm(&self, fault: &Value) -> Result<Vec<Ipv4Addr>> {
        let answer = self.http.post(format!("{}/faults", self.control)).json(fault).send().await?;
        let mut answer: Value = answer.error_for_status()?.json().await?;
        let armed = answer.get_mut("armed").map(Value::take).context("it does not say what was armed")?;
        Ok(serde_json::from_value(armed)?)
    }

    /// As if nobody had ever logged in: every BMC forgets its sessions with the next request.
    pub async fn forget_sessions(&self) -> Result<()> {
        self.arm(&json!({ "kind": "lostSession", "count": 1, "on": "all" })).await.map(|_| ())
    }

    /// Takes all faults out.
    pub async fn clear_faults(&self) -> Result<()> {
        self.http.delete(format!("{}/faults", self.control)).send().await?.error_for_status()?;
        Ok(())
    }
}

fn word(text: &str, beginning: &str) -> Result<String> {
    let found = text.split_whitespace().find(|word| word.starts_with(beginning));
    Ok(found.with_context(|| format!("the simulator does not say {beginning}: {text}"))?.to_owned())
}
