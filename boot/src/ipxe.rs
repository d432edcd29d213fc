//! Scripts for iPXE: what a machine fetches and starts, or that it starts from its disk. Pure.

use std::fmt::Write as _;

/// How long a person may read what went wrong, before the machine goes on to what its firmware tries next.
const SECONDS_TO_READ: u8 = 10;
/// How often it begins anew where something can't be fetched, and after how long: a boot server that is restarted is away
/// for some seconds, and the machine has no second boot from the network.
const MORE_TRIES: usize = 3;
const PAUSE: u8 = 10;

/// What iPXE starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start<'a> {
    /// The kernel's URL.
    pub kernel: &'a str,
    /// The URLs of what is unpacked into its memory, in their order.
    pub initramfs: &'a [String],
    /// Its parameters, each as it stands on its command line.
    pub arguments: &'a [String],
}

/// Why there is no script. The text names no URL: those are secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A URL has something in it that ends a word or a line.
    #[error("a URL has a space, a quote or a control character in it: write it as a %-escape")]
    Url,
    /// A parameter would end the line, or iPXE would put something of its own into it.
    #[error(
        "a kernel parameter has a line's end, two spaces in a row, ${{, or a ||, &&, ; or # that stands by itself in it, which iPXE would not pass on"
    )]
    Argument,
}

/// Fetches and starts a kernel. What can't be fetched is tried again, some times, then said, and left to the firmware.
///
/// # Errors
/// Something in it can't stand in a script.
pub fn start(start: &Start<'_>) -> Result<String, ScriptError> {
    let Start { kernel, initramfs, arguments } = start;
    if !std::iter::once(*kernel).chain(initramfs.iter().map(String::as_str)).all(is_word) {
        return Err(ScriptError::Url);
    }
    if !arguments.iter().all(|argument| is_passed_on(argument)) {
        return Err(ScriptError::Argument);
    }
    let mut script = String::from("#!ipxe\n");
    // The kernel finds them by these names where firmware hands them over (UEFI).
    let names = (0..initramfs.len()).map(|number| format!("initrd=initramfs-{number}"));
    let line: Vec<String> = names.chain(arguments.iter().cloned()).collect();
    let words = if line.is_empty() { String::new() } else { format!(" {}", line.join(" ")) };
    push(&mut script, ":begin");
    push(&mut script, &format!("kernel --name kernel {kernel}{words} || goto again"));
    for (number, url) in initramfs.iter().enumerate() {
        push(&mut script, &format!("initrd --name initramfs-{number} {url} || goto again"));
    }
    push(&mut script, "boot || goto failed");
    push(&mut script, ":again");
    // iPXE has no numbers to compare, and drops a word that comes to nothing, as a setting does that is not there yet: so
    // there is an x before it. A command that ends in nothing ends well, or the script would end there.
    push(&mut script, &format!("iseq x${{tries}} x{} && goto failed ||", "x".repeat(MORE_TRIES)));
    push(&mut script, "set tries ${tries}x");
    push(&mut script, &format!("sleep {PAUSE}"));
    push(&mut script, "imgfree");
    push(&mut script, "goto begin");
    push(&mut script, ":failed");
    push(&mut script, "echo What this machine is to boot could not be fetched or started.");
    push(&mut script, &format!("sleep {SECONDS_TO_READ}"));
    push(&mut script, "exit 1");
    Ok(script)
}

/// Starts what is on the disk: UEFI goes on with its own list, a BIOS has none that iPXE could go back to. UEFI takes what
/// ends well for what was wanted, and would wait in its menu for a person: so it ends with an error.
#[must_use]
pub fn disk() -> &'static str {
    "#!ipxe\niseq ${platform} efi && exit 1 ||\nsanboot --no-describe --drive 0x80 || exit 1\n"
}

fn push(script: &mut String, line: &str) {
    // Into a text, nothing can fail.
    let _written = writeln!(script, "{line}");
}

/// iPXE knows no quotes: it goes by what stands between spaces, ends a command at some of that, and puts one space between.
fn is_passed_on(argument: &str) -> bool {
    let ends = |word: &str| matches!(word, "" | "||" | "&&" | ";") || word.starts_with('#');
    !argument.contains("${") && !argument.chars().any(char::is_control) && !argument.split(' ').any(ends)
}

