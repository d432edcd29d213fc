//! What a write does when it reaches the API server, and what a host's controller does.

use beskar7_core::claim::Custody;

use crate::{
    decide,
    search::Mutant,
    world::{Host, Id, Intent, Laggard, Life, Reference, State, World, Write},
};

impl World {
    /// A consumer changed: what was decided for its last version fails.
    pub fn consumer_changed(&mut self, who: usize) {
        self.stale(|write| match write {
            Write::Intent { who: of, .. }
            | Write::Renew { who: of, .. }
            | Write::LetGo { who: of }
            | Write::Settle { who: of } => *of == who,
            Write::Bind { .. } | Write::Release { .. } | Write::Fence { .. } | Write::Status { .. } => false,
        });
    }

    /// A host changed: what was decided for its last version fails.
    pub fn host_changed(&mut self, at: usize) {
        self.stale(|write| match write {
            Write::Bind { at: of, .. } | Write::Release { at: of, .. } | Write::Status { at: of, .. } => {
                *of == at
            }
            // A fence lands on any version, and on a new host of the same name.
            Write::Fence { .. }
            | Write::Intent { .. }
            | Write::Renew { .. }
            | Write::LetGo { .. }
            | Write::Settle { .. } => false,
        });
        for laggard in &mut self.laggards {
            if let Laggard::SawHost { at: of, fresh, .. } = laggard
                && *of == at
            {
                *fresh = false;
            }
        }
    }

    fn stale(&mut self, concerns: impl Fn(&Write) -> bool) {
        for laggard in &mut self.laggards {
            if let Laggard::Writes { write, fresh } = laggard
                && concerns(write)
            {
                *fresh = false;
            }
        }
    }

    /// A write lands.
    pub fn land(&mut self, write: Write) {
        match write {
            Write::Intent { who, intent } => {
                self.consumer_changed(who);
                self.check_giving_up(who, intent);
                let consumer = &mut self.consumers[who];
                consumer.copied &= consumer.intent.id() == intent.id();
                consumer.intent = intent;
                if intent != Intent::None {
                    consumer.finalizer = true;
                }
            }
            Write::Renew { who, intent } => {
                self.consumer_changed(who);
                let consumer = &mut self.consumers[who];
                self.unwanted.extend(consumer.intent.id());
                consumer.intent = intent;
                consumer.settled = false;
            }
            Write::Settle { who } => {
                self.consumer_changed(who);
                self.consumers[who].settled = true;
            }
            Write::LetGo { who } => {
                self.consumer_changed(who);
                let consumer = &mut self.consumers[who];
                consumer.intent = Intent::None;
                consumer.copied = false;
                consumer.finalizer = false;
                consumer.deleting = false;
                consumer.life = Life::Gone;
            }
            Write::Bind { at, by, id, renews } => {
                self.host_changed(at);
                self.check_copies(at, by, id);
                let host = &mut self.hosts[at];
                let is_another = |of: Id| of != id && Some(of) != renews && host.claim != Some(id);
                if host.dirty.is_some_and(|(of, _)| is_another(of)) {
                    self.wrong = Some("a host was handed out before it was clean");
                }
                host.consumer = Some(by);
                host.claim = Some(id);
            }
            Write::Release { at, id } => {
                self.host_changed(at);
                let host = &mut self.hosts[at];
                host.consumer = None;
                host.released = Some(id);
                host.by_person = false;
            }
            Write::Status { at, machine_of, state } => {
                self.host_changed(at);
                if self.hosts[at].there {
                    (self.hosts[at].machine_of, self.hosts[at].state) = (machine_of, state);
                }
            }
            Write::Fence { at, id } => {
                if self.hosts[at].there && self.hosts[at].fence != Some(id) {
                    self.host_changed(at);
                    self.hosts[at].fence = Some(id);
                }
            }
        }
    }

    /// A copy takes no host from the one that has it. A host that is free again it may have, and it is the other one that
    /// only names the claim then.
    fn check_copies(&mut self, at: usize, by: Reference, id: Id) {
        let host = &self.hosts[at];
        let of_another =
            host.claim == Some(id) && host.consumer.is_none_or(|reference| reference.who != by.who);
        let consumer = &self.consumers[by.who];
        if of_another && consumer.copied && consumer.intent.id() == Some(id) {
            self.wrong = Some("a copy took a host");
        }
        for (who, consumer) in self.consumers.iter_mut().enumerate() {
            if consumer.intent.id() == Some(id) {
                consumer.copied = who != by.who;
            }
        }
    }

