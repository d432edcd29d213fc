//! What the controllers know of the cluster: a cache of every kind that they look at, and the feeds that keep them
//! current.

use beskar7_api::{
    Beskar7Cluster, Beskar7Machine, Beskar7MachineTemplate, DHCPReservation, HostBootConfiguration,
    HostClaim, HostDeployPolicy, PhysicalHost, cluster_api, labels,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    core::{DeserializeGuard, NamespaceResourceScope},
    runtime::watcher,
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    options::Options,
    tenancy::Tenancy,
    watch::{Cache, Feed, Key, Watched},
};

/// A cache of every kind that the controllers look at; cheap to clone.
#[derive(Debug, Clone)]
pub struct Caches {
    /// The hosts.
    pub hosts: Cache<PhysicalHost>,
    /// Our side of Machines.
    pub machines: Cache<Beskar7Machine>,
    /// What tenants want.
    pub claims: Cache<HostClaim>,
    /// Our side of Clusters.
    pub clusters: Cache<Beskar7Cluster>,
    /// What Machines are made from, on our side.
    pub templates: Cache<Beskar7MachineTemplate>,
    /// Cluster API's Machines.
    pub owner_machines: Cache<cluster_api::Machine>,
    /// Cluster API's Clusters.
    pub owner_clusters: Cache<cluster_api::Cluster>,
    /// What hosts boot from the network.
    pub boot_configurations: Cache<HostBootConfiguration>,
    /// What hosts are told when they ask.
    pub reservations: Cache<DHCPReservation>,
    /// What opens hosts to others.
    pub policies: Cache<HostDeployPolicy>,
    /// Who may have whose hosts.
    pub tenancy: Tenancy,
}

impl Caches {
    /// Waits until each was filled once.
    pub async fn filled(&self) {
        self.hosts.filled().await;
        self.machines.filled().await;
        self.claims.filled().await;
        self.clusters.filled().await;
        self.templates.filled().await;
        self.owner_machines.filled().await;
        self.owner_clusters.filled().await;
        self.boot_configurations.filled().await;
        self.reservations.filled().await;
        self.policies.filled().await;
        self.tenancy.filled().await;
    }
}

/// What keeps the caches current.
pub struct Feeds {
    /// Of the hosts.
    pub hosts: Feed<PhysicalHost>,
    /// Of our side of Machines.
    pub machines: Feed<Beskar7Machine>,
    /// Of what tenants want.
    pub claims: Feed<HostClaim>,
    /// Of our side of Clusters.
    pub clusters: Feed<Beskar7Cluster>,
    /// Of what Machines are made from, on our side.
    pub templates: Feed<Beskar7MachineTemplate>,
    /// Of Cluster API's Machines.
    pub owner_machines: Feed<cluster_api::Machine>,
    /// Of Cluster API's Clusters.
    pub owner_clusters: Feed<cluster_api::Cluster>,
    /// Of what hosts boot from the network.
    pub boot_configurations: Feed<HostBootConfiguration>,
    /// Of what hosts are told when they ask.
    pub reservations: Feed<DHCPReservation>,
    /// Of what opens hosts to others.
    pub policies: Feed<HostDeployPolicy>,
    /// Of those others; with `--namespace` there are none.
    namespaces: Option<Feed<Namespace>>,
    tenancy: Tenancy,
}

impl Feeds {
    /// For what these options have us watch.
    #[must_use]
    pub fn new(client: &Client, options: &Options) -> Self {
        // Only what is ours carries the filter's label: a Machine is looked at because its Beskar7Machine is.
        let all = watcher::Config::default;
        // A boot server by itself decides nothing.
        let controls = !options.boot.boot_only;
        // Whether something is ours is said by hosts and claims, not by what opens the one to the other.
        let policies = match controls {
            true => Feed::new("HostDeployPolicy", api(client, options), all()),
            false => Feed::none(),
        };
        let namespaces = match (options.watch_namespace(), controls) {
            (None, true) => Some(Feed::new("Namespace", Api::all(client.clone()), all())),
            (Some(_), _) | (None, false) => None,
        };
        Self {
            tenancy: match &namespaces {
                Some(namespaces) => Tenancy::new(policies.cache(), namespaces.cache()),
                None => Tenancy::without_labels(policies.cache()),
            },
            policies,
            namespaces,
            hosts: Feed::new("PhysicalHost", api(client, options), ours(options)),
            machines: Feed::new("Beskar7Machine", api(client, options), ours(options)),
            claims: Feed::new("HostClaim", api(client, options), ours(options)),
            clusters: Feed::new("Beskar7Cluster", api(client, options), ours(options)),
            templates: match controls {
                true => Feed::new("Beskar7MachineTemplate", api(client, options), ours(options)),
                false => Feed::none(),
            },
            boot_configurations: Feed::new("HostBootConfiguration", api(client, options), ours(options)),
            reservations: Feed::new("DHCPReservation", api(client, options), ours(options)),
            owner_machines: Feed::new("Machine", api(client, options), all()),
            owner_clusters: Feed::new("Cluster", api(client, options), all()),
        }
    }

    /// What they keep current.
    #[must_use]
    pub fn caches(&self) -> Caches {
        Caches {
            hosts: self.hosts.cache(),
            machines: self.machines.cache(),
            claims: self.claims.cache(),
            clusters: self.clusters.cache(),
            templates: self.templates.cache(),
            owner_machines: self.owner_machines.cache(),
            owner_clusters: self.owner_clusters.cache(),
            boot_configurations: self.boot_configurations.cache(),
            reservations: self.reservations.cache(),
            policies: self.policies.cache(),
            tenancy: self.tenancy.clone(),
        }
    }

    /// The keys of namespaces that are there, new, changed or gone.
    #[must_use]
    pub fn namespace_changes(&self) -> UnboundedReceiver<Key> {
        self.namespaces.as_ref().map_or_else(|| unbounded_channel().1, Feed::changes)
    }

    /// Begins to watch.
    pub fn start(&mut self, tasks: &mut JoinSet<()>, stop: &CancellationToken) {
        self.hosts.start(tasks, stop);
        self.machines.start(tasks, stop);
        self.claims.start(tasks, stop);
        self.clusters.start(tasks, stop);
        self.templates.start(tasks, stop);
        self.owner_machines.start(tasks, stop);
        self.owner_clusters.start(tasks, stop);
        self.boot_configurations.start(tasks, stop);
        self.reservations.start(tasks, stop);
        self.policies.start(tasks, stop);
        if let Some(namespaces) = &mut self.namespaces {
            namespaces.start(tasks, stop);
        }
    }
}

fn api<K>(client: &Client, options: &Options) -> Api<DeserializeGuard<K>>
where
    K: Watched + kube::Resource<Scope = NamespaceResourceScope>,
{
    match options.watch_namespace() {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// With `--watch-filter` only what carries its label.
fn ours(options: &Options) -> watcher::Config {
    match options.watch_filter() {
        Some(value) => watcher::Config::default().labels(&format!("{}={value}", labels::WATCH_FILTER)),
        None => watcher::Config::default(),
    }
}
