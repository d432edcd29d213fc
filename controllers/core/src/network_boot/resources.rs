//! The HostBootConfiguration and the DHCPReservation that are made for a host because of its claim.

use beskar7_api::{
    DHCPReservation, DHCPReservationSpec, HostBootConfigurationSpec, HostClaim, PhysicalHost,
    boot::AgentTask, conditions::host as reasons, physical_host::HostBoot, reference::LocalReference,
};

use super::mac::boot_mac;
use crate::{
    delivery::AgentBoot,
    host::{belongings::belongs_to, contact::Trouble},
    hostclaim::Part,
};

/// What stands for a claim's secret in the URL that its host boots from.
pub const CAPABILITY: &str = "{{capability}}";

/// What is made for a host. Both have the host's name, belong to it, and bear the claim's ID.
#[derive(Debug, Clone, PartialEq)]
pub struct Resources {
    /// What it boots.
    pub configuration: HostBootConfigurationSpec,
    /// What it is told when it asks, where it boots from the network.
    pub reservation: Option<DHCPReservationSpec>,
}

/// Where the agent is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// The URL of its kernel, and that of its initial ramdisk.
    pub kernel: Option<(String, String)>,
    /// What that kernel is told besides: on which console the agent is read, and what this site's machines need.
    pub arguments: Vec<String>,
    /// The URL of its ISO, which has parameters of its own.
    pub iso: Option<String>,
}

impl Agent {
    /// How hosts start it. Where there are two ways, a BMC is told: that needs nothing of the network that hosts boot from.
    #[must_use]
    pub const fn boot(&self) -> AgentBoot {
        match (&self.iso, &self.kernel) {
            (Some(_), _) => AgentBoot::VirtualMedia,
            (None, Some(_)) => AgentBoot::Network,
            (None, None) => AgentBoot::None,
        }
    }
}

/// Whether something is made for a host that boots so: it fetches what it boots or installs from our server.
#[must_use]
pub fn needs_resources(boot: &HostBoot) -> bool {
    boot.method.is_from_network() || boot.install.is_some()
}

/// The address that a machine was made ready with under this claim. It renews its lease by it, and that no older reservation
/// has it was found out before the machine was turned on: what people write down meanwhile counts when it is made ready again.
#[must_use]
pub fn made_ready_with<'a>(
    found: Option<&'a DHCPReservation>,
    host: &PhysicalHost,
    claim: &str,
) -> Option<&'a str> {
    found.filter(|found| belongs_to(&found.metadata, host, claim)).map(|found| found.spec.host_mac.as_str())
}

/// What is made for a host that boots from the network, or starts the agent, for a `task` where it is on an errand. `tenants`
/// is the claim that holds it, where a HostClaim does; `boots_from` the URL that its loader is given; `mac` the address that
/// its machine was made ready with, where that is to stay.
///
/// # Errors
/// It is not known with which address it boots.
pub fn resources(
    host: &PhysicalHost,
    (boot, task): (&HostBoot, Option<AgentTask>),
    tenants: Option<&HostClaim>,
    boots_from: &str,
    agent: &Agent,
    mac: Option<&str>,
) -> Result<Resources, Trouble> {
    let reservation = match boot.method.is_from_network() {
        true => Some(reservation(host, boots_from, mac)?),
        false => None,
    };
    let name = host.metadata.name.clone().unwrap_or_default();
    let copy = || Some(LocalReference { name: Part::UserData.copy(&name) });
    let spec = tenants.map(|claim| &claim.spec);
    let mut kernel_args = boot.kernel_args.clone();
    let starts_agent = boot.install.is_some() || task.is_some();
    let (kernel, initramfs, image) = match (starts_agent, boot.method.is_from_network()) {
        (false, _) => (boot.kernel.clone(), boot.initramfs.clone(), boot.image.clone()),
        (true, true) => {
            kernel_args.splice(..0, agent.arguments.clone());
            let (kernel, initramfs) = agent.kernel.clone().unzip();
            (kernel, initramfs, None)
        }
        (true, false) => (None, None, agent.iso.clone()),
    };
    let configuration = HostBootConfigurationSpec {
        host_ref: LocalReference { name: name.clone() },
        method: boot.method,
        kernel,
        initramfs,
        kernel_args,
        image,
        install: boot.install.clone(),
        task,
        ignition_ref: spec.and_then(|spec| spec.ignition_ref.as_ref()).and_then(|_| copy()),
        user_data: spec.and_then(|spec| spec.user_data.as_ref()).and_then(|_| copy()),
    };
    Ok(Resources { configuration, reservation })
}

