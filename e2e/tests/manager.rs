//! The built manager against a real API server, under exactly the role that its release gives it.
#![allow(clippy::indexing_slicing, reason = "JSON is read as it is written")]

use beskar7_e2e::images;

#[path = "manager/addresses.rs"]
mod addresses;
#[path = "manager/agents.rs"]
mod agents;
#[path = "manager/another_image.rs"]
mod another_image;
#[path = "manager/bmcs.rs"]
mod bmcs;
#[path = "manager/boot_tls.rs"]
mod boot_tls;
#[path = "manager/churn.rs"]
mod churn;
#[path = "manager/claim_documents.rs"]
mod claim_documents;
#[path = "manager/claim_edges.rs"]
mod claim_edges;
#[path = "manager/claims.rs"]
mod claims;
#[path = "manager/cluster_objects.rs"]
mod cluster_objects;
#[path = "manager/clusters.rs"]
mod clusters;
#[path = "manager/delivery.rs"]
mod delivery;
#[path = "manager/dhcp.rs"]
mod dhcp;
#[path = "manager/discovery.rs"]
mod discovery;
#[path = "manager/disk_images.rs"]
mod disk_images;
#[path = "manager/errands.rs"]
mod errands;
#[path = "manager/failover.rs"]
mod failover;
#[path = "manager/faults.rs"]
mod faults;
#[path = "manager/from_network.rs"]
mod from_network;
#[path = "manager/gatekeeper.rs"]
mod gatekeeper;
#[path = "manager/handover.rs"]
mod handover;
#[path = "manager/hosts.rs"]
mod hosts;
#[path = "manager/inputs.rs"]
mod inputs;
#[path = "manager/kills.rs"]
mod kills;
#[path = "manager/life.rs"]
mod life;
#[path = "manager/loaders.rs"]
mod loaders;
#[path = "manager/machines.rs"]
mod machines;
#[path = "manager/network_boot.rs"]
mod network_boot;
#[path = "manager/node_links.rs"]
mod node_links;
#[path = "manager/owners.rs"]
mod owners;
#[path = "manager/parameters.rs"]
mod parameters;
#[path = "manager/physical_hosts.rs"]
mod physical_hosts;
#[path = "manager/place.rs"]
mod place;
#[path = "manager/policies.rs"]
mod policies;
#[path = "manager/pools.rs"]
mod pools;
#[path = "manager/promises.rs"]
mod promises;
#[path = "manager/provisioning.rs"]
mod provisioning;
#[path = "manager/scale.rs"]
mod scale;
#[path = "manager/setup.rs"]
mod setup;
#[path = "manager/shared.rs"]
mod shared;
#[path = "manager/site.rs"]
mod site;
#[path = "manager/start.rs"]
mod start;
#[path = "manager/steps.rs"]
mod steps;
#[path = "manager/templates.rs"]
mod templates;
#[path = "manager/tenancy.rs"]
mod tenancy;
#[path = "manager/tenant.rs"]
mod tenant;
#[path = "manager/tenants.rs"]
mod tenants;
#[path = "manager/trust.rs"]
mod trust;
#[path = "manager/waiting.rs"]
mod waiting;
#[path = "manager/wipers.rs"]
mod wipers;
