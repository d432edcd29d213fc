//! What a machine is told when it asks what to boot.

use beskar7_api::PhysicalHost;

use crate::{
    agent::{Assignment, Said},
    delivery::{Way, booting, way},
    host::{
        discovery::turned_out_to_be,
        errand::Errand,
        heard::{Heard, Word},
    },
};

/// What a machine is told to boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// What its HostBootConfiguration says.
    Network,
    /// What is on its disk.
    Disk,
}

/// What the machine of a host is told under this claim. `heard_here` says which words this server has heard of it, and not
/// written down yet.
#[must_use]
pub fn told(host: &PhysicalHost, claim: &str, heard_here: impl Fn(Word) -> bool) -> Told {
    // Its machine is another host's, and starts from its disk.
    if turned_out_to_be(host).is_some() {
        return Told::Disk;
    }
    if another_came(host, claim) {
        return Told::Disk;
    }
    // The agent is started for as long as it is wanted, paused or not: nothing on the disk is to run.
    if Errand::standing(host).is_some_and(|errand| errand.id == claim && errand.armed.is_some()) {
        return Told::Network;
    }
    let Some(boot) = host.spec.boot.as_ref().filter(|boot| boot.method.is_from_network()) else {
        return Told::Disk;
    };
    // Nor is what is half written, paused or not, or while its consumer puts its reference back.
    let boots = match boot.install {
        Some(_) => Assignment::standing(host, claim).is_some(),
        None => booting(host, claim).is_some(),
    };
    if !boots {
        return Told::Disk;
    }
    // One that has not read its configuration has installed nothing: it may come again.
    let ends_with: &[Word] = match way(boot) {
        // The agent may begin anew as often as it must, until it is done.
        Some(_) | None if boot.install.is_some() => &[Word::Installed, Word::Home, Word::Node],
        Some(Way::Url | Way::Volume(_) | Way::Partition(_)) => &[Word::Configuration, Word::Home, Word::Node],
        None => &[Word::Image, Word::Configuration, Word::Home, Word::Node],
    };
    let heard = Heard::of(host, claim);
    if ends_with.iter().any(|word| heard.has(*word) || heard_here(*word)) {
        return Told::Disk;
    }
    Told::Network
}

/// Whether the machine that asks is known to be another one, which may be in use: what started the agent had another UUID, and
/// the address that people wrote down is none of those that are known of the host's machine. Both, because a BMC may tell
/// another UUID than its machine's firmware, and what is on the disk of the host's own machine is not to run. Armed again, or
/// with the address corrected, the right one is told to start the agent.
fn another_came(host: &PhysicalHost, claim: &str) -> bool {
    let Some(assignment) = Assignment::of(host, claim) else { return false };
    let came = Said::of(host, &assignment).is_some_and(|said| said.is_of_another_machine());
    let Some(written) = host.spec.boot_mac_address.as_deref().filter(|_| came) else { return false };
    let details = host.status.as_ref().and_then(|status| status.hardware_details.as_ref());
    let nics = details.map(|details| details.hardware.nics.as_slice()).unwrap_or_default();
    let mut known = nics.iter().filter_map(|nic| nic.mac_address.as_deref()).peekable();
    known.peek().is_some() && !known.any(|known| digits(known) == digits(written))
}

