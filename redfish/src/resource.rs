//! One Redfish resource as a BMC gave it. Nothing in it is trusted: what has the wrong type is not there.

use std::collections::BTreeMap;

use serde_json::Value;

/// As many members of a collection as are believed.
pub(crate) const MOST_MEMBERS: usize = 4096;

/// A resource: where it was read, in which version, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    path: String,
    etag: Option<String>,
    value: Value,
}

impl Resource {
    pub(crate) fn new(path: &str, header_etag: Option<&str>, value: Value) -> Self {
        let in_body = value.get("@odata.etag").and_then(Value::as_str);
        let etag =
            header_etag.or(in_body).map(str::trim).filter(|tag| !tag.is_empty()).map(ToOwned::to_owned);
        Self { path: path.to_owned(), etag, value }
    }

    /// Where it was read.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its version, as the BMC wrote it.
    #[must_use]
    pub fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    /// What is at a path of names, such as `Status/Health`.
    #[must_use]
    pub fn at(&self, names: &str) -> Option<&Value> {
        names.split('/').try_fold(&self.value, |value, name| value.get(name)).filter(|value| !value.is_null())
    }

    /// A text that is not empty.
    #[must_use]
    pub fn text(&self, names: &str) -> Option<&str> {
        self.at(names)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// A whole number; some BMCs write them as text or with a fraction.
    #[must_use]
    pub fn number(&self, names: &str) -> Option<i64> {
        number(self.at(names)?)
    }

    /// Yes or no.
    #[must_use]
    pub fn flag(&self, names: &str) -> Option<bool> {
        self.at(names)?.as_bool()
    }

    /// The path that a link leads to.
    #[must_use]
    pub fn link(&self, names: &str) -> Option<&str> {
        link(self.at(names)?)
    }

    /// The paths that a list of links leads to.
    #[must_use]
    pub fn links(&self, names: &str) -> Vec<&str> {
        self.at(names)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(link)
            .take(MOST_MEMBERS)
            .collect()
    }

    /// A list of texts.
    #[must_use]
    pub fn texts(&self, names: &str) -> Vec<&str> {
        self.at(names).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Everything, for what only one place looks at.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }
}

/// A resource that is kept for long: as text, which takes a tenth of the memory. It is read again where it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    path: Box<str>,
    etag: Option<Box<str>>,
    text: Box<str>,
}

impl Packed {
    /// Keeps these members of a resource, and forgets the others: makers put long lists of their own into some.
    pub(crate) fn of(resource: &Resource, members: &[&str]) -> Self {
        let kept = members.iter().filter_map(|name| Some((*name, resource.value.get(name)?)));
        let kept: BTreeMap<&str, &Value> = kept.collect();
        Self {
            path: resource.path.as_str().into(),
            etag: resource.etag.as_deref().map(Into::into),
            // JSON that was read can be written.
            text: serde_json::to_string(&kept).unwrap_or_default().into(),
        }
    }

    pub(crate) fn unpacked(&self) -> Resource {
        Resource {
            path: self.path.to_string(),
            etag: self.etag.as_deref().map(str::to_owned),
            value: serde_json::from_str(&self.text).unwrap_or_default(),
        }
    }
}

/// The path in a link.
pub(crate) fn link(value: &Value) -> Option<&str> {
    value.get("@odata.id")?.as_str().filter(|path| path.starts_with('/'))
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The whole part of a number that has one.
#[expect(clippy::cast_possible_truncation, reason = "the range was looked at")]
fn whole(number: f64) -> Option<i64> {
    (number.is_finite() && number.abs() < 9e15).then(|| number.trunc() as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_the_wrong_type_is_not_there() {
        let resource = Resource::new(
            "/x",
            None,
            json!({
                "Model": " R750 ", "Serial": 7, "Empty": "  ", "Null": null, "Status": {"Health": "OK"},
                "Memory": "512", "Fraction": 384.5, "Huge": 1e300, "On": true, "NotOn": "true",
                "Link": {"@odata.id": "/redfish/v1/Chassis/1"}, "Elsewhere": {"@odata.id": "http://evil/"},
                "Links": [{"@odata.id": "/a"}, null, 7, {"@odata.id": "/b"}], "Members": null, "Types": ["CD", 3, "DVD"],
            }),
        );
        assert_eq!(resource.text("Model"), Some("R750"));
        assert_eq!(resource.text("Status/Health"), Some("OK"));
        for absent in ["Serial", "Empty", "Null", "Status/Health/Deeper", "Model/Deeper", "Nowhere", ""] {
            assert_eq!(resource.text(absent), None, "{absent}");
        }
        assert_eq!(resource.number("Memory"), Some(512));
        assert_eq!(resource.number("Fraction"), Some(384));
        assert_eq!(resource.number("Huge"), None);
        assert_eq!(resource.number("Model"), None);
        assert_eq!((resource.flag("On"), resource.flag("NotOn")), (Some(true), None));
        assert_eq!(resource.link("Link"), Some("/redfish/v1/Chassis/1"));
        assert_eq!(resource.link("Elsewhere"), None);
        assert_eq!(resource.links("Links"), ["/a", "/b"]);
        assert_eq!(resource.links("Members"), [""; 0]);
        assert_eq!(resource.texts("Types"), ["CD", "DVD"]);
    }

    #[test]
    fn what_is_kept_of_a_resource_is_as_it_was() {
        let body = json!({"Model": "R750", "Boot": {"Order": [1, null]}, "Oem": {"Dell": {"Much": "more"}}});
        let whole = Resource::new("/x", Some("\"2\""), body);
        let kept = Packed::of(&whole, &["Boot", "Model", "Absent"]).unpacked();
        assert_eq!((kept.path(), kept.etag()), ("/x", Some("\"2\"")));
        assert_eq!(kept.value(), &json!({"Model": "R750", "Boot": {"Order": [1, null]}}));
        let nothing = Packed::of(&Resource::new("/x", None, json!("text")), &["Model"]).unpacked();
        assert_eq!((nothing.text("Model"), nothing.etag()), (None, None));
    }

    #[test]
    fn an_etag_comes_from_the_header_or_the_body_and_an_empty_one_is_none() {
        let body = json!({"@odata.etag": "W/\"1\""});
        assert_eq!(Resource::new("/x", Some("\"2\""), body.clone()).etag(), Some("\"2\""));
        assert_eq!(Resource::new("/x", None, body).etag(), Some("W/\"1\""));
        assert_eq!(Resource::new("/x", Some(" "), json!({})).etag(), None);
    }
}
