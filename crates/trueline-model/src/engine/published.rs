//! Algorithms 4.2 and 4.3 of the paper as published, for comparison with exact orbits.
//!
//! Depth first. A state's representative is the least frame over all n! exchanges of processes. 4.2
//! takes the set of specification states that belongs to the first exchange with this frame; 4.3
//! searches for all of them among the checked states before it stores one. Both may store several
//! states of one orbit. How many depends on the order of exchanges, which the paper does not give.
//! With partial order reduction 4.3 becomes 4.5.

use std::sync::{Arc, Mutex};

use hashbrown::HashSet;
use trueline::Budget;

use crate::program::{Points, Program};

use super::canonical::Symmetry;
use super::cartesian;
use super::layout::Frame;
use super::marks;
use super::scratch::Scratch;
use super::spec_sets::{EMPTY, Permutation, SpecSets};
use super::step::{Machine, Outcome};

/// Which of the published algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// Algorithm 4.2.
    First,
    /// Algorithm 4.3; with partial order reduction Algorithm 4.5.
    Improved,
}

/// The result of a published algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Product states stored; includes PAT's additional terminal state if the program asks for it.
    pub states: u64,
    /// Whether every history is one of the specification; `None` if a limit was reached or the
    /// model makes an error.
    pub verified: Option<bool>,
}

/// Runs a published algorithm.
pub fn published(
    program: &Arc<Program>,
    which: Published,
    partial_order: bool,
    points: bool,
    budget: &Budget,
) -> Counted {
    let points = if points { marks::trusted(program) } else { Points::None };
    let machine = Machine::new(program.clone(), points);
    let sets = Mutex::new(SpecSets::new(program.clone(), points));
    let mut sets = sets.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut symmetry = Symmetry::new(&machine, true);
    let exchanges = exchanges(&machine);
    let mut scratch = Scratch::default();
    let Ok(initial) = machine.initial() else {
        return Counted { states: 0, verified: None };
    };
    let first = (initial, sets.initial());
    let mut checked: HashSet<(Frame, u32), foldhash::fast::FixedState> = HashSet::default();
    checked.insert(first.clone());
    let mut pending = vec![first];
    let mut terminal = 0;
    let mut renamed = Frame::new();
    while let Some((frame, set)) = pending.pop() {
        let counted =
            checked.len() as u64 + if program.count_terminal_states { terminal } else { 0 };
        if budget.spend(1).is_err() {
            return Counted { states: counted, verified: None };
        }
        let Some(next) = successors(&machine, &frame, partial_order, &mut scratch) else {
            return Counted { states: counted, verified: None };
        };
        if next.is_empty() {
            terminal += 1;
        }
        for (frame, labels) in next {
            let set = labels.iter().fold(set, |set, label| sets.after(set, *label));
            if set == EMPTY {
                return Counted { states: counted, verified: Some(false) };
            }
            let mut least: Option<Frame> = None;
            let mut ways: Vec<&Permutation> = Vec::new();
            for to in &exchanges {
                symmetry.rename(&frame, to, &mut renamed);
                let order = least.as_ref().map(|l| renamed.cmp(l));
                match order {
                    Some(std::cmp::Ordering::Greater) => continue,
                    Some(std::cmp::Ordering::Equal) => {}
                    _ => {
                        least = Some(renamed.clone());
                        ways.clear();
                    }
                }
                ways.push(to);
            }
            let Some(least) = least else { continue };
            if which == Published::First {
                ways.truncate(1);
            }
            let pairs: Vec<(Frame, u32)> =
                ways.iter().map(|to| (least.clone(), sets.permute(set, to))).collect();
            if !pairs.iter().any(|pair| checked.contains(pair)) {
                checked.insert(pairs[0].clone());
                pending.push(pairs[0].clone());
            }
        }
    }
    let terminal = if program.count_terminal_states { terminal } else { 0 };
    Counted { states: checked.len() as u64 + terminal, verified: Some(true) }
}

type Successor = (Frame, smallvec::SmallVec<[super::label::Label; 3]>);

fn successors(
    machine: &Machine,
    frame: &Frame,
    partial_order: bool,
    scratch: &mut Scratch,
) -> Option<Vec<Successor>> {
    if partial_order {
        let mut moves = Vec::new();
        cartesian::moves(machine, frame, scratch, &mut moves).ok()?;
        return Some(moves.into_iter().map(|m| (m.frame, m.labels)).collect());
    }
    let mut all = Vec::new();
    for process in 0..machine.layout.processes {
        machine.begin(scratch, false);
        loop {
            match machine.step(frame, process, scratch) {
                Outcome::Moved => all.push((scratch.frame.clone(), scratch.labels.clone())),
                Outcome::Blocked => {}
                Outcome::Fault(_) | Outcome::Full(_) | Outcome::Changed(_) => return None,
            }
            if !scratch.advance() {
                break;
            }
        }
    }
    Some(all)
}

/// Every exchange of processes within symmetric roles.
fn exchanges(machine: &Machine) -> Vec<Permutation> {
    let n = machine.layout.processes;
    let mut all: Vec<Permutation> = vec![(0..n as u8).collect()];
    for &(from, end) in &machine.layout.symmetric {
        // Each place in turn is exchanged with itself and every later one.
        for place in from..end {
            let mut more = Vec::new();
            for to in &all {
                for other in place..end {
                    let mut to = to.clone();
                    to.swap(place, other);
                    more.push(to);
                }
            }
            all = more;
        }
    }
    all
}
