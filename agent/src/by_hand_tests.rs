//! What a person may say, and what is not done to their machine.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::loopback::{Loopback, Reply};

fn understood(text: &str) -> Result<Request, String> {
    understand(text.split_whitespace().map(str::to_owned))
}

#[test]
fn arguments_are_understood_or_told_to_be_wrong() {
    let works = |url: &str, ca: Option<&str>, may_wipe| {
        let told = CommandLine { url: url.parse().unwrap(), interface: None, address: None };
        Ok(Request::Work { told: Box::new(told), ca: ca.map(PathBuf::from), may_wipe })
    };
    for (text, expected) in [
        ("--help", Ok(Request::Help)),
        ("--url http://a/ -h", Ok(Request::Help)),
        ("--version", Ok(Request::Version)),
        ("--url http://a/c/1/", works("http://a/c/1/", None, false)),
        ("--url=http://a/c/1?b=c", works("http://a/c/1?b=c/", None, false)),
        ("--wipe-my-disks --url http://a/", works("http://a/", None, true)),
        ("--ca my.pem --url https://a/", works("https://a/", Some("my.pem"), false)),
    ] {
        assert_eq!(understood(text), expected, "{text}");
    }
    for (text, expected) in [
        ("", "beskar7.url"),
        ("--url", "--url needs a value"),
        ("--url https://a/ --ca", "--ca needs a value"),
        ("--reboot", "--reboot is not known"),
        ("--help=me", "--help is not known"),
    ] {
        let error = understood(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// Counts what is done to the machine.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Works for Counting {
    fn uuid(&self) -> Option<String> {
        None
    }

    fn inspect(&self, _: &dyn Telling) -> Result<Inventory, Problem> {
        Ok(Inventory::default())
    }

    fn clean(&self, _: Thoroughness, _: &dyn Telling) -> Result<Cleaned, Problem> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Cleaned::default())
    }

    fn install(&self, _: &Install, _: &dyn Fetch, _: &dyn Telling) -> Result<Installed, Problem> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err(Problem::new("installing", "only played"))
    }
}

const ORDERS: [&str; 3] = [
    r#"{"id":"1","task":"clean","how":"full"}"#,
    r#"{"id":"2","task":"install","image":{"path":"i","format":"raw"}}"#,
    r#"{"id":"3","task":"reboot"}"#,
];

#[test]
fn a_developers_disks_are_left_alone_and_the_machine_stays_up() {
    for (may_wipe, done, expected) in [(false, 0, "--wipe-my-disks"), (true, 2, "only played")] {
        let orders = AtomicUsize::new(0);
        let loopback = Loopback::serve(move |_, request| match request.method.as_str() {
            "POST" => Reply::new(200, ""),
            _ => Reply::new(200, ORDERS[orders.fetch_add(1, Ordering::SeqCst)]),
        });
        let works = Counting::default();
        let told = CommandLine { url: loopback.url("http"), interface: None, address: None };
        assert_eq!(work(told, None, may_wipe, &works), Ok(Down::Reboot));
        assert_eq!(works.0.load(Ordering::SeqCst), done);
        let reports: Vec<String> = loopback.asked().into_iter().map(|request| request.body).collect();
        assert!(reports.iter().any(|report| report.contains(expected)), "{reports:?}");
        assert!(reports.iter().any(|report| report.contains("goingDown")), "{reports:?}");
    }
}

#[test]
fn a_server_by_https_needs_the_certificate_of_its_ca() {
    for (ca, expected) in [(None, "--ca <file>"), (Some("/nowhere/ca.pem"), "there is no /nowhere/ca.pem")] {
        let told =
            CommandLine { url: "https://127.0.0.1:1/".parse().unwrap(), interface: None, address: None };
        let error = work(told, ca.map(PathBuf::from), false, &Counting::default()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
