//! Waiting for a condition, with a limit and a description: the error says
//! what was awaited, for how long, and what was seen last.
//!
//! Not for giving something "a little time": who waits says what for.

use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};

/// The first look is repeated this soon, later ones up to [`SLOWEST`] apart.
const QUICKEST: Duration = Duration::from_millis(25);
const SLOWEST: Duration = Duration::from_millis(500);

/// What one look at the awaited condition found.
#[derive(Debug)]
pub enum Seen<T> {
    /// The condition holds.
    Done(T),
    /// Not yet; this is what there is instead.
    NotYet(String),
    /// It never will, so waiting on makes no sense.
    Never(Error),
}

/// The limit passed, or the condition can no longer hold.
#[derive(Debug)]
pub struct Unmet {
    what: String,
    after: Duration,
    last: String,
    hopeless: bool,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, after, last, hopeless } = self;
        let verb = if *hopeless { "gave up waiting for" } else { "waited in vain for" };
        write!(f, "{verb} {what}, {:.1} s; last seen: {last}", after.as_secs_f64())
    }
}

impl std::error::Error for Unmet {}

/// Looks again and again until the condition holds or `limit` has passed. An
/// error of a look counts as "not yet": servers come and go in these tests.
pub async fn until<T, F, L>(what: impl Into<String>, limit: Duration, mut look: F) -> Result<T, Unmet>
where
    F: FnMut() -> L,
    L: Future<Output = Result<Seen<T>>>,
{
    let what = what.into();
    let begin = Instant::now();
    let mut last = "nothing".to_owned();
    let mut pause = QUICKEST;
    loop {
        let left = limit.saturating_sub(begin.elapsed());
        match tokio::time::timeout(left, look()).await {
            Ok(Ok(Seen::Done(value))) => return Ok(value),
            Ok(Ok(Seen::NotYet(instead))) => last = instead,
            Ok(Ok(Seen::Never(error))) => {
                return Err(Unmet {
                    what,
                    after: begin.elapsed(),
                    last: format!("{error:#}"),
                    hopeless: true,
                });
            }
            Ok(Err(error)) => last = format!("{error:#}"),
            Err(_) => last = format!("{last} (and the last look was not answered in time)"),
        }
        if begin.elapsed() + pause >= limit {
            return Err(Unmet { what, after: begin.elapsed(), last, hopeless: false });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(SLOWEST);
    }
}

/// [`until`] for a condition that is only true or false; `look` says what
/// there is when it is false.
pub async fn until_true<F, L>(what: impl Into<String>, limit: Duration, mut look: F) -> Result<(), Unmet>
where
    F: FnMut() -> L,
    L: Future<Output = Result<Result<(), String>>>,
{
    until(what, limit, || {
        let looked = look();
        async move { Ok(looked.await?.map_or_else(Seen::NotYet, Seen::Done)) }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use anyhow::anyhow;

    use super::*;

    #[tokio::test]
    async fn a_condition_that_comes_true_is_returned() {
        let looks = Cell::new(0);
        let found = until("the third look", Duration::from_secs(5), || async {
            looks.set(looks.get() + 1);
            Ok(if looks.get() == 3 { Seen::Done("here") } else { Seen::NotYet("too early".to_owned()) })
        });
        assert_eq!(found.await.unwrap(), "here");
    }

    #[tokio::test]
    async fn the_error_says_what_was_awaited_how_long_and_what_was_seen() {
        let never =
            until_true("a host", Duration::from_millis(60), || async { Ok(Err("0 hosts".to_owned())) });
        let message = never.await.unwrap_err().to_string();
        assert!(message.starts_with("waited in vain for a host, 0."), "{message}");
        assert!(message.ends_with("last seen: 0 hosts"), "{message}");
    }

    #[tokio::test]
    async fn an_error_of_a_look_is_the_last_thing_seen() {
        let broken =
            until("x", Duration::from_millis(30), || async { Err::<Seen<()>, _>(anyhow!("refused")) });
        assert!(broken.await.unwrap_err().to_string().ends_with("last seen: refused"));
    }

    #[tokio::test]
    async fn a_look_that_hangs_does_not_hang_the_wait() {
        let hanging = until("x", Duration::from_millis(30), std::future::pending::<Result<Seen<()>>>);
        assert!(hanging.await.unwrap_err().to_string().contains("not answered in time"));
    }

    #[tokio::test]
    async fn a_hopeless_condition_ends_the_wait_at_once() {
        let begin = Instant::now();
        let dead =
            until("x", Duration::from_secs(60), || async { Ok(Seen::<()>::Never(anyhow!("it died"))) });
        assert!(dead.await.unwrap_err().to_string().contains("gave up waiting for x"));
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
}
