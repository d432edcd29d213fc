//! DMTF's protocol validator tries a plain BMC over TLS: methods, headers, status codes, sessions, accounts, ETags.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beskar7_e2e::tools::Python;
use beskar7_redfish_sim::fleet::{Fleet, FleetConfig};

use crate::exceptions::{PROTOCOL_VALIDATOR_FAILS, PROTOCOL_VALIDATOR_UNTESTED};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 36, 0, 1);

/// One line of the validator's report.
#[derive(Debug, PartialEq, Eq)]
struct Judgement {
    assertion: String,
    result: String,
    said: String,
}

/// The report is a table with a line per judgement: assertion, method, status, URI, result, message, words of the
/// specification.
fn read(report: &str) -> Vec<Judgement> {
    let judgement = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let column = |number: usize| columns.get(number).copied().unwrap_or_default();
        let said = format!("{} {} {}: {}", column(1), column(3), column(2), column(5));
        Judgement { assertion: column(0).to_owned(), result: column(4).to_owned(), said }
    };
    report.lines().skip(1).map(judgement).collect()
}

/// What is wrong with the report, held against the lists.
fn differences(judgements: &[Judgement]) -> Vec<String> {
    let mut wrong = Vec::new();
    // An assertion may be tested in one place and not in another.
    let mut untested: BTreeMap<&str, bool> = BTreeMap::new();
    for Judgement { assertion, result, said } in judgements {
        match result.as_str() {
            "PASS" => drop(untested.insert(assertion, false)),
            "NOT_TESTED" => drop(untested.entry(assertion).or_insert(true)),
            _ => {
                untested.insert(assertion, false);
                let listed = PROTOCOL_VALIDATOR_FAILS
                    .iter()
                    .any(|l| l.assertion == assertion && said.contains(l.said));
                if !listed {
                    wrong.push(format!("{result}, and not listed: {assertion}: {said}"));
                }
            }
        }
    }
    for listed in PROTOCOL_VALIDATOR_FAILS {
        let fails = judgements
            .iter()
            .any(|j| j.assertion == listed.assertion && j.result != "PASS" && j.said.contains(listed.said));
        if !fails {
            wrong.push(format!(
                "{} is listed because {}, but it passes: strike it off",
                listed.assertion, listed.reason
            ));
        }
    }
    for (assertion, _) in untested.iter().filter(|(_, untested)| **untested) {
        if !PROTOCOL_VALIDATOR_UNTESTED.iter().any(|(prefix, _)| assertion.starts_with(prefix)) {
            wrong.push(format!("not tested, and not listed: {assertion}"));
        }
    }
    for (prefix, reason) in PROTOCOL_VALIDATOR_UNTESTED {
        if !untested.iter().any(|(assertion, untested)| *untested && assertion.starts_with(prefix)) {
            wrong.push(format!("{prefix} is listed because {reason}, but it is tested: strike it off"));
        }
    }
    wrong
}

fn report_in(directory: &Path) -> Result<String> {
    let entries = std::fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let report =
        entries.iter().map(std::fs::DirEntry::path).find(|path| path.extension().is_some_and(|e| e == "tsv"));
    Ok(std::fs::read_to_string(report.context("it wrote no report")?)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_bmc_speaks_as_the_specification_says_but_where_listed() -> Result<()> {
    let python = Python::ready().await?;
    let config = FleetConfig { first: ADDRESS, pace: 0.05, tls: true, ..FleetConfig::default() };
    let fleet = Fleet::start(config).await?;
    let directory = tempfile::tempdir()?;
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, fleet.ca_pem().context("there is no CA")?)?;
    let output = python
        .script("e2e/tools/python/validate_protocol.py")
        .args(["--rhost", &fleet.url(ADDRESS), "--user", "admin", "--password", "password"])
        .args(["--avoid-http-redirect", "--report-type", "tsv", "--report-dir"])
        .arg(directory.path())
        .arg("--ca-bundle")
        .arg(&ca)
        .current_dir(directory.path())
        .run(Duration::from_secs(300))
        .await?;
    let said = format!("{}\n{}", output.stdout, output.stderr);
    let report = report_in(directory.path()).with_context(|| said.clone())?;
    let judgements = read(&report);
    let wrong = differences(&judgements);
    ensure!(wrong.is_empty(), "\n{}\n\nIt said:\n{said}", wrong.join("\n"));
    // A validator that could not talk to the BMC at all would have little to say.
    let passed = judgements.iter().filter(|judgement| judgement.result == "PASS").count();
    ensure!(passed > 300, "only {passed} passed:\n{said}");
    Ok(())
}

#[test]
fn a_report_is_held_against_the_lists_exactly() {
    let line = |assertion: &str, result: &str| {
        format!("{assertion}\tGET\t200\t/redfish/v1/\t{result}\tit says so\twhat the specification says")
    };
    let report = [
        "Assertion\tMethod".to_owned(),
        line("PROTO_X", "PASS"),
        line("REQ_Y", "FAIL"),
        line("REQ_Z", "NOT_TESTED"),
    ];
    let judgements = read(&report.join("\n"));
    assert_eq!(judgements.len(), 3);
    assert_eq!(judgements[1].said, "GET /redfish/v1/ 200: it says so");
    let wrong = differences(&judgements).join("\n");
    assert!(wrong.contains("FAIL, and not listed: REQ_Y"), "{wrong}");
    assert!(wrong.contains("not tested, and not listed: REQ_Z"), "{wrong}");
    assert!(!wrong.contains("PROTO_X"), "{wrong}");
    assert_eq!(
        wrong.matches("strike it off").count(),
        PROTOCOL_VALIDATOR_FAILS.len() + PROTOCOL_VALIDATOR_UNTESTED.len()
    );
}
