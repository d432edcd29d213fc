//! Conditions, connections, busy BMCs, jobs and sessions.

use std::time::Duration;

use axum::http::Method;
use beskar7_redfish::{BootMode, BootTarget, Error, Limits, Power};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scripted::*;

const RESET: &str = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
const TASK: &str = "/redfish/v1/TaskService/Tasks/42";

async fn armed(scripted: &Scripted) -> Result<(), Error> {
    let bmc = scripted.bmc();
    let system = bmc.system(None).await?;
    bmc.boot_once(&system, &BootTarget::Pxe, BootMode::Uefi, LIMIT).await.map(|_| ())
}

/// A BMC that gives this version, and takes only this condition.
async fn wants(given: Option<&str>, condition: Option<&'static str>) -> Scripted {
    let given = given.map(ToOwned::to_owned);
    Scripted::new(
        |_| {},
        move |asked, tree| match asked.method {
            Method::PATCH if asked.header("if-match") != condition => {
                Some(Reply::refusal(412, "PreconditionFailed", "the ETag did not match"))
            }
            Method::GET => {
                let reply = as_it_should_be(asked, tree);
                Some(given.iter().fold(reply, |reply, etag| reply.with("etag", etag)))
            }
            _ => None,
        },
    )
    .await
}

#[tokio::test]
async fn every_kind_of_condition_is_found_and_remembered() {
    for (given, condition) in [
        (Some("W/\"7\""), Some("W/\"7\"")),
        (Some("W/\"7\""), Some("\"7\"")),
        (Some("\"7\""), Some("*")),
        (Some("\"7\""), None),
        (Some(""), Some("*")),
        (Some(""), None),
        (None, Some("*")),
        (None, None),
    ] {
        let scripted = wants(given, condition).await;
        let bmc = scripted.bmc();
        let system = bmc.system(None).await.unwrap();
        for round in 0..2 {
            let before = scripted.changes().len();
            bmc.boot_once(&system, &BootTarget::Pxe, BootMode::Uefi, LIMIT).await.unwrap();
            let tries = scripted.changes().len() - before;
            assert!(round == 0 || tries == 1, "{given:?} {condition:?}: {tries} tries, though it is known");
        }
    }
}

#[tokio::test]
async fn an_action_may_want_a_condition() {
    let scripted = Scripted::new(
        |_| {},
        |asked, _| {
            (asked.is(&Method::POST, RESET) && asked.header("if-match").is_none())
                .then(|| Reply::refusal(412, "PreconditionFailed", "If-Match is missing"))
        },
    )
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    assert_eq!(bmc.power_off(&system, power_limits()).await.unwrap().power(), Power::Off);
}

#[tokio::test]
async fn no_encoding_is_asked_for() {
    // Compressed, HPE's answers have other ETags; and asked for `identity`, it answers 406.
    let scripted = Scripted::plain().await;
    armed(&scripted).await.unwrap();
    assert!(scripted.asked().iter().all(|asked| asked.header("accept-encoding").is_none()));
}

/// Answers one request of a connection as if it would keep it, and is silent to the next.
async fn serve_once(mut stream: tokio::net::TcpStream) -> std::io::Result<()> {
    let body = json!({
        "Systems": { "@odata.id": "/redfish/v1/Systems" },
        "Members": [{ "@odata.id": SYSTEM }],
        "PowerState": "On",
        "Actions": { "#ComputerSystem.Reset": { "target": "/reset" } },
    })
    .to_string();
    let mut buffer = [0; 4096];
    let _first = stream.read(&mut buffer).await?;
    let head = format!("HTTP/1.1 200 OK\r\nX-Auth-Token: t\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let _next = stream.read(&mut buffer).await?;
    Ok(())
}

#[tokio::test]
async fn a_connection_that_breaks_while_it_is_kept_is_opened_again() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_once(stream));
        }
    });
    let bmc = client(&url, Limits::default());
    let system = bmc.system(None).await.unwrap();
    assert_eq!(system.path(), SYSTEM);
    // The action is taken at its first try, though the connection of the read before it is broken.
    let mut limits = power_limits();
    limits.graceful = Duration::ZERO;
    limits.seen = Duration::from_millis(100);
    let error = bmc.power_off(&system, limits).await.unwrap_err();
    assert!(matches!(error, Error::NotSeen { .. }), "{error}");
}

