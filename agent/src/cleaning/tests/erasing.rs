use std::time::Duration;

use beskar7_agent_device::{
    ata::Security,
    nvme::{Abilities, SanitizeState},
};
use beskar7_agent_protocol::{order::Thoroughness, report::Wiping};

use super::{
    MIB,
    fake::{Effect, Fake, Nature},
    wipe,
};

const SIZE: u64 = 40 * MIB;
const ALL: Abilities =
    Abilities { format: true, crypto_format: true, block_sanitize: true, crypto_sanitize: true };

fn security() -> Security {
    Security {
        supported: true,
        enhanced: true,
        erase_time: Some(Duration::from_secs(120)),
        ..Security::default()
    }
}

/// Wipes it fully, and says how, what was done and what was logged.
fn full(nature: &Nature) -> (Wiping, Vec<&'static str>, String) {
    let fake = Fake::new(SIZE, nature.clone());
    let (outcome, listener) = wipe(&fake, Thoroughness::Full, &[]);
    let method = outcome.unwrap().method;
    assert!(fake.is_zero(0, 16 * MIB) && fake.is_zero(SIZE - 16 * MIB, SIZE), "no signature is left");
    (method, fake.done(), listener.log_text())
}

#[test]
fn an_nvme_disk_erases_itself_by_the_first_command_that_works() {
    let good = Nature { nvme: Some(ALL), ..Nature::default() };
    let none = Abilities::default();
    for (name, nature, method, done) in [
        ("format", good.clone(), Wiping::Nvme, vec!["format", "reread"]),
        (
            "a format that is refused",
            Nature { format: Effect::Refused, ..good.clone() },
            Wiping::Nvme,
            vec!["format", "crypto format", "reread"],
        ),
        (
            "a format that does nothing, and no crypto format",
            Nature {
                format: Effect::Nothing,
                nvme: Some(Abilities { crypto_format: false, ..ALL }),
                ..good.clone()
            },
            Wiping::Nvme,
            vec!["format", "sanitize", "wait", "wait", "wait", "wait", "reread"],
        ),
        (
            "a new key by sanitizing",
            Nature {
                nvme: Some(Abilities { crypto_sanitize: true, ..none }),
                sanitize: Effect::Noise,
                ..good.clone()
            },
            Wiping::Nvme,
            vec!["crypto sanitize", "wait", "wait", "wait", "wait", "reread"],
        ),
        (
            "nothing that works",
            Nature {
                format: Effect::Refused,
                crypto_format: Effect::Nothing,
                sanitize: Effect::Refused,
                ..good.clone()
            },
            Wiping::Discarded,
            vec!["format", "crypto format", "sanitize", "crypto sanitize", "punch", "reread"],
        ),
        ("no command", Nature { nvme: Some(none), ..good }, Wiping::Discarded, vec!["punch", "reread"]),
    ] {
        let (found, commands, log) = full(&nature);
        assert_eq!((found, commands), (method, done), "{name}: {log}");
    }
}

