//! A Machine's bootstrap data: whether it is there, and whether the machine can read it.

use beskar7_api::conditions::machine as reasons;

use super::{boot::Form, gate::Surroundings};
use crate::claim::Obstacle;

/// What was found of the Secret with a Machine's bootstrap data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootstrapData {
    /// There is none, and none is wanted.
    NotWanted,
    /// It is there, and is this.
    There(Kind),
    /// No such Secret.
    Absent(String),
    /// The Secret has no data under `value`.
    Empty(String),
    /// It can't be read.
    Unreadable {
        /// The Secret.
        name: String,
        /// Why.
        error: String,
    },
}

/// What bootstrap data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// cloud-config.
    CloudConfig,
    /// Ignition.
    Ignition,
    /// Something else, or nobody says.
    Unknown,
}

impl Kind {
    /// What its Secret says it is, under `format`, or how it begins. The contract takes data without a format for
    /// cloud-config; not every bootstrap provider knows that.
    #[must_use]
    pub fn of(format: Option<&[u8]>, value: &[u8]) -> Self {
        let begins = |text: &str| value.starts_with(text.as_bytes());
        match format {
            Some(b"ignition") => Self::Ignition,
            Some(b"cloud-config") | None if begins("#cloud-config") || begins("## template: jinja") => {
                Self::CloudConfig
            }
            None if begins("{") && contains(value, b"\"ignition\"") => Self::Ignition,
            Some(_) | None => Self::Unknown,
        }
    }
}

fn contains(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window == part)
}

/// The Secret with a Machine's bootstrap data, if it has one.
#[must_use]
pub fn bootstrap_secret<'a>(around: &Surroundings<'a>) -> Option<&'a str> {
    around.machine()?.spec.bootstrap.data_secret_name.as_deref().filter(|name| !name.is_empty())
}

impl BootstrapData {
    /// What stands in the way, if it is not as it should be: a machine that is booted without its data never becomes a
    /// node, so no host is taken for it. `wanted` is what the machine reads, where it is given the data.
    #[must_use]
    pub fn obstacle(&self, wanted: Option<Form>) -> Option<Obstacle> {
        let message = match (self, wanted) {
            (Self::NotWanted, None) | (Self::There(_), None) => return None,
            (Self::NotWanted, Some(_)) => "The machine is to be given its Machine's bootstrap data, and the Machine has none (its dataSecretName is empty): give it some, or set configURL where the provisioningMode takes one".to_owned(),
            (Self::There(kind), Some(form)) => mismatch(*kind, form)?.to_owned(),
            (Self::Absent(name), _) => format!(
                "The Secret {name} with the Machine's bootstrap data does not exist any more: delete the Machine, or restore the Secret"
            ),
            (Self::Empty(name), _) => format!("The Secret {name} holds no bootstrap data under the key value"),
            (Self::Unreadable { name, error }, _) => {
                format!("The Secret {name} with the Machine's bootstrap data can't be read: {error}")
            }
        };
        Some(Obstacle { reason: reasons::BOOTSTRAP_SECRET_NOT_USABLE, message, unwatched: true })
    }
}

