//! Writes down what was heard of machines: one word each, on the host, while it boots for the claim that the word was
//! heard under.
//!
//! What is heard comes with requests that must not wait for the API server, and is written in the background, with
//! retries for as long as it may matter: a machine that was heard once may never be heard again.

use std::{
    collections::HashMap,
    future::ready,
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
use futures::future::BoxFuture;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::remembered::Remembered;
use crate::{
    causes::causes,
    clock::now,
    retry::pauses,
    watch::{Key, key},
    write::{Written, merge},
};

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long the end waits for what is on its way.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// For so long who was heard waits for it to be written: machines give up on an answer that takes much longer.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// So many are written at once.
const AT_ONCE: usize = 16;
/// So many are remembered as heard, or as written: of more, each costs one more read.
const MOST_REMEMBERED: usize = 16_384;

/// Something that was heard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Told {
    host: Key,
    claim: String,
    /// When the machine was armed, if that is known: after another arming it is heard anew.
    armed: Option<i64>,
    word: Word,
}

/// What became of a try to write something down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tried {
    /// It stands there, or says nothing any more.
    Done,
    /// Somebody was faster.
    Stale,
    /// Its host is left as it is: paused, or until its consumer puts its reference back. It counts after that.
    NotNow,
}

/// Writes what is heard; cheap to clone.
#[derive(Clone)]
pub(super) struct Hearing {
    client: Client,
    /// What is on its way, and what will have become of it.
    under_way: Arc<Mutex<HashMap<Told, watch::Receiver<Option<bool>>>>>,
    /// What is written.
    written: Arc<Remembered<Told>>,
    /// What was heard here, whether it could be written or not.
    heard: Arc<Remembered<Told>>,
    turns: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Hearing {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            under_way: Arc::default(),
            written: Arc::new(Remembered::new(MOST_REMEMBERED)),
            heard: Arc::new(Remembered::new(MOST_REMEMBERED)),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            tasks: TaskTracker::new(),
        }
    }

    /// A word was heard of a machine, whose host was last seen as this one. That may be of the past: what counts is
    /// looked at when it is written. Who waits for what is returned waits for that, for some seconds at most.
    pub(super) fn heard(
        &self,
        host: &Key,
        seen: &PhysicalHost,
        claim: &str,
        word: Word,
    ) -> BoxFuture<'static, ()> {
        let writing = self.hear(host, seen, claim, word);
        Box::pin(async move {
            writing.await;
        })
    }

    /// The same, for who must know whether it is written, or needs not be.
    pub(super) fn hear(
        &self,
        host: &Key,
        seen: &PhysicalHost,
        claim: &str,
        word: Word,
    ) -> BoxFuture<'static, bool> {
        let booting = delivery::standing_boot(seen, claim);
        // BMCs read images before machines boot from them: not each such read is worth a look.
        let premature = word == Word::Image && booting.is_none();
        if premature || Heard::of(seen, claim).has(word) {
            return Box::pin(ready(true));
        }
        let armed = booting.map(|booting| booting.since.as_second());
        let told = Told { host: host.clone(), claim: claim.to_owned(), armed, word };
        self.heard.add(&told);
        // Of an arming that is not known, the next word may be of the next one.
        if told.armed.is_some() && self.written.has(&told) {
            return Box::pin(ready(true));
        }
        let mut writing = self.writing(told);
        Box::pin(async move {
            // What takes longer is still written. Nobody says what became of it only at the end of all.
            let written = tokio::time::timeout(LONGEST_WAIT, writing.wait_for(Option::is_some)).await;
            written.is_ok_and(|written| written.is_ok_and(|written| *written == Some(true)))
        })
    }

    /// What will have become of a word: of who says it again meanwhile, too, as machines ask again that wait.
    fn writing(&self, told: Told) -> watch::Receiver<Option<bool>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writing) = under_way.get(&told) {
            return writing.clone();
        }
        let (say, writing) = watch::channel(None);
        under_way.insert(told.clone(), writing.clone());
        let hearing = self.clone();
        self.tasks.spawn(async move {
            let is_written = hearing.write(&told).await;
            if is_written {
                hearing.written.add(&told);
            }
            hearing.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&told);
            // Nobody may wait for it any more.
            let _unheard = say.send(Some(is_written));
        });
        writing
    }

    /// Whether a word was heard here of a machine, written down or not.
    pub(super) fn has_heard(&self, host: &PhysicalHost, claim: &str, word: Word) -> bool {
        let armed = delivery::standing_boot(host, claim).map(|booting| booting.since.as_second());
        let told = Told { host: key(host), claim: claim.to_owned(), armed, word };
        self.heard.has(&told)
    }

    /// Waits for what is on its way, for some seconds: most machines read their configuration once.
    pub(super) async fn finish(&self) {
        self.tasks.close();
        if tokio::time::timeout(LAST_WORDS, self.tasks.wait()).await.is_err() {
            tracing::warn!("what was heard of some machines could not be written before the end");
        }
    }

    /// Writes it; whether that is done, or not needed any more.
    async fn write(&self, told: &Told) -> bool {
        let (namespace, name) = &told.host;
        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), namespace);
        for pause in pauses(LONGEST_PAUSE) {
            let tried = match self.turns.acquire().await {
                // Made in its turn: those who wait are many.
                Ok(_turn) => Box::pin(self.try_once(&hosts, told)).await,
                Err(_closed) => return false,
            };
            match tried {
                Ok(Tried::Done) => return true,
                Ok(Tried::Stale | Tried::NotNow) => {}
                Err(error) => {
                    let error = causes(&error);
                    tracing::warn!(namespace, name, error, "what was heard can't be written yet");
                }
            }
            tokio::time::sleep(pause).await;
        }
        false
    }

    async fn try_once(&self, hosts: &Api<PhysicalHost>, told: &Told) -> Result<Tried, kube::Error> {
        let (namespace, name) = &told.host;
        let Some(host) = hosts.get_opt(name).await? else { return Ok(Tried::Done) };
        let heard = Heard::of(&host, &told.claim);
        let counts = delivery::standing_boot(&host, &told.claim).is_some_and(|booting| {
            let of_this_arming = told.armed.is_none_or(|armed| booting.since.as_second() == armed);
            of_this_arming && matters(told.word, &booting.evidence)
        });
        if heard.has(told.word) || !counts {
            return Ok(Tried::Done);
        }
        if delivery::booting(&host, &told.claim).is_none() {
            return Ok(Tried::NotNow);
        }
        let value = heard.with(told.word, now()).to_string();
        let change = json!({ "metadata": { "annotations": { annotations::HEARD: value } } });
        match merge(&self.client, &host, change).await? {
            Written::To(_) => {
                tracing::info!(namespace, name, word = told.word.name(), "heard of a machine that boots");
                Ok(Tried::Done)
            }
            Written::Stale => Ok(Tried::Stale),
        }
    }
}

/// Whether a word changes anything, given what the boot is to be seen by. Nothing is written that nobody asks for.
fn matters(word: Word, evidence: &[Evidence]) -> bool {
    match word {
        Word::Home | Word::Node => true,
        Word::Configuration => evidence.contains(&Evidence::Configuration),
        Word::Image => evidence.contains(&Evidence::Image),
        Word::Installed | Word::Restarting => evidence.contains(&Evidence::Installed),
    }
}

#[cfg(test)]
#[path = "hearing_tests.rs"]
mod tests;
