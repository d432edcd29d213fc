//! The desk's window for agents: what they are told to do, and what becomes of what they say.

use std::sync::Arc;

use beskar7_agent_protocol::{
    order::Order,
    report::{Cleaned, Outcome, Report, State, Wiping},
};
use beskar7_api::{HostBootConfiguration, PhysicalHost, hardware::Hardware};
use beskar7_boot::{
    capability::{Capability, Purpose, hidden},
    delivery::{Refusal, Reported},
};
use beskar7_core::{
    agent::{Assignment, Heard, Known, Next, NotReady, Said, Work, controllers, hear, inspection, next},
    delivery,
    host::{belongings::belongs_to, discovery::same_machine, heard::Word},
};
use kube::ResourceExt as _;

use super::{
    agents::Ended,
    desk::{BootDesk, REFERENCE_LOST, not_now},
    holders::Holder,
};
use crate::{causes::causes, clock::now, watch::key};

/// So many disks are named in an event, and so much of each name.
const MOST_DISKS_TOLD: usize = 12;
const LONGEST_NAME: usize = 32;

impl BootDesk {
    /// What the agent on a machine does next. The host is read for it: what a cache shows may be of the time before the
    /// machine was begun anew.
    pub(super) async fn next_order(&self, capability: &Capability) -> Result<Option<Order>, Refusal> {
        let (holder, seen) = self.holder(capability, Purpose::Agent)?;
        let turn = self.turn(&holder).await?;
        let host = self.now(&holder, |host, claim, _, _| delivery::image_is_open(host, claim)).await?;
        drop(turn);
        let made = self.made_for(&holder, &host);
        let heard_here = |word| self.hearing.has_heard(&host, &holder.claim, word);
        match next(&host, &holder.claim, made.as_deref(), heard_here) {
            Err(NotReady) => Err(not_now(&holder, "what its agent installs is not known here yet")),
            Ok(Next::Nothing) => Ok(None),
            Ok(Next::Work(order)) => {
                self.witness.saw(&seen, &holder.claim, "AgentAsked", "Its agent asked what to do".to_owned());
                if let Some(assignment) = Assignment::of(&host, &holder.claim) {
                    self.agents.said(&holder.host, Said::asked(&assignment, now()));
                }
                Ok(Some(order))
            }
            Ok(Next::PowerOff(order)) => Ok(Some(order)),
            Ok(Next::Restart(order)) => {
                // It goes down with that: it may never be heard again.
                self.hearing.hear(&holder.host, &host, &holder.claim, Word::Restarting).await;
                Ok(Some(order))
            }
        }
    }

    /// The boot configuration that was made for a claim on this host, as far as it is known here.
    fn made_for(&self, holder: &Holder, host: &PhysicalHost) -> Option<Arc<HostBootConfiguration>> {
        let made = self.caches.boot_configurations.get(&holder.host);
        made.filter(|made| belongs_to(&made.metadata, host, &holder.claim))
    }

