//! Cartesian partial order reduction (Algorithms 4.4 and A.1; Gueta, Flanagan, Yahav and Sagiv
//! 2007).
//!
//! From a state, each process gets a path of its own steps. Two steps of different paths conflict
//! only if both are the last of their paths. Only the ends of the paths are visited. A visible step
//! ends a path. A path that returns to one of its own states is an internal loop and is dropped:
//! nothing visible follows from it before another process moves.
//!
//! The published algorithm assumes that each process has exactly one step and that visible steps
//! access nothing shared. Here:
//! - if a guard blocks the first step of a process, the reads of the guard count as its last step;
//!   otherwise another process's path would run past the step that opens the guard;
//! - a step with a choice ends the path before it; as a first step it gives one path of length one
//!   per branch, each of which counts with everything that any branch accessed;
//! - visible steps conflict like all others.
//!
//! Accesses are recorded cell by cell as steps run. A node that only one process can reach in the
//! state where the paths begin is not shared: no other path can access it.

use smallvec::SmallVec;

use super::heap::Walk;
use super::label::Label;
use super::layout::Frame;
use super::scratch::{Access, Choice, Scratch};
use super::step::{Machine, Outcome};

/// A list of choices.
pub(crate) type Choices = SmallVec<[Choice; 4]>;

/// One way to go on: steps of one process.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) process: usize,
    /// The choices of each step.
    pub(crate) steps: SmallVec<[Choices; 4]>,
    /// The state at its end, not normalised.
    pub(crate) frame: Frame,
    /// The labels of the last step.
    pub(crate) labels: SmallVec<[Label; 3]>,
}

/// A step that must not be, at the end of a path.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) process: usize,
    pub(crate) steps: SmallVec<[Choices; 4]>,
    pub(crate) outcome: Outcome,
}

/// A path has at most this many steps. A path may end anywhere, and the cost of a step grows with
/// the length of the path: a local loop of many rounds would cost the square of their number,
/// without a check of the time limit before its end.
const LONGEST_PATH: usize = 256;

struct Path {
    accesses: Vec<Access>,
    moves: Vec<Move>,
    /// Settled states on the path.
    states: Vec<Frame>,
    extendable: bool,
    infinite: bool,
}

impl Path {
    fn last(&self) -> Option<&Access> {
        self.accesses.last()
    }

    fn conflicts_before_last(&self, access: &Access) -> bool {
        let before = self.accesses.len().saturating_sub(1);
        self.accesses[..before].iter().any(|a| a.conflicts(access))
    }
}

/// The continuations from a normalised frame. Returns true if an endless path was dropped: if no
/// continuation is left then, that is not a deadlock.
///
/// Runs into deadlocked states are preserved. Let a run from the frame lead to such a state. If
/// some process takes its whole path in the run, the first to do so can do so first, because the
/// other processes' earlier steps are independent of its own; and the end of its path is visited.
/// If no process does, the other processes did not affect the next step on the path of any process,
/// so that step could still be taken. Hence all paths are empty, the run is empty too, and the
/// frame itself is the deadlocked state.
pub(crate) fn moves(
    machine: &Machine,
    frame: &[i32],
    scratch: &mut Scratch,
    out: &mut Vec<Move>,
) -> Result<bool, Box<Failed>> {
    let n = machine.layout.processes;
    let public = public_slots(machine, frame, &mut scratch.walk);
    let mask = |process: usize, access: &mut Access| {
        if let Some(public) = &public {
            let public = &public[process];
            access.reads.iter_mut().zip(public).for_each(|(a, m)| *a &= m);
            access.writes.iter_mut().zip(public).for_each(|(a, m)| *a &= m);
        }
    };
    let mut paths: Vec<Path> = Vec::with_capacity(n);
    for process in 0..n {
        let mut path = first_steps(machine, frame, process, scratch)?;
        path.accesses.iter_mut().for_each(|a| mask(process, a));
        paths.push(path);
    }
    for i in 0..n {
        for j in i + 1..n {
            if let (Some(a), Some(b)) = (paths[i].last(), paths[j].last())
                && a.conflicts(b)
            {
                paths[i].extendable = false;
                paths[j].extendable = false;
            }
        }
    }
    while let Some(i) = paths.iter().position(|p| p.extendable) {
        machine.begin(scratch, true);
        let from = std::mem::take(&mut paths[i].moves[0].frame);
        let outcome = machine.step(&from, i, scratch);
        paths[i].moves[0].frame = from;
        if let Outcome::Fault(_) | Outcome::Full(_) | Outcome::Changed(_) = outcome {
            let mut steps = paths[i].moves[0].steps.clone();
            steps.push(scratch.choices.clone());
            return Err(Box::new(Failed { process: i, steps, outcome }));
        }
        if outcome == Outcome::Blocked || !scratch.choices.is_empty() {
            paths[i].extendable = false;
            continue;
        }
        mask(i, &mut scratch.access);
        let access = scratch.access.clone();
        let others = (0..n).filter(|&j| j != i);
        if others.clone().any(|j| paths[j].conflicts_before_last(&access)) {
            paths[i].extendable = false;
            continue;
        }
        for j in others {
            if paths[j].last().is_some_and(|last| last.conflicts(&access)) {
                paths[i].extendable = false;
                paths[j].extendable = false;
            }
        }
        let mut normalised = scratch.frame.clone();
        machine.normalise(&mut normalised, &mut scratch.walk);
        let path = &mut paths[i];
        if path.extendable && path.states.contains(&normalised) {
            path.infinite = true;
            path.extendable = false;
        }
        path.states.push(normalised);
        path.accesses.push(access);
        if !scratch.labels.is_empty() || path.accesses.len() >= LONGEST_PATH {
            path.extendable = false;
        }
        let end = &mut path.moves[0];
        end.steps.push(Choices::new());
        end.frame.clone_from(&scratch.frame);
        end.labels.clone_from(&scratch.labels);
    }
    let mut dropped = false;
    for path in paths {
        match path.infinite {
            true => dropped = true,
            false => out.extend(path.moves),
        }
    }
    Ok(dropped)
}

