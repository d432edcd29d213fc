//! The controllers that run on the replica that leads.

use std::{sync::Arc, time::Duration};

use beskar7_core::{delivery::Delivery, host::Pace};
use kube::Client;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    beskar7cluster, beskar7machine, beskar7machinetemplate,
    boot_server::Presenter,
    caches::{Caches, Feeds},
    claim::{self, Claims, Register},
    clock,
    connection::{self, Identity},
    controller::{self, Reconciler, STUCK},
    dhcpreservation,
    diagnostics::{Health, Metrics, Pulse},
    hostbootconfiguration, hostclaim, hostdeploypolicy,
    leader::{Gate, LEASE_NAME},
    options::{Inspect, Options},
    physicalhost,
    tell::Recorder,
    upkeep::Upkeep,
    watch::{Cache, Key},
    workloads::{self, Means, Workloads},
};

/// Templates and policies are few, and a look at one is one write at most.
const TEMPLATES_AT_ONCE: u16 = 2;
const POLICIES_AT_ONCE: u16 = 2;
/// A look waits for servers that are asked what they have. What has a digest is read elsewhere.
const CONFIGURATIONS_AT_ONCE: u16 = 64;
const RESERVATIONS_AT_ONCE: u16 = 8;

/// What controllers are made of.
pub(super) struct Parts<'a> {
    pub(super) options: &'a Options,
    pub(super) identity: &'a Identity,
    pub(super) health: &'a Health,
    pub(super) metrics: &'a Metrics,
    pub(super) presenter: Option<Presenter>,
}

impl Parts<'_> {
    fn delivery(&self) -> Delivery {
        self.presenter.as_ref().map_or(Delivery::Off, Presenter::delivery)
    }
}

/// The controllers that run.
#[derive(Default)]
pub(super) struct Controllers {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Controllers {
    /// Starts them; their writes pass the fence of `client`, and they change machines only while the gate is open. What
    /// they look at is watched already.
    pub(super) fn start(&mut self, parts: &Parts<'_>, client: &Client, gate: Gate, feeds: &Feeds) {
        let options = parts.options;
        let recorder = Recorder::new(client.clone(), LEASE_NAME, parts.identity.as_str());
        let caches = feeds.caches();

        let register = Arc::new(Register::default());
        let (wakes, freed) = claim::Wakes::new(feeds, register.clone());
        let namespace = options.watch_namespace().map(str::to_owned);
        let claims = Claims::new(client.clone(), namespace, caches.hosts.clone(), register.clone(), freed);
        let machines = self.start_machines(parts, client, &recorder, feeds, (&gate, &register, &claims));
        let claims = self.start_claims(parts, client, &recorder, feeds, (register, claims));
        let wakes = wakes.telling(beskar7machine::KIND, machines).telling(hostclaim::KIND, claims);
        self.tasks.spawn(wakes.run(self.stop.clone()));
        let (woken, changes) = feeds.hosts.changes_and_more();
        let pace = Pace {
            poll: options.controllers.bmc_poll_interval,
            boot: options.controllers.boot_timeout,
            release: options.controllers.release_timeout,
            delivery: parts.delivery(),
            inspect: options.boot.inspect == Inspect::Always,
        };
        let hosts = physicalhost::Context::new(
            client.clone(),
            recorder.clone(),
            parts.metrics.clone(),
            (options.controllers.sync_period, pace),
            physicalhost::Means {
                guard: Arc::new(move || gate.left(clock::uptime()).is_some()),
                machines: caches.machines.clone(),
                claims: caches.claims.clone(),
                configurations: caches.boot_configurations.clone(),
                reservations: caches.reservations.clone(),
                presenter: parts.presenter.clone(),
            },
            woken.clone(),
        );
        self.tasks.spawn(hosts.wakes(feeds, woken).run(self.stop.clone()));
        let concurrency = options.controllers.physicalhost_concurrency;
        self.run(hosts, &caches, caches.hosts.clone(), changes, concurrency, parts.health);

        let clusters = beskar7cluster::Context::new(
            client.clone(),
            recorder,
            parts.metrics.clone(),
            options.controllers.sync_period,
            caches.clone(),
        );
        let (wakes, woken) = beskar7cluster::Wakes::new(feeds);
        self.tasks.spawn(wakes.run(self.stop.clone()));
        let concurrency = options.controllers.beskar7cluster_concurrency;
        self.run(clusters, &caches, caches.clusters.clone(), woken, concurrency, parts.health);
        self.start_templates(parts, client, feeds);
        self.start_policies(parts, client, feeds);
        self.start_boot_resources(parts, client, feeds);
    }

    fn start_boot_resources(&mut self, parts: &Parts<'_>, client: &Client, feeds: &Feeds) {
        let (caches, metrics) = (feeds.caches(), parts.metrics);
        let (hosts, presenter) = (caches.hosts.clone(), parts.presenter.clone());
        let (keys, woken) = unbounded_channel();
        let wakes = hostbootconfiguration::Wakes::new(feeds, keys.clone());
        let configurations =
            hostbootconfiguration::Context::new(client.clone(), hosts.clone(), presenter, keys);
        let configurations = Upkeep::new(configurations, metrics.clone());
        self.tasks.spawn(wakes.run(self.stop.clone()));
        let cache = caches.boot_configurations.clone();
        self.run(configurations, &caches, cache, woken, CONFIGURATIONS_AT_ONCE, parts.health);

        let (client, cache) = (client.clone(), caches.reservations.clone());
        let reservations = dhcpreservation::Context::new(client, hosts, cache.clone());
        let reservations = Upkeep::new(reservations, metrics.clone());
        let (wakes, woken) = dhcpreservation::Wakes::new(feeds);
        self.tasks.spawn(wakes.run(self.stop.clone()));
        self.run(reservations, &caches, cache, woken, RESERVATIONS_AT_ONCE, parts.health);
    }

