//! What must be there before a consumer may look for a host.

/// What stands in the way of looking for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// In one word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Whether nothing tells us when it goes away: a Secret is not watched.
    pub unwatched: bool,
}

impl Obstacle {
    /// One of which we are told when it goes away.
    #[must_use]
    pub fn watched(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), unwatched: false }
    }
}
