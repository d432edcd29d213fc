//! What the page about promises says of the tests: each one that it names is there, and each test of a promise is named.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::workspace;

/// A row each: the promise, and the tests that show it, as `<file> <module>::<test>`. What is decided by itself has its
/// tests beside it: `<folder of the crate> <module>::<module>::tests::<test>`.
const PAGE: &str = "docs/src/development/promises.md";
/// The modules that hold nothing but tests of promises.
const ONLY_PROMISES: [&str; 2] = ["physical_hosts", "provisioning"];

/// A test's file, module and name.
type Test = (String, String, String);

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(workspace::root().join(path)).with_context(|| format!("reading {path}"))
}

/// The tests in the last column of a row.
fn named_in(row: &str) -> Result<Vec<Test>> {
    let cell = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
    let quoted = cell.split('`').skip(1).step_by(2);
    let parts = |text: &str| {
        let (file, path) = text.split_once(' ')?;
        let (module, name) = path.split_once("::")?;
        Some((file.to_owned(), module.to_owned(), name.to_owned()))
    };
    quoted.map(|text| parts(text).with_context(|| format!("{PAGE}: {text} is no test"))).collect()
}

/// The tests of a source file that run without being asked for.
fn tests_of(source: &str) -> BTreeSet<&str> {
    let tests = source.split("#[tokio::test(flavor = \"multi_thread\")]\n").skip(1);
    tests.filter_map(|test| test.strip_prefix("async fn ")?.split('(').next()).collect()
}

/// Whether a crate has a test of this path, in a file beside what it tests.
fn is_in_crate(folder: &str, path: &str) -> Result<bool> {
    let (place, name) = path.split_once("::tests::").context("a path without `tests`")?;
    let source = read(&format!("{folder}/src/{}_tests.rs", place.replace("::", "/")))?;
    Ok(source.contains(&format!("#[test]\nfn {name}(")))
}

#[test]
fn every_test_that_the_page_names_exists_and_every_test_of_a_promise_is_named() -> Result<()> {
    let page = read(PAGE)?;
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise"));
    let mut named = BTreeSet::new();
    for row in rows {
        let tests = named_in(row)?;
        ensure!(!tests.is_empty(), "{PAGE}: no test shows this: {row}");
        named.extend(tests);
    }
    for (file, module, name) in &named {
        if name.contains("::tests::") {
            let path = format!("{module}::{name}");
            ensure!(is_in_crate(file, &path)?, "{PAGE}: there is no {file} {path}");
            continue;
        }
        let source = read(&format!("e2e/tests/{file}/{module}.rs"))?;
        ensure!(tests_of(&source).contains(name.as_str()), "{PAGE}: there is no {file} {module}::{name}");
    }
    for module in ONLY_PROMISES {
        for name in tests_of(&read(&format!("e2e/tests/manager/{module}.rs"))?) {
            let test = ("manager".to_owned(), module.to_owned(), name.to_owned());
            ensure!(named.contains(&test), "{PAGE} does not name {module}::{name}");
        }
    }
    Ok(())
}
