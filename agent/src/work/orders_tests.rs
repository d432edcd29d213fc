//! Days of an agent, with a server of a test's own and work that is only played.

use std::sync::{Arc, Mutex};

use beskar7_agent_protocol::hardware::Inventory;
use beskar7_agent_protocol::order::{Clean, Install, Thoroughness};
use beskar7_agent_protocol::report::{Cleaned, Installed, Progress};

use super::*;
use crate::fetching::Fetch;
use crate::loopback::{Loopback, Reply, Request};
use crate::server::Limits;
use crate::telling::Telling;

/// The UUID of the machine that plays.
const OWN: &str = "4c4c4544-0035-3410-8050-c6c04f314733";
const SOON: Duration = Duration::from_millis(1);

/// No test takes so long.
const LONG: Duration = Duration::from_secs(3600);

fn pauses() -> Pauses {
    Pauses {
        between_orders: SOON,
        between_reports: SOON,
        after_refusal: SOON,
        until_unwanted: SOON,
        longest: Duration::ZERO,
    }
}

fn limits() -> Limits {
    crate::server::test_limits()
}

fn order(id: &str, task: Task) -> String {
    serde_json::to_string(&Order { id: id.to_owned(), machine: None, task }).unwrap()
}

/// What the server says to a report: by itself, and how often it came before.
type Hearing = Box<dyn Fn(&Report) -> u16 + Send + Sync>;

/// A server with these orders, one after the other (an empty one is none), and what it was told.
struct Desk {
    loopback: Loopback,
    told: Arc<Mutex<Vec<Report>>>,
}

impl Desk {
    fn new(orders: Vec<String>, hearing: Hearing) -> Self {
        let orders = Mutex::new(orders.into_iter());
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&told);
        let loopback = Loopback::serve(move |_, request: &Request| match request.method.as_str() {
            "GET" if request.path.ends_with("agent/order") => {
                match orders.lock().unwrap().next().as_deref() {
                    None | Some("") => Reply::new(204, ""),
                    Some(order) => Reply::new(200, order),
                }
            }
            "POST" => {
                let report: Report = serde_json::from_str(&request.body).unwrap();
                let status = hearing(&report);
                hears.lock().unwrap().push(report);
                Reply::new(status, "")
            }
            _ => Reply::new(200, "content of the image"),
        });
        Self { loopback, told }
    }

    fn carry_on(&self, works: &dyn Works) -> Result<Down, WorkError> {
        self.carry_on_with(pauses(), works)
    }

    fn carry_on_with(&self, pauses: Pauses, works: &dyn Works) -> Result<Down, WorkError> {
        let server = Server::connect(self.loopback.url("http"), None, limits()).unwrap();
        let journal = Journal::new(Box::new(std::io::sink()), "");
        Work { server: &server, works, journal: &journal, pauses }.carry_on()
    }

    /// The reports, without those that say only that it goes on.
    fn ends(&self) -> Vec<(String, State)> {
        let told = self.told.lock().unwrap();
        let ends = told.iter().filter(|report| !matches!(report.state, State::Running(_)));
        ends.map(|report| (report.order.clone(), report.state.clone())).collect()
    }
}

fn takes_all() -> Hearing {
    Box::new(|_| 200)
}

/// Work that is only played.
#[derive(Default)]
struct Played {
    done: Mutex<Vec<&'static str>>,
}

impl Works for Played {
    fn uuid(&self) -> Option<String> {
        Some(OWN.to_owned())
    }

    fn inspect(&self, _: &dyn Telling) -> Result<Inventory, Problem> {
        self.done.lock().unwrap().push("inspect");
        Ok(Inventory { memory_bytes: 7, ..Inventory::default() })
    }

    fn clean(&self, how: Thoroughness, _: &dyn Telling) -> Result<Cleaned, Problem> {
        self.done.lock().unwrap().push("clean");
        match how {
            Thoroughness::Metadata => Err(Problem::with_disk("wiping", "/dev/sda", "it is read-only")),
            Thoroughness::Full => panic!("a mistake of ours"),
        }
    }

