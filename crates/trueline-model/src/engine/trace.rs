//! A counterexample: concrete steps of concrete processes, with the observations and the remaining
//! states of the specification.
//!
//! A search stores one state per orbit. The trace is built by walking again from the real initial
//! state: at each step, some step of some process leads into the orbit of the next stored state
//! (Lemma 2 of the paper), and the first such step is taken. No permutation needs to be kept, and
//! the trace is a run of the unreduced model.

use std::sync::Mutex;

use super::cartesian::Choices;
use super::expand::{Hit, Reductions, Worker, Wrong};
use super::label::{Label, LabelKind, results_of};
use super::layout::{Frame, PC};
use super::search::{Led, SHARDS};
use super::spec_sets::{EMPTY, SpecSets};
use super::step::{Machine, Outcome};

use crate::program::{CallId, LocationId};

/// What a step makes visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The operation was called.
    Call(CallId),
    /// The operation took effect, at a marked point.
    Lin,
    /// The operation returned with these results.
    Return(Vec<i32>),
}

/// One step of a counterexample.
#[derive(Clone, Debug)]
pub struct TraceStep {
    /// The process.
    pub process: usize,
    /// The location where it began; `None` if the process was idle and made a call.
    pub location: Option<LocationId>,
    /// The branch taken at each choice within the step, in order. If the process was idle and has
    /// more than one possible call, the first choice selects the call.
    pub choices: Vec<u16>,
    /// The visible events.
    pub events: Vec<Event>,
    /// The cells of shared variables after the step, in the order of
    /// [`Program::shared`](crate::program::Program::shared).
    pub shared: Vec<i32>,
    /// The cells of the process's own variables, then those of its operation's locals, after the
    /// step.
    pub private: Vec<i32>,
    /// The location after the step; `None` if the process is idle.
    pub at: Option<LocationId>,
    /// The states of the specification that explain the observations so far, as text. Empty at the
    /// step that nothing explains.
    pub explained_by: Vec<String>,
    /// At a return that nothing explains: the results that would have been explained; empty if the
    /// operation could not return at all.
    pub possible: Vec<Vec<i32>>,
}

/// Steps from the initial state.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In order.
    pub steps: Vec<TraceStep>,
    /// States of the specification before the first step.
    pub initially: Vec<String>,
}

/// Makes the trace of a path of stored states that ends in a wrong step.
pub(crate) fn concrete(
    machine: &Machine,
    sets: &Mutex<SpecSets>,
    symmetry: bool,
    path: &[(Vec<u32>, Option<Led>)],
    hit: &Hit,
) -> Option<Trace> {
    let reductions = Reductions { symmetry, partial_order: false, antichain: false };
    let mut worker = Worker::new(machine, sets, reductions, SHARDS);
    let orbits = orbits(&mut worker, path, hit)?;
    let mut frame = machine.initial().ok()?;
    let mut set = worker.cache.lock().initial();
    let mut trace = Trace { steps: Vec::new(), initially: worker.cache.lock().show(set) };
    for orbit in &orbits[1..] {
        (frame, set) = forward(&mut worker, &frame, set, &mut trace, |worker, outcome, set| {
            *outcome == Outcome::Moved && set != EMPTY && {
                let next = worker.scratch.frame.clone();
                worker.record_of(&next, set) == *orbit
            }
        })?;
    }
    // The last step is faulty in the same way; in a deadlock there is no such step.
    if hit.wrong == Wrong::Stuck {
        return Some(trace);
    }
    forward(&mut worker, &frame, set, &mut trace, |_, outcome, set| match &hit.wrong {
        Wrong::NoState => *outcome == Outcome::Moved && set == EMPTY,
        Wrong::Fault(message) => *outcome == Outcome::Fault(message.clone()),
        Wrong::Full(pool) => *outcome == Outcome::Full(*pool),
        Wrong::Changed(slot) => *outcome == Outcome::Changed(*slot),
        Wrong::Stuck => false,
    })?;
    Some(trace)
}

