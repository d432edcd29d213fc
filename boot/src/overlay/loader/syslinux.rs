//! The configuration of isolinux, syslinux and extlinux: lines that begin with a keyword, in sections that begin with
//! `label`.

use std::ops::Range;

use super::{
    Edited, MENU_SECONDS, MOST_MENU_SECONDS,
    arguments::{Arguments, is_self_check, is_separator},
    edits::Edits,
};

/// Sections that start no kernel.
const OTHER_STARTS: [&str; 8] = ["com32", "config", "localboot", "boot", "bss", "pxe", "fdimage", "comboot"];
/// What is started like a kernel, and is none.
const NO_KERNELS: [&str; 8] = [".c32", ".com", ".cbt", ".img", ".bin", ".bs", ".bss", ".0"];

/// A line: its keyword in lower case, and where the rest of it is.
struct Line {
    keyword: String,
    /// Where the keyword begins.
    start: usize,
    /// Behind the keyword and the space after it, up to the end without trailing space.
    rest: Range<usize>,
}

/// Lines that belong together.
#[derive(Default)]
struct Section {
    lines: Vec<Line>,
}

/// Whether a text looks like theirs, whatever its name.
pub fn speaks(text: &[u8]) -> bool {
    let lines = lines(text);
    let has = |keyword: &str| lines.iter().any(|line| line.keyword == keyword);
    has("label") && (has("append") || has("kernel") || has("linux") || has("localboot") || has("menu"))
}

/// The text with these parameters on every kernel line, and with a menu that moves on. `main` is the file that they
/// begin with.
pub fn edit(text: &[u8], main: bool, arguments: &Arguments) -> Edited {
    let mut edits = Edits::default();
    let mut kernel_lines = 0;
    let mut waits = false;
    let added = arguments.plain();
    let sections = sections(lines(text));
    let general = sections.first().is_some_and(|section| section.has("append"));
    for (index, section) in sections.iter().enumerate() {
        for line in &section.lines {
            waits |= line.keyword == "timeout";
            edit_general(text, line, &added, &mut edits, &mut kernel_lines);
        }
        let is_general = index == 0;
        if is_general || section.starts_kernel(text) {
            kernel_lines += edit_section(text, section, &added, &mut edits, is_general || general);
        }
    }
    if main && !waits {
        edits.insert(0, format!("timeout {}\n", MENU_SECONDS * 10));
    }
    Edited { text: edits.apply(text), kernel_lines }
}

/// What counts in any section: the menu's time, and kernels that are started without a label.
fn edit_general(text: &[u8], line: &Line, added: &str, edits: &mut Edits, kernel_lines: &mut usize) {
    match line.keyword.as_str() {
        "timeout" if !is_short(line.value(text)) => {
            edits.replace(line.rest.clone(), (MENU_SECONDS * 10).to_string());
        }
        "default" | "ontimeout" | "onerror" => {
            let words = words(text, line.rest.clone());
            let Some((kernel, [_, ..])) = words.split_first() else { return };
            if is_kernel(text.get(kernel.clone()).unwrap_or_default()) {
                *kernel_lines += 1;
                add(text, kernel.end..line.rest.end, added, edits);
            }
        }
        _ => {}
    }
}

/// Edits the `append` lines of a section, or gives it one. Says how many kernel lines there are.
fn edit_section(text: &[u8], section: &Section, added: &str, edits: &mut Edits, has_general: bool) -> usize {
    let mut count = 0;
    for line in section.lines.iter().filter(|line| line.keyword == "append") {
        count += 1;
        if line.value(text) == b"-" {
            // This is how a section says that it wants nothing, the general parameters neither.
            edits.replace(line.rest.clone(), added);
        } else {
            add(text, line.rest.clone(), added, edits);
        }
    }
    let kernel = section.lines.iter().find(|line| ["kernel", "linux"].contains(&line.keyword.as_str()));
    match kernel {
        Some(kernel) if count == 0 && !has_general && !added.is_empty() => {
            let indent = indentation(text, kernel.start);
            edits.insert(kernel.rest.end, [b"\n", indent, b"append ", added.as_bytes()].concat());
            1
        }
        Some(_) => count.max(1),
        None => count,
    }
}