    fn install(&self, order: &Install, fetch: &dyn Fetch, _: &dyn Telling) -> Result<Installed, Problem> {
        self.done.lock().unwrap().push("install");
        let mut text = String::new();
        fetch.open(&order.image.path, 0).unwrap().body.read_to_string(&mut text).unwrap();
        assert_eq!(text, "content of the image");
        let written = text.len() as u64;
        Ok(Installed {
            disk: "/dev/sda".into(),
            serial_number: None,
            written,
            verified: false,
            boot_entry: None,
        })
    }
}

fn install() -> Task {
    let text = r#"{"image":{"path":"image","format":"auto"}}"#;
    Task::Install(serde_json::from_str(text).unwrap())
}

#[test]
fn one_order_after_the_other_is_carried_out_and_told() {
    let wipe = |how| Task::Clean(Clean { how });
    let orders = vec![
        String::new(),
        order("1", Task::Inspect),
        order("2", wipe(Thoroughness::Metadata)),
        order("3", wipe(Thoroughness::Full)),
        r#"{"id":"4","task":"dance"}"#.to_owned(),
        order("5", install()),
        order("6", Task::PowerOff),
    ];
    let desk = Desk::new(orders, takes_all());
    let works = Played::default();
    assert_eq!(desk.carry_on(&works), Ok(Down::PowerOff));
    assert_eq!(*works.done.lock().unwrap(), ["inspect", "clean", "clean", "install"]);
    let ends = desk.ends();
    let ids: Vec<&str> = ends.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5", "6"]);
    let [inspected, wiped, panicked, danced, installed, down] = &ends[..] else { panic!("{ends:?}") };
    assert!(
        matches!(&inspected.1, State::Done(Outcome::Inspected(inventory)) if inventory.memory_bytes == 7)
    );
    assert!(matches!(&wiped.1, State::Failed(failure) if failure.disk.as_deref() == Some("/dev/sda")));
    assert!(matches!(&panicked.1, State::Failed(failure) if failure.message.contains("the agent itself")));
    assert!(matches!(&danced.1, State::Failed(failure) if failure.message.contains("dance")));
    assert!(matches!(&installed.1, State::Done(Outcome::Installed(installed)) if installed.written == 20));
    assert_eq!(down.1, State::Done(Outcome::GoingDown));
    // What was said goes with the reports, once.
    let told = desk.told.lock().unwrap();
    let lines: Vec<&String> = told.iter().flat_map(|report| &report.log).collect();
    assert_eq!(lines.iter().filter(|line| line.contains("order 1: done")).count(), 1, "{lines:?}");
    assert!(matches!(&told[0].state, State::Running(progress) if progress.step == "inspecting"), "{told:?}");
}

#[test]
fn an_order_that_comes_again_is_not_carried_out_again() {
    let orders =
        ["1", "1", "1"].map(|id| order(id, Task::Inspect)).into_iter().chain([order("2", Task::Reboot)]);
    let desk = Desk::new(orders.collect(), takes_all());
    let works = Played::default();
    assert_eq!(desk.carry_on(&works), Ok(Down::Reboot));
    assert_eq!(*works.done.lock().unwrap(), ["inspect"]);
    let ends = desk.ends();
    assert_eq!(
        (ends.len(), &ends[0], &ends[1]),
        (4, &ends[1], &ends[2]),
        "but what came of it is told again"
    );
}

#[test]
fn an_end_is_told_until_the_server_has_it() {
    let busy = Mutex::new(3);
    let hearing: Hearing = Box::new(move |report| match report.state {
        State::Running(_) => 500,
        State::Done(_) | State::Failed(_) => {
            let mut busy = busy.lock().unwrap();
            *busy -= 1;
            if *busy >= 0 { 503 } else { 200 }
        }
    });
    let desk = Desk::new(vec![order("1", Task::Inspect), order("2", Task::Reboot)], hearing);
    assert_eq!(desk.carry_on(&Played::default()), Ok(Down::Reboot));
    let ids: Vec<String> = desk.ends().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["1", "1", "1", "1", "2"]);
}