    /// What an agent says. How it ended is answered when it is written.
    pub(super) async fn reported(
        &self,
        capability: &Capability,
        report: Report,
    ) -> Result<Reported, Refusal> {
        let (holder, seen) = self.holder(capability, Purpose::Agent)?;
        let report = without_secrets(report);
        let heard = |host: &PhysicalHost, inspected: Option<&Hardware>| {
            let made = self.made_for(&holder, host);
            let known = Known { configuration: made.as_deref(), inspected };
            hear(host, &holder.claim, &report, known, now())
        };
        let at_first_sight = heard(&seen, None);
        if let Heard::Goes(said) = at_first_sight {
            self.chatter.log(&holder.host, &report.log);
            if let Some(assignment) = Assignment::of(&seen, &holder.claim) {
                let note = format!("Its agent {}", assignment.work.does());
                self.witness.saw(&seen, &holder.claim, began(assignment.work), note);
            }
            self.agents.said(&holder.host, said);
            return Ok(Reported::Taken);
        }
        let turn = self.turn(&holder).await?;
        let host = self.now(&holder, |host, claim, _, _| delivery::image_is_open(host, claim)).await?;
        drop(turn);
        let host = Arc::new(host);
        let inspected = self.seen_before(&holder, &report).await?;
        let heard = |host: &PhysicalHost| heard(host, inspected.as_ref());
        let verdict = heard(&host);
        if verdict != Heard::NotWanted {
            self.chatter.log(&holder.host, &report.log);
        }
        match verdict {
            Heard::Goes(said) => {
                self.agents.said(&holder.host, said);
                Ok(Reported::Taken)
            }
            Heard::Installed(said) => {
                self.witness.saw(
                    &host,
                    &holder.claim,
                    "ImageInstalled",
                    format!("Its agent is done: {said}"),
                );
                self.agents.said(&holder.host, said);
                self.unless_lost(self.hearing.hear(&holder.host, &host, &holder.claim, Word::Installed).await)
            }
            Heard::Inspected(inventory) => {
                let counts = |host: &PhysicalHost| matches!(heard(host), Heard::Inspected(_));
                let seen = inspection(&inventory, now());
                let same = self.same_machine(&host, &seen.hardware);
                let ended = self.agents.inspected(&holder, seen, same.as_deref(), counts).await;
                let note = || match &same {
                    None => "Its agent has seen what the machine is made of".to_owned(),
                    Some(known) => format!("Its machine is the one of host {known}: it is started anew"),
                };
                self.ended((&host, &holder), ended, "Inspected", note)
            }
            Heard::Cleaned { claim, cleaned } => {
                let counts = |host: &PhysicalHost| matches!(heard(host), Heard::Cleaned { .. });
                let ended = self.agents.cleaned(&holder, &claim, counts).await;
                self.ended((&host, &holder), ended, "DisksWiped", || wiped(&cleaned))
            }
            Heard::Failed(said) => self.unless_lost(self.agents.write(&holder.host, &said).await),
            Heard::GoesDown => self
                .unless_lost(self.hearing.hear(&holder.host, &host, &holder.claim, Word::Restarting).await),
            Heard::Late => Ok(Reported::Taken),
            Heard::NotNow => Err(not_now(&holder, why_not_now(&host, &holder.claim))),
            Heard::NotWanted => Ok(Reported::NotWanted),
            Heard::Nonsense => Ok(Reported::Nonsense),
        }
    }

    /// What an agent saw of the machine before, where that matters: what it wiped is compared with it.
    async fn seen_before(&self, holder: &Holder, report: &Report) -> Result<Option<Hardware>, Refusal> {
        match &report.state {
            State::Done(Outcome::Cleaned(_)) => {
                let found = self.agents.seen_before(&holder.host).await;
                found.map_err(|error| not_now(holder, &causes(&error)))
            }
            State::Done(Outcome::Inspected(_) | Outcome::Installed(_) | Outcome::GoingDown)
            | State::Running(_)
            | State::Failed(_) => Ok(None),
        }
    }

    /// The host that a discovered machine turned out to be, as `<namespace>/<name>`: it may be in use.
    fn same_machine(&self, host: &PhysicalHost, seen: &Hardware) -> Option<String> {
        let all = self.caches.hosts.all();
        let (namespace, name) = key(same_machine(host, seen, all.iter().map(AsRef::as_ref))?);
        let known = format!("{namespace}/{name}");
        let discovered = host.name_any();
        tracing::warn!(
            discovered,
            host = known,
            "a machine that was discovered is this host's: it is started anew"
        );
        Some(known)
    }

    /// What became of an errand is told when it is written.
    fn ended(
        &self,
        (host, holder): (&Arc<PhysicalHost>, &Holder),
        ended: Ended,
        reason: &'static str,
        note: impl FnOnce() -> String,
    ) -> Result<Reported, Refusal> {
        match ended {
            Ended::Written => {
                self.witness.saw(host, &holder.claim, reason, note());
                Ok(Reported::Taken)
            }
            Ended::NotWanted => Ok(Reported::NotWanted),
            Ended::Lost => Err(Refusal::NotNow),
        }
    }

