//! Who asks for what there is not: after some tries, each answer takes longer. Only wrong tries are slowed down; who has
//! a capability is answered at once, whatever others do from the same address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

/// So many wrong tries in a minute are answered at once: an installer that comes too late asks a few times.
const FREE: u32 = 30;
const MINUTE: Duration = Duration::from_secs(60);
/// So long the others wait.
const PAUSE: Duration = Duration::from_secs(1);
/// So many wait at once; who comes then is answered at once, and pays with his own time.
const MOST_WAITING: usize = 256;
/// So many addresses are remembered; when there are more, all are forgotten.
const MOST_ADDRESSES: usize = 4096;

/// Those who asked for what there is not.
pub(super) struct Wrong {
    tries: Mutex<HashMap<IpAddr, Tries>>,
    waiting: Semaphore,
}

#[derive(Clone, Copy)]
struct Tries {
    since: Instant,
    count: u32,
}

/// What follows from a wrong try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is answered at once.
    AtOnce,
    /// It has to wait.
    Later {
        /// Whether it is the first of this address, in this minute.
        first: bool,
    },
}

impl Wrong {
    pub(super) fn new() -> Self {
        Self { tries: Mutex::default(), waiting: Semaphore::new(MOST_WAITING) }
    }

    /// A wrong try; returns when it may be answered.
    pub(super) async fn tried(&self, from: Option<IpAddr>) {
        let Some(from) = from.map(neighbourhood) else { return };
        let Verdict::Later { first } = self.judge(from) else { return };
        if first {
            tracing::warn!(%from, "many wrong requests to the boot server; the next ones are answered slowly");
        }
        if let Ok(_place) = self.waiting.try_acquire() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn judge(&self, from: IpAddr) -> Verdict {
        let mut all = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_ADDRESSES && !all.contains_key(&from) {
            all.clear();
        }
        let now = Instant::now();
        let tries = all.entry(from).or_insert(Tries { since: now, count: 0 });
        if now.duration_since(tries.since) >= MINUTE {
            *tries = Tries { since: now, count: 0 };
        }
        tries.count = tries.count.saturating_add(1);
        match tries.count {
            0..=FREE => Verdict::AtOnce,
            count => Verdict::Later { first: count == FREE + 1 },
        }
    }
}

/// Who has an IPv6 address has a network of them.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_guesses_waits_and_others_do_not() {
        let wrong = Wrong::new();
        let (guesser, neighbour, other): (IpAddr, IpAddr, IpAddr) =
            ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap(), "192.0.2.1".parse().unwrap());
        let begin = Instant::now();
        for _ in 0..FREE {
            wrong.tried(Some(guesser)).await;
        }
        assert_eq!(begin.elapsed(), Duration::ZERO);
        for _ in 0..10 {
            wrong.tried(Some(neighbour)).await;
        }
        assert_eq!(begin.elapsed(), PAUSE * 10);
        wrong.tried(Some(other)).await;
        assert_eq!(begin.elapsed(), PAUSE * 10, "another address has done nothing");
        tokio::time::advance(MINUTE).await;
        let later = Instant::now();
        wrong.tried(Some(guesser)).await;
        assert_eq!(later.elapsed(), Duration::ZERO, "after a minute it is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let wrong = Wrong::new();
        for number in 0..20_000_u32 {
            wrong.judge(IpAddr::V4(number.into()));
        }
        assert!(wrong.tries.lock().unwrap().len() <= MOST_ADDRESSES);
    }
}
