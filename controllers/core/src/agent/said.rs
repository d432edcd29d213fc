//! What the agent said last, as it stands on its host.
//!
//! It is one annotation, in JSON, written by the replica that heard it. What is of another claim, or of an order before the
//! last arming, says nothing.

use std::{fmt, time::Duration};

use beskar7_agent_protocol::{
    order::Thoroughness,
    report::{Failure, Installed, Progress},
};
use beskar7_api::{PhysicalHost, annotations};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    assignment::{Assignment, Work},
    identity::Stranger,
};
use crate::host::hold::annotation;

/// So many characters of a step's name are kept.
const LONGEST_STEP: usize = 64;
/// So many of a disk's.
const LONGEST_DISK: usize = 128;
/// So many of what it says.
const LONGEST_MESSAGE: usize = 1024;

/// An agent that works comes further in so long: what it reads and writes at once takes seconds, and minutes where
/// something is slow.
const STANDS: Duration = Duration::from_secs(30 * 60);
/// A disk that erases itself says nothing, or little, until it is done. Large ones tell that it takes them more than a
/// day, and their agent gives up such a one by itself after twice what it told. Of several disks that are wiped at once the
/// agent tells what it heard last: one that was done long ago may stand for one that erases itself.
const ERASES_ITSELF: Duration = Duration::from_secs(72 * 60 * 60);

/// What the agent said last.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    claim: String,
    second: i64,
    order: String,
    state: Stage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disk: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    done: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Since when it is exactly so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The UUID of the machine that it is about, where that is another one than the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    another: Option<String>,
}

/// How far an order is.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// The agent has it.
    Asked,
    /// It is carried out.
    Running,
    /// The image is on its disk.
    Installed,
    /// It was given up.
    Failed,
}

impl Stage {
    /// Whether nothing more comes of the order.
    #[must_use]
    pub const fn is_end(self) -> bool {
        match self {
            Self::Asked | Self::Running => false,
            Self::Installed | Self::Failed => true,
        }
    }
}

impl Said {
    /// That it asked what to do.
    #[must_use]
    pub fn asked(assignment: &Assignment, now: Timestamp) -> Self {
        Self {
            claim: assignment.booting.claim.clone(),
            second: now.as_second(),
            order: assignment.order(),
            state: Stage::Asked,
            step: None,
            disk: None,
            done: None,
            total: None,
            since: None,
            message: None,
            another: None,
        }
    }

    /// How far it is, and since when it is no further than `before`: an agent whose disk hangs goes on talking.
    pub(super) fn running(
        assignment: &Assignment,
        progress: &Progress,
        before: Option<&Self>,
        now: Timestamp,
    ) -> Self {
        let running = Self {
            state: Stage::Running,
            step: Some(short(&progress.step, LONGEST_STEP)),
            disk: progress.disk.as_deref().map(|disk| short(disk, LONGEST_DISK)),
            done: progress.done,
            total: progress.total,
            ..Self::asked(assignment, now)
        };
        let how_far = |said: &Self| (said.disk.clone(), said.done);
        let is_no_further =
            |before: &&Self| !running.is_news_after(before) && how_far(&running) == how_far(before);
        let since = before.filter(is_no_further).map(|before| before.since.unwrap_or(before.second));
        Self { since: Some(since.unwrap_or(running.second)), ..running }
    }

    pub(super) fn installed(assignment: &Assignment, installed: &Installed, now: Timestamp) -> Self {
        Self {
            state: Stage::Installed,
            disk: Some(short(&installed.disk, LONGEST_DISK)),
            done: Some(installed.written),
            ..Self::asked(assignment, now)
        }
    }

    pub(super) fn failed(assignment: &Assignment, failure: &Failure, now: Timestamp) -> Self {
        Self {
            state: Stage::Failed,
            step: Some(short(&failure.step, LONGEST_STEP)),
            disk: failure.disk.as_deref().map(|disk| short(disk, LONGEST_DISK)),
            message: Some(short(&failure.message, LONGEST_MESSAGE)),
            ..Self::asked(assignment, now)
        }
    }

    /// That the machine that asked is another one.
    pub(super) fn of_another(assignment: &Assignment, stranger: &Stranger, now: Timestamp) -> Self {
        let another = Some(stranger.own.to_string());
        Self { another, ..Self::failed(assignment, &stranger.failure(), now) }
    }

