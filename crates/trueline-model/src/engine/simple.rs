//! Simple executions of snapshot algorithms: enough to verify algorithms that are independent of
//! their data.
//!
//! Such an algorithm is a linearizable snapshot iff its (i, j)-simple executions are linearizable,
//! for all pairs of processes (Theorem 5 of *Polynomial-Time Verification and Testing of
//! Implementations of the Snapshot Data Structure*, Amram and others, DISC 2022): processes i and j
//! change their segment once, from the initial value to another; the others only write the initial
//! one. A program is restricted by changing its client and adding one own variable
//! ([`restricted`]). Cells that thereby become constant cost no steps ([`super::constants`]). The
//! histories are compared with the specification, or with [`super::automata`].
//!
//! Pairs are searched one after the other. No pair stands for another: scans distinguish processes
//! by their numbers, so processes cannot be exchanged. With many processes, the search begins with
//! runs in which only three of them take steps: a violation among them is a violation, and it is
//! found long before breadth first search with all processes would reach it.
//!
//! States are skipped if neither process of the pair has changed its segment or still can, because
//! it has no calls left: all values are then the initial one, and an algorithm that is independent
//! of its data cannot return another.
//!
//! A violation is reported in terms of the unrestricted program: the run is repeated without
//! omitting anything, and the sets of specification states must refute it too.

use std::sync::{Arc, Mutex};

use trueline::Budget;
use trueline::rng::Rng;

use crate::program::{
    Binary, Expr, Place, Points, Program, Role, SnapshotShape, Stmt, Type, Unary, Variable,
};

use super::automata::Automata;
use super::cartesian::Choices;
use super::label::LabelKind;
use super::layout::{Frame, PC};
use super::scratch::Scratch;
use super::spec_sets::SpecSets;
use super::step::{Machine, Outcome};
use super::trace::{Trace, TraceStep, written};
use super::verify::{self, Counterexample, Options, Reason, Report, Verdict};
use super::walks::walk;

/// How to search simple executions.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    /// Compare the histories with automata instead of sets of specification states.
    pub automata: bool,
    /// The pairs of processes that may change their segments; if empty, all pairs.
    pub pairs: Vec<(usize, usize)>,
    /// Random runs before the search, for each set of processes that takes steps.
    pub walks: u64,
    /// A process may also decide on its other value when it calls a scan, as in the models
    /// published for PAT.
    pub settles_at_scans: bool,
}

/// With more processes than this, runs of few of them come first.
const FEW: usize = 4;
/// Random runs that guess which cells change.
const GUESSES: u64 = 100;

/// Verifies the simple executions of a program.
pub(super) fn verify(
    program: &Arc<Program>,
    simple: &Simple,
    options: &Options,
    budget: &Budget,
) -> Report {
    let mut total = Report::new(false);
    let restriction = match Restriction::new(program, simple) {
        Ok(restriction) => restriction,
        Err(why) => {
            total.verdict = Verdict::Refused(why);
            return total;
        }
    };
    let n = program.processes();
    let mut pairs = simple.pairs.clone();
    if pairs.is_empty() {
        pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
    }
    for &(i, j) in &pairs {
        if i >= j || j >= n {
            total.verdict = Verdict::Refused(format!(
                "there is no pair of processes {i} and {j}: the model has {n}"
            ));
            return total;
        }
    }
    let mut few_first: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    if n > FEW {
        for &(i, j) in &pairs {
            let other = (0..n).find(|p| *p != i && *p != j);
            few_first.push((i, j, [i, j].into_iter().chain(other).collect()));
        }
    }
    let all = pairs.iter().map(|&(i, j)| (i, j, (0..n).collect()));
    for (i, j, active) in few_first.into_iter().chain(all) {
        let is_all = active.len() == n;
        let report = restriction.decide((i, j), &active, options, budget);
        total.add(&report, is_all);
        if !matches!(report.verdict, Verdict::Verified) {
            total.verdict = report.verdict;
            return total;
        }
    }
    total
}

/// The result of random runs.
enum Walked {
    Fine,
    Changed(usize),
    Violation(Counterexample),
}

struct Restriction<'a> {
    program: &'a Arc<Program>,
    simple: &'a Simple,
    shape: SnapshotShape,
    /// The value to which segments change.
    other: i32,
}

