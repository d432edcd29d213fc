//! GRUB's configuration, a script.
//!
//! Only as much of the language is read as tells where commands and their words begin and end: quotes, escapes,
//! continued lines, comments, blocks. Nothing is evaluated.

mod script;

use super::{
    Edited, MENU_SECONDS, MOST_MENU_SECONDS,
    arguments::{Arguments, is_self_check, is_separator},
    edits::Edits,
};
use crate::overlay::error::OverlayError;
use script::{Command, Word, commands};

/// The text with these parameters on every kernel line, and with a menu that moves on.
///
/// # Errors
/// GRUB can't hand one of them over.
pub fn edit(text: &[u8], arguments: &Arguments) -> Result<Edited, OverlayError> {
    let mut edits = Edits::default();
    let mut kernel_lines = 0;
    let (mut menu, mut waits) = (false, false);
    let added = arguments.for_grub()?;
    for command in commands(text) {
        if let Some(words) = kernel_line(&command) {
            kernel_lines += 1;
            edit_kernel_line(words, &added, &mut edits);
        }
        if let Some(word) = timeout(&command) {
            waits = true;
            if !is_short(&word.text) {
                edits.replace(word.range.clone(), format!("timeout={MENU_SECONDS}"));
            }
        }
        menu |= command.name() == Some(b"menuentry");
    }
    // Without a time, GRUB waits for ever.
    if menu && !waits {
        edits.insert(0, format!("set timeout={MENU_SECONDS}\n"));
    }
    Ok(Edited { text: edits.apply(text), kernel_lines })
}

/// The words of a kernel line, the command among them. Memory testers are started like kernels, and are none.
fn kernel_line(command: &Command) -> Option<&[Word]> {
    let name = command.name()?;
    let is_kernel = match name.strip_prefix(b"linux") {
        // `linux$suffix`, where a script asks for the platform first.
        Some(rest) => matches!(rest, b"" | b"efi" | b"16") || rest.starts_with(b"$"),
        None => name.starts_with(b"$linux") || name.starts_with(b"${linux"),
    };
    let kernel = command.words.get(1)?.text.rsplit(|byte| *byte == b'/').next()?;
    (is_kernel && !kernel.starts_with(b"memtest")).then_some(&command.words)
}

fn edit_kernel_line(words: &[Word], added: &str, edits: &mut Edits) {
    let mut end = words.get(1).map_or(0, |word| word.range.end);
    let mut separator = None;
    for word in words.iter().skip(2) {
        if is_self_check(&word.text) {
            edits.replace(end..word.range.end, "");
        }
        if separator.is_none() && is_separator(&word.text) {
            separator = Some(word.range.start);
        }
        end = word.range.end;
    }
    if added.is_empty() {
        return;
    }
    match separator {
        Some(place) => edits.insert(place, format!("{added} ")),
        None => edits.insert(end, format!(" {added}")),
    }
}

/// The word that sets the menu's time.
fn timeout(command: &Command) -> Option<&Word> {
    let word = if command.name()? == b"set" { command.words.get(1)? } else { command.words.first()? };
    word.text.starts_with(b"timeout=").then_some(word)
}

fn is_short(assignment: &[u8]) -> bool {
    let value = assignment.strip_prefix(b"timeout=").and_then(|value| str::from_utf8(value).ok());
    value.and_then(|value| value.parse::<u32>().ok()).is_some_and(|seconds| seconds <= MOST_MENU_SECONDS)
}

#[cfg(test)]
#[path = "grub_tests.rs"]
mod tests;