#[tokio::test]
async fn a_busy_bmc_is_asked_again_as_it_says() {
    type Busy = fn() -> Reply;
    let said: [Busy; 4] = [
        || Reply::new(503, Value::Null).with("retry-after", "1"),
        || Reply::refusal(400, "SYS518", "iDRAC is not ready"),
        || Reply::refusal(403, "InvalidOperationForSystemState", "in POST"),
        || Reply::new(429, Value::Null),
    ];
    for (kind, busy) in said.into_iter().enumerate() {
        let mut left = 2;
        let scripted = Scripted::new(
            |_| {},
            move |asked, _| {
                if !asked.is(&Method::PATCH, SYSTEM) || left == 0 {
                    return None;
                }
                left -= 1;
                Some(busy())
            },
        )
        .await;
        armed(&scripted).await.unwrap();
        assert_eq!(scripted.changes().len(), 3, "kind {kind}");
    }
}

#[tokio::test]
async fn a_bmc_that_is_busy_for_longer_than_there_is_time_says_until_when() {
    let scripted = Scripted::new(
        |_| {},
        |asked, _| {
            asked.is(&Method::PATCH, SYSTEM).then(|| Reply::new(503, Value::Null).with("retry-after", "900"))
        },
    )
    .await;
    let error = armed(&scripted).await.unwrap_err();
    assert!(
        matches!(error, Error::Busy { after: Some(after), .. } if after == Duration::from_secs(900)),
        "{error}"
    );
    assert_eq!(scripted.changes().len(), 1, "it was asked again before its time");
}

/// A BMC whose override is a job, which looks so at each look.
async fn with_job(location: Option<&'static str>, looks: Vec<Reply>) -> Scripted {
    let mut looks = looks.into_iter();
    Scripted::new(
        |_| {},
        move |asked, tree| {
            if asked.is(&Method::GET, TASK) {
                return looks.next();
            }
            asked.is(&Method::PATCH, SYSTEM).then(|| {
                as_it_should_be(asked, tree);
                let accepted = Reply::new(202, Value::Null);
                location.iter().fold(accepted, |reply, path| reply.with("location", path))
            })
        },
    )
    .await
}

fn looks(scripted: &Scripted) -> usize {
    scripted.asked().iter().filter(|asked| asked.path == TASK).count()
}

#[tokio::test]
async fn an_accepted_change_may_name_no_task() {
    let scripted = with_job(None, Vec::new()).await;
    armed(&scripted).await.unwrap();
    assert_eq!(scripted.now(SYSTEM, "/Boot/BootSourceOverrideTarget"), json!("Pxe"));
}

#[tokio::test]
async fn a_task_is_followed_to_its_end_though_it_is_unknown_at_first() {
    let state = |state: &str| Reply::new(200, json!({ "TaskState": state }));
    let unknown = Reply::new(404, Value::Null);
    let scripted = with_job(Some(TASK), vec![unknown, state("Running"), state("Completed")]).await;
    armed(&scripted).await.unwrap();
    assert_eq!(looks(&scripted), 3);
}

#[tokio::test]
async fn a_task_that_fails_says_why() {
    let messages = json!([{ "MessageId": "iDRAC.2.8.JCP035", "Message": "a job is already scheduled" }]);
    let failed = Reply::new(200, json!({ "TaskState": "Exception", "Messages": messages }));
    let scripted = with_job(Some("https://10.0.0.9/redfish/v1/TaskService/Tasks/42"), vec![failed]).await;
    let error = armed(&scripted).await.unwrap_err();
    assert!(error.to_string().contains("a job is already scheduled"), "{error}");
}

