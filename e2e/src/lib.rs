//! A real control plane on this machine: etcd, kube-apiserver,
//! kube-controller-manager, Cluster API and the Beskar7 manager as local
//! processes, for the tests and the demo.
//!
//! Nothing here is part of what Beskar7 ships, and no other crate depends on
//! it. What it starts is the released software, not an imitation; what is
//! missing compared to a cluster is kubelets, so nothing runs as a pod.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic"))]

pub mod agent;
pub mod bench;
pub mod cluster_api;
pub mod control_plane;
pub mod demo;
pub mod images;
pub mod installation;
pub mod isos;
pub mod lab;
pub mod manager;
pub mod objects;
pub mod ports;
pub mod probe;
pub mod process;
pub mod racks;
pub mod ranges;
pub mod registry;
pub mod sample;
pub mod tools;
pub mod vm;
pub mod wait;
pub mod workload;
pub mod workspace;
