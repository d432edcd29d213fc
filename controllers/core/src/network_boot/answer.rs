//! What a machine is told when it asks what to boot.

use beskar7_api::PhysicalHost;

use crate::{
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
    // The agent is started for as long as it is wanted, paused or not: nothing on the disk is to run.
    if Errand::standing(host).is_some_and(|errand| errand.id == claim && errand.armed.is_some()) {
        return Told::Network;
    }
    let Some(boot) = host.spec.boot.as_ref().filter(|boot| boot.method.is_from_network()) else {
        return Told::Disk;
    };
    if booting(host, claim).is_none() {
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

#[cfg(test)]
mod tests {
    use beskar7_api::annotations::{BOOTING, ERRAND, HEARD, PAUSED, PROVISIONED, RELEASE};
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
