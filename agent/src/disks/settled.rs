//! Waits until no more disks appear: those behind expanders, and those whose driver comes late, come one after the other.

use beskar7_agent_protocol::hardware::Disk;

use crate::telling::Problem;

/// So many looks in a row must show the same disks.
const QUIET_LOOKS: u32 = 10;
/// A bus on which disks come and go for ever is not waited for.
const MOST_LOOKS: u32 = 60;

/// The disks, when they have been the same for some looks with a pause between each two.
///
/// # Errors
/// They can't be looked at.
pub fn settled(
    mut look: impl FnMut() -> Result<Vec<Disk>, Problem>,
    mut pause: impl FnMut(),
) -> Result<Vec<Disk>, Problem> {
    let (mut disks, mut quiet) = (look()?, 0);
    for _ in 0..MOST_LOOKS {
        if quiet == QUIET_LOOKS {
            break;
        }
        pause();
        let now = look()?;
        quiet = if now == disks { quiet + 1 } else { 0 };
        disks = now;
    }
    Ok(disks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disks(names: &[&str]) -> Vec<Disk> {
        names.iter().map(|name| Disk { path: (*name).to_owned(), ..Disk::default() }).collect()
    }

    #[test]
    fn disks_that_come_late_are_waited_for_but_not_for_ever() {
        let mut pauses = 0;
        let late = |look: u32| disks(if look < 5 { &["a"] } else { &["a", "b"] });
        let mut looks = 0;
        let found = settled(
            || {
                looks += 1;
                Ok(late(looks))
            },
            || pauses += 1,
        );
        assert_eq!(found, Ok(disks(&["a", "b"])));
        assert_eq!(pauses, 4 + QUIET_LOOKS, "each look but the first has one before it");
        let mut flapping = false;
        let found = settled(
            || {
                flapping = !flapping;
                Ok(disks(if flapping { &["a"] } else { &[] }))
            },
            || {},
        );
        assert!(found.is_ok());
        assert!(settled(|| Err(Problem::new("looking", "gone")), || {}).is_err());
    }
}
