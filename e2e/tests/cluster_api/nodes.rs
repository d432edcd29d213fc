//! What became of the nodes, in the workload cluster.

use std::collections::BTreeSet;

use anyhow::Result;
use beskar7_e2e::wait;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::stack::LIMIT;

/// Waits until these are the nodes, each Ready.
pub async fn until_ready(client: &Client, names: &BTreeSet<String>) -> Result<()> {
    let nodes = &Api::<Node>::all(client.clone());
    let met = wait::until_true(format!("the nodes to be {names:?}"), LIMIT, || async move {
        let all = nodes.list(&ListParams::default()).await?;
        let there: BTreeSet<String> = all.iter().map(ResourceExt::name_any).collect();
        let unready = all.iter().filter(|node| ready(node) != "True").count();
        Ok(if there == *names && unready == 0 {
            Ok(())
        } else {
            Err(format!("{there:?}, {unready} not ready"))
        })
    });
    Ok(met.await?)
}

/// Waits until nobody knows how a node is.
pub async fn until_lost(client: &Client, name: &str) -> Result<()> {
    let nodes = &Api::<Node>::all(client.clone());
    let met = wait::until_true(format!("the node {name} to be lost"), LIMIT, || async move {
        let found = ready(&nodes.get(name).await?);
        Ok(if found == "Unknown" { Ok(()) } else { Err(format!("Ready is {found}")) })
    });
    Ok(met.await?)
}

/// The status of a node's condition Ready.
fn ready(node: &Node) -> String {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready");
    ready.map(|condition| condition.status.clone()).unwrap_or_default()
}