fn first_steps(
    machine: &Machine,
    frame: &[i32],
    process: usize,
    scratch: &mut Scratch,
) -> Result<Path, Box<Failed>> {
    let mut path = Path {
        accesses: Vec::new(),
        moves: Vec::new(),
        states: Vec::new(),
        extendable: false,
        infinite: false,
    };
    if machine.ended(frame, process) {
        return Ok(path);
    }
    let mut union = Access::default();
    let mut choices = false;
    machine.begin(scratch, true);
    loop {
        let outcome = machine.step(frame, process, scratch);
        union.join(&scratch.access);
        choices |= !scratch.choices.is_empty();
        let steps = SmallVec::from_iter([scratch.choices.clone()]);
        match outcome {
            Outcome::Moved => path.moves.push(Move {
                process,
                steps,
                frame: scratch.frame.clone(),
                labels: scratch.labels.clone(),
            }),
            Outcome::Blocked => {}
            outcome => return Err(Box::new(Failed { process, steps, outcome })),
        }
        if !scratch.advance() {
            break;
        }
    }
    path.accesses.push(union);
    if let [only] = &path.moves[..]
        && !choices
        && only.labels.is_empty()
    {
        path.states.push(frame.to_vec());
        let mut normalised = only.frame.clone();
        machine.normalise(&mut normalised, &mut scratch.walk);
        // A step that changes nothing is a loop already.
        path.infinite = path.states.contains(&normalised);
        path.extendable = !path.infinite;
        path.states.push(normalised);
    }
    Ok(path)
}

/// For each process, the slots that others may reach: all of them if nodes are freed explicitly,
/// because any node may then be reused.
fn public_slots(
    machine: &Machine,
    frame: &[i32],
    walk: &mut Walk,
) -> Option<Vec<SmallVec<[u64; 4]>>> {
    let layout = &machine.layout;
    if layout.pools.is_empty() || layout.pools.iter().any(|p| p.freed) {
        return None;
    }
    let mut all = Vec::new();
    for process in 0..layout.processes {
        walk.reach_shared(layout, frame);
        for other in (0..layout.processes).filter(|&p| p != process) {
            walk.reach_more(layout, frame, &machine.of, other);
        }
        let mut mask: SmallVec<[u64; 4]> = SmallVec::from_elem(!0, machine.access_words());
        for (number, pool) in layout.pools.iter().enumerate() {
            for node in 1..=pool.capacity as i32 {
                if !walk.reached(number, node) {
                    for slot in pool.slot(node, 0)..pool.slot(node, 0) + pool.stride {
                        mask[slot / 64] &= !(1 << (slot % 64));
                    }
                }
            }
        }
        all.push(mask);
    }
    Some(all)
}
