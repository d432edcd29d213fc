//! Children never outlive their parent, whatever ends it, and what they said
//! is there when somebody asks why.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use beskar7_e2e::process::{Command, Exit, Process, Signal, carrying};
use beskar7_e2e::wait;
use rustix::process::{Pid, kill_process, kill_process_group};

/// Everything that a test starts carries this variable, grandchildren and
/// supervisors too, so that what is left can be found whatever became of it.
const MARK: &str = "BESKAR7_TEST_MARK";

/// Where the parent that gets killed works; without it, it does nothing.
const PLACE: &str = "BESKAR7_TEST_PARENT";

/// Takes no notice of a polite request.
const STUBBORN: &str = "trap '' TERM; echo stubborn; while :; do sleep 0.1; done";

/// Leaves the work to somebody else.
const WITH_GRANDCHILD: &str = "sleep 1000 & echo nested; wait";

/// A mark that no other run has left behind.
fn mark(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

fn shell(name: &str, script: &str) -> Command {
    Command::new(name, "/bin/sh").args(["-c", script]).grace(Duration::from_millis(500))
}

/// The process ids of all that carry a mark.
fn marked(mark: &str) -> Vec<i32> {
    carrying(MARK, mark).into_iter().map(|found| found.pid).collect()
}

async fn nothing_remains(mark: &str) -> Result<()> {
    wait::until_true(
        format!("every process with the mark {mark} to end"),
        Duration::from_secs(20),
        || async {
            let left = marked(mark);
            Ok(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
        },
    )
    .await?;
    Ok(())
}

fn started(place: &Path) -> Vec<Process> {
    let start = |name: &str, command: &Command| command.spawn(place.join(format!("{name}.log"))).unwrap();
    vec![
        start("plain", &Command::new("plain", "/bin/sleep").arg("1000")),
        start("stubborn", &shell("stubborn", STUBBORN)),
        start("nested", &shell("nested", WITH_GRANDCHILD)),
    ]
}

/// Not a test: the parent that the tests below start and kill.
#[test]
#[ignore = "started by the other tests"]
fn the_parent() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let place = Path::new(&place);
    // Whoever started the tests in the background may have told them to ignore an interrupt, and children inherit that.
    // It ends this program as it would by itself: at once, with nothing tidied up.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut interrupt = {
        let _inside = runtime.enter();
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).unwrap()
    };
    let children = started(place);
    std::fs::write(place.join("children"), children.len().to_string()).unwrap();
    runtime.block_on(interrupt.recv());
    std::process::exit(130);
}

/// Waits until the parent has ended.
async fn ended(parent: &mut std::process::Child) -> Result<()> {
    wait::until_true("the parent's end", Duration::from_secs(20), || {
        let ended = parent.try_wait();
        async { Ok(if ended?.is_some() { Ok(()) } else { Err("it runs".to_owned()) }) }
    })
    .await?;
    Ok(())
}

