//! What is committed in `config/crd/bases` is what the types say.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use beskar7_api::{crd, machine::OsFamily};
use serde_json::Value;

fn bases() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/crd/bases")
}

#[test]
fn committed_crds_are_current() {
    let expected: BTreeMap<String, String> =
        crd::all().iter().map(|c| (crd::file_name(c), crd::to_yaml(c).expect("YAML"))).collect();
    let committed: BTreeMap<String, String> = std::fs::read_dir(bases())
        .expect("config/crd/bases")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            (
                path.file_name().expect("a name").to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).expect("text"),
            )
        })
        .collect();
    let stale: BTreeSet<&String> = expected
        .keys()
        .chain(committed.keys())
        .filter(|name| expected.get(*name) != committed.get(*name))
        .collect();
    assert!(stale.is_empty(), "run `make crds`; stale, missing or left over: {stale:?}");
}

#[test]
fn every_field_is_explained() {
    let mut silent = Vec::new();
    for crd in crd::all() {
        let schema = serde_json::to_value(&crd.spec.versions[0].schema).expect("a schema");
        collect_silent(&crd.spec.names.kind, &schema["openAPIV3Schema"], &mut silent);
    }
    assert!(silent.is_empty(), "no doc comment on {silent:#?}");
}

fn collect_silent(path: &str, schema: &Value, silent: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        // `status` itself is described by the kind; everything below it is ours to describe.
        if property["description"].as_str().is_none_or(str::is_empty) && path.matches('.').count() > 1 {
            silent.push(path.clone());
        }
        collect_silent(&path, property, silent);
    }
    if schema["items"].is_object() {
        collect_silent(&format!("{path}[]"), &schema["items"], silent);
    }
}

/// `kubectl get` finds our kinds where users of Cluster API look, and clusterctl moves what must move.
#[test]
fn contract_and_move_labels_are_there() {
    let labels: BTreeMap<String, BTreeMap<String, String>> =
        crd::all().into_iter().map(|c| (c.spec.names.kind, c.metadata.labels.unwrap_or_default())).collect();
    for kind in ["Beskar7Cluster", "Beskar7ClusterTemplate", "Beskar7Machine", "Beskar7MachineTemplate"] {
        assert_eq!(
            labels[kind].get("cluster.x-k8s.io/v1beta2").map(String::as_str),
            Some("v1beta1"),
            "{kind}"
        );
    }
    assert!(labels["PhysicalHost"].contains_key("clusterctl.cluster.x-k8s.io/move-hierarchy"));
    for kind in ["HostClaim", "HostDeployPolicy"] {
        assert!(labels[kind].contains_key("clusterctl.cluster.x-k8s.io/move"), "{kind}");
    }
    for crd in crd::all() {
        assert_eq!(crd.spec.names.categories, Some(vec!["cluster-api".into(), "beskar7".into()]));
        assert!(crd.spec.names.short_names.is_some_and(|names| !names.is_empty()), "{}", crd.spec.names.kind);
    }
}

/// What code calls a family is what people write.
#[test]
fn every_os_family_has_the_name_that_manifests_use() {
    let written: BTreeSet<String> = crd::all()
        .into_iter()
        .filter(|crd| crd.spec.names.kind == "Beskar7Machine")
        .map(|crd| serde_json::to_value(&crd.spec.versions[0].schema).expect("a schema"))
        .flat_map(|schema| {
            let family = "/openAPIV3Schema/properties/spec/properties/osFamily/enum";
            schema.pointer(family).and_then(Value::as_array).cloned().unwrap_or_default()
        })
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let known = OsFamily::ALL.iter().map(|family| family.name().to_owned()).collect();
    assert_eq!(written, known);
}

/// Cluster API fails on an explicit null in a field of its contract.
#[test]
fn an_empty_object_has_no_nulls() {
    let host = beskar7_api::PhysicalHost {
        metadata: Default::default(),
        spec: Default::default(),
        status: Some(Default::default()),
    };
    let machine = beskar7_api::Beskar7Machine {
        metadata: Default::default(),
        spec: Default::default(),
        status: Some(Default::default()),
    };
    let cluster = beskar7_api::Beskar7Cluster {
        metadata: Default::default(),
        spec: Default::default(),
        status: Some(Default::default()),
    };
    for value in [serde_json::to_value(host), serde_json::to_value(machine), serde_json::to_value(cluster)] {
        let text = value.expect("JSON").to_string();
        assert!(!text.contains("null"), "{text}");
    }
}
