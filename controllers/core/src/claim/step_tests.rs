//! Tables over the consumer's next write.

use beskar7_api::{PhysicalHost, annotations};
use serde_json::{Value, json};

use super::{
    super::samples::{ME, consumer, host, wish},
    *,
};

const MINE: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "ffffffffffffffffffffffffffffffff";
const INTENT: &str = "metal/h/0123456789abcdef0123456789abcdef";
const GIVEN_UP: &str = "metal/h/0123456789abcdef0123456789abcdef/given-up";

fn id() -> ClaimId {
    ClaimId::parse(MINE).unwrap()
}

/// A host that this consumer holds, changed by a merge patch.
fn held(name: &str, patch: Value) -> PhysicalHost {
    let mut host = host(name, json!({"status": {"state": "Provisioned", "claimID": MINE}}));
    host.spec.claim_id = Some(MINE.into());
    host.spec.consumer_ref = Some(ME.reference());
    let mut value = serde_json::to_value(host).unwrap();
    json_patch(&mut value, &patch);
    serde_json::from_value(value).unwrap()
}

fn json_patch(into: &mut Value, patch: &Value) {
    for (path, value) in patch.as_object().unwrap() {
        let (parent, key) = path.rsplit_once('.').unwrap();
        let pointer = format!("/{}", parent.replace('.', "/"));
        let object = into.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
        object.insert(key.to_owned(), value.clone());
    }
}

fn annotated(mut host: PhysicalHost, name: &str, value: &str) -> PhysicalHost {
    host.metadata.annotations.get_or_insert_default().insert(name.into(), value.into());
    host
}

/// What follows, each time having looked in the order that was asked for.
fn settled_step(consumer: &Consumer<'_>, host: Option<&PhysicalHost>, referring: &[PhysicalHost]) -> Step {
    let referring: Vec<Candidate<'_>> = referring.iter().map(Candidate::new).collect();
    let intended = match (consumer.intent, host) {
        (None, None | Some(_)) => Intended::NotLooked,
        (Some(_), Some(host)) => Intended::There(Candidate::new(host)),
        (Some(_), None) => Intended::Gone { namespace: "metal", name: "h" },
    };
    let step = next(consumer, &wish(), Order::HostThenConsumer, &intended, &referring);
    if let Step::Look(order) = step {
        return next(consumer, &wish(), order, &intended, &referring);
    }
    step
}

fn giving_up(why: GivenUp) -> Step {
    Step::WriteIntent(Intent::parse(GIVEN_UP).unwrap(), Why::GivingUp(why))
}

