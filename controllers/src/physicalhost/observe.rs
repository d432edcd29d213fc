//! Reads what a decision about a host needs: of its Secrets, which keys hold something. Values go no further.

use std::collections::BTreeSet;

use beskar7_api::PhysicalHost;
use beskar7_core::host::{
    Observed,
    connection::{SecretView, Secrets},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

/// Reads the Secrets that a host names, by name, in its own namespace.
pub(super) async fn observe(client: &Client, host: &PhysicalHost) -> Observed {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &host.namespace().unwrap_or_default());
    let connection = &host.spec.redfish_connection;
    let credentials = match connection.credentials_secret_ref.as_str() {
        "" => None,
        name => Some(view(&secrets, name).await),
    };
    let ca_bundle = match &connection.ca_bundle_secret_ref {
        Some(reference) => Some(view(&secrets, &reference.name).await),
        None => None,
    };
    Observed { secrets: Secrets { credentials, ca_bundle } }
}

async fn view(secrets: &Api<Secret>, name: &str) -> SecretView {
    match secrets.get_opt(name).await {
        Ok(Some(secret)) => SecretView::Found(filled_keys(&secret)),
        Ok(None) => SecretView::Absent,
        Err(error) => SecretView::Unreadable(in_short(&error)),
    }
}

fn filled_keys(secret: &Secret) -> BTreeSet<String> {
    secret
        .data
        .iter()
        .flatten()
        .filter(|(_, value)| !value.0.is_empty())
        .map(|(key, _)| key.clone())
        .collect()
}

/// The same words for the same failure: they end up in a condition, which must not change with every try.
fn in_short(error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else { return "the API server did not answer".to_owned() };
    if status.code == 403 {
        return "the manager is not allowed to; grant it `get` on secrets in this namespace".to_owned();
    }
    format!("the API server answered {} {}", status.code, status.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_that_hold_something_count() {
        let secret: Secret = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "bmc"},
            "data": {"username": "cm9vdA==", "password": ""},
        }))
        .unwrap();
        assert_eq!(filled_keys(&secret), BTreeSet::from(["username".to_owned()]));
        assert_eq!(filled_keys(&Secret::default()), BTreeSet::new());
    }

    #[test]
    fn failures_are_told_in_words_that_stay() {
        let answered = |code: u16, reason: &str| {
            let status = serde_json::json!({
                "status": "Failure", "code": code, "reason": reason, "message": format!("request {}", fastrand::u64(..)),
            });
            in_short(&kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
        };
        assert!(answered(403, "Forbidden").contains("grant it `get` on secrets"));
        assert_eq!(answered(500, "InternalError"), answered(500, "InternalError"));
        let lost = kube::Error::Service("connection 0x1234 reset".into());
        assert_eq!(in_short(&lost), "the API server did not answer");
    }
}
