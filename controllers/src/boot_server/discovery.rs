//! Writes down machines that ask for something to boot and that nobody knows, each as a PhysicalHost that waits to be
//! accepted.
//!
//! Who asks may be anybody on the network, with as many addresses as he likes. So there is a limit to how many may wait to
//! be accepted, to how many are written in a second, and to how many wait for that; whoever is over one of them is told
//! nothing and may ask again. What each is written with is in `beskar7-core`, and what follows for it is the leader's.

mod known;

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use beskar7_api::{PhysicalHost, annotations};
use beskar7_boot::dhcp::{Mac, Stranger};
use beskar7_core::{
    events::{Event, Severity},
    host::{
        discovery::{begun, candidate},
        moving::block,
    },
};
use kube::{Api, Client, ResourceExt as _, api::PostParams};
use serde_json::json;
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::known::{Known, Standing};
use super::{register::who, sightings::name};
use crate::{
    causes::causes,
    chance::{self, NoChance},
    clock::now,
    diagnostics::{Discovered, Metrics},
    tell::Recorder,
    watch::{Cache, Key, key},
    write::{Written, merge},
};

/// So many wait to be written; of more, each is written when it asks the next time.
const MOST_WAITING: usize = 256;
/// Between two writes.
const PACE: Duration = Duration::from_millis(100);
/// How often it is said that there are too many.
const TOLD_EVERY: Duration = Duration::from_secs(600);

/// Which machines are written down, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovering {
    /// The namespace that they are written into.
    pub namespace: String,
    /// So many may wait there to be accepted.
    pub limit: usize,
    /// The label by which they are this manager's.
    pub watch_filter: Option<String>,
}

/// Looks for machines that nobody knows.
pub(super) struct Discovery {
    settings: Discovering,
    client: Client,
    recorder: Recorder,
    metrics: Metrics,
    hosts: Cache<PhysicalHost>,
    known: RwLock<Known>,
    /// Whether all hosts were looked at once: before that everybody would be a stranger.
    complete: AtomicBool,
    queue: mpsc::Sender<Stranger>,
    /// Those in the queue, and the one that is being written.
    waiting: Mutex<HashSet<Mac>>,
    /// When it was last said that there are too many.
    told: Mutex<Option<Instant>>,
}

/// Why a machine was not written down.
#[derive(Debug, thiserror::Error)]
enum DiscoveryError {
    /// It needs an id that nobody can guess.
    #[error(transparent)]
    Chance(#[from] NoChance),
    /// The API server did not do it.
    #[error("the API server did not write it")]
    Write(#[from] kube::Error),
}

/// What became of a stranger.
enum Met {
    /// It is a candidate now.
    Written(Box<PhysicalHost>),
    /// It was one, and is inspected once more.
    Again(Box<PhysicalHost>),
    /// Somebody was faster, or it is known by now.
    Known,
    /// There are too many.
    OverLimit,
}

impl Discovery {
    /// What it writes is taken out of what is returned beside it, by [`Self::run`].
    pub(super) fn new(
        settings: Discovering,
        (client, recorder): (Client, Recorder),
        metrics: Metrics,
        hosts: Cache<PhysicalHost>,
    ) -> (Arc<Self>, mpsc::Receiver<Stranger>) {
        let (queue, waiting) = mpsc::channel(MOST_WAITING);
        let known = RwLock::new(Known::new(&settings.namespace));
        let discovery = Self {
            settings,
            client,
            recorder,
            metrics,
            hosts,
            known,
            complete: AtomicBool::new(false),
            queue,
            waiting: Mutex::default(),
            told: Mutex::default(),
        };
        (Arc::new(discovery), waiting)
    }

    /// Knows which addresses belong to hosts, until `stop`.
    pub(super) async fn follow(
        self: Arc<Self>,
        mut changes: UnboundedReceiver<Key>,
        stop: CancellationToken,
    ) {
        let following = async {
            self.hosts.filled().await;
            self.hosts.all().iter().for_each(|host| self.saw(&key(host.as_ref())));
            self.complete.store(true, Ordering::Release);
            while let Some(host) = changes.recv().await {
                self.saw(&host);
            }
        };
        stop.run_until_cancelled(following).await;
    }

    /// Writes down those who wait for it, until `stop`.
    pub(super) async fn run(self: Arc<Self>, mut queue: mpsc::Receiver<Stranger>, stop: CancellationToken) {
        while let Some(Some(stranger)) = stop.run_until_cancelled(queue.recv()).await {
            self.write_down(stranger).await;
            self.waiting().remove(&stranger.mac);
            stop.run_until_cancelled(tokio::time::sleep(PACE)).await;
        }
    }

    /// Whether a machine is to be looked at that has no reservation.
    pub(super) fn looks_for(&self, mac: Mac) -> bool {
        self.complete.load(Ordering::Acquire)
            && is_of_one_machine(mac)
            && match self.standing(mac) {
                Standing::Known => false,
                Standing::Unknown if self.may_be_in_use(mac) => false,
                Standing::Unknown | Standing::NotInspected(_) => !self.waiting().contains(&mac),
            }
    }

    /// Whether who asks may be a machine that is in use: one of which no address is known. It would be turned off.
    fn may_be_in_use(&self, mac: Mac) -> bool {
        let host = self.known.read().unwrap_or_else(PoisonError::into_inner).without_address().cloned();
        let Some((namespace, name)) = host else { return false };
        if self.is_time_to_tell() {
            tracing::warn!(
                %mac,
                namespace,
                name,
                "a machine that nobody knows is not written down: it may be this host, which is in use, and of which no \
                 address is known. Set its spec.bootMACAddress"
            );
        }
        true
    }

    /// One of those asked for something to boot. It is written down in the background.
    pub(super) fn met(&self, stranger: &Stranger) {
        match self.standing(stranger.mac) {
            Standing::Known => return,
            Standing::Unknown if self.is_full() => return self.refuse(stranger.mac),
            Standing::Unknown | Standing::NotInspected(_) => {}
        }
        if !self.waiting().insert(stranger.mac) {
            return;
        }
        if self.queue.try_send(*stranger).is_err() {
            self.waiting().remove(&stranger.mac);
            self.metrics.discovered(Discovered::Dropped);
        }
    }

    async fn write_down(&self, stranger: Stranger) {
        let mac = stranger.mac;
        match self.meet(mac).await {
            Ok(Met::Written(host)) => {
                tracing::info!(%mac, host = host.name_any(), "a machine that nobody knew is written down");
                self.metrics.discovered(Discovered::Written);
                self.tell(&host, &stranger, "It is inspected, and waits to be accepted").await;
            }
            Ok(Met::Again(host)) => {
                tracing::info!(%mac, host = host.name_any(), "a discovered machine is inspected once more");
                self.metrics.discovered(Discovered::Again);
                self.tell(&host, &stranger, "It was not inspected before, and is now").await;
            }
            Ok(Met::Known) => tracing::debug!(%mac, "the machine is known by now"),
            Ok(Met::OverLimit) => self.refuse(mac),
            Err(error) => {
                let error = causes(&error);
                tracing::warn!(%mac, error, "a machine that nobody knows can't be written down; it may ask again");
                self.metrics.discovered(Discovered::Failed);
            }
        }
    }

    async fn meet(&self, mac: Mac) -> Result<Met, DiscoveryError> {
        match self.standing(mac) {
            Standing::Known => Ok(Met::Known),
            Standing::Unknown if self.is_full() => Ok(Met::OverLimit),
            Standing::Unknown => self.write(mac).await,
            Standing::NotInspected(host) => self.begin_again(&host).await,
        }
    }

    async fn write(&self, mac: Mac) -> Result<Met, DiscoveryError> {
        let Discovering { namespace, watch_filter, .. } = &self.settings;
        let host = candidate(&mac.to_string(), namespace, watch_filter.as_deref(), chance::bits()?, now());
        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), namespace);
        match hosts.create(&PostParams::default(), &host).await {
            Ok(host) => {
                // It counts before the cache shows it.
                self.lock().saw(&key(&host), Some(&host));
                Ok(Met::Written(Box::new(host)))
            }
            // Other replicas heard it, too.
            Err(kube::Error::Api(refusal)) if refusal.is_already_exists() => Ok(Met::Known),
            Err(error) => Err(error.into()),
        }
    }

