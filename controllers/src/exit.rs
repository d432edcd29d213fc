//! How the process ends: the codes, and the text about them in `--help`.

use std::process::ExitCode;

/// Exit codes, as `--help` shows them.
pub(crate) const EXIT_CODES_HELP: &str = "\
Exit codes:
  0    stopped by SIGINT or SIGTERM, after running work was finished
  1    could not start, or a part of the manager failed; the last log line says why
  2    the command line is wrong
  3    leadership was lost: another replica goes on, and this one should be started again
  130  stopped at once by a second signal";

/// Why the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Asked to, all work finished.
    Stopped,
    /// Could not start, or something failed.
    Failed,
    /// Another replica may lead now.
    LeadershipLost,
    /// Asked twice.
    StoppedAtOnce,
}

impl Exit {
    /// The process exit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Stopped => 0,
            Self::Failed => 1,
            Self::LeadershipLost => 3,
            Self::StoppedAtOnce => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