#[test]
fn a_consumer_that_wants_or_holds_a_host() {
    let free = || host("h", json!({}));
    for (name, host, expected) in [
        ("free", Some(free()), Step::BindHost(id())),
        ("held", Some(held("h", json!({}))), Step::Bound),
        (
            "held, status lost",
            Some(held("h", json!({"status.claimID": null, "status.state": null}))),
            Step::Bound,
        ),
        (
            "held, being deleted",
            Some(held("h", json!({"metadata.deletionTimestamp": "2026-11-16T00:00:00Z"}))),
            Step::Bound,
        ),
        ("held, cordoned", Some(held("h", json!({"spec.cordoned": "x"}))), Step::Bound),
        ("reference lost", Some(held("h", json!({"spec.consumerRef": null}))), Step::RestoreHost(id())),
        (
            "reference of before a move",
            Some(held("h", json!({"spec.consumerRef.uid": "u-0"}))),
            Step::RestoreHost(id()),
        ),
        ("reference edited", Some(held("h", json!({"spec.consumerRef.name": "n"}))), Step::RestoreHost(id())),
        (
            "held by who this one is a copy of",
            Some(held("h", json!({"spec.consumerRef.name": "n", "spec.consumerRef.uid": "u-0"}))),
            giving_up(GivenUp::Rejected(Rejection::Claimed)),
        ),
        (
            "held by one of the same name elsewhere",
            Some(held("h", json!({"spec.consumerRef.namespace": "n", "spec.consumerRef.uid": "u-0"}))),
            giving_up(GivenUp::Rejected(Rejection::Claimed)),
        ),
        (
            "held by one of another kind",
            Some(held("h", json!({"spec.consumerRef.kind": "K", "spec.consumerRef.uid": null}))),
            giving_up(GivenUp::Rejected(Rejection::Claimed)),
        ),
        (
            "claim and reference lost",
            Some(held("h", json!({"spec.consumerRef": null, "spec.claimID": null}))),
            Step::RestoreHost(id()),
        ),
        (
            "released by a person",
            Some(annotated(held("h", json!({})), annotations::RELEASE, MINE)),
            giving_up(GivenUp::Released),
        ),
        ("an old release", Some(annotated(held("h", json!({})), annotations::RELEASE, OTHER)), Step::Bound),
        (
            "taken by another",
            Some(held("h", json!({"spec.claimID": OTHER, "status.claimID": OTHER}))),
            giving_up(GivenUp::Rejected(Rejection::Claimed)),
        ),
        (
            "being cleaned of another",
            Some(held("h", json!({"spec.claimID": null, "spec.consumerRef": null, "status.claimID": OTHER}))),
            giving_up(GivenUp::Rejected(Rejection::Claimed)),
        ),
        ("ended here", Some(annotated(free(), annotations::FENCE, MINE)), giving_up(GivenUp::Released)),
        ("somebody else's fence", Some(annotated(free(), annotations::FENCE, OTHER)), Step::BindHost(id())),
        (
            "being deleted",
            Some(host("h", json!({"metadata": {"deletionTimestamp": "2026-11-16T00:00:00Z"}}))),
            giving_up(GivenUp::Rejected(Rejection::Deleting)),
        ),
        (
            "no longer allowed",
            Some(host(
                "h",
                json!({"metadata": {"labels": {}}, "spec": {"reservedFor": {"kind": "B", "namespace": "t", "name": "c"}}}),
            )),
            giving_up(GivenUp::Rejected(Rejection::Reserved)),
        ),
        ("gone", None, giving_up(GivenUp::HostGone)),
    ] {
        assert_eq!(settled_step(&consumer(Some(INTENT)), host.as_ref(), &[]), expected, "{name}");
    }
}

#[test]
fn a_consumer_that_leaves() {
    let free = || host("h", json!({}));
    for (name, host, deleting, given_up) in [
        ("held", Some(held("h", json!({}))), Step::ReleaseHost(id()), Step::ReleaseHost(id())),
        (
            "held, reference lost",
            Some(held("h", json!({"spec.consumerRef": null}))),
            Step::ReleaseHost(id()),
            Step::ReleaseHost(id()),
        ),
        (
            "held, all lost",
            Some(held("h", json!({"spec.consumerRef": null, "spec.claimID": null}))),
            Step::ReleaseHost(id()),
            Step::ReleaseHost(id()),
        ),
        (
            "released",
            Some(annotated(held("h", json!({"spec.consumerRef": null})), annotations::RELEASE, MINE)),
            Step::Wait(Wait::Deprovisioning),
            Step::Wait(Wait::Deprovisioning),
        ),
        ("never bound", Some(free()), Step::FenceHost(id()), Step::FenceHost(id())),
        (
            "held by who this one is a copy of",
            Some(held("h", json!({"spec.consumerRef.name": "n", "spec.consumerRef.uid": "u-0"}))),
            Step::LetGo,
            Step::DropIntent,
        ),
        (
            "released, of who this one is a copy of",
            Some(held(
                "h",
                json!({"spec.consumerRef.name": "n", "spec.consumerRef.uid": "u-0", "status.state": "Deprovisioning"}),
            )),
            Step::LetGo,
            Step::DropIntent,
        ),
        (
            "another's",
            Some(held("h", json!({"spec.claimID": OTHER, "status.claimID": OTHER}))),
            Step::LetGo,
            Step::DropIntent,
        ),
        (
            "clean and not yet available",
            Some(host("h", json!({"status": {"state": "Deprovisioning"}}))),
            Step::LetGo,
            Step::DropIntent,
        ),
        ("fenced", Some(annotated(free(), annotations::FENCE, MINE)), Step::LetGo, Step::DropIntent),
        ("gone", None, Step::LetGo, Step::DropIntent),
    ] {
        for intent in [INTENT, GIVEN_UP] {
            let leaving = Consumer { deleting: true, ..consumer(Some(intent)) };
            assert_eq!(settled_step(&leaving, host.as_ref(), &[]), deleting, "{name}, deleting");
        }
        assert_eq!(settled_step(&consumer(Some(GIVEN_UP)), host.as_ref(), &[]), given_up, "{name}, given up");
    }
}