    /// What could not be written is to be said again.
    fn unless_lost(&self, is_written: bool) -> Result<Reported, Refusal> {
        if is_written { Ok(Reported::Taken) } else { Err(Refusal::NotNow) }
    }
}

/// Why nothing is written down of a host.
fn why_not_now(host: &PhysicalHost, claim: &str) -> &'static str {
    if delivery::waits_for_reference(host, claim) {
        REFERENCE_LOST
    } else {
        "its host is paused, and nothing is written down of it"
    }
}

/// What people are told when an agent begins.
const fn began(work: Work) -> &'static str {
    match work {
        Work::Install => "InstallationBegan",
        Work::Inspect => "InspectionBegan",
        Work::Clean(_) => "CleaningBegan",
    }
}

/// What became of each disk, in an event, and which may be left.
fn wiped(Cleaned { disks, undriven }: &Cleaned) -> String {
    let each = disks.iter().take(MOST_DISKS_TOLD).map(|disk| {
        let how = match disk.method {
            Wiping::Metadata => "its tables and signatures",
            Wiping::Nvme => "by NVMe's own erasure",
            Wiping::Ata => "by ATA's own erasure",
            Wiping::Discarded => "by discarding all of it",
            Wiping::Overwritten => "by writing over all of it",
        };
        let name: String = disk.disk.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        format!("{name} ({how})")
    });
    let told = each.collect::<Vec<_>>().join(", ");
    let wiped = match disks.len().saturating_sub(MOST_DISKS_TOLD) {
        _ if disks.is_empty() => "Its agent found no disk to wipe".to_owned(),
        0 => format!("Its agent has wiped {told}"),
        more => format!("Its agent has wiped {told}, and {more} more"),
    };
    match controllers(undriven) {
        None => wiped,
        Some(controllers) => {
            format!("{wiped}. Not seen, and not wiped: what is behind {controllers}, which has no driver")
        }
    }
}

/// Agents know their own URL, which is a secret.
fn without_secrets(mut report: Report) -> Report {
    let without = |text: &mut Option<String>| *text = text.as_deref().map(hidden);
    match &mut report.state {
        State::Running(progress) => {
            progress.step = hidden(&progress.step);
            without(&mut progress.disk);
        }
        State::Failed(failure) => {
            (failure.step, failure.message) = (hidden(&failure.step), hidden(&failure.message));
            without(&mut failure.disk);
        }
        State::Done(Outcome::Installed(installed)) => {
            installed.disk = hidden(&installed.disk);
            without(&mut installed.serial_number);
            without(&mut installed.boot_entry);
        }
        State::Done(Outcome::Cleaned(Cleaned { disks, undriven })) => {
            for cleaned in disks {
                cleaned.disk = hidden(&cleaned.disk);
                without(&mut cleaned.serial_number);
            }
            for controller in undriven {
                for text in [&mut controller.address, &mut controller.vendor, &mut controller.device] {
                    *text = hidden(text);
                }
            }
        }
        // An inventory is read off the machine: none of it is the agent's own word.
        State::Done(Outcome::Inspected(_) | Outcome::GoingDown) => {}
    }
    report
}

#[cfg(test)]
mod tests {
    use beskar7_agent_protocol::{
        hardware::PciDevice,
        report::{CleanedDisk, Failure, Installed, Progress},
    };

    use super::*;

