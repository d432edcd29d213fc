//! Tables over the ways of kernel parameters.

use serde_json::{Value, json};

use super::*;

const ON: Delivery = Delivery::On { url_length: 80, agent: crate::delivery::AgentBoot::None };

/// What firmware is told to start, where it is told that.
fn target(spec: Value, boot: Value, architecture: Option<&str>) -> Result<Option<String>, Trouble> {
    Ok(found(spec, boot, architecture, Delivery::Off)?.map(|found| match found {
        Parameters::UefiTarget { loader, arguments } => format!("{loader} {}", arguments.join(" ")),
        Parameters::Overlay(arguments) => panic!("{arguments:?}"),
    }))
}

fn found(
    spec: Value,
    boot: Value,
    architecture: Option<&str>,
    delivery: Delivery,
) -> Result<Option<Parameters>, Trouble> {
    let mut whole =
        json!({"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "bmc"}});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let host: PhysicalHost = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal"},
        "spec": whole,
        "status": {"hardwareDetails": {"cpu": {"architecture": architecture}}},
    }))
    .unwrap();
    let boot: HostBoot = serde_json::from_value(boot).unwrap();
    parameters(&host, &boot, boot.method, delivery)
}

#[test]
fn parameters_stand_behind_the_loader_of_the_machines_architecture() {
    let by_target = json!({"bootParameterMechanism": "UefiTarget"});
    let declared = json!({"bootParameterMechanism": "UefiTarget", "architecture": "arm64"});
    let args = json!({"kernelArgs": ["config_url=http://c", "dyndbg=file a +p"]});
    let (x64, arm) = (
        r#"\EFI\BOOT\BOOTX64.EFI config_url=http://c dyndbg="file a +p""#,
        r#"\EFI\BOOT\BOOTAA64.EFI config_url=http://c dyndbg="file a +p""#,
    );
    for (spec, architecture, expected) in [
        (by_target.clone(), Some("amd64"), x64),
        (by_target, Some("arm64"), arm),
        // What the BMC tells counts more than what somebody wrote.
        (declared.clone(), Some("amd64"), x64),
        (declared, None, arm),
    ] {
        assert_eq!(target(spec, args.clone(), architecture), Ok(Some(expected.to_owned())));
    }
}

#[test]
fn without_parameters_nothing_is_refused() {
    for mechanism in ["ISOOverlay", "UefiTarget"] {
        for method in ["VirtualMedia", "iPXE", "PXE", "HTTPBoot", "Disk"] {
            for mode in ["UEFI", "Legacy"] {
                let boot = json!({"method": method, "bootMode": mode});
                let spec = json!({"bootParameterMechanism": mechanism});
                assert_eq!(target(spec, boot, None), Ok(None), "{mechanism} {method} {mode}");
            }
        }
    }
}

#[test]
fn what_cannot_be_passed_on_is_refused_with_what_to_do() {
    let by = |mechanism: &str| json!({"bootParameterMechanism": mechanism});
    let boot = |method: &str, mode: &str, args: &[&str]| json!({"method": method, "bootMode": mode, "kernelArgs": args});
    let iso = |mode: &str| boot("VirtualMedia", mode, &["a=b"]);
    for (spec, boot, architecture, told, passes) in [
        (
            json!({}),
            iso("UEFI"),
            Some("amd64"),
            "set bootParameterMechanism: UefiTarget on hosts whose firmware",
            false,
        ),
        (by("ISOOverlay"), iso("UEFI"), Some("amd64"), "start the manager with --boot-url", false),
        (by("ISOOverlay"), iso("Legacy"), Some("amd64"), "PreBakedISO", false),
        (by("UefiTarget"), iso("Legacy"), Some("amd64"), "set bootMode: UEFI", false),
        (by("UefiTarget"), iso("UEFI"), None, "set spec.architecture to amd64 or arm64", true),
        (by("UefiTarget"), boot("Disk", "UEFI", &["a"]), Some("amd64"), "remove them", false),
        (by("UefiTarget"), boot("VirtualMedia", "UEFI", &["a\nb"]), Some("amd64"), "line break", false),
        (
            by("UefiTarget"),
            boot("VirtualMedia", "UEFI", &["a b"]),
            Some("amd64"),
            "looks like several",
            false,
        ),
    ] {
        let refused = target(spec.clone(), boot.clone(), architecture).unwrap_err();
        assert_eq!((refused.reason, refused.passes), ("BootParametersUnsupported", passes), "{spec} {boot}");
        assert!(refused.message.contains(told), "{spec} {boot}: {}", refused.message);
        assert!(refused.message.contains("not booted") || passes, "{}", refused.message);
    }
}

#[test]
fn our_server_passes_them_on_with_any_firmware() {
    let args = json!(["config_url={{configURL}}/kairos", "dyndbg=file a +p"]);
    for mode in ["UEFI", "Legacy"] {
        let boot = json!({"bootMode": mode, "kernelArgs": args});
        let found = found(json!({}), boot, None, ON).unwrap();
        let expected = ["config_url={{configURL}}/kairos", r#"dyndbg="file a +p""#].map(ToOwned::to_owned);
        assert_eq!(found, Some(Parameters::Overlay(expected.into())), "{mode}");
    }
    let long = json!({"kernelArgs": [format!("a={{{{configURL}}}}{}", "b".repeat(1970))]});
    let refused = found(json!({}), long, None, ON).unwrap_err();
    assert!(refused.message.contains("2052 bytes"), "the URL counts as long as it will be: {refused:?}");
}