#[test]
fn a_person_lets_a_consumer_go_before_its_host_is_clean_but_not_before_it_is_released() {
    let forced = |intent, deleting| Consumer { forced: true, deleting, ..consumer(Some(intent)) };
    let released = annotated(held("h", json!({"spec.consumerRef": null})), annotations::RELEASE, MINE);
    assert_eq!(
        settled_step(&forced(INTENT, true), Some(&held("h", json!({}))), &[]),
        Step::ReleaseHost(id())
    );
    assert_eq!(settled_step(&forced(INTENT, true), Some(&released), &[]), Step::LetGo);
    // Who is not being deleted waits: it would take another host while this one runs.
    let waits = Step::Wait(Wait::Deprovisioning);
    assert_eq!(settled_step(&forced(GIVEN_UP, false), Some(&released), &[]), waits);
}

#[test]
fn a_consumer_without_an_intent_that_can_be_read() {
    let adopted = Step::WriteIntent(Intent::parse(INTENT).unwrap(), Why::Adopted);
    let stray = [held("h", json!({}))];
    let namesake = [held("h", json!({"spec.consumerRef.uid": "u-0"}))];
    let ended = [annotated(held("h", json!({})), annotations::RELEASE, MINE)];
    let unreadable = [held("h", json!({"spec.claimID": "by-hand"}))];
    for (name, referring, absent, garbled, deleting) in [
        ("nothing refers to it", &[][..], Step::Choose, Step::DropIntent, Step::LetGo),
        ("its own", &stray[..], adopted.clone(), adopted.clone(), adopted),
        ("a namesake's", &namesake[..], Step::Choose, Step::DropIntent, Step::LetGo),
        ("its own, released", &ended[..], Step::Choose, Step::DropIntent, Step::LetGo),
        ("no claim ID of ours", &unreadable[..], Step::Choose, Step::DropIntent, Step::LetGo),
    ] {
        assert_eq!(settled_step(&consumer(None), None, referring), absent, "{name}");
        for text in
            ["", "metal/h", "metal/h/x", "../../etc", "metal/h/0123456789abcdef0123456789abcdef/bound"]
        {
            assert_eq!(settled_step(&consumer(Some(text)), None, referring), garbled, "{name}, {text}");
            let leaving = Consumer { deleting: true, ..consumer(Some(text)) };
            assert_eq!(settled_step(&leaving, None, referring), deleting, "{name}, {text}, deleting");
        }
    }
    let done = Consumer { deleting: true, ..consumer(None) };
    assert_eq!(settled_step(&done, None, &[]), Step::Wait(Wait::NothingHeld));
}

