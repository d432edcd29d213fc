//! Watching: one watch and one cache per kind, however many controllers look at it.
//!
//! A feed keeps its cache current and tells every listener the keys of what changed. kube's own shared streams are not
//! used: an object that comes and goes quickly can stall them for good.

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::{
    Api, Resource,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt as _,
        reflector::{ObjectRef, Store, store::Writer},
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch::{Receiver, Sender},
    },
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::causes::causes;

/// An object of a known kind: its namespace and name.
pub type Key = (String, String);

/// A kind that can be watched.
pub trait Watched:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}
impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static> Watched for K {}

/// The key of an object.
pub fn key(object: &impl Resource) -> Key {
    let metadata = object.meta();
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

/// What is known of the objects of a kind; cheap to clone. What can't be read is not in it.
#[derive(Debug, Clone)]
pub struct Cache<K: Watched> {
    store: Store<K>,
    /// Not the store's own signal: of several who wait for that one, one is woken.
    filled: Receiver<bool>,
}

impl<K: Watched> Cache<K> {
    /// The object of this key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.store.get(&reference(key))
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<K>> {
        self.store.state()
    }

    /// Whether it was filled once.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        *self.filled.borrow()
    }

    /// Waits until it was filled once.
    pub async fn filled(&self) {
        // Only an ended feed makes this fail, and then everything ends.
        if self.filled.clone().wait_for(|filled| *filled).await.is_err() {
            std::future::pending().await
        }
    }

    /// Of a kind that is not looked at.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(Vec::new())
    }

    /// Of these objects, which do not change.
    pub(crate) fn of(objects: Vec<K>) -> Self {
        let mut writer = Writer::new(());
        let applied = objects.into_iter().map(Event::InitApply);
        let events = std::iter::once(Event::Init).chain(applied).chain([Event::InitDone]);
        events.for_each(|event| writer.apply_watcher_event(&event));
        Self { store: writer.as_reader(), filled: Sender::new(true).subscribe() }
    }

    /// The same as kube's runtime wants it.
    pub(crate) fn store(&self) -> &Store<K> {
        &self.store
    }
}

/// Which changes of objects are such of their spec, for those who care for nothing else of them.
#[derive(Debug, Default)]
struct Specs(HashMap<Key, (Option<String>, Option<i64>)>);

impl Specs {
    /// Whether the spec of an object is new, or the object gone.
    fn is_new(&mut self, key: &Key, found: Option<&impl Resource>) -> bool {
        match found.map(Resource::meta) {
            Some(metadata) => {
                // Another object of the same name begins to count anew.
                let spec = (metadata.uid.clone(), metadata.generation);
                self.0.insert(key.clone(), spec.clone()) != Some(spec)
            }
            None => self.0.remove(key).is_some(),
        }
    }
}

/// The keys of objects whose spec is new, or that are gone: what is only in their status is passed over.
pub(crate) struct SpecChanges<K: Watched> {
    changes: UnboundedReceiver<Key>,
    cache: Cache<K>,
    specs: Specs,
}

impl<K: Watched> SpecChanges<K> {
    /// The next one. Whoever stops waiting for it loses none.
    pub(crate) async fn next(&mut self) -> Option<Key> {
        loop {
            let key = self.changes.recv().await?;
            if self.specs.is_new(&key, self.cache.get(&key).as_deref()) {
                return Some(key);
            }
        }
    }
}

/// Keeps a cache current, once it is started.
pub struct Feed<K: Watched> {
    cache: Cache<K>,
    listeners: Listeners,
    /// Who keeps the cache current, until it is started.
    keeper: Option<Keeper<K>>,
}

/// Who is told what changed; some come when the feed runs already.
#[derive(Debug, Clone, Default)]
struct Listeners(Arc<Mutex<Vec<UnboundedSender<Key>>>>);

impl Listeners {
    fn add(&self, listener: UnboundedSender<Key>) {
        self.lock().push(listener);
    }

