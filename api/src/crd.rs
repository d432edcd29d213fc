//! The CustomResourceDefinitions of all kinds, as they are installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

/// Every CRD, in the order of the documentation.
pub fn all() -> Vec<CustomResourceDefinition> {
    [
        crate::PhysicalHost::crd(),
        crate::HardwareData::crd(),
        without_spec(crate::Beskar7Cluster::crd()),
        crate::Beskar7ClusterTemplate::crd(),
        crate::Beskar7Machine::crd(),
        crate::Beskar7MachineTemplate::crd(),
        without_spec(crate::HostClaim::crd()),
        crate::HostDeployPolicy::crd(),
        crate::HostBootConfiguration::crd(),
        crate::DHCPReservation::crd(),
    ]
    .into_iter()
    .map(finish)
    .collect()
}

/// The file that a CRD is kept in, as kubebuilder names it.
pub fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

fn finish(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            tidy(schema);
        }
    }
    crd
}

/// A kind whose spec asks for nothing may be written without one.
fn without_spec(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for root in crd.spec.versions.iter_mut().filter_map(|v| v.schema.as_mut()?.open_api_v3_schema.as_mut()) {
        if let Some(spec) = root.properties.as_mut().and_then(|p| p.get_mut("spec")) {
            spec.default = Some(JSON(serde_json::json!({})));
        }
        root.required = None;
    }
    crd
}

/// What the derives can't be told.
fn tidy(schema: &mut JSONSchemaProps) {
    // Optional Rust fields come out as nullable. An explicit `null` would then be stored, and Cluster
    // API fails on one in a field of its contract; without `nullable` the API server drops it.
    schema.nullable = None;
    // Doc comments are wrapped for the source; `kubectl explain` wraps for itself.
    schema.description = schema.description.take().map(|d| d.replace('\n', " "));
    for property in schema.properties.iter_mut().flat_map(|p| p.values_mut()) {
        tidy(property);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => tidy(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
}

/// A CRD as the text that is kept in `config/crd/bases`.
#[cfg(feature = "crdgen")]
pub fn to_yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser_error::Error> {
    let mut text = String::from("# Generated from api/src by `make crds`; edit there.\n---\n");
    text.push_str(&serde_saphyr::to_string(crd)?);
    Ok(text)
}
