//! Where the steps of a walk begin and end.
//!
//! An access or a choice happens once, and later walks read it from the log ([`Walk::once`]). A
//! step ends before the second counted access or choice, and before the head of a loop that it has
//! already passed ([`Walk::head`]), as in the engine. A loop within one step makes all its rounds
//! in that step. If it chooses, each state that its choices lead to is followed once, so that there
//! are no more walks than states.

use std::collections::HashMap;
use std::fmt::Write;

use super::value::Value;
use super::walk::{Stop, Walk, Walked, fault};
use crate::language::Semantics;
use crate::language::Span;
use crate::language::ast::{Expr, Stmt, StmtKind};
use crate::language::types::Ty;
use crate::program::MOST_ROUNDS;

/// An event that happens once in an operation, and is not repeated when the operation is walked
/// again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An access or a choice, and its result.
    Gave(Value),
    /// A step ended at the head of a loop, after passing this many heads since the previous entry.
    Paused(u32),
}

/// The location of a process within its operation, and its local state: its next step depends on
/// nothing else of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    statements: Vec<Span>,
    scope: Vec<(String, Ty, Value)>,
    own: Vec<(String, Ty, Value)>,
    /// The results so far of the current statement.
    begun: Vec<Entry>,
}

impl Point {
    /// Writes the location without the types of the local state.
    pub(super) fn write_name(&self, out: &mut String) {
        for statement in &self.statements {
            let _ = write!(out, "{},", statement.start);
        }
        for (name, _, value) in self.scope.iter().chain(&self.own) {
            let _ = write!(out, "{name}={value:?} ");
        }
        let _ = write!(out, "{:?}", self.begun);
    }

    /// The local state of the process, by name.
    pub(super) fn variables(&self) -> Vec<(String, Ty, Value)> {
        self.own.iter().chain(&self.scope).cloned().collect()
    }
}

/// The loops within a step whose rounds began in these states, over all choices: the run, and how
/// many choices it had made.
pub(crate) type Rounds = HashMap<(u64, String), (usize, usize)>;

/// A loop: its place in the text, and how many choices had been made where it began.
pub(super) struct Loop {
    pub(super) at: u64,
    pub(super) choices: usize,
}

/// The choices of a walk, and the states met by earlier walks.
#[derive(Default)]
pub(crate) struct Choices {
    script: Vec<usize>,
    run: usize,
    rounds: Rounds,
}

/// The next sequence of choices, in odometer order; `None` after the last.
fn next_script(mut script: Vec<usize>, arities: &[usize]) -> Option<Vec<usize>> {
    script.truncate(arities.len());
    while let Some(last) = script.pop() {
        if last + 1 < arities[script.len()] {
            script.push(last + 1);
            return Some(script);
        }
    }
    None
}

