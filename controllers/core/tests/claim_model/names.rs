//! Worlds that differ only in names are one. Claim IDs are renamed in the order in which they appear; one that appears
//! nowhere any more is forgotten, and the next fresh one is one that appears nowhere. Of the worlds in which consumers
//! and hosts have changed places, the least stands for all.

use std::sync::LazyLock;

use crate::world::{Consumer, Host, Id, Intent, Laggard, World, Write};

/// All orders of so many.
static ORDERS: LazyLock<[Vec<Vec<usize>>; 4]> = LazyLock::new(|| {
    [
        vec![vec![]],
        vec![vec![0]],
        vec![vec![0, 1], vec![1, 0]],
        vec![vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]],
    ]
});

impl World {
    /// An ID that nobody has ever seen, as far as anybody can tell.
    pub fn fresh_id(&self) -> Id {
        let mut largest = None;
        self.clone().each_id(&mut |id| largest = largest.max(Some(*id)));
        largest.map_or(0, |id| id + 1)
    }

    /// The world that stands for all that differ from this one only in names.
    pub fn representative(&self) -> Self {
        let consumers = &ORDERS[self.consumers.len()];
        let hosts = &ORDERS[self.hosts.len()];
        let all = consumers.iter().flat_map(|consumers| hosts.iter().map(move |hosts| (consumers, hosts)));
        all.map(|(consumers, hosts)| self.reordered(consumers, hosts).renamed()).min().unwrap()
    }

    /// Consumer `n` and host `n` get the places that these lists say.
    fn reordered(&self, consumers: &[usize], hosts: &[usize]) -> Self {
        let mut world = self.clone();
        for (n, place) in consumers.iter().enumerate() {
            world.consumers[*place] = self.consumers[n].clone();
        }
        for (n, place) in hosts.iter().enumerate() {
            world.hosts[*place] = self.hosts[n].clone();
        }
        let host = |host: &mut Host| {
            if let Some(reference) = &mut host.consumer {
                reference.who = consumers[reference.who];
            }
        };
        let intent = |intent: &mut Intent| {
            if let Intent::Of { host, .. } = intent {
                *host = hosts[*host];
            }
        };
        world.hosts.iter_mut().for_each(host);
        world.consumers.iter_mut().for_each(|consumer| intent(&mut consumer.intent));
        for laggard in &mut world.laggards {
            match laggard {
                Laggard::Idle => {}
                Laggard::SawHost { who, at, host: seen, .. } => {
                    (*who, *at) = (consumers[*who], hosts[*at]);
                    host(seen);
                }
                Laggard::SawConsumer { who, consumer } => {
                    *who = consumers[*who];
                    intent(&mut consumer.intent);
                }
                Laggard::Writes { write, .. } => match write {
                    Write::Intent { who, intent: written } | Write::Renew { who, intent: written } => {
                        *who = consumers[*who];
                        intent(written);
                    }
                    Write::LetGo { who } | Write::Settle { who } => *who = consumers[*who],
                    Write::Bind { at, by, .. } => (*at, by.who) = (hosts[*at], consumers[by.who]),
                    Write::Release { at, .. } | Write::Fence { at, .. } | Write::Status { at, .. } => {
                        *at = hosts[*at];
                    }
                },
            }
        }
        world.laggards.sort_by_key(|laggard| *laggard == Laggard::Idle);
        world
    }

    fn renamed(mut self) -> Self {
        let (hosts, unwanted) = (&self.hosts, &mut self.unwanted);
        let names =
            |host: &Host, id| [host.claim, host.machine_of, host.dirty.map(|(of, _)| of)].contains(&id);
        unwanted.retain(|id| hosts.iter().any(|host| names(host, Some(*id))));
        let mut names: Vec<Id> = Vec::new();
        self.each_id(&mut |id| {
            let position = names.iter().position(|name| name == id).unwrap_or_else(|| {
                names.push(*id);
                names.len() - 1
            });
            *id = Id::try_from(position).unwrap();
        });
        self
    }

    fn each_id(&mut self, f: &mut impl FnMut(&mut Id)) {
        for host in &mut self.hosts {
            host.each_id(f);
        }
        for consumer in &mut self.consumers {
            consumer.each_id(f);
        }
        self.unwanted.iter_mut().for_each(&mut *f);
        for laggard in &mut self.laggards {
            match laggard {
                Laggard::Idle => {}
                Laggard::SawHost { host, .. } => host.each_id(f),
                Laggard::SawConsumer { consumer, .. } => consumer.each_id(f),
                Laggard::Writes { write, .. } => match write {
                    Write::Intent { intent, .. } | Write::Renew { intent, .. } => intent.each_id(f),
                    Write::LetGo { .. } | Write::Settle { .. } => {}
                    Write::Bind { id, renews, .. } => {
                        f(id);
                        renews.iter_mut().for_each(&mut *f);
                    }
                    Write::Release { id, .. } | Write::Fence { id, .. } => f(id),
                    Write::Status { machine_of, .. } => machine_of.iter_mut().for_each(&mut *f),
                },
            }
        }
    }
}

impl Host {
    fn each_id(&mut self, f: &mut impl FnMut(&mut Id)) {
        let Self { claim, machine_of, released, fence, mark, .. } = self;
        for id in [claim, machine_of, released, fence, mark] {
            id.iter_mut().for_each(&mut *f);
        }
        if let Some((id, _)) = &mut self.dirty {
            f(id);
        }
    }
}

impl Consumer {
    fn each_id(&mut self, f: &mut impl FnMut(&mut Id)) {
        self.intent.each_id(f);
    }
}

impl Intent {
    fn each_id(&mut self, f: &mut impl FnMut(&mut Id)) {
        match self {
            Self::None | Self::Garbled => {}
            Self::Of { id, renews, .. } => {
                f(id);
                renews.iter_mut().for_each(&mut *f);
            }
        }
    }
}
