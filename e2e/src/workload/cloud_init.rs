//! What cloud-init does on a tenant's machine: it reads its configuration, and calls home.

use anyhow::{Context, Result, ensure};
use reqwest::StatusCode;

use crate::probe;

/// What a machine was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// How it is set up.
    pub user_data: String,
    /// What it was told of itself.
    pub meta_data: String,
    /// How its network is set up, where it was told.
    pub network_config: Option<String>,
}

/// Reads what is in a directory, and calls where it says.
pub async fn set_up(seed: &str) -> Result<Given> {
    let client = probe::client(None)?;
    let find = async |file: &str| -> Result<Option<String>> {
        let answer = client.get(format!("{seed}{file}")).send().await.context("its configuration")?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        ensure!(answer.status().is_success(), "its {file}: {}", answer.status());
        Ok(Some(answer.text().await?))
    };
    let read = async |file: &str| find(file).await?.with_context(|| format!("there is no {file}"));
    let given = Given {
        network_config: find("network-config").await?,
        user_data: read("user-data").await?,
        meta_data: read("meta-data").await?,
    };
    let home = given.meta_data.lines().find_map(|line| line.strip_prefix("phone_home_url: \""));
    let home = home.context("its meta-data names no home")?.trim_end_matches('"');
    let answer = client.post(home).send().await.context("calling home")?;
    ensure!(answer.status().is_success(), "calling home: {}", answer.status());
    Ok(given)
}
