//! Commands and words of GRUB's script language.

use std::ops::Range;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Where it is, quotes and all.
    pub range: Range<usize>,
    /// What it says without quotes. Variables stand for themselves.
    pub text: Vec<u8>,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    /// Its words, the first of which is its name.
    pub words: Vec<Word>,
}

impl Command {
    /// What it is.
    pub fn name(&self) -> Option<&[u8]> {
        self.words.first().map(|word| word.text.as_slice())
    }
}

/// Words after which another command begins.
const KEYWORDS: [&[u8]; 9] = [b"if", b"then", b"else", b"elif", b"while", b"until", b"do", b"!", b"time"];

/// The commands of a script, those in blocks and menus too. One that breaks off within quotes ends there: GRUB would
/// not run it either.
pub fn commands(text: &[u8]) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut command = Command::default();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' => at += 1,
            b'\\' if continues(text, at).is_some() => at = continues(text, at).unwrap_or(at + 1),
            b'#' => at = line_end(text, at),
            b'\n' | b';' | b'{' | b'}' | b'&' | b'|' | b'<' | b'>' => {
                commands.push(std::mem::take(&mut command));
                at += 1;
            }
            _ => {
                let Some(word) = word(text, at) else { break };
                at = word.range.end;
                let is_keyword = command.words.is_empty() && KEYWORDS.contains(&word.text.as_slice());
                if !is_keyword {
                    command.words.push(word);
                }
            }
        }
    }
    commands.push(command);
    commands.retain(|command| !command.words.is_empty());
    commands
}

/// Behind a backslash and the line break that it takes away.
fn continues(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    }
}

fn line_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// The word that begins here; nothing when its quotes are not closed.
fn word(text: &[u8], start: usize) -> Option<Word> {
    let mut said = Vec::new();
    let mut at = start;
    while let Some(byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' | b'}' | b'&' | b'|' | b'<' | b'>' => break,
            b'\'' => {
                let inner = text.get(at + 1..)?;
                let length = inner.iter().position(|byte| *byte == b'\'')?;
                said.extend_from_slice(inner.get(..length)?);
                at += length + 2;
            }
            b'"' => at = double_quoted(text, at + 1, &mut said)?,
            b'\\' => match continues(text, at) {
                Some(next) => at = next,
                None => {
                    said.extend(text.get(at + 1));
                    at += 2;
                }
            },
            b'$' if text.get(at + 1) == Some(&b'{') => {
                let rest = text.get(at..)?;
                let length = rest.iter().position(|byte| *byte == b'}')? + 1;
                said.extend_from_slice(rest.get(..length)?);
                at += length;
            }
            other => {
                said.push(*other);
                at += 1;
            }
        }
    }
    Some(Word { range: start..at.min(text.len()), text: said })
}

/// Reads what is in double quotes and says where it ends.
fn double_quoted(text: &[u8], mut at: usize, said: &mut Vec<u8>) -> Option<usize> {
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match text.get(at + 1)? {
                escaped @ (b'"' | b'$' | b'\\') => {
                    said.push(*escaped);
                    at += 2;
                }
                b'\n' => at += 2,
                _ => {
                    said.push(b'\\');
                    at += 1;
                }
            },
            other => {
                said.push(*other);
                at += 1;
            }
        }
    }
}
