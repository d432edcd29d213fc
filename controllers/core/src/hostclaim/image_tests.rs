//! What kind of image it is, and what a host is told because of it.

use serde_json::{Value, json};

use super::{
    super::samples::{claim, host},
    *,
};

const ISO: &str = "http://images/os.iso";

fn with(spec: Value) -> HostClaim {
    claim(json!({ "spec": spec }))
}

#[test]
fn the_format_tells_and_else_the_ending() {
    for (given, expected) in [
        (json!({"url": ISO}), "iso"),
        (json!({"url": "https://images/OS.ISO?x=1.raw"}), "iso"),
        (json!({"url": "http://images/os", "format": "iso"}), "iso"),
        (json!({"url": "http://images/os.iso", "format": "raw"}), "disk http"),
        (json!({"url": "http://images/os.qcow2", "checksum": "http://images/os.md5"}), "disk http"),
        (json!({"url": "http://images/os.raw.zst"}), "disk http"),
        (json!({"url": "http://images/os.img"}), "disk http"),
        (json!({"url": "oci://images/os:1.0"}), "registry oci://images/os:1.0"),
        (json!({"url": "foo:latest", "format": "oci"}), "registry foo:latest"),
        (json!({"url": "oci://images/os:1.0", "format": "qcow2"}), "disk oci://images/os:1.0"),
        (json!({"url": "oci://images/os:1.0", "checksum": "0123456789abcdef0123456789abcdef"}), "own digest"),
        (json!({"url": "http://images/os"}), "format"),
        (json!({"url": "http://images/v1.2"}), "format"),
        (json!({"url": ISO, "checksum": "0123456789abcdef0123456789abcdef"}), "checksum"),
    ] {
        let found = match image(&with(json!({ "image": given }))) {
            Image::None => "none".to_owned(),
            Image::Iso(_) => "iso".to_owned(),
            Image::Kernel(url, _) => format!("kernel {url}"),
            Image::Registry(reference) => format!("registry {reference}"),
            Image::Disk(image) => format!("disk {}", image.url),
            Image::NotUsable(why) => why.to_owned(),
        };
        assert!(found.contains(expected), "{given}: {found}");
    }
    assert_eq!(image(&with(json!({}))), Image::None);
    assert_eq!(image(&with(json!({"kernel": "http://x/k"}))), Image::Kernel("http://x/k", None));
}

#[test]
fn what_is_no_iso_boots_from_the_network() {
    let kernel = json!({"kernel": "http://x/k", "initramfs": "http://x/i", "online": true});
    let registry = json!({"image": {"url": "oci://r.example.org/os:1"}, "online": true});
    for (spec, name) in [(&kernel, "http://x/k http://x/i"), (&registry, "oci://r.example.org/os:1")] {
        let told = instructions(&with(spec.clone()), Some(&host(json!({}))), &Synced::Yes, ON);
        let boot = told.boot.clone().unwrap();
        assert_eq!((told.boot_iso_source.as_deref(), told.image().as_deref()), (None, Some(name)), "{spec}");
        assert_eq!(
            (boot.method, boot.initramfs.is_some()),
            (BootMethod::Ipxe, spec.get("initramfs").is_some())
        );
        assert!(order(&with(spec.clone()), Delivery::Off).unwrap_err().contains("boot server"));
        assert_eq!(order(&with(spec.clone()), ON).unwrap().parameters_by, None, "any host will do");
        // What runs stays as it was told, and another image is another claim.
        let mut runs = host(json!({"spec": {"boot": boot}}));
        let marks = [(annotations::PROVISIONED, "id".to_owned()), (annotations::IMAGE, format!("id {name}"))];
        let marks = marks.map(|(key, value)| (key.to_owned(), value));
        runs.metadata.annotations = Some(marks.into());
        let again = instructions(&with(spec.clone()), Some(&runs), &Synced::Yes, ON);
        assert_eq!(
            (again.boot_iso_source.as_deref(), again.image().as_deref()),
            (None, Some(name)),
            "{spec}"
        );
        assert!(!wants_another(&with(spec.clone()), &runs, ON));
        for other in
            [json!({"kernel": "http://x/k2"}), json!({"kernel": "http://x/k", "initramfs": "http://x/i2"})]
        {
            assert!(wants_another(&with(other), &runs, ON));
        }
    }
    let volume = json!({"image": {"url": "foo:1", "format": "oci"}, "userData": {"name": "u"}, "configVolume": "cidata"});
    assert!(order(&with(volume), ON).unwrap_err().contains("configVolume"));
}

