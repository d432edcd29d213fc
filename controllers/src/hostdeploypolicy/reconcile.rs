//! One look at one policy: what it covers, written down if it says something else.

use std::time::Duration;

use beskar7_api::{HostDeployPolicy, PhysicalHost};
use beskar7_core::policy::{left_alone, standing};
use kube::{Client, runtime::controller::Action};

use super::NAME;
use crate::{
    clock,
    retry::Backoffs,
    upkeep::{Keeper, UpkeepError, keep},
    watch::{Cache, Key},
};

/// No reconcile may take longer.
const LIMIT: Duration = Duration::from_secs(60);

/// What every reconcile needs.
pub struct Context {
    client: Client,
    hosts: Cache<PhysicalHost>,
    /// With `--watch-filter`: its value. Policies are read whatever label they have, and written only with this one.
    /// Managers that know different hosts would else write their own counts by turns.
    filter: Option<String>,
    /// Whether the labels of namespaces are known.
    knows_labels: bool,
}

impl Context {
    /// For a controller whose writes go through `client`.
    #[must_use]
    pub fn new(
        client: Client,
        hosts: Cache<PhysicalHost>,
        filter: Option<String>,
        knows_labels: bool,
    ) -> Self {
        Self { client, hosts, filter, knows_labels }
    }
}

impl Keeper for Context {
    type Kind = HostDeployPolicy;
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    async fn look(&self, policy: &HostDeployPolicy, _: &Backoffs<Key>) -> Result<Action, UpkeepError> {
        look(policy, self).await
    }
}

async fn look(policy: &HostDeployPolicy, context: &Context) -> Result<Action, UpkeepError> {
    if left_alone(policy, context.filter.as_deref()) {
        return Ok(Action::await_change());
    }
    let hosts = context.hosts.all();
    let status = standing(policy, hosts.iter().map(AsRef::as_ref), context.knows_labels, clock::now());
    keep(&context.client, policy, &status).await
}
