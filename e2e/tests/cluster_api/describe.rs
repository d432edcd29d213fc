//! What `clusterctl describe` shows of a cluster: whoever reads it knows how its infrastructure is, on which hosts its
//! machines run, and what those without a host wait for.

use anyhow::{Context, Result, ensure};
use beskar7_e2e::wait;

use super::stack::{LIMIT, Stack};

/// A condition in the table: to which object it belongs, and what it says.
#[derive(Debug, Clone)]
struct Line {
    /// Kind and name: `Machine metal/sample-1`.
    object: String,
    condition: String,
    status: String,
    reason: String,
    message: String,
}

/// The conditions in a table of clusterctl. Its columns are where their titles are; a message may go on in further
/// lines, which have no condition.
fn lines(table: &str) -> Result<Vec<Line>> {
    let mut rows = table.lines();
    let title = rows.next().context("an empty table")?;
    let column = |name: &str| title.find(name).with_context(|| format!("no {name} in {title:?}"));
    let (status, reason, since, message) =
        (column("STATUS")?, column("REASON")?, column("SINCE")?, column("MESSAGE")?);
    let mut object = String::new();
    let mut found = Vec::new();
    for row in rows {
        let cell = |from: usize, to: usize| -> String {
            row.chars().skip(from).take(to.saturating_sub(from)).collect::<String>().trim().to_owned()
        };
        let name = cell(0, status);
        let name = name.trim_start_matches(|sign: char| !sign.is_ascii_alphanumeric());
        let (status, reason) = (cell(status, reason), cell(reason, since));
        match name.split_once(' ') {
            // An object: what follows behind the comma is its version, and the replicas.
            Some((kind, rest)) if rest.contains('/') && status.is_empty() => {
                let rest = rest.split([',', ' ']).next().unwrap_or_default();
                object = format!("{kind} {rest}");
            }
            _ if !name.is_empty() && !status.is_empty() => {
                let (condition, message) = (name.to_owned(), cell(message, usize::MAX));
                found.push(Line { object: object.clone(), condition, status, reason, message });
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Of a cluster that is well.
pub async fn a_healthy_cluster_reads_well(stack: &Stack, cluster: &str) -> Result<()> {
    let table = stack.describe(cluster).await?;
    let lines = lines(&table)?;
    is_complete(&lines).with_context(|| table.clone())?;
    let says = |object: &str, condition: &str| -> Result<&Line> {
        let found = lines.iter().find(|line| line.object == object && line.condition == condition);
        found.with_context(|| format!("no {condition} of {object} in\n{table}"))
    };
    for (object, condition) in [
        (format!("Cluster metal/{cluster}"), "InfrastructureReady"),
        (format!("Beskar7Cluster metal/{cluster}"), "Ready"),
    ] {
        let line = says(&object, condition)?;
        ensure!(line.status == "True" && line.reason == "EndpointGiven", "{line:?}");
    }
    let endpoint = says(&format!("Beskar7Cluster metal/{cluster}"), "ControlPlaneEndpointReady")?;
    ensure!(endpoint.message.starts_with("127.0.0.1:"), "{endpoint:?}");
    for machine in stack.machines(cluster).await? {
        let line = says(&format!("Machine metal/{machine}"), "InfrastructureReady")?;
        ensure!(line.status == "True" && line.reason == "Provisioned", "{line:?}");
        let line = says(&format!("Beskar7Machine metal/{machine}"), "PhysicalHostAssociated")?;
        let host = format!("PhysicalHost metal/{}", stack.host_of(&machine).await?);
        ensure!(line.status == "True" && line.message == host, "{line:?}");
    }
    Ok(())
}

/// Of a cluster with machines that wait for hosts, of which there are so many.
pub async fn a_waiting_cluster_says_why(stack: &Stack, cluster: &str, hosts: usize) -> Result<()> {
    let why = format!("0 of {hosts} hosts match: {hosts} claimed");
    let met = wait::until_true(format!("a machine to say {why:?}"), LIMIT, || async {
        stack.check().await?;
        let table = stack.describe(cluster).await?;
        let lines = lines(&table)?;
        is_complete(&lines).with_context(|| table.clone())?;
        let waits = |line: &&Line| line.condition == "InfrastructureReady" && line.message == why;
        let waiting = lines.iter().find(waits);
        let says = waiting.is_some_and(|line| {
            line.status == "False"
                && line.reason == "WaitingForPhysicalHost"
                && line.object.starts_with("Machine ")
        });
        Ok(if says { Ok(()) } else { Err(table) })
    });
    Ok(met.await?)
}

/// What we say, and what is said of us, is known, and has a reason; what is not as it should be has a message too.
fn is_complete(lines: &[Line]) -> Result<()> {
    let ours = |line: &&Line| line.object.contains("Beskar7") || line.condition == "InfrastructureReady";
    let mut seen = 0;
    for line in lines.iter().filter(ours) {
        seen += 1;
        ensure!(line.status != "Unknown" && !line.reason.is_empty(), "{line:?}");
        let normal = if line.condition == "Paused" { "False" } else { "True" };
        ensure!(line.status == normal || !line.message.is_empty(), "{line:?}");
    }
    ensure!(seen > 0, "nothing of ours is shown");
    Ok(())
}

#[test]
fn the_table_of_clusterctl_is_read_by_its_columns() -> Result<()> {
    let table = "\
NAME                           READY STATUS REASON SINCE MESSAGE
Cluster metal/c, v1.36.3       3
│           ├─Available              True   Fine   1s
└─Beskar7Cluster metal/c
              └─Ready                False  Sad    9s    for want of hosts
                                                         and of more
";
    let found = lines(table)?;
    ensure!(found.len() == 2, "{found:?}");
    ensure!(found[0].object == "Cluster metal/c" && found[0].condition == "Available", "{found:?}");
    let Line { object, condition, status, reason, message } = &found[1];
    ensure!(object == "Beskar7Cluster metal/c" && condition == "Ready" && status == "False", "{found:?}");
    ensure!(reason == "Sad" && message == "for want of hosts", "{found:?}");
    Ok(())
}
