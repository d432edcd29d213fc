//! The end of a log file, for errors that a person reads.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How much of a log's end is looked at: enough for the lines that an error
/// quotes, whatever the size of the log.
const WINDOW: u64 = 64 * 1024;

/// How wide a quoted line may be; structured logs repeat themselves far right.
const WIDTH: usize = 400;

/// The last `count` lines of a file, each cut to a readable width; empty when
/// the file cannot be read.
#[must_use]
pub fn tail(path: &Path, count: usize) -> String {
    let Ok(text) = read_end(path) else { return String::new() };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let start = lines.len().saturating_sub(count);
    let last = lines.iter().skip(start).map(|line| line.chars().take(WIDTH).collect::<String>());
    last.collect::<Vec<_>>().join("\n")
}

fn read_end(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(WINDOW)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The sentence with which an error points to a log: its path and its end.
pub(super) fn excerpt(path: &Path) -> String {
    let end = tail(path, 15);
    if end.is_empty() {
        return format!("its log {} is empty", path.display());
    }
    let quoted: Vec<String> = end.lines().map(|line| format!("    {line}")).collect();
    format!("the last lines of its log {}:\n{}", path.display(), quoted.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_end_without_empty_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut text: String = (0..20_000).map(|n| format!("line {n}\n\n")).collect();
        text.push_str("last\n");
        std::fs::write(&path, text).unwrap();
        assert_eq!(tail(&path, 2), "line 19999\nlast");
        assert!(excerpt(&path).contains("    last"));
    }

    #[test]
    fn a_missing_log_is_said_to_be_empty() {
        let path = Path::new("does-not-exist.log");
        assert_eq!(tail(path, 5), "");
        assert_eq!(excerpt(path), "its log does-not-exist.log is empty");
    }
}