/// Starts the parent in a process group of its own and waits until all its
/// children run: the parent, three supervisors, three programs, and what the
/// two shells started.
async fn parent_with_children(place: &Path, mark: &str) -> Result<std::process::Child> {
    let parent = std::process::Command::new(std::env::current_exe()?)
        .args(["--exact", "the_parent", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(std::process::Stdio::null())
        .env(MARK, mark)
        .process_group(0)
        .spawn()?;
    wait::until_true("the parent's children", Duration::from_secs(20), || async {
        let running = marked(mark).len();
        let said = |name: &str| std::fs::read_to_string(place.join(name)).unwrap_or_default();
        let all = place.join("children").exists()
            && !said("stubborn.log").is_empty()
            && !said("nested.log").is_empty();
        Ok(if all && running >= 8 { Ok(()) } else { Err(format!("{running} processes")) })
    })
    .await?;
    Ok(parent)
}

fn pid_of(child: &std::process::Child) -> Pid {
    Pid::from_child(child)
}

#[tokio::test]
async fn nothing_remains_when_the_parent_is_killed() -> Result<()> {
    let place = tempfile::tempdir()?;
    let mut parent = parent_with_children(place.path(), &mark("killed")).await?;
    kill_process(pid_of(&parent), Signal::KILL)?;
    ended(&mut parent).await?;
    nothing_remains(&mark("killed")).await
}

#[tokio::test]
async fn nothing_remains_when_the_parents_whole_group_is_killed() -> Result<()> {
    let place = tempfile::tempdir()?;
    let mut parent = parent_with_children(place.path(), &mark("group")).await?;
    kill_process_group(pid_of(&parent), Signal::KILL)?;
    ended(&mut parent).await?;
    nothing_remains(&mark("group")).await
}

#[tokio::test]
async fn nothing_remains_when_the_parent_is_interrupted() -> Result<()> {
    let place = tempfile::tempdir()?;
    let mut parent = parent_with_children(place.path(), &mark("interrupted")).await?;
    kill_process_group(pid_of(&parent), Signal::INT)?;
    ended(&mut parent).await?;
    nothing_remains(&mark("interrupted")).await
}

#[tokio::test]
async fn a_killed_supervisor_takes_its_program_along() -> Result<()> {
    let place = tempfile::tempdir()?;
    let command = Command::new("orphan", "/bin/sleep").arg("1000").env(MARK, mark("orphan"));
    let process = command.spawn(place.path().join("log"))?;
    let supervisor =
        marked(&mark("orphan")).into_iter().find(|pid| *pid != process.pid()).context("no supervisor")?;
    kill_process(Pid::from_raw(supervisor).context("a process id")?, Signal::KILL)?;
    assert_eq!(process.wait().await?, Exit::SupervisorLost);
    nothing_remains(&mark("orphan")).await
}

#[tokio::test]
async fn dropping_a_process_stops_it() -> Result<()> {
    let place = tempfile::tempdir()?;
    let process = shell("stubborn", STUBBORN).env(MARK, mark("dropped")).spawn(place.path().join("log"))?;
    drop(process);
    assert_eq!(marked(&mark("dropped")), [] as [i32; 0]);
    Ok(())
}

#[tokio::test]
async fn a_stop_is_polite_first_and_forced_after_the_grace() -> Result<()> {
    let place = tempfile::tempdir()?;
    let log = place.path().join("polite.log");
    let script = "trap 'echo goodbye; exit 7' TERM; echo ready; while :; do sleep 0.1; done";
    let mut polite = shell("polite", script).grace(Duration::from_secs(10)).spawn(&log)?;
    said(&log, "ready").await?;
    assert_eq!(polite.stop().await?, Exit::Code(7));
    assert!(std::fs::read_to_string(&log)?.ends_with("goodbye\n"));

    let log = place.path().join("stubborn.log");
    let mut stubborn = shell("stubborn", STUBBORN).spawn(&log)?;
    said(&log, "stubborn").await?;
    assert_eq!(stubborn.stop().await?, Exit::Signal(9));
    Ok(())
}

#[tokio::test]
async fn a_frozen_program_can_be_woken_and_stopped() -> Result<()> {
    let place = tempfile::tempdir()?;
    let log = place.path().join("log");
    let mut process = shell("counting", "while :; do echo tick; sleep 0.05; done").spawn(&log)?;
    said(&log, "tick").await?;
    process.pause()?;
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", process.pid())).unwrap_or_default();
    wait::until_true("the program to freeze", Duration::from_secs(5), || async {
        Ok(if state().contains(") T ") { Ok(()) } else { Err(state()) })
    })
    .await?;
    process.resume()?;
    wait::until_true("the program to go on", Duration::from_secs(5), || async {
        Ok(if state().contains(") T ") { Err(state()) } else { Ok(()) })
    })
    .await?;
    process.pause()?;
    process.stop().await?;
    assert!(process.signal(Signal::KILL).is_err(), "its process id may be somebody else's by now");
    Ok(())
}

#[tokio::test]
async fn an_early_end_is_told_with_the_end_of_the_log() -> Result<()> {
    let place = tempfile::tempdir()?;
    let log = place.path().join("broken.log");
    let process =
        shell("broken", "echo starting; echo cannot read the flag --nonsense >&2; exit 3").spawn(&log)?;
    assert_eq!(process.wait().await?, Exit::Code(3));
    let told = process.check().unwrap_err().to_string();
    assert!(told.starts_with("broken ended with exit code 3;"), "{told}");
    assert!(told.contains("    cannot read the flag --nonsense"), "{told}");
    assert!(told.contains(&log.display().to_string()), "{told}");

    let process = Command::new("killed", "/bin/sleep").arg("1000").spawn(place.path().join("killed.log"))?;
    assert_eq!(process.kill().await?, Exit::Signal(9));
    Ok(())
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() -> Result<()> {
    let place = tempfile::tempdir()?;
    let missing = Command::new("manager", "/nowhere/manager").spawn(place.path().join("log"));
    assert_eq!(missing.unwrap_err().to_string(), "manager is not there: /nowhere/manager");

    let text = place.path().join("text");
    std::fs::write(&text, "not a program")?;
    let process = Command::new("text", &text).spawn(place.path().join("log"))?;
    process.wait().await?;
    assert!(process.check().unwrap_err().to_string().contains("Permission denied"));
    Ok(())
}

#[tokio::test]
async fn a_command_runs_to_its_end_within_its_limit() -> Result<()> {
    let script = "read word; echo \"got $word\"; echo complaint >&2; exit 5";
    let output = shell("asking", script).run_with_input(Duration::from_secs(20), "hello\n").await?;
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("got hello\n", "complaint\n"));
    let refused = output.success().unwrap_err().to_string();
    assert!(refused.contains("ended with exit code 5:\ncomplaint"), "{refused}");

    let slow = shell("slow", "echo thinking >&2; sleep 1000")
        .env(MARK, mark("slow"))
        .run(Duration::from_millis(300))
        .await;
    let told = slow.unwrap_err().to_string();
    assert!(told.contains("did not end within 300ms; it said:\nthinking"), "{told}");
    // Those who were killed take a moment to be gone.
    wait::until_true("the slow one to be gone", Duration::from_secs(20), || async {
        let left = marked(&mark("slow"));
        Ok(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
    })
    .await?;
    Ok(())
}

async fn said(log: &Path, word: &str) -> Result<()> {
    let what = format!("{word:?} in {}", log.display());
    wait::until_true(what, Duration::from_secs(20), || async {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        Ok(if text.contains(word) { Ok(()) } else { Err(format!("{text:?}")) })
    })
    .await?;
    Ok(())
}
