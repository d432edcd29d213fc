//! What the demo says, on standard output.

use std::io::Write;
use std::time::Instant;

/// One line of the table of what runs.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) address: String,
    pub(super) ready: String,
}

/// The person's terminal, and when it began.
#[derive(Debug)]
pub(super) struct Screen {
    begin: Instant,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { begin: Instant::now() }
    }

    /// Something begins, with the time since the start.
    pub(super) fn step(&self, what: &str) {
        self.line(&format!("[{:5.1} s] {what}", self.begin.elapsed().as_secs_f64()));
    }

    pub(super) fn blank(&self) {
        self.line("");
    }

    pub(super) fn line(&self, text: &str) {
        // A closed terminal must not keep the demo from cleaning up.
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).ok();
    }

    pub(super) fn text(&self, text: &str) {
        self.line(text.trim_end());
        self.blank();
    }

    pub(super) fn table(&self, rows: &[Row]) {
        self.text(&table(rows));
    }
}

fn table(rows: &[Row]) -> String {
    let heading = ["NAME", "VERSION", "ADDRESS", "READY"].map(str::to_owned);
    let lines: Vec<[String; 4]> = std::iter::once(heading)
        .chain(rows.iter().map(|row| [&row.name, &row.version, &row.address, &row.ready].map(Clone::clone)))
        .collect();
    let mut widths = [0; 4];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("   ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |name: &str, address: &str| Row {
            name: name.to_owned(),
            version: "v1".to_owned(),
            address: address.to_owned(),
            ready: "yes".to_owned(),
        };
        let text = table(&[row("etcd", "127.0.0.1:1"), row("kube-apiserver", "x")]);
        assert_eq!(
            text,
            "NAME             VERSION   ADDRESS       READY\n\
             etcd             v1        127.0.0.1:1   yes\n\
             kube-apiserver   v1        x             yes\n"
        );
    }
}
