use beskar7_agent_protocol::{order::Thoroughness, report::Wiping};

use super::{
    MIB,
    fake::{Effect, Fake, Nature},
    wipe,
};
use crate::cleaning::marks::places;

const SIZE: u64 = 48 * MIB;

#[test]
fn blocks_are_discarded_where_that_makes_zeros_and_else_written_over() {
    for (punch, expected, done, words) in [
        (Effect::Zeros, Wiping::Discarded, vec!["punch", "reread"], ""),
        (Effect::Refused, Wiping::Overwritten, vec!["discard", "reread"], "it promises no zeros"),
        // It says that it did, and reads as before, or as something else.
        (
            Effect::Nothing,
            Wiping::Overwritten,
            vec!["punch", "discard", "reread"],
            "it was not erased at byte 0",
        ),
        (
            Effect::Noise,
            Wiping::Overwritten,
            vec!["punch", "discard", "reread"],
            "it was not erased at byte 0",
        ),
    ] {
        let fake = Fake::new(SIZE, Nature { punch, ..Nature::default() });
        let (outcome, listener) = wipe(&fake, Thoroughness::Full, &[]);
        assert_eq!(outcome.unwrap().method, expected, "{punch:?}");
        assert!(fake.is_zero(0, SIZE), "{punch:?}");
        assert_eq!(fake.done(), done, "{punch:?}");
        assert!(listener.log_text().contains(words), "{}", listener.log_text());
    }
}

#[test]
fn how_far_it_is_is_told_for_the_disk() {
    let fake = Fake::new(SIZE, Nature { punch: Effect::Refused, ..Nature::default() });
    let (outcome, listener) = wipe(&fake, Thoroughness::Full, &[]);
    assert!(outcome.is_ok());
    let steps = listener.steps.lock().unwrap();
    let told: Vec<u64> =
        steps.iter().filter(|step| step.step == "overwriting").filter_map(|step| step.done).collect();
    assert_eq!(told, (0..48).map(|block| block * MIB).collect::<Vec<_>>());
    assert!(steps.iter().all(|step| step.disk.as_deref() == Some("/dev/sda")));
}

#[test]
fn a_disk_that_can_not_be_wiped_in_any_way_is_not_called_clean() {
    let marked = places(SIZE);
    let unmarked = (0..SIZE).step_by(4096).find(|place| !marked.contains(place));
    let refused = Nature { punch: Effect::Refused, ..Nature::default() };
    for (nature, step) in [
        (Nature { bad_write: unmarked, ..refused.clone() }, "overwriting"),
        (Nature { bad_read: unmarked, ..refused.clone() }, "verifying"),
        (Nature { bad_read: Some(SIZE - 1), ..refused.clone() }, "marking"),
        (Nature { forgets: Some(0), ..refused.clone() }, "marking"),
        (Nature { forgets: unmarked, ..refused }, "verifying"),
        (Nature { forgets: Some(SIZE - 1), ..Nature::default() }, "marking"),
        (Nature { bad_write: marked.last().copied(), ..Nature::default() }, "marking"),
        (Nature { busy: true, ..Nature::default() }, "wiping signatures"),
    ] {
        let fake = Fake::new(SIZE, nature.clone());
        let (outcome, listener) = wipe(&fake, Thoroughness::Full, &[]);
        let problem = outcome.unwrap_err();
        assert_eq!((problem.step, problem.disk.as_deref()), (step, Some("/dev/sda")), "{nature:?} {problem}");
        assert!(!listener.log_text().contains("is wiped"), "{nature:?}");
    }
}
