//! A boot server for one machine: it gives out orders one after the other, keeps reports, and serves files, as badly as it
//! is told to.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use beskar7_agent_protocol::order::{Order, Task};
use beskar7_agent_protocol::report::{Report, State};

use crate::answer;
use crate::support::machine::HOST;

/// What happens to a connection when this byte of a file is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// It is closed.
    BreaksOff,
    /// It is closed, and so is the server, for this long.
    Vanishes(Duration),
    /// Nothing more comes until [`BootServer::go_on`].
    Holds,
}

/// What it knows.
#[derive(Default)]
pub struct Known {
    orders: VecDeque<Order>,
    unwanted: HashSet<String>,
    /// All reports, oldest first.
    pub reports: Vec<Report>,
    /// Files, by their paths below the machine's URL.
    pub files: BTreeMap<String, PathBuf>,
    /// What is going to happen, in this order, to each file once.
    pub mishaps: BTreeMap<String, VecDeque<(u64, Mishap)>>,
    /// Where files were asked for, from which byte on.
    pub asked: Vec<(String, u64)>,
    /// Whether a connection is held.
    pub is_held: bool,
    gone_for: Option<Duration>,
    given: usize,
}

impl Known {
    /// The order of the moment.
    pub fn order(&self) -> Option<&Order> {
        self.orders.front()
    }

    /// Takes a report, and says whether its order is wanted.
    pub fn hear(&mut self, report: Report) -> bool {
        let wanted = !self.unwanted.contains(&report.order);
        let has_ended = match &report.state {
            State::Running(_) => false,
            State::Done(_) | State::Failed(_) => true,
        };
        if has_ended {
            self.orders.retain(|order| order.id != report.order);
        }
        self.reports.push(report);
        wanted
    }

    /// From now on nobody answers, for so long.
    pub fn vanish(&mut self, duration: Duration) {
        self.gone_for = Some(duration);
    }

    /// How an order ended.
    fn end(&self, id: &str) -> Option<State> {
        let ended = |report: &&Report| match report.state {
            State::Running(_) => false,
            State::Done(_) | State::Failed(_) => report.order == id,
        };
        self.reports.iter().find(ended).map(|report| report.state.clone())
    }

    /// All that the agent has logged.
    pub fn log(&self) -> String {
        self.reports.iter().flat_map(|report| report.log.clone()).collect::<Vec<_>>().join("\n")
    }
}

/// What is known, and that it has changed.
#[derive(Default)]
pub struct Shared {
    known: Mutex<Known>,
    changed: Condvar,
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap()
    }

    /// Changes something, and whoever waits looks again.
    pub fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    /// Waits until something is so.
    pub fn wait<T>(&self, limit: Duration, is: impl Fn(&Known) -> Option<T>) -> Result<T, String> {
        let end = Instant::now() + limit;
        let mut known = self.lock();
        loop {
            if let Some(found) = is(&known) {
                return Ok(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("it did not come; the last report: {:?}", known.reports.last()));
            }
            known = self.changed.wait_timeout(known, left).unwrap().0;
        }
    }
}

/// A boot server on loopback.
pub struct BootServer {
    pub shared: Arc<Shared>,
    port: u16,
}

impl BootServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let known = shared.clone();
        std::thread::spawn(move || listen(listener, &known));
        Self { shared, port }
    }

    /// The machine's URL.
    pub fn url(&self) -> String {
        format!("http://{HOST}:{}/c/capability/", self.port)
    }

    /// One more order: its id.
    pub fn give(&self, task: Task) -> String {
        self.shared.change(|known| {
            known.given += 1;
            let id = format!("order-{}", known.given);
            known.orders.push_back(Order { id: id.clone(), machine: None, task });
            id
        })
    }

    /// Serves a file.
    pub fn serve(&self, path: &str, file: &Path) {
        self.shared.change(|known| known.files.insert(path.to_owned(), file.to_owned()));
    }

    /// Serves a file, and this is going to happen to it.
    pub fn serve_badly(&self, path: &str, file: &Path, mishaps: &[(u64, Mishap)]) {
        self.serve(path, file);
        self.shared.change(|known| known.mishaps.insert(path.to_owned(), mishaps.iter().copied().collect()));
    }

    /// What is held goes on.
    pub fn go_on(&self) {
        self.shared.change(|known| known.is_held = false);
    }

    /// Whoever reports on it is told that nobody wants it any more.
    pub fn forget(&self, id: &str) {
        self.shared.change(|known| known.unwanted.insert(id.to_owned()));
    }

    /// Waits until an order has ended.
    pub fn end(&self, id: &str, limit: Duration) -> Result<State, String> {
        self.shared.wait(limit, |known| known.end(id))
    }
}

fn listen(mut listener: TcpListener, shared: &Arc<Shared>) {
    let address = listener.local_addr().unwrap();
    loop {
        let Ok((connection, _)) = listener.accept() else { continue };
        let gone_for = shared.lock().gone_for.take();
        if let Some(duration) = gone_for {
            drop((connection, listener));
            std::thread::sleep(duration);
            listener = TcpListener::bind(address).unwrap();
            continue;
        }
        let shared = shared.clone();
        // Whoever breaks off has its reasons: a machine whose power is cut, for one.
        std::thread::spawn(move || answer::answer(connection, &shared).ok());
    }
}
