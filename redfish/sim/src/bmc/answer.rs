//! Requests and answers as the BMC sees them, and Redfish's error bodies.
//!
//! No HTTP library beyond its vocabulary: the server turns connections into these.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use serde_json::{Value, json};

/// What a client asks.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query, if there is one.
    pub query: Option<String>,
    /// Whether it came over TLS.
    pub secure: bool,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A header as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// What the BMC says.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// Headers beyond those that every answer has.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// A body.
#[derive(Debug, Clone)]
pub enum Body {
    /// None.
    Empty,
    /// A resource or an error.
    Json(Value),
    /// `$metadata`.
    Xml(String),
}

impl Answer {
    /// An answer without a body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Body::Empty }
    }

    /// An answer with a JSON body.
    #[must_use]
    pub fn json(status: StatusCode, body: Value) -> Self {
        Self { status, headers: HeaderMap::new(), body: Body::Json(body) }
    }

    /// The same with one header more; a value that can't be one is left out.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// A Redfish error: a message of a registry with its arguments.
    #[must_use]
    pub fn error(status: StatusCode, id: &str, text: &str, args: &[&str]) -> Self {
        Self::json(status, json!({ "error": error_object(id, text, args) }))
    }

    /// 404 for a resource that is not there.
    #[must_use]
    pub fn not_found(path: &str) -> Self {
        let text = format!("The resource at the URI '{path}' was not found.");
        Self::error(StatusCode::NOT_FOUND, "Base.1.12.ResourceMissingAtURI", &text, &[path])
    }

    /// 403 for whoever is known and may not.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::error(
            StatusCode::FORBIDDEN,
            "Base.1.12.InsufficientPrivilege",
            "There are insufficient privileges for the account or credentials associated with the current session to perform the requested operation.",
            &[],
        )
    }

    /// 400 for a body that is no JSON object.
    #[must_use]
    pub fn malformed() -> Self {
        Self::error(
            StatusCode::BAD_REQUEST,
            "Base.1.12.MalformedJSON",
            "The request body submitted was malformed JSON and could not be parsed by the receiving service.",
            &[],
        )
    }

    /// 400 for a property that a PATCH can't change.
    #[must_use]
    pub fn not_writable(property: &str) -> Self {
        let text = format!("The property {property} is a read-only property and cannot be assigned a value.");
        Self::error(StatusCode::BAD_REQUEST, "Base.1.12.PropertyNotWritable", &text, &[property])
    }

    /// 400 for a property that the resource does not know.
    #[must_use]
    pub fn unknown_property(property: &str) -> Self {
        let text =
            format!("The property {property} is not in the list of valid properties for the resource.");
        Self::error(StatusCode::BAD_REQUEST, "Base.1.12.PropertyUnknown", &text, &[property])
    }

    /// 400 for a value that is not among the allowable ones.
    #[must_use]
    pub fn not_in_list(property: &str, value: &str) -> Self {
        let text = format!(
            "The value '{value}' for the property {property} is not in the list of acceptable values."
        );
        Self::error(StatusCode::BAD_REQUEST, "Base.1.12.PropertyValueNotInList", &text, &[value, property])
    }

    /// 400 for a parameter of an action that is not there.
    #[must_use]
    pub fn missing_parameter(action: &str, parameter: &str) -> Self {
        let text = format!(
            "The action {action} requires the parameter {parameter} to be present in the request body."
        );
        Self::error(StatusCode::BAD_REQUEST, "Base.1.12.ActionParameterMissing", &text, &[action, parameter])
    }
}

/// What stands below `error`.
#[must_use]
pub fn error_object(id: &str, text: &str, args: &[&str]) -> Value {
    json!({
        "code": id,
        "message": text,
        "@Message.ExtendedInfo": [message(id, text, args)],
    })
}

fn message(id: &str, text: &str, args: &[&str]) -> Value {
    let severity = if id.ends_with("Success") { "OK" } else { "Critical" };
    json!({
        "@odata.type": "#Message.v1_1_2.Message",
        "MessageId": id,
        "Message": text,
        "MessageArgs": args,
        "MessageSeverity": severity,
        "Severity": severity,
        "Resolution": "See the message, correct the request and send it again.",
    })
}
