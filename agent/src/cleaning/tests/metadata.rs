use beskar7_agent_protocol::{order::Thoroughness, report::Wiping};

use super::{
    Listener, MIB, disk,
    fake::{Effect, Fake, Fakes, Nature},
    wipe,
};
use crate::cleaning::{clean, spans::Span};

#[test]
fn the_ends_of_the_disk_and_of_its_partitions_are_wiped_and_nothing_else() {
    let fake = Fake::new(160 * MIB, Nature::default());
    // One in the middle, one at the end, and one that the table has behind the end.
    let partitions =
        [Span::new(40 * MIB, 60 * MIB), Span::new(120 * MIB, 40 * MIB), Span::new(150 * MIB, 500 * MIB)];
    let (outcome, _) = wipe(&fake, Thoroughness::Metadata, &partitions);
    assert_eq!(outcome.unwrap().method, Wiping::Metadata);
    for (from, to, wiped) in [
        (0, 16, true),
        (16, 40, false),
        (40, 56, true),
        (56, 84, false),
        (84, 100, true),
        (100, 120, false),
        (120, 136, true),
        (136, 144, false),
        (144, 160, true),
    ] {
        let span = from * MIB..to * MIB;
        let state = fake.state();
        let content =
            &state.content[usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()];
        let expected = if wiped { 0 } else { 0xa5 };
        assert!(content.iter().all(|byte| *byte == expected), "{from}..{to} MiB");
    }
    assert_eq!(fake.done(), ["reread"]);
}

#[test]
fn a_small_disk_is_wiped_all_over() {
    for size in [512, MIB, 16 * MIB + 512, 32 * MIB] {
        let fake = Fake::new(size, Nature::default());
        assert_eq!(wipe(&fake, Thoroughness::Metadata, &[]).0.unwrap().method, Wiping::Metadata);
        assert!(fake.is_zero(0, size), "{size}");
    }
}

#[test]
fn a_disk_that_fails_says_where_and_in_which_step() {
    let end = 64 * MIB - 4096;
    for (nature, step, words) in [
        (
            Nature { bad_write: Some(5 * MIB + 7), ..Nature::default() },
            "wiping signatures",
            "written at byte 5242880",
        ),
        (
            Nature { bad_write: Some(end), ..Nature::default() },
            "wiping signatures",
            "written at byte 66060288",
        ),
        (Nature { bad_read: Some(MIB), ..Nature::default() }, "verifying", "read back at byte 1048576"),
        (Nature { forgets: Some(end), ..Nature::default() }, "verifying", "something else is read"),
        (Nature { busy: true, ..Nature::default() }, "wiping signatures", "does not let go"),
    ] {
        let fake = Fake::new(64 * MIB, nature);
        let (outcome, listener) = wipe(&fake, Thoroughness::Metadata, &[]);
        let problem = outcome.unwrap_err();
        assert_eq!((problem.step, problem.disk.as_deref()), (step, Some("/dev/sda")), "{words}");
        assert!(problem.message.contains(words), "{}", problem.message);
        assert!(!listener.log_text().contains("is wiped"), "{words}");
    }
}

#[test]
fn a_partition_that_was_not_wiped_is_seen() {
    let inside = 50 * MIB + 3;
    let fake = Fake::new(160 * MIB, Nature { forgets: Some(inside), ..Nature::default() });
    let problem = wipe(&fake, Thoroughness::Metadata, &[Span::new(40 * MIB, 60 * MIB)]).0.unwrap_err();
    assert_eq!(problem.step, "verifying");
}

#[test]
fn partitions_go_before_the_table_that_tells_of_them() {
    // The write into the partition fails: the table must still be there for the next try.
    let fake = Fake::new(160 * MIB, Nature { bad_write: Some(41 * MIB), ..Nature::default() });
    assert!(wipe(&fake, Thoroughness::Metadata, &[Span::new(40 * MIB, 60 * MIB)]).0.is_err());
    assert!(!fake.is_zero(0, 512) && !fake.is_zero(160 * MIB - 512, 160 * MIB));
}

