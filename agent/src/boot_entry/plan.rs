//! What is to be changed among the firmware's entries.

use std::collections::BTreeMap;

use super::load_option::description;

/// What is to be done, in this order.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// The entry's number.
    pub number: u16,
    /// Whether it has to be written.
    pub is_new: bool,
    /// The order in which firmware tries entries.
    pub order: Vec<u16>,
    /// Entries of ours that are not needed any more.
    pub removed: Vec<u16>,
}

/// Puts an entry before all others, and removes others of the same description. None when there is no number left.
pub fn plan(existing: &BTreeMap<u16, Vec<u8>>, order: &[u16], option: &[u8], ours: &str) -> Option<Plan> {
    let same = existing.iter().find(|(_, content)| content.as_slice() == option).map(|(number, _)| *number);
    let unused = || (0..=u16::MAX).find(|number| !existing.contains_key(number));
    let number = same.or_else(unused)?;
    let is_old = |(other, content): &(&u16, &Vec<u8>)| {
        **other != number && description(content).as_deref() == Some(ours)
    };
    let removed: Vec<u16> = existing.iter().filter(is_old).map(|(other, _)| *other).collect();
    let others = order.iter().copied().filter(|other| *other != number && !removed.contains(other));
    let order = [number].into_iter().chain(others).collect();
    Some(Plan { number, is_new: same.is_none(), order, removed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(description: &str, content: u8) -> Vec<u8> {
        let letters = description.encode_utf16().chain([0]).flat_map(u16::to_le_bytes);
        [0; 6].into_iter().chain(letters).chain([content]).collect()
    }

    #[test]
    fn ours_is_first_and_the_only_one_of_us() {
        let (ours, old, other) = (option("us", 1), option("us", 2), option("disk", 3));
        for (existing, order, expected) in [
            (vec![], vec![], (0, true, vec![0], vec![])),
            (vec![(0, &other), (2, &other)], vec![2, 0], (1, true, vec![1, 2, 0], vec![])),
            (vec![(0, &other), (1, &old)], vec![1, 0], (2, true, vec![2, 0], vec![1])),
            (vec![(0, &other), (1, &ours)], vec![0, 1], (1, false, vec![1, 0], vec![])),
            (vec![(0, &other), (1, &ours)], vec![1, 0], (1, false, vec![1, 0], vec![])),
            (vec![(3, &ours), (7, &ours), (9, &old)], vec![9, 7, 3, 8], (3, false, vec![3, 8], vec![7, 9])),
        ] {
            let all = existing.iter().map(|(number, content)| (*number, (*content).clone())).collect();
            let (number, is_new, new_order, removed) = expected;
            let expected = Plan { number, is_new, order: new_order, removed };
            assert_eq!(plan(&all, &order, &ours, "us"), Some(expected), "{order:?}");
        }
        let all = (0..=u16::MAX).map(|number| (number, other.clone())).collect();
        assert_eq!(plan(&all, &[], &ours, "us"), None);
    }
}
