//! Whether labels fit a selector, as Kubernetes defines it.

use std::collections::BTreeMap;

use beskar7_api::selector::{LabelRequirement, LabelSelector, SelectorOperator};

/// An object's labels; absent when it has none.
pub(super) type Labels<'a> = Option<&'a BTreeMap<String, String>>;

/// Whether all requirements hold. An empty selector fits everything.
pub(super) fn fit(labels: Labels<'_>, selector: &LabelSelector) -> bool {
    selector.match_labels.iter().all(|(key, value)| get(labels, key) == Some(value))
        && selector.match_expressions.iter().all(|requirement| holds(labels, requirement))
}

/// The value of a label.
pub(super) fn get<'a>(labels: Labels<'a>, key: &str) -> Option<&'a String> {
    labels.and_then(|labels| labels.get(key))
}

fn holds(labels: Labels<'_>, requirement: &LabelRequirement) -> bool {
    let value = get(labels, &requirement.key);
    let listed = value.is_some_and(|value| requirement.values.contains(value));
    match requirement.operator {
        SelectorOperator::In => listed,
        SelectorOperator::NotIn => !listed,
        SelectorOperator::Exists => value.is_some(),
        SelectorOperator::DoesNotExist => value.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_mean_what_kubernetes_says() {
        let labels: BTreeMap<String, String> = [("rack".into(), "r1".into())].into();
        let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        for (selector, with, without) in [
            (json!({}), true, true),
            (json!({"matchLabels": {"rack": "r1"}}), true, false),
            (json!({"matchLabels": {"rack": "r2"}}), false, false),
            (json!({"matchLabels": {"rack": "r1", "row": "1"}}), false, false),
            (expression("rack", "In", &["r1", "r2"]), true, false),
            (expression("rack", "In", &["r2"]), false, false),
            (expression("rack", "NotIn", &["r2"]), true, true),
            (expression("rack", "NotIn", &["r1"]), false, true),
            (expression("rack", "Exists", &[]), true, false),
            (expression("row", "Exists", &[]), false, false),
            (expression("rack", "DoesNotExist", &[]), false, true),
        ] {
            let parsed: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(fit(Some(&labels), &parsed), with, "{selector} with labels");
            assert_eq!(fit(None, &parsed), without, "{selector} without labels");
        }
    }
}
