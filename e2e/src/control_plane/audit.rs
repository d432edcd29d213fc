//! The API server's audit log: who asked for what, and when.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Every request with its user agent, but for probes, which say nothing.
pub(super) const POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version", "/openapi*", "/api*"]},
    {"level": "Metadata"}
  ]
}
"#;

/// One line of the audit log, as far as tests ask for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// `create`, `patch`, `list`, …
    pub verb: String,
    /// `ResponseComplete`, or `ResponseStarted` for a watch that goes on.
    pub stage: String,
    /// The path and query.
    #[serde(rename = "requestURI", default)]
    pub request_uri: String,
    /// Who asked.
    pub user: AuditUser,
    /// With which program.
    #[serde(default)]
    pub user_agent: String,
    /// From where; ports tell connections apart.
    #[serde(default, rename = "sourceIPs")]
    pub source_ips: Vec<String>,
    /// About what.
    #[serde(default)]
    pub object_ref: AuditObject,
    /// With which outcome.
    #[serde(default)]
    pub response_status: AuditStatus,
    /// When the request came, RFC 3339 with microseconds.
    pub request_received_timestamp: String,
    /// When this stage was reached.
    pub stage_timestamp: String,
}

/// Who asked.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AuditUser {
    /// The user's name.
    #[serde(default)]
    pub username: String,
}

/// What a request was about; empty where it does not apply.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditObject {
    /// The plural.
    pub resource: String,
    /// The API group.
    pub api_group: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// `status`, `token`, …
    pub subresource: String,
}

/// How a request ended.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AuditStatus {
    /// The HTTP status.
    #[serde(default)]
    pub code: u16,
}

impl AuditEvent {
    /// Whether it changed something: a successful write that was no dry run.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let writes =
            matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        writes && (200..300).contains(&self.response_status.code) && !self.request_uri.contains("dryRun=")
    }
}

/// Reads the log from a place on, and tells where to go on next time. A last line that is still being written is left
/// for then.
pub(super) fn read_from(path: &Path, place: u64) -> Result<(Vec<AuditEvent>, u64)> {
    let text = match read_end(path, place) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let whole = whole_lines(&text);
    Ok((parse(whole)?, place.saturating_add(whole.len() as u64)))
}

fn read_end(path: &Path, place: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(place))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn whole_lines(text: &str) -> &str {
    text.rfind('\n').and_then(|end| text.get(..=end)).unwrap_or_default()
}

fn parse(lines: &str) -> Result<Vec<AuditEvent>> {
    let lines = lines.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).with_context(|| format!("an audit line: {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces?x=y","verb":"create","user":{"username":"admin","groups":["system:masters"]},"sourceIPs":["127.0.0.1"],"userAgent":"manager/0.1","objectRef":{"resource":"namespaces","name":"a","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.000002Z"}"#;

    #[test]
    fn whole_lines_are_read_and_a_half_one_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        assert_eq!(read_from(&log, 0).unwrap().0.len(), 0);
        std::fs::write(&log, format!("{LINE}\n{LINE}\n{{\"kind\":\"Ev")).unwrap();
        let (events, place) = read_from(&log, 0).unwrap();
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].object_ref.name, "a");
        assert_eq!(events[0].user_agent, "manager/0.1");
        std::fs::write(&log, format!("{LINE}\n{LINE}\n{LINE}\n")).unwrap();
        assert_eq!(read_from(&log, place).unwrap().0.len(), 1);
    }

    #[test]
    fn a_write_is_what_changed_something() {
        let event = |from: &str, to: &str| parse(&format!("{}\n", LINE.replace(from, to))).unwrap().remove(0);
        assert!(event("x", "x").is_write());
        assert!(!event("\"create\"", "\"get\"").is_write());
        assert!(!event("201", "409").is_write());
        assert!(!event("x=y", "dryRun=All").is_write());
    }
}