impl<'a> Restriction<'a> {
    fn new(program: &'a Arc<Program>, simple: &'a Simple) -> Result<Restriction<'a>, String> {
        let shape = program.spec.snapshot().ok_or(
            "simple histories are those of snapshot objects: the model must say `spec snapshot`",
        )?;
        if program.processes() < 2 {
            return Err("simple histories need two processes".into());
        }
        let is_update = |c: &&crate::program::Call| c.operation == shape.update;
        let other = program.calls.iter().filter(is_update).map(|c| c.args[0]);
        let other = other.min_by_key(|&v| (v == shape.initial, v));
        match other.filter(|&v| v != shape.initial) {
            Some(other) => Ok(Restriction { program, simple, shape, other }),
            None => Err("the model has no second value to update a segment with".into()),
        }
    }

    fn decide(
        &self,
        pair: (usize, usize),
        active: &[usize],
        options: &Options,
        budget: &Budget,
    ) -> Report {
        let program = Arc::new(self.restricted(pair, active));
        let make = || Machine::new(program.clone(), Points::None);
        let mut constants = match guess(&make()) {
            Ok(constants) => constants,
            Err(outcome) => {
                let mut report = Report::new(false);
                report.verdict = verify::wrong_setup(&program, outcome);
                return report;
            }
        };
        loop {
            let machine = make().with_constants(constants.clone());
            let machine = machine.with_changing([pair.0, pair.1], program.own.len() - 1);
            let mut sets = SpecSets::new(program.clone(), Points::None);
            if self.simple.automata {
                sets = sets.replaced_by(Automata { shape: self.shape, pair });
            }
            match self.walks(&machine, &mut sets, budget) {
                Walked::Fine => {}
                Walked::Changed(slot) => {
                    constants[slot] = false;
                    continue;
                }
                Walked::Violation(found) => {
                    let mut report = Report::new(false);
                    report.transitions = found.trace.steps.len() as u64;
                    report.verdict = self.verdict(&machine, &found);
                    return report;
                }
            }
            let sets = Mutex::new(sets);
            match verify::decide(&machine, &sets, options, budget, false) {
                // It is not constant after all.
                Err(slot) => constants[slot] = false,
                Ok(mut report) => {
                    if let Verdict::Violation(found) = &report.verdict {
                        report.verdict = self.verdict(&machine, found);
                    }
                    return report;
                }
            }
        }
    }

    fn verdict(&self, machine: &Machine, found: &Counterexample) -> Verdict {
        self.unrestricted_run(machine, found).map_or_else(
            || Verdict::Unknown(
                    "internal error: the counterexample does not replay on the full model; please report it"
                        .into(),
                ),
            Verdict::Violation,
        )
    }

    /// Random runs.
    fn walks(&self, machine: &Machine, sets: &mut SpecSets, budget: &Budget) -> Walked {
        let Ok(initial) = machine.initial() else { return Walked::Fine };
        let (mut random, mut scratch) = (Rng::new(1), Scratch::default());
        for _ in 0..self.simple.walks {
            let mut changed = None;
            let mut see = |_: &Frame, outcome: Option<&Outcome>| {
                if let Some(Outcome::Changed(slot)) = outcome {
                    changed = Some(*slot);
                }
            };
            let walked = walk(machine, Some(sets), &initial, &mut random, &mut scratch, &mut see);
            if let Some(slot) = changed {
                return Walked::Changed(slot);
            }
            let steps = match walked {
                Ok(steps) => steps,
                Err(taken) if budget.spend(taken).is_ok() => continue,
                Err(_) => return Walked::Fine,
            };
            let step = |(process, choices): (usize, Choices)| TraceStep {
                process,
                location: None,
                choices: choices.iter().map(|c| c.0).collect(),
                events: Vec::new(),
                shared: Vec::new(),
                private: Vec::new(),
                at: None,
                explained_by: Vec::new(),
                possible: Vec::new(),
            };
            let steps = steps.into_iter().map(step).collect();
            let trace = Trace { steps, initially: Vec::new() };
            let (reason, shortest, shorter_seen) = (Reason::NotLinearizable, false, None);
            let found = Counterexample { reason, trace, shortest, shorter_seen };
            return Walked::Violation(found);
        }
        Walked::Fine
    }

    /// The program of simple executions.
    fn restricted(&self, pair: (usize, usize), active: &[usize]) -> Program {
        let mut program = Program::clone(self.program);
        let changed = program.own.len();
        program.own.push(Variable::scalar("changed", Type::bool(), 0));
        let has_changed = || Expr::Read(Box::new(Place::Own(changed, Vec::new())));
        let both = |op, a, b| Expr::Binary(op, Box::new(a), Box::new(b));
        let not = |a| Expr::Unary(Unary::Not, Box::new(a));
        let value = || Expr::Read(Box::new(Place::Local(0, Vec::new())));
        let is_other = || both(Binary::Eq, value(), Expr::Const(self.other));
        let own = || Place::Own(changed, Vec::new());
        program.operations[self.shape.update].entry.splice(
            0..0,
            [
                Stmt::Await(both(Binary::Or, not(has_changed()), is_other())),
                Stmt::Set(own(), is_other()),
            ],
        );
        if self.simple.settles_at_scans {
            let is = |p: usize| both(Binary::Eq, Expr::Me, Expr::Const(p as i32));
            let may =
                both(Binary::And, not(has_changed()), both(Binary::Or, is(pair.0), is(pair.1)));
            let decide = vec![Stmt::Await(may), Stmt::Set(own(), Expr::Const(1))];
            let entry = &mut program.operations[self.shape.scan].entry;
            entry.insert(0, Stmt::Choose(vec![Vec::new(), decide]));
        }
        let may = |process: usize, call: &crate::program::Call| {
            active.contains(&process)
                && (call.operation != self.shape.update
                    || call.args[0] == self.shape.initial
                    || call.args[0] == self.other && (process == pair.0 || process == pair.1))
        };
        program.roles = (0..self.program.processes())
            .map(|process| {
                let role = &self.program.roles[self.program.role_of(process)];
                let calls = role.calls.iter().copied();
                Role {
                    name: role.name.clone(),
                    processes: 1,
                    calls: calls.filter(|&c| may(process, &program.calls[c])).collect(),
                    limit: role.limit,
                    symmetric: false,
                }
            })
            .collect();
        program
    }

    /// The counterexample as a run of the unrestricted program; `None` if it is not one.
    fn unrestricted_run(
        &self,
        machine: &Machine,
        found: &Counterexample,
    ) -> Option<Counterexample> {
        // Another pair, or an execution that is not simple, may have a shorter one.
        let counterexample = |trace| Counterexample {
            trace,
            shortest: false,
            shorter_seen: None,
            reason: found.reason.clone(),
        };
        let plain = Machine::new(self.program.clone(), Points::None);
        let mut sets = SpecSets::new(self.program.clone(), Points::None);
        let (mut short, mut long) = (Scratch::default(), Scratch::default());
        let mut from: Frame = machine.initial().ok()?;
        let mut frame: Frame = plain.initial().ok()?;
        let mut set = sets.initial();
        let mut trace = Trace { steps: Vec::new(), initially: sets.show(set) };
        for (number, step) in found.trace.steps.iter().enumerate() {
            let is_last = number + 1 == found.trace.steps.len();
            machine.begin(&mut short, false);
            short.choices = step.choices.iter().map(|&c| (c, u16::MAX)).collect();
            let outcome = machine.step(&from, step.process, &mut short);
            let mut choices = step.choices.clone();
            if from[machine.layout.block(step.process) + PC] == 0 {
                choices = self.choices(machine, step.process, &short, choices)?;
            }
            for passed in 0..=short.passed {
                plain.begin(&mut long, false);
                let taken = if passed == 0 { std::mem::take(&mut choices) } else { Vec::new() };
                long.choices = taken.iter().map(|&c| (c, u16::MAX)).collect();
                let same = plain.step(&frame, step.process, &mut long);
                if passed < short.passed && same != Outcome::Moved {
                    return None;
                }
                let mut possible = Vec::new();
                for &label in &long.labels.clone() {
                    let before = set;
                    set = sets.after(set, label);
                    if let (LabelKind::Return(operation, _), super::spec_sets::EMPTY) =
                        (label.what, set)
                    {
                        possible = sets.possible(before, step.process, usize::from(operation));
                    }
                }
                let told = written(&plain, step.process, &frame, &long.frame, &long.labels);
                let explained_by = sets.show(set);
                let told = TraceStep { choices: taken, explained_by, possible, ..told };
                trace.steps.push(told);
                frame.clone_from(&long.frame);
                plain.normalise(&mut frame, &mut long.walk);
                if same != Outcome::Moved {
                    let is_same = is_last && same == outcome;
                    return is_same.then(|| counterexample(trace));
                }
            }
            from.clone_from(&short.frame);
            machine.normalise(&mut from, &mut short.walk);
        }
        let is_violation = set == super::spec_sets::EMPTY;
        is_violation.then(|| counterexample(trace))
    }

    /// The choices of a call, in terms of the program as it stands.
    fn choices(
        &self,
        machine: &Machine,
        process: usize,
        taken: &Scratch,
        choices: Vec<u16>,
    ) -> Option<Vec<u16>> {
        let Some(LabelKind::Call(call)) = taken.labels.first().map(|l| l.what) else { return None };
        let call = usize::from(call);
        let mut rest = choices.into_iter();
        if machine.program.roles[process].calls.len() > 1 {
            rest.next();
        }
        let is_scan = self.program.calls[call].operation == self.shape.scan;
        if is_scan && self.simple.settles_at_scans {
            rest.next();
        }
        let role = &self.program.roles[self.program.role_of(process)];
        let place = role.calls.iter().position(|&c| c == call)?;
        let first = (role.calls.len() > 1).then_some(place as u16);
        Some(first.into_iter().chain(rest).collect())
    }
}

/// The shared cells that no random run changes.
fn guess(machine: &Machine) -> Result<Vec<bool>, Outcome> {
    let initial = machine.initial()?;
    let layout = &machine.layout;
    let end = layout.pools.first().map_or(layout.public, |pool| pool.base);
    let mut constants = vec![true; end];
    let (mut random, mut scratch) = (Rng::new(0), Scratch::default());
    for _ in 0..GUESSES {
        let mut see = |frame: &Frame, _: Option<&Outcome>| {
            for (slot, is_constant) in constants.iter_mut().enumerate() {
                *is_constant &= frame[slot] == initial[slot];
            }
        };
        // These observations are not compared with a specification.
        let _ = walk(machine, None, &initial, &mut random, &mut scratch, &mut see);
    }
    Ok(constants)
}
