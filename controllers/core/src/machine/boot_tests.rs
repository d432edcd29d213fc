//! What machines have booted.

use beskar7_api::boot::ConfigVolume;
use serde_json::{Value, json};

use super::*;

const ON: Delivery = Delivery::On { url_length: 80, agent: crate::delivery::AgentBoot::None };
const ISO: &str = "https://x/y.iso";

fn ordered(spec: Value, delivery: Delivery) -> Result<Order, String> {
    order(&serde_json::from_value(spec).unwrap(), delivery)
}

#[test]
fn a_pre_baked_iso_is_booted_as_it_is() {
    let spec = json!({"provisioningMode": "PreBakedISO", "imageURL": ISO, "bootMode": "Legacy"});
    let order = ordered(spec, Delivery::Off).unwrap();
    assert_eq!(order.instructions.boot_iso_source.as_deref(), Some(ISO));
    assert_eq!(
        (boot_of(&order).method, boot_of(&order).boot_mode),
        (BootMethod::VirtualMedia, BootMode::Legacy)
    );
    assert_eq!(
        (order.parameters_by, order.bootstrap),
        (None, None),
        "any host and any bootstrap data will do"
    );
}

#[test]
fn a_remote_configuration_needs_a_host_that_gets_its_parameters() {
    use BootParameterMechanism::{ISOOverlay, UefiTarget};
    let spec = |mode: &str| {
        json!({
            "provisioningMode": "RemoteConfig", "imageURL": "http://x/y.iso", "osFamily": "kairos",
            "configURL": "http://x/c.yaml", "kernelArgs": ["console=ttyS0"], "bootMode": mode,
        })
    };
    for (delivery, mode, by) in [
        (Delivery::Off, "UEFI", [UefiTarget].as_slice()),
        (ON, "UEFI", &[ISOOverlay, UefiTarget]),
        (ON, "Legacy", &[ISOOverlay]),
    ] {
        let order = ordered(spec(mode), delivery).unwrap();
        assert_eq!(boot_of(&order).kernel_args, ["config_url=http://x/c.yaml", "console=ttyS0"]);
        assert_eq!((order.parameters_by, order.bootstrap), (Some(by), None), "{mode}");
    }
}

#[test]
fn without_a_config_url_the_bootstrap_data_is_delivered_in_the_form_that_the_system_reads() {
    for (family, argument, form) in [
        ("kairos", "config_url={{configURL}}/kairos", Form::CloudConfig),
        ("ubuntu", "ds=nocloud;s={{configURL}}/autoinstall/", Form::CloudConfig),
        ("flatcar", "ignition.config.url={{configURL}}/ignition", Form::Ignition),
        ("fedora-coreos", "ignition.config.url={{configURL}}/ignition", Form::Ignition),
        ("LeapMicro", "ignition.config.url={{configURL}}/ignition", Form::Ignition),
        ("talos", "talos.config={{configURL}}/talos", Form::Own),
        ("other", "my.config={{configURL}}/user-data", Form::Any),
    ] {
        let own = if family == "other" { vec![argument] } else { vec![] };
        let spec = json!({"provisioningMode": "RemoteConfig", "imageURL": ISO, "osFamily": family, "kernelArgs": own});
        let order = ordered(spec.clone(), ON).unwrap();
        assert!(
            boot_of(&order).kernel_args.contains(&argument.to_owned()),
            "{family}: {:?}",
            boot_of(&order)
        );
        assert_eq!(order.bootstrap, Some(form), "{family}");
        let error = ordered(spec, Delivery::Off).unwrap_err();
        assert!(error.contains("--boot-url") && error.contains("configURL"), "{family}: {error}");
    }
    let of_volume = json!({"provisioningMode": "PreBakedISO", "imageURL": ISO, "configVolume": "cidata"});
    let order = ordered(of_volume.clone(), ON).unwrap();
    assert_eq!(
        (boot_of(&order).config_volume, order.bootstrap),
        (Some(ConfigVolume::Cidata), Some(Form::Any))
    );
    assert!(ordered(of_volume, Delivery::Off).unwrap_err().contains("--boot-url"));
}

#[test]
fn a_machine_boots_from_the_network_in_three_ways() {
    for (mode, method) in
        [("iPXE", BootMethod::Ipxe), ("PXE", BootMethod::PXE), ("HTTPBoot", BootMethod::HTTPBoot)]
    {
        let spec = json!({
            "provisioningMode": mode, "kernel": "http://x/k", "initramfs": "http://x/i", "osFamily": "flatcar",
        });
        let order = ordered(spec.clone(), ON).unwrap();
        let boot = boot_of(&order);
        assert_eq!((boot.method, boot.kernel.as_deref()), (method, Some("http://x/k")));
        assert!(
            boot.kernel_args.contains(&"ignition.config.url={{configURL}}/ignition".to_owned()),
            "{boot:?}"
        );
        assert_eq!((order.bootstrap, order.parameters_by), (Some(Form::Ignition), None), "{mode}");
        assert!(order.is_from_network() && order.instructions.boot_iso_source.is_none());
        assert!(ordered(spec, Delivery::Off).unwrap_err().contains("--boot-url"));
    }
    let registry = json!({"provisioningMode": "iPXE", "imageURL": "oci://r.example.org/os:1"});
    let order = ordered(registry, ON).unwrap();
    assert_eq!(
        (order.instructions.image.as_ref().map(|image| image.name.as_str()), order.bootstrap),
        (Some("oci://r.example.org/os:1"), None)
    );
}

