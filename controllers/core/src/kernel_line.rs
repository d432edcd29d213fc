//! The kernel's command line: what may stand on it, and how it is quoted there.
//!
//! Linux splits its command line at white space that is not inside double quotes, and knows no way to escape a double
//! quote: `next_arg` in <https://github.com/torvalds/linux/blob/master/lib/cmdline.c>.

use std::fmt;

/// Bytes on the command line of x86-64 and arm64, the final zero aside: `COMMAND_LINE_SIZE` in their `asm/setup.h`. What
/// is longer the kernel cuts off without a word.
pub const LONGEST: usize = 2047;

/// Why something can't stand on a kernel's command line. The text says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentError {
    /// There is nothing in it.
    Empty,
    /// It has a line break or another control character in it.
    ControlCharacter(String),
    /// It has a character in it that is not ASCII.
    NotAscii(String),
    /// It looks like more than one parameter.
    Several(String),
    /// A double quote is opened and not closed.
    OpenQuote(String),
    /// All of it together is longer than the kernel reads.
    TooLong(usize),
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a kernel parameter is empty: remove the entry"),
            Self::ControlCharacter(argument) => write!(
                f,
                "the kernel parameter {argument:?} has a line break, a tab or another control character in it: remove it"
            ),
            Self::NotAscii(argument) => write!(
                f,
                "the kernel parameter {argument:?} has a character in it that is not ASCII: write it in ASCII, in URLs as %-escapes"
            ),
            Self::Several(argument) => write!(
                f,
                "the kernel parameter {argument:?} looks like several: write one per entry, or put a value that has spaces in double quotes, as in name=\"a b\""
            ),
            Self::OpenQuote(argument) => write!(
                f,
                "the kernel parameter {argument:?} has a double quote that is not closed: close it or remove it, the kernel has no other way to write one"
            ),
            Self::TooLong(length) => write!(
                f,
                "the kernel parameters are {length} bytes long together, and a kernel reads {LONGEST} at most: use fewer, or a shorter configURL"
            ),
        }
    }
}

impl std::error::Error for ArgumentError {}

/// The command line of these parameters, each of which is one.
///
/// # Errors
/// One of them can't stand there, or they are too long together.
pub fn line(arguments: &[String]) -> Result<String, ArgumentError> {
    let quoted: Vec<String> = arguments.iter().map(|argument| quote(argument)).collect::<Result<_, _>>()?;
    let line = quoted.join(" ");
    if line.len() > LONGEST { Err(ArgumentError::TooLong(line.len())) } else { Ok(line) }
}

/// One parameter as it stands on the command line. What is quoted already stays as it is.
///
/// # Errors
/// It can't stand there.
pub fn quote(argument: &str) -> Result<String, ArgumentError> {
    let owned = || argument.to_owned();
    if argument.trim().is_empty() {
        return Err(ArgumentError::Empty);
    }
    if argument.chars().any(char::is_control) {
        return Err(ArgumentError::ControlCharacter(owned()));
    }
    // The kernel takes the byte 0xA0 for white space, and that is the second half of an à in UTF-8 (`lib/ctype.c`).
    if !argument.is_ascii() {
        return Err(ArgumentError::NotAscii(owned()));
    }
    if !argument.matches('"').count().is_multiple_of(2) {
        return Err(ArgumentError::OpenQuote(owned()));
    }
    if !outside_of_quotes(argument).contains(' ') {
        return Ok(owned());
    }
    match argument.split_once('=') {
        Some((name, value)) if is_one(name, value) => Ok(format!("{name}=\"{value}\"")),
        Some(_) | None => Err(ArgumentError::Several(owned())),
    }
}

/// What the kernel splits.
fn outside_of_quotes(argument: &str) -> String {
    argument.split('"').step_by(2).collect()
}

