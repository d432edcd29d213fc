//! Tables over kernel parameters.

use super::*;

const URL: &str = "http://10.0.0.1/c";
const ON: Delivery = Delivery::On { url_length: 80, agent: crate::delivery::AgentBoot::None };

/// With a boot server.
fn parameters(family: OsFamily, url: Option<&str>, args: &[String]) -> Result<Vec<String>, ParameterError> {
    super::parameters(family, url, args, ON)
}

fn args(args: &[&str]) -> Vec<String> {
    args.iter().map(ToString::to_string).collect()
}

#[test]
fn every_family_is_told_where_its_configuration_is() {
    for (family, expected) in [
        (OsFamily::Kairos, "config_url=http://10.0.0.1/c"),
        (OsFamily::Talos, "talos.platform=metal talos.config=http://10.0.0.1/c"),
        (OsFamily::Flatcar, "flatcar.first_boot=1 ignition.config.url=http://10.0.0.1/c"),
        (
            OsFamily::FedoraCoreos,
            "ignition.firstboot ignition.platform.id=metal ignition.config.url=http://10.0.0.1/c",
        ),
        (
            OsFamily::LeapMicro,
            "rd.kiwi.install.pass.bootparam ignition.firstboot ignition.config.url=http://10.0.0.1/c",
        ),
        (
            OsFamily::Opensuse,
            "rd.kiwi.install.pass.bootparam ignition.firstboot ignition.config.url=http://10.0.0.1/c",
        ),
        (OsFamily::Ubuntu, "autoinstall ds=nocloud;s=http://10.0.0.1/c/"),
        (OsFamily::Debian, "auto=true priority=critical url=http://10.0.0.1/c"),
        (OsFamily::Rhel, "inst.ks=http://10.0.0.1/c"),
        (OsFamily::Centos, "inst.ks=http://10.0.0.1/c"),
        (OsFamily::Fedora, "inst.ks=http://10.0.0.1/c"),
    ] {
        assert_eq!(parameters(family, Some(URL), &[]).map(|all| all.join(" ")).as_deref(), Ok(expected));
    }
}

