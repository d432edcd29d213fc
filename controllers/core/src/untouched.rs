//! Whether an object of which only the status is ours is left as it is.

use beskar7_api::annotations;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Whether nothing is to be written to it: clusterctl moves it, somebody paused it, or it goes.
pub(crate) fn untouched(metadata: &ObjectMeta) -> bool {
    let annotated = |name: &str| metadata.annotations.as_ref().is_some_and(|all| all.contains_key(name));
    annotated(annotations::DELETE_FOR_MOVE)
        || annotated(annotations::PAUSED)
        || metadata.deletion_timestamp.is_some()
}
