//! Who does the work that is measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::bare::{self, Bare};
use super::place::Place;
use super::writes::Writes;
use crate::control_plane::AuditEvent;
use crate::manager::Manager;

/// For work that goes on after what was measured: what is told, inventories that were begun.
const QUIET_LIMIT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Who does the work that is measured.
pub(super) enum Worker {
    Manager(Box<Manager>),
    Bare(Arc<Bare>),
}

impl Worker {
    pub(super) fn manager(&self) -> Option<&Manager> {
        match self {
            Self::Manager(manager) => Some(manager),
            Self::Bare(_) => None,
        }
    }

    /// How its user agent begins.
    fn agent(&self) -> &'static str {
        match self {
            Self::Manager(_) => "beskar7-manager/",
            Self::Bare(_) => bare::AGENT,
        }
    }

    /// Waits until it has written nothing for so long, and counts what it asked of the API server since the audit log
    /// was read last.
    pub(super) async fn quiet(&self, place: &mut Place, for_so_long: Duration) -> Result<Writes> {
        let begun = Instant::now();
        let mut all: Vec<AuditEvent> = place.asked()?;
        let mut last_write = Instant::now();
        while last_write.elapsed() < for_so_long {
            if begun.elapsed() > QUIET_LIMIT {
                bail!("something is still written after {QUIET_LIMIT:?}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
            let new = place.asked()?;
            if Writes::by(self.agent(), &new).total() > 0 {
                last_write = Instant::now();
            }
            all.extend(new);
        }
        Ok(Writes::by(self.agent(), &all))
    }

    pub(super) async fn end(self, place: &Place) -> Result<()> {
        match self {
            Self::Manager(manager) => place.stop_manager(*manager).await,
            Self::Bare(_) => Ok(()),
        }
    }
}
