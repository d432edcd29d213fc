//! One run of claims: machines are created all at once, and it is measured until each holds a host.

use std::time::Instant;

use anyhow::{Context, Result};
use beskar7_api::cluster_api;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use super::place::Place;
use super::sightings::Sightings;
use super::timed::{Timed, create_all, timed};
use super::worker::Worker;
use crate::objects::{make_machine, make_owner_machine};

/// Never read: the hosts stay off.
const IMAGE: &str = "http://127.0.0.1:9/node.iso";

/// Creates the Machines of Cluster API, which are there before ours are.
pub(super) async fn make_owners(
    place: &Place,
    namespace: &str,
    count: usize,
) -> Result<Vec<cluster_api::Machine>> {
    let as_usual = &json!({});
    create_all((0..count).map(|number| async move {
        make_owner_machine(&place.client, namespace, &format!("m-{number:05}"), as_usual).await
    }))
    .await
}

/// Creates our machines, which `more` changes, and waits until `worker` has bound all of them.
pub(super) async fn claim(
    place: &Place,
    namespace: &str,
    worker: &Worker,
    sightings: &mut Sightings,
    owners: &[cluster_api::Machine],
    more: &Value,
) -> Result<Timed> {
    let (created, waiting) = unbounded_channel();
    let work = async {
        match worker {
            Worker::Manager(_) => Ok(()),
            Worker::Bare(bare) => {
                tokio::spawn(bare.clone().claim_all(waiting)).await.context("the bare client")?
            }
        }
    };
    let create = async move {
        let all = create_all(owners.iter().zip(place.hosts()).map(|(owner, host)| {
            let created = created.clone();
            async move {
                let begun = Instant::now();
                make_machine(&place.client, namespace, owner, IMAGE, more).await?;
                // A manager finds out, and chooses the host, by itself.
                created.send((owner.name_any(), host)).ok();
                Ok((owner.name_any(), begun))
            }
        }));
        Ok(all.await?.into_iter().collect())
    };
    let see = async {
        sightings.until("claimed", owners.len(), |seen| seen.bound.len()).await?;
        Ok(sightings.seen().bound.clone())
    };
    timed(place, worker, create, work, see).await
}
