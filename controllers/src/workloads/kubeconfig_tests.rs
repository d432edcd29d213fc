//! What a kubeconfig may ask for.

use serde_json::{Value, json};

use super::*;

fn with(user: Value, cluster: Value) -> String {
    let file = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "w", "user": "admin"}}],
        "clusters": [{"name": "w", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
    });
    serde_saphyr::to_string(&file).unwrap()
}

fn server() -> Value {
    json!({"server": "https://10.0.0.1:6443"})
}

#[tokio::test]
async fn certificates_tokens_and_passwords_are_taken() {
    for user in [
        json!({"client-certificate-data": "QQ==", "client-key-data": "QQ=="}),
        json!({"token": "t"}),
        json!({"username": "u", "password": "p"}),
        json!({}),
    ] {
        let config = read(with(user.clone(), server()).as_bytes()).await;
        let config = config.unwrap_or_else(|why| panic!("{user}: {why}"));
        assert_eq!(config.cluster_url.host(), Some("10.0.0.1"));
        assert!(config.proxy_url.is_none());
    }
}

#[tokio::test]
async fn what_would_run_a_program_read_a_file_or_take_a_detour_is_refused() {
    let secret = "the-very-secret";
    for (user, cluster, why) in [
        (json!({"exec": {"command": "sh", "apiVersion": "v1"}, "token": secret}), server(), "program"),
        (json!({"auth-provider": {"name": "gcp", "config": {}}}), server(), "program"),
        (json!({"tokenFile": "/var/run/secrets/token"}), server(), "names files"),
        (json!({"client-certificate": "/c", "client-key-data": secret}), server(), "names files"),
        (json!({"client-key": "/k"}), server(), "names files"),
        (json!({"token": secret, "as": "root"}), server(), "acts as another"),
        (json!({"as-groups": ["system:masters"]}), server(), "acts as another"),
        (json!({}), json!({"server": "https://a", "certificate-authority": "/ca"}), "names files"),
        (json!({}), json!({"server": "https://a", "proxy-url": "http://p"}), "proxy"),
        (json!({}), json!({}), "no usable server"),
        (json!({}), json!({"server": "not a url"}), "no usable server"),
    ] {
        let told = read(with(user.clone(), cluster.clone()).as_bytes()).await.expect_err("taken");
        assert!(told.contains(why), "{user} {cluster}: {told}");
        assert!(!told.contains(secret));
    }
}

#[tokio::test]
async fn what_is_no_kubeconfig_is_not_quoted() {
    let other_context = with(json!({}), server()).replace("current-context: c", "current-context: d");
    for (text, why) in [
        ("users: the-very-secret", "no kubeconfig"),
        ("\u{0}", "no kubeconfig"),
        ("", "current-context"),
        (other_context.as_str(), "current-context"),
    ] {
        let told = read(text.as_bytes()).await.expect_err("taken");
        assert!(told.contains(why) && !told.contains("secret"), "{text:?}: {told}");
    }
    assert!(read(&[0xff]).await.is_err());
}
