//! What can happen next.

use crate::{
    decide::{self, Decided},
    search::Mutant,
    world::{Consumer, Host, Intent, Laggard, Life, World, Write},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A manager makes the one next write for a consumer, and may crash afterwards.
    Consumer(usize),
    /// It chooses this host.
    Chooses(usize, usize),
    /// The next write of a host's controller.
    Host(usize),
    /// A slow manager looks at the host that a consumer wants.
    Looks(usize, usize),
    /// A slow manager has chosen this host for a consumer, and is about to write so.
    IsAboutToChoose(usize, usize, usize),
    /// It wants something else of the machine that it has.
    Renews(usize),
    /// A slow manager is about to write that a consumer wants something else.
    IsAboutToRenew(usize, usize),
    /// Only in a mutant: a slow manager is about to write a host's status.
    IsAboutToSay(usize, usize),
    /// A slow manager reads the other object, and decides.
    Decides(usize),
    /// A slow manager's write reaches the API server.
    Lands(usize),
    DeleteConsumer(usize),
    /// A consumer that was on its way has arrived.
    Arrives(usize),
    Accident(Accident),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accident {
    DeleteHost(usize),
    /// A host of the same name, new.
    NewHost(usize),
    /// `consumerRef` is taken off.
    WipeReference(usize),
    /// `kubectl replace` with what the host was enrolled with: no claim, no annotations.
    Replace(usize),
    LoseStatus(usize),
    /// A person releases it though its consumer stands by it.
    Release(usize),
    WipeIntent(usize),
    GarbleIntent(usize),
    /// Somebody edits the intent: another host, another claim.
    Mislead(usize, usize),
    /// Somebody makes the second one from the manifest of the first, annotation, finalizer and all.
    Copy(usize, usize),
    /// Somebody takes the finalizers off a consumer.
    LoseFinalizer(usize),
    /// The same while it is deleted: it is gone at once.
    TearOut(usize),
    /// A consumer of the same name, new.
    NewConsumer(usize),
    /// `clusterctl move`: it is absent for a while, and has another UID then.
    Move(usize),
    /// A person lets it go though its host is not clean.
    Force(usize),
}

impl World {
    pub fn actions(&self, mutant: Mutant, actions: &mut Vec<Action>) {
        for (who, consumer) in self.consumers.iter().enumerate() {
            match consumer.life {
                Life::There => self.consumer_actions(who, consumer, actions),
                Life::Moving => actions.push(Action::Arrives(who)),
                Life::Gone => {}
            }
        }
        for (at, host) in self.hosts.iter().enumerate() {
            if host.there {
                actions.push(Action::Host(at));
                if mutant == Mutant::SaysAnyVersion {
                    let idle = self.laggards.iter().position(|laggard| *laggard == Laggard::Idle);
                    actions.extend(idle.map(|n| Action::IsAboutToSay(n, at)));
                }
            }
        }
        for (n, laggard) in self.laggards.iter().enumerate() {
            match laggard {
                Laggard::Idle => {}
                Laggard::SawHost { .. } | Laggard::SawConsumer { .. } => actions.push(Action::Decides(n)),
                Laggard::Writes { .. } => actions.push(Action::Lands(n)),
            }
        }
        if self.faults > 0 {
            self.accidents(actions);
        }
    }

    fn consumer_actions(&self, who: usize, consumer: &Consumer, actions: &mut Vec<Action>) {
        actions.push(Action::Consumer(who));
        // Idle laggards are all alike.
        let idle = self.laggards.iter().position(|laggard| *laggard == Laggard::Idle);
        if consumer.intent == Intent::None && !consumer.deleting {
            for (at, host) in self.hosts.iter().enumerate() {
                if decide::fits(who, at, host) {
                    actions.push(Action::Chooses(who, at));
                    actions.extend(idle.map(|n| Action::IsAboutToChoose(n, who, at)));
                }
            }
        } else {
            actions.extend(idle.map(|n| Action::Looks(n, who)));
        }
        if self.renewals > 0 {
            actions.push(Action::Renews(who));
            actions.extend(idle.map(|n| Action::IsAboutToRenew(n, who)));
        }
        if !consumer.deleting {
            actions.push(Action::DeleteConsumer(who));
        }
    }

    fn accidents(&self, actions: &mut Vec<Action>) {
        let mut push = |accident| actions.push(Action::Accident(accident));
        for (at, host) in self.hosts.iter().enumerate() {
            if self.only_replaced {
                if host.there && !host.hurt {
                    push(Accident::Replace(at));
                }
                continue;
            }
            if !host.there {
                push(Accident::NewHost(at));
                continue;
            }
            if !host.deleting {
                push(Accident::DeleteHost(at));
            }
            // While nobody can read whose a host is, its consumer's copy is as good as that one.
            let is_copied = host.claim.is_some()
                && self
                    .consumers
                    .iter()
                    .any(|consumer| consumer.copied && consumer.intent.id() == host.claim);
            if host.consumer.is_some() && !is_copied {
                push(Accident::WipeReference(at));
            }
            if !host.hurt {
                if !is_copied {
                    push(Accident::Replace(at));
                }
                push(Accident::LoseStatus(at));
            }
            if host.claim.is_some() {
                push(Accident::Release(at));
            }
        }
        for (who, consumer) in self.consumers.iter().enumerate().filter(|_| !self.only_replaced) {
            match consumer.life {
                Life::Gone => push(Accident::NewConsumer(who)),
                Life::Moving => {}
                Life::There => {
                    let edited = match consumer.intent {
                        Intent::None => false,
                        Intent::Garbled => true,
                        // Who takes back a decision by hand gets a machine that may be on its way already.
                        Intent::Of { given_up, .. } => !given_up,
                    };
                    if edited {
                        push(Accident::WipeIntent(who));
                        push(Accident::GarbleIntent(who));
                        (0..self.hosts.len()).for_each(|at| push(Accident::Mislead(who, at)));
                    }
                    if consumer.deleting {
                        push(Accident::TearOut(who));
                        if !consumer.forced {
                            push(Accident::Force(who));
                        }
                    } else {
                        push(Accident::Move(who));
                    }
                    if consumer.finalizer && !consumer.deleting {
                        push(Accident::LoseFinalizer(who));
                    }
                    if self.holds(who) {
                        let is_empty = |other: &Consumer| {
                            other.life == Life::There
                                && other.intent == Intent::None
                                && !other.deleting
                                && !other.settled
                        };
                        let others = self.consumers.iter().enumerate().filter(|(_, other)| is_empty(other));
                        others.for_each(|(to, _)| push(Accident::Copy(who, to)));
                    }
                }
            }
        }
    }

    /// Whether a consumer has a host that says so.
    fn holds(&self, who: usize) -> bool {
        let Intent::Of { host: at, id, given_up: false, .. } = self.consumers[who].intent else {
            return false;
        };
        let host = &self.hosts[at];
        let names_it = host.consumer.is_some_and(|reference| reference.who == who);
        host.there && names_it && host.claim == Some(id) && host.released != Some(id)
    }

    /// The world after it; `None` where nothing changes.
    pub fn after(&self, mutant: Mutant, action: &Action) -> Option<Self> {
        let next = self.literally_after(mutant, action)?.representative();
        (next != *self).then_some(next)
    }

    /// The same, with everybody in the place where it was.
    pub fn literally_after(&self, mutant: Mutant, action: &Action) -> Option<Self> {
        let mut next = self.clone();
        match action {
            Action::Consumer(who) => {
                let seen = next.intended(*who);
                let seen = seen.as_ref().map(|(at, host)| (*at, host));
                match decide::consumer(self, mutant, *who, &self.consumers[*who], seen) {
                    Decided::Nothing | Decided::Choose => return None,
                    Decided::Do(write) => next.land(write),
                }
            }
            Action::Chooses(who, at) => {
                let seen = None;
                match decide::consumer(self, mutant, *who, &self.consumers[*who], seen) {
                    Decided::Choose => next.land(self.chosen(*who, *at)),
                    Decided::Nothing | Decided::Do(_) => return None,
                }
            }
            Action::Host(at) => {
                if !next.host_controller(mutant, *at) {
                    return None;
                }
            }
            Action::Looks(n, who) => next.laggards[*n] = self.look(mutant, *who)?,
            Action::IsAboutToChoose(n, who, at) => {
                match decide::consumer(self, mutant, *who, &self.consumers[*who], None) {
                    Decided::Choose => {
                        let write = self.chosen(*who, *at);
                        next.laggards[*n] = Laggard::Writes { write, fresh: true };
                    }
                    Decided::Nothing | Decided::Do(_) => return None,
                }
            }
            Action::Renews(who) => {
                let write = self.renewal(mutant, *who)?;
                next.renewals -= 1;
                next.land(write);
            }
            Action::IsAboutToRenew(n, who) => {
                let write = self.renewal(mutant, *who)?;
                next.renewals -= 1;
                next.laggards[*n] = Laggard::Writes { write, fresh: true };
            }
            Action::IsAboutToSay(n, at) => {
                let mut then = self.clone();
                then.host_controller(mutant, *at);
                let Host { machine_of, state, .. } = then.hosts[*at];
                let write = Write::Status { at: *at, machine_of, state };
                next.laggards[*n] = Laggard::Writes { write, fresh: true };
            }
            Action::Decides(n) => next.laggards[*n] = self.decides(mutant, &self.laggards[*n]),
            Action::Lands(n) => {
                if let Laggard::Writes { write, fresh } = self.laggards[*n] {
                    next.laggards[*n] = Laggard::Idle;
                    if fresh || mutant.ignores_version(&write) || matches!(write, Write::Fence { .. }) {
                        next.land(write);
                    }
                }
            }
            Action::DeleteConsumer(who) => {
                next.consumer_changed(*who);
                let consumer = &mut next.consumers[*who];
                if consumer.finalizer {
                    consumer.deleting = true;
                } else {
                    consumer.life = Life::Gone;
                    consumer.intent = Intent::None;
                }
            }
            Action::Arrives(who) => {
                next.consumer_changed(*who);
                next.consumers[*who].life = Life::There;
                next.consumers[*who].uid += 1;
            }
            Action::Accident(accident) => {
                next.faults = next.faults.saturating_sub(1);
                next.accident(accident);
            }
        }
        next.forget_the_doomed(mutant);
        Some(next)
    }

    /// The host that a consumer's intent names, as it is now.
    pub fn intended(&self, who: usize) -> Option<(usize, Host)> {
        match self.consumers[who].intent {
            Intent::None | Intent::Garbled => None,
            Intent::Of { host, .. } => Some((host, self.hosts[host].clone())),
        }
    }

    pub fn chosen(&self, who: usize, at: usize) -> Write {
        let intent = Intent::Of { host: at, id: self.fresh_id(), renews: None, given_up: false };
        Write::Intent { who, intent }
    }

    fn renewal(&self, mutant: Mutant, who: usize) -> Option<Write> {
        let seen = self.intended(who);
        let seen = seen.as_ref().map(|(at, host)| (*at, host));
        decide::renewal(self, mutant, who, &self.consumers[who], seen)
    }

    fn look(&self, mutant: Mutant, who: usize) -> Option<Laggard> {
        if mutant == Mutant::ReadsConsumerFirst {
            return Some(Laggard::SawConsumer { who, consumer: self.consumers[who].clone() });
        }
        let (at, host) = self.intended(who)?;
        Some(Laggard::SawHost { who, at, host: host.as_written(), fresh: true })
    }

    fn decides(&self, mutant: Mutant, laggard: &Laggard) -> Laggard {
        let (decided, host_fresh) = match laggard {
            Laggard::Idle | Laggard::Writes { .. } => return laggard.clone(),
            Laggard::SawHost { who, at, host, fresh } => {
                let consumer = &self.consumers[*who];
                (decide::consumer(self, mutant, *who, consumer, Some((*at, host))), *fresh)
            }
            Laggard::SawConsumer { who, consumer } => {
                let Intent::Of { host: at, .. } = consumer.intent else { return Laggard::Idle };
                let seen = Some((at, &self.hosts[at]));
                (decide::consumer(self, mutant, *who, consumer, seen), true)
            }
        };
        match (decided, laggard) {
            (Decided::Nothing | Decided::Choose, _) => Laggard::Idle,
            (
                Decided::Do(
                    write @ (Write::Intent { who, .. }
                    | Write::Renew { who, .. }
                    | Write::LetGo { who }
                    | Write::Settle { who }),
                ),
                laggard,
            ) => {
                let fresh = match laggard {
                    Laggard::SawConsumer { consumer, .. } => *consumer == self.consumers[who],
                    Laggard::Idle | Laggard::SawHost { .. } | Laggard::Writes { .. } => true,
                };
                Laggard::Writes { write, fresh }
            }
            (
                Decided::Do(
                    write @ (Write::Bind { .. }
                    | Write::Release { .. }
                    | Write::Fence { .. }
                    | Write::Status { .. }),
                ),
                _,
            ) => Laggard::Writes { write, fresh: host_fresh },
        }
    }

    /// A write that can only fail any more is none.
    fn forget_the_doomed(&mut self, mutant: Mutant) {
        for laggard in &mut self.laggards {
            if let Laggard::Writes { write, fresh: false } = laggard
                && !matches!(write, Write::Fence { .. })
                && !mutant.ignores_version(write)
            {
                *laggard = Laggard::Idle;
            }
        }
    }

    fn accident(&mut self, accident: &Accident) {
        match accident {
            Accident::DeleteHost(at)
            | Accident::NewHost(at)
            | Accident::WipeReference(at)
            | Accident::Replace(at)
            | Accident::LoseStatus(at)
            | Accident::Release(at) => {
                self.host_changed(*at);
                self.accident_to_host(*at, accident);
            }
            Accident::WipeIntent(who)
            | Accident::GarbleIntent(who)
            | Accident::Mislead(who, _)
            | Accident::Copy(_, who)
            | Accident::LoseFinalizer(who)
            | Accident::TearOut(who)
            | Accident::NewConsumer(who)
            | Accident::Move(who)
            | Accident::Force(who) => {
                self.consumer_changed(*who);
                self.accident_to_consumer(*who, accident);
            }
        }
    }

    fn accident_to_host(&mut self, at: usize, accident: &Accident) {
        let host = &mut self.hosts[at];
        match accident {
            Accident::DeleteHost(_) => host.deleting = true,
            Accident::NewHost(_) => *host = Host::new(),
            Accident::WipeReference(_) => host.consumer = None,
            Accident::Replace(_) => {
                // Nobody is left who would say again that it is released: a person is told to.
                self.excused |= self.consumers.iter().any(|consumer| consumer.forced);
                host.hurt = true;
                host.consumer = None;
                host.claim = None;
                host.released = None;
                host.fence = None;
                host.mark = None;
            }
            Accident::LoseStatus(_) => {
                host.hurt = true;
                host.machine_of = None;
                host.state = None;
            }
            Accident::Release(_) => {
                self.person_releases(at);
            }
            Accident::WipeIntent(_)
            | Accident::GarbleIntent(_)
            | Accident::Mislead(..)
            | Accident::Copy(..)
            | Accident::LoseFinalizer(_)
            | Accident::TearOut(_)
            | Accident::NewConsumer(_)
            | Accident::Move(_)
            | Accident::Force(_) => {}
        }
    }

    fn accident_to_consumer(&mut self, who: usize, accident: &Accident) {
        let fresh = self.fresh_id();
        let copied =
            if let Accident::Copy(from, _) = accident { self.consumers[*from].intent } else { Intent::None };
        let consumer = &mut self.consumers[who];
        match accident {
            Accident::Copy(..) => {
                (consumer.intent, consumer.finalizer, consumer.copied) = (copied, true, true)
            }
            Accident::WipeIntent(_) => {
                self.excused = true;
                consumer.intent = Intent::None;
            }
            Accident::GarbleIntent(_) => {
                self.excused = true;
                consumer.intent = Intent::Garbled;
            }
            Accident::Mislead(_, at) => {
                self.excused = true;
                consumer.intent = Intent::Of { host: *at, id: fresh, renews: None, given_up: false };
            }
            Accident::LoseFinalizer(_) => {
                self.excused = true;
                consumer.finalizer = false;
            }
            Accident::TearOut(_) => {
                self.excused = true;
                *consumer = Consumer { life: Life::Gone, ..Consumer::new(consumer.uid, consumer.birth) };
            }
            Accident::NewConsumer(_) => *consumer = Consumer::new(consumer.uid + 1, consumer.birth + 1),
            Accident::Move(_) => consumer.life = Life::Moving,
            Accident::Force(_) => consumer.forced = true,
            Accident::DeleteHost(_)
            | Accident::NewHost(_)
            | Accident::WipeReference(_)
            | Accident::Replace(_)
            | Accident::LoseStatus(_)
            | Accident::Release(_) => {}
        }
    }
}
