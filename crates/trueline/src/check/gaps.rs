//! Cuts a long history of a container at moments when the container can be taken to be empty.
//!
//! *Gap lemma.* A value is certainly inside from the return of its insert to the call of its
//! removal: its cover. At a moment that no cover contains, each value can be wholly before or
//! wholly after: before iff both its operations were called by then. So a history of a queue, a
//! stack or a priority queue is linearizable iff the stretches between such moments are, each
//! starting with an empty container, and the concatenation of their orders is an order of the
//! whole. An empty result belongs before any moment by which it was called, since the container is
//! empty at that moment.
//!
//! The reason for cutting: stretches are decided on all cores, and a stretch fits the cache. Cost:
//! O(n), 16 bytes per value and 1 byte per event. Nothing here is trusted: the orders of the
//! stretches are replayed, and each must leave the container empty.

use super::words::Word;
use crate::history::PENDING;
use crate::spec::Action;

/// The intended number of operations of a stretch; it has more if there is no gap.
pub(super) const STRETCH: usize = 1 << 15;

/// The numbers of the words of each stretch, ascending. `None` if the history is short, has no gap,
/// or must be decided as a whole: because a value is inserted or removed twice, or removed before
/// it was inserted or without being inserted, or because the result of a removal is unknown.
pub(super) fn stretches(
    words: &[Word],
    initial: &[u32],
    values: u32,
    length: usize,
) -> Option<Vec<Vec<u32>>> {
    if words.len() < 2 * length {
        return None;
    }
    let covers = covers(words, initial, values)?;
    let cuts = cuts(words, &covers, 2 * length)?;
    // Index of the first cut at or after a rank: the stretch of the operations called by then.
    let mut stretches: Vec<Vec<u32>> = vec![Vec::new(); cuts.len() + 1];
    for (n, word) in words.iter().enumerate() {
        let by = match word.action {
            Action::Insert(v) | Action::Remove(v) => covers[v as usize].called,
            _ => word.span.call,
        };
        stretches[cuts.partition_point(|&cut| cut < by)].push(n as u32);
    }
    Some(stretches)
}

/// The two operations of a value.
#[derive(Clone, Copy)]
struct Cover {
    /// Return of the insert; [`ABSENT`] if there is none.
    from: u32,
    /// Call and return of the removal; pending if there is none.
    to: u32,
    left: u32,
    /// The later call; pending if one is missing.
    called: u32,
}

const ABSENT: u32 = u32::MAX - 1;
const INITIAL: u32 = 0;

fn covers(words: &[Word], initial: &[u32], values: u32) -> Option<Vec<Cover>> {
    let mut covers =
        vec![Cover { from: ABSENT, to: PENDING, left: PENDING, called: 0 }; values as usize];
    for &v in initial {
        let cover = &mut covers[v as usize];
        (cover.from == ABSENT).then_some(())?;
        cover.from = INITIAL;
    }
    for word in words {
        match word.action {
            Action::Insert(v) => {
                let cover = &mut covers[v as usize];
                (cover.from == ABSENT).then_some(())?;
                cover.from = word.span.returned;
                cover.called = cover.called.max(word.span.call);
            }
            Action::Remove(v) => {
                let cover = &mut covers[v as usize];
                (cover.to == PENDING).then_some(())?;
                (cover.to, cover.left) = (word.span.call, word.span.returned);
                cover.called = cover.called.max(word.span.call);
            }
            Action::FoundEmpty => {}
            _ => return None,
        }
    }
    for cover in &mut covers {
        match (cover.from, cover.to) {
            (ABSENT, PENDING) => {}
            (ABSENT, _) => return None,
            (_, PENDING) => cover.called = PENDING,
            _ if cover.left < cover.called => return None,
            _ => {}
        }
    }
    Some(covers)
}