#[test]
fn a_second_host_is_given_back_and_the_one_that_runs_is_kept() {
    let another = held("g", json!({"spec.claimID": OTHER, "status.claimID": OTHER}));
    let referring = [another];
    let stray = ClaimId::parse(OTHER).unwrap();
    let free = host("h", json!({}));
    assert_eq!(
        settled_step(&consumer(Some(INTENT)), Some(&held("h", json!({}))), &referring),
        Step::ReleaseStray { namespace: "metal".into(), name: "g".into(), claim_id: stray }
    );
    assert_eq!(
        settled_step(&consumer(Some(INTENT)), Some(&free), &referring),
        giving_up(GivenUp::HoldsAnother)
    );
    let fenced = annotated(free, annotations::FENCE, MINE);
    let leaving = Consumer { deleting: true, ..consumer(Some(INTENT)) };
    assert_eq!(settled_step(&leaving, Some(&fenced), &referring), Step::DropIntent, "the other comes next");
}

#[test]
fn a_machine_that_ran_takes_no_other_host() {
    let settled = |intent| Consumer { settled: true, finalizer: true, ..consumer(intent) };
    assert_eq!(settled_step(&settled(Some(INTENT)), Some(&held("h", json!({}))), &[]), Step::Bound);
    assert_eq!(
        settled_step(&settled(Some(INTENT)), Some(&host("h", json!({}))), &[]),
        giving_up(GivenUp::Lost)
    );
    assert_eq!(settled_step(&settled(None), None, &[]), Step::Wait(Wait::HostLost));
}

#[test]
fn who_is_on_hold_does_nothing() {
    for intent in [None, Some(INTENT), Some(GIVEN_UP), Some("x")] {
        for deleting in [false, true] {
            let consumer = Consumer { on_hold: true, deleting, ..consumer(intent) };
            let step = settled_step(&consumer, Some(&held("h", json!({}))), &[]);
            assert_eq!(step, Step::Wait(Wait::OnHold), "{intent:?} {deleting}");
        }
    }
}

#[test]
fn a_host_on_hold_is_left_as_it_is() {
    let deleting = Consumer { deleting: true, ..consumer(Some(INTENT)) };
    for name in [annotations::PAUSED, annotations::DELETE_FOR_MOVE] {
        let held_by = |patch| annotated(held("h", patch), name, "");
        let lost = held_by(json!({"spec.consumerRef": null}));
        assert_eq!(settled_step(&consumer(Some(INTENT)), Some(&held_by(json!({}))), &[]), Step::Bound);
        let waits = Step::Wait(Wait::HostOnHold);
        assert_eq!(settled_step(&consumer(Some(INTENT)), Some(&lost), &[]), waits);
        assert_eq!(settled_step(&consumer(Some(GIVEN_UP)), Some(&lost), &[]), waits);
        assert_eq!(settled_step(&deleting, Some(&held_by(json!({}))), &[]), waits);
    }
}

#[test]
fn a_lost_finalizer_is_put_back_before_anything_is_bound() {
    let consumer = Consumer { finalizer: false, ..consumer(Some(INTENT)) };
    let expected = Step::WriteIntent(Intent::parse(INTENT).unwrap(), Why::FinalizerLost);
    assert_eq!(settled_step(&consumer, Some(&host("h", json!({}))), &[]), expected);
}

#[test]
fn nothing_rests_on_the_wrong_order_or_the_wrong_host() {
    let free = host("h", json!({}));
    let taken = held("h", json!({"spec.claimID": OTHER}));
    let fenced = annotated(host("h", json!({})), annotations::FENCE, MINE);
    let elsewhere = host("g", json!({}));
    let deleting = |intent| Consumer { deleting: true, ..consumer(intent) };
    let gone = Intended::Gone { namespace: "metal", name: "h" };
    let there = |host| Intended::There(Candidate::new(host));
    for (consumer, order, intended, expected) in [
        (consumer(Some(INTENT)), Order::ConsumerThenHost, there(&free), Order::HostThenConsumer),
        (consumer(Some(INTENT)), Order::HostThenConsumer, there(&taken), Order::ConsumerThenHost),
        (consumer(Some(INTENT)), Order::HostThenConsumer, gone, Order::ConsumerThenHost),
        (consumer(Some(GIVEN_UP)), Order::HostThenConsumer, there(&fenced), Order::ConsumerThenHost),
        (deleting(Some(INTENT)), Order::HostThenConsumer, gone, Order::ConsumerThenHost),
        (consumer(Some(INTENT)), Order::HostThenConsumer, there(&elsewhere), Order::HostThenConsumer),
        (consumer(Some(INTENT)), Order::HostThenConsumer, Intended::NotLooked, Order::HostThenConsumer),
        (deleting(Some(INTENT)), Order::ConsumerThenHost, there(&elsewhere), Order::HostThenConsumer),
    ] {
        assert_eq!(next(&consumer, &wish(), order, &intended, &[]), Step::Look(expected), "{consumer:?}");
    }
}