/// BMCs separate them in several ways, or not at all.
fn digits(mac: &str) -> String {
    mac.chars().filter(char::is_ascii_hexdigit).map(|digit| digit.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use beskar7_api::annotations::{
        AGENT, BOOTING, DELETE_FOR_MOVE, ERRAND, HEARD, PAUSED, PROVISIONED, RELEASE,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::host::samples::{held, host, with_annotations};

    fn with_boot(boot: &Value) -> Value {
        let mut spec = held();
        spec["boot"] = boot.clone();
        spec
    }

    #[test]
    fn a_machine_boots_from_the_network_once() {
        let plain = json!({"method": "iPXE", "kernel": "http://x/k"});
        let configured =
            json!({"method": "HTTPBoot", "kernel": "http://x/k", "kernelArgs": ["a={{configURL}}"]});
        let iso = json!({"method": "VirtualMedia"});
        let disk =
            json!({"method": "iPXE", "install": {"image": "http://x/y.raw"}, "configVolume": "cidata"});
        let begun = (BOOTING, "c 100 on");
        for (boot, marks, claim, expected) in [
            (&plain, vec![], "c", Told::Disk),
            (&plain, vec![begun], "c", Told::Network),
            (&plain, vec![begun], "another", Told::Disk),
            (&plain, vec![begun, (HEARD, "c image=101")], "c", Told::Disk),
            (&plain, vec![begun, (HEARD, "old image=101")], "c", Told::Network),
            (&plain, vec![(PROVISIONED, "c")], "c", Told::Disk),
            (&plain, vec![begun, (RELEASE, "c")], "c", Told::Disk),
            (&configured, vec![begun, (HEARD, "c image=101")], "c", Told::Network),
            (&configured, vec![begun, (HEARD, "c configuration=101")], "c", Told::Disk),
            (&configured, vec![begun, (HEARD, "c home=101")], "c", Told::Disk),
            (&iso, vec![begun], "c", Told::Disk),
            (&disk, vec![begun, (HEARD, "c image=101")], "c", Told::Network),
            (&disk, vec![begun, (HEARD, "c installed=101")], "c", Told::Disk),
            (&disk, vec![begun, (HEARD, "c home=101")], "c", Told::Disk),
            (&disk, vec![(PROVISIONED, "c")], "c", Told::Disk),
        ] {
            let host = with_annotations(host(with_boot(boot), json!(null)), &marks);
            assert_eq!(told(&host, claim, |_| false), expected, "{boot} {marks:?} {claim}");
        }
    }

    #[test]
    fn a_machine_on_an_errand_is_told_to_start_the_agent_and_nothing_on_its_disk() {
        let (armed, called) = ((ERRAND, "clean-full e 100 on"), (ERRAND, "clean-full e"));
        for (marks, id, expected) in [
            (vec![armed], "e", Told::Network),
            (vec![armed, (PAUSED, "")], "e", Told::Network),
            (vec![armed], "c", Told::Disk),
            (vec![called], "e", Told::Disk),
            (vec![], "e", Told::Disk),
        ] {
            let marks: Vec<_> = marks.into_iter().chain([(RELEASE, "c")]).collect();
            let host = host(json!({"claimID": "c"}), json!({"claimID": "c", "state": "Deprovisioning"}));
            assert_eq!(told(&with_annotations(host, &marks), id, |_| false), expected, "{marks:?} {id}");
        }
    }

    #[test]
    fn an_installation_goes_on_whatever_stands_on_its_host_meanwhile() {
        let begun = (BOOTING, "c 100 on");
        let installed = (HEARD, "c installed=101");
        let disk = json!({"method": "iPXE", "install": {"image": "http://x/y.raw"}});
        let plain = json!({"method": "iPXE", "kernel": "http://x/k"});
        for (boot, is_referred_to, marks, expected) in [
            (&disk, true, vec![begun, (PAUSED, "")], Told::Network),
            (&disk, false, vec![begun], Told::Network),
            (&disk, true, vec![begun, (PAUSED, ""), installed], Told::Disk),
            (&disk, false, vec![begun, installed], Told::Disk),
            (&disk, true, vec![(PROVISIONED, "c"), (PAUSED, "")], Told::Disk),
            (&disk, false, vec![(PROVISIONED, "c")], Told::Disk),
            (&disk, true, vec![(PAUSED, "")], Told::Disk),
            (&disk, true, vec![begun, (PAUSED, ""), (RELEASE, "c")], Told::Disk),
            (&disk, false, vec![begun, (RELEASE, "c")], Told::Disk),
            (&disk, true, vec![begun, (DELETE_FOR_MOVE, "")], Told::Disk),
            (&plain, true, vec![begun, (PAUSED, "")], Told::Disk),
            (&plain, false, vec![begun], Told::Disk),
        ] {
            let mut spec = with_boot(boot);
            if !is_referred_to {
                spec["consumerRef"] = json!(null);
            }
            let host = with_annotations(host(spec, json!({"claimID": "c"})), &marks);
            assert_eq!(told(&host, "c", |_| false), expected, "{boot} {is_referred_to} {marks:?}");
        }
    }

    #[test]
    fn another_machine_than_the_hosts_starts_from_its_disk_once_that_is_known() {
        let word = |order: &str, another: Option<&str>| {
            json!({"claim": "c", "second": 1, "order": order, "state": "failed", "another": another})
                .to_string()
        };
        let (came, failed) = (word("install-100-1", Some("u")), word("install-100-1", None));
        let before = word("install-90-1", Some("u"));
        let (mistyped, own) = ("52:54:00:00:00:0f", "52:54:00:00:00:0a");
        let nics = json!([{"macAddress": "52-54-00-00-00-0A"}, {"macAddress": "52:54:00:00:00:0b", "unknownToBMC": true}]);
        for (written, nics, said, is_paused, expected) in [
            (json!(mistyped), &nics, &came, false, Told::Disk),
            (json!(mistyped), &nics, &failed, false, Told::Network),
            (json!(mistyped), &nics, &before, false, Told::Network),
            (json!(mistyped), &nics, &came, true, Told::Network),
            // It may be the host's own, whose BMC tells another UUID than its firmware; or it was corrected.
            (json!(own), &nics, &came, false, Told::Network),
            (json!("52:54:00:00:00:0B"), &nics, &came, false, Told::Network),
            (json!(mistyped), &json!([]), &came, false, Told::Network),
            (json!(null), &nics, &came, false, Told::Network),
        ] {
            let mut spec = with_boot(&json!({"method": "iPXE", "install": {"image": "http://x/y.raw"}}));
            spec["bootMACAddress"] = written.clone();
            let marks = [(BOOTING, "c 100 on"), (AGENT, said.as_str())];
            let marks: Vec<_> = marks.into_iter().chain(is_paused.then_some((PAUSED, ""))).collect();
            let status = json!({"claimID": "c", "hardwareDetails": {"nics": nics}});
            let host = with_annotations(host(spec, status), &marks);
            assert_eq!(told(&host, "c", |_| false), expected, "{written} {nics} {marks:?}");
        }
        let errand = word("clean-100-1", Some("u")).replace("\"c\"", "\"e\"");
        let marks = [(ERRAND, "clean-full e 100 on"), (RELEASE, "c"), (AGENT, errand.as_str())];
        let spec = json!({"claimID": "c", "bootMACAddress": mistyped});
        let status = json!({"claimID": "c", "state": "Deprovisioning", "hardwareDetails": {"nics": nics}});
        let leaving = with_annotations(host(spec, status), &marks);
        assert_eq!(told(&leaving, "e", |_| false), Told::Disk);
    }

    #[test]
    fn what_is_not_written_down_yet_counts_too() {
        let boot = json!({"method": "PXE", "kernel": "http://x/k", "kernelArgs": ["a={{configURL}}"]});
        let host = with_annotations(host(with_boot(&boot), json!(null)), &[(BOOTING, "c 100")]);
        for (word, expected) in [
            (Word::Image, Told::Network),
            (Word::Configuration, Told::Disk),
            (Word::Node, Told::Disk),
            (Word::Home, Told::Disk),
        ] {
            assert_eq!(told(&host, "c", |heard| heard == word), expected, "{word:?}");
        }
    }
}
