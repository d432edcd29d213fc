//! Tries the cases of `rules/*.yaml` against the CEL rules of the generated CRDs, without a cluster.
//!
//! The CEL engine here is not the API server's: `e2e/tests/api.rs` tries the same cases there, with
//! those that only the API server can judge.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use beskar7_api::crd;
use kube_cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use serde_json::Value;

#[path = "rules/case.rs"]
mod case;
use case::{Case, RefusedBy, cases};

/// The rules of one kind, compiled once, and what each says.
struct Rules {
    compiled: CompiledSchema,
    messages: BTreeMap<String, String>,
}

fn rules_of_every_kind() -> BTreeMap<String, Rules> {
    crd::all()
        .into_iter()
        .map(|crd| {
            let version = crd.spec.versions.first().expect("one version").clone();
            let schema = version.schema.and_then(|s| s.open_api_v3_schema);
            let schema = serde_json::to_value(schema).expect("a schema");
            let compiled = compile_schema(&schema);
            assert!(!compiled.has_errors(), "{:?}", compiled.compilation_errors());
            (crd.spec.names.kind, Rules { compiled, messages: messages(&schema).into_iter().collect() })
        })
        .collect()
}

fn with_status(object: &Value, status: Option<&Value>) -> Value {
    let mut object = object.clone();
    if let Some(status) = status {
        object["status"] = status.clone();
    }
    object
}

/// The messages of the rules that refuse a case.
fn refusals(case: &Case, rules: &BTreeMap<String, Rules>) -> Vec<String> {
    let rules = &rules[case.object["kind"].as_str().expect("kind")];
    let object = with_status(&case.object, case.status.as_ref());
    let before = case.before.as_ref().map(|b| with_status(b, case.status.as_ref()));
    match Validator::new().validate_compiled(&rules.compiled, &object, before.as_ref()) {
        Ok(()) => Vec::new(),
        Err(errors) => errors
            .iter()
            .map(|error| {
                // A rule may refuse by failing to evaluate; what it says is then in the rule alone.
                let declared =
                    rules.messages.get(&error.rule).filter(|_| error.kind == ErrorKind::EvaluationError);
                declared.unwrap_or(&error.message).clone()
            })
            .collect(),
    }
}

#[test]
fn every_case_is_judged_as_it_says() {
    let rules = rules_of_every_kind();
    let mut wrong = Vec::new();
    for case in cases().expect("tests/rules") {
        let refusals = refusals(&case, &rules);
        let said = refusals.join("; ");
        let right = match case.refused_by {
            Some(RefusedBy::Rule) => {
                said.contains(case.message.as_deref().expect("a refused case has a message"))
            }
            // What the schema or a policy refuses is no rule's business.
            Some(RefusedBy::Schema | RefusedBy::Policy) => true,
            None => refusals.is_empty(),
        };
        if !right {
            wrong.push(format!("{}: {}", case.name, if said.is_empty() { "was accepted" } else { &said }));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A rule that no case has ever seen refuse anything may be wrong in every way.
#[test]
fn every_rule_refuses_something() {
    let rules = rules_of_every_kind();
    let seen: BTreeSet<String> = cases()
        .expect("tests/rules")
        .iter()
        .filter(|case| case.refused_by == Some(RefusedBy::Rule))
        .flat_map(|case| refusals(case, &rules))
        .collect();
    let unseen: BTreeSet<&String> = rules
        .values()
        .flat_map(|rules| rules.messages.values())
        .filter(|message| !seen.contains(*message) && !is_tried_by_its_siblings(message))
        .collect();
    assert!(unseen.is_empty(), "no case in tests/rules is refused by\n{unseen:#?}");
}

/// The fields of a Beskar7Machine that can't change share one rule, which three cases try.
fn is_tried_by_its_siblings(message: &str) -> bool {
    message.contains("can't change on an existing machine")
}

/// Every rule below a schema, with its message.
fn messages(schema: &Value) -> Vec<(String, String)> {
    match schema {
        Value::Object(map) => {
            let rules = map.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
            let mut found: Vec<(String, String)> =
                rules.map(|rule| (text(&rule["rule"]), text(&rule["message"]))).collect();
            found.extend(map.values().flat_map(messages));
            found
        }
        Value::Array(items) => items.iter().flat_map(messages).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("every rule has a message").to_string()
}