#[test]
fn a_disk_image_is_written_by_the_agent_and_always_gets_its_bootstrap_data() {
    use crate::delivery::AgentBoot;
    let spec = |more: Value| {
        let mut spec = json!({
            "provisioningMode": "DiskImage", "imageURL": "http://x/y.qcow2", "image": {"format": "qcow2"},
            "rootDeviceHints": {"model": "m"},
        });
        crate::claim::samples::merge(&mut spec, more);
        spec
    };
    for (agent, method) in
        [(AgentBoot::VirtualMedia, BootMethod::VirtualMedia), (AgentBoot::Network, BootMethod::Ipxe)]
    {
        let on = Delivery::On { url_length: 80, agent };
        for (more, volume, form) in [
            (json!({}), ConfigVolume::Cidata, Form::NoIgnition),
            (json!({"configVolume": "config-2"}), ConfigVolume::Config2, Form::Any),
            (json!({"osFamily": "ubuntu"}), ConfigVolume::Cidata, Form::CloudConfig),
            (json!({"osFamily": "flatcar"}), ConfigVolume::Config2, Form::Ignition),
            (json!({"osFamily": "talos"}), ConfigVolume::Cidata, Form::Own),
        ] {
            let order = ordered(spec(more.clone()), on).unwrap();
            assert_eq!(
                (boot_of(&order).config_volume, order.bootstrap),
                (Some(volume), Some(form)),
                "{more}"
            );
            assert_eq!(boot_of(&order).method, method);
            assert_eq!(order.parameters_by.is_some(), method == BootMethod::VirtualMedia);
            assert_eq!(
                order.instructions.image.as_ref().map(|image| image.name.as_str()),
                Some("http://x/y.qcow2")
            );
            let install = boot_of(&order).install.clone().unwrap();
            assert_eq!(install.root_device_hints.and_then(|hints| hints.model).as_deref(), Some("m"));
        }
    }
}

#[test]
fn what_cannot_be_carried_out_says_what_to_write_instead() {
    let remote = |more: Value| {
        let mut spec = json!({"provisioningMode": "RemoteConfig", "imageURL": ISO});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    for (spec, told) in [
        (json!({"provisioningMode": "PreBakedISO", "imageURL": "file:///y.iso"}), "web server"),
        (json!({"provisioningMode": "PreBakedISO", "imageURL": "oci://x/y"}), "http://"),
        (json!({"provisioningMode": "PreBakedISO"}), "imageURL is missing"),
        (json!({"provisioningMode": "iPXE", "imageURL": ISO}), "is none of these"),
        (json!({"provisioningMode": "PXE"}), "Nothing to boot"),
        (json!({"provisioningMode": "iPXE", "imageURL": "http://x/os.efi", "bootMode": "Legacy"}), "UEFI"),
        (json!({"provisioningMode": "iPXE", "kernel": "http://x/k", "osFamily": "debian"}), "a preseed file"),
        (
            json!({"provisioningMode": "DiskImage", "imageURL": "http://x/y.raw"}),
            "start the manager with --agent-iso, or with --agent-kernel and --agent-initramfs",
        ),
        (json!({"provisioningMode": "DiskImage"}), "imageURL is missing"),
        (json!({"provisioningMode": "DiskImage", "imageURL": "ftp://x/y"}), "oci://"),
        (
            json!({"provisioningMode": "DiskImage", "imageURL": "http://x/y", "image": {"format": "iso"}}),
            "raw or qcow2",
        ),
        (remote(json!({})), "osFamily is missing"),
        (remote(json!({"osFamily": "debian"})), "Set configURL to a preseed file"),
        (remote(json!({"osFamily": "rhel"})), "Set configURL to a kickstart file"),
    ] {
        let error = ordered(spec.clone(), ON).unwrap_err();
        assert!(error.contains(told), "{spec}: {error}");
    }
    for scheme in ["http", "https", "ftp", "HTTP"] {
        let image = format!("{scheme}://x/y.iso");
        let spec = json!({"provisioningMode": "PreBakedISO", "imageURL": image});
        assert!(ordered(spec, Delivery::Off).is_ok(), "{scheme}");
    }
}

fn boot_of(order: &Order) -> &HostBoot {
    order.instructions.boot.as_ref().unwrap()
}
