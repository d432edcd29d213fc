//! The guard before a stand-in for the API server's reviews.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use kube::client::Body;

use super::*;

/// Knows two tokens: `good` may read /metrics, `poor` may not. Counts what it is asked.
fn mock_api_server() -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect_bytes().await.unwrap();
            let review: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let status = if path.ends_with("/tokenreviews") {
                match review["spec"]["token"].as_str().unwrap() {
                    "good" | "poor" => serde_json::json!({
                        "authenticated": true,
                        "user": {"username": review["spec"]["token"], "groups": ["g"], "uid": "u"},
                    }),
                    _ => serde_json::json!({"authenticated": false}),
                }
            } else {
                let asked = &review["spec"]["nonResourceAttributes"];
                let allowed = review["spec"]["user"] == "good"
                    && review["spec"]["groups"] == serde_json::json!(["g"])
                    && *asked == serde_json::json!({"path": "/metrics", "verb": "get"});
                serde_json::json!({"allowed": allowed})
            };
            let mut answer = review;
            answer["status"] = status;
            Ok::<_, Infallible>(http::Response::new(Body::from(serde_json::to_vec(&answer).unwrap())))
        }
    });
    (Client::new(service, "default"), asked)
}

fn question(token: &str, path: &str) -> Question {
    Question { token: token.into(), path: path.into(), verb: "get".into() }
}

#[tokio::test]
async fn the_api_server_decides_and_is_asked_once() {
    let (client, asked) = mock_api_server();
    let guard = Guard::new(client);
    for (token, path, expected, reviews) in [
        ("good", "/metrics", Verdict::Allowed, 2),
        ("good", "/metrics", Verdict::Allowed, 0),
        ("poor", "/metrics", Verdict::Forbidden, 2),
        ("poor", "/metrics", Verdict::Forbidden, 0),
        ("good", "/other", Verdict::Forbidden, 2),
        ("bad", "/metrics", Verdict::Unknown, 1),
        ("bad", "/metrics", Verdict::Unknown, 0),
    ] {
        let before = asked.load(Ordering::SeqCst);
        assert_eq!(guard.answer(question(token, path)).await.unwrap(), expected, "{token} {path}");
        assert_eq!(asked.load(Ordering::SeqCst) - before, reviews, "{token} {path}");
    }
}

#[tokio::test]
async fn answers_grow_old() {
    let (client, asked) = mock_api_server();
    let guard = Guard::new(client);
    assert_eq!(guard.answer(question("good", "/metrics")).await.unwrap(), Verdict::Allowed);
    for (_, until) in guard.answers.lock().unwrap().values_mut() {
        *until = Duration::ZERO;
    }
    assert_eq!(guard.answer(question("good", "/metrics")).await.unwrap(), Verdict::Allowed);
    assert_eq!(asked.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_flood_of_tokens_does_not_fill_the_memory() {
    let (client, _) = mock_api_server();
    let guard = Guard::new(client);
    for n in 0..2 * KEPT {
        guard.answer(question(&n.to_string(), "/metrics")).await.unwrap();
    }
    assert!(guard.answers.lock().unwrap().len() <= KEPT);
}

#[test]
fn only_bearer_tokens_are_taken() {
    for (value, expected) in [
        (Some("Bearer abc"), Some("abc")),
        (Some("bearer abc"), Some("abc")),
        (Some("Bearer "), None),
        (Some("Bearer"), None),
        (Some("Basic abc"), None),
        (None, None),
    ] {
        let mut headers = HeaderMap::new();
        if let Some(value) = value {
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        }
        assert_eq!(bearer(&headers), expected, "{value:?}");
    }
    let mut headers = HeaderMap::new();
    headers
        .insert(header::AUTHORIZATION, format!("Bearer {}", "x".repeat(LONGEST_TOKEN + 1)).parse().unwrap());
    assert_eq!(bearer(&headers), None);
}