fn reservation(
    host: &PhysicalHost,
    boots_from: &str,
    mac: Option<&str>,
) -> Result<DHCPReservationSpec, Trouble> {
    let Some(host_mac) = mac.map(str::to_owned).or_else(|| boot_mac(host)) else {
        return Err(Trouble {
            reason: reasons::BOOT_MAC_UNKNOWN,
            message: "The machine is not booted: it boots from the network, and with which of its addresses is not known. Set spec.bootMACAddress".to_owned(),
            passes: false,
        });
    };
    let network = host.spec.boot_network.as_ref();
    let host_ref = LocalReference { name: host.metadata.name.clone().unwrap_or_default() };
    Ok(DHCPReservationSpec {
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
    })
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
        let agent = Agent {
            kernel: Some(("http://a/k".to_owned(), "http://a/i".to_owned())),
            arguments: vec!["console=ttyS0".to_owned()],
            iso: Some("http://a/a.iso".to_owned()),
        };
        let made = resources(
            &host,
            (&boot, None),
            claim.as_ref(),
            "http://b/c/{{capability}}/boot.ipxe",
            &agent,
            None,
        )?;
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
    fn a_machine_that_was_made_ready_keeps_its_address_and_takes_what_else_is_changed() {
        let (before, edited) = ("52:54:00:00:00:01", "52:54:00:00:00:02");
        let reservation = |claim: &str| -> DHCPReservation {
            serde_json::from_value(json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DHCPReservation",
                "metadata": {"name": "h", "labels": {beskar7_api::labels::CLAIM_ID: claim},
                    "ownerReferences": [{"apiVersion": "v1", "kind": "PhysicalHost", "name": "h", "uid": "u"}]},
                "spec": {"hostRef": {"name": "h"}, "hostMAC": before},
            }))
            .unwrap()
        };
        let up = |mac: &str| json!({"macAddress": mac, "linkUp": true});
        for (spec, claim, expected) in [
            (json!({"bootMACAddress": edited}), Some("c"), Some(before)),
            (json!({"bootMACAddress": edited}), Some("old"), Some(edited)),
            (json!({"bootMACAddress": edited}), None, Some(edited)),
            // Another link is up by now, and nobody could say with which one it would boot.
            (json!({}), Some("c"), Some(before)),
            (json!({}), None, None),
        ] {
            let mut whole = held();
            whole["boot"] = json!({"method": "iPXE", "kernel": "http://x/k"});
            whole["bootNetwork"] = json!({"ipAddress": "10.0.0.8", "prefix": 24});
            whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            let mut host = host(whole, json!({"hardwareDetails": {"nics": [up(before), up(edited)]}}));
            host.metadata.uid = Some("u".to_owned());
            let found = claim.map(reservation);
            let mac = made_ready_with(found.as_ref(), &host, "c");
            let boot = host.spec.boot.clone().unwrap();
            let made = resources(&host, (&boot, None), None, "http://b", &Agent::default(), mac);
            let made = made.ok().and_then(|made| made.reservation);
            assert_eq!(made.as_ref().map(|made| made.host_mac.as_str()), expected, "{spec} {claim:?}");
            assert!(made.is_none_or(|made| made.ip_address.as_deref() == Some("10.0.0.8")), "{spec}");
        }
    }

    #[test]
    fn a_disk_image_is_written_by_the_agent_of_this_site() {
        let install = json!({"image": "http://x/os.qcow2", "checksumType": "auto"});
        let boot =
            |method: &str| json!({"boot": {"method": method, "install": install, "kernelArgs": ["a"]}});
        let found = made(boot("VirtualMedia"), None).unwrap();
        assert_eq!(
            found["boot"],
            json!({"hostRef": {"name": "h"}, "method": "VirtualMedia", "image": "http://a/a.iso", "install": install,
                   "kernelArgs": ["a"]})
        );
        assert_eq!(found["dhcp"], Value::Null, "it asks nobody for an address");
        let mut network = boot("iPXE");
        assert_eq!(made(network.clone(), None).unwrap_err().reason, "BootMACUnknown");
        network["bootMACAddress"] = json!("52:54:00:00:00:01");
        let found = made(network, None).unwrap();
        assert_eq!(
            (&found["boot"]["kernel"], &found["boot"]["initramfs"], &found["boot"]["image"]),
            (&json!("http://a/k"), &json!("http://a/i"), &Value::Null)
        );
        assert_eq!(found["boot"]["install"], install);
        assert_eq!(found["boot"]["kernelArgs"], json!(["console=ttyS0", "a"]), "the ISO has its own");
        assert_eq!(found["dhcp"]["hostMAC"], "52:54:00:00:00:01");
    }

    #[test]
    fn the_agent_is_started_by_an_iso_where_there_is_one() {
        let kernel = || Some((String::new(), String::new()));
        for (kernel, iso, expected) in [
            (None, None, AgentBoot::None),
            (kernel(), None, AgentBoot::Network),
            (None, Some(String::new()), AgentBoot::VirtualMedia),
            (kernel(), Some(String::new()), AgentBoot::VirtualMedia),
        ] {
            assert_eq!(Agent { kernel, iso, ..Agent::default() }.boot(), expected);
        }
    }
}
