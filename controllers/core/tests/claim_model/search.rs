//! The search, its bounds, and the ways in which the protocol is broken on purpose.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
    sync::Mutex,
    time::Instant,
};

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::{
    actions::Action,
    ending::Turns,
    world::{Intent, World, Write},
};

/// How much is searched.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub consumers: usize,
    pub hosts: usize,
    /// Managers that are slow at once.
    pub laggards: usize,
    /// Accidents in one run.
    pub faults: u8,
    /// Whether the only accident is that a host is replaced.
    pub only_replaced: bool,
    /// Whether consumers keep to one machine for life.
    pub settling: bool,
    /// How often a consumer wants something else of the machine that it has.
    pub renewals: u8,
}

/// A protocol with a mistake in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// None.
    Sound,
    /// Gives up a claim without fencing the host.
    NoFence,
    /// Fences, then drops the intent, but does not mark the intent as given up before.
    NoMark,
    /// Drops the intent first.
    DropsFirst,
    /// Binds whatever the version of the host.
    BindsAnyVersion,
    /// Writes an intent whatever the version of the consumer.
    IntendsAnyVersion,
    /// Writes a host's status whatever the version of the host.
    SaysAnyVersion,
    /// Takes the consumer from a cache: reads it before the host, not after it.
    ReadsConsumerFirst,
    /// Forgets a claim by what it knew of the host before it read the consumer.
    ForgetsByOldHost,
    /// Knows its own by name, not by claim ID and UID.
    ComparesNames,
    /// Believes whoever names the claim, whomever the host names.
    BelievesCopies,
    /// Releases a host whose consumer is absent.
    ReleasesWhenAbsent,
    /// Takes an empty `consumerRef` for a release.
    ReleasesWithoutReference,
    /// Clears the claim before the machine is clean.
    ClearsBeforeClean,
    /// Takes a new claim on its host, and does not say which one it had there.
    RenewsWithoutName,
    /// Knows only by a host's status whose its machine is.
    ForgetsMarks,
    /// Says the same of a machine that is emptied for the one who has it and of one that is clean for others.
    CleanForHolder,
}

impl Mutant {
    pub fn ignores_version(self, write: &Write) -> bool {
        match (self, write) {
            (Self::BindsAnyVersion, Write::Bind { .. }) => true,
            (Self::SaysAnyVersion, Write::Status { .. }) => true,
            (Self::IntendsAnyVersion, Write::Intent { intent, .. }) => *intent != Intent::None,
            (_, _) => false,
        }
    }
}

type Hashes = HashSet<u64, BuildHasherDefault<DefaultHasher>>;

pub struct Claims {
    extent: Extent,
    mutant: Mutant,
    /// Worlds that are known to end well, by their hash, for each order of turns.
    ends_well: [Mutex<Hashes>; 2],
}

/// So many turns are enough for everybody, and more only for those who turn in circles.
const ENOUGH: usize = 200;

impl Claims {
    fn new(extent: Extent, mutant: Mutant) -> Self {
        Self { extent, mutant, ends_well: Default::default() }
    }

    /// What is left over in the end, if something is, whoever's turn comes first.
    fn ending(&self, world: &World) -> Option<&'static str> {
        let orders = Turns::ALL.iter().zip(&self.ends_well);
        orders.into_iter().find_map(|(turns, known)| self.ending_by(*turns, known, world))
    }

    fn ending_by(&self, turns: Turns, known: &Mutex<Hashes>, world: &World) -> Option<&'static str> {
        let mut path = Vec::new();
        let mut world = world.clone();
        loop {
            let mut hasher = DefaultHasher::new();
            world.hash(&mut hasher);
            let hash = hasher.finish();
            if known.lock().unwrap().contains(&hash) {
                break;
            }
            path.push(hash);
            if path.len() > ENOUGH {
                return Some("it never ends");
            }
            match world.settles(self.mutant, turns) {
                Some(next) => world = next,
                None => match world.wrong.or(world.left_over()) {
                    Some(wrong) => return Some(wrong),
                    None => break,
                },
            }
        }
        known.lock().unwrap().extend(path);
        None
    }
}