#[test]
fn what_a_full_wipe_that_was_broken_off_leaves_to_less_is_no_partition() {
    let bad_write = Some(30 * MIB + 512);
    let fake = Fake::new(160 * MIB, Nature { punch: Effect::Refused, bad_write, ..Nature::default() });
    let partition = Span::new(40 * MIB, 60 * MIB);
    let problem = wipe(&fake, Thoroughness::Full, &[partition]).0.unwrap_err();
    assert_eq!(problem.step, "overwriting");
    // Its table is gone, and nobody knows any more where the partition was.
    assert_eq!(wipe(&fake, Thoroughness::Metadata, &[]).0.unwrap().method, Wiping::Metadata);
    let state = fake.state();
    for end in partition.ends() {
        let [from, to] = [end.start, end.end].map(|at| usize::try_from(at).unwrap());
        assert!(state.content[from..to].iter().all(|byte| *byte != 0xa5), "{end:?}");
    }
}

#[test]
fn one_bad_disk_keeps_no_other_from_being_wiped() {
    let good = || Fake::new(MIB, Nature::default());
    let bad = || Fake::new(MIB, Nature { bad_write: Some(0), ..Nature::default() });
    for (natures, expected) in [
        (vec![good(), good()], None),
        (
            vec![good(), bad(), good()],
            Some("wiping signatures /dev/sd1: it can't be written at byte 0: medium error; replace the disk"),
        ),
        (
            vec![bad(), good(), bad()],
            Some(
                "wiping: 2 of 3 disks were not wiped: wiping signatures /dev/sd0: it can't be written at byte 0: medium error; replace the disk; wiping signatures /dev/sd2: it can't be written at byte 0: medium error; replace the disk",
            ),
        ),
    ] {
        let names: Vec<String> = (0..natures.len()).map(|number| format!("/dev/sd{number}")).collect();
        let disks: Vec<_> = names.iter().map(|name| disk(name, MIB)).collect();
        let fakes =
            Fakes { disks: names.iter().cloned().zip(natures.clone()).collect(), partitions: Vec::new() };
        let outcome = clean(&disks, Thoroughness::Metadata, &fakes, &Listener::default());
        match expected {
            None => assert_eq!(outcome.unwrap().len(), disks.len()),
            Some(text) => assert_eq!(outcome.unwrap_err().to_string(), text),
        }
        for fake in natures.iter().filter(|fake| fake.state().nature.bad_write.is_none()) {
            assert!(fake.is_zero(0, MIB));
        }
    }
}

#[test]
fn many_disks_are_wiped_and_told_in_their_order() {
    let names: Vec<String> =
        (0..20).map(|number| format!("/dev/nvme{}n{}", number / 2, number % 2)).collect();
    let disks: Vec<_> = names.iter().map(|name| disk(name, MIB)).collect();
    let fakes = Fakes {
        disks: names.iter().map(|name| (name.clone(), Fake::new(MIB, Nature::default()))).collect(),
        partitions: Vec::new(),
    };
    let cleaned = clean(&disks, Thoroughness::Metadata, &fakes, &Listener::default()).unwrap();
    assert_eq!(cleaned.iter().map(|disk| disk.disk.as_str()).collect::<Vec<_>>(), names);
    assert!(fakes.disks.values().all(|fake| fake.is_zero(0, MIB)));
}

#[test]
fn what_can_not_be_written_is_not_tried() {
    let fakes = Fakes::default();
    let mut protected = disk("/dev/sda", MIB);
    protected.read_only = true;
    for (disk, words) in [(protected, "it is read-only"), (disk("/dev/sdb", MIB), "can't be opened")] {
        let problem = clean(&[disk], Thoroughness::Full, &fakes, &Listener::default()).unwrap_err();
        assert_eq!(problem.step, "opening");
        assert!(problem.message.contains(words), "{}", problem.message);
    }
}

#[test]
fn what_nobody_wants_any_more_is_left() {
    for how in [Thoroughness::Metadata, Thoroughness::Full] {
        let fake = Fake::new(MIB, Nature::default());
        let fakes = Fakes { disks: [("/dev/sda".to_owned(), fake.clone())].into(), partitions: Vec::new() };
        let listener = Listener { unwanted: true, ..Listener::default() };
        let problem = clean(&[disk("/dev/sda", MIB)], how, &fakes, &listener).unwrap_err();
        assert!(problem.message.contains("not wanted any more"), "{}", problem.message);
        assert!(fake.state().content.iter().all(|byte| *byte == 0xa5));
    }
}
