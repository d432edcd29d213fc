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

fn name_of(told: &Instructions) -> Option<&str> {
    told.image.as_ref().map(|image| image.name.as_str())
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
        assert_eq!((told.boot_iso_source.as_deref(), name_of(&told)), (None, Some(name)), "{spec}");
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
        assert_eq!((again.boot_iso_source.as_deref(), name_of(&again)), (None, Some(name)), "{spec}");
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
        assert_eq!((told.boot_iso_source.as_deref(), name_of(&told)), (None, Some(url)));
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
        assert_eq!((again.boot_iso_source.as_deref(), name_of(&again)), (None, Some(url)));
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

const CLAIM: &str = "id";
const DISK: &str = "http://images/os.img";
const AGENT: Delivery = Delivery::On { url_length: 80, agent: AgentBoot::Network };

/// A claim on a disk image of which this is given beside its URL.
fn on_disk(given: Value) -> HostClaim {
    let mut image = json!({"url": DISK});
    crate::claim::samples::merge(&mut image, given);
    with(json!({"image": image, "online": true}))
}

/// The host of this claim, which was told what it says, and turned on, with this mark of the image.
fn begun(claim: &HostClaim, mark: &str, booted: bool) -> PhysicalHost {
    let boot = instructions(claim, None, &Synced::Yes, AGENT).boot;
    let progress = if booted { annotations::PROVISIONED } else { annotations::BOOTING };
    let since = if booted { CLAIM.to_owned() } else { format!("{CLAIM} 100") };
    host(json!({
        "metadata": {"annotations": {annotations::IMAGE: mark, progress: since}},
        "spec": {"boot": boot},
    }))
}

fn mark_of(claim: &HostClaim, host: Option<&PhysicalHost>) -> String {
    instructions(claim, host, &Synced::Yes, AGENT).image.unwrap().written(CLAIM)
}

#[test]
fn another_checksum_or_format_is_another_image_once_both_are_known_and_before_it_runs_in_any_case() {
    let (one, two) = ("0123456789abcdef0123456789abcdef", "1123456789abcdef0123456789abcdef");
    // Whether it is installed anew before it runs, whether it is afterwards, and whether that is told where it is not.
    for (was, is, before, after, told) in [
        (json!({}), json!({}), false, false, false),
        (json!({"checksum": one}), json!({"checksum": one}), false, false, false),
        (json!({"checksum": one}), json!({"checksum": one.to_uppercase()}), false, false, false),
        (json!({"checksum": one}), json!({"checksum": two}), true, true, false),
        (json!({"format": "raw"}), json!({"format": "qcow2"}), true, true, false),
        (json!({"checksum": one}), json!({}), true, false, true),
        (json!({}), json!({"checksum": one}), true, false, true),
        (json!({"format": "raw"}), json!({}), true, false, true),
        (json!({}), json!({"format": "qcow2"}), true, false, true),
        // What can't be installed is no reason to take off what runs.
        (json!({"checksum": one}), json!({"checksum": "no digest"}), false, false, false),
    ] {
        let (was, is) = (on_disk(was), on_disk(is));
        let mark = mark_of(&was, None);
        let (boots, runs) = (begun(&was, &mark, false), begun(&was, &mark, true));
        assert_eq!(wants_another(&is, &boots, AGENT), before, "{:?} {:?}", was.spec.image, is.spec.image);
        assert_eq!(wants_another(&is, &runs, AGENT), after, "{:?} {:?}", was.spec.image, is.spec.image);
        if order(&is, AGENT).is_ok() {
            assert_eq!(later(&is, &runs).is_some(), told, "{:?} {:?}", was.spec.image, is.spec.image);
        }
        assert_eq!(later(&is, &boots), None);
        // What is written down of it stays, whatever is asked for now: the next look says the same.
        assert_eq!((mark_of(&is, Some(&runs)), mark_of(&is, Some(&boots))), (mark.clone(), mark));
    }
}

#[test]
fn no_manager_installs_anew_what_another_version_of_it_installed() {
    let (one, two) = ("0123456789abcdef0123456789abcdef", "1123456789abcdef0123456789abcdef");
    let given = [
        json!({}),
        json!({"checksum": one}),
        json!({"checksum": two}),
        json!({"format": "raw"}),
        json!({"format": "qcow2", "checksum": one}),
    ];
    for was in &given {
        for is in &given {
            for booted in [true, false] {
                // The tenant may have changed it under the older version, which did not mind.
                let (was, is) = (on_disk(was.clone()), on_disk(is.clone()));
                let mut host = begun(&was, &format!("{CLAIM} {DISK}"), booted);
                let asked = mark_of(&is, None);
                for look in 0..3 {
                    assert!(!wants_another(&is, &host, AGENT), "look {look}: {:?} {:?}", was.spec, is.spec);
                    let told = instructions(&is, Some(&host), &Synced::Yes, AGENT);
                    assert_eq!(told.boot, host.spec.boot, "what it was told stays");
                    let written = told.image.unwrap().written(CLAIM);
                    assert_eq!(written, asked, "from here on a change of it is one");
                    let all = host.metadata.annotations.get_or_insert_default();
                    all.insert(annotations::IMAGE.to_owned(), written);
                }
                assert_eq!(later(&is, &host), None);
                let changed =
                    on_disk(json!({"format": "raw", "checksum": "2123456789abcdef0123456789abcdef"}));
                let known = is.spec.image.as_ref().is_some_and(|image| image.details.checksum.is_some());
                assert_eq!(
                    wants_another(&changed, &host, AGENT),
                    known || !booted || asked.contains("qcow2")
                );
            }
        }
    }
    // While what is asked for can't be installed, nothing is taken for what was.
    let host = begun(&on_disk(json!({})), &format!("{CLAIM} {DISK}"), true);
    assert_eq!(mark_of(&on_disk(json!({"checksum": "no digest"})), Some(&host)), format!("{CLAIM} {DISK}"));
}

#[test]
fn what_people_write_into_a_host_that_runs_a_disk_image_installs_nothing_again() {
    let claim = on_disk(json!({"checksum": "0123456789abcdef0123456789abcdef"}));
    let mark = mark_of(&claim, None);
    for edited in [
        json!({"install": {"image": "http://mirror/os.img"}}),
        json!({"install": {"checksum": null}}),
        json!({"install": {"format": "qcow2"}}),
        json!({"install": null}),
        json!(null),
    ] {
        for mark in [mark.clone(), format!("{CLAIM} {DISK}")] {
            let mut host = json!(begun(&claim, &mark, true));
            crate::claim::samples::merge(&mut host, json!({"spec": {"boot": edited.clone()}}));
            let host: PhysicalHost = serde_json::from_value(host).unwrap();
            assert!(!wants_another(&claim, &host, AGENT), "{edited}");
            let again = instructions(&claim, Some(&host), &Synced::Yes, AGENT).image.unwrap();
            assert_eq!(again.name, DISK, "{edited}");
            assert_eq!(again.compared_to(&image(&claim).mark().unwrap()), Compared::Same, "{edited}");
        }
    }
}
