//! Whether a machine may be turned on for what it boots from the network.

use beskar7_api::{
    HostBootConfiguration, conditions, conditions::host as reasons,
    host_boot_configuration::BootConfigurationState,
};

use crate::{conditions::get, host::contact::Trouble};

/// Whether a HostBootConfiguration is ready, as it is now.
///
/// # Errors
/// It is not: why, for the host.
pub fn readiness(configuration: &HostBootConfiguration) -> Result<(), Trouble> {
    let status = configuration.status.as_ref();
    let current = status.filter(|status| {
        status.observed_generation.is_some()
            && status.observed_generation == configuration.metadata.generation
    });
    let why = match current.and_then(|status| status.state) {
        Some(BootConfigurationState::Ready) => return Ok(()),
        Some(BootConfigurationState::Error | BootConfigurationState::Pending) => {
            let conditions = current.map(|status| status.conditions.as_slice()).unwrap_or_default();
            get(conditions, conditions::READY).map(|condition| condition.message.clone())
        }
        None => None,
    };
    let name = configuration.metadata.name.as_deref().unwrap_or_default();
    let why = why.filter(|why| !why.is_empty()).unwrap_or_else(|| "it is being looked at".to_owned());
    Err(Trouble {
        reason: reasons::BOOT_CONFIGURATION_NOT_READY,
        message: format!("The machine is not booted before its HostBootConfiguration {name} is ready: {why}"),
        passes: true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn power_comes_only_once_it_is_ready() {
        let found = |status: Value| {
            let whole = json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostBootConfiguration",
                "metadata": {"name": "h", "generation": 2}, "status": status,
                "spec": {"hostRef": {"name": "h"}, "kernel": "http://x/k"},
            });
            readiness(&serde_json::from_value(whole).unwrap()).map_err(|trouble| trouble.message)
        };
        assert_eq!(found(json!({"state": "Ready", "observedGeneration": 2})), Ok(()));
        for (status, why) in [
            (json!(null), "being looked at"),
            (json!({"state": "Pending", "observedGeneration": 2}), "being looked at"),
            // Of another kernel.
            (json!({"state": "Ready", "observedGeneration": 1}), "being looked at"),
            (json!({"state": "Ready"}), "being looked at"),
            (
                json!({"state": "Error", "observedGeneration": 2, "conditions": [{
                    "type": "Ready", "status": "False", "reason": "ArtifactNotUsable", "message": "no kernel",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]}),
                "no kernel",
            ),
        ] {
            let message = found(status).unwrap_err();
            assert!(message.contains(why), "{message}");
        }
    }
}
