//! How the client gets to a BMC, and how it is known there.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "the habits use the rest")]
#[path = "habits/scripted.rs"]
mod scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::Method;
use axum::response::IntoResponse as _;
use beskar7_redfish::{Bmc, Error, Limits, Rest};
use scripted::*;
use serde_json::{Value, json};
use tokio::sync::Barrier;

#[tokio::test]
async fn an_ipv6_address_and_the_prefix_of_a_gateway() {
    let scripted = Scripted::on(
        "[::1]:0",
        |_| {},
        |asked, tree| {
            let mut below = asked.clone();
            below.path = asked.path.strip_prefix("/racks/7").unwrap_or("/nowhere").to_owned();
            Some(as_it_should_be(&below, tree))
        },
    )
    .await;
    assert!(scripted.url().starts_with("http://[::1]:"), "{}", scripted.url());
    let bmc = client(&format!("{}/racks/7/redfish/v1/", scripted.url()), Limits::default());
    assert_eq!(bmc.system(None).await.unwrap().path(), SYSTEM);
    bmc.close().await.unwrap();
    assert!(
        scripted.asked().iter().all(|asked| asked.path.starts_with("/racks/7/")),
        "{:?}",
        scripted.asked()
    );
}

#[tokio::test]
async fn basic_where_there_are_no_sessions_or_none_is_left() {
    type Refusal = fn() -> Reply;
    let refusals: [Refusal; 4] = [
        || Reply::new(404, Value::Null),
        || Reply::new(501, Value::Null),
        || Reply::refusal(503, "SessionLimitExceeded", "too many sessions"),
        // A session without a token is none.
        || Reply::new(201, json!({})),
    ];
    for refusal in refusals {
        let scripted =
            Scripted::new(|_| {}, move |asked, _| asked.is(&Method::POST, SESSIONS).then(refusal)).await;
        let bmc = scripted.bmc();
        bmc.system(None).await.unwrap();
        let asked = scripted.asked();
        let last = asked.last().unwrap();
        // root:calvin
        assert_eq!(last.header("authorization"), Some("Basic cm9vdDpjYWx2aW4="));
        bmc.close().await.unwrap();
        assert!(scripted.asked().iter().all(|asked| asked.method != Method::DELETE), "nothing to delete");
    }
}

#[tokio::test]
async fn a_wrong_password_is_tried_once() {
    // Accounts are locked after a few.
    let scripted = Scripted::new(
        |_| {},
        |asked, _| (asked.path != "/redfish/v1/").then(|| Reply::new(401, Value::Null)),
    )
    .await;
    let error = scripted.bmc().system(None).await.unwrap_err();
    assert!(matches!(error, Error::BadCredentials { .. }), "{error}");
    assert!(error.to_string().contains("correct the credentials Secret"), "{error}");
    assert!(!error.to_string().contains("calvin"), "{error}");
    let shown = scripted.asked().iter().filter(|asked| asked.path != "/redfish/v1/").count();
    assert_eq!(shown, 1, "{:?}", scripted.asked());
}

#[tokio::test]
async fn a_poll_is_one_request_and_conditional_where_there_is_a_version() {
    for etag in [None, Some("\"7\"")] {
        let scripted = Scripted::new(
            |tree| tree.get_mut(SYSTEM).unwrap()["@odata.etag"] = json!(etag),
            |asked, _| asked.header("if-none-match").is_some().then(|| Reply::new(304, Value::Null)),
        )
        .await;
        let bmc = scripted.bmc();
        let system = bmc.system(None).await.unwrap();
        let before = scripted.asked().len();
        let again = bmc.refresh(&system).await.unwrap();
        assert_eq!((again.path(), again.power()), (system.path(), system.power()));
        let asked = &scripted.asked()[before..];
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0].header("if-none-match"), etag);
    }
}

/// A server that answers only when two are asking, and knows how many asked at once.
async fn answers_in_pairs(most: Arc<AtomicUsize>) -> String {
    let (pair, now) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let app = axum::Router::new().fallback(move |uri: axum::http::Uri| {
        let (pair, now, most) = (Arc::clone(&pair), Arc::clone(&now), Arc::clone(&most));
        async move {
            if uri.path() == "/pair" {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                pair.wait().await;
                now.fetch_sub(1, Ordering::SeqCst);
            }
            let members = json!([{ "@odata.id": "/pair" }]);
            axum::Json(json!({ "Systems": { "@odata.id": "/systems" }, "Members": members })).into_response()
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bmc_is_asked_more_at_once_than_the_limit() {
    let most = Arc::new(AtomicUsize::new(0));
    let url = answers_in_pairs(Arc::clone(&most)).await;
    let bmc: Arc<Bmc> = Arc::new(client(&url, Limits { at_once: 2, ..Limits::default() }));
    let asking: Vec<_> = (0..20)
        .map(|_| {
            let bmc = Arc::clone(&bmc);
            tokio::spawn(async move { bmc.system(None).await.map(|_| ()) })
        })
        .collect();
    for asked in asking {
        asked.await.unwrap().unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_bmc_that_is_not_there_says_so_and_is_then_left_alone() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let rest = Rest { after: 2, interval: LIMIT };
    let bmc = client(&format!("http://{nobody}"), Limits { rest, ..Limits::default() });
    for _ in 0..2 {
        let error = bmc.system(None).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(&nobody.to_string()), "{error}");
        assert!(error.to_string().contains("check its address"), "{error}");
    }
    let error = bmc.system(None).await.unwrap_err();
    assert!(matches!(error, Error::Resting { failures: 2, .. }), "{error}");
}

#[tokio::test]
async fn who_may_no_longer_change_anything_only_reads() {
    let scripted = Scripted::plain().await;
    let may = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let asked = Arc::clone(&may);
    let bmc = scripted.bmc().guarded(Arc::new(move || asked.load(Ordering::SeqCst)));
    let system = bmc.system(None).await.unwrap();
    let off = bmc.power_off(&system, power_limits()).await.unwrap();
    let before = scripted.changes().len();
    may.store(false, Ordering::SeqCst);
    let error = bmc.power_on(&off, power_limits()).await.unwrap_err();
    assert!(matches!(error, Error::Withdrawn { .. }), "{error}");
    let error = bmc.insert(&off, ISO, LIMIT).await.unwrap_err();
    assert!(matches!(error, Error::Withdrawn { .. }), "{error}");
    assert_eq!(scripted.changes().len(), before);
    bmc.refresh(&off).await.unwrap();
    bmc.close().await.unwrap();
}
