//! The page about families of operating systems shows what the decisions use.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "this test looks at the crate from outside"
)]

use std::path::Path;

use beskar7_api::machine::OsFamily;
use beskar7_core::machine::parameters::{BootstrapData, Named, Row, row};

/// A row of the page.
fn line(family: OsFamily, row: &Row) -> String {
    let parameters = match row.parameters {
        [] => "only `kernelArgs`".to_owned(),
        parameters => format!("`{}`", parameters.join(" ").replace("{{configURL}}", "<configURL>")),
    };
    let names = match row.names {
        Named::File => "",
        Named::Directory => ", a directory",
    };
    let bootstrap = match row.bootstrap {
        BootstrapData::CloudConfig => "cloud-config".to_owned(),
        BootstrapData::Autoinstall => "cloud-config, inside of an autoinstall document".to_owned(),
        BootstrapData::Ignition => "Ignition".to_owned(),
        BootstrapData::OwnProvider => "what its own bootstrap provider writes".to_owned(),
        BootstrapData::NeedsConfigUrl(file) => format!("nothing: it needs {file}"),
        BootstrapData::AsKernelArgsSay => "as `kernelArgs` say".to_owned(),
    };
    let sources: Vec<String> =
        row.sources.iter().enumerate().map(|(at, url)| format!("[{}]({url})", at + 1)).collect();
    let schemes = row.schemes.join(", ");
    format!("| `{}` | {parameters} | {schemes}{names} | {bootstrap} | {} |", family.name(), sources.join(" "))
}

#[test]
fn the_page_shows_every_family_as_it_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/os-families.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let shown: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = OsFamily::ALL.iter().map(|family| line(*family, &row(*family))).collect();
    assert_eq!(shown, expected, "the rows should be:\n{}", expected.join("\n"));
}
