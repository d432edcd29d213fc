//! What the cluster templates and their reference page say of each other. That the API server takes the templates is
//! tried with the release, in `clusterctl.rs`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use beskar7_api::machine::OsFamily;
use beskar7_e2e::workspace;
use serde_json::Value;

/// Where the variables are explained, a row each: name, default, what.
const PAGE: &str = "docs/src/reference/templates.md";

/// The file of the ClusterClass, which has variables of its own and none of clusterctl's.
const CLASS: &str = "clusterclass-beskar7";

/// The variables that clusterctl takes from its own arguments, where it gives no default by itself.
const OF_CLUSTERCTL: [&str; 3] = ["CLUSTER_NAME", "NAMESPACE", "KUBERNETES_VERSION"];

/// A variable's defaults, by the flavours that use it; none where it must be given.
type Uses = BTreeMap<String, BTreeMap<String, Option<String>>>;

fn templates() -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(workspace::root().join("templates"))? {
        let path = entry?.path();
        let name = path.file_stem().context("a file without a name")?.to_string_lossy().into_owned();
        if name == CLASS {
            continue;
        }
        let flavor =
            name.strip_prefix("cluster-template").with_context(|| format!("{name} is no template"))?;
        let flavor = if flavor.is_empty() { "default" } else { flavor.trim_start_matches('-') };
        found.push((flavor.to_owned(), std::fs::read_to_string(&path)?));
    }
    found.sort();
    Ok(found)
}

/// The variables of a template. A default may be a variable itself.
fn variables(template: &str) -> Result<Vec<(String, Option<String>)>> {
    let mut found = Vec::new();
    for begin in template.split("${").skip(1) {
        let end =
            begin.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).context("an open variable")?;
        let (name, rest) = begin.split_at(end);
        let default = match rest.strip_prefix(":=") {
            // Its own variable follows as the next part.
            Some("") => Some("another".to_owned()),
            Some(rest) => Some(rest.split('}').next().unwrap_or_default().to_owned()),
            None => None,
        };
        found.push((name.to_owned(), default));
    }
    Ok(found)
}

fn uses() -> Result<Uses> {
    let mut uses = Uses::new();
    for (flavor, text) in templates()? {
        for (name, default) in variables(&text)? {
            let before = uses.entry(name.clone()).or_default().insert(flavor.clone(), default.clone());
            ensure!(before.is_none_or(|before| before == default), "{flavor}: {name} has two defaults");
        }
    }
    Ok(uses)
}

#[test]
fn every_variable_is_explained_with_its_default_and_no_other_is() -> Result<()> {
    let page = std::fs::read_to_string(workspace::root().join(PAGE))?;
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows: BTreeMap<&str, &str> = rows.filter(|(name, _)| name.chars().all(is_of_a_variable)).collect();
    for (name, by_flavor) in uses()? {
        let row = rows.get(name.as_str()).with_context(|| format!("{PAGE} does not explain {name}"))?;
        for (flavor, default) in by_flavor {
            let told = match default.as_deref() {
                None => "required".to_owned(),
                // Said in words.
                Some("another" | "\"\"") => continue,
                Some(default) => format!("`{default}`"),
            };
            ensure!(row.starts_with(&told), "{PAGE}: {name} is {told} in {flavor}, not {row:?}");
        }
    }
    let known: BTreeSet<String> = uses()?.into_keys().collect();
    let unknown: Vec<&&str> = rows.keys().filter(|name| !known.contains(**name)).collect();
    ensure!(unknown.is_empty(), "{PAGE} explains what no template has: {unknown:?}");
    Ok(())
}

