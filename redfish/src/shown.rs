//! What others wrote, as it may be shown in logs, events and status: short, and without control characters, which would
//! let a BMC write into people's terminals and logs.

/// As much as helps a person.
const LONGEST: usize = 300;

/// The text as it may be shown.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_tame() {
        assert_eq!(shown("/redfish/v1\n\u{1b}[2J"), "/redfish/v1  [2J");
        assert_eq!(shown(&"ä".repeat(300)), "ä".repeat(300));
        assert_eq!(shown(&"ä".repeat(301)), "ä".repeat(300) + "…");
    }
}