/// Adds parameters to a list of them, before what is not for the installer, and takes self-checks out.
fn add(text: &[u8], list: Range<usize>, added: &str, edits: &mut Edits) {
    let mut end = list.start;
    let mut separator = None;
    for word in words(text, list) {
        let said = text.get(word.clone()).unwrap_or_default();
        if is_self_check(said) {
            edits.replace(end..word.end, "");
        }
        if separator.is_none() && is_separator(said) {
            separator = Some(word.start);
        }
        end = word.end;
    }
    match separator {
        _ if added.is_empty() => {}
        Some(place) => edits.insert(place, format!("{added} ")),
        None => edits.insert(end, format!(" {added}")),
    }
}

impl Section {
    fn has(&self, keyword: &str) -> bool {
        self.lines.iter().any(|line| line.keyword == keyword)
    }

    /// Whether it starts a kernel. Without a line that says which, its label does.
    fn starts_kernel(&self, text: &[u8]) -> bool {
        if OTHER_STARTS.iter().any(|keyword| self.has(keyword)) {
            return false;
        }
        let named = self.lines.iter().rfind(|line| ["kernel", "linux"].contains(&line.keyword.as_str()));
        named.map_or_else(|| self.has("append"), |line| is_kernel(line.value(text)))
    }
}

impl Line {
    fn value<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.rest.clone()).unwrap_or_default()
    }
}

fn is_kernel(file: &[u8]) -> bool {
    let file = String::from_utf8_lossy(file).to_lowercase();
    let first = file.split_whitespace().next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    let is_other = NO_KERNELS.iter().any(|suffix| name.ends_with(suffix));
    !(name.is_empty() || is_other || name.starts_with("memtest") || name == "memdisk")
}

fn is_short(tenths: &[u8]) -> bool {
    let tenths = str::from_utf8(tenths).ok().and_then(|text| text.trim().parse::<u32>().ok());
    // Zero is for ever.
    tenths.is_some_and(|tenths| tenths > 0 && tenths <= MOST_MENU_SECONDS * 10)
}

fn indentation(text: &[u8], start: usize) -> &[u8] {
    let before = text.get(..start).unwrap_or_default();
    let line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    before.get(line..).unwrap_or_default()
}

/// Where the words of a part are.
fn words(text: &[u8], part: Range<usize>) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for at in part {
        if text.get(at).is_none_or(u8::is_ascii_whitespace) {
            continue;
        }
        match words.last_mut().filter(|word| word.end == at) {
            Some(word) => word.end = at + 1,
            None => words.push(at..at + 1),
        }
    }
    words
}

/// The lines that say something. What stands between `text help` and `endtext` is for people.
fn lines(text: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut in_help = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let words = words(text, start..start + line.len());
        start += line.len();
        let (Some(first), Some(last)) = (words.first(), words.last()) else { continue };
        let keyword = String::from_utf8_lossy(text.get(first.clone()).unwrap_or_default()).to_lowercase();
        let second = words.get(1).map_or(last.end, |word| word.start);
        match keyword.as_str() {
            "endtext" => in_help = false,
            _ if in_help || keyword.starts_with('#') => {}
            "text" => in_help = true,
            _ => lines.push(Line { keyword, start: first.start, rest: second..last.end }),
        }
    }
    lines
}

fn sections(lines: Vec<Line>) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    for line in lines {
        if line.keyword == "label" {
            sections.push(Section::default());
        }
        if let Some(section) = sections.last_mut() {
            section.lines.push(line);
        }
    }
    sections
}

#[cfg(test)]
#[path = "syslinux_tests.rs"]
mod tests;