    /// What stands on a host, if it is about the order that its machine was armed for last.
    #[must_use]
    pub fn of(host: &PhysicalHost, assignment: &Assignment) -> Option<Self> {
        Self::last(host).filter(|said| said.is_of(assignment))
    }

    /// What stands on a host, whatever it is about.
    #[must_use]
    pub fn last(host: &PhysicalHost) -> Option<Self> {
        serde_json::from_str(annotation(host, annotations::AGENT)?).ok()
    }

    /// What the agent that this was said by was started for, where its machine is still the one that was armed for it.
    #[must_use]
    pub fn assignment(&self, host: &PhysicalHost) -> Option<Assignment> {
        Assignment::of(host, &self.claim).filter(|assignment| self.is_of(assignment))
    }

    fn is_of(&self, assignment: &Assignment) -> bool {
        self.claim == assignment.booting.claim && self.order == assignment.order()
    }

    /// How far the order is.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.state
    }

    /// Whether another machine than the host's asked, and was sent away.
    #[must_use]
    pub const fn is_of_another_machine(&self) -> bool {
        self.another.is_some()
    }

    /// Whether the host's own machine could not do what it was told.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.state == Stage::Failed && !self.is_of_another_machine()
    }

    /// Whether this stays, though the other was said later about the same order: what came late does not take back how it
    /// ended, and another machine's coming takes nothing from what this one does. Only the right one gets to work.
    #[must_use]
    pub const fn outweighs(&self, later: &Self) -> bool {
        match (self.state, later.state) {
            (Stage::Failed, Stage::Running) => !self.is_of_another_machine(),
            (Stage::Installed | Stage::Failed, Stage::Asked) | (Stage::Installed, Stage::Running) => true,
            (Stage::Running | Stage::Installed, Stage::Failed) => later.is_of_another_machine(),
            (Stage::Failed, Stage::Failed) => later.is_of_another_machine() && !self.is_of_another_machine(),
            (Stage::Asked, Stage::Asked | Stage::Running | Stage::Failed)
            | (Stage::Running, Stage::Asked | Stage::Running)
            | (Stage::Asked | Stage::Running | Stage::Installed | Stage::Failed, Stage::Installed) => false,
        }
    }

    /// Whether this says something else than another, but for how many bytes are done, and of which of several disks that
    /// are wiped at once. How an order ended is the last that is said of it.
    #[must_use]
    pub fn is_news_after(&self, before: &Self) -> bool {
        if self.order != before.order {
            return true;
        }
        !before.outweighs(self) && (self.state, &self.step) != (before.state, &before.step)
    }

    /// Whether nothing was heard since for so long. A clock that was set back makes it wait longer, never shorter.
    #[must_use]
    pub fn is_older_than(&self, time: Duration, now: Timestamp) -> bool {
        u64::try_from(now.as_second().saturating_sub(self.second))
            .is_ok_and(|waited| waited >= time.as_secs())
    }

    /// Since when it has come no further, where that is too long for what it does.
    #[must_use]
    pub fn stuck_since(&self, work: Work, now: Timestamp) -> Option<Timestamp> {
        let since = Timestamp::from_second(self.since?).ok().filter(|_| self.state == Stage::Running)?;
        let stands = Duration::try_from(now.duration_since(since)).ok()?;
        (stands >= may_stand_for(work)).then_some(since)
    }

    /// As it stands on its host.
    #[must_use]
    pub fn to_annotation(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn percent(&self) -> Option<u64> {
        let (done, total) = (u128::from(self.done?), u128::from(self.total.filter(|total| *total > 0)?));
        u64::try_from(done.saturating_mul(100) / total).ok().map(|percent| percent.min(100))
    }
}

/// For how long who does this may come no further.
const fn may_stand_for(work: Work) -> Duration {
    match work {
        Work::Clean(Thoroughness::Full) => ERASES_ITSELF,
        Work::Clean(Thoroughness::Metadata) | Work::Install | Work::Inspect => STANDS,
    }
}

