//! The HostBootConfiguration and the DHCPReservation that are made for a host because of its claim.

use beskar7_api::{
    DHCPReservationSpec, HostBootConfigurationSpec, HostClaim, PhysicalHost, conditions::host as reasons,
    labels, physical_host::HostBoot, reference::LocalReference,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::mac::boot_mac;
use crate::{host::contact::Trouble, hostclaim::Part};

/// What stands for a claim's secret in the URL that its host boots from.
pub const CAPABILITY: &str = "{{capability}}";

/// What is made for a host. Both have the host's name, belong to it, and bear the claim's ID.
#[derive(Debug, Clone, PartialEq)]
pub struct Resources {
    /// What it boots.
    pub configuration: HostBootConfigurationSpec,
    /// What it is told when it asks.
    pub reservation: DHCPReservationSpec,
}

/// What is made for a host that boots from the network. `tenants` is the claim that holds it, where a HostClaim does;
/// `boots_from` the URL that its loader is given.
///
/// # Errors
/// It is not known with which address it boots.
pub fn resources(
    host: &PhysicalHost,
    boot: &HostBoot,
    tenants: Option<&HostClaim>,
    boots_from: &str,
) -> Result<Resources, Trouble> {
    let name = host.metadata.name.clone().unwrap_or_default();
    let host_ref = LocalReference { name: name.clone() };
    let Some(host_mac) = boot_mac(host) else {
        return Err(Trouble {
            reason: reasons::BOOT_MAC_UNKNOWN,
            message: "The machine is not booted: it boots from the network, and with which of its addresses is not known. Set spec.bootMACAddress".to_owned(),
            passes: false,
        });
    };
    let copy = || Some(LocalReference { name: Part::UserData.copy(&name) });
    let spec = tenants.map(|claim| &claim.spec);
    let configuration = HostBootConfigurationSpec {
        host_ref: host_ref.clone(),
        method: boot.method,
        kernel: boot.kernel.clone(),
        initramfs: boot.initramfs.clone(),
        kernel_args: boot.kernel_args.clone(),
        image: boot.image.clone(),
        ignition_ref: spec.and_then(|spec| spec.ignition_ref.as_ref()).and_then(|_| copy()),
        user_data: spec.and_then(|spec| spec.user_data.as_ref()).and_then(|_| copy()),
    };
    let network = host.spec.boot_network.as_ref();
    let reservation = DHCPReservationSpec {
        host_ref,
        host_mac,
        ip_address: network.map(|network| network.ip_address.clone()),
        prefix: network.map(|network| network.prefix),
        gateway: network.and_then(|network| network.gateway.clone()),
        dns: network.map(|network| network.dns.clone()).unwrap_or_default(),
        ntp: network.map(|network| network.ntp.clone()).unwrap_or_default(),
        hostname: host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.clone()),
        lease_seconds: None,
        pxe_boot_parameters: Some(boots_from.to_owned()),
    };
    Ok(Resources { configuration, reservation })
}

/// Whether something was made for this host and this claim.
#[must_use]
pub fn belongs_to(object: &ObjectMeta, host: &PhysicalHost, claim: &str) -> bool {
    let owners = object.owner_references.as_deref().unwrap_or_default();
    let is_hosts = owners
        .iter()
        .any(|owner| owner.kind == "PhysicalHost" && Some(&owner.uid) == host.metadata.uid.as_ref());
    let label = object.labels.as_ref().and_then(|labels| labels.get(labels::CLAIM_ID));
    is_hosts && label.is_some_and(|label| label == claim)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::host::samples::{held, host};

    fn made(spec: Value, claim: Option<Value>) -> Result<Value, Trouble> {
        let mut whole = held();
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let host = host(whole, json!(null));
        let claim: Option<HostClaim> = claim.map(|spec| {
            serde_json::from_value(json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "HostClaim",
                "metadata": {"name": "c"}, "spec": spec,
            }))
            .unwrap()
        });
        let boot = host.spec.boot.clone().unwrap();
        let made = resources(&host, &boot, claim.as_ref(), "http://b/c/{{capability}}/boot.ipxe")?;
        Ok(json!({"boot": made.configuration, "dhcp": made.reservation}))
    }

    #[test]
    fn a_claim_makes_what_its_host_boots_and_what_it_is_told() {
        let boot =
            json!({"method": "iPXE", "kernel": "http://x/k", "initramfs": "http://x/i", "kernelArgs": ["a"]});
        let mac = "52:54:00:00:00:01";
        let found = made(json!({"boot": boot, "bootMACAddress": mac}), None).unwrap();
        assert_eq!(
            found["boot"],
            json!({"hostRef": {"name": "h"}, "method": "iPXE", "kernel": "http://x/k", "initramfs": "http://x/i",
                   "kernelArgs": ["a"]})
        );
        assert_eq!(found["dhcp"]["hostMAC"], mac);
        assert_eq!(found["dhcp"]["pxeBootParameters"], "http://b/c/{{capability}}/boot.ipxe");
        assert_eq!(found["dhcp"]["ipAddress"], Value::Null, "the site's own server gives it one");

        let network =
            json!({"ipAddress": "10.0.0.7", "prefix": 24, "gateway": "10.0.0.1", "dns": ["10.0.0.2"]});
        let spec = json!({"boot": boot, "bootMACAddress": mac, "bootNetwork": network});
        let found = made(spec.clone(), Some(json!({"ignitionRef": {"name": "theirs"}}))).unwrap();
        assert_eq!(found["boot"]["ignitionRef"]["name"], "h-userdata", "the copy, not the tenant's own");
        assert_eq!((&found["dhcp"]["ipAddress"], &found["dhcp"]["prefix"]), (&json!("10.0.0.7"), &json!(24)));
        let found = made(spec, Some(json!({"userData": {"name": "theirs"}}))).unwrap();
        assert_eq!(found["boot"]["userData"]["name"], "h-userdata");
        let unknown = made(json!({"boot": boot}), None).unwrap_err();
        assert_eq!((unknown.reason, unknown.passes), ("BootMACUnknown", false));
    }

    #[test]
    fn what_was_made_for_another_claim_or_host_is_not_this_ones() {
        let mut own = host(held(), json!(null));
        own.metadata.uid = Some("u".to_owned());
        let meta = |uid: &str, claim: &str| {
            serde_json::from_value::<ObjectMeta>(json!({
                "labels": {labels::CLAIM_ID: claim},
                "ownerReferences": [{"apiVersion": "v1", "kind": "PhysicalHost", "name": "h", "uid": uid}],
            }))
            .unwrap()
        };
        assert!(belongs_to(&meta("u", "c"), &own, "c"));
        assert!(!belongs_to(&meta("u", "old"), &own, "c"));
        assert!(!belongs_to(&meta("older", "c"), &own, "c"));
        assert!(!belongs_to(&ObjectMeta::default(), &own, "c"));
    }
}
