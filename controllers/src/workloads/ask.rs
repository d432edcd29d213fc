//! Asks workload clusters for their Nodes, each in a task of its own, for as long as somebody waits.

use std::sync::Arc;

use beskar7_core::machine::node_link::{Node, Trouble};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, api::ListParams};
use tokio::time::{Instant, timeout};

use super::{Workload, Workloads, board::Contact, kubeconfig, node};
use crate::{causes::causes, connection::Connection, watch::Key};

/// How many times as long as one request a whole question may take, with all its pages.
const REQUESTS: u32 = 3;
/// As many Nodes as are asked for at once: of each, much is sent that nobody needs.
const PAGE: u32 = 200;
/// Where Cluster API puts a kubeconfig.
const KEY: &str = "value";

/// Asks a cluster, and wakes who waits for what has changed, until nobody waits.
pub(super) async fn keep(workloads: Arc<Workloads>, workload: Arc<Workload>) {
    loop {
        let due = workload.board().due(Instant::now());
        let Some(due) = due else { return };
        tokio::select! {
            () = tokio::time::sleep_until(due) => {}
            // Somebody else waits: it may be due sooner.
            () = workload.nudge.notified() => continue,
            () = workload.gone.cancelled() => return,
        }
        let limit = workloads.means.pace.request * REQUESTS;
        let asked = tokio::select! {
            asked = timeout(limit, nodes(&workloads, &workload)) => asked,
            () = workload.gone.cancelled() => return,
        };
        let slow = || Trouble::Unreachable(format!("the API server did not answer within {limit:?}"));
        let answer = asked.unwrap_or_else(|_| Err(slow()));
        match &answer {
            Ok(nodes) => {
                tracing::debug!(
                    cluster = workload.cluster.1,
                    nodes = nodes.len(),
                    "a workload cluster was asked"
                );
            }
            Err(trouble) => {
                tracing::debug!(cluster = workload.cluster.1, ?trouble, "a workload cluster can't be asked");
            }
        }
        let woken = workload.board().answered(answer, Instant::now());
        workloads.wake(woken);
    }
}

async fn nodes(workloads: &Workloads, workload: &Workload) -> Result<Vec<Node>, Trouble> {
    let client = contact(workloads, workload).await?;
    let api = node::api(&client);
    let limit = workloads.means.pace.request;
    let mut params = ListParams::default().limit(PAGE);
    let mut nodes = Vec::new();
    loop {
        let page = match timeout(limit, api.list(&params)).await {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => {
                if is_unauthorized(&error) {
                    // Whatever the Secret says by then is tried next.
                    workload.board().set_contact(None);
                }
                return Err(Trouble::Unreachable(causes(&error)));
            }
            Err(_) => {
                return Err(Trouble::Unreachable(format!("the API server did not answer within {limit:?}")));
            }
        };
        let prefixes = workloads.label_prefixes();
        nodes.extend(page.items.into_iter().map(|read| node::keep(read, prefixes)));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(nodes),
        }
    }
}

fn is_unauthorized(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(refusal) if refusal.code == 401)
}

/// A client by the kubeconfig that Cluster API keeps; the same as before while that has not changed.
async fn contact(workloads: &Workloads, workload: &Workload) -> Result<Client, Trouble> {
    let (namespace, name) = secret_of(&workload.cluster);
    let told = format!("{namespace}/{name}");
    let bad = |why: String| Trouble::BadKubeconfig { secret: told.clone(), why };
    let secrets: Api<Secret> = Api::namespaced(workloads.means.client.clone(), &namespace);
    let found = match secrets.get_opt(&name).await {
        Ok(Some(secret)) => secret,
        Ok(None) => {
            workload.board().set_contact(None);
            return Err(Trouble::NoKubeconfig(told));
        }
        Err(error) => return Err(bad(format!("the Secret can't be read: {}", causes(&error)))),
    };
    let version = |part: Option<String>| part.unwrap_or_default();
    let version = format!("{}/{}", version(found.metadata.uid), version(found.metadata.resource_version));
    let before = workload.board().contact();
    if let Some(contact) = before.filter(|contact| contact.version == version) {
        return Ok(contact.client);
    }
    let data = found.data.unwrap_or_default();
    let text = data.get(KEY).ok_or_else(|| bad(format!("the Secret has nothing under {KEY}")))?;
    let config = kubeconfig::read(&text.0).await.map_err(|why| bad(why.to_owned()))?;
    let client =
        Connection::elsewhere(config, workloads.means.user_agent.clone(), workloads.means.pace.request)
            .plain()
            .map_err(|_| bad("its certificates, key or credentials can't be used".to_owned()))?;
    workload.board().set_contact(Some(Contact { version, client: client.clone() }));
    Ok(client)
}

/// Where Cluster API keeps a Cluster's kubeconfig.
fn secret_of((namespace, cluster): &Key) -> Key {
    (namespace.clone(), format!("{cluster}-kubeconfig"))
}