const ON: Delivery = Delivery::On { url_length: 80, agent: AgentBoot::None };

#[test]
fn a_disk_image_is_written_by_the_agent_with_its_configuration_behind_it() {
    let url = "http://images/os.qcow2";
    let disk = |more: Value| {
        let mut spec = json!({"image": {"url": url, "checksum": "http://images/os.md5"}, "online": true});
        crate::claim::samples::merge(&mut spec, more);
        with(spec)
    };
    for (agent, method) in
        [(AgentBoot::VirtualMedia, BootMethod::VirtualMedia), (AgentBoot::Network, BootMethod::Ipxe)]
    {
        let on = Delivery::On { url_length: 80, agent };
        let told = instructions(&disk(json!({})), Some(&host(json!({}))), &Synced::Yes, on);
        assert_eq!((told.boot_iso_source.as_deref(), told.image().as_deref()), (None, Some(url)));
        let boot = told.boot.unwrap();
        assert_eq!(
            (boot.method, boot.config_volume),
            (method, None),
            "there is nothing to configure it with"
        );
        let install = boot.install.clone().unwrap();
        assert_eq!(
            (install.image.as_str(), install.checksum.as_deref()),
            (url, Some("http://images/os.md5"))
        );
        let by = order(&disk(json!({})), on).unwrap().parameters_by;
        assert_eq!(by.is_some(), method == BootMethod::VirtualMedia, "the agent is told where to ask");
        // What runs stays as it was told; another image is another claim.
        let mut runs = host(json!({"spec": {"boot": boot}}));
        let marks = [(annotations::PROVISIONED, "id".to_owned()), (annotations::IMAGE, format!("id {url}"))];
        let marks = marks.map(|(key, value)| (key.to_owned(), value));
        runs.metadata.annotations = Some(marks.into());
        let again = instructions(&disk(json!({})), Some(&runs), &Synced::Yes, on);
        assert_eq!((again.boot_iso_source.as_deref(), again.image().as_deref()), (None, Some(url)));
        assert!(!wants_another(&disk(json!({})), &runs, on));
        assert!(wants_another(&disk(json!({"image": {"url": "http://images/newer.raw"}})), &runs, on));
        for (more, label) in [
            (json!({"userData": {"name": "u"}}), "cidata"),
            (json!({"metaData": {"name": "u"}}), "cidata"),
            (json!({"userData": {"name": "u"}, "configVolume": "config-2"}), "config-2"),
            (json!({"ignitionRef": {"name": "u"}}), "config-2"),
            (json!({"userData": {"name": "u"}, "osFamily": "flatcar"}), "config-2"),
        ] {
            let boot = order(&disk(more.clone()), on).unwrap().boot;
            assert_eq!(boot.config_volume.map(|volume| volume.label()), Some(label), "{more}");
        }
        for (more, why) in [
            (json!({"kernelArgs": ["quiet"]}), "kernelArgs"),
            (json!({"ignitionRef": {"name": "u"}, "configVolume": "cidata"}), "config-2"),
        ] {
            assert!(order(&disk(more), on).unwrap_err().contains(why), "{why}");
        }
    }
    for delivery in [ON, Delivery::Off] {
        let why = order(&disk(json!({})), delivery).unwrap_err();
        assert!(why.contains("the platform team has not turned on"), "{why}");
    }
}

