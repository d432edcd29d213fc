//! The border of this crate: it builds without a client, a runtime, or anything that talks to a network.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "this test looks at the crate from outside"
)]

use std::process::Command;

#[test]
fn nothing_that_acts_is_a_dependency() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let tree = Command::new(cargo)
        .args([
            "tree",
            "--offline",
            "--locked",
            "-p",
            "beskar7-core",
            "-e",
            "normal",
            "--prefix",
            "none",
            "-f",
            "{p}",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&tree.stdout);
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    assert!(text.contains("beskar7-api "), "this is not the tree of beskar7-core:\n{text}");
    for banned in
        ["tokio", "hyper", "reqwest", "kube-client", "kube-runtime", "rustls", "axum", "socket2", "mio"]
    {
        let found = text.lines().find(|line| line.split(' ').next() == Some(banned));
        assert_eq!(found, None, "beskar7-core depends on {banned}: decisions must not be able to act");
    }
}
