//! Who is woken when a host changes.

use super::{
    candidate::Candidate,
    filter::{Verdict, judge},
    wish::Wish,
};

/// The waiting consumers that a host could serve as it is now. Whoever has an intent on the host, or is named by
/// its `consumerRef`, is to be woken besides, whatever changed.
pub fn woken<'h, 'w, K: 'h>(
    host: &'h Candidate<'_>,
    waiting: impl IntoIterator<Item = (K, &'w Wish<'w>)> + 'h,
) -> impl Iterator<Item = K> + 'h
where
    'w: 'h,
{
    waiting.into_iter().filter_map(|(key, wish)| match judge(wish, host) {
        Verdict::Fits => Some(key),
        Verdict::Rejected(_) | Verdict::OutOfSight => None,
    })
}
