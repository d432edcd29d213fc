//! Writes down what was heard of machines: one word each, on the host, while it boots for the claim that the word was
//! heard under.
//!
//! What is heard comes with requests that must not wait for the API server, and is written in the background, with
//! retries for as long as it may matter.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use beskar7_api::{PhysicalHost, annotations};
use beskar7_core::{
    delivery,
    host::{
        heard::{Heard, Word},
        hold::Evidence,
    },
};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    causes::causes,
    clock::now,
    retry::pauses,
    watch::Key,
    write::{Written, merge},
};

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// So often it is tried: for some minutes.
const MOST_TRIES: usize = 30;
/// So many are written at once.
const AT_ONCE: usize = 16;
/// So many are remembered as written; then all are forgotten, and each costs one more read.
const MOST_REMEMBERED: usize = 16_384;

/// Something that was heard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Told {
    host: Key,
    claim: String,
    /// When the machine was armed: after another arming it is heard anew.
    armed: i64,
    word: &'static str,
}

/// Writes what is heard; cheap to clone.
#[derive(Clone)]
pub(super) struct Hearing {
    client: Client,
    /// What is written, or on its way.
    told: Arc<Mutex<HashSet<Told>>>,
    turns: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Hearing {
    pub(super) fn start(client: Client, stop: CancellationToken) -> Self {
        Self { client, told: Arc::default(), turns: Arc::new(Semaphore::new(AT_ONCE)), stop }
    }

    /// A word was heard of a machine, whose host was last seen as this one.
    pub(super) fn heard(&self, key: &Key, host: &PhysicalHost, claim: &str, word: Word) {
        let Some(booting) = delivery::booting(host, claim).filter(|booting| matters(word, &booting.evidence))
        else {
            return;
        };
        if Heard::of(host, claim).has(word) {
            return;
        }
        let armed = booting.since.as_second();
        let told = Told { host: key.clone(), claim: claim.to_owned(), armed, word: word.name() };
        if !self.is_new(&told) {
            return;
        }
        let (hearing, key, claim) = (self.clone(), key.clone(), claim.to_owned());
        tokio::spawn(async move {
            let written = hearing.stop.run_until_cancelled(hearing.write(&key, &claim, word)).await;
            if written != Some(true) {
                hearing.forget(&told);
            }
        });
    }

    /// Writes it; whether that is done, or not needed any more.
    async fn write(&self, (namespace, name): &Key, claim: &str, word: Word) -> bool {
        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), namespace);
        for pause in pauses(LONGEST_PAUSE).take(MOST_TRIES) {
            let tried = match self.turns.acquire().await {
                Ok(_turn) => self.try_once(&hosts, name, claim, word).await,
                Err(_closed) => return false,
            };
            match tried {
                Ok(true) => {
                    tracing::info!(namespace, name, word = word.name(), "heard of a machine that boots");
                    return true;
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(
                        namespace,
                        name,
                        error = causes(&error),
                        "what was heard can't be written yet"
                    );
                }
            }
            tokio::time::sleep(pause).await;
        }
        false
    }

    async fn try_once(
        &self,
        hosts: &Api<PhysicalHost>,
        name: &str,
        claim: &str,
        word: Word,
    ) -> Result<bool, kube::Error> {
        let Some(host) = hosts.get_opt(name).await? else { return Ok(true) };
        let heard = Heard::of(&host, claim);
        let matters_still =
            delivery::booting(&host, claim).is_some_and(|booting| matters(word, &booting.evidence));
        if heard.has(word) || !matters_still {
            return Ok(true);
        }
        let value = heard.with(word, now()).to_string();
        let change = json!({ "metadata": { "annotations": { annotations::HEARD: value } } });
        match merge(&self.client, &host, change).await? {
            Written::To(_) => Ok(true),
            Written::Stale => Ok(false),
        }
    }

    fn is_new(&self, told: &Told) -> bool {
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_REMEMBERED {
            all.clear();
        }
        all.insert(told.clone())
    }

    fn forget(&self, told: &Told) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(told);
    }
}

/// Whether a word changes anything, given what the boot is to be seen by. Nothing is written that nobody asks for.
fn matters(word: Word, evidence: &[Evidence]) -> bool {
    match word {
        Word::Home | Word::Node => true,
        Word::Configuration => evidence.contains(&Evidence::Configuration),
        Word::Image => evidence.contains(&Evidence::Image),
    }
}
