//! A whole life with the real Cluster API: the kubeadm control plane and MachineDeployments on simulated servers, with
//! our manager under the role of its release. What users do with `kubectl`, from `clusterctl generate cluster` to the
//! deletion of the Cluster.
//!
//! Needs what `make release` writes.
#![allow(clippy::indexing_slicing, reason = "JSON is read as it is written")]

use beskar7_e2e::images;

#[path = "cluster_api/bootstrap_data.rs"]
mod bootstrap_data;
#[path = "cluster_api/describe.rs"]
mod describe;
#[path = "cluster_api/endpoints.rs"]
mod endpoints;
#[path = "cluster_api/hosts.rs"]
mod hosts;
#[path = "cluster_api/life.rs"]
mod life;
#[path = "cluster_api/management.rs"]
mod management;
#[path = "cluster_api/moves.rs"]
mod moves;
#[path = "cluster_api/nodes.rs"]
mod nodes;
#[path = "cluster_api/nodes_linked.rs"]
mod nodes_linked;
#[path = "cluster_api/stack.rs"]
mod stack;
#[path = "cluster_api/topology.rs"]
mod topology;
