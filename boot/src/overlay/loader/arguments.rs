//! Kernel parameters, as each boot loader has to write them.

use crate::overlay::error::OverlayError;

/// Parameters that make an image check itself, which it would no longer pass: that of dracut and Anaconda, and the one
/// that openSUSE's images know besides.
const SELF_CHECKS: [&[u8]; 2] = [b"rd.live.check", b"mediacheck"];
/// What GRUB takes as it is.
const SAFE: &[u8] = b"_./:=,@%+-~^";

/// What is added to kernel lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    all: Vec<String>,
}

impl Arguments {
    /// Each is one parameter as it stands on a kernel's command line, checked already: ASCII, double quotes closed.
    pub fn new(arguments: &[String]) -> Self {
        Self { all: arguments.to_vec() }
    }

    /// One more, unless it is there.
    pub fn and(mut self, argument: &str) -> Self {
        if !self.all.iter().any(|other| other == argument) {
            self.all.push(argument.to_owned());
        }
        self
    }

    /// As the kernel reads them.
    pub fn plain(&self) -> String {
        self.all.join(" ")
    }

    /// As GRUB's script language has to have them, so that the kernel reads them.
    ///
    /// # Errors
    /// GRUB would hand one over in another form.
    pub fn for_grub(&self) -> Result<String, OverlayError> {
        let quoted: Vec<String> =
            self.all.iter().map(|argument| for_grub(argument)).collect::<Result<_, _>>()?;
        Ok(quoted.join(" "))
    }
}

/// Whether a word of a kernel line makes the image check itself, whatever its value: some look only for the name.
pub fn is_self_check(word: &[u8]) -> bool {
    word.split(|byte| *byte == b'=').next().is_some_and(|name| SELF_CHECKS.contains(&name))
}

/// Whether a word separates the parameters of an installer from those of what it installs.
pub fn is_separator(word: &[u8]) -> bool {
    word == b"---" || word == b"--"
}

/// GRUB takes quotes off, puts double quotes around every argument that has a space, and a backslash before each
/// quote and backslash that is left: `grub_create_loader_cmdline` in its `lib/cmdline.c`.
fn for_grub(argument: &str) -> Result<String, OverlayError> {
    let bare = without_quotes(argument);
    if bare.contains(['\\', '\'', '"']) {
        let name = argument.split('=').next().unwrap_or_default().to_owned();
        return Err(OverlayError::Argument { name });
    }
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || SAFE.contains(byte);
    if bare.as_bytes().iter().all(safe) { Ok(bare) } else { Ok(format!("'{bare}'")) }
}

/// `name="a b"` and `"name=a b"` are the same to the kernel, and are `name=a b` here.
fn without_quotes(argument: &str) -> String {
    let whole = |text: &str| {
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('"')).then(|| inner.to_owned())
    };
    if let Some(inner) = whole(argument) {
        return inner;
    }
    let value = argument.split_once('=').and_then(|(name, value)| Some(format!("{name}={}", whole(value)?)));
    value.unwrap_or_else(|| argument.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grub_gets_parameters_so_that_the_kernel_reads_what_was_meant() {
        for (argument, expected) in [
            ("quiet", "quiet"),
            ("console=ttyS0,115200n8", "console=ttyS0,115200n8"),
            ("ds=nocloud;s=http://192.0.2.1/c/x/", "'ds=nocloud;s=http://192.0.2.1/c/x/'"),
            ("url=http://h/?a=1&b=$c", "'url=http://h/?a=1&b=$c'"),
            (r#"name="a b""#, "'name=a b'"),
            (r#""name=a b""#, "'name=a b'"),
            (r#"name="a""#, "name=a"),
            ("a={b}#c*", "'a={b}#c*'"),
        ] {
            assert_eq!(for_grub(argument), Ok(expected.to_owned()), "{argument}");
        }
    }

    #[test]
    fn a_self_check_is_told_by_its_name() {
        for (word, expected) in [
            ("rd.live.check", true),
            ("rd.live.check=1", true),
            ("mediacheck=1", true),
            ("rd.live.checked", false),
            ("a=rd.live.check", false),
            ("", false),
        ] {
            assert_eq!(is_self_check(word.as_bytes()), expected, "{word}");
        }
    }

    #[test]
    fn what_grub_would_change_is_refused_without_its_value() {
        for argument in [r"path=\EFI\secret", "a='secret'", r#"a="secret"b"#, r#"a="secret b"c"d""#] {
            let error = for_grub(argument).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, OverlayError::Argument { .. }) && !text.contains("secret"), "{text}");
        }
    }
}
