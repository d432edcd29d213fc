//! Keeps a leader writing: hosts whose credentials change all the time, so that their status has to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::wait;
use kube::Client;
use serde_json::json;
use tokio::task::JoinHandle;

use super::setup::{HOSTS, LIMIT, attempts, make_host, patch_host};

const COUNT: usize = 30;

/// Changes hosts until it is stopped.
pub struct Churn {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Result<()>>,
}

impl Churn {
    /// Makes the hosts and begins.
    pub async fn start(client: &Client) -> Result<Self> {
        for n in 0..COUNT {
            make_host(client, HOSTS, &format!("churn-{n}"), &json!({})).await?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (client, stopped) = (client.clone(), stop.clone());
        let task = tokio::spawn(async move {
            for round in 0.. {
                for n in 0..COUNT {
                    if stopped.load(Ordering::SeqCst) {
                        return Ok(());
                    }
                    let named = format!("absent-{round}");
                    let patch = json!({"spec": {"redfishConnection": {"credentialsSecretRef": named}}});
                    patch_host(&client, &format!("churn-{n}"), &patch).await?;
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
            Ok(())
        });
        Ok(Self { stop, task })
    }

    /// Ends it; an error if it had ended before.
    pub async fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await.context("the churn")?
    }
}

/// Waits until a replica has tried to change something `more` times more than now.
pub async fn until_writing(plane: &ControlPlane, identity: &str, more: usize) -> Result<()> {
    let before = attempts(plane, identity)?.len();
    let writing = wait::until_true(format!("{identity} to write"), LIMIT, || async {
        let now = attempts(plane, identity)?.len();
        Ok(if now >= before + more { Ok(()) } else { Err(format!("{} writes", now - before)) })
    });
    Ok(writing.await?)
}
