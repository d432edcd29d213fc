//! Electors over a register in memory, under paused time.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use super::{
    super::decision::{Read, Record},
    *,
};

const TIMES: Times = Times {
    lease: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry: Duration::from_secs(2),
};

/// Paused time, as a duration.
fn now() -> Duration {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let start = *START.get_or_init(|| std::time::Instant::now() - Duration::from_secs(1));
    tokio::time::Instant::now().into_std().saturating_duration_since(start)
}

/// Stands in for the API server: one record, compare-and-swap, and it can be made to hang.
#[derive(Clone, Default)]
struct Memory {
    record: Arc<Mutex<Option<Read>>>,
    hangs: Arc<AtomicBool>,
    /// How long an answer takes.
    slowness: Duration,
}

impl Memory {
    fn holder(&self) -> Option<String> {
        self.record.lock().unwrap().as_ref().and_then(|read| read.record.holder.clone())
    }

    async fn answer(&self) {
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(self.slowness).await;
    }

    fn swap(&self, expected: Option<&str>, holding: Holding<'_>) -> Result<Read, RegisterError> {
        let mut record = self.record.lock().unwrap();
        let version = record.as_ref().map(|read| read.version.clone());
        if version.as_deref() != expected {
            return Err(RegisterError::Conflict);
        }
        let next = version.map_or(1, |version| version.parse::<u64>().unwrap() + 1).to_string();
        let written = Read {
            record: Record {
                holder: holding.holder.map(ToOwned::to_owned),
                lease: TIMES.lease,
                transitions: holding.transitions,
                stamp: next.clone(),
            },
            version: next,
        };
        *record = Some(written.clone());
        Ok(written)
    }
}

impl Register for Memory {
    async fn read(&self) -> Result<Option<Read>, RegisterError> {
        self.answer().await;
        Ok(self.record.lock().unwrap().clone())
    }

    async fn create(&self, holding: Holding<'_>) -> Result<Read, RegisterError> {
        self.answer().await;
        self.swap(None, holding)
    }

    async fn replace(&self, version: &str, holding: Holding<'_>) -> Result<Read, RegisterError> {
        self.answer().await;
        self.swap(Some(version), holding)
    }
}

struct Replica {
    gate: Gate,
    leading: watch::Receiver<bool>,
    stop: CancellationToken,
    end: tokio::task::JoinHandle<Ended>,
}

impl Replica {
    fn start(name: &str, memory: &Memory) -> Self {
        let gate = Gate::closed();
        let (sender, leading) = watch::channel(false);
        let stop = CancellationToken::new();
        let reports = Reports {
            gate: gate.clone(),
            leading: sender,
            metrics: Metrics::new(),
            pulse: Pulse::new("election", Duration::from_secs(60)),
        };
        let elector = Elector::new(name, memory.clone(), TIMES, reports, now);
        let end = tokio::spawn(elector.run(stop.clone()));
        Self { gate, leading, stop, end }
    }

    fn may_write(&self) -> bool {
        self.gate.left(now()).is_some()
    }

    async fn leads(&mut self) {
        self.leading.wait_for(|leading| *leading).await.unwrap();
    }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn the_first_leads_and_goes_on_leading() {
    let memory = Memory::default();
    let mut a = Replica::start("a", &memory);
    a.leads().await;
    let b = Replica::start("b", &memory);
    for _ in 0..120 {
        pass(1).await;
        assert!(a.may_write());
        assert!(!b.may_write());
    }
    assert_eq!(memory.holder().as_deref(), Some("a"));
    assert_eq!(memory.record.lock().unwrap().as_ref().unwrap().record.transitions, 0);
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_once() {
    let memory = Memory::default();
    let mut a = Replica::start("a", &memory);
    a.leads().await;
    let mut b = Replica::start("b", &memory);
    pass(5).await;
    let before = now();
    a.stop.cancel();
    assert_eq!(a.end.await.unwrap(), Ended::Released);
    assert!(a.gate.left(now()).is_none());
    assert_eq!(memory.holder(), None);
    b.leads().await;
    assert!(now() - before <= TIMES.retry, "took {:?}", now() - before);
    assert_eq!(memory.record.lock().unwrap().as_ref().unwrap().record.transitions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_dead_leader_is_followed_within_lease_and_retry() {
    let memory = Memory::default();
    let mut a = Replica::start("a", &memory);
    a.leads().await;
    let mut b = Replica::start("b", &memory);
    pass(5).await;
    a.end.abort();
    let died = now();
    while !b.may_write() {
        pass(1).await;
        assert!(!(a.may_write() && b.may_write()), "both write");
    }
    b.leads().await;
    let took = now() - died;
    assert!(took <= TIMES.lease + TIMES.retry + Duration::from_secs(1), "took {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hanging_api_server_ends_leadership_in_time() {
    let memory = Memory::default();
    let mut a = Replica::start("a", &memory);
    a.leads().await;
    pass(7).await;
    memory.hangs.store(true, Ordering::SeqCst);
    let hung = now();
    assert_eq!(a.end.await.unwrap(), Ended::Lost(Loss::NotRenewed));
    assert!(now() - hung <= TIMES.renew_deadline, "took {:?}", now() - hung);
    assert!(a.gate.left(now()).is_none());
    assert!(!*a.leading.borrow());
}

#[tokio::test(start_paused = true)]
async fn a_stolen_lease_is_noticed_at_the_next_renewal() {
    let memory = Memory::default();
    let mut a = Replica::start("a", &memory);
    a.leads().await;
    let version = memory.record.lock().unwrap().as_ref().unwrap().version.clone();
    memory.swap(Some(&version), Holding { holder: Some("thief"), transitions: 1, acquired: true }).unwrap();
    let stolen = now();
    assert_eq!(a.end.await.unwrap(), Ended::Lost(Loss::Taken("thief".into())));
    assert!(now() - stolen <= TIMES.retry, "took {:?}", now() - stolen);
    assert_eq!(memory.holder().as_deref(), Some("thief"), "the thief's record was overwritten");
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_stops_touches_nothing() {
    let memory = Memory::default();
    let mut a = Replica::start("a", &memory);
    a.leads().await;
    let b = Replica::start("b", &memory);
    pass(3).await;
    b.stop.cancel();
    assert_eq!(b.end.await.unwrap(), Ended::Released);
    assert_eq!(memory.holder().as_deref(), Some("a"));
    assert!(a.may_write());
}

#[tokio::test(start_paused = true)]
async fn time_spent_waiting_for_the_answer_is_not_time_to_lead() {
    let slowness = Duration::from_secs(4);
    let memory = Memory { slowness, ..Memory::default() };
    let mut a = Replica::start("a", &memory);
    a.leads().await;
    let left = a.gate.left(now()).unwrap();
    assert!(left <= TIMES.renew_deadline - slowness, "{left:?} left after an answer that took {slowness:?}");
}
