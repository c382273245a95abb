//! The proof that a history is quasi linearizable, and its check, directly from Definition 4.
//!
//! Shares nothing with the searches except the translated history: contents are a plain list here,
//! and every condition is tested as the definition states it. Cost: O(n²) for a stack or priority
//! queue with large contents, otherwise O(n).

use super::part_history::{Act, PartHistory};
use super::{Bounds, End, Reading};
use crate::history::PENDING;
use crate::spec::Kind;

/// Two orders of the same operations: p', which respects real time, and p'', which is legal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// The effect of each operation. Those after the operations of the history are the removals of
    /// an open end.
    pub(crate) acts: Vec<Act>,
    /// p': numbers into `acts`. Pending operations without an effect are left out.
    pub(crate) order: Vec<u32>,
    /// p''.
    pub(crate) legal: Vec<u32>,
}

/// Checks the certificate. An error says what is wrong; otherwise the result is how far each
/// operation of `order` moved within its class.
pub(crate) fn check(
    words: &PartHistory,
    bounds: Bounds,
    reading: Reading,
    end: End,
    certificate: &Certificate,
) -> Result<Vec<u32>, String> {
    let Certificate { acts, order, legal } = certificate;
    real_time(words, acts, order, end)?;
    let mut sorted = (order.clone(), legal.clone());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable();
    if sorted.0 != sorted.1 {
        return Err("the legal order is no permutation of the other".into());
    }
    if sorted.0.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("an operation stands twice in the order".into());
    }
    is_legal(words, acts, legal)?;
    let is_removal = |o: &u32| matches!(acts[*o as usize], Act::Take(_));
    #[cfg(feature = "papers")]
    let is_addition = |o: &u32| matches!(acts[*o as usize], Act::Add(_));
    let mut moved = vec![0; acts.len()];
    match reading {
        #[cfg(feature = "papers")]
        Reading::Uniform => displacement(order, legal, |_| true, bounds.removals, &mut moved)?,
        #[cfg(feature = "papers")]
        Reading::Literal => {
            displacement(order, legal, is_addition, bounds.additions, &mut moved)?;
            displacement(order, legal, is_removal, bounds.removals, &mut moved)?;
        }
        Reading::Slots => {
            displacement(order, legal, is_removal, bounds.removals, &mut moved)?;
            let stays = |(a, b): (&u32, &u32)| a == b || (is_removal(a) && is_removal(b));
            if !order.iter().zip(legal).all(stays) {
                return Err("an operation that is no removal moved".into());
            }
            causality(words, acts, order)?;
        }
    }
    Ok(order.iter().map(|&o| moved[o as usize]).collect())
}

/// p' contains every operation that returned, respects real time, changes no result, and ends as it
/// should.
fn real_time(words: &PartHistory, acts: &[Act], order: &[u32], end: End) -> Result<(), String> {
    let n = words.len() as u32;
    let mut latest_call = 0;
    let mut seen = vec![false; acts.len()];
    let mut drains = false;
    for &o in order {
        seen[o as usize] = true;
        if o >= n {
            drains = true;
            if !matches!(acts[o as usize], Act::Take(_)) || end == End::Closed {
                return Err(format!("operation {o} is none of the history"));
            }
            continue;
        }
        let word = &words.words[o as usize];
        if drains || word.returned < latest_call {
            return Err(format!("operation {o} stands too late in the order"));
        }
        latest_call = latest_call.max(word.call);
        let act = acts[o as usize];
        let told = match word.act {
            Act::Unknown => matches!(act, Act::Take(_) | Act::Empty),
            known => known == act,
        };
        if !told {
            return Err(format!("operation {o} has another result in the order"));
        }
    }
    let missing =
        (0..n).find(|&o| !seen[o as usize] && words.words[o as usize].returned != PENDING);
    match missing {
        Some(o) => Err(format!("operation {o} is missing in the order")),
        None if end == End::Open => {
            let mut left: Vec<i64> = vec![0; words.values.len()];
            words.initial.iter().for_each(|&value| left[value as usize] += 1);
            for &o in order {
                match acts[o as usize] {
                    Act::Add(value) => left[value as usize] += 1,
                    Act::Take(value) => left[value as usize] -= 1,
                    _ => {}
                }
            }
            match left.iter().any(|&n| n != 0) {
                true => Err("the drain leaves something over".into()),
                false => Ok(()),
            }
        }
        None => Ok(()),
    }
}

/// Runs p'' on a plain list.
fn is_legal(words: &PartHistory, acts: &[Act], legal: &[u32]) -> Result<(), String> {
    let mut inside: std::collections::VecDeque<u32> = words.initial.iter().copied().collect();
    for &o in legal {
        let turn = match words.kind {
            Kind::Queue => inside.front().copied(),
            Kind::Stack => inside.back().copied(),
            _ => inside.iter().copied().max(),
        };
        let right = match acts[o as usize] {
            Act::Add(value) => {
                inside.push_back(value);
                true
            }
            Act::Empty => turn.is_none(),
            Act::Take(value) => {
                match words.kind {
                    Kind::Queue => drop(inside.pop_front()),
                    Kind::Stack => drop(inside.pop_back()),
                    _ => {
                        let at = inside.iter().position(|&v| v == value);
                        at.map(|at| inside.remove(at));
                    }
                }
                turn == Some(value)
            }
            Act::Unknown => false,
        };
        if !right {
            return Err(format!("operation {o} is not legal where it stands"));
        }
    }
    Ok(())
}

/// The distance between the two places of each operation of a class, counted within that class.
fn displacement(
    order: &[u32],
    legal: &[u32],
    of_class: impl Fn(&u32) -> bool,
    bound: u32,
    moved: &mut [u32],
) -> Result<(), String> {
    let mut place = vec![0u32; moved.len()];
    for (at, &o) in order.iter().filter(|o| of_class(o)).enumerate() {
        place[o as usize] = at as u32;
    }
    for (at, &o) in legal.iter().filter(|o| of_class(o)).enumerate() {
        let distance = place[o as usize].abs_diff(at as u32);
        moved[o as usize] = distance;
        if distance > bound {
            return Err(format!("operation {o} moves by {distance}, more than {bound}"));
        }
    }
    Ok(())
}

/// Nothing is removed in p' before it was added there.
fn causality(words: &PartHistory, acts: &[Act], order: &[u32]) -> Result<(), String> {
    let mut inside: Vec<i64> = vec![0; words.values.len()];
    words.initial.iter().for_each(|&value| inside[value as usize] += 1);
    for &o in order {
        match acts[o as usize] {
            Act::Add(value) => inside[value as usize] += 1,
            Act::Take(value) => {
                inside[value as usize] -= 1;
                if inside[value as usize] < 0 {
                    return Err(format!("operation {o} removes what was not added before it"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
