//! Random runs that may find a violation: they are cheap and go deep, whereas breadth first search
//! must first visit everything shallow.
//!
//! Schedules are drawn as in probabilistic concurrency testing (Burckhardt and others, 2010): the
//! process of the highest priority takes the steps, and at a few random moments its priority
//! becomes the lowest. So a process can rest in the middle of its operation while others perform
//! whole ones, which most violations need. A process draws a new priority when it returns. The same
//! seeds give the same runs.

use trueline::rng::Rng;

use super::cartesian::Choices;
use super::layout::Frame;
use super::scratch::Scratch;
use super::spec_sets::{EMPTY, SpecSets};
use super::step::{Machine, Outcome};

/// Steps of a run, for each process: loops go over all of them.
const LENGTH: u64 = 100;
/// Moments at which the process that runs is put last, at most.
const CHANGES: u64 = 4;

/// The steps of a run whose last one nothing explains.
pub(super) type Steps = Vec<(usize, Choices)>;

/// Makes one run. Returns its steps if it ends in a violation of `sets`; otherwise the error is the
/// number of steps taken. `see` receives every state, and every step that fails in another way.
pub(super) fn walk(
    machine: &Machine,
    mut sets: Option<&mut SpecSets>,
    initial: &Frame,
    random: &mut Rng,
    scratch: &mut Scratch,
    see: &mut dyn FnMut(&Frame, Option<&Outcome>),
) -> Result<Steps, u64> {
    let n = machine.layout.processes;
    let length = LENGTH * n as u64;
    let mut priority: Vec<u64> = (0..n).map(|_| random.below(1 << 32)).collect();
    let changes: Vec<u64> =
        (0..random.below(CHANGES + 1)).map(|_| random.below(length / 2)).collect();
    let mut lowest = 0i64;
    let mut order: Vec<usize> = (0..n).collect();
    let mut put_last: Vec<i64> = vec![0; n];
    let mut frame = initial.clone();
    let mut set = sets.as_mut().map_or(EMPTY, |sets| sets.initial());
    let mut steps: Steps = Vec::new();
    for now in 0..length {
        order.sort_by_key(|&p| (std::cmp::Reverse(put_last[p]), std::cmp::Reverse(priority[p])));
        let mut moved = None;
        for &process in &order {
            if machine.ended(&frame, process) {
                continue;
            }
            if let Some(next) = step(machine, &frame, process, random, scratch, see) {
                moved = Some((process, next));
                break;
            }
        }
        let Some((process, choices)) = moved else { return Err(now) };
        steps.push((process, choices));
        if let Some(sets) = &mut sets {
            for &label in &scratch.labels {
                set = sets.after(set, label);
            }
            if set == EMPTY {
                return Ok(steps);
            }
        }
        if scratch.labels.iter().any(|l| matches!(l.what, super::label::LabelKind::Return(..))) {
            priority[process] = random.below(1 << 32);
            put_last[process] = 0;
        }
        frame.clone_from(&scratch.frame);
        machine.normalise(&mut frame, &mut scratch.walk);
        see(&frame, None);
        if changes.contains(&now) {
            lowest -= 1;
            put_last[process] = lowest;
        }
    }
    Err(length)
}

/// A random step of the process, if it can take one. It is left in `scratch`.
fn step(
    machine: &Machine,
    frame: &Frame,
    process: usize,
    random: &mut Rng,
    scratch: &mut Scratch,
    see: &mut dyn FnMut(&Frame, Option<&Outcome>),
) -> Option<Choices> {
    machine.begin(scratch, false);
    let mut possible: Vec<Choices> = Vec::new();
    loop {
        let outcome = machine.step(frame, process, scratch);
        if outcome == Outcome::Moved && scratch.choices.is_empty() {
            return Some(Choices::new());
        }
        match outcome {
            Outcome::Moved => possible.push(scratch.choices.clone()),
            Outcome::Blocked => {}
            ref other => see(frame, Some(other)),
        }
        if !scratch.advance() {
            break;
        }
    }
    if possible.is_empty() {
        return None;
    }
    let chosen = possible.swap_remove(random.below(possible.len() as u64) as usize);
    machine.begin(scratch, false);
    scratch.choices.clone_from(&chosen);
    let outcome = machine.step(frame, process, scratch);
    debug_assert_eq!(outcome, Outcome::Moved);
    Some(chosen)
}
