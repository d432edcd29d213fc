//! With which MAC address a host boots from the network.

use beskar7_api::{PhysicalHost, hardware::Nic};

/// The address that people wrote down; else that of the one interface that can be meant: the only one with a link, or
/// the only one there is. Those that only the agent saw make no other one doubtful: they count where the BMC tells of none.
/// In lower case.
#[must_use]
pub fn boot_mac(host: &PhysicalHost) -> Option<String> {
    let written = host.spec.boot_mac_address.as_deref();
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    let nics = details.map(|details| details.hardware.nics.as_slice()).unwrap_or_default();
    let is_told = |nic: &Nic| nic.mac_address.is_some() && nic.unknown_to_bmc != Some(true);
    let some_are_told = nics.iter().any(is_told);
    let counts = |nic: &Nic| is_told(nic) || !some_are_told;
    let found = || only(nics, |nic| counts(nic) && nic.link_up == Some(true)).or_else(|| only(nics, counts));
    written.or_else(found).map(str::to_ascii_lowercase)
}

fn only(nics: &[Nic], is_meant: impl Fn(&Nic) -> bool) -> Option<&str> {
    let mut meant = nics.iter().filter(|nic| is_meant(nic)).filter_map(|nic| nic.mac_address.as_deref());
    let first = meant.next()?;
    meant.all(|other| other.eq_ignore_ascii_case(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::host::samples::host;

    #[test]
    fn an_address_is_taken_where_only_one_can_be_meant() {
        let nic = |mac: &str, up: Value| json!({"macAddress": mac, "linkUp": up});
        let of_agent = |mac: &str, up: Value| json!({"macAddress": mac, "linkUp": up, "unknownToBMC": true});
        for (spec, nics, expected) in [
            (json!({"bootMACAddress": "AA:00:00:00:00:01"}), json!([]), Some("aa:00:00:00:00:01")),
            (
                json!({"bootMACAddress": "aa:00:00:00:00:01"}),
                json!([nic("bb:00:00:00:00:01", json!(true))]),
                Some("aa:00:00:00:00:01"),
            ),
            (json!({}), json!([nic("BB:00:00:00:00:01", json!(null))]), Some("bb:00:00:00:00:01")),
            (
                json!({}),
                json!([nic("bb:00:00:00:00:01", json!(false)), nic("bb:00:00:00:00:02", json!(true))]),
                Some("bb:00:00:00:00:02"),
            ),
            (
                json!({}),
                json!([nic("bb:00:00:00:00:01", json!(true)), nic("bb:00:00:00:00:02", json!(true))]),
                None,
            ),
            (json!({}), json!([]), None),
            // What only the agent saw.
            (
                json!({}),
                json!([nic("bb:00:00:00:00:01", json!(true)), of_agent("bb:00:00:00:00:02", json!(true))]),
                Some("bb:00:00:00:00:01"),
            ),
            (
                json!({}),
                json!([nic("bb:00:00:00:00:01", json!(null)), of_agent("bb:00:00:00:00:02", json!(true))]),
                Some("bb:00:00:00:00:01"),
            ),
            (
                json!({}),
                json!([{"name": "NIC.1"}, of_agent("bb:00:00:00:00:02", json!(true))]),
                Some("bb:00:00:00:00:02"),
            ),
            (
                json!({}),
                json!([
                    of_agent("bb:00:00:00:00:01", json!(false)),
                    of_agent("bb:00:00:00:00:02", json!(true))
                ]),
                Some("bb:00:00:00:00:02"),
            ),
            (
                json!({}),
                json!([
                    of_agent("bb:00:00:00:00:01", json!(true)),
                    of_agent("bb:00:00:00:00:02", json!(true))
                ]),
                None,
            ),
        ] {
            let host = host(spec.clone(), json!({"hardwareDetails": {"nics": nics}}));
            assert_eq!(boot_mac(&host).as_deref(), expected, "{spec}");
        }
    }
}
