//! Signs of life for a person: one line that changes on a terminal, a plain
//! line now and then in a log.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A log gets a sign of life at least this often, as long as somebody works.
const PLAIN_EVERY: Duration = Duration::from_secs(15);

/// A terminal is redrawn at most this often.
const REDRAW_EVERY: Duration = Duration::from_millis(100);

/// Somebody who wants to know how the work goes.
pub trait Progress: Send {
    /// What is being done at this moment; each such line replaces the last.
    fn now(&mut self, line: &str);
    /// Something that stays worth knowing.
    fn note(&mut self, line: &str);
}

/// Reports on standard error, in the manner that fits what it is.
#[must_use]
pub fn on_stderr() -> Box<dyn Progress> {
    let width = std::env::var("COLUMNS").ok().and_then(|value| value.parse().ok()).unwrap_or(79);
    if std::io::stderr().is_terminal() {
        Box::new(Terminal { out: std::io::stderr(), width, drawn: None })
    } else {
        Box::new(Plain { out: std::io::stderr(), every: PLAIN_EVERY, last: None })
    }
}

/// Reports nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn now(&mut self, _line: &str) {}
    fn note(&mut self, _line: &str) {}
}

struct Terminal<W> {
    out: W,
    width: usize,
    drawn: Option<Instant>,
}

impl<W: Write + Send> Progress for Terminal<W> {
    fn now(&mut self, line: &str) {
        if self.drawn.is_some_and(|at| at.elapsed() < REDRAW_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let line: String = line.chars().take(self.width).collect();
        // Progress that cannot be shown must not stop the work it tells of.
        write!(self.out, "\r\x1b[2K{line}").and_then(|()| self.out.flush()).ok();
    }

    fn note(&mut self, line: &str) {
        let clear = if self.drawn.take().is_some() { "\r\x1b[2K" } else { "" };
        writeln!(self.out, "{clear}{line}").ok();
    }
}

struct Plain<W> {
    out: W,
    every: Duration,
    last: Option<Instant>,
}

impl<W: Write + Send> Progress for Plain<W> {
    fn now(&mut self, line: &str) {
        // The first line of a piece of work usually comes with a note.
        let last = *self.last.get_or_insert_with(Instant::now);
        if last.elapsed() >= self.every {
            self.note(line);
        }
    }

    fn note(&mut self, line: &str) {
        self.last = Some(Instant::now());
        writeln!(self.out, "{line}").and_then(|()| self.out.flush()).ok();
    }
}

/// The time since `begin` as a person reads it.
#[must_use]
pub fn clock(begin: Instant) -> String {
    written(begin.elapsed())
}

fn written(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {:02} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_notes_at_once_and_the_rest_now_and_then() {
        let mut plain = Plain { out: Vec::new(), every: Duration::from_secs(3600), last: None };
        plain.note("building etcd");
        for _ in 0..100 {
            plain.now("compiling");
        }
        assert_eq!(String::from_utf8(plain.out).unwrap(), "building etcd\n");

        let mut eager = Plain { out: Vec::new(), every: Duration::ZERO, last: None };
        eager.now("compiling 1");
        eager.now("compiling 2");
        assert_eq!(String::from_utf8(eager.out).unwrap(), "compiling 1\ncompiling 2\n");
    }

    #[test]
    fn a_terminal_line_is_replaced_and_fits() {
        let mut terminal = Terminal { out: Vec::new(), width: 10, drawn: None };
        terminal.now("compiling a very long name");
        terminal.note("done");
        let shown = String::from_utf8(terminal.out).unwrap();
        assert_eq!(shown, "\r\x1b[2Kcompiling \r\x1b[2Kdone\n");
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(written(Duration::from_secs(42)), "42 s");
        assert_eq!(written(Duration::from_secs(187)), "3 min 07 s");
    }
}
