//! Conditions: the one place that sets them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// Nobody knows.
    Unknown,
}

impl Truth {
    /// As it stands in a condition.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What was found out about one aspect of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is so.
    pub truth: Truth,
    /// Why, in one word that scripts know.
    pub reason: &'static str,
    /// Why, for people, and what to do.
    pub message: String,
}

impl Finding {
    /// For the condition Paused, as Cluster API words it: why it is paused, if it is.
    #[must_use]
    pub fn paused(why: Option<String>) -> Self {
        match why {
            Some(message) => Self { truth: Truth::True, reason: "Paused", message },
            None => Self { truth: Truth::False, reason: "NotPaused", message: String::new() },
        }
    }
}

/// The condition of a type, if there is one.
#[must_use]
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Sets a condition. The time of its last transition moves only when its status does.
pub fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    finding: &Finding,
    generation: Option<i64>,
    now: Timestamp,
) {
    let mut next = Condition {
        type_: type_.to_owned(),
        status: finding.truth.as_str().to_owned(),
        reason: finding.reason.to_owned(),
        message: finding.message.clone(),
        observed_generation: generation,
        last_transition_time: Time(now),
    };
    match conditions.iter_mut().find(|condition| condition.type_ == type_) {
        Some(condition) => {
            if condition.status == next.status {
                next.last_transition_time = condition.last_transition_time.clone();
            }
            *condition = next;
        }
        None => conditions.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(truth: Truth, reason: &'static str) -> Finding {
        Finding { truth, reason, message: format!("{reason}!") }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_transition_time_moves_with_the_status_only() {
        let mut conditions = Vec::new();
        for (now, found, generation, transition) in [
            (10, finding(Truth::False, "A"), Some(1), 10),
            (20, finding(Truth::False, "A"), Some(1), 10),
            (30, finding(Truth::False, "B"), Some(2), 10),
            (40, finding(Truth::True, "B"), Some(2), 40),
            (50, finding(Truth::Unknown, "B"), None, 50),
        ] {
            set(&mut conditions, "Ready", &found, generation, at(now));
            let condition = get(&conditions, "Ready").unwrap();
            assert_eq!(condition.last_transition_time, Time(at(transition)), "at {now}");
            assert_eq!(condition.status, found.truth.as_str());
            assert_eq!(condition.reason, found.reason);
            assert_eq!(condition.message, found.message);
            assert_eq!(condition.observed_generation, generation);
        }
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn setting_the_same_again_changes_nothing() {
        let mut conditions = Vec::new();
        set(&mut conditions, "Ready", &finding(Truth::True, "A"), Some(1), at(1));
        set(&mut conditions, "Paused", &finding(Truth::False, "B"), Some(1), at(1));
        let before = conditions.clone();
        set(&mut conditions, "Ready", &finding(Truth::True, "A"), Some(1), at(99));
        set(&mut conditions, "Paused", &finding(Truth::False, "B"), Some(1), at(99));
        assert_eq!(conditions, before);
        assert_eq!(get(&conditions, "Absent"), None);
    }
}
