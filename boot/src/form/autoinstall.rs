//! Ubuntu's autoinstall: the cloud-config is what the installed system is given as its user-data
//! (<https://canonical-subiquity.readthedocs-hosted.com/en/latest/reference/autoinstall-reference.html>).
//!
//! It goes in by indenting its lines, so that all that is in it stays as it was written. Where it is a template, the
//! document around it becomes one: the installer's cloud-init fills it in with our meta-data, which the installed system
//! does not have.

use bytes::Bytes;

use super::{CLOUD_CONFIG, CloudConfig, FormError, JINJA, nocloud::phone_home};
use crate::delivery::MetaData;

const INDENT: &str = "    ";

/// The autoinstall document around a cloud-config.
///
/// # Errors
/// It is no cloud-config.
pub fn autoinstall(user_data: &[u8], meta_data: &MetaData) -> Result<Bytes, FormError> {
    let config = CloudConfig::parse(user_data)?;
    let mut document = String::with_capacity(user_data.len() * 2);
    if config.is_template {
        document.push_str(JINJA);
        document.push('\n');
    }
    document.push_str(CLOUD_CONFIG);
    document.push_str("\nautoinstall:\n  version: 1\n  user-data:\n");
    for line in config.body.lines().filter(|line| !is_document_marker(line)) {
        // What is empty stays empty: an indented empty line would be text in a folded scalar.
        if !line.is_empty() {
            document.push_str(INDENT);
            document.push_str(line);
        }
        document.push('\n');
    }
    if !config.body.lines().any(|line| line.starts_with("phone_home:")) {
        phone_home(meta_data).lines().for_each(|line| {
            document.push_str(INDENT);
            document.push_str(line);
            document.push('\n');
        });
    }
    Ok(Bytes::from(document))
}

/// There is one document only.
fn is_document_marker(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}

#[cfg(test)]
mod tests {
    use super::super::nocloud::sample;
    use super::*;

    fn document(config: &str) -> String {
        String::from_utf8(autoinstall(config.as_bytes(), &sample()).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn a_cloud_config_keeps_its_shape() {
        let config = "## template: jinja\n#cloud-config\n---\nwrite_files:\n-   path: /a\n    content: |\n      one\n\n        two\nruncmd:\n  - 'echo {{ ds.meta_data.hostname }}'\n";
        let expected = "## template: jinja\n#cloud-config\nautoinstall:\n  version: 1\n  user-data:\n    write_files:\n    -   path: /a\n        content: |\n          one\n\n            two\n    runcmd:\n      - 'echo {{ ds.meta_data.hostname }}'\n    phone_home:\n      url: \"http://b/c/0/phone-home\"\n      post: [instance_id, hostname]\n      tries: 20\n";
        assert_eq!(document(config), expected);
        assert!(document("#cloud-config\na: b\n").starts_with("#cloud-config\nautoinstall:"));
    }

    #[test]
    fn who_calls_somewhere_else_still_does() {
        let own = document("#cloud-config\nphone_home:\n  url: http://elsewhere/\n");
        assert_eq!(own.matches("phone_home").count(), 1);
    }

    #[test]
    fn nothing_but_a_cloud_config_goes_in() {
        for data in ["#!/bin/sh\n", "", "{\"ignition\": {}}", "## template: jinja\n#!/bin/sh\n"] {
            assert_eq!(autoinstall(data.as_bytes(), &sample()), Err(FormError::NotCloudConfig), "{data}");
        }
        assert_eq!(autoinstall(&[0xff], &sample()), Err(FormError::NotText));
    }
}
