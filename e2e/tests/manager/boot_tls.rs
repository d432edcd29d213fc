//! The boot server over HTTPS, with a certificate that is renewed while it runs.

use std::path::Path;

use anyhow::{Result, ensure};
use beskar7_e2e::manager::Manager;
use beskar7_e2e::ports::Port;
use beskar7_e2e::wait;

use super::setup::*;

/// Writes a new certificate for this machine, and its key, and returns the former.
fn renew(directory: &Path) -> Result<String> {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
    std::fs::write(directory.join("tls.crt"), made.cert.pem())?;
    std::fs::write(directory.join("tls.key"), made.signing_key.serialize_pem())?;
    Ok(made.cert.pem())
}

/// What somebody is told who trusts this certificate alone.
async fn asked(url: &str, trusted: &str) -> Result<String> {
    let trusted = reqwest::Certificate::from_pem(trusted.as_bytes())?;
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]).build()?;
    Ok(client.get(format!("{url}/healthz")).send().await?.error_for_status()?.text().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_are_answered_over_https_and_a_renewed_certificate_needs_no_restart() -> Result<()> {
    let (plane, directory, port) = (installed().await?, tempfile::tempdir()?, Port::reserve()?);
    let first = renew(directory.path())?;
    let url = format!("https://127.0.0.1:{}", port.number());
    let file = |name: &str| directory.path().join(name).display().to_string();
    let flags = [
        format!("--boot-url={url}"),
        format!("--boot-bind-address=127.0.0.1:{}", port.number()),
        format!("--boot-tls-cert-file={}", file("tls.crt")),
        format!("--boot-tls-key-file={}", file("tls.key")),
    ];
    let manager = Manager::start(&plane, &alone("manager", &flags.each_ref().map(String::as_str))).await?;
    ensure!(asked(&url, &first).await? == "ok\n");
    ensure!(reqwest::get(url.replace("https", "http")).await.is_err(), "it speaks nothing else");

    let second = renew(directory.path())?;
    let (url, second) = (url.as_str(), second.as_str());
    wait::until_true("the new certificate to be shown".to_owned(), LIMIT, || async move {
        Ok(asked(url, second).await.map(drop).map_err(|error| format!("{error:#}")))
    })
    .await?;
    ensure!(asked(url, &first).await.is_err(), "the old one is not shown any more");

    // One that can't be used changes nothing.
    std::fs::write(directory.path().join("tls.key"), "no key")?;
    let said = || logged(&manager).is_ok_and(|log| log.contains("tls.key"));
    wait::until_true("the bad file to be noticed".to_owned(), LIMIT, || async {
        Ok(if said() { Ok(()) } else { Err("nothing is in the log".to_owned()) })
    })
    .await?;
    ensure!(asked(url, second).await? == "ok\n");
    manager.stop().await?;
    plane.stop().await
}