/// What is wrong right now.
fn wrong(world: &World) -> Option<&'static str> {
    if world.wrong.is_some() {
        return world.wrong;
    }
    for host in &world.hosts {
        let (Some(reference), Some(id)) = (host.consumer, host.claim) else { continue };
        let holders = world
            .consumers
            .iter()
            .enumerate()
            .filter(|(_, consumer)| consumer.intent.id() == Some(id) && !consumer.copied);
        if holders.into_iter().any(|(who, _)| who != reference.who) {
            return Some("a host has two consumers");
        }
    }
    for (who, consumer) in world.consumers.iter().enumerate() {
        let holds = |host: &&crate::world::Host| {
            let named = host.consumer.is_some_and(|reference| reference.who == who);
            named && host.claim.is_some() && host.released != host.claim
        };
        if world.hosts.iter().filter(holds).count() > 1 && !world.excused {
            return Some("a consumer has two hosts");
        }
        let inherited = world
            .hosts
            .iter()
            .filter_map(|host| host.dirty)
            .any(|(id, birth)| consumer.intent.id() == Some(id) && birth != consumer.birth);
        if inherited && !consumer.copied {
            return Some("a new consumer inherits a machine from one of the same name");
        }
    }
    None
}

const NOTHING_WRONG: &str = "nothing is ever wrong";
const ENDS_WELL: &str = "all ends well";

impl Model for Claims {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.extent)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.actions(self.mutant, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        world.after(self.mutant, &action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NOTHING_WRONG, |_, world| wrong(world).is_none()),
            Property::always(ENDS_WELL, |model: &Self, world| model.ending(world).is_none()),
        ]
    }
}

/// Searches; returns how many worlds there are, and what was found, with the way to it.
fn run(extent: Extent, mutant: Mutant) -> (usize, Option<String>) {
    let checker = Claims::new(extent, mutant)
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let found = checker.discoveries().into_iter().next().map(|(property, path)| {
        let last = path.last_state().clone();
        let why = wrong(&last).or_else(|| Claims::new(extent, mutant).ending(&last));
        let steps: Vec<String> =
            path.into_vec().into_iter().map(|(world, action)| format!("{world:?}\n  → {action:?}")).collect();
        let mut rest = Vec::new();
        for turns in Turns::ALL {
            let mut world = last.clone();
            rest.push(format!("{turns:?}"));
            for _ in 0..30 {
                let Some(next) = world.settles(mutant, turns) else { break };
                rest.push(format!("{next:?}"));
                world = next;
            }
        }
        format!("{property}: {why:?}\n{}\nand then\n{}", steps.join("\n"), rest.join("\n"))
    });
    (checker.unique_state_count(), found)
}

/// Searches all of it: nothing may be found, and it must not be too little to say anything.
pub fn search(extent: Extent, at_least: usize) {
    let start = Instant::now();
    let (worlds, found) = run(extent, Mutant::Sound);
    println!("{extent:?}: {worlds} worlds in {:.1} s", start.elapsed().as_secs_f32());
    if let Some(found) = found {
        panic!("{found}");
    }
    assert!(worlds >= at_least, "only {worlds} worlds: the search is too small to say anything");
}

/// Searches until something is found.
pub fn find(extent: Extent, mutant: Mutant) {
    let start = Instant::now();
    let (worlds, found) = run(extent, mutant);
    println!("{mutant:?} {extent:?}: {worlds} worlds in {:.1} s", start.elapsed().as_secs_f32());
    assert!(found.is_some(), "{mutant:?} is not found in {worlds} worlds");
    if std::env::var_os("BESKAR7_SHOW").is_some() {
        println!("{}", found.unwrap_or_default());
    }
}
