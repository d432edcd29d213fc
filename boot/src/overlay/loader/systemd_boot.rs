//! systemd-boot's configuration: lines of a key and a value.

use std::ops::Range;

use super::{
    Edited, MENU_SECONDS, MOST_MENU_SECONDS,
    arguments::{Arguments, is_self_check},
    edits::Edits,
};

/// A line.
struct Line<'a> {
    key: &'a [u8],
    /// Where its value is.
    value: Range<usize>,
}

fn lines(text: &[u8]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let words = words(line);
        if let (Some(key), Some(last)) = (words.first(), words.last()) {
            let value = words.get(1).map_or(last.end, |word| word.start);
            let key = line.get(key.clone()).unwrap_or_default();
            if !key.starts_with(b"#") {
                lines.push(Line { key, value: start + value..start + last.end });
            }
        }
        start += line.len();
    }
    lines
}

fn words(line: &[u8]) -> Vec<Range<usize>> {
    let mut at = 0;
    let parts = line.split(u8::is_ascii_whitespace).map(|part| {
        let word = at..at + part.len();
        at = word.end + 1;
        word
    });
    parts.filter(|word| !word.is_empty()).collect()
}

/// An entry with these parameters. One that starts no Linux (a shell, a memory tester) stays as it is.
pub fn edit_entry(text: &[u8], arguments: &Arguments) -> Edited {
    let lines = lines(text);
    let added = arguments.plain();
    if !lines.iter().any(|line| line.key == b"linux" || line.key == b"uki") {
        return Edited { text: text.to_vec(), kernel_lines: 0 };
    }
    let mut edits = Edits::default();
    let options: Vec<&Line<'_>> = lines.iter().filter(|line| line.key == b"options").collect();
    for line in &options {
        drop_self_checks(text, line.value.clone(), &mut edits);
    }
    match options.last() {
        Some(line) => edits.insert(line.value.end, format!(" {added}")),
        None => {
            let end = if text.ends_with(b"\n") { "" } else { "\n" };
            edits.insert(text.len(), format!("{end}options {added}\n"));
        }
    }
    Edited { text: edits.apply(text), kernel_lines: 1 }
}

fn drop_self_checks(text: &[u8], value: Range<usize>, edits: &mut Edits) {
    let said = text.get(value.clone()).unwrap_or_default();
    let mut end = value.start;
    for word in words(said) {
        let word_end = value.start + word.end;
        if is_self_check(said.get(word).unwrap_or_default()) {
            edits.replace(end..word_end, "");
        }
        end = word_end;
    }
}

/// systemd-boot's own configuration, with a menu that moves on. Without a time there is no menu.
pub fn edit_loader(text: &[u8]) -> Edited {
    let mut edits = Edits::default();
    for line in lines(text).iter().filter(|line| line.key == b"timeout") {
        let value =
            text.get(line.value.clone()).and_then(|value| str::from_utf8(value).ok()).unwrap_or_default();
        let is_short =
            value.parse::<u32>().map_or(value == "menu-hidden", |seconds| seconds <= MOST_MENU_SECONDS);
        if !is_short {
            edits.replace(line.value.clone(), MENU_SECONDS.to_string());
        }
    }
    Edited { text: edits.apply(text), kernel_lines: 0 }
}

/// An entry that starts a unified kernel image with its own parameters and more. Without Secure Boot its stub takes
/// them instead of those that are built in.
pub fn entry_for(image: &str, title: &str, own: &str, arguments: &Arguments) -> Vec<u8> {
    let kept: Vec<&str> = own.split_whitespace().filter(|word| !is_self_check(word.as_bytes())).collect();
    let options = format!("{} {}", kept.join(" "), arguments.plain());
    format!("title {title}\nefi /{image}\noptions {}\n", options.trim()).into_bytes()
}

/// systemd-boot's own configuration, so that it starts this entry.
pub fn loader_with_default(text: &[u8], entry: &str) -> Vec<u8> {
    let moved_on = edit_loader(text).text;
    let mut edits = Edits::default();
    let mut named = false;
    for line in lines(&moved_on).iter().filter(|line| line.key == b"default") {
        named = true;
        edits.replace(line.value.clone(), entry);
    }
    if !named {
        let end = if moved_on.is_empty() || moved_on.ends_with(b"\n") { "" } else { "\n" };
        edits.insert(moved_on.len(), format!("{end}default {entry}\n"));
    }
    edits.apply(&moved_on)
}

#[cfg(test)]
#[path = "systemd_boot_tests.rs"]
mod tests;
