//! Replays counterexamples.
//!
//! A counterexample is accepted if the model has a run in which these processes take these steps,
//! make these calls and returns visible and leave these values in the shared variables, and if the
//! claim about its end is true: no order of the operations satisfies the specification, by trying
//! them all; or the fault occurs; or no process can take a step and the specification does not
//! explain that. A step is the same here and in the engine. If a step leaves something open (which
//! node an allocation reuses), all possibilities are followed.

use trueline::Budget;
use trueline::budget::Exhausted;

use super::history::{History, Seen};
use super::notes::{self, Note};
use super::{Configuration, Interpreter};
use crate::engine::{Counterexample, Event, Reason, TraceStep};
use crate::language::{Model, Semantics};
use crate::program::Program;

/// More runs than this that all explain a trace are not followed.
const MOST_CONFIGURATIONS: usize = 5_000;

/// Why a counterexample is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It is not one; the text says why.
    Mismatch(String),
    /// The budget is spent.
    Spent(Exhausted),
}

impl From<String> for Rejected {
    fn from(why: String) -> Rejected {
        Rejected::Mismatch(why)
    }
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rejected::Mismatch(why) => f.write_str(why),
            Rejected::Spent(spent) => spent.fmt(f),
        }
    }
}

/// Checks the counterexample; an error says where it is not a run of the model.
///
/// `program` must be the result of compiling the model under this semantics: its calls and types
/// map the trace's numbers to names.
pub fn replay(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    counterexample: &Counterexample,
) -> Result<(), String> {
    let explained = explain(model, semantics, program, counterexample, &Budget::unlimited());
    explained.map(drop).map_err(|rejected| rejected.to_string())
}

/// The same within a budget; returns what each step of an accepted counterexample did.
pub fn explain(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    counterexample: &Counterexample,
    budget: &Budget,
) -> Result<Vec<Note>, Rejected> {
    let (steps, reason) = (&counterexample.trace.steps, &counterexample.reason);
    run(model, semantics, program, steps, Some(reason), budget)
}

/// What each of these steps from the initial state did, without a claim about their end.
pub fn follow(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    steps: &[TraceStep],
    budget: &Budget,
) -> Result<Vec<Note>, Rejected> {
    run(model, semantics, program, steps, None, budget)
}

fn run(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    steps: &[TraceStep],
    reason: Option<&Reason>,
    budget: &Budget,
) -> Result<Vec<Note>, Rejected> {
    let types = model.types(program)?;
    let mut interpreter = Interpreter::new(model, &types, semantics, program)?;
    let calls = |event: &Event| matches!(event, Event::Call(_));
    interpreter.visible = steps.iter().any(|s| s.events.iter().any(calls));
    let mut story = Story::default();
    let mut configurations: Vec<(Configuration, Option<usize>)> =
        vec![(interpreter.initial()?, None)];
    let mut history = History::default();
    let mut current = vec![0; program.processes()];
    // The process that is to fail, if there is one, and whether it has failed here in its current
    // operation. A computation on local state costs nothing here and happens at once, while the
    // engine may fuse it with the next access. So a fault may appear here with the access before
    // it, and nothing that other processes do in between can prevent it.
    let failing = match reason {
        Some(Reason::Fault(_)) => steps.last().map(|step| step.process),
        _ => None,
    };
    let mut failed_before: Option<Option<usize>> = None;
    for (number, step) in steps.iter().enumerate() {
        let at = format!("step {} of {}, by P{}", number + 1, steps.len(), step.process);
        let last = number + 1 == steps.len();
        let mut next: Vec<(Configuration, Option<usize>)> = Vec::new();
        let events = interpreter.events(&step.events, &mut current[step.process]);
        let mut faulty: Option<Option<usize>> = None;
        for (from, before) in &configurations {
            budget.spend(1).map_err(Rejected::Spent)?;
            let note = |to: Option<&Configuration>, done: super::Done| {
                let (at, states) = ((done.at, done.accesses), (from, to));
                let note = notes::note(&types, model.source(), step.process, states, at);
                Note { arrives: done.arrives, ..note }
            };
            let (taken, faults) = interpreter.steps(from, step.process);
            for fault in faults {
                let seen = fault.seen == events;
                let notes = story.add(*before, note(None, fault.done));
                faulty.get_or_insert(notes);
                if failing == Some(step.process) && seen {
                    failed_before.get_or_insert(notes);
                }
            }
            for taken in taken.into_iter().filter(|taken| taken.seen == events) {
                let fits = interpreter.agrees(&taken.to.world, &step.shared)
                    && !next.iter().any(|(known, _)| *known == taken.to)
                    && next.len() < MOST_CONFIGURATIONS;
                if fits {
                    let notes = story.add(*before, note(Some(&taken.to), taken.done));
                    next.push((taken.to, notes));
                }
            }
        }
        if last && failing.is_some() {
            let notes = faulty.or(failed_before);
            let why = || Rejected::Mismatch(format!("{at}: there is no fault"));
            return notes.map(|notes| story.up_to(notes)).ok_or_else(why);
        }
        if let Some(notes) = failed_before.filter(|_| next.is_empty()) {
            return Ok(story.up_to(notes));
        }
        if failing == Some(step.process) && events.iter().any(|e| matches!(e, Seen::Return(..))) {
            failed_before = None;
        }
        if next.is_empty() {
            return Err(Rejected::Mismatch(format!("{at}: the model does not take this step")));
        }
        for event in events {
            history.push(step.process, event);
        }
        configurations = next;
    }
    let first = configurations.first().and_then(|(_, notes)| *notes);
    match reason {
        None => Ok(story.up_to(first)),
        Some(Reason::Deadlock) => {
            let stuck = configurations.iter().find(|(c, _)| interpreter.is_stuck(c));
            match stuck {
                None => Err("after the last step somebody can go on".to_string().into()),
                Some(_) if interpreter.explains_waiting(&history) => {
                    Err("the specification lets the operations wait".to_string().into())
                }
                Some((_, notes)) => Ok(story.up_to(*notes)),
            }
        }
        Some(_) => match interpreter.explained(&history) {
            true => {
                Err("the operations have an order that the specification allows".to_string().into())
            }
            false => Ok(story.up_to(first)),
        },
    }
}

/// The notes of all runs that are followed: each with the one before it.
#[derive(Default)]
struct Story {
    notes: Vec<(Option<usize>, Note)>,
}

impl Story {
    fn add(&mut self, before: Option<usize>, note: Note) -> Option<usize> {
        self.notes.push((before, note));
        Some(self.notes.len() - 1)
    }

    /// The notes up to this one, in order.
    fn up_to(&self, last: Option<usize>) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut at = last;
        while let Some(number) = at {
            let (before, note) = &self.notes[number];
            notes.push(note.clone());
            at = *before;
        }
        notes.reverse();
        notes
    }
}
