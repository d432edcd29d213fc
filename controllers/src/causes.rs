//! An error with all its causes, as one line for a log or a person.

use std::error::Error;

/// Joins an error and its causes with colons. What the API server said stands as it said it.
#[must_use]
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        // A boxed source shows itself as the box.
        let boxed = error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
        match error.downcast_ref::<kube::Error>().or(boxed) {
            Some(kube::Error::Api(status)) => {
                parts.push(format!("{} (HTTP {})", status.message.trim(), status.code));
                break;
            }
            // These only repeat what their source says.
            Some(kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::InferKubeconfig(_)) => {}
            Some(_) | None => {
                let text = error.to_string();
                if !text.is_empty() && !parts.iter().any(|part| part.contains(&text)) {
                    parts.push(text);
                }
            }
        }
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<dyn Error + Send + Sync>>,
    }

    fn layer(text: &'static str, source: Option<Layer>) -> Layer {
        Layer { text, source: source.map(Into::into) }
    }

    #[test]
    fn causes_are_joined_once() {
        let error = layer("a: b", Some(layer("b", Some(layer("c", None)))));
        assert_eq!(causes(&error), "a: b: c");
        assert_eq!(causes(&layer("a", None)), "a");
    }

    #[test]
    fn the_api_server_is_quoted_without_our_types() {
        let status = serde_json::from_value(serde_json::json!({
            "status": "Failure", "message": "secrets \"x\" is forbidden", "reason": "Forbidden", "code": 403,
        }))
        .unwrap();
        let error = Layer { text: "can't read", source: Some(kube::Error::Api(Box::new(status)).into()) };
        assert_eq!(causes(&error), "can't read: secrets \"x\" is forbidden (HTTP 403)");
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Boxed(#[source] Box<kube::Error>);
        let error = Boxed(Box::new(kube::Error::Service(layer("not sent", None).into())));
        assert_eq!(causes(&error), "outer: not sent");
        let error = kube::Error::Service(layer("not sent", None).into());
        assert_eq!(causes(&error), "not sent");
    }
}