/// Ranks of moments without a cover, at least this many events apart. A moment is just after the
/// event of its rank.
fn cuts(words: &[Word], covers: &[Cover], distance: usize) -> Option<Vec<u32>> {
    let events = 1 + words.iter().map(|w| w.span.call).max()? as usize;
    let mut changes = vec![0i8; events];
    let mut inside = 0i64;
    for cover in covers.iter().filter(|c| c.from < c.to && c.from < ABSENT) {
        // The first event is a call, so only an initial value is inside from there.
        if cover.from == INITIAL {
            inside += 1;
        } else if let Some(change) = changes.get_mut(cover.from as usize) {
            *change += 1;
        }
        if let Some(change) = changes.get_mut(cover.to as usize) {
            *change -= 1;
        }
    }
    let mut cuts = Vec::new();
    let mut last = 0;
    for (rank, &change) in changes.iter().enumerate() {
        inside += i64::from(change);
        if inside == 0 && rank - last >= distance {
            cuts.push(rank as u32);
            last = rank;
        }
    }
    (!cuts.is_empty()).then_some(cuts)
}

#[cfg(test)]
mod tests {
    use super::super::words::{Found, Words};
    use super::*;
    use crate::budget::Budget;
    use crate::monitor::{Op, Span};
    use crate::rng::Rng;
    use crate::spec::Kind;
    use crate::spec::subject::Claim;
    use crate::value::Value;

    /// Random operations on values that are inserted once and removed at most once, or too early,
    /// or are never inserted.
    fn random(rng: &mut Rng, initial: u32) -> Vec<(Span, Action)> {
        let values = 1 + rng.below(6) as u32;
        let mut actions = Vec::new();
        for v in 0..initial + values {
            let value = Value::Int(v.into());
            if v >= initial && rng.below(12) > 0 {
                actions.push(Action::Insert(value.clone()));
            }
            if rng.below(6) > 0 {
                actions.push(Action::Remove(value));
            }
        }
        actions.extend((0..rng.below(3)).map(|_| Action::FoundEmpty));
        for last in (1..actions.len()).rev() {
            actions.swap(last, rng.below(last as u64 + 1) as usize);
        }
        // Short intervals, so that there are gaps.
        let mut moments: Vec<(u64, usize, bool)> = Vec::new();
        for n in 0..actions.len() {
            let from = 4 * n as u64 + rng.below(8);
            moments.push((from, n, false));
            moments.push((from + 1 + rng.below(12), n, true));
        }
        moments.sort_unstable();
        let mut spans = vec![Span { call: 0, returned: 0 }; actions.len()];
        for (rank, &(_, n, is_return)) in moments.iter().enumerate() {
            let end = if is_return { &mut spans[n].returned } else { &mut spans[n].call };
            *end = rank as u32;
        }
        spans.into_iter().zip(actions).collect()
    }

    #[test]
    fn stretches_decide_as_the_whole_does() {
        let mut rng = Rng::new(11);
        let (mut cut, mut fine, mut violations) = (0, 0, 0);
        let kinds = [Kind::Queue, Kind::Stack, Kind::PriorityQueue, Kind::MinPriorityQueue];
        for case in 0..40_000 {
            let initial = rng.below(3) as u32;
            let holding = (0..initial).map(|v| Value::Int(v.into())).collect();
            let kind = kinds[case % kinds.len()];
            let mut words = Words::new(&Claim { kind, initial: holding });
            let mut said: Vec<Word> = Vec::new();
            for (span, action) in random(&mut rng, initial) {
                said.push(Op { span, action: words.numbered(&action) });
            }
            said.sort_by_key(|word| word.span.call);
            words.rank_values();
            let budget = Budget::unlimited();
            let Some(in_stretches) = words.decide_in_stretches(&said, 1, &budget) else { continue };
            cut += 1;
            let whole = words.decide_whole(&said, false, &budget);
            match (in_stretches, whole) {
                (Ok(Found::Order(order)), Ok(Found::Order(_))) => {
                    fine += 1;
                    assert!(words.replay(&said, &order, false, &budget).is_ok(), "{said:?}");
                }
                (Ok(Found::Violation { .. }), Ok(Found::Violation { .. })) => violations += 1,
                _ => panic!("{kind}: stretches and whole differ on {said:?}"),
            }
        }
        assert!(cut > 1000 && fine > 500 && violations > 500, "{cut} {fine} {violations}");
    }
}
