//! The few words that a supervisor and the process that started it exchange,
//! one per line: orders on the supervisor's standard input, news on its
//! standard output. The end of the orders is an order as well: stop.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// How a supervised program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Its supervisor was killed, and the program with it.
    SupervisorLost,
}

impl Exit {
    /// Whether the program itself said that all went well.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::SupervisorLost => write!(f, "the loss of its supervisor"),
        }
    }
}

/// What a supervisor reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// The program runs under this process id.
    Started(i32),
    /// The program could not be started at all.
    NotStarted(String),
    /// The program ended.
    Ended(Exit),
}

impl News {
    pub(super) fn to_line(&self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}"),
            Self::NotStarted(why) => format!("not-started {}", why.replace('\n', " ")),
            Self::Ended(Exit::Code(code)) => format!("code {code}"),
            Self::Ended(Exit::Signal(signal)) => format!("signal {signal}"),
            Self::Ended(Exit::SupervisorLost) => "lost 0".to_owned(),
        }
    }

    pub(super) fn from_line(line: &str) -> Result<Self> {
        let (word, rest) =
            line.trim_end().split_once(' ').context("a line of the supervisor without a value")?;
        let number = || rest.parse::<i32>().with_context(|| format!("not a number: {rest:?}"));
        Ok(match word {
            "started" => Self::Started(number()?),
            "not-started" => Self::NotStarted(rest.to_owned()),
            "code" => Self::Ended(Exit::Code(number()?)),
            "signal" => Self::Ended(Exit::Signal(number()?)),
            "lost" => Self::Ended(Exit::SupervisorLost),
            other => bail!("a supervisor said {other:?}, which means nothing here"),
        })
    }
}

/// The one order: stop politely, and by force after this long.
pub(super) fn stop_order(grace: Duration) -> String {
    format!("stop {}\n", grace.as_millis())
}

/// The grace of a [`stop_order`]; anything else that arrives means the same
/// with the supervisor's own default.
pub(super) fn grace_of(order: &str) -> Option<Duration> {
    order.trim_end().strip_prefix("stop ")?.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_survive_the_pipe() {
        for news in [
            News::Started(17),
            News::NotStarted("no such file".to_owned()),
            News::Ended(Exit::Code(3)),
            News::Ended(Exit::Signal(9)),
            News::Ended(Exit::SupervisorLost),
        ] {
            assert_eq!(News::from_line(&news.to_line()).ok(), Some(news));
        }
        assert!(News::from_line("gibberish 1").is_err());
        assert!(News::from_line("").is_err());
    }

    #[test]
    fn a_grace_survives_the_pipe() {
        assert_eq!(grace_of(&stop_order(Duration::from_millis(1500))), Some(Duration::from_millis(1500)));
        assert_eq!(grace_of("stop soon"), None);
    }
}
