//! Which kinds the API server must know.

use beskar7_api::{GROUP, VERSION, crd};
use kube::Client;

use super::PreflightError;

/// Cluster API's group, the version of the contract we implement, and the kinds that we read.
const CLUSTER_API: (&str, &str, &[&str]) = ("cluster.x-k8s.io", "v1beta2", &["Cluster", "Machine"]);

pub(super) async fn check(client: &Client) -> Result<(), PreflightError> {
    let ours: Vec<String> = crd::all().into_iter().map(|crd| crd.spec.names.kind).collect();
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    if let Some((missing, note)) = absent(client, GROUP, VERSION, &ours).await? {
        return Err(PreflightError::Kinds { missing, note });
    }
    let (group, version, kinds) = CLUSTER_API;
    if let Some((missing, note)) = absent(client, group, version, kinds).await? {
        return Err(PreflightError::ClusterApi { missing, note });
    }
    Ok(())
}

/// The kinds of a group that are not served, and what is served instead; nothing when all are there.
async fn absent(
    client: &Client,
    group: &'static str,
    version: &str,
    kinds: &[&str],
) -> Result<Option<(Vec<String>, String)>, PreflightError> {
    let unanswered =
        |source| PreflightError::Unanswered { what: "which kinds are installed", source: Box::new(source) };
    let api_version = format!("{group}/{version}");
    let served = match client.list_api_group_resources(&api_version).await {
        Ok(list) => list.resources.into_iter().map(|resource| resource.kind).collect(),
        // A group that nobody serves is answered in plain text, without a reason.
        Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
        Err(error) => return Err(unanswered(error)),
    };
    let missing: Vec<String> = kinds
        .iter()
        .filter(|kind| !served.iter().any(|found: &String| found == *kind))
        .map(|kind| format!("{kind} ({api_version})"))
        .collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let groups = client.list_api_groups().await.map_err(unanswered)?;
    let versions: Vec<String> = groups
        .groups
        .into_iter()
        .filter(|found| found.name == group)
        .flat_map(|found| found.versions.into_iter().map(|version| version.version))
        .collect();
    Ok(Some((missing, note(group, version, &versions))))
}

/// What helps to see an installation that is too old, or half done.
fn note(group: &str, version: &str, served: &[String]) -> String {
    if served.is_empty() || served.iter().any(|found| found == version) {
        String::new()
    } else {
        format!(
            "; it serves {group} only in {}, which is too old or too new for this manager",
            served.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_named() {
        assert_eq!(note("g", "v1beta2", &[]), "");
        assert_eq!(note("g", "v1beta2", &["v1beta1".into(), "v1beta2".into()]), "");
        assert!(note("g", "v1beta2", &["v1alpha4".into()]).contains("serves g only in v1alpha4"));
    }
}