    fn start_templates(&mut self, parts: &Parts<'_>, client: &Client, feeds: &Feeds) {
        let caches = feeds.caches();
        let templates =
            beskar7machinetemplate::Context::new(client.clone(), caches.clone(), parts.delivery());
        let templates = Upkeep::new(templates, parts.metrics.clone());
        let (wakes, woken) = beskar7machinetemplate::Wakes::new(feeds, parts.delivery());
        self.tasks.spawn(wakes.run(self.stop.clone()));
        self.run(templates, &caches, caches.templates.clone(), woken, TEMPLATES_AT_ONCE, parts.health);
    }

    fn start_policies(&mut self, parts: &Parts<'_>, client: &Client, feeds: &Feeds) {
        let caches = feeds.caches();
        let filter = parts.options.watch_filter().map(str::to_owned);
        let policies = hostdeploypolicy::Context::new(
            client.clone(),
            caches.hosts.clone(),
            filter,
            caches.tenancy.knows_labels(),
        );
        let policies = Upkeep::new(policies, parts.metrics.clone());
        let (wakes, woken) = hostdeploypolicy::Wakes::new(feeds);
        self.tasks.spawn(wakes.run(self.stop.clone()));
        self.run(policies, &caches, caches.policies.clone(), woken, POLICIES_AT_ONCE, parts.health);
    }

    /// Returns where machines are told that they are to look again.
    fn start_machines(
        &mut self,
        parts: &Parts<'_>,
        client: &Client,
        recorder: &Recorder,
        feeds: &Feeds,
        (gate, register, claims): (&Gate, &Arc<Register>, &Claims),
    ) -> UnboundedSender<Key> {
        let controllers = &parts.options.controllers;
        let caches = feeds.caches();
        let wakes = beskar7machine::Wakes::new(feeds);
        let (keys, woken) = unbounded_channel();
        let gate = gate.clone();
        let clusters = Workloads::new(Means {
            client: client.clone(),
            user_agent: connection::user_agent(parts.identity),
            may_write: Arc::new(move || gate.left(clock::uptime()).is_some()),
            label_prefixes: parts.options.node_label_prefixes(),
            pace: workloads::Pace::default(),
            wake: keys.clone(),
            stop: self.stop.clone(),
        });
        self.tasks.spawn(clusters.clone().run(feeds.owner_clusters.changes(), caches.owner_clusters.clone()));
        let machines = beskar7machine::Context::new(
            client.clone(),
            recorder.clone(),
            parts.metrics.clone(),
            beskar7machine::Shared { caches: caches.clone(), claims: claims.clone(), workloads: clusters },
            (controllers.sync_period, controllers.release_timeout, parts.delivery()),
        );
        let stop = self.stop.clone();
        self.tasks.spawn(wakes.run(caches.clone(), register.clone(), keys.clone(), stop));
        let concurrency = controllers.beskar7machine_concurrency;
        self.run(machines, &caches, caches.machines.clone(), woken, concurrency, parts.health);
        keys
    }

    /// Returns where claims are told that they are to look again.
    fn start_claims(
        &mut self,
        parts: &Parts<'_>,
        client: &Client,
        recorder: &Recorder,
        feeds: &Feeds,
        (register, claims): (Arc<Register>, Claims),
    ) -> UnboundedSender<Key> {
        let controllers = &parts.options.controllers;
        let (caches, (keys, woken)) = (feeds.caches(), unbounded_channel());
        let claims = hostclaim::Context::new(
            client.clone(),
            recorder.clone(),
            parts.metrics.clone(),
            hostclaim::Shared { caches: caches.clone(), claims },
            (controllers.sync_period, controllers.release_timeout, parts.delivery()),
        );
        let wakes = hostclaim::Wakes::new(feeds);
        self.tasks.spawn(wakes.run(register, keys.clone(), self.stop.clone()));
        let concurrency = controllers.hostclaim_concurrency;
        self.run(claims, &caches, caches.claims.clone(), woken, concurrency, parts.health);
        keys
    }

    /// Runs a controller as soon as everything that it may look at is known.
    fn run<R: Reconciler>(
        &mut self,
        reconciler: R,
        caches: &Caches,
        cache: Cache<R::Kind>,
        keys: UnboundedReceiver<Key>,
        concurrency: u16,
        health: &Health,
    ) {
        let pulse = Pulse::new(R::NAME, STUCK);
        health.watch(&pulse);
        let (caches, stop) = (caches.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = caches.filled() => {}
                () = stop.cancelled() => return,
            }
            controller::run(Arc::new(reconciler), cache, keys, concurrency, pulse, stop).await;
        });
    }

    /// Ends when one of them does, by itself or by a panic.
    pub(super) async fn ended(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending().await
        }
    }

    /// Lets running work finish; whether all of it did in time.
    pub(super) async fn stop(&mut self, limit: Duration) -> bool {
        self.stop.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let idle = tokio::time::timeout(limit, all).await.is_ok();
        if !idle {
            tracing::warn!(?limit, "some work has not finished in time");
        }
        idle
    }
}
