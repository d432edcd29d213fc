//! The claim protocol, searched through: the real step functions ([`beskar7_core::claim::next`] and
//! [`beskar7_core::claim::custody`]) drive consumers and hosts through every order of writes, crashes, stale views, late
//! writes of an old leader, deletions and accidents, within bounds. From every state that can be reached, the accidents
//! end and everybody goes on: then all must be served that can be, and nothing be left over.
//!
//! Mutants break the protocol on purpose, in the model only: each must be found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests may panic, talk and look at the clock"
)]

#[path = "claim_model/actions.rs"]
mod actions;
#[path = "claim_model/decide.rs"]
mod decide;
#[path = "claim_model/ending.rs"]
mod ending;
#[path = "claim_model/land.rs"]
mod land;
#[path = "claim_model/names.rs"]
mod names;
#[path = "claim_model/reached.rs"]
mod reached;
#[path = "claim_model/search.rs"]
mod search;
#[path = "claim_model/world.rs"]
mod world;

use search::{Extent, Mutant, find, search};

/// Two consumers want one host, a manager is slow, and one accident happens.
const ONE_HOST: Extent = Extent {
    consumers: 2,
    hosts: 1,
    laggards: 1,
    faults: 1,
    only_replaced: false,
    settling: false,
    renewals: 0,
};
/// Nothing but races and deletions, with a choice.
const TWO_HOSTS: Extent = Extent {
    consumers: 2,
    hosts: 2,
    laggards: 1,
    faults: 0,
    only_replaced: false,
    settling: false,
    renewals: 0,
};
/// One consumer, and two accidents.
const ONE_CONSUMER: Extent = Extent {
    consumers: 1,
    hosts: 1,
    laggards: 1,
    faults: 2,
    only_replaced: false,
    settling: false,
    renewals: 0,
};
/// A HostClaim whose image is changed or removed: it wants a new claim on the host that it has.
const RENEWING: Extent = Extent { faults: 1, settling: true, renewals: 1, ..ONE_CONSUMER };
/// Two slow managers and any accident are more than can be searched in a quarter of an hour.
const TWO_SLOW: Extent = Extent { laggards: 2, only_replaced: true, ..ONE_HOST };

#[test]
fn two_consumers_one_host_one_accident() {
    search(ONE_HOST, 100_000);
}

#[test]
fn consumers_that_keep_to_one_machine() {
    search(Extent { settling: true, ..ONE_HOST }, 100_000);
}

#[test]
fn two_consumers_two_hosts() {
    search(TWO_HOSTS, 10_000);
}

#[test]
fn one_consumer_two_accidents() {
    search(ONE_CONSUMER, 20_000);
}

#[test]
fn a_consumer_that_chooses_and_an_accident() {
    search(Extent { consumers: 1, hosts: 2, faults: 1, settling: true, ..ONE_HOST }, 10_000);
}

#[test]
fn a_consumer_that_wants_something_else_of_its_machine() {
    search(RENEWING, 10_000);
    search(Extent { faults: 0, renewals: 2, ..RENEWING }, 1_000);
}

#[test]
fn two_consumers_of_which_one_wants_something_else() {
    search(Extent { consumers: 2, faults: 0, ..RENEWING }, 10_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn two_consumers_that_want_something_else_and_an_accident() {
    search(Extent { consumers: 2, ..RENEWING }, 300_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn a_consumer_that_wants_something_else_twice_and_two_accidents() {
    search(Extent { faults: 2, renewals: 2, ..RENEWING }, 300_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn two_slow_managers_two_hosts() {
    search(Extent { laggards: 2, ..TWO_HOSTS }, 300_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn two_slow_managers_and_a_replaced_host() {
    search(TWO_SLOW, 500_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn three_consumers_two_hosts() {
    search(Extent { consumers: 3, ..TWO_HOSTS }, 300_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn two_consumers_two_hosts_one_accident() {
    search(Extent { faults: 1, ..TWO_HOSTS }, 500_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn two_consumers_one_host_two_accidents() {
    search(Extent { faults: 2, ..ONE_HOST }, 500_000);
}

#[test]
#[ignore = "takes minutes; run with the long tests"]
fn two_accidents_to_consumers_that_keep_to_one_machine() {
    search(Extent { faults: 2, settling: true, ..ONE_HOST }, 500_000);
}

/// A search says something about a decision only where it comes to it.
#[test]
fn every_decision_is_reached() {
    search(Extent { settling: true, ..ONE_CONSUMER }, 20_000);
    search(Extent { consumers: 1, hosts: 2, faults: 1, ..ONE_HOST }, 5_000);
    search(TWO_HOSTS, 10_000);
    search(RENEWING, 10_000);
    assert_eq!(reached::never(), Vec::<&str>::new());
}

mod mutants {
    use super::*;

    #[test]
    fn giving_up_without_a_fence() {
        find(ONE_HOST, Mutant::NoFence);
    }

    #[test]
    fn fencing_without_a_mark_on_the_consumer() {
        find(TWO_SLOW, Mutant::NoMark);
    }

    #[test]
    fn dropping_the_intent_first() {
        find(ONE_HOST, Mutant::DropsFirst);
    }

    #[test]
    fn binding_without_a_resource_version() {
        find(ONE_HOST, Mutant::BindsAnyVersion);
    }

    #[test]
    fn writing_an_intent_without_a_resource_version() {
        find(ONE_HOST, Mutant::IntendsAnyVersion);
    }

    #[test]
    fn writing_a_status_without_a_resource_version() {
        find(ONE_HOST, Mutant::SaysAnyVersion);
    }

    #[test]
    fn binding_by_a_consumer_from_the_cache() {
        find(ONE_HOST, Mutant::ReadsConsumerFirst);
    }

    #[test]
    fn forgetting_a_claim_by_what_the_host_was() {
        find(ONE_CONSUMER, Mutant::ForgetsByOldHost);
    }

    #[test]
    fn knowing_its_own_by_name() {
        find(ONE_CONSUMER, Mutant::ComparesNames);
    }

    #[test]
    fn believing_a_copy_of_the_one_that_a_host_names() {
        find(ONE_HOST, Mutant::BelievesCopies);
    }

    #[test]
    fn releasing_for_an_absent_consumer() {
        find(ONE_HOST, Mutant::ReleasesWhenAbsent);
    }

    #[test]
    fn taking_an_empty_reference_for_a_release() {
        find(ONE_HOST, Mutant::ReleasesWithoutReference);
    }

    #[test]
    fn taking_a_new_claim_without_naming_the_old_one() {
        find(RENEWING, Mutant::RenewsWithoutName);
    }

    #[test]
    fn knowing_by_its_status_alone_whose_a_machine_is() {
        find(RENEWING, Mutant::ForgetsMarks);
    }

    #[test]
    fn taking_what_is_emptied_for_its_holder_for_clean() {
        find(RENEWING, Mutant::CleanForHolder);
    }

    #[test]
    fn clearing_the_claim_before_the_machine_is_clean() {
        find(ONE_HOST, Mutant::ClearsBeforeClean);
    }
}