#[test]
fn an_order_for_another_machine_is_not_carried_out() {
    let wipe = Task::Clean(Clean { how: Thoroughness::Full });
    let other = "38947555-7742-3448-3784-823347823834";
    for task in [Task::Inspect, wipe, install(), Task::Reboot, Task::PowerOff] {
        let told = Order { id: "1".to_owned(), machine: Some(other.to_owned()), task };
        let desk = Desk::new(vec![serde_json::to_string(&told).unwrap()], takes_all());
        let works = Played::default();
        let error = desk.carry_on(&works).unwrap_err();
        assert!(matches!(error, WorkError::AnotherMachine { .. }), "{error}");
        assert_eq!(*works.done.lock().unwrap(), [""; 0], "{told:?}");
        let reports = desk.told.lock().unwrap();
        let [report] = &reports[..] else { panic!("{reports:?}") };
        assert_eq!(report.machine.as_deref(), Some(OWN));
        let State::Failed(failure) = &report.state else { panic!("{report:?}") };
        for part in [other, OWN, "bootMACAddress"] {
            assert!(failure.message.contains(part), "{failure:?}");
        }
    }
}

#[test]
fn an_order_for_this_machine_is_carried_out_however_its_uuid_is_spelled() {
    for machine in [
        None,
        Some(OWN.to_uppercase()),
        Some("44454c4c-3500-1034-8050-c6c04f314733".to_owned()),
        // What says nothing.
        Some("03000200-0400-0500-0006-000700080009".to_owned()),
        Some("moonlight".to_owned()),
    ] {
        let told = Order { id: "1".to_owned(), machine, task: Task::PowerOff };
        let desk = Desk::new(vec![serde_json::to_string(&told).unwrap()], takes_all());
        assert_eq!(desk.carry_on(&Played::default()), Ok(Down::PowerOff), "{told:?}");
    }
}

#[test]
fn who_is_not_wanted_to_go_down_stays_up() {
    let hearing: Hearing = Box::new(|report| if report.order == "1" { 410 } else { 200 });
    let desk = Desk::new(vec![order("1", Task::Reboot), order("2", Task::PowerOff)], hearing);
    assert_eq!(desk.carry_on(&Played::default()), Ok(Down::PowerOff));
}