#[test]
fn a_host_boots_when_the_claim_is_online_and_has_an_image_and_its_configuration() {
    let waits = Synced::no("SecretNotFound", "");
    for (spec, synced, iso, online) in [
        (json!({}), &Synced::Yes, None, false),
        (json!({"image": {"url": ISO}}), &Synced::Yes, None, false),
        (json!({"online": true}), &Synced::Yes, None, true),
        (json!({"image": {"url": ISO}, "online": true}), &Synced::Yes, Some(ISO), true),
        (json!({"image": {"url": "http://images/os.qcow2"}, "online": true}), &Synced::Yes, None, true),
        (json!({"image": {"url": ISO}, "online": true, "userData": {"name": "u"}}), &waits, None, true),
        (
            json!({"image": {"url": ISO}, "online": true, "userData": {"name": "u"}}),
            &Synced::Yes,
            Some(ISO),
            true,
        ),
        (json!({"image": {"url": ISO}, "online": true, "kernelArgs": ["a b\nc"]}), &Synced::Yes, None, true),
    ] {
        for held in [None, Some(&host(json!({})))] {
            let told = instructions(&with(spec.clone()), held, synced, ON);
            assert_eq!((told.boot_iso_source.as_deref(), told.online), (iso, Some(online)), "{spec}");
            assert_eq!(told.boot.is_some(), iso.is_some());
        }
    }
}

#[test]
fn an_image_finds_its_configuration_as_its_family_does() {
    let arguments = |spec: Value| order(&with(spec), ON).map(|order| order.boot.kernel_args);
    let own = |more: Value| {
        let mut spec = json!({"userData": {"name": "u"}});
        crate::claim::samples::merge(&mut spec, more);
        spec
    };
    let none: [&str; 0] = [];
    for (spec, expected) in [
        (json!({}), &none[..]),
        (json!({"osFamily": "talos", "kernelArgs": ["quiet"]}), &["quiet"]),
        (own(json!({})), &["ds=nocloud;s={{configURL}}/"]),
        (
            json!({"metaData": {"name": "m"}, "kernelArgs": ["quiet"]}),
            &["ds=nocloud;s={{configURL}}/", "quiet"],
        ),
        (own(json!({"kernelArgs": ["mine={{configURL}}/user-data"]})), &["mine={{configURL}}/user-data"]),
        (own(json!({"osFamily": "kairos"})), &["config_url={{configURL}}/kairos"]),
        (
            own(json!({"osFamily": "debian"})),
            &["auto=true", "priority=critical", "url={{configURL}}/user-data"],
        ),
        (own(json!({"osFamily": "rhel"})), &["inst.ks={{configURL}}/user-data"]),
        (own(json!({"configVolume": "cidata", "osFamily": "kairos"})), &none),
        (
            json!({"ignitionRef": {"name": "i"}}),
            &[
                "ignition.firstboot",
                "ignition.platform.id=metal",
                "ignition.config.url={{configURL}}/ignition",
            ],
        ),
    ] {
        assert_eq!(arguments(spec.clone()).unwrap(), expected, "{spec}");
    }
    let volume = order(&with(own(json!({"configVolume": "config-2"}))), ON).unwrap();
    assert_eq!(
        (volume.boot.config_volume.map(|volume| volume.label()), volume.parameters_by),
        (Some("config-2"), None)
    );
    assert!(order(&with(own(json!({}))), ON).unwrap().parameters_by.is_some());
}

#[test]
fn without_a_boot_server_there_is_no_configuration() {
    for spec in [
        json!({"userData": {"name": "u"}}),
        json!({"ignitionRef": {"name": "u"}, "configVolume": "config-2"}),
        json!({"kernelArgs": ["a={{configURL}}"]}),
    ] {
        let why = order(&with(spec.clone()), Delivery::Off).unwrap_err();
        assert!(why.contains("boot server"), "{spec}: {why}");
    }
    assert!(order(&with(json!({"kernelArgs": ["quiet"]})), Delivery::Off).is_ok());
}