#[test]
fn what_is_revoked_is_given_up_like_anything_else() {
    assert_eq!(Intent::parse(INTENT).unwrap().give_up(), Intent::parse(GIVEN_UP).unwrap());
}

#[test]
fn an_intent_names_the_host_that_was_chosen() {
    let chosen = host("h", json!({}));
    assert_eq!(Intent::take(&Candidate::new(&chosen), id()), Intent::parse(INTENT).unwrap());
}

/// The intent to take a new claim on the host that is held under [`MINE`].
fn renewing() -> (Intent, ClaimId) {
    let fresh = ClaimId::parse(OTHER).unwrap();
    let intent = Intent::parse(INTENT).unwrap().renew(fresh.clone());
    (intent, fresh)
}

#[test]
fn a_new_claim_takes_the_place_of_the_old_one_on_the_same_host() {
    let (intent, fresh) = renewing();
    let text = intent.to_string();
    assert_eq!(text, format!("metal/h/{OTHER}/renews-{MINE}"));
    let me = consumer(Some(&text));
    let wiped = held("h", json!({"spec.claimID": null, "spec.consumerRef": null}));
    for (name, host, expected) in [
        ("still under the old one", held("h", json!({})), Step::RenewHost(fresh.clone())),
        ("its spec was wiped", wiped, Step::RenewHost(fresh.clone())),
        ("the old one is being cleaned off", held("h", json!({"spec.claimID": OTHER})), Step::Bound),
        (
            "somebody took the reference off",
            held("h", json!({"spec.claimID": OTHER, "spec.consumerRef": null})),
            Step::RestoreHost(fresh),
        ),
        (
            "a person released the old one",
            annotated(held("h", json!({})), annotations::RELEASE, MINE),
            Step::WriteIntent(intent.give_up(), Why::GivingUp(GivenUp::Released)),
        ),
        (
            "it is paused",
            annotated(held("h", json!({})), annotations::PAUSED, ""),
            Step::Wait(Wait::HostOnHold),
        ),
    ] {
        let referring = [host.clone()];
        assert_eq!(settled_step(&me, Some(&host), &referring), expected, "{name}");
    }
}

#[test]
fn who_leaves_while_a_new_claim_takes_the_place_of_the_old_one_releases_what_the_host_is_under() {
    let (intent, fresh) = renewing();
    let text = intent.to_string();
    let me = Consumer { deleting: true, ..consumer(Some(&text)) };
    let old = held("h", json!({}));
    assert_eq!(settled_step(&me, Some(&old), &[]), Step::ReleaseHost(id()));
    let new = held("h", json!({"spec.claimID": OTHER}));
    assert_eq!(settled_step(&me, Some(&new), &[]), Step::ReleaseHost(fresh.clone()));
    let released = annotated(held("h", json!({})), annotations::RELEASE, MINE);
    assert_eq!(settled_step(&me, Some(&released), &[]), Step::Wait(Wait::Deprovisioning));
    let free = annotated(host("h", json!({})), annotations::FENCE, MINE);
    assert_eq!(settled_step(&me, Some(&free), &[]), Step::FenceHost(fresh));
}