    async fn begin_again(&self, known: &Key) -> Result<Met, DiscoveryError> {
        let Some(host) = self.hosts.get(known) else { return Ok(Met::Known) };
        let errand = begun(chance::bits()?, now()).to_string();
        let mut marks = json!({ annotations::ERRAND: errand, annotations::AGENT: null });
        if let (Some(why), Some(all)) = (block(&host), marks.as_object_mut()) {
            all.insert(annotations::BLOCK_MOVE.to_owned(), json!(why));
        }
        match merge(&self.client, host.as_ref(), json!({ "metadata": { "annotations": marks } })).await? {
            Written::To(host) => {
                self.lock().saw(known, Some(&host));
                Ok(Met::Again(host))
            }
            Written::Stale => Ok(Met::Known),
        }
    }

    async fn tell(&self, host: &PhysicalHost, stranger: &Stranger, what: &str) {
        let (who, on) = (who(stranger.loader), name(stranger.architecture));
        let note = format!("{who} asked for something to boot with {}, on {on}. {what}", stranger.mac);
        let event =
            Event { severity: Severity::Normal, reason: "Discovered".to_owned(), note, action: "Discover" };
        self.recorder.tell(host, &[event]).await;
    }

    /// Nothing is written for it. That is said from time to time: whoever floods us shall not flood the log.
    fn refuse(&self, mac: Mac) {
        self.metrics.discovered(Discovered::OverLimit);
        if !self.is_time_to_tell() {
            return;
        }
        tracing::warn!(
            %mac,
            limit = self.settings.limit,
            namespace = self.settings.namespace,
            "a machine that nobody knows is not written down: as many as --discovery-limit wait to be accepted"
        );
    }

    fn is_time_to_tell(&self) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
            return false;
        }
        *told = Some(Instant::now());
        true
    }

    fn is_full(&self) -> bool {
        let waiting = self.known.read().unwrap_or_else(PoisonError::into_inner).candidates();
        waiting >= self.settings.limit
    }

    fn standing(&self, mac: Mac) -> Standing {
        self.known.read().unwrap_or_else(PoisonError::into_inner).standing(mac)
    }

    fn saw(&self, key: &Key) {
        let host = self.hosts.get(key);
        self.lock().saw(key, host.as_deref());
    }

    fn lock(&self) -> std::sync::RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<Mac>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an address can be that of one interface: no group's, and not that of one that has none yet.
fn is_of_one_machine(mac: Mac) -> bool {
    let [first, ..] = mac.0;
    first & 1 == 0 && mac.0 != [0; 6]
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
