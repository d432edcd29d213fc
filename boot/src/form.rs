//! The forms in which operating systems read their configuration. Pure.

mod autoinstall;
mod harmless;
mod kairos;
mod nocloud;

pub(crate) use self::nocloud::fields;
pub use self::{
    autoinstall::autoinstall,
    kairos::kairos,
    nocloud::{meta_data, vendor_data},
};

/// Why a configuration can't be brought into a form. The text holds nothing of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// It is not text.
    #[error("the bootstrap data is not text in UTF-8")]
    NotText,
    /// It is not a cloud-config.
    #[error("the bootstrap data is not a #cloud-config: only that can be brought into this form")]
    NotCloudConfig,
    /// It is a template that can't be filled in.
    #[error("the bootstrap data is a jinja template that can't be filled in, line {line}: {why}")]
    Template {
        /// Where.
        line: usize,
        /// What kind of mistake.
        why: String,
    },
}

/// The line by which cloud-init knows a template.
const JINJA: &str = "## template: jinja";
const CLOUD_CONFIG: &str = "#cloud-config";

/// A cloud-config, and whether it is a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CloudConfig<'a> {
    /// Everything behind its first lines.
    body: &'a str,
    is_template: bool,
}

impl<'a> CloudConfig<'a> {
    fn parse(data: &'a [u8]) -> Result<Self, FormError> {
        let text = std::str::from_utf8(data).map_err(|_| FormError::NotText)?;
        let (rest, is_template) = match without_line(text, JINJA) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let body = without_line(rest, CLOUD_CONFIG).ok_or(FormError::NotCloudConfig)?;
        Ok(Self { body, is_template })
    }
}

/// The text behind its first line, if that is this one.
fn without_line<'a>(text: &'a str, line: &str) -> Option<&'a str> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (first.trim_end() == line).then_some(rest)
}

/// A text in double quotes, as YAML and JSON read it.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            character if character.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            character => out.push(character),
        }
    }
    out.push('"');
    out
}
