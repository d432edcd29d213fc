//! QEMU's monitor: a line of JSON there, a line of JSON back.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::process::Process;
use crate::wait::{self, Seen};

/// QEMU reads the head of a medium before it answers, from a server that may be busy.
const LIMIT: Duration = Duration::from_secs(120);

/// A connection to a monitor.
#[derive(Debug)]
pub(super) struct Qmp {
    lines: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
}

impl Qmp {
    /// Connects as soon as QEMU listens.
    pub(super) async fn connect(socket: &Path, process: &Process) -> Result<Self> {
        let stream = wait::until("QEMU's monitor", LIMIT, || async {
            if let Err(ended) = process.check() {
                return Ok(Seen::Never(ended));
            }
            Ok(Seen::Done(UnixStream::connect(socket).await?))
        });
        let (read, orders) = stream.await?.into_split();
        let mut qmp = Self { lines: BufReader::new(read).lines(), orders };
        let greeting = qmp.line().await?;
        if greeting.get("QMP").is_none() {
            bail!("QEMU's monitor did not greet: {greeting}");
        }
        qmp.execute("qmp_capabilities", json!({})).await?;
        Ok(qmp)
    }

    /// Gives an order, and returns what came of it.
    pub(super) async fn execute(&mut self, order: &str, arguments: Value) -> Result<Value> {
        let done = tokio::time::timeout(LIMIT, self.exchange(order, arguments)).await;
        done.map_err(|_| anyhow!("no answer within {LIMIT:?}"))
            .flatten()
            .with_context(|| format!("QEMU's monitor: {order}"))
    }

    async fn exchange(&mut self, order: &str, arguments: Value) -> Result<Value> {
        let mut line = json!({"execute": order, "arguments": arguments}).to_string();
        line.push('\n');
        self.orders.write_all(line.as_bytes()).await?;
        loop {
            let mut answer = self.line().await?;
            if let Some(result) = answer.get_mut("return") {
                return Ok(result.take());
            }
            if let Some(error) = answer.get("error") {
                bail!("{}", error.get("desc").and_then(Value::as_str).unwrap_or("refused without a word"));
            }
            // An event: what matters of them shows elsewhere.
        }
    }

    async fn line(&mut self) -> Result<Value> {
        let line = self.lines.next_line().await?.context("QEMU has closed its monitor")?;
        serde_json::from_str(&line).context("what QEMU's monitor said is no JSON")
    }
}
