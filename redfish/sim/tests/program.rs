//! The program `redfish-sim` as a person uses it: started, read, tried and ended.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use reqwest::{Client, Response};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redfish-sim"));
    command.args(arguments);
    command
}

/// The running program. It does not outlive the test.
struct Program {
    child: Child,
    said: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

async fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::time::timeout(LIMIT, tokio::task::spawn_blocking(work)).await.unwrap().unwrap()
}

impl Program {
    /// Starts it and reads up to the last line of its greeting.
    async fn start(arguments: &[&str]) -> Self {
        let child = program(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut program = Self { child, said: String::new() };
        let mut lines = BufReader::new(program.child.stdout.take().unwrap());
        let (lines, said) = in_time(move || {
            let mut said = String::new();
            while !said.contains("stops it.") && lines.read_line(&mut said).unwrap() > 0 {}
            (lines, said)
        })
        .await;
        program.child.stdout = Some(lines.into_inner());
        program.said = said;
        program
    }

    /// The first word in what it said that begins like this.
    fn word(&self, beginning: &str) -> String {
        let found = self.said.split_whitespace().find(|word| word.starts_with(beginning));
        found.unwrap_or_else(|| panic!("no {beginning} in {}", self.said)).trim_end_matches(',').to_owned()
    }

    /// Ends it as a service manager does; what it said last, and how it ended.
    async fn end(mut self) -> (String, ExitStatus) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        let mut output = self.child.stdout.take().unwrap();
        let last = in_time(move || {
            let mut last = String::new();
            output.read_to_string(&mut last).unwrap();
            last
        })
        .await;
        (last, self.child.wait().unwrap())
    }
}

async fn json_of(answer: Response) -> Value {
    assert!(answer.status().is_success(), "{}", answer.status());
    answer.json().await.unwrap()
}

#[tokio::test]
async fn a_fleet_is_started_tried_and_ended() {
    let program = Program::start(&[
        "--count=4",
        "--profile=plain,dell-idrac",
        "--first-address=127.23.0.1",
        "--port=0",
        "--control=127.0.0.1:0",
        "--pace=0",
        r#"--fault={"kind": "unauthorized", "on": {"profile": "dell-idrac"}}"#,
    ])
    .await;
    assert!(program.said.contains("Serving 4 BMCs (plain,dell-idrac)"), "{}", program.said);
    let (bmc, control) = (program.word("http://127.23.0.1:"), program.word("http://127.0.0.1:"));
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let http = Client::builder().no_proxy().build().unwrap();

    let log_in = json!({ "UserName": "admin", "Password": "password" });
    let sessions = format!("{bmc}/redfish/v1/SessionService/Sessions");
    let session = http.post(sessions).json(&log_in).send().await.unwrap();
    assert_eq!(session.status(), 201);
    let token = session.headers()["x-auth-token"].to_str().unwrap();
    let read = async |path: &str| {
        http.get(format!("{bmc}{path}")).header("X-Auth-Token", token).send().await.unwrap()
    };

    let systems = json_of(read("/redfish/v1/Systems").await).await;
    let system = systems["Members"][0]["@odata.id"].as_str().unwrap();
    let target = json_of(read(system).await).await["Actions"]["#ComputerSystem.Reset"]["target"].clone();
    let reset = http.post(format!("{bmc}{}", target.as_str().unwrap()));
    let reset = reset.header("X-Auth-Token", token).json(&json!({ "ResetType": "On" }));
    assert_eq!(reset.send().await.unwrap().status(), 204);
    assert_eq!(json_of(read(system).await).await["PowerState"], "On");

    let dell = bmc.replace("127.23.0.1", "127.23.0.2");
    let refused = async || http.get(format!("{dell}/redfish/v1")).send().await.unwrap().status() == 401;
    assert!(refused().await, "by --fault");
    assert_eq!(http.delete(format!("{control}/faults")).send().await.unwrap().status(), 204);
    assert!(!refused().await);

    let one = json!({ "kind": "unavailable", "retryAfterSeconds": 3, "count": 1 });
    let faults = format!("{control}/bmcs/127.23.0.1/faults");
    assert_eq!(http.post(faults).json(&one).send().await.unwrap().status(), 204);
    assert_eq!(read(system).await.status(), 503);
    let many = json!({ "kind": "unauthorized", "on": { "every": 2 } });
    let armed = json_of(http.post(format!("{control}/faults")).json(&many).send().await.unwrap()).await;
    assert_eq!(armed["armed"], json!(["127.23.0.2", "127.23.0.4"]));
    assert!(refused().await);
    assert_eq!(read(system).await.status(), 200, "the others are spared");

    let (last, status) = program.end().await;
    assert!(last.contains("Stopped."), "{last:?}");
    assert_eq!(status.code(), Some(0), "{status}");
    // A client that has kept a connection learns of its end in another way.
    let newcomer = Client::builder().no_proxy().build().unwrap();
    assert!(newcomer.get(&bmc).send().await.unwrap_err().is_connect());
}

#[test]
fn what_it_can_not_do_it_says() {
    for (arguments, said) in [
        (["--count=0"], "--count must be at least 1"),
        (["--profile=abacus"], "there is no profile abacus: use mix, plain, dell-idrac"),
        (["--first-address=192.0.2.1"], "192.0.2.1 is not a loopback address"),
        ([r#"--fault={"kind": "hang"}"#], "missing field `on`"),
        (["--latency=soon"], "soon is not a time such as 20ms or 1.5s"),
    ] {
        let output = program(&arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(said), "{arguments:?}: {error}");
    }
}

#[test]
fn the_help_names_every_profile_and_fault() {
    let help = String::from_utf8(program(&["--help"]).output().unwrap().stdout).unwrap();
    for profile in beskar7_redfish_sim::profiles::ALL {
        assert!(help.contains(profile.name), "{}", profile.name);
    }
    for word in ["hang", "slow", "reset", "unauthorized", "unavailable", "lostSession", "stuckPower"] {
        assert!(help.contains(word), "{word}");
    }
    assert!(help.contains("ignoredOverride") && help.contains("lyingMedia") && help.contains("percent"));
}
