//! One run of enrolment: hosts are created, and it is measured until they are Available.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use beskar7_api::HardwareData;
use kube::Api;
use kube::api::ListParams;
use tokio::sync::mpsc::unbounded_channel;

use super::place::Place;
use super::sightings::Sightings;
use super::timed::{Timed, create_all, timed};
use super::worker::Worker;
use crate::objects::make_host;
use crate::wait;

/// Inventories are read a few at a time, some of them only with the next polls.
const SETTLE_LIMIT: Duration = Duration::from_secs(900);

/// Creates hosts, and waits until `worker` has enrolled all but so many that it can't enrol.
pub(super) async fn enrol(
    place: &Place,
    namespace: &str,
    worker: &Worker,
    sightings: &mut Sightings,
    hung: usize,
) -> Result<Timed> {
    let hosts = place.hosts();
    let wanted = hosts.len().saturating_sub(hung);
    let (created, waiting) = unbounded_channel();
    let work = async {
        match worker {
            Worker::Manager(_) => Ok(()),
            Worker::Bare(bare) => {
                tokio::spawn(bare.clone().enrol_all(waiting)).await.context("the bare client")?
            }
        }
    };
    let create = async move {
        let all = create_all(hosts.into_iter().map(|host| {
            let created = created.clone();
            async move {
                let begun = Instant::now();
                make_host(&place.client, namespace, &host.name, &place.manifest(&host)).await?;
                let name = host.name.clone();
                // A manager finds out by itself.
                created.send(host).ok();
                Ok((name, begun))
            }
        }));
        Ok(all.await?.into_iter().collect())
    };
    let see = async {
        sightings.until("Available", wanted, |seen| seen.available.len()).await?;
        Ok(sightings.seen().available.clone())
    };
    timed(place, worker, create, work, see).await
}

/// Waits until the inventories of so many hosts are read.
pub(super) async fn until_inventories_are_read(place: &Place, namespace: &str, hosts: usize) -> Result<()> {
    let all: Api<HardwareData> = Api::namespaced(place.client.clone(), namespace);
    let all = &all;
    wait::until_true("every inventory to be read", SETTLE_LIMIT, || async move {
        let read = all.list_metadata(&ListParams::default()).await?.items.len();
        Ok(if read >= hosts { Ok(()) } else { Err(format!("{read} are")) })
    })
    .await?;
    Ok(())
}