#[tokio::test]
async fn a_task_that_has_no_end_is_told_with_its_whole_limit() {
    let running = || Reply::new(200, json!({ "TaskState": "Running" }));
    let scripted = with_job(Some(TASK), (0..20).map(|_| running()).collect()).await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    let limit = Duration::from_millis(2500);
    let error = bmc.boot_once(&system, &BootTarget::Pxe, BootMode::Uefi, limit).await.unwrap_err();
    assert!(matches!(error, Error::NotSeen { limit: told, .. } if told == limit), "{error}");
}

#[tokio::test]
async fn an_error_with_status_200_is_an_error() {
    let refuse = |status| {
        Scripted::new(
            |_| {},
            move |asked, _| {
                asked
                    .is(&Method::PATCH, SYSTEM)
                    .then(|| Reply::refusal(status, "PropertyNotWritableOrUnknown", "read only"))
            },
        )
    };
    let error = armed(&refuse(200).await).await.unwrap_err();
    assert!(error.to_string().contains("read only"), "{error}");
    // Success, in the same place, is none.
    let fine = Scripted::new(
        |_| {},
        |asked, tree| {
            asked.is(&Method::PATCH, SYSTEM).then(|| {
                as_it_should_be(asked, tree);
                Reply::refusal(200, "Success", "done")
            })
        },
    )
    .await;
    armed(&fine).await.unwrap();
}

#[tokio::test]
async fn one_session_is_kept_and_deleted_wherever_it_says_it_is() {
    let scripted = Scripted::new(
        |_| {},
        |asked, _| {
            let absolute = format!("https://10.0.0.9:8443{SESSIONS}/7");
            asked
                .is(&Method::POST, SESSIONS)
                .then(|| Reply::new(201, json!({})).with("x-auth-token", "t").with("location", &absolute))
        },
    )
    .await;
    let bmc = scripted.bmc();
    let system = bmc.system(None).await.unwrap();
    bmc.power_off(&system, power_limits()).await.unwrap();
    bmc.close().await.unwrap();
    let sessions: Vec<(Method, String)> = scripted
        .asked()
        .into_iter()
        .filter(|asked| asked.path.starts_with(SESSIONS))
        .map(|asked| (asked.method, asked.path))
        .collect();
    assert_eq!(sessions, [(Method::POST, SESSIONS.into()), (Method::DELETE, format!("{SESSIONS}/7"))]);
}

#[tokio::test]
async fn a_session_that_was_forgotten_is_opened_again_once() {
    for forever in [false, true] {
        let mut refusals = if forever { usize::MAX } else { 1 };
        let scripted = Scripted::new(
            |_| {},
            move |asked, _| {
                if !asked.is(&Method::GET, SYSTEM) || refusals == 0 {
                    return None;
                }
                refusals -= 1;
                Some(Reply::new(401, Value::Null))
            },
        )
        .await;
        let found = scripted.bmc().system(None).await;
        let log_ins = scripted.asked().iter().filter(|asked| asked.is(&Method::POST, SESSIONS)).count();
        assert_eq!(log_ins, 2, "forever: {forever}");
        match found {
            Err(error) => assert!(forever && matches!(error, Error::BadCredentials { .. }), "{error}"),
            Ok(_) => assert!(!forever),
        }
    }
}

#[tokio::test]
async fn what_a_user_may_not_do_is_said_in_the_words_of_the_bmc() {
    let scripted = Scripted::new(
        |_| {},
        |asked, _| {
            asked
                .is(&Method::PATCH, SYSTEM)
                .then(|| Reply::refusal(403, "PasswordChangeRequired", "change the password first"))
        },
    )
    .await;
    let error = armed(&scripted).await.unwrap_err();
    assert!(matches!(error, Error::NotAllowed { .. }), "{error}");
    assert!(error.to_string().contains("change the password first"), "{error}");
}

#[test]
fn an_answer_may_take_as_long_as_an_idrac_takes() {
    assert!(Limits::default().request > Duration::from_secs(18));
}
