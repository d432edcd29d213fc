//! One control plane and one manager for tests that do not hurt each other: each has a namespace of its own. Whoever
//! comes first starts them, whoever leaves last stops them.

use std::sync::{Arc, Weak};

use anyhow::Result;
use beskar7_e2e::control_plane::ControlPlane;
use beskar7_e2e::manager::Manager;
use kube::Client;
use tokio::sync::Mutex;

use super::setup::{alone, installed};

/// What the tests share.
struct Parts {
    plane: ControlPlane,
    manager: Manager,
}

static RUNNING: Mutex<Weak<Parts>> = Mutex::const_new(Weak::new());

/// A test's part in them: its namespace, and a client of its own.
pub struct Shared {
    parts: Arc<Parts>,
    pub namespace: &'static str,
    pub client: Client,
}

impl Shared {
    /// Takes part, in this namespace.
    pub async fn join(namespace: &'static str) -> Result<Self> {
        let mut running = RUNNING.lock().await;
        let parts = match running.upgrade() {
            Some(parts) => parts,
            None => {
                let plane = installed().await?;
                let manager = Manager::start(&plane, &alone("shared", &["--bmc-poll-interval=1s"])).await?;
                let parts = Arc::new(Parts { plane, manager });
                *running = Arc::downgrade(&parts);
                parts
            }
        };
        drop(running);
        parts.plane.kubectl(&["create", "namespace", namespace]).await?.success()?;
        let client = parts.plane.client().await?;
        Ok(Self { parts, namespace, client })
    }

    pub fn plane(&self) -> &ControlPlane {
        &self.parts.plane
    }

    /// All went well. A test that fails drops its part instead, and what the last one drops stays to be looked at.
    pub async fn leave(self) -> Result<()> {
        let _nobody_joins_meanwhile = RUNNING.lock().await;
        match Arc::into_inner(self.parts) {
            Some(Parts { plane, manager }) => {
                manager.stop().await?;
                plane.stop().await
            }
            None => Ok(()),
        }
    }
}
