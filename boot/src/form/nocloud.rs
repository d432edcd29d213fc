//! cloud-init's NoCloud: <https://docs.cloud-init.io/en/latest/reference/datasources/nocloud.html>.
//!
//! `user-data` is the bootstrap data as it is. What a kubeadm template asks for as `{{ ds.meta_data.… }}` stands in
//! `meta-data`, with underscores: jinja reads a hyphen as a minus.

use serde_json::Value;

use super::quoted;
use crate::delivery::MetaData;

/// The names and values of what a machine is told of itself.
pub(crate) fn fields(meta_data: &MetaData) -> Vec<(&str, Value)> {
    let ours = ours(meta_data).into_iter().filter(|(name, _)| !meta_data.more.contains_key(*name));
    let ours = ours.map(|(name, value)| (name, Value::from(value)));
    ours.chain(meta_data.more.iter().map(|(name, value)| (name.as_str(), value.clone()))).collect()
}

fn ours(meta_data: &MetaData) -> Vec<(&'static str, &str)> {
    let mut fields = vec![
        ("instance-id", meta_data.instance_id.as_str()),
        ("local-hostname", meta_data.hostname.as_str()),
        ("hostname", meta_data.hostname.as_str()),
        ("provider_id", meta_data.provider_id.as_str()),
        ("host", meta_data.host.as_str()),
        ("host_namespace", meta_data.namespace.as_str()),
        ("phone_home_url", meta_data.phone_home_url.as_str()),
    ];
    let optional = [
        ("cluster", &meta_data.cluster),
        ("zone", &meta_data.zone),
        ("availability_zone", &meta_data.zone),
        ("uuid", &meta_data.uuid),
    ];
    fields.extend(optional.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
    fields
}

/// `meta-data`.
#[must_use]
pub fn meta_data(meta_data: &MetaData) -> String {
    // What is JSON is YAML, too.
    fields(meta_data).into_iter().map(|(name, value)| format!("{}: {value}\n", key(name))).collect()
}

/// A name, as YAML reads it.
fn key(name: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}

/// `vendor-data`: has cloud-init call home when it is done. What the user says in user-data counts more.
#[must_use]
pub fn vendor_data(meta_data: &MetaData) -> String {
    format!("#cloud-config\n{}", phone_home(meta_data))
}

/// The part of a cloud-config that has cloud-init call home.
pub(super) fn phone_home(meta_data: &MetaData) -> String {
    let url = quoted(&meta_data.phone_home_url);
    format!("phone_home:\n  url: {url}\n  post: [instance_id, hostname]\n  tries: 20\n")
}

#[cfg(test)]
pub(super) fn sample() -> MetaData {
    MetaData {
        instance_id: "c1".to_owned(),
        hostname: "edge-1".to_owned(),
        provider_id: "b7://metal/r1".to_owned(),
        zone: Some("rack \"1\"".to_owned()),
        host: "r1".to_owned(),
        namespace: "metal".to_owned(),
        cluster: None,
        uuid: None,
        phone_home_url: "http://b/c/0/phone-home".to_owned(),
        more: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_told_of_itself() {
        let expected = "instance-id: \"c1\"\nlocal-hostname: \"edge-1\"\nhostname: \"edge-1\"\nprovider_id: \"b7://metal/r1\"\nhost: \"r1\"\nhost_namespace: \"metal\"\nphone_home_url: \"http://b/c/0/phone-home\"\nzone: \"rack \\\"1\\\"\"\navailability_zone: \"rack \\\"1\\\"\"\n";
        assert_eq!(meta_data(&sample()), expected);
        let mut told = sample();
        told.more.insert("local-hostname".to_owned(), "mine".into());
        told.more.insert("odd: name".to_owned(), serde_json::json!({"a": [1, true]}));
        let text = meta_data(&told);
        assert!(
            text.contains("\nlocal-hostname: \"mine\"\n") && !text.contains("local-hostname: \"edge-1\""),
            "{text}"
        );
        assert!(text.ends_with("\"odd: name\": {\"a\":[1,true]}\n"), "{text}");
        assert_eq!(
            vendor_data(&sample()),
            "#cloud-config\nphone_home:\n  url: \"http://b/c/0/phone-home\"\n  post: [instance_id, hostname]\n  tries: 20\n"
        );
    }
}
