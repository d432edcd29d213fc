//! Rewrites manifests so that the API server reaches webhooks at a local port
//! instead of through a Service, and drops what only cert-manager would use.
//! Pure: text in, text out.
//!
//! Documents that need no change stay as they are, byte for byte: they may
//! hold variables of clusterctl where YAML expects something else.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Where webhooks are, and whom the API server trusts there.
pub(super) struct Target<'a> {
    pub(super) port: u16,
    /// The authority's certificate, base64 of PEM.
    pub(super) authority: &'a Value,
}

/// Rewrites a stream of documents.
pub(super) fn rewrite(documents: &str, target: &Target<'_>) -> Result<String> {
    let mut kept = Vec::new();
    for document in split(documents) {
        let kind = field(document, "kind").unwrap_or_default();
        if field(document, "apiVersion").is_some_and(|version| version.starts_with("cert-manager.io/")) {
            continue;
        }
        let reaches_webhooks = matches!(
            kind,
            "CustomResourceDefinition" | "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration"
        );
        if reaches_webhooks && document.contains("clientConfig:") {
            let name = || format!("a {kind}");
            let mut value: Value = serde_saphyr::from_str(document).with_context(name)?;
            redirect(&mut value, target);
            // JSON is YAML that leaves nothing to interpretation.
            kept.push(serde_json::to_string_pretty(&value).with_context(name)?);
        } else {
            kept.push(document.trim_matches('\n').to_owned());
        }
    }
    Ok(kept.join("\n---\n") + "\n")
}

/// The documents of a stream, empty ones left out.
pub(super) fn split(documents: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut position) = (0, 0);
    for line in documents.split_inclusive('\n') {
        if line.trim_end() == "---" {
            found.push(documents.get(begin..position));
            begin = position + line.len();
        }
        position += line.len();
    }
    found.push(documents.get(begin..));
    found.into_iter().flatten().filter(|document| !document.trim().is_empty()).collect()
}

/// A field at the top of a document.
pub(super) fn field<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let value = document.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim())
}

/// Points every `clientConfig`, wherever it is, to the target.
fn redirect(value: &mut Value, target: &Target<'_>) {
    match value {
        Value::Object(fields) => {
            drop_annotation(fields);
            if let Some(Value::Object(config)) = fields.get_mut("clientConfig")
                && let Some(service) = config.remove("service")
            {
                let path = service.get("path").and_then(Value::as_str).unwrap_or("/");
                let url = format!("https://127.0.0.1:{}{path}", target.port);
                config.insert("url".to_owned(), json!(url));
                config.insert("caBundle".to_owned(), target.authority.clone());
            }
            fields.values_mut().for_each(|inner| redirect(inner, target));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| redirect(inner, target)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Nobody is there who would inject an authority.
fn drop_annotation(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(annotations)) = fields.get_mut("annotations") {
        annotations.remove("cert-manager.io/inject-ca-from");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFESTS: &str = r#"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    cert-manager.io/inject-ca-from: capi-system/capi-serving-cert
    other: stays
  name: clusters.cluster.x-k8s.io
spec:
  conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        service:
          name: capi-webhook-service
          namespace: capi-system
          path: /convert
      conversionReviewVersions: ["v1"]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: capi
webhooks:
- name: a
  clientConfig:
    service: {name: s, namespace: n, path: /validate-a}
- name: b
  clientConfig:
    service: {name: s, namespace: n, path: /validate-b}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: serving
---
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: ${REPLICAS:=1}   # untouched
"#;

    fn rewritten() -> String {
        rewrite(MANIFESTS, &Target { port: 20_001, authority: &json!("Q0E=") }).unwrap()
    }

    #[test]
    fn webhooks_and_conversions_point_to_the_local_port() {
        let text = rewritten();
        let documents = split(&text);
        let crd: Value = serde_json::from_str(documents[0]).unwrap();
        let config = &crd["spec"]["conversion"]["webhook"]["clientConfig"];
        assert_eq!(config, &json!({"url": "https://127.0.0.1:20001/convert", "caBundle": "Q0E="}));
        assert_eq!(crd["metadata"]["annotations"], json!({"other": "stays"}));
        let webhooks: Value = serde_json::from_str(documents[1]).unwrap();
        assert_eq!(webhooks["webhooks"][1]["clientConfig"]["url"], "https://127.0.0.1:20001/validate-b");
        assert!(!text.contains("service"), "{text}");
    }

    #[test]
    fn objects_of_cert_manager_are_dropped_and_the_rest_stays_as_it_is() {
        let text = rewritten();
        assert!(!text.contains("cert-manager.io"), "{text}");
        assert_eq!(split(&text).len(), 3);
        assert!(text.contains("  replicas: ${REPLICAS:=1}   # untouched\n"), "{text}");
    }

    #[test]
    fn a_stream_is_split_at_its_separators_only() {
        assert_eq!(
            split("---\na: 1\n---\n\n---\nb: |\n  text --- more\n"),
            ["a: 1\n", "b: |\n  text --- more\n"]
        );
        assert_eq!(field("metadata:\n  kind: no\nkind: Yes\n", "kind"), Some("Yes"));
        assert_eq!(field("kinds: no\n", "kind"), None);
    }
}