/// In words: "writing /dev/vda, 41 %".
impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disk = self.disk.as_deref().map(|disk| format!(" {disk}")).unwrap_or_default();
        let step = self.step.as_deref().unwrap_or("working");
        match self.state {
            Stage::Asked => f.write_str("it has its order"),
            Stage::Installed => write!(f, "the image is on{disk}"),
            Stage::Failed => {
                write!(f, "{step}{disk}: {}", self.message.as_deref().unwrap_or("no reason given"))
            }
            Stage::Running => match (self.percent(), self.done) {
                (Some(percent), _) => write!(f, "{step}{disk}, {percent} %"),
                (None, Some(done)) => write!(f, "{step}{disk}, {} MiB", done >> 20),
                (None, None) => write!(f, "{step}{disk}"),
            },
        }
    }
}

/// One line of at most so many characters: it stands in conditions and events.
fn short(text: &str, longest: usize) -> String {
    let line = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    let mut short: String = line.take(longest).collect();
    if text.chars().count() > longest {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        agent::Work,
        host::{
            hold::Booting,
            samples::{at, host, with_annotations},
        },
    };

    fn assignment(mark: &str) -> Assignment {
        Assignment { work: Work::Install, booting: Booting::parse(mark).unwrap() }
    }

    fn booting() -> Assignment {
        assignment("c 100 try-2 on installed")
    }

    fn running(progress: &Progress, second: i64) -> Said {
        Said::running(&booting(), progress, None, at(second))
    }

    fn progress(step: &str, done: Option<u64>, total: Option<u64>) -> Progress {
        Progress { step: step.to_owned(), disk: Some("/dev/vda".to_owned()), done, total }
    }

    #[test]
    fn what_was_said_is_read_again_for_its_order_and_no_other() {
        let said = running(&progress("writing", Some(5), Some(9)), 120);
        let text = said.to_annotation();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            json!({"claim": "c", "second": 120, "order": "install-100-2", "state": "running", "step": "writing",
                   "disk": "/dev/vda", "done": 5, "total": 9, "since": 120})
        );
        let host = with_annotations(host(json!({}), json!(null)), &[(annotations::AGENT, &text)]);
        assert_eq!(Said::of(&host, &booting()), Some(said));
        for other in ["d 100 try-2", "c 101 try-2", "c 100"] {
            assert_eq!(Said::of(&host, &assignment(other)), None, "{other}");
        }
        for text in ["", "{}", "moonlight", "{\"claim\": \"c\"}"] {
            let host = with_annotations(host.clone(), &[(annotations::AGENT, text)]);
            assert_eq!(Said::of(&host, &booting()), None, "{text}");
        }
    }

    #[test]
    fn people_read_how_far_it_is() {
        let running = |done, total| running(&progress("writing", done, total), 1).to_string();
        for (done, total, expected) in [
            (Some(41), Some(100), "writing /dev/vda, 41 %"),
            (Some(u64::MAX), Some(u64::MAX), "writing /dev/vda, 100 %"),
            (Some(9), Some(3), "writing /dev/vda, 100 %"),
            (Some(3 << 20), None, "writing /dev/vda, 3 MiB"),
            (Some(1), Some(0), "writing /dev/vda, 0 MiB"),
            (None, None, "writing /dev/vda"),
        ] {
            assert_eq!(running(done, total), expected);
        }
        assert_eq!(Said::asked(&booting(), at(1)).to_string(), "it has its order");
        let failure = Failure { step: "verifying".into(), disk: None, message: "one\ntwo\u{7}".into() };
        assert_eq!(Said::failed(&booting(), &failure, at(1)).to_string(), "verifying: one two ");
    }

    #[test]
    fn what_it_says_is_bounded() {
        let long = "é".repeat(5000);
        let failure = Failure { step: long.clone(), disk: Some(long.clone()), message: long };
        let text = Said::failed(&booting(), &failure, at(1)).to_annotation();
        assert!(text.chars().count() < 1500, "{}", text.chars().count());
    }

    #[test]
    fn only_bytes_and_disks_are_no_news() {
        let of = |step: &str, done| running(&progress(step, Some(done), None), 1);
        assert!(!of("writing", 2).is_news_after(&of("writing", 1)));
        assert!(of("verifying", 1).is_news_after(&of("writing", 1)));
        assert!(of("writing", 1).is_news_after(&Said::asked(&booting(), at(1))));
        let other_disk = Progress { disk: Some("/dev/vdb".into()), ..progress("writing", None, None) };
        assert!(!running(&other_disk, 1).is_news_after(&of("writing", 1)));
        let failure = Failure { step: "writing".into(), disk: None, message: "full".into() };
        let failed = Said::failed(&booting(), &failure, at(2));
        assert!(failed.is_news_after(&of("writing", 1)) && !of("writing", 3).is_news_after(&failed));
    }

    #[test]
    fn since_when_it_comes_no_further_is_kept_until_it_does() {
        let writing = running(&progress("writing", Some(5), Some(9)), 100);
        let mut of_an_older_manager = writing.clone();
        of_an_older_manager.since = None;
        let asked = Said::asked(&booting(), at(100));
        for (before, step, done, expected) in [
            (Some(&writing), "writing", Some(5), 100),
            (Some(&writing), "writing", Some(6), 130),
            (Some(&writing), "writing", None, 130),
            (Some(&writing), "verifying", Some(5), 130),
            (Some(&of_an_older_manager), "writing", Some(5), 100),
            (Some(&asked), "writing", Some(5), 130),
            (None, "writing", Some(5), 130),
        ] {
            let said = Said::running(&booting(), &progress(step, done, Some(9)), before, at(130));
            assert_eq!((said.since, said.second), (Some(expected), 130), "{before:?} {step} {done:?}");
        }
        let other_disk = Progress { disk: None, ..progress("writing", Some(5), Some(9)) };
        assert_eq!(Said::running(&booting(), &other_disk, Some(&writing), at(130)).since, Some(130));
    }

    #[test]
    fn who_comes_no_further_is_stuck_when_that_takes_too_long_for_what_he_does() {
        let (full, metadata) = (Work::Clean(Thoroughness::Full), Work::Clean(Thoroughness::Metadata));
        let (half_an_hour, days) = (30 * 60, 72 * 60 * 60);
        for (work, step, done, limit) in [
            (Work::Install, "writing", Some(5), half_an_hour),
            (Work::Install, "fetching", None, half_an_hour),
            (Work::Inspect, "inspecting", None, half_an_hour),
            (metadata, "wiping signatures", None, half_an_hour),
            (metadata, "erasing", None, half_an_hour),
            // Behind these may be another disk that says nothing.
            (full, "overwriting", Some(5), days),
            (full, "discarding", Some(5), days),
            (full, "ATA secure erase", None, days),
            (full, "NVMe format", None, days),
            (full, "erasing", Some(5), days),
        ] {
            let said = running(&progress(step, done, None), 1000);
            for (second, expected) in [(500, None), (999 + limit, None), (1000 + limit, Some(at(1000)))] {
                assert_eq!(said.stuck_since(work, at(second)), expected, "{work:?} {step} {second}");
            }
        }
        let failure = Failure { step: "writing".into(), disk: None, message: "why".into() };
        for ended in [Said::asked(&booting(), at(0)), Said::failed(&booting(), &failure, at(0))] {
            assert_eq!(ended.stuck_since(Work::Install, at(999_999)), None, "{ended:?}");
        }
    }

    #[test]
    fn what_is_over_stays_and_another_machine_takes_nothing_from_the_right_one() {
        let of = |state: &str, another: bool| -> Said {
            let another = another.then_some("u");
            serde_json::from_value(
                json!({"claim": "c", "second": 1, "order": "o", "state": state, "another": another}),
            )
            .unwrap()
        };
        let (asked, running, installed) = (of("asked", false), of("running", false), of("installed", false));
        let (failed, another) = (of("failed", false), of("failed", true));
        for (before, later, stays) in [
            (&asked, &running, false),
            (&asked, &another, false),
            (&running, &failed, false),
            (&running, &another, true),
            (&installed, &another, true),
            (&installed, &running, true),
            (&failed, &running, true),
            (&failed, &asked, true),
            (&failed, &another, true),
            (&failed, &installed, false),
            (&another, &asked, true),
            (&another, &running, false),
            (&another, &failed, false),
        ] {
            assert_eq!(before.outweighs(later), stays, "{before:?} {later:?}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nobody_silent() {
        let said = Said::asked(&booting(), at(1000));
        let limit = Duration::from_secs(300);
        for (now, expected) in [(500, false), (1000, false), (1299, false), (1300, true)] {
            assert_eq!(said.is_older_than(limit, at(now)), expected, "{now}");
        }
    }
}