    /// A machine that has been running is not given up for what somebody thought that he had seen.
    fn check_giving_up(&mut self, who: usize, intent: Intent) {
        if let Intent::Of { host, id, given_up: true, .. } = intent
            && self.consumers[who].settled
            && !self.consumers[who].copied
            && !self.unwanted.contains(&id)
            && self.hosts[host].dirty.is_some_and(|(of, _)| of == id)
            && !self.hosts[host].by_person
        {
            self.wrong = Some("a consumer gave up its running machine");
        }
    }

    /// The next write of a host's controller. Whether there was one.
    pub fn host_controller(&mut self, mutant: Mutant, at: usize) -> bool {
        if !self.hosts[at].there {
            return false;
        }
        let custody = decide::host(self, mutant, at);
        let before = self.hosts[at].clone();
        match custody {
            Custody::OnHold | Custody::Kept(_) => {}
            Custody::Held => self.make_ready(at),
            Custody::Free => self.hosts[at].state = Some(State::Available),
            Custody::MayGo => self.hosts[at] = Host::gone(),
            Custody::Accept => self.accept(at),
            Custody::Deprovision => self.deprovision(mutant, at),
            Custody::ClearClaim => {
                if self.hosts[at].written {
                    self.wrong = Some("a host was given back with what somebody left on its disks");
                }
                let host = &mut self.hosts[at];
                host.fence = host.claim;
                host.claim = None;
                host.consumer = None;
                host.released = None;
                host.mark = None;
                host.by_person = false;
                // Only where a mutant comes here too early.
                host.machine_of = None;
            }
        }
        let wrote = self.hosts[at] != before;
        if wrote {
            self.host_changed(at);
        }
        wrote
    }

    fn accept(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        if host.dirty.is_some_and(|(of, _)| Some(of) != host.claim) {
            self.wrong = Some("a machine was booted for the next consumer before it was clean");
        }
        host.machine_of = host.claim;
        self.make_ready(at);
    }

    /// The machine becomes what its consumer wants. Where it is that already, nothing is booted again.
    fn make_ready(&mut self, at: usize) {
        let birth = self.hosts[at].consumer.map_or(0, |reference| self.consumers[reference.who].birth);
        let host = &mut self.hosts[at];
        host.state = Some(State::Claimed);
        host.dirty = host.dirty.or(host.claim.map(|id| (id, birth)));
        host.written |= host.dirty.is_some();
        host.mark = host.claim;
    }

    fn deprovision(&mut self, mutant: Mutant, at: usize) {
        let taken = self.hosts[at].dirty.map(|(id, _)| id).filter(|id| !self.unwanted.contains(id));
        let robbed = taken.and_then(|id| self.stands_by(id)).is_some();
        if robbed && !self.hosts[at].by_person {
            self.wrong = Some("a machine was taken from a consumer that stands by its claim");
        }
        let host = &mut self.hosts[at];
        match (host.state, host.machine_of) {
            (Some(State::Deprovisioning), Some(_)) => {
                host.machine_of = None;
                host.dirty = None;
                let released = host.claim.is_none_or(|claim| host.released == Some(claim));
                match (released, mutant) {
                    (true, _) => host.written = false,
                    (false, Mutant::CleanForHolder) => {}
                    // For the one who has it, its disks stay as they are: that must not look like clean for others.
                    (false, _) => host.state = Some(State::Claimed),
                }
            }
            // Emptied, and handed over: what was written about the last claim goes. Who crashes here empties it again.
            (Some(State::Claimed | State::Deprovisioning), None)
                if host.dirty.is_none() && host.mark.is_some() && host.mark != host.claim =>
            {
                host.mark = None;
            }
            (None | Some(_), None | Some(_)) => {
                host.machine_of = host.machine_of.or(host.mark).or(host.claim);
                host.state = Some(State::Deprovisioning);
            }
        }
    }

    /// A person is sure, and releases what no consumer stands by.
    pub fn person_releases(&mut self, at: usize) -> bool {
        let host = &self.hosts[at];
        let Some(id) = host.claim.or(host.machine_of) else { return false };
        if !host.there || host.released == Some(id) {
            return false;
        }
        self.write_release(at, id);
        true
    }

    fn write_release(&mut self, at: usize, id: Id) {
        self.host_changed(at);
        self.hosts[at].released = Some(id);
        self.hosts[at].by_person = true;
    }
}