#[test]
fn each_way_that_did_not_work_is_logged_with_its_reason() {
    let nature = Nature {
        nvme: Some(ALL),
        format: Effect::Refused,
        crypto_format: Effect::Nothing,
        ..Nature::default()
    };
    let (_, _, log) = full(&nature);
    for words in [
        "/dev/sda is not wiped by NVMe format: the disk refuses format: no",
        "/dev/sda is not wiped by NVMe format with a new key: it was not erased at byte 0",
        "/dev/sda is being wiped by NVMe sanitize",
        "/dev/sda is wiped (it erased itself by NVMe's commands)",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn a_disk_that_was_sanitizing_itself_is_waited_for() {
    for how in [Thoroughness::Metadata, Thoroughness::Full] {
        let nature = Nature {
            nvme: Some(Abilities::default()),
            sanitizing: SanitizeState::Running(0xfff0),
            ..Nature::default()
        };
        let fake = Fake::new(SIZE, nature);
        let (outcome, listener) = wipe(&fake, how, &[]);
        assert!(outcome.is_ok());
        assert_eq!(fake.done()[0], "wait");
        assert!(listener.log_text().contains("was sanitizing itself"));
    }
}

#[test]
fn a_disk_that_failed_to_sanitize_itself_before_is_taken_out_of_it() {
    let nature =
        Nature { nvme: Some(Abilities::default()), sanitizing: SanitizeState::Failed, ..Nature::default() };
    let fake = Fake::new(SIZE, nature);
    assert_eq!(wipe(&fake, Thoroughness::Full, &[]).0.unwrap().method, Wiping::Discarded);
    assert_eq!(fake.done(), ["give up", "punch", "reread"]);
}

#[test]
fn an_ata_disk_erases_itself_and_has_no_password_afterwards() {
    let good = Nature { ata: Some(security()), ..Nature::default() };
    for (name, nature, method, done) in [
        ("enhanced", good.clone(), Wiping::Ata, vec!["set password", "enhanced erase", "reread"]),
        (
            "not enhanced",
            Nature { ata: Some(Security { enhanced: false, ..security() }), ..good.clone() },
            Wiping::Ata,
            vec!["set password", "erase", "reread"],
        ),
        (
            "enhanced is refused",
            Nature { enhanced: Effect::Refused, erase: Effect::Noise, ..good.clone() },
            Wiping::Ata,
            vec!["set password", "enhanced erase", "disable password", "set password", "erase", "reread"],
        ),
        (
            "both do nothing",
            Nature { enhanced: Effect::Nothing, erase: Effect::Nothing, ..good.clone() },
            Wiping::Discarded,
            vec!["set password", "enhanced erase", "set password", "erase", "punch", "reread"],
        ),
        (
            "frozen",
            Nature { ata: Some(Security { frozen: true, ..security() }), ..good.clone() },
            Wiping::Discarded,
            vec!["punch", "reread"],
        ),
        (
            "no security",
            Nature { ata: Some(Security::default()), ..good },
            Wiping::Discarded,
            vec!["punch", "reread"],
        ),
    ] {
        let (found, commands, log) = full(&nature);
        assert_eq!((found, commands), (method, done), "{name}: {log}");
    }
}

/// A disk that has our password and does not erase itself.
fn clinging(clings: usize) -> Nature {
    let security = Security { enhanced: false, ..security() };
    Nature { ata: Some(security), erase: Effect::Refused, clings, ..Nature::default() }
}

#[test]
fn a_disk_whose_answer_was_lost_when_it_took_our_password_does_not_keep_it() {
    let fake = Fake::new(SIZE, Nature { loses_answer: true, ..clinging(0) });
    assert_eq!(wipe(&fake, Thoroughness::Full, &[]).0.unwrap().method, Wiping::Discarded);
    assert_eq!(fake.done(), ["set password", "disable password", "punch", "reread"]);
    assert!(!fake.state().nature.ata.unwrap().enabled);
}

#[test]
fn a_password_that_stayed_is_taken_away_at_last() {
    let fake = Fake::new(SIZE, clinging(1));
    assert_eq!(wipe(&fake, Thoroughness::Full, &[]).0.unwrap().method, Wiping::Discarded);
    let done = ["set password", "erase", "disable password", "punch", "reread", "disable password"];
    assert_eq!(fake.done(), done);
    assert!(!fake.state().nature.ata.unwrap().enabled);
}

#[test]
fn a_disk_that_keeps_our_password_is_not_called_clean() {
    for (nature, words) in [
        (clinging(2), "the disk refuses disable password"),
        (Nature { lies_of_password: true, ..clinging(0) }, "it says that it is gone"),
        (Nature { loses_answer: true, ..clinging(2) }, "the disk refuses disable password"),
    ] {
        let fake = Fake::new(SIZE, nature.clone());
        let problem = wipe(&fake, Thoroughness::Full, &[]).0.unwrap_err();
        assert_eq!((problem.step, problem.disk.as_deref()), ("erasing", Some("/dev/sda")), "{nature:?}");
        for words in ["keeps the password \"beskar7\"", words, "hdparm"] {
            assert!(problem.message.contains(words), "{nature:?}: {problem}");
        }
        assert!(fake.is_zero(0, SIZE), "it is wiped nevertheless");
    }
    let bad = Nature { bad_write: Some(5 * MIB + 512), punch: Effect::Refused, ..clinging(2) };
    let problem = wipe(&Fake::new(SIZE, bad), Thoroughness::Full, &[]).0.unwrap_err();
    assert_eq!(problem.step, "overwriting");
    assert!(problem.message.contains("; and the disk keeps the password"), "{problem}");
}

#[test]
fn a_disk_that_we_left_locked_is_unlocked() {
    let locked = Security { enabled: true, locked: true, ..security() };
    let fake = Fake::new(SIZE, Nature { ata: Some(locked), ..Nature::default() });
    assert_eq!(wipe(&fake, Thoroughness::Metadata, &[]).0.unwrap().method, Wiping::Metadata);
    assert_eq!(fake.done(), ["unlock", "disable password", "reread"]);
    assert!(!fake.state().nature.ata.unwrap().enabled);
}

#[test]
fn a_disk_that_kept_our_password_and_its_power_loses_the_password() {
    let open = Security { enabled: true, ..security() };
    for (ours, frozen, expected) in [
        (true, false, vec!["disable password", "reread"]),
        // Nobody can take it away now, or it is somebody else's: what is on the disk is wiped all the same.
        (true, true, vec!["reread"]),
        (false, false, vec!["disable password", "reread"]),
    ] {
        let nature = Nature { ata: Some(Security { frozen, ..open }), ours, ..Nature::default() };
        let fake = Fake::new(SIZE, nature);
        assert!(wipe(&fake, Thoroughness::Metadata, &[]).0.is_ok());
        assert_eq!(fake.done(), expected, "{ours} {frozen}");
        assert_eq!(fake.state().nature.ata.unwrap().enabled, !ours || frozen, "{ours} {frozen}");
    }
}

#[test]
fn a_disk_that_somebody_else_locked_is_a_failure_that_says_so() {
    let locked = Security { enabled: true, locked: true, ..security() };
    for (security, words) in
        [(locked, "or replace it"), (Security { worn_out: true, ..locked }, "turn the machine off and on")]
    {
        let fake = Fake::new(SIZE, Nature { ata: Some(security), ours: false, ..Nature::default() });
        let problem = wipe(&fake, Thoroughness::Full, &[]).0.unwrap_err();
        assert_eq!(problem.step, "unlocking");
        assert!(problem.message.contains(words), "{}", problem.message);
    }
}