#[test]
fn a_server_that_does_not_know_the_machine_is_left_in_the_end() {
    let loopback = Loopback::serve(|_, _| Reply::new(404, ""));
    let server = Server::connect(loopback.url("http"), None, limits()).unwrap();
    let journal = Journal::new(Box::new(std::io::sink()), "");
    let works = Played::default();
    let work = Work { server: &server, works: &works, journal: &journal, pauses: pauses() };
    let error = work.carry_on().unwrap_err();
    assert!(matches!(error, WorkError::Lost { last: FetchError::NotThere(_), .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn a_machine_that_nobody_answers_stays_off_where_something_was_done_to_its_disks() {
    for (task, disks_touched, expected) in [
        (Task::Inspect, false, Down::Reboot),
        (Task::Clean(Clean { how: Thoroughness::Metadata }), true, Down::PowerOff),
        (install(), true, Down::PowerOff),
    ] {
        let gone = |report: &Report| !matches!(report.state, State::Running(_)) && report.order == "2";
        let hearing: Hearing = Box::new(move |report| if gone(report) { 404 } else { 200 });
        let desk = Desk::new(vec![order("1", task), order("2", Task::Inspect)], hearing);
        let error = desk.carry_on(&Played::default()).unwrap_err();
        assert!(
            matches!(error, WorkError::Lost { disks_touched: told, .. } if told == disks_touched),
            "{error}"
        );
        assert_eq!(error.down(), expected, "{error}");
    }
    // How the order itself ended could not be told any more.
    let hearing: Hearing =
        Box::new(|report| if matches!(report.state, State::Running(_)) { 200 } else { 404 });
    let error = Desk::new(vec![order("1", install())], hearing).carry_on(&Played::default()).unwrap_err();
    assert_eq!(error.down(), Down::PowerOff, "{error}");
    let own = MachineUuid::real(OWN).unwrap();
    let another = WorkError::AnotherMachine { ordered: own, own };
    assert_eq!(another.after(&Past { disks_touched: true, ..Past::default() }).down(), Down::Reboot);
}

/// Work that goes on until nobody wants it.
struct Endless;

impl Works for Endless {
    fn uuid(&self) -> Option<String> {
        None
    }

    fn inspect(&self, _: &dyn Telling) -> Result<Inventory, Problem> {
        panic!("nobody asked")
    }

    fn clean(&self, _: Thoroughness, telling: &dyn Telling) -> Result<Cleaned, Problem> {
        telling.log("wiping all");
        for done in 0..=5 {
            telling.progress(Progress { step: "wiping".into(), done: Some(done), ..Progress::default() });
        }
        // For the day on which nobody is told: then it ends, and too many reports were sent.
        let begin = Instant::now();
        while !telling.is_unwanted() && begin.elapsed() < Duration::from_secs(30) {
            std::thread::yield_now();
        }
        Err(Problem::new("wiping", "it is not wanted any more"))
    }

    fn install(&self, _: &Install, _: &dyn Fetch, _: &dyn Telling) -> Result<Installed, Problem> {
        panic!("nobody asked")
    }
}

#[test]
fn how_far_it_is_is_told_and_what_nobody_wants_is_left() {
    // The first report of the last progress does not arrive; with the second one nobody wants it any more.
    let last = Mutex::new(0);
    let hearing: Hearing = Box::new(move |report| match &report.state {
        State::Running(progress) if progress.done == Some(5) => {
            let mut last = last.lock().unwrap();
            *last += 1;
            if *last == 1 { 503 } else { 410 }
        }
        State::Running(_) => 503,
        State::Done(_) => 200,
        State::Failed(_) => 410,
    });
    let task = Task::Clean(Clean { how: Thoroughness::Full });
    let desk = Desk::new(vec![order("1", task), order("2", Task::Reboot)], hearing);
    assert_eq!(desk.carry_on(&Endless), Ok(Down::Reboot));
    let told = desk.told.lock().unwrap();
    let progress = |report: &&Report| matches!(&report.state, State::Running(told) if told.done == Some(5));
    let last: Vec<&Report> = told.iter().filter(progress).collect();
    assert_eq!(last.len(), 2, "who was told so does not go on telling");
    for report in last {
        let told = report.log.iter().filter(|line| *line == "wiping all").count();
        assert_eq!(told, 1, "what did not arrive is told again: {report:?}");
    }
}

/// Work that ends when nobody wants it, or when so many reports have come.
struct Patient {
    reports: Arc<Mutex<Vec<Report>>>,
    most: usize,
}

impl Works for Patient {
    fn uuid(&self) -> Option<String> {
        None
    }

    fn inspect(&self, _: &dyn Telling) -> Result<Inventory, Problem> {
        panic!("nobody asked")
    }

    fn clean(&self, _: Thoroughness, telling: &dyn Telling) -> Result<Cleaned, Problem> {
        while self.reports.lock().unwrap().len() < self.most {
            if telling.is_unwanted() {
                return Err(Problem::new("wiping", "left"));
            }
            std::thread::yield_now();
        }
        Err(Problem::new("wiping", "went on"))
    }

    fn install(&self, _: &Install, _: &dyn Fetch, _: &dyn Telling) -> Result<Installed, Problem> {
        panic!("nobody asked")
    }
}

#[test]
fn what_the_server_does_not_know_of_for_long_is_left_and_not_what_it_knows_of_again() {
    // How the first report is answered, and all others until the end.
    for (first, others, expected) in
        [(404, 404, "left"), (410, 404, "left"), (404, 200, "went on"), (403, 403, "went on")]
    {
        let count = Mutex::new(0);
        let hearing: Hearing = Box::new(move |report| match report.state {
            State::Running(_) => {
                let mut count = count.lock().unwrap();
                *count += 1;
                if *count == 1 { first } else { others }
            }
            State::Done(_) | State::Failed(_) => 200,
        });
        let task = Task::Clean(Clean { how: Thoroughness::Full });
        let desk = Desk::new(vec![order("1", task), order("2", Task::Reboot)], hearing);
        let works = Patient { reports: Arc::clone(&desk.told), most: 200 };
        assert_eq!(desk.carry_on(&works), Ok(Down::Reboot));
        let (_, end) = desk.ends().remove(0);
        let State::Failed(failure) = end else { panic!("{end:?}") };
        assert_eq!(failure.message, expected, "{first}, then {others}");
    }
}

/// Work that a server's absence breaks off so often, and then is done. Who wants nothing any more is told so meanwhile.
struct Interrupted {
    left: Mutex<u32>,
    until_unwanted: bool,
}

impl Works for Interrupted {
    fn uuid(&self) -> Option<String> {
        None
    }

    fn inspect(&self, _: &dyn Telling) -> Result<Inventory, Problem> {
        panic!("nobody asked")
    }

    fn clean(&self, _: Thoroughness, _: &dyn Telling) -> Result<Cleaned, Problem> {
        panic!("nobody asked")
    }

    fn install(&self, _: &Install, _: &dyn Fetch, telling: &dyn Telling) -> Result<Installed, Problem> {
        while self.until_unwanted && !telling.is_unwanted() {
            std::thread::yield_now();
        }
        let mut left = self.left.lock().unwrap();
        if *left > 0 {
            *left -= 1;
            return Err(Problem::new("fetching", "the server is away").that_passes(true));
        }
        Ok(Installed {
            disk: "/dev/sda".into(),
            serial_number: None,
            written: 7,
            verified: false,
            boot_entry: None,
        })
    }
}

#[test]
fn what_a_passing_outage_broke_off_is_begun_anew_and_not_for_ever() {
    let longer = Pauses { longest: LONG, ..pauses() };
    let (done, failed) = ("done", "failed");
    for (breaks, pauses, unwanted, ids, expected) in [
        (0, longer, false, &["1", "1", "1"], vec![("1", done), ("1", done), ("1", done)]),
        // Nothing is told of the first two tries.
        (2, longer, false, &["1", "1", "1"], vec![("1", done)]),
        (1, longer, false, &["1", "2", "2"], vec![("2", done), ("2", done)]),
        (3, longer, false, &["1", "1", "1"], vec![]),
        // It was tried for long enough.
        (1, pauses(), false, &["1", "1", "1"], vec![("1", failed), ("1", failed), ("1", failed)]),
        // The server is told of what it does not want.
        (1, longer, true, &["1", "1", "1"], vec![("1", failed), ("1", failed), ("1", failed)]),
    ] {
        let orders = ids.iter().map(|id| order(id, install())).chain([order("9", Task::PowerOff)]);
        let hearing: Hearing = if unwanted {
            Box::new(|report| if report.order == "1" { 410 } else { 200 })
        } else {
            takes_all()
        };
        let desk = Desk::new(orders.collect(), hearing);
        let works = Interrupted { left: Mutex::new(breaks), until_unwanted: unwanted };
        assert_eq!(desk.carry_on_with(pauses, &works), Ok(Down::PowerOff));
        let ends: Vec<(String, &str)> = desk
            .ends()
            .into_iter()
            .filter(|(id, _)| id != "9")
            .map(|(id, state)| (id, if matches!(state, State::Done(_)) { done } else { failed }))
            .collect();
        let expected: Vec<(String, &str)> =
            expected.into_iter().map(|(id, end)| (id.to_owned(), end)).collect();
        assert_eq!(ends, expected, "{breaks} {ids:?} {unwanted}");
        let told = desk.told.lock().unwrap();
        let anew =
            told.iter().flat_map(|report| &report.log).filter(|line| line.contains("begun anew")).count();
        let begun_anew = if pauses.longest == LONG && !unwanted { breaks as usize } else { 0 };
        assert_eq!(anew, begun_anew, "each is said once");
    }
}

#[test]
fn an_order_that_is_broken_off_again_has_as_long_as_it_had() {
    let mut past = Past::default();
    assert!(past.begins_anew("1", LONG));
    past.broken_off.as_mut().unwrap().since -= Duration::from_secs(100);
    for (id, longest, expected) in
        [("1", 101, true), ("1", 100, false), ("1", 0, false), ("2", 100, true), ("2", 0, false)]
    {
        assert_eq!(past.begins_anew(id, Duration::from_secs(longest)), expected, "{id} {longest}");
    }
}
