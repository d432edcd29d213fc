//! What the agent says: at once to people in front of the machine, and with the next report to the server.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use beskar7_agent_protocol::report::{LONGEST_LINE, MOST_LINES};

/// So many lines wait for the server at most; of more, the newest are kept.
const MOST_WAITING: usize = 500;

/// What was said.
pub struct Journal {
    inner: Mutex<Inner>,
}

struct Inner {
    console: Box<dyn Write + Send>,
    prefix: &'static str,
    waiting: VecDeque<String>,
    /// The number of the first one that waits, counted from the beginning of all.
    first: u64,
}

/// Lines for a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Oldest first.
    pub lines: Vec<String>,
    end: u64,
}

impl Journal {
    /// One that writes to a console, with something in front of each line.
    #[must_use]
    pub fn new(console: Box<dyn Write + Send>, prefix: &'static str) -> Self {
        Self { inner: Mutex::new(Inner { console, prefix, waiting: VecDeque::new(), first: 0 }) }
    }

    /// Says something. More than one line of it is told line by line.
    pub fn say(&self, text: &str) {
        let mut inner = self.lock();
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            inner.say(shortened(line));
        }
    }

    /// Shows something to people in front of the machine, and to nobody else.
    pub fn show(&self, line: &str) {
        self.lock().write(shortened(line));
    }

    /// What the server was not told yet, or as much of it as goes with one report.
    #[must_use]
    pub fn waiting(&self) -> Lines {
        let inner = self.lock();
        let lines: Vec<String> = inner.waiting.iter().take(MOST_LINES).cloned().collect();
        let end = inner.first + lines.len() as u64;
        Lines { lines, end }
    }

    /// The server has these.
    pub fn told(&self, lines: &Lines) {
        let mut inner = self.lock();
        while inner.first < lines.end && inner.waiting.pop_front().is_some() {
            inner.first += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Who panicked while it spoke has left nothing behind that is half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(&mut self, line: &str) {
        // In one piece: the kernel's log takes each write for a line. Where nobody can be told, nobody can be told that.
        let whole = format!("{}{line}\n", self.prefix);
        let _nobody_sees_it = self.console.write_all(whole.as_bytes());
    }

    fn say(&mut self, line: &str) {
        self.write(line);
        self.waiting.push_back(line.to_owned());
        if self.waiting.len() > MOST_WAITING && self.waiting.pop_front().is_some() {
            self.first += 1;
        }
    }
}

fn shortened(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LONGEST_LINE)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_at_once_and_waits_for_the_server() {
        let screen = Screen::default();
        let journal = Journal::new(Box::new(screen.clone()), "<5>beskar7: ");
        journal.say("one\n\ntwo \n");
        let seen = screen.0.lock().unwrap().clone();
        assert_eq!(seen, [b"<5>beskar7: one\n".to_vec(), b"<5>beskar7: two\n".to_vec()]);
        journal.show("seen only here");
        assert_eq!(screen.0.lock().unwrap().len(), 3);
        let lines = journal.waiting();
        assert_eq!(lines.lines, ["one", "two"]);
        journal.say("three");
        assert_eq!(journal.waiting().lines, ["one", "two", "three"], "nobody has them yet");
        journal.told(&lines);
        assert_eq!(journal.waiting().lines, ["three"]);
        journal.told(&lines);
        assert_eq!(journal.waiting().lines, ["three"], "telling twice is no harm");
    }

    #[test]
    fn of_too_much_the_newest_is_kept_and_told_in_parts() {
        let journal = Journal::new(Box::new(std::io::sink()), "");
        journal.say("first");
        let first = journal.waiting();
        (0..MOST_WAITING).for_each(|number| journal.say(&number.to_string()));
        journal.told(&first);
        let lines = journal.waiting();
        assert_eq!((lines.lines.len(), lines.lines[0].as_str()), (MOST_LINES, "0"));
        journal.told(&lines);
        assert_eq!(journal.waiting().lines[0], MOST_LINES.to_string());
        journal.say(&"ä".repeat(LONGEST_LINE));
        let parts = std::iter::repeat_with(|| {
            let next = journal.waiting();
            journal.told(&next);
            next.lines
        });
        let rest: Vec<String> = parts.take_while(|lines| !lines.is_empty()).flatten().collect();
        assert_eq!(rest.last().unwrap().len(), LONGEST_LINE);
    }
}
