//! Whether `clusterctl move` may take a consumer along.
//!
//! Not while its host is of another namespace: that does not move with it, and on the other side the consumer would find no
//! host, and give up the one that it has. clusterctl looks for the annotation on all that it is about to move, and waits for
//! it to go; it is written with the intent, and goes with it.

use super::intent::Intent;

/// What stands in the annotation. Only this is taken off again: people may have reasons of their own.
pub const BLOCKED: &str = "beskar7: its host is of another namespace, and would not move along";

/// What becomes of the annotation on a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Block {
    /// It is written.
    Write,
    /// It is ours, and removed.
    Remove,
    /// It stays as it is.
    Leave,
}

/// What becomes of the annotation on a consumer in the namespace `own` that has this intent, or none, where this stands in
/// it.
#[must_use]
pub fn block(own: &str, intent: Option<&Intent>, standing: Option<&str>) -> Block {
    let is_foreign = intent.is_some_and(|intent| intent.namespace != own);
    match (is_foreign, standing) {
        (true, None) => Block::Write,
        (false, Some(BLOCKED)) => Block::Remove,
        (true, Some(_)) | (false, None | Some(_)) => Block::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_host_of_another_namespace_does_not_move_and_what_people_wrote_stays() {
        let at = |namespace: &str| Intent::parse(&format!("{namespace}/h/0123456789abcdef0123456789abcdef"));
        let given_up = at("racks").map(|intent| intent.give_up());
        for (intent, standing, expected) in [
            (at("racks"), None, Block::Write),
            (at("racks"), Some(BLOCKED), Block::Leave),
            (at("racks"), Some("until Monday"), Block::Leave),
            // Until it is off that host, it has to stay.
            (given_up, None, Block::Write),
            (at("own"), None, Block::Leave),
            (at("own"), Some(BLOCKED), Block::Remove),
            (at("own"), Some("until Monday"), Block::Leave),
            (None, None, Block::Leave),
            (None, Some(BLOCKED), Block::Remove),
            (None, Some("until Monday"), Block::Leave),
        ] {
            assert_eq!(block("own", intent.as_ref(), standing), expected, "{intent:?} {standing:?}");
        }
    }
}