    #[test]
    fn what_became_of_each_disk_is_told_and_not_more_than_an_event_holds() {
        let disk = |name: &str, method| CleanedDisk { disk: name.to_owned(), serial_number: None, method };
        let wiped = |disks: &[CleanedDisk], undriven: &[PciDevice]| {
            wiped(&Cleaned { disks: disks.to_vec(), undriven: undriven.to_vec() })
        };
        assert_eq!(wiped(&[], &[]), "Its agent found no disk to wipe");
        assert_eq!(
            wiped(&[disk("/dev/vda", Wiping::Metadata), disk("/dev/nvme0n1\n", Wiping::Nvme)], &[]),
            "Its agent has wiped /dev/vda (its tables and signatures), /dev/nvme0n1 (by NVMe's own erasure)"
        );
        let many = vec![disk(&"x".repeat(500), Wiping::Overwritten); 500];
        assert!(wiped(&many, &[]).ends_with(", and 488 more"));
        let controller = |text: &str| PciDevice {
            address: text.to_owned(),
            vendor: text.to_owned(),
            device: text.to_owned(),
            class: "010400".to_owned(),
        };
        let hidden = wiped(&[disk("/dev/vda", Wiping::Metadata)], &[controller("1000")]);
        let left = ". Not seen, and not wiped: what is behind 1000 (1000:1000), which has no driver";
        assert!(hidden.ends_with(left), "{hidden}");
        let all = wiped(&many, &vec![controller(&"x".repeat(500)); 500]);
        assert!(all.contains(", and 488 more. Not seen") && all.len() < 1024, "{}", all.len());
    }

    #[test]
    fn why_nothing_is_written_down_is_said_as_it_is() {
        let host = |paused: Option<&str>, consumer: serde_json::Value| -> PhysicalHost {
            serde_json::from_value(serde_json::json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "PhysicalHost",
                "metadata": {"name": "h", "namespace": "metal", "annotations": paused.map(|on| {
                    serde_json::json!({beskar7_api::annotations::PAUSED: on})
                })},
                "spec": {
                    "redfishConnection": {"address": "https://10.0.0.1", "credentialsSecretRef": "b"},
                    "claimID": "c", "consumerRef": consumer,
                },
            }))
            .unwrap()
        };
        let held = serde_json::json!({"kind": "Beskar7Machine", "namespace": "metal", "name": "m"});
        for (host, word) in
            [(host(Some(""), held), "paused"), (host(None, serde_json::json!(null)), "consumerRef is lost")]
        {
            let why = why_not_now(&host, "c");
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn no_url_of_an_agent_is_written_down() {
        let url = format!("http://b/c/{}/image", "0a".repeat(20));
        let of = |state| {
            without_secrets(Report { order: "1".into(), machine: None, state, log: Vec::new() }).state
        };
        let progress = Progress { step: url.clone(), disk: Some(url.clone()), done: None, total: None };
        let State::Running(progress) = of(State::Running(progress)) else { panic!("it runs") };
        assert_eq!(
            (progress.step.as_str(), progress.disk.as_deref()),
            ("http://b/c/…/image", Some("http://b/c/…/image"))
        );
        let message = format!("{url} can't be read");
        let failure = Failure { step: "fetching".into(), disk: Some(url.clone()), message };
        let State::Failed(failure) = of(State::Failed(failure)) else { panic!("it failed") };
        assert_eq!(failure.disk.as_deref(), Some("http://b/c/…/image"));
        assert_eq!(failure.message, "http://b/c/…/image can't be read");
        let (serial_number, boot_entry) = (Some(url.clone()), Some(url.clone()));
        let installed =
            Installed { disk: url.clone(), serial_number, written: 7, verified: true, boot_entry };
        let controller = PciDevice {
            address: url.clone(),
            vendor: url.clone(),
            device: url.clone(),
            class: String::new(),
        };
        let cleaned = CleanedDisk { disk: url.clone(), serial_number: Some(url), method: Wiping::Metadata };
        let cleaned = Cleaned { disks: vec![cleaned.clone(), cleaned], undriven: vec![controller] };
        for (outcome, expected) in
            [(Outcome::Installed(installed), 3), (Outcome::Cleaned(cleaned), 7), (Outcome::GoingDown, 0)]
        {
            let told = format!("{:?}", of(State::Done(outcome)));
            assert!(!told.contains("0a0a"), "{told}");
            assert_eq!(told.matches("http://b/c/…/image").count(), expected, "{told}");
        }
    }
}
