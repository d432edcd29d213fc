//! Whether we are allowed what we need: the API server is asked about each line of the table.

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};

use super::PreflightError;
use crate::{
    options::Options,
    permissions::{self, Need, Where},
};

/// How many questions are asked at once.
const AT_ONCE: usize = 8;

pub(super) async fn check(
    client: &Client,
    options: &Options,
    own_namespace: Option<&str>,
) -> Result<(), PreflightError> {
    let asked: Vec<(Need, Option<String>)> = permissions::required(options)
        .into_iter()
        .map(|need| {
            let namespace = match need.place {
                Where::Watched => options.watch_namespace(),
                Where::Own => own_namespace,
                Where::Discovery => options.discovery_namespace(),
                Where::Cluster => None,
            };
            (need, namespace.map(ToOwned::to_owned))
        })
        .collect();
    let missing: Vec<String> = futures::stream::iter(asked)
        .map(|(need, namespace)| refused(client, need, namespace))
        .buffered(AT_ONCE)
        .try_filter_map(|refusal| async move { Ok(refusal) })
        .try_collect()
        .await?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(PreflightError::Forbidden { subject: subject(client).await, missing })
}

/// Describes the need if it is not granted.
async fn refused(
    client: &Client,
    need: Need,
    namespace: Option<String>,
) -> Result<Option<String>, PreflightError> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(need.group.to_owned()),
                resource: Some(need.resource.to_owned()),
                subresource: need.subresource.map(ToOwned::to_owned),
                verb: Some(need.verb.to_owned()),
                namespace: namespace.clone(),
                ..ResourceAttributes::default()
            }),
            non_resource_attributes: None,
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviewed = Api::<SelfSubjectAccessReview>::all(client.clone())
        .create(&PostParams::default(), &review)
        .await
        .map_err(|source| PreflightError::Unanswered {
            what: "what we are allowed",
            source: Box::new(source),
        })?;
    let allowed = reviewed.status.is_some_and(|status| status.allowed);
    Ok((!allowed).then(|| describe(&need, namespace.as_deref())))
}

fn describe(need: &Need, namespace: Option<&str>) -> String {
    match (need.place, namespace) {
        (Where::Watched | Where::Own | Where::Discovery, Some(namespace)) => {
            format!("{need} in namespace {namespace}")
        }
        (Where::Watched | Where::Own | Where::Discovery, None) => format!("{need} in all namespaces"),
        (Where::Cluster, _) => need.to_string(),
    }
}

/// Who the API server takes us for.
async fn subject(client: &Client) -> String {
    let review = SelfSubjectReview::default();
    Api::<SelfSubjectReview>::all(client.clone())
        .create(&PostParams::default(), &review)
        .await
        .ok()
        .and_then(|review| review.status?.user_info?.username)
        .unwrap_or_else(|| "the manager's user".to_owned())
}
