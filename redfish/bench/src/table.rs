//! The table of results: what was measured, what it may be, what it is.

use std::fmt;

/// How a figure stands to its bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Within the bar.
    Ok,
    /// Not within the bar.
    Missed,
    /// There is no bar: a figure for information.
    None,
}

impl Verdict {
    /// The verdict on a figure with a bar.
    pub fn of(within: bool) -> Self {
        if within { Self::Ok } else { Self::Missed }
    }
}

struct Row {
    what: String,
    bar: String,
    measured: String,
    verdict: Verdict,
}

/// All results, in the order in which they were measured.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// A figure with a bar.
    pub fn add(&mut self, what: impl Into<String>, bar: &str, measured: impl Into<String>, within: bool) {
        self.rows.push(Row {
            what: what.into(),
            bar: bar.to_owned(),
            measured: measured.into(),
            verdict: Verdict::of(within),
        });
    }

    /// A figure for information.
    pub fn note(&mut self, what: impl Into<String>, measured: impl Into<String>) {
        self.rows.push(Row {
            what: what.into(),
            bar: String::new(),
            measured: measured.into(),
            verdict: Verdict::None,
        });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | bar | measured | |")?;
        writeln!(f, "|---|---|---|---|")?;
        for row in &self.rows {
            let verdict = match row.verdict {
                Verdict::Ok => "ok",
                Verdict::Missed => "**MISSED**",
                Verdict::None => "",
            };
            writeln!(f, "| {} | {} | {} | {verdict} |", row.what, row.bar, row.measured)?;
        }
        Ok(())
    }
}
