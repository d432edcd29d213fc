use super::*;

fn piece(start: u64, length: u64, what: What) -> Piece {
    Piece { start, length, what }
}

fn memory(text: &'static str) -> What {
    What::Memory(Bytes::from_static(text.as_bytes()))
}

#[test]
fn changes_split_what_they_lie_in_and_reach_over_borders() {
    let mut assembly = Assembly::new(100);
    assembly.align(64);
    assert_eq!(assembly.append(10, What::Original(40)), 128);
    assembly.patch(5, "ab");
    assembly.patch(7, "c");
    assembly.patch(98, "wxyz");
    assembly.patch(130, "q");
    let expected = vec![
        piece(0, 5, What::Original(0)),
        piece(5, 2, memory("ab")),
        piece(7, 1, memory("c")),
        piece(8, 90, What::Original(8)),
        piece(98, 4, memory("wxyz")),
        piece(102, 26, What::Zeros),
        piece(128, 2, What::Original(40)),
        piece(130, 1, memory("q")),
        piece(131, 7, What::Original(43)),
    ];
    assert_eq!(assembly.finish(), Ok(expected));
}

#[test]
fn two_changes_of_the_same_byte_and_one_outside_are_refused() {
    for (first, second) in
        [((5, "abc"), (7, "x")), ((5, "abc"), (5, "x")), ((0, "a"), (10, "x")), ((9, "ab"), (0, "x"))]
    {
        let mut assembly = Assembly::new(10);
        assembly.patch(first.0, first.1);
        assembly.patch(second.0, second.1);
        assert!(matches!(assembly.finish(), Err(OverlayError::Damaged(_))), "{first:?} {second:?}");
    }
}
