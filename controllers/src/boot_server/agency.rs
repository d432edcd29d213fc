//! The desk's window for agents: what they are told to do, and what becomes of what they say.

use std::sync::Arc;

use beskar7_agent_protocol::{
    order::Order,
    report::{CleanedDisk, Report, State, Wiping},
};
use beskar7_api::{PhysicalHost, hardware::Hardware};
use beskar7_boot::{
    capability::{Capability, Purpose, hidden},
    delivery::{Refusal, Reported},
};
use beskar7_core::{
    agent::{Assignment, Heard, Next, NotReady, Said, Work, hear, inspection, next},
    delivery,
    host::{belongings::belongs_to, discovery::same_machine, heard::Word},
};
use beskar7_redfish::MachineUuid;
use kube::ResourceExt as _;

use super::{
    agents::Ended,
    desk::{BootDesk, not_now},
    holders::Holder,
};
use crate::{clock::now, watch::key};

/// So many disks are named in an event, and so much of each name.
const MOST_DISKS_TOLD: usize = 12;
const LONGEST_NAME: usize = 48;
/// So many lines of what an agent logged are logged here with one report, and so much of each.
const MOST_LINES: usize = 64;
const LONGEST_LINE: usize = 512;

impl BootDesk {
    /// What the agent on a machine does next. The host is read for it: what a cache shows may be of the time before the
    /// machine was begun anew.
    pub(super) async fn next_order(&self, capability: &Capability) -> Result<Option<Order>, Refusal> {
        let (holder, seen) = self.holder(capability, Purpose::Agent)?;
        let turn = self.turn(&holder).await?;
        let host = self.now(&holder, |host, claim, _, _| delivery::image_is_open(host, claim)).await?;
        drop(turn);
        let made = self.caches.boot_configurations.get(&holder.host);
        let made = made.filter(|made| belongs_to(&made.metadata, &host, &holder.claim));
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

    /// What an agent says. How it ended is answered when it is written.
    pub(super) async fn reported(
        &self,
        capability: &Capability,
        report: Report,
    ) -> Result<Reported, Refusal> {
        let (holder, seen) = self.holder(capability, Purpose::Agent)?;
        log(&holder, &report);
        let report = without_secrets(report);
        let at_first_sight = hear(&seen, &holder.claim, &report, now());
        if let Heard::Goes(said) = at_first_sight {
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
        match hear(&host, &holder.claim, &report, now()) {
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
                let counts = |host: &PhysicalHost| {
                    matches!(hear(host, &holder.claim, &report, now()), Heard::Inspected(_))
                };
                let seen = inspection(&inventory, now());
                let same = self.same_machine(&host, &seen.hardware);
                let ended = self.agents.inspected(&holder, seen, same.as_deref(), counts).await;
                let note = || match &same {
                    None => "Its agent has seen what the machine is made of".to_owned(),
                    Some(known) => format!("Its machine is the one of host {known}: it is started anew"),
                };
                self.ended((&host, &holder), ended, "Inspected", note)
            }
            Heard::Cleaned { claim, disks } => {
                let counts = |host: &PhysicalHost| {
                    matches!(hear(host, &holder.claim, &report, now()), Heard::Cleaned { .. })
                };
                let ended = self.agents.cleaned(&holder, &claim, counts).await;
                self.ended((&host, &holder), ended, "DisksWiped", || wiped(&disks))
            }
            Heard::Failed(said) => self.unless_lost(self.agents.write(&holder.host, &said).await),
            Heard::GoesDown => self
                .unless_lost(self.hearing.hear(&holder.host, &host, &holder.claim, Word::Restarting).await),
            Heard::Late => Ok(Reported::Taken),
            Heard::NotNow => Err(not_now(&holder, "its host is paused, and nothing is written down of it")),
            Heard::NotWanted => Ok(Reported::NotWanted),
            Heard::Nonsense => Ok(Reported::Nonsense),
        }
    }

    /// The host that a discovered machine turned out to be, as `<namespace>/<name>`: it may be in use.
    fn same_machine(&self, host: &PhysicalHost, seen: &Hardware) -> Option<String> {
        let all = self.caches.hosts.all();
        let real = |text: &str| MachineUuid::parse(text).filter(|uuid| !uuid.is_filler());
        let is_same = |one: &str, other: &str| {
            real(one).zip(real(other)).is_some_and(|(one, other)| one.is_same_machine(other))
        };
        let (namespace, name) = key(same_machine(host, seen, all.iter().map(AsRef::as_ref), is_same)?);
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

/// What people are told when an agent begins.
const fn began(work: Work) -> &'static str {
    match work {
        Work::Install => "InstallationBegan",
        Work::Inspect => "InspectionBegan",
        Work::Clean(_) => "CleaningBegan",
    }
}

/// What became of each disk, in an event.
fn wiped(disks: &[CleanedDisk]) -> String {
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
    match disks.len().saturating_sub(MOST_DISKS_TOLD) {
        _ if disks.is_empty() => "Its agent found no disk to wipe".to_owned(),
        0 => format!("Its agent has wiped {told}"),
        more => format!("Its agent has wiped {told}, and {more} more"),
    }
}

/// Agents know their own URL, which is a secret.
fn without_secrets(mut report: Report) -> Report {
    match &mut report.state {
        State::Running(progress) => progress.step = hidden(&progress.step),
        State::Failed(failure) => {
            (failure.step, failure.message) = (hidden(&failure.step), hidden(&failure.message));
        }
        State::Done(_) => {}
    }
    report
}

fn log(holder: &Holder, report: &Report) {
    let (namespace, name) = &holder.host;
    for line in report.log.iter().take(MOST_LINES) {
        let line: String = hidden(line).chars().filter(|c| !c.is_control()).take(LONGEST_LINE).collect();
        tracing::debug!(namespace, name, line, "an agent says");
    }
}

#[cfg(test)]
mod tests {
    use beskar7_agent_protocol::report::Failure;

    use super::*;

    #[test]
    fn what_became_of_each_disk_is_told_and_not_more_than_an_event_holds() {
        let disk = |name: &str, method| CleanedDisk { disk: name.to_owned(), serial_number: None, method };
        assert_eq!(wiped(&[]), "Its agent found no disk to wipe");
        assert_eq!(
            wiped(&[disk("/dev/vda", Wiping::Metadata), disk("/dev/nvme0n1\n", Wiping::Nvme)]),
            "Its agent has wiped /dev/vda (its tables and signatures), /dev/nvme0n1 (by NVMe's own erasure)"
        );
        let many = wiped(&vec![disk(&"x".repeat(500), Wiping::Overwritten); 500]);
        assert!(many.ends_with(", and 488 more") && many.len() < 1024, "{}", many.len());
    }

    #[test]
    fn no_url_of_an_agent_is_written_down() {
        let message = format!("http://b/c/{}/image can't be read", "0a".repeat(20));
        let failure = Failure { step: "fetching".into(), disk: None, message };
        let report = Report { order: "1".into(), state: State::Failed(failure), log: Vec::new() };
        let State::Failed(failure) = without_secrets(report).state else { panic!("it failed") };
        assert_eq!(failure.message, "http://b/c/…/image can't be read");
    }
}
