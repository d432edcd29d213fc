//! What a BMC says beside its status code: the extended messages of Redfish.

use std::fmt;

use serde_json::Value;

use crate::shown::shown;

/// As many messages as help a person; some BMCs send one per property.
const MOST: usize = 3;

/// One message: its key, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The key, without registry and version: `PropertyValueNotInList`, `SYS518`.
    pub key: String,
    /// The text, for people.
    pub text: String,
}

/// What a BMC said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Messages(Vec<Message>);

impl Messages {
    /// Finds the messages in the body of an answer, wherever the BMC put them. A body without any has none.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return Self::default() };
        let error = value.get("error").unwrap_or(&value);
        let extended = error.get("@Message.ExtendedInfo").or_else(|| value.get("@Message.ExtendedInfo"));
        let mut messages: Vec<Message> = match extended {
            Some(Value::Array(items)) => items.iter().filter_map(message).collect(),
            Some(one @ Value::Object(_)) => message(one).into_iter().collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => Vec::new(),
        };
        if messages.is_empty() {
            messages.extend(general(error));
        }
        messages.truncate(MOST);
        Self(messages)
    }

    /// Whether a message has this key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|message| message.key == key)
    }

    /// Whether a message's key or text contains these words, in any case.
    #[must_use]
    pub fn mention(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        self.0.iter().any(|message| {
            message.key.to_lowercase().contains(&words) || message.text.to_lowercase().contains(&words)
        })
    }

    /// Whether it said nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn message(value: &Value) -> Option<Message> {
    let id = value.get("MessageId").and_then(Value::as_str).unwrap_or_default();
    let key = id.rsplit('.').next().unwrap_or_default();
    let text = value.get("Message").and_then(Value::as_str).unwrap_or_default();
    (!key.is_empty() || !text.is_empty()).then(|| Message { key: shown(key), text: shown(text) })
}

fn general(error: &Value) -> Option<Message> {
    let code = error.get("code").and_then(Value::as_str).unwrap_or_default();
    let text = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let key = code.rsplit('.').next().unwrap_or_default();
    (!key.is_empty() || !text.is_empty()).then(|| Message { key: shown(key), text: shown(text) })
}

impl fmt::Display for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("it gave no reason");
        }
        for (n, Message { key, text }) in self.0.iter().enumerate() {
            let separator = if n == 0 { "" } else { "; " };
            match (key.is_empty(), text.is_empty()) {
                (_, true) => write!(f, "{separator}{key}")?,
                (true, false) => write!(f, "{separator}{text}")?,
                (false, false) => write!(f, "{separator}{text} ({key})")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_found_wherever_a_bmc_puts_them() {
        let one = json!({"MessageId": "Base.1.8.PropertyMissing", "Message": "The property X is missing."});
        for body in [
            json!({"error": {"code": "Base.1.8.GeneralError", "message": "See below", "@Message.ExtendedInfo": [one]}}),
            json!({"@Message.ExtendedInfo": [one]}),
            json!({"error": {"@Message.ExtendedInfo": one}}),
            json!({"error": {"code": "Base.1.8.PropertyMissing", "message": "The property X is missing."}}),
        ] {
            let messages = Messages::of(body.to_string().as_bytes());
            assert!(messages.has("PropertyMissing"), "{body}");
            assert_eq!(messages.to_string(), "The property X is missing. (PropertyMissing)");
        }
    }

    #[test]
    fn what_is_no_message_is_none() {
        for body in ["", "<html>busy</html>", "null", "[]", r#"{"error": 7}"#, r#"{"error": {"code": null}}"#]
        {
            assert_eq!(Messages::of(body.as_bytes()).to_string(), "it gave no reason", "{body}");
        }
    }

    #[test]
    fn a_bmc_can_neither_flood_nor_forge_a_log() {
        let long = json!({"@Message.ExtendedInfo": vec![json!({"Message": "a\u{1b}[2J\n".repeat(1000), "MessageId": "\n".repeat(1000)}); 1000]});
        let shown = Messages::of(long.to_string().as_bytes()).to_string();
        assert!(shown.len() < 2000, "{} bytes", shown.len());
        assert!(!shown.chars().any(char::is_control), "{shown}");
    }
}