fn is_word(url: &str) -> bool {
    !url.is_empty()
        && !url.contains("${")
        && url.chars().all(|character| character.is_ascii_graphic() && !matches!(character, '"' | '\'' | '#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(kernel: &str, initramfs: &[&str], arguments: &[&str]) -> Result<String, ScriptError> {
        let owned = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        start(&Start { kernel, initramfs: &owned(initramfs), arguments: &owned(arguments) })
    }

    #[test]
    fn a_kernel_is_fetched_with_all_that_it_needs_and_what_fails_is_said() {
        let script = made(
            "http://b/c/0/kernel",
            &["http://b/c/0/initramfs", "http://b/c/0/more"],
            &["console=ttyS0", "ds=nocloud;s=http://b/c/0/", "a=\"b c\""],
        );
        let expected = "#!ipxe\n:begin\nkernel --name kernel http://b/c/0/kernel initrd=initramfs-0 initrd=initramfs-1 console=ttyS0 ds=nocloud;s=http://b/c/0/ a=\"b c\" || goto again\ninitrd --name initramfs-0 http://b/c/0/initramfs || goto again\ninitrd --name initramfs-1 http://b/c/0/more || goto again\nboot || goto failed\n:again\niseq x${tries} xxxx && goto failed ||\nset tries ${tries}x\nsleep 10\nimgfree\ngoto begin\n:failed\necho What this machine is to boot could not be fetched or started.\nsleep 10\nexit 1\n";
        assert_eq!(script.as_deref(), Ok(expected));
        assert!(made("http://b/k", &[], &[]).unwrap().contains("kernel http://b/k || goto again\n"));
    }

    /// What iPXE does with a script where these tries to fetch something fail: what it fetches, and whether it boots with all
    /// that it needs. As its `system()` has it: settings are put in first, words that are empty then are dropped, and whether a
    /// command is done goes by the one that was done last.
    fn run(script: &str, failing: impl Fn(usize) -> bool) -> (Vec<String>, Option<Vec<String>>) {
        let lines: Vec<&str> = script.lines().collect();
        let (mut at, mut tries) = (1, String::new());
        let (mut fetched, mut held): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for _step in 0..1000 {
            let line = lines[at];
            at += 1;
            let expanded = line.replace("${tries}", &tries);
            let mut words: Vec<&str> = expanded.split_ascii_whitespace().collect();
            words.push("end of line");
            let (mut is_done, mut went_well) = (!line.starts_with(':'), true);
            for command in words.split_inclusive(|word| matches!(*word, "||" | "&&" | "end of line")) {
                let (end, command) = command.split_last().unwrap();
                match command {
                    _ if !is_done => {}
                    [] | ["echo" | "sleep", ..] => went_well = true,
                    ["iseq", one, other] => went_well = one == other,
                    ["set", "tries", value] => tries = (*value).to_owned(),
                    ["imgfree"] => held.clear(),
                    ["kernel" | "initrd", "--name", name, ..] => {
                        went_well = !failing(fetched.len());
                        fetched.push((*name).to_owned());
                        held.extend(went_well.then(|| (*name).to_owned()));
                    }
                    ["boot"] => return (fetched, Some(held)),
                    ["exit", _] => return (fetched, None),
                    ["goto", label] => {
                        let label = format!(":{label}");
                        at = lines.iter().position(|line| *line == label).unwrap();
                        went_well = true;
                        break;
                    }
                    other => panic!("iPXE knows no {other:?}"),
                }
                is_done = if *end == "||" { !went_well } else { went_well };
            }
            assert!(went_well, "iPXE leaves a script at a line that fails: {line}");
        }
        panic!("it goes on for ever");
    }

    #[test]
    fn what_can_not_be_had_at_once_is_fetched_again_and_not_for_ever() {
        let script = made("http://b/k", &["http://b/1", "http://b/2"], &["quiet"]).unwrap();
        let all = ["kernel", "initramfs-0", "initramfs-1"];
        for (failing, fetched) in [
            (&[][..], 3),
            (&[0], 1 + 3),
            (&[0, 1, 2], 3 + 3),
            // In its middle: the kernel is fetched again, too, and is there once.
            (&[1], 2 + 3),
            (&[2, 4, 5], 3 + 2 + 1 + 3),
        ] {
            let (found, held) = run(&script, |number| failing.contains(&number));
            assert_eq!((found.len(), held), (fetched, Some(all.map(str::to_owned).to_vec())), "{failing:?}");
        }
        assert_eq!(run(&script, |_| true), (vec!["kernel".to_owned(); MORE_TRIES + 1], None));
        let (found, held) = run(&script, |number| number % 3 == 2);
        assert_eq!((found.len(), held), (3 * (MORE_TRIES + 1), None));
    }

    #[test]
    fn nothing_in_it_becomes_a_command_of_its_own() {
        for url in [
            "",
            "http://b/a b",
            "http://b/a\nexit",
            "http://b/${net0/mac}",
            "http://b/\"",
            "http://b/#x",
            "http://b/é",
        ] {
            assert_eq!(made(url, &[], &[]), Err(ScriptError::Url), "{url:?}");
            assert_eq!(made("http://b/k", &[url], &[]), Err(ScriptError::Url), "{url:?}");
        }
        for argument in [
            "a\nboot",
            "a\rb",
            "mac=${net0/mac}",
            "",
            "&&",
            "dyndbg=\"file a +p ; file b +p\"",
            "a=\"b || shell\"",
            "a=\"b  c\"",
            "#a",
        ] {
            assert_eq!(made("http://b/k", &[], &[argument]), Err(ScriptError::Argument), "{argument:?}");
        }
    }

    #[test]
    fn a_machine_that_is_installed_leaves_ipxe() {
        assert!(
            disk().starts_with("#!ipxe\n")
                && disk().contains("efi && exit 1 ||")
                && disk().contains("sanboot")
        );
    }
}
