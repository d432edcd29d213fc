//! Writes down what agents say: on the host, one annotation, while its machine is installed for the claim and by the order
//! that it was said about.
//!
//! Each report would be a write, and agents report often. So a change of what they do is written at once, and how far they
//! are from time to time. What could not be written is said again by the next report; who waits for it learns that.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use beskar7_api::{PhysicalHost, annotations};
use beskar7_core::{
    agent::{Said, Stage},
    delivery,
};
use kube::{Api, Client};
use serde_json::json;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::task::TaskTracker;

use super::images::Kept;
use crate::{
    causes::causes,
    retry::pauses,
    watch::Key,
    write::{Written, merge},
};

/// How often it is written how far an agent is, where it does nothing new.
const AT_MOST_EVERY: Duration = Duration::from_secs(30);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// For so long something is tried to be written.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many are written at once.
const AT_ONCE: usize = 16;
/// Of so many hosts it is remembered what was written last: of more, something is written once more.
const MOST_REMEMBERED: usize = 4096;

/// Writes what agents say; cheap to clone.
#[derive(Clone)]
pub(super) struct Agents {
    client: Client,
    last: Arc<Mutex<Kept<Key, (Said, Instant)>>>,
    turns: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Agents {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            last: Arc::new(Mutex::new(Kept::new(MOST_REMEMBERED))),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            tasks: TaskTracker::new(),
        }
    }

    /// An agent said something that may be lost: it is written in the background, where it is worth it.
    pub(super) fn said(&self, host: &Key, said: Said) {
        if !self.is_worth_it(host, &said) {
            return;
        }
        let (agents, host) = (self.clone(), host.clone());
        self.tasks.spawn(async move { agents.write(&host, &said).await });
    }

    /// Writes it; whether that is done, or not needed any more.
    pub(super) async fn write(&self, host: &Key, said: &Said) -> bool {
        self.remember(host, said);
        let (namespace, name) = host;
        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), namespace);
        let writing = async {
            for pause in pauses(LONGEST_PAUSE) {
                let Ok(_turn) = self.turns.acquire().await else { return false };
                match self.try_once(&hosts, name, said).await {
                    Ok(true) => return true,
                    Ok(false) => {}
                    Err(error) => {
                        let error = causes(&error);
                        tracing::warn!(namespace, name, error, "what an agent said can't be written yet");
                    }
                }
                drop(_turn);
                tokio::time::sleep(pause).await;
            }
            false
        };
        tokio::time::timeout(PATIENCE, writing).await.unwrap_or(false)
    }

    /// Whether it is written, or says nothing any more; else somebody was faster.
    async fn try_once(
        &self,
        hosts: &Api<PhysicalHost>,
        name: &str,
        said: &Said,
    ) -> Result<bool, kube::Error> {
        let Some(host) = hosts.get_opt(name).await? else { return Ok(true) };
        let Some(booting) = said.booting_of(|claim| delivery::booting(&host, claim)) else { return Ok(true) };
        let before = Said::of(&host, &booting);
        // What came late does not take back how it ended.
        let is_over = |stage| matches!(stage, Stage::Installed | Stage::Failed);
        if before.is_some_and(|before| is_over(before.stage()) && !is_over(said.stage())) {
            return Ok(true);
        }
        let change = json!({ "metadata": { "annotations": { annotations::AGENT: said.to_annotation() } } });
        Ok(match merge(&self.client, &host, change).await? {
            Written::To(_) => true,
            Written::Stale => false,
        })
    }

    fn is_worth_it(&self, host: &Key, said: &Said) -> bool {
        let before = self.lock().get(host);
        before.is_none_or(|(before, at)| said.is_news_after(&before) || at.elapsed() >= AT_MOST_EVERY)
    }

    fn remember(&self, host: &Key, said: &Said) {
        self.lock().put(host.clone(), (said.clone(), Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, Kept<Key, (Said, Instant)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use beskar7_core::host::hold::Booting;

    use super::*;

    fn said(step: &str, done: u64) -> Said {
        let text = json!({"claim": "c", "second": 1, "order": "install-100-1", "state": "running", "step": step, "done": done});
        serde_json::from_value(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn how_far_it_is_is_written_from_time_to_time_and_news_at_once() {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty()))
        });
        let agents = Agents::new(Client::new(service, "default"));
        let host = ("metal".to_owned(), "h".to_owned());
        assert!(agents.is_worth_it(&host, &said("writing", 1)));
        agents.remember(&host, &said("writing", 1));
        assert!(!agents.is_worth_it(&host, &said("writing", 2)));
        assert!(agents.is_worth_it(&host, &said("verifying", 2)), "it does something else");
        assert!(agents.is_worth_it(&("metal".to_owned(), "other".to_owned()), &said("writing", 2)));
        tokio::time::advance(AT_MOST_EVERY).await;
        assert!(agents.is_worth_it(&host, &said("writing", 3)), "it is time");
        let anew = Said::asked(&Booting::parse("c 200 installed").unwrap(), jiff::Timestamp::UNIX_EPOCH);
        agents.remember(&host, &said("writing", 3));
        assert!(agents.is_worth_it(&host, &anew), "it was begun anew");
    }
}
