//! Waits until no more disks appear: those behind expanders, and those whose driver comes late, come one after the other.

use beskar7_agent_protocol::{hardware::Disk, order::DiskHints};

use super::choosing::has_named;
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
    look: impl FnMut() -> Result<Vec<Disk>, Problem>,
    pause: impl FnMut(),
) -> Result<Vec<Disk>, Problem> {
    settled_or(|_| false, look, pause)
}

/// The disks to choose one of: the same, but the one that hints name, and that nothing else can be, is waited for no longer
/// than until it is there.
///
/// # Errors
/// They can't be looked at.
pub fn settled_for(
    hints: &DiskHints,
    look: impl FnMut() -> Result<Vec<Disk>, Problem>,
    pause: impl FnMut(),
) -> Result<Vec<Disk>, Problem> {
    settled_or(|disks| has_named(disks, hints), look, pause)
}

fn settled_or(
    are_enough: impl Fn(&[Disk]) -> bool,
    mut look: impl FnMut() -> Result<Vec<Disk>, Problem>,
    mut pause: impl FnMut(),
) -> Result<Vec<Disk>, Problem> {
    let (mut disks, mut quiet) = (look()?, 0);
    for _ in 0..MOST_LOOKS {
        if quiet == QUIET_LOOKS || are_enough(&disks) {
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
    use crate::disks::choose;

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

    #[test]
    fn a_disk_is_chosen_of_all_that_come_but_one_that_is_named_is_not_waited_for_once_it_is_there() {
        let disk = |name: &str, serial: &str, size_bytes| Disk {
            path: name.to_owned(),
            serial_number: Some(serial.to_owned()),
            wwn: Some(format!("0x5000c500a1b2c3d{size_bytes}")),
            hctl: Some(format!("0:0:{size_bytes}:0")),
            size_bytes,
            ..Disk::default()
        };
        let virtual_disk =
            Disk { wwn: Some("0x600508b1001c0a1b2c3d4e5f60718293".to_owned()), ..disk("/dev/sdd", "D", 4) };
        let come_one_by_one =
            [disk("/dev/sda", "A", 3), disk("/dev/sdb", "B", 1), disk("/dev/sdc", "C", 2), virtual_disk];
        let some = |text: &str| Some(text.to_owned());
        let whole = DiskHints::default;
        for (hints, pauses_expected, expected) in [
            // The smallest one, which was not there at first.
            (whole(), 3 + QUIET_LOOKS, "/dev/sdb"),
            (DiskHints { rotational: Some(true), ..whole() }, 3 + QUIET_LOOKS, "/dev/sdb"),
            // Another may have it, too.
            (DiskHints { serial_number: some("A"), ..whole() }, 3 + QUIET_LOOKS, "/dev/sda"),
            (DiskHints { serial_number: some("C"), hctl: some("0:0:2:0"), ..whole() }, 2, "/dev/sdc"),
            (DiskHints { wwn: some("0x600508b1001c0a1b"), ..whole() }, 3 + QUIET_LOOKS, "/dev/sdd"),
            (DiskHints { wwn: some("0x600508b1001c0a1b2c3d4e5f60718293"), ..whole() }, 3, "/dev/sdd"),
            (DiskHints { wwn: some("0x5000c500a1b2c3d1"), ..whole() }, 1, "/dev/sdb"),
            (DiskHints { hctl: some("0:0:3:0"), ..whole() }, 0, "/dev/sda"),
            (DiskHints { device_name: some("/dev/sdb"), ..whole() }, 1, "/dev/sdb"),
        ] {
            let (mut looks, mut pauses) = (0, 0);
            let look = || {
                looks += 1;
                Ok(come_one_by_one.iter().take(looks).cloned().collect())
            };
            let disks = settled_for(&hints, look, || pauses += 1).unwrap();
            assert_eq!(pauses, pauses_expected, "{hints:?}");
            assert_eq!(choose(&disks, &hints, 0).unwrap().path, expected, "{hints:?}");
        }
        let gone = DiskHints { serial_number: some("E"), ..whole() };
        let disks = settled_for(&gone, || Ok(come_one_by_one.to_vec()), || {}).unwrap();
        assert!(choose(&disks, &gone, 0).is_err(), "it is not waited for for ever");
    }
}