/// Why a machine that reads this can't read that, if it can't.
fn mismatch(kind: Kind, form: Form) -> Option<&'static str> {
    match (form, kind) {
        (Form::Any, _)
        | (Form::CloudConfig, Kind::CloudConfig)
        | (Form::Ignition, Kind::Ignition)
        | (Form::NoIgnition, Kind::CloudConfig | Kind::Unknown)
        | (Form::Own, Kind::Unknown) => None,
        (Form::CloudConfig, Kind::Ignition | Kind::Unknown) => Some(
            "The machine's osFamily reads cloud-config, and its Machine's bootstrap data does not begin as one: set format: cloud-config in its KubeadmConfig, choose another osFamily, or set configURL",
        ),
        (Form::Ignition, Kind::CloudConfig | Kind::Unknown) => Some(
            "The machine's osFamily reads Ignition, and its Machine's bootstrap data is not: set format: ignition in its KubeadmConfig, choose another osFamily, or set configURL",
        ),
        (Form::NoIgnition, Kind::Ignition) => Some(
            "The machine's disk image finds its Machine's bootstrap data on a cidata volume, which Ignition does not read: set configVolume: config-2, and use an image that is made for OpenStack, or set format: cloud-config in its KubeadmConfig",
        ),
        (Form::Own, Kind::CloudConfig | Kind::Ignition) => Some(
            "The machine's osFamily reads only what its own bootstrap provider writes, and its Machine's bootstrap data is for another system: use that bootstrap provider, or set configURL",
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::machine::samples::{around, cluster, infrastructure, owner};

    #[test]
    fn an_empty_name_means_that_there_is_no_bootstrap_data() {
        let empty = owner(json!({"spec": {"bootstrap": {"dataSecretName": ""}}}));
        let (cluster, ours) = (cluster(json!({})), infrastructure(json!({})));
        assert_eq!(bootstrap_secret(&around(&empty, &cluster, &ours)), None);
        let named = owner(json!({}));
        assert_eq!(bootstrap_secret(&around(&named, &cluster, &ours)), Some("boot"));
    }

    #[test]
    fn data_is_what_its_format_says_or_how_it_begins() {
        for (format, value, expected) in [
            (Some("ignition"), "{}", Kind::Ignition),
            (Some("cloud-config"), "#cloud-config", Kind::CloudConfig),
            (Some("cloud-config"), "#!/bin/sh", Kind::Unknown),
            (None, "## template: jinja\n#cloud-config\n", Kind::CloudConfig),
            (None, "#cloud-config\n", Kind::CloudConfig),
            (None, "{\"ignition\": {}}", Kind::Ignition),
            (None, "version: v1alpha1\nmachine: {}", Kind::Unknown),
            (Some("talos"), "version: v1alpha1", Kind::Unknown),
        ] {
            assert_eq!(Kind::of(format.map(str::as_bytes), value.as_bytes()), expected, "{format:?} {value}");
        }
    }

    #[test]
    fn data_that_is_not_as_it_should_be_is_looked_at_again() {
        let name = || "boot".to_owned();
        assert_eq!(BootstrapData::There(Kind::Unknown).obstacle(None), None);
        assert_eq!(BootstrapData::NotWanted.obstacle(None), None);
        for data in [
            BootstrapData::Absent(name()),
            BootstrapData::Empty(name()),
            BootstrapData::Unreadable { name: name(), error: "forbidden".to_owned() },
        ] {
            let found = data.obstacle(Some(Form::Any)).unwrap();
            assert!(found.unwatched && found.message.contains("Secret boot"), "{found:?}");
            assert_eq!(found.reason, reasons::BOOTSTRAP_SECRET_NOT_USABLE);
        }
    }

    #[test]
    fn a_machine_is_not_booted_for_data_that_it_cannot_read() {
        for (form, kind, told) in [
            (Form::Any, Kind::Ignition, None),
            (Form::CloudConfig, Kind::CloudConfig, None),
            (Form::CloudConfig, Kind::Unknown, Some("does not begin as one")),
            (Form::CloudConfig, Kind::Ignition, Some("format: cloud-config")),
            (Form::Ignition, Kind::Ignition, None),
            (Form::Ignition, Kind::CloudConfig, Some("format: ignition")),
            (Form::Ignition, Kind::Unknown, Some("format: ignition")),
            (Form::Own, Kind::Unknown, None),
            (Form::Own, Kind::CloudConfig, Some("its own bootstrap provider")),
            (Form::NoIgnition, Kind::CloudConfig, None),
            (Form::NoIgnition, Kind::Unknown, None),
            (Form::NoIgnition, Kind::Ignition, Some("configVolume: config-2")),
        ] {
            let found = BootstrapData::There(kind).obstacle(Some(form)).map(|found| found.message);
            assert_eq!(found.is_some(), told.is_some(), "{form:?} {kind:?} {found:?}");
            assert!(found.is_none_or(|found| found.contains(told.unwrap())), "{form:?} {kind:?}");
        }
        let none = BootstrapData::NotWanted.obstacle(Some(Form::Any)).unwrap();
        assert!(none.message.contains("or set configURL"), "{none:?}");
    }
}