    fn tell(&self, key: &Key) {
        // A listener that is gone wants to know nothing.
        self.lock().retain(|listener| listener.send(key.clone()).is_ok());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<UnboundedSender<Key>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Watched> Feed<K> {
    /// For the objects of an API; `kind` is its name in logs.
    #[must_use]
    pub fn new(kind: &'static str, api: Api<DeserializeGuard<K>>, config: watcher::Config) -> Self {
        let (writer, filled, listeners) = (Writer::new(()), Sender::new(false), Listeners::default());
        let cache = Cache { store: writer.as_reader(), filled: filled.subscribe() };
        let keeper = Keeper {
            kind,
            api,
            config,
            writer,
            cache: cache.clone(),
            listeners: listeners.clone(),
            unreadable: HashMap::new(),
            before: HashSet::new(),
            filled,
        };
        Self { cache, listeners, keeper: Some(keeper) }
    }

    /// Of a kind that is not looked at: nothing is there, and nothing comes.
    #[must_use]
    pub fn none() -> Self {
        Self { cache: Cache::empty(), listeners: Listeners::default(), keeper: None }
    }

    /// What it keeps current.
    #[must_use]
    pub fn cache(&self) -> Cache<K> {
        self.cache.clone()
    }

    /// The keys of what is there, and of what is new, changed or gone from now on. The cache shows it already.
    #[must_use]
    pub fn changes(&self) -> UnboundedReceiver<Key> {
        self.changes_and_more().1
    }

    /// The same, without those of which only the status changed.
    pub(crate) fn spec_changes(&self) -> SpecChanges<K> {
        SpecChanges { changes: self.changes(), cache: self.cache(), specs: Specs::default() }
    }

    /// The same, with a way to add keys of objects that are to be looked at for another reason.
    #[must_use]
    pub fn changes_and_more(&self) -> (UnboundedSender<Key>, UnboundedReceiver<Key>) {
        let (sender, receiver) = unbounded_channel();
        // First it listens, then it is told what is there: what comes between the two is told twice, and nothing never.
        self.listeners.add(sender.clone());
        for object in self.cache.all() {
            let _listens = sender.send(key(object.as_ref()));
        }
        (sender, receiver)
    }

    /// Watches until `stop`, in the background. Only the first start counts.
    pub fn start(&mut self, tasks: &mut JoinSet<()>, stop: &CancellationToken) {
        if let Some(keeper) = self.keeper.take() {
            tasks.spawn(keeper.run(stop.clone()));
        }
    }
}

/// Keeps a cache current.
struct Keeper<K: Watched> {
    kind: &'static str,
    api: Api<DeserializeGuard<K>>,
    config: watcher::Config,
    writer: Writer<K>,
    cache: Cache<K>,
    listeners: Listeners,
    /// What can't be read, and why, so that each is logged once.
    unreadable: HashMap<Key, String>,
    /// What was there before a new list.
    before: HashSet<Key>,
    filled: Sender<bool>,
}

impl<K: Watched> Keeper<K> {
    async fn run(mut self, stop: CancellationToken) {
        let events = watcher(self.api.clone(), self.config.clone()).default_backoff();
        let mut events = std::pin::pin!(events.take_until(stop.cancelled_owned()));
        loop {
            match events.try_next().await {
                Ok(Some(event)) => self.take(event),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(kind = self.kind, error = causes(&error), "watching failed; trying again");
                }
            }
        }
    }

    fn take(&mut self, event: Event<DeserializeGuard<K>>) {
        match event {
            Event::Apply(object) => {
                let key = key(&object);
                match self.read(object, &key) {
                    Ok(object) => self.writer.apply_watcher_event(&Event::Apply(object)),
                    // It is as if it were gone, until somebody mends it.
                    Err(()) => self.drop_from_cache(&key),
                }
                self.listeners.tell(&key);
            }
            Event::Delete(object) => {
                let key = key(&object);
                self.unreadable.remove(&key);
                self.drop_from_cache(&key);
                self.listeners.tell(&key);
            }
            Event::Init => {
                self.before = self.keys();
                self.writer.apply_watcher_event(&Event::Init);
            }
            Event::InitApply(object) => {
                let key = key(&object);
                if let Ok(object) = self.read(object, &key) {
                    self.writer.apply_watcher_event(&Event::InitApply(object));
                }
            }
            // The cache shows a new list only when it is complete.
            Event::InitDone => {
                self.writer.apply_watcher_event(&Event::InitDone);
                let now = self.keys();
                tracing::info!(kind = self.kind, objects = now.len(), "the cache is filled");
                let all: HashSet<Key> = std::mem::take(&mut self.before).into_iter().chain(now).collect();
                all.iter().for_each(|key| self.listeners.tell(key));
                self.filled.send_replace(true);
            }
        }
    }

    fn read(&mut self, object: DeserializeGuard<K>, key: &Key) -> Result<K, ()> {
        match object.0 {
            Ok(mut object) => {
                self.unreadable.remove(key);
                // Nobody reads who wrote which field, and it is the larger part of many objects.
                object.meta_mut().managed_fields = None;
                Ok(object)
            }
            Err(invalid) => {
                let before = self.unreadable.insert(key.clone(), invalid.error.clone());
                if before.as_ref() != Some(&invalid.error) {
                    let (namespace, name) = key;
                    tracing::error!(
                        kind = self.kind,
                        namespace,
                        name,
                        error = invalid.error,
                        "the object can't be read; it is left alone until it changes"
                    );
                }
                Err(())
            }
        }
    }

    fn drop_from_cache(&mut self, key: &Key) {
        if let Some(object) = self.cache.get(key) {
            self.writer.apply_watcher_event(&Event::Delete(object.as_ref().clone()));
        }
    }

    fn keys(&self) -> HashSet<Key> {
        self.cache.all().iter().map(|object| key(object.as_ref())).collect()
    }
}

/// Refers to an object, as kube's runtime does.
pub(crate) fn reference<K: Resource<DynamicType = ()>>((namespace, name): &Key) -> ObjectRef<K> {
    ObjectRef::new(name).within(namespace)
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
