//! Who is woken, and when a cluster is asked.

use beskar7_core::machine::node_link::SystemId;

use super::*;

fn machine(name: &str) -> Key {
    ("metal".to_owned(), name.to_owned())
}

fn node(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        uid: String::new(),
        created: None,
        deleting: false,
        provider_id: None,
        system: SystemId::Untold,
        labels: [].into(),
        ours: [].into(),
        theirs: [].into(),
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn who_waits_is_woken_by_a_change_and_by_nothing_else() {
    let (mut board, now) = (Board::new(Pace::default()), Instant::now());
    let (a, b) = (machine("a"), machine("b"));
    assert!(board.waits(&a, board.known().generation) && board.waits(&b, board.known().generation));
    let mut woken = board.answered(Ok(vec![node("x")]), now);
    woken.sort();
    assert_eq!(woken, [a.clone(), b.clone()]);
    let seen = board.known().generation;
    assert!(!board.waits(&a, seen), "it waited before");
    assert!(board.answered(Ok(vec![node("x")]), now).is_empty(), "nothing has changed");
    // One that looked at what was before is behind.
    board.waits(&b, seen - 1);
    assert_eq!(board.answered(Ok(vec![node("x")]), now), [b]);
    board.forget(&machine("b"));
    let trouble = Trouble::Unreachable("gone".into());
    assert_eq!(board.answered(Err(trouble.clone()), now), [machine("a")]);
    assert!(board.answered(Err(trouble), now).is_empty(), "the same trouble is no news");
    board.forget(&a);
    assert!(board.answered(Ok(vec![]), now).is_empty());
}

#[test]
fn a_cluster_is_asked_less_and_less_often_until_something_happens() {
    let (mut board, mut now) = (Board::new(Pace::default()), Instant::now());
    let Pace { shortest, longest, .. } = Pace::default();
    assert_eq!(board.due(now), None, "nobody waits");
    board.waits(&machine("a"), 0);
    assert_eq!(board.due(now), Some(now), "it was never asked");
    let mut expected = shortest;
    for _ in 0..10 {
        board.answered(Ok(vec![]), now);
        let pause = board.due(now).unwrap() - now;
        assert!(pause >= expected && pause <= expected * 2, "{pause:?} is not in {expected:?}..x2");
        now += pause;
        expected = (expected * 2).min(longest);
    }
    board.waits(&machine("b"), board.known().generation);
    assert_eq!(board.due(now), Some(board.asked.unwrap() + shortest), "somebody new waits");
    board.answered(Ok(vec![node("x")]), now);
    assert!(board.due(now).unwrap() - now <= shortest * 2, "something has changed");
}

#[test]
fn a_task_asks_only_while_somebody_waits() {
    let (mut board, now) = (Board::new(Pace::default()), Instant::now());
    board.waits(&machine("a"), 0);
    assert!(board.begins());
    assert!(!board.begins(), "a second one asks");
    board.forget(&machine("a"));
    assert_eq!(board.due(now), None);
    assert!(board.begins(), "nobody would ask any more");
}

#[test]
fn who_is_settled_has_an_old_answer_made_new_and_waits_no_more() {
    let (mut board, now) = (Board::new(Pace::default()), Instant::now());
    let a = machine("a");
    board.waits(&a, 0);
    board.answered(Ok(vec![]), now);
    let seen = board.known().generation;
    assert!(!board.settles(&a, seen, seconds(300), now + seconds(299)));
    assert_eq!(board.due(now), None, "nobody waits");
    assert!(board.settles(&a, seen, seconds(300), now + seconds(301)));
    assert!(board.due(now).is_some());
    assert!(board.answered(Ok(vec![]), now + seconds(301)).is_empty());
    assert_eq!(board.due(now), None, "it waits on");
    assert!(board.settles(&a, seen, seconds(300), now + seconds(700)));
    assert_eq!(board.answered(Ok(vec![node("x")]), now + seconds(700)), [a]);
}

#[test]
fn what_failed_is_not_written_again_at_once_and_nothing_is_written_twice() {
    let (mut board, now) = (Board::new(Pace::default()), Instant::now());
    let a = machine("a");
    assert!(board.begins_to_write(&a, now));
    assert!(!board.begins_to_write(&a, now), "twice at once");
    assert!(board.begins_to_write(&machine("b"), now));
    board.has_written(&a, Some(("forbidden".into(), seconds(9))), now);
    assert!(!board.begins_to_write(&a, now + seconds(8)));
    assert_eq!(board.failure(&a, now + seconds(8)), Some(("forbidden".to_owned(), seconds(1))));
    assert_eq!(board.failure(&a, now + seconds(9)), Some(("forbidden".to_owned(), seconds(0))), "it stands");
    assert!(board.begins_to_write(&a, now + seconds(9)));
    board.has_written(&a, None, now + seconds(9));
    assert_eq!(board.failure(&a, now), None);
}

#[test]
fn what_was_written_is_known_at_once() {
    let (mut board, now) = (Board::new(Pace::default()), Instant::now());
    board.replace("x", Some(node("x")));
    assert!(board.known().nodes.is_none(), "one Node is not all of them");
    board.answered(Ok(vec![node("x"), node("y")]), now);
    let before = board.known().generation;
    board.replace("x", Some(Node { provider_id: Some("b7://metal/h".into()), ..node("x") }));
    let known = board.known();
    let nodes = known.nodes.unwrap().unwrap();
    assert!(nodes.len() == 2 && nodes.iter().any(|node| node.provider_id.is_some()), "{nodes:?}");
    assert!(known.generation > before);
    board.replace("y", None);
    assert_eq!(board.known().nodes.unwrap().unwrap().len(), 1);
}