#[test]
fn a_users_own_parameters_come_last_and_may_name_the_url() {
    for (family, url, kernel_args, expected) in [
        (
            OsFamily::Kairos,
            Some(URL),
            args(&["console=ttyS0", "x={{configURL}}?a={{configURL}}"]),
            args(&[
                "config_url=http://10.0.0.1/c",
                "console=ttyS0",
                "x=http://10.0.0.1/c?a=http://10.0.0.1/c",
            ]),
        ),
        (
            OsFamily::Other,
            Some(URL),
            args(&["c={{configURL}}", "quiet"]),
            args(&["c=http://10.0.0.1/c", "quiet"]),
        ),
        // What needs no configuration is said without a URL.
        (OsFamily::Other, None, args(&["quiet"]), args(&["quiet"])),
        (OsFamily::Other, Some(""), args(&["quiet"]), args(&["quiet"])),
        (OsFamily::Other, None, args(&[]), args(&[])),
        // A user's own is the URL as it is: only the family knows that it means a directory.
        (
            OsFamily::Ubuntu,
            Some(URL),
            args(&["u={{configURL}}", "a=b c"]),
            args(&["autoinstall", "ds=nocloud;s=http://10.0.0.1/c/", "u=http://10.0.0.1/c", r#"a="b c""#]),
        ),
        // A URL may be a template of the operating system's own.
        (
            OsFamily::Kairos,
            Some("http://h/{{.Values.product.uuid}}"),
            args(&[]),
            args(&["config_url=http://h/{{.Values.product.uuid}}"]),
        ),
        (
            OsFamily::Talos,
            Some("HTTPS://h/?u=${uuid}"),
            args(&[]),
            args(&["talos.platform=metal", "talos.config=HTTPS://h/?u=${uuid}"]),
        ),
    ] {
        assert_eq!(parameters(family, url, &kernel_args), Ok(expected));
    }
}

#[test]
fn a_directory_ends_in_one_slash_unless_there_is_a_query() {
    for (url, expected) in [
        ("http://h", "ds=nocloud;s=http://h/"),
        ("http://h/a", "ds=nocloud;s=http://h/a/"),
        ("http://h/a/", "ds=nocloud;s=http://h/a/"),
        ("http://h/?host=a&file=", "ds=nocloud;s=http://h/?host=a&file="),
        ("file:///cdrom/seed", "ds=nocloud;s=file:///cdrom/seed/"),
    ] {
        let all = parameters(OsFamily::Ubuntu, Some(url), &[]).unwrap();
        assert_eq!(all.last().map(String::as_str), Some(expected));
    }
}

#[test]
fn what_cannot_work_is_refused_before_a_machine_boots() {
    for (family, url, kernel_args, told) in [
        (
            OsFamily::Debian,
            None,
            vec![],
            "Set configURL to a preseed file: there is no other way to configure it",
        ),
        (OsFamily::Rhel, None, vec![], "Set configURL to a kickstart file"),
        (
            OsFamily::Kairos,
            Some("file:///x"),
            vec![],
            "osFamily kairos can't read the configURL \"file:///x\": write one that begins with http:// or https://, or say",
        ),
        (OsFamily::Flatcar, Some("file:///x"), vec![], "osFamily flatcar can't read"),
        (OsFamily::LeapMicro, Some("file:///x"), vec![], "osFamily LeapMicro can't read"),
        (OsFamily::Debian, Some("file:///cdrom/p.cfg"), vec![], "osFamily debian can't read"),
        (OsFamily::Fedora, Some("file:///ks.cfg"), vec![], "osFamily fedora can't read"),
        (OsFamily::Ubuntu, Some("ftp://h/"), vec![], "begins with http:// or https:// or file://"),
        (OsFamily::Kairos, Some("10.0.0.1/c"), vec![], "can't read the configURL \"10.0.0.1/c\""),
        (OsFamily::Kairos, Some("http://h/a b"), vec![], "the configURL \"http://h/a b\" has a space"),
        (OsFamily::Kairos, Some("http://h/\nquiet"), vec![], "%-escape"),
        (OsFamily::Kairos, Some("http://h/\""), vec![], "%-escape"),
        (OsFamily::Kairos, Some("http://h/à"), vec![], "%-escape"),
        (
            OsFamily::Other,
            Some(URL),
            vec!["quiet"],
            "nothing says where configURL goes: write {{configURL}} into one of the kernelArgs",
        ),
        (
            OsFamily::Other,
            Some(URL),
            vec!["c={{configURL}}", "d={{ configURL }}"],
            "write {{configURL}}, exactly so",
        ),
        (OsFamily::Kairos, Some(URL), vec!["c={{configUrl}}"], "exactly so"),
        (OsFamily::Other, None, vec!["c={{ configurl }}"], "exactly so"),
        (OsFamily::Kairos, Some(URL), vec!["quiet splash"], "looks like several"),
        (OsFamily::Kairos, Some(URL), vec!["a\nb"], "line break"),
        (OsFamily::Kairos, Some(URL), vec![""], "is empty"),
        (OsFamily::Kairos, Some(URL), vec!["a=\"b"], "not closed"),
    ] {
        let refused = parameters(family, url, &args(&kernel_args)).unwrap_err().to_string();
        assert!(refused.contains(told), "{family:?} {url:?} {kernel_args:?}: {refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
    for family in [OsFamily::Kairos, OsFamily::Ubuntu, OsFamily::Flatcar, OsFamily::Talos] {
        for url in [None, Some("")] {
            let refused = super::parameters(family, url, &[], Delivery::Off).unwrap_err();
            assert_eq!(refused, ParameterError::NoBootServer(family));
        }
    }
    let own = super::parameters(OsFamily::Other, None, &args(&["c={{configURL}}"]), Delivery::Off);
    assert_eq!(own, Err(ParameterError::NoBootServer(OsFamily::Other)));
    let of_length = |length: usize| {
        super::parameters(
            OsFamily::Kairos,
            None,
            &[],
            Delivery::On { url_length: length, agent: crate::delivery::AgentBoot::None },
        )
        .map(|_| ())
    };
    assert_eq!(of_length(2047 - "config_url=/kairos".len()), Ok(()), "the URL counts as long as it will be");
    assert_eq!(of_length(2030), Err(ParameterError::Argument(ArgumentError::TooLong(2048))));
    let long = format!("http://h/{}", "a".repeat(2040));
    let refused = parameters(OsFamily::Kairos, Some(&long), &[]).unwrap_err();
    assert_eq!(refused, ParameterError::Argument(ArgumentError::TooLong(2060)));
}

#[test]
fn a_url_is_read_from_the_network_by_every_family() {
    for family in OsFamily::ALL {
        let row = row(family);
        assert!(row.schemes.contains(&"http") && row.schemes.contains(&"https"), "{family:?}");
        let places = row.parameters.iter().filter(|argument| argument.contains(PLACEHOLDER)).count();
        assert_eq!(places, usize::from(family != OsFamily::Other), "{family:?}");
        assert_eq!(row.sources.is_empty(), family == OsFamily::Other, "{family:?}");
    }
}
