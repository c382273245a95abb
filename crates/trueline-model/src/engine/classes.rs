//! Classes of processes that may be exchanged, and the permutations within them.

use smallvec::SmallVec;

use super::spec_sets::Permutation;

/// Processes that can be exchanged without changing the frame: four bits per process, the number of
/// its class.
pub(crate) type Classes = u64;

/// Every process alone in its class.
pub(crate) fn singletons() -> Classes {
    (0..16).fold(0, |all, p| all | p << (4 * p))
}

pub(super) fn class(classes: Classes, p: usize) -> u64 {
    classes >> (4 * p) & 15
}

/// Puts `q` into the class of `p`.
pub(super) fn join(classes: Classes, p: usize, q: usize) -> Classes {
    classes & !(15 << (4 * q)) | class(classes, p) << (4 * q)
}

pub(super) fn transposition(n: usize, a: u8, b: u8) -> Permutation {
    let swap = |p| {
        if p == a {
            b
        } else if p == b {
            a
        } else {
            p
        }
    };
    (0..n as u8).map(swap).collect()
}

/// Labels the members of a group: equal ones can be exchanged. `same` returns whether an exchange
/// changes nothing; those exchanges generate a group, so it is enough to compare with one of each
/// label.
pub(super) fn labels(group: &[u8], same: &mut dyn FnMut(u8, u8) -> bool) -> SmallVec<[u8; 8]> {
    let mut found: SmallVec<[u8; 8]> = SmallVec::new();
    let mut labels = SmallVec::new();
    for &p in group {
        let known = found.iter().position(|&q| same(q, p));
        labels.push(known.unwrap_or(found.len()) as u8);
        if known.is_none() {
            found.push(p);
        }
    }
    labels
}

/// Calls `f` with every assignment of the members of each group to the group's places, once for
/// each sequence of labels.
pub(super) fn arrangements(
    n: usize,
    groups: &[SmallVec<[u8; 8]>],
    labels: &[SmallVec<[u8; 8]>],
    f: &mut dyn FnMut(&[u8]),
) {
    let mut to: Permutation = (0..n as u8).collect();
    place(groups, labels, 0, 0, 0, &mut to, f);
}

fn place(
    groups: &[SmallVec<[u8; 8]>],
    labels: &[SmallVec<[u8; 8]>],
    group: usize,
    position: usize,
    used: u32,
    to: &mut Permutation,
    f: &mut dyn FnMut(&[u8]),
) {
    let Some(members) = groups.get(group) else {
        return f(to);
    };
    if position == members.len() {
        return place(groups, labels, group + 1, 0, 0, to, f);
    }
    let mut tried = 0u32;
    for (i, &p) in members.iter().enumerate() {
        let label = 1u32 << labels[group][i];
        if used & 1 << i != 0 || tried & label != 0 {
            continue;
        }
        tried |= label;
        to[usize::from(p)] = members[position];
        place(groups, labels, group, position + 1, used | 1 << i, to, f);
    }
}

pub(super) fn members(classes: Classes, n: usize) -> Vec<SmallVec<[u8; 8]>> {
    let of = |c: u64| (0..n).filter(move |&p| class(classes, p) == c).map(|p| p as u8);
    (0..n as u64).map(|c| of(c).collect::<SmallVec<[u8; 8]>>()).filter(|m| m.len() > 1).collect()
}
