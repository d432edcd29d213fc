//! One look at one template: what its machines offer, written down if it says something else.

use std::{sync::Arc, time::Duration};

use beskar7_api::{Beskar7Cluster, Beskar7MachineTemplate, GROUP, cluster_api};
use beskar7_core::{
    delivery::Delivery,
    pool,
    template::{Offering, cluster_name, left_alone, offer},
};
use kube::{Client, runtime::controller::Action};

use super::NAME;
use crate::{
    caches::Caches,
    retry::Backoffs,
    upkeep::{Keeper, UpkeepError, keep},
    watch::Key,
};

/// No reconcile may take longer.
const LIMIT: Duration = Duration::from_secs(60);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    caches: Caches,
    delivery: Delivery,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(client: Client, caches: Caches, delivery: Delivery) -> Self {
        Self { client, caches, delivery }
    }
}

impl Keeper for Context {
    type Kind = Beskar7MachineTemplate;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(
        &self,
        template: &Beskar7MachineTemplate,
        _: &Backoffs<Key>,
    ) -> Result<Action, UpkeepError> {
        look(template, self).await
    }
}

async fn look(template: &Beskar7MachineTemplate, context: &Context) -> Result<Action, UpkeepError> {
    let place = Place::of(template, &context.caches);
    if left_alone(template, place.cluster()) {
        return Ok(Action::await_change());
    }
    let Some(offering) = place.offering(template, context.delivery, &context.caches) else {
        return Ok(Action::await_change());
    };
    let hosts = context.caches.hosts.all();
    let status = offer(&offering, hosts.iter().map(AsRef::as_ref));
    keep(&context.client, template, &status).await
}

/// What a template belongs to.
pub(super) enum Place {
    /// No Cluster, as far as it says.
    Alone,
    /// A Cluster that is not known here, or whose side of ours is not: which hosts it may have can't be said.
    Unknown(Option<Arc<cluster_api::Cluster>>),
    /// A Cluster, and our side of it.
    Of(Arc<cluster_api::Cluster>, Arc<Beskar7Cluster>),
}

impl Place {
    /// Looks it up.
    pub(super) fn of(template: &Beskar7MachineTemplate, caches: &Caches) -> Self {
        let namespace = template.metadata.namespace.clone().unwrap_or_default();
        let Some(name) = cluster_name(template) else { return Self::Alone };
        let Some(cluster) = caches.owner_clusters.get(&(namespace.clone(), name.to_owned())) else {
            return Self::Unknown(None);
        };
        let reference = cluster.spec.infrastructure_ref.as_ref();
        let ours = reference.filter(|found| found.kind == "Beskar7Cluster" && found.api_group == GROUP);
        match ours.and_then(|found| caches.clusters.get(&(namespace, found.name.clone()))) {
            Some(ours) => Self::Of(cluster, ours),
            None => Self::Unknown(Some(cluster)),
        }
    }

    fn cluster(&self) -> Option<&cluster_api::Cluster> {
        match self {
            Self::Alone | Self::Unknown(None) => None,
            Self::Unknown(Some(cluster)) | Self::Of(cluster, _) => Some(cluster),
        }
    }

    /// What the machines of a template want, where that can be said.
    pub(super) fn offering(
        &self,
        template: &Beskar7MachineTemplate,
        delivery: Delivery,
        caches: &Caches,
    ) -> Option<Offering> {
        let own = template.metadata.namespace.as_deref().unwrap_or_default();
        let ours = match self {
            Self::Alone | Self::Unknown(_) => None,
            Self::Of(_, ours) => ours.spec.host_pool.as_ref(),
        };
        let wanted = pool::Place::of(own, ours, template.spec.template.spec.host_selector.as_ref());
        let open = caches.tenancy.opened(wanted.namespace, own);
        match self {
            Self::Alone => Some(Offering::new(template, None, delivery, &open)),
            Self::Unknown(_) => None,
            Self::Of(_, ours) => Some(Offering::new(template, Some(ours), delivery, &open)),
        }
    }
}
