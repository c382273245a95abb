//! Where the steps of a walk begin and end.
//!
//! An access or a choice happens once, and is read from the log on later walks ([`Walk::once`]). A
//! step ends before the second thing that counts, and before the head of a loop that it has passed
//! already ([`Walk::head`]), as in the engine. A loop within one step goes round in that step;
//! where it chooses, each state that its choices lead to is followed once, so that there are no
//! more walks than states.

use std::collections::HashMap;
use std::fmt::Write;

use super::value::Value;
use super::walk::{Stop, Walk, Walked, fault};
use crate::language::Semantics;
use crate::language::Span;
use crate::language::ast::{Expr, Stmt, StmtKind};
use crate::language::types::Ty;
use crate::program::MOST_ROUNDS;

/// What happened once in an operation, and is not done again when the operation is walked again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An access or a choice, and what it gave.
    Gave(Value),
    /// A step ended at the head of a loop: that many heads were passed since the entry before.
    Paused(u32),
}

/// Where a process stands within its operation, and all that it knows: what it does next depends on
/// nothing else of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    statements: Vec<Span>,
    scope: Vec<(String, Ty, Value)>,
    own: Vec<(String, Ty, Value)>,
    /// What the statement that it is within has given so far.
    begun: Vec<Entry>,
}

impl Point {
    /// Says where it is without the types of what is known.
    pub(super) fn write_name(&self, out: &mut String) {
        for statement in &self.statements {
            let _ = write!(out, "{},", statement.start);
        }
        for (name, _, value) in self.scope.iter().chain(&self.own) {
            let _ = write!(out, "{name}={value:?} ");
        }
        let _ = write!(out, "{:?}", self.begun);
    }

    /// What the process knows, by name.
    pub(super) fn variables(&self) -> Vec<(String, Ty, Value)> {
        self.own.iter().chain(&self.scope).cloned().collect()
    }
}

/// The loops within a step whose rounds began in these states, over all choices: the run, and how
/// many choices it had made.
pub(crate) type Rounds = HashMap<(u64, String), (usize, usize)>;

/// A loop: where it stands, and how many choices had been made where it began.
pub(super) struct Loop {
    pub(super) at: u64,
    pub(super) choices: usize,
}

/// What a walk is to choose, and what the walks before it have met.
#[derive(Default)]
pub(crate) struct Choices {
    script: Vec<usize>,
    run: usize,
    rounds: Rounds,
}

/// The next sequence of choices, as an odometer counts; none after the last.
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

    /// Where the walk was abandoned.
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
            // A call or a choice may stop before a guard, or pass through it: either is a run.
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

    /// What comes now is part of the step.
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

    /// The head of a loop, where a round begins. A step that comes to a head that it has passed
    /// ends there.
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

    /// A round that is part of a step. Where the loop chooses, the choices are followed that lead
    /// to states of its own; a loop that comes back to a state without a choice has no end.
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

    /// Whether the statement is a guard that says when the operation may be called: it looks at
    /// what the process knows, and nothing but declarations and other such guards comes before.
    pub(super) fn says_when_to_call(&mut self, stmt: &Stmt) -> bool {
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

    /// A condition that is looked at as a whole: where it may read shared memory that is a step,
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
            // What has happened in this step stays so, even if this waits for ever. The call may
            // end before the guard, and be a step of its own. A choice ends before any guard.
            if self.spent || (self.calling || self.chosen) && self.choice(2) == 0 {
                return Err(Stop::Suspended);
            }
            self.begin();
        }
        self.at_once(condition, true)
    }
}
