//! What is known of an order while it is carried out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use beskar7_agent_protocol::report::Progress;

use crate::journal::Journal;
use crate::telling::Telling;

/// What is told of an order. Of what is told between two reports, the last counts.
pub(super) struct Notes<'a> {
    journal: &'a Journal,
    progress: Mutex<Progress>,
    unwanted: AtomicBool,
}

impl<'a> Notes<'a> {
    pub(super) fn new(journal: &'a Journal, step: &str) -> Self {
        let progress = Progress { step: step.to_owned(), ..Progress::default() };
        Self { journal, progress: Mutex::new(progress), unwanted: AtomicBool::new(false) }
    }

    pub(super) fn latest(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nobody wants it any more.
    pub(super) fn forget(&self) {
        self.unwanted.store(true, Ordering::Relaxed);
    }
}

impl Telling for Notes<'_> {
    fn progress(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    fn log(&self, line: &str) {
        self.journal.say(line);
    }

    fn is_unwanted(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed)
    }
}

/// How far it is, in words for a screen. The text is the same until something is to be seen.
pub(super) fn shown(progress: &Progress) -> String {
    let disk = progress.disk.as_ref().map(|disk| format!(" {disk}")).unwrap_or_default();
    let far = match (progress.done, progress.total) {
        (Some(done), Some(total)) if total > 0 => {
            let percent = u128::from(done.min(total)) * 100 / u128::from(total);
            format!(": {percent} % of {} MB", total / 1_000_000)
        }
        (Some(done), _) => format!(": {} MB", done / 100_000_000 * 100),
        (None, _) => String::new(),
    };
    format!("{}{disk}{far}", progress.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_in_words() {
        let progress = |disk: Option<&str>, done, total| Progress {
            step: "writing".to_owned(),
            disk: disk.map(str::to_owned),
            done,
            total,
        };
        for (progress, expected) in [
            (progress(None, None, None), "writing"),
            (progress(Some("/dev/sda"), None, Some(9)), "writing /dev/sda"),
            (progress(Some("/dev/sda"), Some(370_000_000), None), "writing /dev/sda: 300 MB"),
            (progress(None, Some(5_000_000), Some(8_000_000)), "writing: 62 % of 8 MB"),
            (progress(None, Some(9), Some(8)), "writing: 100 % of 0 MB"),
            (progress(None, Some(0), Some(0)), "writing: 0 MB"),
            (progress(None, Some(u64::MAX), Some(u64::MAX)), "writing: 100 % of 18446744073709 MB"),
        ] {
            assert_eq!(shown(&progress), expected);
        }
    }
}