fn is_of_a_variable(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

#[test]
fn a_variable_means_the_same_in_every_template() -> Result<()> {
    for (name, by_flavor) in uses()? {
        let defaults: BTreeSet<&Option<String>> = by_flavor.values().collect();
        // The one that a flavour can't do without and another can.
        let may_differ = name == "CONTROL_PLANE_ENDPOINT_IP";
        ensure!(defaults.len() == 1 || may_differ, "{name}: {by_flavor:?}");
    }
    Ok(())
}

#[test]
fn every_template_has_what_clusterctl_fills_in_and_waits_long_enough_for_metal() -> Result<()> {
    for (flavor, text) in templates()? {
        let names: BTreeSet<String> = variables(&text)?.into_iter().map(|(name, _)| name).collect();
        for name in OF_CLUSTERCTL {
            ensure!(names.contains(name), "{flavor} has no {name}");
        }
        for name in ["CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT"] {
            ensure!(names.contains(name), "{flavor} has no {name}");
        }
        let startup = "nodeStartupTimeoutSeconds: ${BESKAR7_NODE_STARTUP_TIMEOUT_SECONDS:=3600}";
        ensure!(text.contains(startup), "{flavor} replaces machines that are merely slow");
        ensure!(!text.contains("v1beta1\nkind: Cluster\n"), "{flavor} uses an old API of Cluster API");
    }
    Ok(())
}

/// The ClusterClass itself, the first object of its file.
fn class() -> Result<Value> {
    let text = std::fs::read_to_string(workspace::root().join(format!("templates/{CLASS}.yaml")))?;
    ensure!(variables(&text)?.is_empty(), "{CLASS} is applied as it is, too");
    let class = text.split("\n---\n").next().context("an empty file")?;
    serde_saphyr::from_str(class).context(CLASS)
}

#[test]
fn every_variable_of_the_class_is_explained_with_its_default_and_no_other_is() -> Result<()> {
    let page = std::fs::read_to_string(workspace::root().join(PAGE))?;
    let section =
        page.split("\n## ").find(|part| part.starts_with("The ClusterClass")).context("no section")?;
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows: BTreeMap<&str, &str> = rows.collect();
    let class = class()?;
    let mut known = BTreeSet::new();
    for variable in class["spec"]["variables"].as_array().context("no variables")? {
        let name = variable["name"].as_str().context("a variable without a name")?;
        let schema = &variable["schema"]["openAPIV3Schema"];
        ensure!(schema["description"].is_string(), "{name} has no description");
        let told = match (&variable["required"], &schema["default"]) {
            (Value::Bool(true), _) => "required".to_owned(),
            (_, Value::String(text)) if text.is_empty() => "empty".to_owned(),
            (_, Value::String(text)) => format!("`{text}`"),
            (_, default) => format!("`{default}`"),
        };
        let row = rows.get(name).with_context(|| format!("{PAGE} does not explain {name}"))?;
        ensure!(row.starts_with(&told), "{PAGE}: {name} is {told}, not {row:?}");
        known.insert(name);
    }
    let unknown: Vec<&&str> = rows.keys().filter(|name| !known.contains(**name)).collect();
    ensure!(unknown.is_empty(), "{PAGE} explains what the class does not have: {unknown:?}");
    Ok(())
}

#[test]
fn the_class_takes_every_os_family_and_waits_long_enough_for_metal() -> Result<()> {
    let class = class()?;
    let variables = class["spec"]["variables"].as_array().context("no variables")?;
    let families = variables.iter().find(|one| one["name"] == "osFamily").context("no osFamily")?;
    let families = families["schema"]["openAPIV3Schema"]["enum"].as_array().context("no enum")?;
    let known = OsFamily::ALL.map(OsFamily::name);
    assert_eq!(families.iter().filter_map(Value::as_str).collect::<Vec<_>>(), known);
    for workers in class["spec"]["workers"]["machineDeployments"].as_array().context("no workers")? {
        assert_eq!(workers["healthCheck"]["checks"]["nodeStartupTimeoutSeconds"], 3600, "{workers}");
    }
    Ok(())
}

#[test]
fn variables_are_found_with_their_defaults() -> Result<()> {
    let text = "a: ${A}\nb: \"${B_1:=x: y}\"\nc: ${C:=${A}}\n";
    let found = variables(text)?;
    let expected = [("A", None), ("B_1", Some("x: y")), ("C", Some("another")), ("A", None)];
    let expected = expected.map(|(name, default)| (name.to_owned(), default.map(str::to_owned)));
    assert_eq!(found, expected);
    Ok(())
}
