//! Cartesian partial order reduction (Algorithms 4.4 and A.1; Gueta, Flanagan, Yahav and Sagiv
//! 2007).
//!
//! From a state, each process gets a path of its own steps, such that two steps of different paths
//! conflict only where both are the last of their paths. Only the ends of the paths are visited. A
//! visible step ends a path; a path that runs into a state of its own is an internal loop and is
//! dropped: nothing visible follows from it before another process moves.
//!
//! The published algorithm assumes that each process has exactly one step and that visible steps
//! touch nothing shared. Here:
//! - a process whose first step is blocked by a guard counts with what the guard read as its last
//!   step, else another's path would run past the step that opens the guard;
//! - a step with a choice ends the path before it; as the first step it gives one path of length
//!   one a branch, which count with all that any branch accessed;
//! - visible steps conflict like all others.
//!
//! Accesses are recorded cell by cell as steps run. A node that, at the state where the paths
//! begin, only one process can reach is not shared: nobody else's path can touch it.

use smallvec::SmallVec;

use super::heap::Walk;
use super::label::Label;
use super::layout::Frame;
use super::scratch::{Access, Choice, Scratch};
use super::step::{Ended, Machine};

/// A list of choices.
pub(crate) type Choices = SmallVec<[Choice; 4]>;

/// One way to go on: steps of one process.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) process: usize,
    /// The choices of each step.
    pub(crate) steps: SmallVec<[Choices; 4]>,
    /// Where it leads, unsettled.
    pub(crate) frame: Frame,
    /// What the last step showed.
    pub(crate) labels: SmallVec<[Label; 3]>,
}

/// A step that must not be, at the end of a path.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) process: usize,
    pub(crate) steps: SmallVec<[Choices; 4]>,
    pub(crate) outcome: Ended,
}

/// A path has at most this many steps. Any path may end anywhere, and what a step costs grows with
/// the length of the paths: a local loop of many rounds would cost the square of their number, and
/// no limit of time would be looked at before its end.
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

/// The ways to go on from a settled frame. True where a path was dropped because it goes round for
/// ever: that no way is left then does not mean that nobody can move.
///
/// Runs into a state where nobody can move are kept. Let a run from the frame lead to such a state.
/// If some process takes its whole path in it, the first that does so can do so first, as the steps
/// of the others before are independent of its own; and the end of its path is visited. If none
/// does, the step that is next on the path of a process was not touched by the others, so that it
/// could still be taken: so all paths are empty, the run is empty too, and the frame itself is that
/// state.
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
        if let Ended::Fault(_) | Ended::Full(_) | Ended::Changed(_) = outcome {
            let mut steps = paths[i].moves[0].steps.clone();
            steps.push(scratch.choices.clone());
            return Err(Box::new(Failed { process: i, steps, outcome }));
        }
        if outcome == Ended::Blocked || !scratch.choices.is_empty() {
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
        let mut settled = scratch.frame.clone();
        machine.settle(&mut settled, &mut scratch.walk);
        let path = &mut paths[i];
        if path.extendable && path.states.contains(&settled) {
            path.infinite = true;
            path.extendable = false;
        }
        path.states.push(settled);
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
            Ended::Moved => path.moves.push(Move {
                process,
                steps,
                frame: scratch.frame.clone(),
                labels: scratch.labels.clone(),
            }),
            Ended::Blocked => {}
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
        let mut settled = only.frame.clone();
        machine.settle(&mut settled, &mut scratch.walk);
        // A step that changes nothing is a loop already.
        path.infinite = path.states.contains(&settled);
        path.extendable = !path.infinite;
        path.states.push(settled);
    }
    Ok(path)
}

/// For each process, the slots that others may reach: all of them where nodes are freed, as then
/// any may turn up again.
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
