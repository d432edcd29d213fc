//! Says that a test was left out, and why, to whoever runs the tests. It depends on nothing, so that every crate's tests may
//! use it. Nothing of it is shipped.
//!
//! libtest keeps back what a test that passes prints by `eprintln!`, and a test that was left out passes. What is written to
//! the stream itself is not kept back. `hack/stages` names a file for such lines, and counts them in its table.

use std::{
    ffi::OsStr,
    fmt::Display,
    fs::OpenOptions,
    io::{self, Write},
};

/// Names the file to which each line is added.
const NOTE: &str = "STAGE_NOTE";
const BEGIN: &str = "skipped: ";

/// Says that a test was left out.
pub fn skipped(test: &str, why: impl Display) {
    told(&mut io::stderr(), std::env::var_os(NOTE).as_deref(), test, &why);
}

/// Says again what tests in another process said on its standard error, of which nobody sees anything else: it has the same
/// file, and has written there itself.
pub fn passed_on(errors: &str) {
    again(&mut io::stderr(), errors);
}

/// Who can't be told on standard error can't be told that, either.
fn told(errors: &mut impl Write, note: Option<&OsStr>, test: &str, why: &dyn Display) {
    let line = format!("{BEGIN}{test} ({why})\n");
    errors.write_all(line.as_bytes()).ok();
    let Some(note) = note.filter(|note| !note.is_empty()) else { return };
    // In one piece: tests run at the same time.
    let noted = OpenOptions::new().create(true).append(true).open(note);
    if let Err(error) = noted.and_then(|mut note| note.write_all(line.as_bytes())) {
        writeln!(errors, "{} can't be written: {error}", note.display()).ok();
    }
}

fn again(errors: &mut impl Write, said: &str) {
    for line in said.lines().filter(|line| line.starts_with(BEGIN)) {
        writeln!(errors, "{line}").ok();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_a_line_and_the_file_has_those_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("note");
        let mut errors = Vec::new();
        told(&mut errors, Some(note.as_os_str()), "one", &"no QEMU");
        told(&mut errors, Some(note.as_os_str()), "two", &"no nginx");
        told(&mut errors, None, "three", &"nothing is named");
        told(&mut errors, Some(OsStr::new("")), "four", &"nor here");
        let said = String::from_utf8(errors).unwrap();
        assert_eq!(said.lines().count(), 4, "{said}");
        let noted = std::fs::read_to_string(note).unwrap();
        assert_eq!(noted, "skipped: one (no QEMU)\nskipped: two (no nginx)\n");
        assert!(said.starts_with(&noted), "{said}");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut errors = Vec::new();
        told(&mut errors, Some(folder.path().as_os_str()), "one", &"no QEMU");
        let said = String::from_utf8(errors).unwrap();
        assert!(said.starts_with("skipped: one (no QEMU)\n") && said.contains("can't be written"), "{said}");
    }

    #[test]
    fn of_another_process_only_such_lines_are_said_again() {
        let mut errors = Vec::new();
        again(&mut errors, "Compiling\nskipped: one (no QEMU)\nnot skipped: two\n");
        assert_eq!(errors, b"skipped: one (no QEMU)\n");
    }

    /// By libtest itself: a test of this program that is left out passes, and is heard of all the same.
    #[test]
    fn libtest_does_not_keep_it_back() {
        let program = std::env::current_exe().unwrap();
        let mut command = std::process::Command::new(program);
        let command = command.args(["--exact", "tests::left_out", "--ignored", "--test-threads=1"]);
        let output = command.env_remove(NOTE).env_remove("RUST_TEST_NOCAPTURE").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success());
        assert!(said.contains("skipped: left_out (on purpose)") && !said.contains("kept back"), "{said}");
    }

    #[test]
    #[ignore = "started by libtest_does_not_keep_it_back"]
    #[allow(clippy::print_stderr, reason = "to see that this is kept back")]
    fn left_out() {
        eprintln!("kept back");
        skipped("left_out", "on purpose");
    }
}