#[test]
fn what_cannot_reach_the_machine_is_refused() {
    for (spec, told) in [
        (json!({"userData": {"name": "u"}, "osFamily": "other"}), "kernelArgs"),
        (json!({"metaData": {"name": "m"}, "osFamily": "talos"}), "give userData"),
        (json!({"networkData": {"name": "m"}, "osFamily": "flatcar"}), "give userData"),
    ] {
        let why = order(&with(spec.clone()), ON).unwrap_err();
        assert!(why.contains(told), "{spec}: {why}");
    }
}

#[test]
fn what_was_begun_stays_until_another_image_is_wanted_that_can_be_booted() {
    let begun = host(json!({
        "metadata": {"annotations": {
            "beskar7.infrastructure.cluster.x-k8s.io/provisioned": "id",
            "beskar7.infrastructure.cluster.x-k8s.io/image": format!("id {ISO}"),
        }},
        "spec": {"bootIsoSource": ISO, "boot": {"method": "VirtualMedia"}},
    }));
    for (spec, another) in [
        (json!({"image": {"url": ISO}, "online": true}), false),
        (json!({"image": {"url": ISO}}), false),
        (json!({"image": {"url": ISO}, "online": true, "userData": {"name": "new"}}), false),
        (json!({"image": {"url": "http://images/new.iso"}, "online": true}), true),
        (json!({"image": {"url": "http://images/new.qcow2"}, "online": true}), false),
        (json!({"online": true}), true),
    ] {
        let claim = with(spec.clone());
        let told = instructions(&claim, Some(&begun), &Synced::Yes, ON);
        assert_eq!(told.boot_iso_source.as_deref(), Some(ISO), "{spec}");
        assert_eq!(told.online, Some(claim.spec.online), "that it runs is another matter");
        assert_eq!(wants_another(&claim, &begun, ON), another, "{spec}");
    }
    assert!(
        !wants_another(&with(json!({})), &host(json!({"spec": {"bootIsoSource": ISO}})), ON),
        "not begun"
    );
}

#[test]
fn what_people_write_into_a_host_installs_nothing_again() {
    let mark = "beskar7.infrastructure.cluster.x-k8s.io/provisioned";
    let record = "beskar7.infrastructure.cluster.x-k8s.io/image";
    let claim = with(json!({"image": {"url": ISO}, "online": true}));
    for (annotations, source) in [
        // Edited, emptied and taken off.
        (json!({mark: "id", record: format!("id {ISO}")}), json!("http://mirror/os.iso")),
        (json!({mark: "id", record: format!("id {ISO}")}), json!("")),
        (json!({mark: "id", record: format!("id {ISO}")}), json!(null)),
        // What it runs was not written down, or for another claim.
        (json!({mark: "id"}), json!(ISO)),
        (json!({mark: "id"}), json!(null)),
        (json!({mark: "id", record: "older http://images/older.iso"}), json!(ISO)),
    ] {
        let held = host(json!({"metadata": {"annotations": annotations}, "spec": {"bootIsoSource": source}}));
        assert!(!wants_another(&claim, &held, ON), "{annotations} {source}");
        let told = instructions(&claim, Some(&held), &Synced::no("", ""), ON);
        assert_eq!(
            told.boot_iso_source.as_deref(),
            Some(ISO),
            "it gets back what was taken off: {annotations}"
        );
        assert!(told.boot.is_some());
    }
    let unknown = host(
        json!({"metadata": {"annotations": {mark: "id"}}, "spec": {"bootIsoSource": "http://mirror/os.iso"}}),
    );
    assert!(!wants_another(&claim, &unknown, ON), "nobody knows what it runs: it goes on");
    assert!(wants_another(&with(json!({"online": true})), &unknown, ON), "none is wanted, whatever it is");
}