/// Whether this is one parameter, whose value has spaces. `console=tty0 console=ttyS0` is two: quoted as one it would
/// be neither.
fn is_one(name: &str, value: &str) -> bool {
    let begins_another = |word: &str| word.find('=').is_some_and(|at| at > 0);
    !name.is_empty()
        && !name.contains(' ')
        && !value.contains('"')
        && value.trim() == value
        && !value.split(' ').skip(1).any(begins_another)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_quoted_where_the_kernel_would_split_it_and_refused_where_that_is_not_meant() {
        let several = |text: &str| Err(ArgumentError::Several(text.to_owned()));
        let control = |text: &str| Err(ArgumentError::ControlCharacter(text.to_owned()));
        let open = |text: &str| Err(ArgumentError::OpenQuote(text.to_owned()));
        for (argument, expected) in [
            ("quiet", Ok("quiet")),
            ("console=ttyS0,115200n8", Ok("console=ttyS0,115200n8")),
            ("ds=nocloud;s=http://h/", Ok("ds=nocloud;s=http://h/")),
            (r"path=\EFI\BOOT 'x'", Ok(r#"path="\EFI\BOOT 'x'""#)),
            ("---", Ok("---")),
            ("dyndbg=file a.c +p", Ok(r#"dyndbg="file a.c +p""#)),
            ("dyndbg=file a.c =p", Ok(r#"dyndbg="file a.c =p""#)),
            (r#"dyndbg="file a.c +p""#, Ok(r#"dyndbg="file a.c +p""#)),
            (r#""dyndbg=file a.c +p""#, Ok(r#""dyndbg=file a.c +p""#)),
            (r#"a="b c"d"#, Ok(r#"a="b c"d"#)),
            ("", Err(ArgumentError::Empty)),
            ("   ", Err(ArgumentError::Empty)),
            ("quiet splash", several("quiet splash")),
            ("quiet ", several("quiet ")),
            ("a=b ", several("a=b ")),
            ("=a b", several("=a b")),
            ("console=tty0 console=ttyS0", several("console=tty0 console=ttyS0")),
            (r#"a="b c" d"#, several(r#"a="b c" d"#)),
            (r#"a="b"#, open(r#"a="b"#)),
            (r#"a="b c"""#, open(r#"a="b c"""#)),
            ("a=b\nc=d", control("a=b\nc=d")),
            ("a=b\r", control("a=b\r")),
            ("a\tb", control("a\tb")),
            ("a\0", control("a\0")),
            ("a=\u{7f}", control("a=\u{7f}")),
            ("a=à", Err(ArgumentError::NotAscii("a=à".to_owned()))),
            ("a=\u{2028}b", Err(ArgumentError::NotAscii("a=\u{2028}b".to_owned()))),
        ] {
            assert_eq!(quote(argument), expected.map(str::to_owned), "{argument:?}");
            if let Ok(quoted) = quote(argument) {
                assert_eq!(quote(&quoted), Ok(quoted.clone()), "what is quoted stays so");
            }
        }
    }

    #[test]
    fn a_line_is_as_long_as_the_kernel_reads() {
        let of_length = |length: usize| vec!["a".to_owned(), "b".repeat(length - 2)];
        assert_eq!(line(&[]), Ok(String::new()));
        assert_eq!(line(&["a=b c".to_owned(), "d".to_owned()]), Ok(r#"a="b c" d"#.to_owned()));
        assert_eq!(line(&of_length(2047)).map(|line| line.len()), Ok(2047));
        assert_eq!(line(&of_length(2048)), Err(ArgumentError::TooLong(2048)));
        assert_eq!(line(&["a b".to_owned()]), Err(ArgumentError::Several("a b".to_owned())));
    }

    #[test]
    fn a_refusal_says_which_and_never_breaks_a_line() {
        for error in [
            quote("quiet splash").unwrap_err(),
            quote("a=b\nc").unwrap_err(),
            quote("a=\"b").unwrap_err(),
            quote("a=à").unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.starts_with("the kernel parameter \""), "{text}");
            assert!(!text.contains('\n') && text.contains(": "), "{text}");
        }
    }
}
