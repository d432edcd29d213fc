//! The list of habits in the book, and the tests that it names.

use std::path::Path;

/// Every habit names tests; every test that is named exists; every test here is named.
#[test]
fn the_list_in_the_book_and_the_tests_are_the_same() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(here.join("../docs/src/reference/bmc-habits.md")).unwrap();
    let mut tests = Vec::new();
    for file in ["beside", "boot", "manners", "media", "power", "trees"] {
        let source = std::fs::read_to_string(here.join(format!("tests/habits/{file}.rs"))).unwrap();
        let mut is_test = false;
        for line in source.lines() {
            let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "));
            if let Some(name) = name.and_then(|rest| rest.split('(').next()).filter(|_| is_test) {
                tests.push(format!("`{file}::{name}`"));
            }
            is_test = line == "#[tokio::test]" || line == "#[test]";
        }
    }
    assert!(tests.len() > 30, "{tests:?}");
    for test in &tests {
        assert!(page.contains(test), "{test} stands nowhere in the list");
    }
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| habit")) {
        let named: Vec<&str> =
            row.split('|').nth_back(1).unwrap_or_default().split(", ").map(str::trim).collect();
        for test in named {
            assert!(tests.iter().any(|known| known == test), "{test} is named and is no test: {row}");
        }
    }
}
