//! How it ends when the accidents end: everybody takes turns until nobody has anything to do.

use crate::{
    actions::Action,
    decide,
    search::Mutant,
    world::{Intent, Laggard, Life, World},
};

/// Whose turn comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    ConsumersFirst,
    /// Also, the last consumer before the first, and slow managers last.
    HostsFirst,
}

impl Turns {
    pub const ALL: [Self; 2] = [Self::ConsumersFirst, Self::HostsFirst];
}

impl World {
    /// The next thing that happens when all goes well; `None` when all is quiet.
    pub fn settles(&self, mutant: Mutant, turns: Turns) -> Option<Self> {
        let mut actions = self.turns();
        match turns {
            Turns::ConsumersFirst => {}
            Turns::HostsFirst => actions.reverse(),
        }
        actions.iter().find_map(|action| self.in_turn(mutant, action)).or_else(|| self.person_helps())
    }

    /// Who fences a host takes the API server's answer as the host that was seen, and goes on at once: two who leave the
    /// same host would else fence each other's fence for ever.
    fn in_turn(&self, mutant: Mutant, action: &Action) -> Option<Self> {
        let mut next = self.literally_after(mutant, action)?;
        let fences = |world: &Self| world.hosts.iter().map(|host| host.fence).collect::<Vec<_>>();
        if matches!(action, Action::Consumer(_)) && fences(&next) != fences(self) {
            next = next.literally_after(mutant, action).unwrap_or(next);
        }
        let next = next.representative();
        (next != *self).then_some(next)
    }

    fn turns(&self) -> Vec<Action> {
        let mut turns = Vec::new();
        for (n, laggard) in self.laggards.iter().enumerate() {
            match laggard {
                Laggard::Idle => {}
                Laggard::SawHost { .. } | Laggard::SawConsumer { .. } => turns.push(Action::Decides(n)),
                Laggard::Writes { .. } => turns.push(Action::Lands(n)),
            }
        }
        for (who, consumer) in self.consumers.iter().enumerate() {
            match consumer.life {
                Life::There => turns.push(Action::Consumer(who)),
                Life::Moving => turns.push(Action::Arrives(who)),
                Life::Gone => {}
            }
        }
        turns.extend((0..self.hosts.len()).map(Action::Host));
        for (who, consumer) in self.consumers.iter().enumerate() {
            let looks_for_one =
                consumer.life == Life::There && consumer.intent == Intent::None && !consumer.deleting;
            let fitting = (0..self.hosts.len()).filter(|at| decide::fits(who, *at, &self.hosts[*at]));
            turns.extend(fitting.filter(|_| looks_for_one).map(|at| Action::Chooses(who, at)));
        }
        turns
    }

    /// A claim that no consumer speaks of any more is ended by a person, where somebody's hand broke it.
    fn person_helps(&self) -> Option<Self> {
        if !self.excused {
            return None;
        }
        (0..self.hosts.len()).find_map(|at| {
            let host = &self.hosts[at];
            let id = host.claim.or(host.machine_of)?;
            let spoken_of = self
                .consumers
                .iter()
                .any(|consumer| [consumer.intent.id(), consumer.intent.renews()].contains(&Some(id)));
            let mut next = self.clone();
            (!spoken_of && next.person_releases(at)).then(|| next.representative())
        })
    }

    /// What is not as it should be when all is quiet.
    pub fn left_over(&self) -> Option<&'static str> {
        for (at, host) in self.hosts.iter().enumerate().filter(|(_, host)| host.there) {
            let Some(id) = host.claim else {
                let clean = host.consumer.is_none() && host.machine_of.is_none() && host.dirty.is_none();
                if !clean || host.deleting || !(0..1).any(|who| decide::fits(who, at, host)) {
                    return Some("a host without a claim is not free");
                }
                continue;
            };
            let Some(who) = self.stands_by(id) else { return Some("a host is held by a claim of nobody") };
            let uid = self.consumers[who].uid;
            if host.consumer.is_none_or(|reference| (reference.who, reference.uid) != (who, uid)) {
                return Some("a host does not name its consumer");
            }
            if host.dirty.map(|(of, _)| of) != Some(id) || host.machine_of != Some(id) {
                return Some("a held machine is not its consumer's");
            }
        }
        let free = self.hosts.iter().any(|host| host.there && host.claim.is_none());
        self.consumers.iter().filter(|consumer| consumer.life == Life::There).find_map(|consumer| {
            let served = match consumer.intent {
                Intent::None | Intent::Garbled => false,
                Intent::Of { host, id, given_up, .. } => !given_up && self.hosts[host].claim == Some(id),
            };
            // It had its machine, and lost it: it says so and takes no other.
            let lost = consumer.settled && consumer.intent == Intent::None && !consumer.deleting;
            match (consumer.deleting, served || lost, free) {
                (true, true | false, true | false) => Some("a deleted consumer stays"),
                (false, false, true) => Some("a consumer waits though there is a host"),
                (false, false, false) if consumer.intent != Intent::None => {
                    Some("a waiting consumer has an intent")
                }
                (false, false, false) | (false, true, true | false) => None,
            }
        })
    }
}