/// The canonical records along the path, one per step; the last is the one before the faulty step.
fn orbits(
    worker: &mut Worker,
    path: &[(Vec<u32>, Option<Led>)],
    hit: &Hit,
) -> Option<Vec<Vec<u32>>> {
    let machine = worker.machine;
    let words = machine.layout.words;
    let mut orbits = vec![path.first()?.0.clone()];
    let moves = path[1..].iter().map(|(_, led)| led.as_ref());
    let before_last = hit.steps.len().saturating_sub(1);
    let last = (hit.process, hit.steps[..before_last].iter().cloned().collect());
    for ((record, _), led) in path.iter().zip(moves.chain([Some(&last)])) {
        let (process, steps): &(usize, smallvec::SmallVec<[Choices; 4]>) = led?;
        let mut frame: Frame = vec![0; machine.layout.slots];
        machine.layout.unpack(&record[..words], &mut frame);
        let mut set = record[words];
        for choices in steps {
            machine.begin(&mut worker.scratch, false);
            worker.scratch.choices.clone_from(choices);
            if machine.step(&frame, *process, &mut worker.scratch) != Outcome::Moved {
                return None;
            }
            frame.clone_from(&worker.scratch.frame);
            for &label in &worker.scratch.labels.clone() {
                set = worker.cache.after(set, label);
            }
            orbits.push(worker.record_of(&frame, set));
        }
    }
    Some(orbits)
}

/// Takes the first step that is wanted, and writes it down.
fn forward(
    worker: &mut Worker,
    frame: &Frame,
    set: u32,
    trace: &mut Trace,
    mut wanted: impl FnMut(&mut Worker, &Outcome, u32) -> bool,
) -> Option<(Frame, u32)> {
    let machine = worker.machine;
    for process in 0..machine.layout.processes {
        machine.begin(&mut worker.scratch, false);
        loop {
            let outcome = machine.step(frame, process, &mut worker.scratch);
            if outcome != Outcome::Blocked {
                let mut next = set;
                let mut possible = Vec::new();
                for &label in &worker.scratch.labels.clone() {
                    let before = next;
                    next = worker.cache.after(next, label);
                    if let (LabelKind::Return(operation, _), EMPTY) = (label.what, next) {
                        let operation = usize::from(operation);
                        possible = worker.cache.lock().possible(before, process, operation);
                    }
                }
                let scratch = worker.scratch.clone();
                if wanted(worker, &outcome, next) {
                    let labels = scratch.labels.to_vec();
                    let choices = scratch.choices.iter().map(|c| c.0).collect();
                    let explained_by = worker.cache.lock().show(next);
                    let before = frame;
                    let step = written(machine, process, before, &scratch.frame, &labels);
                    trace.steps.push(TraceStep { choices, explained_by, possible, ..step });
                    return Some((scratch.frame, next));
                }
                worker.scratch = scratch;
            }
            if !worker.scratch.advance() {
                break;
            }
        }
    }
    None
}

/// A step between two frames, without its choices.
pub(crate) fn written(
    machine: &Machine,
    process: usize,
    before: &[i32],
    after: &[i32],
    labels: &[Label],
) -> TraceStep {
    let layout = &machine.layout;
    let block = layout.block(process);
    let place = |frame: &[i32]| {
        let pc = frame[block + PC];
        (pc > 0).then(|| pc as usize - 1)
    };
    let events = labels.iter().map(|label| match label.what {
        LabelKind::Call(call) => Event::Call(call.into()),
        LabelKind::Lin(_) | LabelKind::Point(..) => Event::Lin,
        LabelKind::Return(operation, number) => {
            let types = &machine.program.operations[usize::from(operation)].results;
            Event::Return(results_of(types, number))
        }
    });
    let shared_end = layout.pools.first().map_or(layout.public, |p| p.base);
    TraceStep {
        process,
        location: place(before),
        choices: Vec::new(),
        events: events.collect(),
        shared: after[..shared_end].to_vec(),
        private: after[block + 2..block + layout.stride].to_vec(),
        at: place(after),
        explained_by: Vec::new(),
        possible: Vec::new(),
    }
}
