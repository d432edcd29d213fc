//! Tables over the plan for a machine.

use beskar7_api::{
    annotations::{BOOTING, HEARD, PROVISIONED, RELEASE, RESTART, RESTARTED},
    boot::{BootMethod, BootMode},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    delivery::AgentBoot,
    host::{
        awaiting::{believable, may_lose_its_medium},
        boot_parameters::Parameters,
    },
};

const PATIENCE: Duration = Duration::from_secs(600);
const ISO: &str = "http://images/node.iso";

fn host(spec: Value, annotations: Value) -> PhysicalHost {
    let mut whole =
        json!({"redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "bmc"}});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": "h", "namespace": "metal", "annotations": annotations},
        "spec": whole,
    }))
    .unwrap()
}

fn held(more: Value) -> Value {
    let mut spec =
        json!({"consumerRef": {"kind": "Beskar7Machine", "name": "m"}, "claimID": "c", "bootIsoSource": ISO});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

fn seen(power: PowerState) -> Seen {
    Seen { power, armed: None, boot: None, medium: None }
}

/// What is planned this long after the mark was written.
fn planned(host: &PhysicalHost, seen: Seen, waited: i64) -> Plan {
    plan(host, seen, Timestamp::from_second(100 + waited).unwrap(), OFF)
}

const OFF: Means = Means { patience: PATIENCE, delivery: Delivery::Off, inspect: false };
const ON: Means = Means {
    patience: PATIENCE,
    delivery: Delivery::On { url_length: 80, agent: AgentBoot::None },
    inspect: false,
};

#[test]
fn what_runs_something_else_is_neither_booted_nor_kept_from_being_given_back() {
    let foreign = |annotations| host(held(json!({"externallyProvisioned": true})), annotations);
    for annotations in [json!({}), json!({BOOTING: "c 100 on progress"})] {
        for power in [PowerState::On, PowerState::Off] {
            let planned = planned(&foreign(annotations.clone()), seen(power), 1);
            let trouble = planned.refusal().unwrap();
            assert_eq!(trouble.reason, "ExternallyProvisioned");
            assert!(trouble.message.contains("set it to false"), "{}", trouble.message);
        }
    }
    let installed = foreign(json!({PROVISIONED: "c"}));
    assert_eq!(planned(&installed, seen(PowerState::Off), 1), Plan::Watch);
    let released = host(json!({"externallyProvisioned": true, "claimID": "c"}), json!({RELEASE: "c"}));
    assert_eq!(planned(&released, seen(PowerState::On), 1), Plan::Deprovision);
}

#[test]
fn a_host_that_nobody_holds_is_watched() {
    for spec in [
        json!({}),
        json!({"online": true}),
        json!({"consumerRef": {"kind": "Beskar7Machine", "name": "m"}, "bootIsoSource": ISO}),
        // Its consumer's reference was taken away, and nobody has released it.
        json!({"claimID": "c", "bootIsoSource": ISO}),
    ] {
        for power in [PowerState::On, PowerState::Off, PowerState::Unknown] {
            assert_eq!(planned(&host(spec.clone(), json!({})), seen(power), 0), Plan::Watch, "{spec}");
        }
    }
}

#[test]
fn a_released_host_is_deprovisioned_whatever_is_written_about_it() {
    for mut annotations in [json!({}), json!({PROVISIONED: "c"}), json!({BOOTING: "c 100"})] {
        annotations[RELEASE] = json!("c");
        let mut host = host(json!({"claimID": "c"}), annotations);
        assert_eq!(planned(&host, seen(PowerState::On), 0), Plan::Deprovision);
        // Only a clean machine's status names no claim in this state.
        host.status = serde_json::from_value(json!({"state": "Deprovisioning"})).unwrap();
        assert_eq!(planned(&host, seen(PowerState::On), 0), Plan::ClearClaim);
    }
}

#[test]
fn a_claim_is_begun_when_it_says_what_to_boot() {
    let begun = |spec: Value| planned(&host(held(spec), json!({})), seen(PowerState::On), 0);
    let iso = Wanted {
        image: Some(ISO.into()),
        method: BootMethod::VirtualMedia,
        mode: BootMode::UEFI,
        parameters: None,
        configuration: None,
        starts_agent: false,
    };
    assert_eq!(begun(json!({})), Plan::Install(iso.clone()));
    assert_eq!(begun(json!({"online": true})), Plan::Install(iso));
    assert_eq!(begun(json!({"online": false})), Plan::WaitForConsumer);
    assert_eq!(begun(json!({"bootIsoSource": ""})), Plan::WaitForConsumer);
    assert_eq!(
        begun(json!({"bootIsoSource": null, "boot": {"method": "VirtualMedia"}})),
        Plan::WaitForConsumer
    );
    let from_network = |more: Value| {
        let mut spec = held(json!({"bootIsoSource": null, "boot": {"method": "iPXE", "bootMode": "Legacy"}}));
        crate::claim::samples::merge(&mut spec, json!({ "boot": more }));
        host(spec, json!({}))
    };
    let planned =
        |host: &PhysicalHost, means| plan(host, seen(PowerState::Off), Timestamp::UNIX_EPOCH, means);
    assert_eq!(planned(&from_network(json!({})), ON), Plan::WaitForConsumer);
    for told in [json!({"kernel": "http://x/k", "kernelArgs": ["a"]}), json!({"image": "foo:latest"})] {
        let host = from_network(told);
        let Plan::Install(network) = planned(&host, ON) else { panic!("network boot needs no ISO") };
        assert_eq!((network.image, network.method, network.mode), (None, BootMethod::Ipxe, BootMode::Legacy));
        assert_eq!(network.parameters, None, "they are in what its loader fetches");
        let refused = planned(&host, Means { delivery: Delivery::Off, ..ON });
        assert_eq!(refused.refusal().map(|trouble| trouble.reason), Some("BootServerOff"));
    }
}

#[test]
fn a_machine_is_booted_with_its_kernel_parameters_or_not_at_all() {
    let spec = |mechanism: &str, more: Value| {
        let mut spec = json!({
            "boot": {"method": "VirtualMedia", "kernelArgs": ["a=b", "c"]},
            "bootParameterMechanism": mechanism,
            "architecture": "amd64",
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        held(spec)
    };
    let planned = |spec: Value, marks: Value| planned(&host(spec, marks), seen(PowerState::Off), 0);
    let Plan::Install(wanted) = planned(spec("UefiTarget", json!({})), json!({})) else {
        panic!("the firmware passes them on")
    };
    let expected = Parameters::UefiTarget {
        loader: r"\EFI\BOOT\BOOTX64.EFI",
        arguments: vec!["a=b".into(), "c".into()],
    };
    assert_eq!(wanted.parameters, Some(expected));
    assert_eq!(wanted.image.as_deref(), Some(ISO));
    let refused = planned(spec("ISOOverlay", json!({})), json!({}));
    assert_eq!(refused.refusal().map(|trouble| trouble.reason), Some("BootParametersUnsupported"));
    // There is nothing to refuse before something is wanted, and nothing is undone that was begun.
    for more in [json!({"online": false}), json!({"bootIsoSource": null})] {
        assert_eq!(planned(spec("ISOOverlay", more), json!({})), Plan::WaitForConsumer);
    }
    assert_eq!(planned(spec("ISOOverlay", json!({})), json!({BOOTING: "c 100 on"})), Plan::TurnOn);
    assert_eq!(planned(spec("ISOOverlay", json!({})), json!({PROVISIONED: "c"})), Plan::Watch);
}

#[test]
fn a_machine_that_bears_the_marks_of_another_claim_is_cleaned_unless_it_is_known_to_be_this_ones() {
    for annotations in
        [json!({PROVISIONED: "old"}), json!({BOOTING: "old 100 progress"}), json!({BOOTING: "?"})]
    {
        let mut host = host(held(json!({})), annotations.clone());
        assert_eq!(planned(&host, seen(PowerState::On), 0), Plan::Deprovision, "{annotations}");
        host.status = serde_json::from_value(json!({"claimID": "c"})).unwrap();
        assert!(matches!(planned(&host, seen(PowerState::On), 0), Plan::Install(_)), "{annotations}");
    }
    let begun = host(held(json!({})), json!({PROVISIONED: "old", BOOTING: "c 100 on progress"}));
    assert_eq!(planned(&begun, seen(PowerState::On), 0), Plan::AwaitBoot);
}

#[test]
fn an_installed_machine_is_restarted_once_when_it_is_asked_for_and_should_run() {
    for (online, power, done, expected) in [
        (json!(true), PowerState::On, "", "Restart"),
        (json!(true), PowerState::Off, "", "NoteRestarted"),
        (json!(false), PowerState::Off, "", "NoteRestarted"),
        (json!(false), PowerState::On, "", "Power(Off)"),
        (json!(true), PowerState::On, "7f", "Watch"),
        (json!(true), PowerState::Off, "7f", "Power(On)"),
        (json!(true), PowerState::PoweringOff, "", "Watch"),
        // Whose machine it is has no say in its power.
        (json!(null), PowerState::On, "", "Watch"),
    ] {
        let mut marks = json!({PROVISIONED: "c", RESTART: "soft 7f"});
        marks[RESTARTED] = json!(done);
        let host = host(held(json!({"online": online})), marks);
        let found = format!("{:?}", planned(&host, seen(power), 0));
        assert!(found.starts_with(expected), "{online} {power:?} {done}: {found}");
    }
    let booting =
        host(held(json!({"online": true})), json!({BOOTING: "c 100 on progress", RESTART: "hard 7f"}));
    assert_eq!(planned(&booting, seen(PowerState::On), 0), Plan::AwaitBoot, "not while it is installed");
}

#[test]
fn a_machine_that_was_turned_on_is_awaited_and_never_begun_again() {
    let on = |armed, boot| Seen { power: PowerState::On, armed, boot, medium: None };
    let progress = Plan::WriteSeen(Sight::By(Evidence::Progress));
    let used_up = Plan::WriteSeen(Sight::By(Evidence::Override));
    let unobservable = Plan::WriteSeen(Sight::Unobservable);
    for (mark, seen, waited, expected) in [
        ("c 100 on progress override", on(Some(true), Some(Boot::Firmware)), 0, Plan::AwaitBoot),
        ("c 100 on progress override", on(Some(false), Some(Boot::OperatingSystem)), 0, progress),
        // Used up is not yet booted, where the BMC will tell more; in the end it has to do.
        ("c 100 on progress override", on(Some(false), Some(Boot::Firmware)), 10, Plan::AwaitBoot),
        ("c 100 on progress override", on(Some(false), Some(Boot::Firmware)), 600, used_up.clone()),
        ("c 100 on override", on(Some(false), None), 0, used_up),
        ("c 100 on override", on(Some(true), None), 599, Plan::AwaitBoot),
        ("c 100 on override", on(Some(true), None), 600, unobservable.clone()),
        // What could not be believed before the boot can't be believed after it.
        ("c 100 on", on(Some(false), Some(Boot::OperatingSystem)), 0, Plan::AwaitBoot),
        ("c 100 on", on(Some(false), Some(Boot::OperatingSystem)), 600, unobservable),
        ("c 100 on progress", seen(PowerState::Off), 5, Plan::TurnOn),
        ("c 100 on progress", seen(PowerState::Off), 9999, Plan::TurnOn),
        ("c 100 on progress", seen(PowerState::PoweringOn), 9999, Plan::AwaitBoot),
        ("c 100 on progress", seen(PowerState::Unknown), 9999, Plan::AwaitBoot),
    ] {
        let host = host(held(json!({})), json!({BOOTING: mark}));
        assert_eq!(planned(&host, seen, waited), expected, "{mark} {seen:?} after {waited} s");
    }
}

#[test]
fn what_nobody_saw_running_is_made_ready_again_and_then_noted() {
    let marked = |spec: Value, mark: &str| host(held(spec), json!({BOOTING: mark}));
    let never_on = marked(json!({}), "c 100 progress");
    assert!(matches!(planned(&never_on, seen(PowerState::Off), 9999), Plan::Install(_)));
    let noted = Booting::parse("c 100 on progress").unwrap();
    assert_eq!(planned(&never_on, seen(PowerState::On), 5), Plan::NoteOn(noted));
    assert_eq!(planned(&never_on, seen(PowerState::On), 600), Plan::WriteSeen(Sight::Unobservable));
    for mark in ["c 100", "c 100 on"] {
        let unwanted = marked(json!({"online": false}), mark);
        assert_eq!(planned(&unwanted, seen(PowerState::Off), 5), Plan::WaitForConsumer);
    }
}

#[test]
fn a_machine_that_lost_its_medium_before_it_booted_begins_again_but_not_for_ever() {
    let empty = |armed, boot| Seen { power: PowerState::On, armed, boot, medium: Some(false) };
    let (firmware, system) = (Some(Boot::Firmware), Some(Boot::OperatingSystem));
    for (mark, seen, waited, again) in [
        // What runs after a minute can't have ejected it; what is said of the boot is of the disk.
        ("c 100 progress", empty(None, system), 10, true),
        ("c 100 on progress", empty(None, firmware), 10, true),
        ("c 100 on progress", empty(None, firmware), 599, true),
        ("c 100 on progress override", empty(Some(true), firmware), 599, true),
        ("c 100 on progress override", empty(Some(false), firmware), 10, true),
        // Its BMC never tells of more than firmware; that it booted is seen by its override.
        ("c 100 on progress override", empty(Some(false), firmware), 60, false),
        ("c 100 on progress override", empty(Some(false), firmware), 599, false),
        ("c 100 on override", empty(Some(true), None), 599, true),
        ("c 100 on try-4 override", empty(Some(true), None), 599, true),
        // Installers eject what they came from.
        ("c 100 on progress", empty(None, system), 300, false),
        ("c 100 on override", empty(Some(false), None), 300, false),
        // Nothing is known of the boot.
        ("c 100 on", empty(None, None), 300, false),
        ("c 100 on progress", Seen { medium: Some(true), ..empty(None, firmware) }, 10, false),
        ("c 100 on progress", Seen { medium: None, ..empty(None, firmware) }, 10, false),
    ] {
        let host = host(held(json!({})), json!({BOOTING: mark}));
        let planned = planned(&host, seen, waited);
        assert_eq!(matches!(planned, Plan::Install(_)), again, "{mark} {seen:?} {waited}: {planned:?}");
    }
    let tired = host(held(json!({})), json!({BOOTING: "c 100 on try-5 progress"}));
    let refused = planned(&tired, empty(None, firmware), 10);
    assert_eq!(refused.refusal().map(|trouble| trouble.reason), Some("MediumLost"));
    // Should it come up after all, that counts.
    let up = planned(&tired, Seen { medium: Some(true), ..empty(None, system) }, 20);
    assert_eq!(up, Plan::WriteSeen(Sight::By(Evidence::Progress)));
}

#[test]
fn drives_are_looked_into_only_while_a_boot_from_them_is_awaited() {
    let looked = |spec: Value, marks: Value| may_lose_its_medium(&host(spec, marks));
    assert!(looked(held(json!({})), json!({BOOTING: "c 100"})));
    assert!(!looked(held(json!({})), json!({})));
    assert!(!looked(held(json!({})), json!({PROVISIONED: "c"})));
    assert!(!looked(held(json!({"boot": {"method": "PXE"}})), json!({BOOTING: "c 100"})));
    assert!(!looked(json!({}), json!({BOOTING: "c 100"})));
}

#[test]
fn an_installed_machine_is_touched_only_when_its_consumer_says_so() {
    for (online, power, expected) in [
        (None, PowerState::Off, Plan::Watch),
        (None, PowerState::On, Plan::Watch),
        (Some(true), PowerState::Off, Plan::Power(Switch::On)),
        (Some(true), PowerState::On, Plan::Watch),
        (Some(true), PowerState::Unknown, Plan::Watch),
        (Some(false), PowerState::On, Plan::Power(Switch::Off)),
        (Some(false), PowerState::PoweringOff, Plan::Watch),
        (Some(false), PowerState::Off, Plan::Watch),
    ] {
        let host =
            host(held(json!({"online": online})), json!({PROVISIONED: "c", BOOTING: "c 100 progress"}));
        assert_eq!(planned(&host, seen(power), 9999), expected, "{online:?} {power:?}");
    }
}

#[test]
fn only_what_does_not_show_an_old_boot_is_believed() {
    let wanted = |spec: Value| {
        let planned = plan(&host(held(spec), json!({})), seen(PowerState::Off), Timestamp::UNIX_EPOCH, ON);
        let Plan::Install(wanted) = planned else { panic!("{planned:?}") };
        wanted
    };
    let plain = wanted(json!({}));
    let off = |armed, boot| believable(&plain, Seen { power: PowerState::Off, armed, boot, medium: None });
    assert_eq!(off(Some(true), Some(Boot::NotBegun)), [Evidence::Progress, Evidence::Override]);
    assert_eq!(off(Some(true), Some(Boot::OperatingSystem)), [Evidence::Override]);
    assert_eq!(off(Some(false), Some(Boot::Firmware)), [Evidence::Progress]);
    assert_eq!(off(None, None), []);
    let told = Seen { power: PowerState::Off, armed: Some(true), boot: Some(Boot::NotBegun), medium: None };
    let all = |spec: Value| believable(&wanted(spec), told);
    let (progress, image, used) = (Evidence::Progress, Evidence::Image, Evidence::Override);
    assert_eq!(all(json!({"boot": {"kernelArgs": ["a=b"]}})), [progress, image, used]);
    assert_eq!(all(json!({"boot": {"kernelArgs": ["a={{configURL}}"]}})), [Evidence::Configuration]);
    assert_eq!(
        all(json!({"boot": {"configVolume": "cidata"}})),
        [progress, used],
        "who reads a volume, the machine or its BMC, can't be told"
    );
}

#[test]
fn what_is_heard_of_a_machine_counts_more_than_what_its_bmc_shows() {
    let on = |armed, boot| Seen { power: PowerState::On, armed, boot, medium: None };
    let quiet = on(Some(true), Some(Boot::Firmware));
    let by = |evidence| Plan::WriteSeen(Sight::By(evidence));
    let ours = "c 100 on configuration";
    for (mark, heard, seen, waited, expected) in [
        (ours, "c home=101", quiet, 1, by(Evidence::Home)),
        (ours, "c node=101", quiet, 1, by(Evidence::Node)),
        ("c 100 on progress", "c home=101", quiet, 1, by(Evidence::Home)),
        ("c 100 on", "c node=101", quiet, 1, by(Evidence::Node)),
        // It may read it again in the next stage.
        (ours, "c configuration=200", quiet, 100, Plan::AwaitBoot),
        (ours, "c configuration=200", quiet, 699, Plan::AwaitBoot),
        (ours, "c configuration=200", quiet, 700, by(Evidence::Configuration)),
        (ours, "c configuration=690", quiet, 600, Plan::AwaitBoot),
        // What boots without its configuration is not what was wanted.
        (ours, "", on(Some(false), Some(Boot::OperatingSystem)), 599, Plan::AwaitBoot),
        // The loader runs in firmware: where the BMC tells more, that is waited for.
        ("c 100 on image override", "c image=101", quiet, 1, by(Evidence::Image)),
        ("c 100 on progress image", "c image=101", quiet, 1, Plan::AwaitBoot),
        ("c 100 on progress image", "c image=101", quiet, 600, by(Evidence::Image)),
        // Of another claim.
        (ours, "old home=101", quiet, 1, Plan::AwaitBoot),
        // What was heard of has run: it is turned on, and not begun again.
        ("c 100 configuration", "c configuration=101", seen(PowerState::Off), 1, Plan::TurnOn),
    ] {
        let host = host(held(json!({})), json!({BOOTING: mark, HEARD: heard}));
        let planned = plan(&host, seen, Timestamp::from_second(100 + waited).unwrap(), ON);
        assert_eq!(planned, expected, "{mark} {heard} {seen:?} after {waited} s");
    }
    // Its BMC may read the image without it.
    let read = host(held(json!({})), json!({BOOTING: "c 100 image", HEARD: "c image=101"}));
    let planned = plan(&read, seen(PowerState::Off), Timestamp::from_second(110).unwrap(), ON);
    assert!(matches!(planned, Plan::Install(_)), "{planned:?}");
    let silent = host(held(json!({})), json!({BOOTING: ours}));
    let told = plan(&silent, quiet, Timestamp::from_second(700).unwrap(), ON);
    assert_eq!(told.refusal().map(|trouble| trouble.reason), Some("ConfigurationNotRead"));
}

#[test]
fn nothing_is_begun_that_needs_a_boot_server_where_there_is_none() {
    for boot in [json!({"kernelArgs": ["a={{configURL}}"]}), json!({"configVolume": "cidata"})] {
        let host = host(held(json!({"boot": boot})), json!({}));
        let off = plan(&host, seen(PowerState::Off), Timestamp::UNIX_EPOCH, OFF);
        assert_eq!(off.refusal().map(|trouble| trouble.reason), Some("BootServerOff"), "{boot}");
        let on = plan(&host, seen(PowerState::Off), Timestamp::UNIX_EPOCH, ON);
        assert!(matches!(on, Plan::Install(_)), "{boot}: {on:?}");
    }
}

#[test]
fn a_configuration_on_a_volume_stays_open_until_the_machine_itself_is_heard_of() {
    let up =
        Seen { power: PowerState::On, armed: Some(false), boot: Some(Boot::OperatingSystem), medium: None };
    let dark = Seen { armed: None, boot: None, ..up };
    let by = |evidence| Plan::WriteSeen(Sight::By(evidence));
    for (mark, heard, seen, waited, expected) in [
        ("c 100 on progress override", "", up, 599, Plan::AwaitBoot),
        ("c 100 on progress override", "", up, 600, by(Evidence::Progress)),
        ("c 100 on progress override", "c home=200", up, 100, by(Evidence::Home)),
        ("c 100 on", "", dark, 599, Plan::AwaitBoot),
        ("c 100 on", "", dark, 600, Plan::WriteSeen(Sight::Unobservable)),
    ] {
        let spec = held(json!({"boot": {"configVolume": "cidata"}}));
        let host = host(spec, json!({BOOTING: mark, HEARD: heard}));
        let planned = plan(&host, seen, Timestamp::from_second(100 + waited).unwrap(), ON);
        assert_eq!(planned, expected, "{mark} {heard} after {waited} s");
    }
    let from_network =
        held(json!({"boot": {"configVolume": "cidata", "method": "PXE", "kernel": "http://x/k"}}));
    let refused = plan(&host(from_network, json!({})), seen(PowerState::Off), Timestamp::UNIX_EPOCH, ON);
    assert_eq!(refused.refusal().map(|trouble| trouble.reason), Some("BootParametersUnsupported"));
}

#[test]
fn an_empty_drive_means_what_the_way_of_the_configuration_lets_it_mean() {
    let empty = |armed, boot| Seen { power: PowerState::On, armed, boot, medium: Some(false) };
    for (mark, heard, seen, waited, again) in [
        ("c 100 on configuration", "", empty(None, None), 30, true),
        ("c 100 on configuration", "", empty(None, Some(Boot::Firmware)), 300, true),
        // An installer may have ejected it before it asked for its configuration, or what we heard got lost.
        ("c 100 on configuration", "", empty(None, None), 300, false),
        ("c 100 on configuration", "", empty(None, Some(Boot::OperatingSystem)), 300, false),
        ("c 100 on configuration", "c configuration=200", empty(None, None), 110, false),
        // What has run for so long is not begun again, whatever its BMC says.
        ("c 100 on configuration", "", empty(None, Some(Boot::Firmware)), 600, false),
        ("c 100 on progress", "", empty(None, Some(Boot::Firmware)), 600, false),
    ] {
        let host = host(held(json!({})), json!({BOOTING: mark, HEARD: heard}));
        let planned = planned(&host, seen, waited);
        assert_eq!(matches!(planned, Plan::Install(_)), again, "{mark} {heard} {waited}: {planned:?}");
    }
}

#[test]
fn a_deleted_host_waits_for_its_consumer_then_is_cleaned_and_not_for_ever() {
    let deleted = |spec: Value, status: Value| {
        let mut host = host(spec, json!({PROVISIONED: "c", RELEASE: "c"}));
        if host.spec.consumer_ref.is_some() {
            host.metadata.annotations.as_mut().unwrap().remove(RELEASE);
        }
        host.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:01:40Z")).unwrap();
        host.status = serde_json::from_value(status).unwrap();
        host
    };
    let at = |waited: i64| Timestamp::from_second(100 + waited).unwrap();
    let known = json!({"hardwareDetails": {"model": "R1"}});
    let installed = json!({"hardwareDetails": {"model": "R1"}, "state": "Provisioned", "claimID": "c"});
    for (spec, status, answers, silent, in_the_end) in [
        (held(json!({})), &known, Plan::Watch, Plan::Watch, Plan::Watch),
        (json!({"claimID": "c"}), &known, Plan::Deprovision, Plan::Watch, Plan::LetGo(Farewell::GivenUp)),
        // Somebody holds it: what else it runs does not let it go.
        (held(json!({"externallyProvisioned": true})), &installed, Plan::Watch, Plan::Watch, Plan::Watch),
        (json!({}), &known, Plan::Deprovision, Plan::Watch, Plan::LetGo(Farewell::GivenUp)),
        (
            json!({}),
            &json!({}),
            Plan::Deprovision,
            Plan::LetGo(Farewell::Clean),
            Plan::LetGo(Farewell::Clean),
        ),
        (
            json!({"externallyProvisioned": true}),
            &known,
            Plan::LetGo(Farewell::Clean),
            Plan::Watch,
            Plan::LetGo(Farewell::GivenUp),
        ),
    ] {
        let host = deleted(spec.clone(), status.clone());
        assert_eq!(plan(&host, seen(PowerState::On), at(1), OFF), answers, "{spec}");
        assert_eq!(plan_without_contact(&host, at(599), PATIENCE), silent, "{spec}");
        assert_eq!(plan_without_contact(&host, at(600), PATIENCE), in_the_end, "{spec}");
    }
    assert_eq!(
        plan_without_contact(&host(json!({"claimID": "c"}), json!({})), at(9999), PATIENCE),
        Plan::Watch
    );
}

#[test]
fn a_deleted_host_that_is_released_late_is_tried_for_as_long_as_any() {
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let released = |status: &str, since: &str| {
        let mut host = host(json!({"claimID": "c"}), json!({PROVISIONED: "c", RELEASE: "c"}));
        host.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:01:40Z")).unwrap();
        let told = json!({"type": "HostProvisioned", "status": status, "reason": "R", "message": "", "lastTransitionTime": since});
        let status = json!({"hardwareDetails": {"model": "R1"}, "claimID": "c", "conditions": [told]});
        host.status = serde_json::from_value(status).unwrap();
        host
    };
    let (early, late) = ("1970-01-01T00:00:10Z", "1970-01-01T01:23:20Z");
    for (status, since, second, over) in [
        // Nobody has looked at it since.
        ("True", early, 99_999, false),
        ("False", late, 5000, false),
        ("False", late, 5599, false),
        ("False", late, 5600, true),
        // Its boot was never seen, or it was released before its deletion.
        ("False", early, 699, false),
        ("False", early, 700, true),
    ] {
        let expected = if over { Plan::LetGo(Farewell::GivenUp) } else { Plan::Watch };
        let host = released(status, since);
        assert_eq!(plan_without_contact(&host, at(second), PATIENCE), expected, "{status} {since} {second}");
    }
}

#[test]
fn a_boot_from_the_network_is_seen_by_what_is_fetched_and_by_nothing_less() {
    let from_network = |args: &[&str]| {
        let boot = json!({"method": "PXE", "kernel": "http://x/k", "kernelArgs": args});
        held(json!({"bootIsoSource": null, "boot": boot}))
    };
    // The BMC sees firmware start a loader: its progress and the override that is used up say nothing.
    let up =
        Seen { power: PowerState::On, armed: Some(false), boot: Some(Boot::OperatingSystem), medium: None };
    let off = Seen { power: PowerState::Off, armed: Some(true), boot: Some(Boot::NotBegun), medium: None };
    for (args, evidence) in
        [(vec![], Evidence::Image), (vec!["a={{configURL}}/user-data"], Evidence::Configuration)]
    {
        let begun = plan(&host(from_network(&args), json!({})), off, Timestamp::UNIX_EPOCH, ON);
        let Plan::Install(wanted) = begun else { panic!("{begun:?}") };
        assert_eq!(believable(&wanted, off), [evidence], "{args:?}");
    }
    // It fetched its kernel, and whoever should have noted that it was on did not: it is not installed again.
    for (heard, again) in [("", true), ("c image=150", false)] {
        let host = host(from_network(&[]), json!({BOOTING: "c 100 image", HEARD: heard}));
        let planned = plan(&host, off, Timestamp::from_second(200).unwrap(), ON);
        assert_eq!(matches!(planned, Plan::Install(_)), again, "{heard}: {planned:?}");
    }
    let seen = Plan::WriteSeen(Sight::By(Evidence::Image));
    for (heard, waited, expected) in
        [("", 599, Some(Plan::AwaitBoot)), ("c image=150", 100, Some(seen)), ("", 600, None)]
    {
        let host = host(from_network(&[]), json!({BOOTING: "c 100 on image", HEARD: heard}));
        let planned = plan(&host, up, Timestamp::from_second(100 + waited).unwrap(), ON);
        match expected {
            Some(expected) => assert_eq!(planned, expected, "{heard} after {waited} s"),
            None => {
                assert_eq!(planned.refusal().map(|trouble| trouble.reason), Some("ArtifactsNotFetched"));
            }
        }
    }
}
