//! Writes down what agents say: on the host, one annotation, while its machine is installed for the claim and by the order
//! that it was said about.
//!
//! Each report would be a write, and agents report often. So of each host one thing at a time is written, with a pause
//! behind it: a change of what its agent does then, and how far it is from time to time. How an order ended waits for
//! nothing. What could not be written is said again by the next report; who waits for it learns that.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use beskar7_api::{
    GROUP, HardwareData, PhysicalHost, VERSION, annotations, hardware::Hardware, hardware_data::Inspection,
};
use beskar7_core::{agent::Said, host::belongings::owner};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::task::TaskTracker;

use super::{holders::Holder, images::Kept};
use crate::{
    causes::causes,
    retry::pauses,
    watch::Key,
    write::{Written, merge},
};

/// How often it is written how far an agent is, where it does nothing new.
const AT_MOST_EVERY: Duration = Duration::from_secs(30);
/// Between two writes of what an agent does; of what it says meanwhile, the last counts.
const PAUSE: Duration = Duration::from_secs(10);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// For so long something is tried to be written.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many are written at once.
const AT_ONCE: usize = 16;
/// Who writes what agents saw, for the API server. What BMCs tell of the same machines is written by another.
const AGENT: &str = "beskar7-agent";
/// Of so many hosts it is remembered what was written last: of more, something is written once more.
const MOST_REMEMBERED: usize = 4096;

/// What became of writing how an errand ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It stands there.
    Written,
    /// It is not wanted any more.
    NotWanted,
    /// It could not be written in time: it is to be said again.
    Lost,
}

