//! Locks that their owner may take again: who holds them.
//!
//! The lock is free initially. An owner holds it as long as it has taken it more often than it has
//! released it. An operation that returned before some moment has certainly happened by then, and
//! one that was called before it may have. So an owner certainly holds the lock at a moment when it
//! has taken it more often than it can have released it. **The rules**: no owner releases more
//! often than it can have taken the lock, and no other owner takes it while an owner certainly
//! holds it.
//!
//! Cost: O(n^2) for n operations.

use super::{Draft, Scene, mark, marks, short};
use crate::spec::vocabulary::Act;
use crate::value::Value;

/// At most this many operations of each kind are named.
const NAMED: usize = 6;

pub(super) fn drafts(scene: &Scene) -> Vec<Draft> {
    let mut owners: Vec<&Value> = Vec::new();
    for actor in &scene.cast {
        if let Act::Owned(owner, _) = &actor.act
            && !owners.contains(&owner)
        {
            owners.push(owner);
        }
    }
    let mut drafts: Vec<Draft> =
        owners.iter().filter_map(|owner| released_too_often(scene, owner)).collect();
    if drafts.is_empty() {
        let taken = (0..scene.cast.len()).filter_map(|r| taken_from_another(scene, &owners, r));
        drafts.extend(taken.take(NAMED));
    }
    if drafts.is_empty() {
        drafts.extend(held_by_two(scene, &owners));
    }
    drafts
}

/// The operations that take (release) the lock for this owner, by call.
fn changes<'a>(
    scene: &'a Scene,
    owner: &'a Value,
    takes: bool,
) -> impl Iterator<Item = usize> + 'a {
    let fits = move |&place: &usize| match &scene.cast[place].act {
        Act::Owned(other, is_taking) => other == owner && *is_taking == takes,
        _ => false,
    };
    (0..scene.cast.len()).filter(fits)
}

fn only(places: &[usize]) -> String {
    if places.is_empty() { "nothing".into() } else { format!("only {}", marks(places)) }
}

fn released_too_often(scene: &Scene, owner: &Value) -> Option<Draft> {
    let cast = &scene.cast;
    let mut all: Vec<usize> =
        changes(scene, owner, false).filter(|&p| cast[p].is_certain()).collect();
    all.sort_by_key(|&p| cast[p].returned);
    for count in 1..=all.len().min(NAMED) {
        let end = cast[all[count - 1]].returned;
        let by: Vec<usize> = changes(scene, owner, true).filter(|&p| cast[p].call < end).collect();
        if by.len() >= count {
            continue;
        }
        let mut these = all[..count].to_vec();
        these.sort_unstable();
        let (both, when) = match count {
            1 => ("", "it"),
            2 => ("both ", "both"),
            _ => ("all ", "all of them"),
        };
        let owner = short(owner);
        return Some(Draft::new(format!(
            "{} cannot {both}have released the lock for {owner}: it is free initially, and {} can have taken it for {owner} before {when} had returned",
            marks(&these),
            only(&by)
        )));
    }
    None
}

fn taken_from_another(scene: &Scene, owners: &[&Value], r: usize) -> Option<Draft> {
    let cast = &scene.cast;
    let (Act::Owned(own, true), true) = (&cast[r].act, cast[r].is_certain()) else { return None };
    for other in owners.iter().filter(|other| **other != own) {
        let before: Vec<usize> =
            changes(scene, other, true).filter(|&p| cast[p].precedes(&cast[r])).collect();
        let end = cast[r].returned;
        let released: Vec<usize> =
            changes(scene, other, false).filter(|&p| cast[p].call < end).collect();
        if before.len() <= released.len() || released.len() >= NAMED {
            continue;
        }
        // One more than can have been released.
        let these = &before[before.len() - released.len() - 1..];
        let other = short(other);
        return Some(Draft::new(format!(
            "{} got the lock while {other} held it: {} had returned before it was called, and {} can have released it for {other} before it returned",
            mark(r),
            marks(these),
            only(&released)
        )));
    }
    None
}

fn held_by_two(scene: &Scene, owners: &[&Value]) -> Option<Draft> {
    let cast = &scene.cast;
    let mut ends: Vec<usize> = (0..cast.len())
        .filter(|&p| matches!(cast[p].act, Act::Owned(_, true)) && cast[p].is_certain())
        .collect();
    ends.sort_by_key(|&p| cast[p].returned);
    for last in ends {
        let end = cast[last].returned;
        let mut holders = Vec::new();
        for owner in owners {
            let took: Vec<usize> =
                changes(scene, owner, true).filter(|&p| cast[p].returned <= end).collect();
            let released: Vec<usize> =
                changes(scene, owner, false).filter(|&p| cast[p].call < end).collect();
            if took.len() > released.len() && released.len() < NAMED {
                let these = took[took.len() - released.len() - 1..].to_vec();
                holders.push((short(owner), these, released));
            }
        }
        let [(a, takes_a, gives_a), (b, takes_b, gives_b), ..] = holders.as_slice() else {
            continue;
        };
        return Some(Draft::new(format!(
            "{a} and {b} would both hold the lock at the return of {}: {} had taken it for {a}, {} can have released it for {a}, {} had taken it for {b}, and {} can have released it for {b}",
            mark(last),
            marks(takes_a),
            only(gives_a),
            marks(takes_b),
            only(gives_b)
        )));
    }
    None
}