impl Walk<'_> {
    /// Takes these choices.
    pub(crate) fn choosing(&mut self, choices: Choices) {
        self.given = choices.script.len();
        self.script = choices.script;
        self.run = choices.run;
        self.rounds = choices.rounds;
    }

    /// The choices to take next, if there are others.
    pub(crate) fn other_choices(&mut self) -> Option<Choices> {
        let script = next_script(std::mem::take(&mut self.script), &self.arities)?;
        Some(Choices { script, run: self.run + 1, rounds: std::mem::take(&mut self.rounds) })
    }

    /// The point where the walk was abandoned.
    pub(crate) fn point(&self) -> Point {
        Point {
            statements: self.statements.clone(),
            scope: self.scope.clone(),
            own: self.own.clone(),
            begun: (self.suspended.iter())
                .flat_map(|&(from, to)| &self.log[from.min(self.log.len())..to.min(self.log.len())])
                .chain(&self.log[self.mark.min(self.log.len())..])
                .cloned()
                .collect(),
        }
    }

    pub(super) fn fine(&self) -> bool {
        self.rules.semantics == Semantics::Default && self.free == 0 && !self.sequential
    }

    /// Something that happens once: on later walks it is read from the log.
    pub(super) fn once(
        &mut self,
        counts: bool,
        guard: bool,
        perform: impl FnOnce(&mut Self) -> Walked<Value>,
    ) -> Walked<Value> {
        if let Some(entry) = self.log.get(self.at) {
            let Entry::Gave(value) = entry else { return fault("a loop is where an access was") };
            self.at += 1;
            self.heads = 0;
            return Ok(value.clone());
        }
        if counts && !self.sequential {
            if self.spent {
                return Err(Stop::Suspended);
            }
            // A call or a choice may stop before a guard or pass through it; both are runs.
            if guard && (self.calling || self.chosen) && self.choice(2) == 0 {
                return Err(Stop::Suspended);
            }
            self.spent = true;
            self.begin();
        }
        let value = perform(self)?;
        self.chosen |= !counts;
        self.log.push(Entry::Gave(value.clone()));
        self.at += 1;
        self.heads = 0;
        Ok(value)
    }

    /// From here on, everything is part of the step.
    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.passed.clear();
        }
    }

    /// The beginning of a statement that is a step as a whole, and may have to wait.
    pub(super) fn boundary(&mut self, guard: bool) -> Walked<()> {
        self.once(true, guard, |_| Ok(Value::Nothing)).map(drop)
    }

    pub(super) fn access(
        &mut self,
        perform: impl FnOnce(&mut Self) -> Walked<Value>,
    ) -> Walked<Value> {
        let counts = self.fine();
        self.once(counts, false, perform)
    }

    pub(super) fn choice(&mut self, arity: usize) -> usize {
        let at = self.arities.len();
        self.arities.push(arity);
        if self.script.len() == at {
            self.script.push(0);
        }
        self.script[at]
    }

    /// The head of a loop, where a round begins. A step ends at a head that it has already passed.
    pub(super) fn head(&mut self, of: &Loop, rounds: &mut u32) -> Walked<()> {
        *rounds += 1;
        if self.free > 0 || self.sequential {
            return self.round_within_a_step(of, *rounds);
        }
        self.heads += 1;
        self.mark = self.at;
        match self.log.get(self.at) {
            Some(Entry::Paused(heads)) if *heads == self.heads => {
                self.at += 1;
                self.heads = 0;
                if self.at == self.log.len() {
                    self.begun = true;
                    self.passed = vec![of.at];
                }
            }
            Some(_) => {}
            None if !self.begun => {}
            None if self.passed.contains(&of.at) => {
                self.log.push(Entry::Paused(self.heads));
                return Err(Stop::Suspended);
            }
            None => self.passed.push(of.at),
        }
        Ok(())
    }

    /// A round that is part of a step. If the loop chooses, only choices that lead to new states
    /// are followed. A loop that returns to a state without a choice is endless.
    fn round_within_a_step(&mut self, of: &Loop, rounds: u32) -> Walked<()> {
        if rounds > MOST_ROUNDS {
            return fault("a loop does not end");
        }
        let chosen = self.arities.len();
        if chosen == of.choices || chosen < self.given {
            return Ok(());
        }
        let state = format!("{:?} {:?} {:?}", self.scope, self.own, self.world);
        match self.rounds.insert((of.at, state), (self.run, chosen)) {
            None => Ok(()),
            Some(before) if before == (self.run, chosen) => fault("a loop does not end"),
            Some(_) => Err(Stop::Known),
        }
    }

    /// Whether the statement is a guard that decides when the operation may be called: it reads
    /// only local state, and only declarations and other such guards precede it.
    pub(super) fn guards_call(&mut self, stmt: &Stmt) -> bool {
        let begins = self.begins;
        self.begins &= match &stmt.kind {
            StmtKind::Local(variables) => {
                !variables.iter().filter_map(|v| v.init.as_ref()).any(|init| self.costs(init))
            }
            StmtKind::When(..) => true,
            StmtKind::Await(condition) => !self.touches(condition),
            _ => false,
        };
        begins && self.begins && matches!(stmt.kind, StmtKind::Await(_))
    }

    /// A condition that is evaluated as a whole: if it may read shared memory, that is a step,
    /// whatever it reads.
    pub(super) fn at_once(&mut self, condition: &Expr, guard: bool) -> Walked<bool> {
        if !self.fine() || !self.touches(condition) {
            return self.truth(condition);
        }
        self.boundary(guard)?;
        self.free += 1;
        let holds = self.truth(condition);
        self.free -= 1;
        holds
    }

    /// A condition that may wait.
    pub(super) fn guard(&mut self, condition: &Expr) -> Walked<bool> {
        if self.fine() && !self.touches(condition) && self.at == self.log.len() {
            // The earlier effects of this step remain even if this waits for ever. The call may end
            // before the guard and be a step of its own. A choice ends before any guard.
            if self.spent || (self.calling || self.chosen) && self.choice(2) == 0 {
                return Err(Stop::Suspended);
            }
            self.begin();
        }
        self.at_once(condition, true)
    }
}
