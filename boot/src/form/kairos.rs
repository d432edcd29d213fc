//! Kairos reads cloud-config, and passes over the header of a jinja template without filling anything in: that is done
//! here, with what cloud-init would fill in.

use std::io::{self, Write};

use bytes::Bytes;
use minijinja::{Environment, UndefinedBehavior, Value};

use super::{CLOUD_CONFIG, CloudConfig, FormError, harmless, nocloud::fields};
use crate::delivery::MetaData;

/// A template that takes longer than this is none.
const FUEL: u64 = 1_000_000;
/// How large a configuration may become: its Secret holds a quarter of this at most.
const MOST: usize = 4 << 20;
/// The lines before the body.
const HEAD: usize = 2;

/// The cloud-config, filled in.
///
/// # Errors
/// It is no cloud-config, or asks for something that there is not.
pub fn kairos(user_data: &[u8], meta_data: &MetaData) -> Result<Bytes, FormError> {
    let config = CloudConfig::parse(user_data)?;
    if !config.is_template {
        return Ok(Bytes::copy_from_slice(user_data));
    }
    if let Some(line) = harmless::first_refused(config.body) {
        return Err(FormError::Template { line: line + HEAD, why: harmless::ALLOWED.to_owned() });
    }
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    let mut filled = Limited(Vec::new());
    let template = environment.template_from_str(config.body).map_err(|error| mistake(&error))?;
    template.render_captured_to(context(meta_data), &mut filled).map_err(|error| mistake(&error))?;
    let filled = String::from_utf8(filled.0).map_err(|_| FormError::NotText)?;
    // Jinja takes the last line's end away.
    let end = if config.body.ends_with('\n') { "\n" } else { "" };
    Ok(Bytes::from(format!("{CLOUD_CONFIG}\n{filled}{end}")))
}

/// Takes so much and no more.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MOST {
            return Err(io::Error::other("what is filled in becomes too large"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What cloud-init gives to templates: the meta-data, and its own names for the same.
fn context(meta_data: &MetaData) -> Value {
    let all = fields(meta_data).into_iter().map(|(name, value)| (name.replace('-', "_"), jinja(value)));
    let mut standard = vec![
        ("instance_id".to_owned(), Value::from(meta_data.instance_id.as_str())),
        ("local_hostname".to_owned(), Value::from(meta_data.hostname.as_str())),
    ];
    standard
        .extend(meta_data.zone.as_deref().map(|zone| ("availability_zone".to_owned(), Value::from(zone))));
    let data_source = Value::from_pairs([("meta_data".to_owned(), Value::from_pairs(all))]);
    let v1 = Value::from_pairs(standard.clone());
    Value::from_pairs(standard.into_iter().chain([("ds".to_owned(), data_source), ("v1".to_owned(), v1)]))
}

/// A value, as templates know it.
fn jinja(value: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(value),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::from(whole),
            (None, Some(fraction)) => Value::from(fraction),
            (None, None) => Value::from(number.to_string()),
        },
        Json::String(text) => Value::from(text),
        Json::Array(all) => all.into_iter().map(jinja).collect(),
        Json::Object(all) => Value::from_pairs(all.into_iter().map(|(name, value)| (name, jinja(value)))),
    }
}

/// Which mistake, and where; nothing of the text.
fn mistake(error: &minijinja::Error) -> FormError {
    FormError::Template { line: error.line().unwrap_or_default() + HEAD, why: error.kind().to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::nocloud::sample;
    use super::*;

    fn filled(config: &str) -> Result<String, FormError> {
        kairos(config.as_bytes(), &sample()).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn a_template_is_filled_in_and_anything_else_is_left_as_it_is() {
        let template = "## template: jinja\n#cloud-config\nname: {{ ds.meta_data.local_hostname }}\nid: '{{ ds.meta_data.provider_id }}'\nzone: {{ v1.availability_zone }} <&>\n{% if ds.meta_data.host == 'r1' %}yes{% endif %}\n";
        let expected = "#cloud-config\nname: edge-1\nid: 'b7://metal/r1'\nzone: rack \"1\" <&>\nyes\n";
        assert_eq!(filled(template).as_deref(), Ok(expected));
        let mut told = sample();
        told.more.insert("rack".to_owned(), serde_json::json!({"row": [4, 2.5], "lit": true}));
        let own = "## template: jinja\n#cloud-config\n{{ ds.meta_data.rack.row[0] }} {{ ds.meta_data.rack.row[1] }} {{ ds.meta_data.rack.lit }}\n";
        assert_eq!(kairos(own.as_bytes(), &told).unwrap(), "#cloud-config\n4 2.5 True\n");
        let plain = "#cloud-config\nname: {{ x }}\n\n";
        assert_eq!(filled(plain).as_deref(), Ok(plain));
    }

    #[test]
    fn a_template_that_cannot_be_filled_in_says_where_and_shows_nothing() {
        for (body, line) in [("a: b\nc: {{ ds.meta_data.secret_word }}\n", 4), ("{{ secret_word\n", 3)] {
            let error = filled(&format!("## template: jinja\n#cloud-config\n{body}")).unwrap_err();
            let FormError::Template { line: at, .. } = &error else { panic!("{error:?}") };
            assert_eq!(*at, line, "{error}");
            assert!(!error.to_string().contains("secret_word"), "{error}");
        }
        let endless = "## template: jinja\n#cloud-config\n{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        assert!(matches!(filled(endless), Err(FormError::Template { line: 3, .. })));
        let mut told = sample();
        told.more.insert("large".to_owned(), "x".repeat(60_000).into());
        let growing =
            format!("## template: jinja\n#cloud-config\n{}", "{{ ds.meta_data.large }}".repeat(100));
        assert!(
            matches!(kairos(growing.as_bytes(), &told), Err(FormError::Template { .. })),
            "it is limited"
        );
    }
}