/// Writes what agents say; cheap to clone.
#[derive(Clone)]
pub(super) struct Agents {
    client: Client,
    last: Arc<Mutex<Kept<Key, (Said, Instant)>>>,
    /// The hosts of which something is being written, or was a moment ago, and what is to be written next.
    under_way: Arc<Mutex<HashMap<Key, Option<Said>>>>,
    turns: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Agents {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            last: Arc::new(Mutex::new(Kept::new(MOST_REMEMBERED))),
            under_way: Arc::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            tasks: TaskTracker::new(),
        }
    }

    /// An agent said something that may be lost: it is written in the background, where it is worth it.
    pub(super) fn said(&self, host: &Key, said: Said) {
        if !self.is_worth_it(host, &said) {
            return;
        }
        self.remember(host, &said);
        let (agents, host) = (self.clone(), host.clone());
        if said.stage().is_end() {
            // What waits says nothing any more.
            if let Some(next) = self.under_way().get_mut(&host) {
                *next = None;
            }
            self.tasks.spawn(async move { agents.write(&host, &said).await });
            return;
        }
        match self.under_way().entry(host.clone()) {
            Entry::Occupied(mut next) => {
                next.insert(Some(said));
                return;
            }
            Entry::Vacant(free) => free.insert(None),
        };
        self.tasks.spawn(async move { agents.write_on(&host, said).await });
    }

    /// Writes it, and what is said after it, until nothing more is.
    async fn write_on(&self, host: &Key, said: Said) {
        let mut next = Some(said);
        while let Some(said) = next {
            self.write(host, &said).await;
            tokio::time::sleep(PAUSE).await;
            let mut under_way = self.under_way();
            next = under_way.get_mut(host).and_then(Option::take);
            if next.is_none() {
                under_way.remove(host);
            }
        }
    }

    /// Writes it; whether that is done, or not needed any more. What is not is written with the next report.
    pub(super) async fn write(&self, host: &Key, said: &Said) -> bool {
        self.remember(host, said);
        let is_written = self.write_in_time(host, said).await;
        if !is_written {
            self.lock().forget(host);
        }
        is_written
    }

    async fn write_in_time(&self, host: &Key, said: &Said) -> bool {
        let (namespace, name) = host;
        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), namespace);
        let failed = "what an agent said can't be written yet";
        self.until_written(namespace, name, failed, || self.try_once(&hosts, name, said)).await
    }

    /// Tries it, a turn for each try, for as long as who speaks may wait for the answer.
    async fn until_written<T>(
        &self,
        namespace: &str,
        name: &str,
        failed: &str,
        try_once: impl Fn() -> T,
    ) -> bool
    where
        T: Future<Output = Result<bool, kube::Error>>,
    {
        let writing = async {
            for pause in pauses(LONGEST_PAUSE) {
                let turn = match self.turns.acquire().await {
                    Ok(turn) => turn,
                    Err(closed) => {
                        let error = causes(&closed);
                        tracing::warn!(namespace, name, error, failed);
                        return false;
                    }
                };
                match try_once().await {
                    Ok(true) => return true,
                    Ok(false) => {}
                    Err(error) => {
                        let error = causes(&error);
                        tracing::warn!(namespace, name, error, failed);
                    }
                }
                drop(turn);
                tokio::time::sleep(pause).await;
            }
            false
        };
        match tokio::time::timeout(PATIENCE, writing).await {
            Ok(is_written) => is_written,
            Err(elapsed) => {
                let error = causes(&elapsed);
                tracing::warn!(namespace, name, error, seconds = PATIENCE.as_secs(), failed);
                false
            }
        }
    }

    /// The machine of a host was inspected. What was seen is written first: the mark says that it is there.
    pub(super) async fn inspected(
        &self,
        holder: &Holder,
        inspection: Inspection,
        same_machine: Option<&str>,
        counts: impl Fn(&PhysicalHost) -> bool,
    ) -> Ended {
        let uuid = &inspection.hardware.uuid;
        let mut mark = json!({ annotations::INSPECTED: inspection.time, annotations::INSPECTED_UUID: uuid });
        if let (Some(marks), Some(host)) = (mark.as_object_mut(), same_machine) {
            marks.insert(annotations::SAME_MACHINE.to_owned(), json!(host));
        }
        let inspection = &inspection;
        self.end(holder, counts, |host| {
            let mark = mark.clone();
            async move {
                self.publish(&host, inspection).await?;
                self.mark(&host, mark).await
            }
        })
        .await
    }

    /// What an agent saw of the machine of a host before.
    pub(super) async fn seen_before(&self, (namespace, name): &Key) -> Result<Option<Hardware>, kube::Error> {
        let all: Api<HardwareData> = Api::namespaced(self.client.clone(), namespace);
        let found = all.get_opt(name).await?;
        Ok(found.and_then(|found| found.spec.inspection).map(|inspection| inspection.hardware))
    }

    /// The disks of a host are clean of a claim.
    pub(super) async fn cleaned(
        &self,
        holder: &Holder,
        claim: &str,
        counts: impl Fn(&PhysicalHost) -> bool,
    ) -> Ended {
        let mark = json!({ annotations::CLEANED: claim });
        self.end(holder, counts, |host| {
            let mark = mark.clone();
            async move { self.mark(&host, mark).await }
        })
        .await
    }

    /// Writes how an errand ended, if that counts still: each try asks the host as it is then, because what made the last
    /// one fail may be that more is demanded by now.
    async fn end<W>(
        &self,
        holder: &Holder,
        counts: impl Fn(&PhysicalHost) -> bool,
        write: impl Fn(PhysicalHost) -> W,
    ) -> Ended
    where
        W: Future<Output = Result<bool, kube::Error>>,
    {
        let (namespace, name) = &holder.host;
        let hosts: Api<PhysicalHost> = Api::namespaced(self.client.clone(), namespace);
        let is_wanted = AtomicBool::new(true);
        let failed = "how an agent's errand ended can't be written yet";
        let is_over = self.until_written(namespace, name, failed, || async {
            match hosts.get_opt(name).await? {
                Some(host) if counts(&host) => write(host).await,
                Some(_) | None => {
                    is_wanted.store(false, Ordering::Relaxed);
                    Ok(true)
                }
            }
        });
        match (is_over.await, is_wanted.into_inner()) {
            (true, true) => Ended::Written,
            (true, false) => Ended::NotWanted,
            (false, true | false) => Ended::Lost,
        }
    }

    async fn mark(&self, host: &PhysicalHost, annotations: serde_json::Value) -> Result<bool, kube::Error> {
        let change = json!({ "metadata": { "annotations": annotations } });
        Ok(match merge(&self.client, host, change).await? {
            Written::To(_) => true,
            Written::Stale => false,
        })
    }

    async fn publish(&self, host: &PhysicalHost, inspection: &Inspection) -> Result<(), kube::Error> {
        let name = host.name_any();
        let all: Api<HardwareData> =
            Api::namespaced(self.client.clone(), &host.namespace().unwrap_or_default());
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": HardwareData::kind(&()),
            "metadata": { "name": name, "ownerReferences": [owner(host)] },
            "spec": { "inspection": inspection },
        });
        all.patch(&name, &PatchParams::apply(AGENT).force(), &Patch::Apply(&object)).await.map(drop)
    }

    /// Whether it is written, or says nothing any more; else somebody was faster.
    async fn try_once(
        &self,
        hosts: &Api<PhysicalHost>,
        name: &str,
        said: &Said,
    ) -> Result<bool, kube::Error> {
        let Some(host) = hosts.get_opt(name).await? else { return Ok(true) };
        let Some(assignment) = said.assignment(&host) else { return Ok(true) };
        let before = Said::of(&host, &assignment);
        if before.is_some_and(|before| before.outweighs(said)) {
            return Ok(true);
        }
        self.mark(&host, json!({ annotations::AGENT: said.to_annotation() })).await
    }

    fn is_worth_it(&self, host: &Key, said: &Said) -> bool {
        let before = self.lock().get(host);
        before.is_none_or(|(before, at)| said.is_news_after(&before) || at.elapsed() >= AT_MOST_EVERY)
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Key, Option<Said>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
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
    use beskar7_core::{
        agent::{Assignment, Work},
        host::hold::Booting,
    };

    use super::*;

    fn said(step: &str, done: u64) -> Said {
        let text = json!({"claim": "c", "second": 1, "order": "install-100-1", "state": "running", "step": step, "done": done});
        serde_json::from_value(text).unwrap()
    }

    /// A stand-in for the API server with one host, and the marks of what it was told to write there.
    fn api_server(is_well: bool) -> (Client, Arc<Mutex<Vec<String>>>) {
        let written = Arc::new(Mutex::new(Vec::new()));
        let writes = written.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let writes = writes.clone();
            async move {
                if request.method() == http::Method::PATCH {
                    let body = request.into_body().collect_bytes().await.unwrap();
                    let sent: serde_json::Value = serde_json::from_slice(&body).unwrap();
                    let mark = sent["metadata"]["annotations"][annotations::AGENT].as_str().unwrap();
                    writes.lock().unwrap().push(mark.to_owned());
                }
                let host = json!({
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
                    "metadata": {"name": "h", "namespace": "metal", "resourceVersion": "1",
                        "annotations": {annotations::BOOTING: "c 100 on installed"}},
                    "spec": {
                        "redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"},
                        "claimID": "c", "boot": {"install": {"image": "http://x/y.raw"}},
                        "consumerRef": {"kind": "Beskar7Machine", "namespace": "metal", "name": "m"},
                    },
                    "status": {"claimID": "c", "state": "Provisioning"},
                });
                let answer = http::Response::builder().status(if is_well { 200 } else { 500 });
                let body = kube::client::Body::from(serde_json::to_vec(&host).unwrap());
                Ok::<_, std::convert::Infallible>(answer.body(body).unwrap())
            }
        });
        (Client::new(service, "default"), written)
    }

    fn of_order(state: &str, step: &str) -> Said {
        let text = json!({"claim": "c", "second": 1, "order": "install-100-1", "state": state, "step": step});
        serde_json::from_value(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn however_much_an_agent_says_little_is_written_and_how_it_ended_at_once() {
        let (client, written) = api_server(true);
        let (agents, host) = (Agents::new(client), ("metal".to_owned(), "h".to_owned()));
        for number in 0..10_000 {
            let step = if number % 2 == 0 { "writing" } else { "reading" };
            agents.said(&host, of_order("running", step));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // A hundred seconds.
        let count = written.lock().unwrap().len();
        assert!((5..=11).contains(&count), "{count}");
        assert!(agents.tasks.len() <= 1, "{}", agents.tasks.len());
        assert!(agents.write(&host, &of_order("failed", "writing")).await);
        assert!(written.lock().unwrap().last().unwrap().contains("failed"), "it waits for nothing");
        let ended = written.lock().unwrap().len();
        agents.said(&host, of_order("running", "reading"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(written.lock().unwrap().len(), ended, "what comes late is no news");
    }

    #[tokio::test(start_paused = true)]
    async fn that_it_is_installed_waits_for_nothing() {
        let (client, written) = api_server(true);
        let (agents, host) = (Agents::new(client), ("metal".to_owned(), "h".to_owned()));
        agents.said(&host, of_order("running", "writing"));
        agents.said(&host, of_order("running", "configuring"));
        agents.said(&host, of_order("installed", "booting"));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(written.lock().unwrap().iter().any(|mark| mark.contains("installed\"")));
    }

    #[tokio::test(start_paused = true)]
    async fn what_could_not_be_written_is_written_with_the_next_report() {
        let (client, _) = api_server(false);
        let (agents, host) = (Agents::new(client), ("metal".to_owned(), "h".to_owned()));
        let said = of_order("running", "writing");
        assert!(!agents.write(&host, &said).await);
        assert!(agents.is_worth_it(&host, &said));
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
        let booting = Booting::parse("c 200 installed").unwrap();
        let assignment = Assignment { work: Work::Install, booting };
        let anew = Said::asked(&assignment, jiff::Timestamp::UNIX_EPOCH);
        agents.remember(&host, &said("writing", 3));
        assert!(agents.is_worth_it(&host, &anew), "it was begun anew");
    }
}
