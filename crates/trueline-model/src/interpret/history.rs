//! Histories, and whether some order of the operations explains them, by trying every order.

use std::collections::BTreeSet;

use super::Interpreter;
use super::steps::Choices;
use super::value::Value;
use super::walk::{Flow, Walk, World};
use crate::language::ast::SpecDecl;
use crate::language::types::Ty;
use crate::program::Call;

/// What a step makes visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Which of the program's calls.
    Call(usize),
    Return(Value),
}

#[derive(Clone, Debug)]
struct Operation {
    process: usize,
    call: usize,
    called: usize,
    returned: Option<(usize, Value)>,
}

/// Calls and returns, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    operations: Vec<Operation>,
    events: usize,
}

/// A state of the specification.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Written(Vec<Value>),
    Built(Box<[i32]>),
}

impl History {
    pub(super) fn push(&mut self, process: usize, seen: Seen) {
        self.events += 1;
        match seen {
            Seen::Call(call) => {
                let called = self.events;
                self.operations.push(Operation { process, call, called, returned: None });
            }
            Seen::Return(result) => {
                let last = self.operations.iter_mut().rev().find(|o| o.process == process);
                if let Some(operation) = last {
                    operation.returned = Some((self.events, result));
                }
            }
        }
    }
}

impl Interpreter<'_> {
    /// Whether the specification allows some order of the operations that preserves the order of
    /// those that do not overlap.
    pub(super) fn explained(&self, history: &History) -> bool {
        let mut failed = BTreeSet::new();
        self.search(history, 0, &self.first_state(), &mut failed)
    }

    fn search(
        &self,
        history: &History,
        done: u64,
        state: &State,
        failed: &mut BTreeSet<(u64, State)>,
    ) -> bool {
        let open = |i: usize| done & (1 << i) == 0;
        let operations = &history.operations;
        if (0..operations.len()).all(|i| !open(i) || operations[i].returned.is_none()) {
            return true;
        }
        if failed.contains(&(done, state.clone())) {
            return false;
        }
        // An operation that was called before the first remaining return can be next.
        let end = (0..operations.len())
            .filter(|i| open(*i))
            .filter_map(|i| operations[i].returned.as_ref().map(|(at, _)| *at))
            .min()
            .unwrap_or(usize::MAX);
        for i in (0..operations.len()).filter(|i| open(*i) && operations[*i].called < end) {
            for next in self.after(state, &operations[i]) {
                if self.search(history, done | 1 << i, &next, failed) {
                    return true;
                }
            }
        }
        failed.insert((done, state.clone()));
        false
    }

    /// Whether the specification explains that all operations without a return wait: after some
    /// order of the others, none of them can be done.
    pub(super) fn explains_waiting(&self, history: &History) -> bool {
        self.waits_after(history, 0, &self.first_state(), &mut BTreeSet::new())
    }

    fn waits_after(
        &self,
        history: &History,
        done: u64,
        state: &State,
        failed: &mut BTreeSet<(u64, State)>,
    ) -> bool {
        let operations = &history.operations;
        let open = |i: usize| done & (1 << i) == 0;
        let returned = |i: &usize| operations[*i].returned.is_some();
        let left: Vec<usize> =
            (0..operations.len()).filter(|i| open(*i)).filter(returned).collect();
        if left.is_empty() {
            let waiting = operations.iter().filter(|operation| operation.returned.is_none());
            return waiting.into_iter().all(|operation| self.after(state, operation).is_empty());
        }
        if failed.contains(&(done, state.clone())) {
            return false;
        }
        let returns = left.iter().filter_map(|i| operations[*i].returned.as_ref());
        let end = returns.map(|(at, _)| *at).min().unwrap_or(usize::MAX);
        for i in left.into_iter().filter(|i| operations[*i].called < end) {
            for next in self.after(state, &operations[i]) {
                if self.waits_after(history, done | 1 << i, &next, failed) {
                    return true;
                }
            }
        }
        failed.insert((done, state.clone()));
        false
    }

    fn first_state(&self) -> State {
        match &self.rules.ast.spec {
            SpecDecl::Named { .. } => {
                State::Built(self.program.spec.initial().into_iter().next().unwrap_or_default())
            }
            SpecDecl::Written { state, .. } => {
                let types = self.rules.types;
                let mut walk = Walk::new(&self.rules, World::new(Vec::new(), Vec::new()), 0);
                walk.sequential = true;
                for variable in state {
                    let ty = types.resolve(&variable.of).unwrap_or(Ty::Unit);
                    let mut value = Value::first(types, &ty);
                    if let Some(init) = &variable.init
                        && let Ok(given) = walk.value(init)
                        && given != Value::List(Vec::new())
                    {
                        value = given;
                    }
                    walk.scope.push((variable.name.text.clone(), ty, value));
                }
                State::Written(walk.scope.into_iter().map(|(_, _, value)| value).collect())
            }
        }
    }

    /// The states after the operation took effect with the observed result.
    fn after(&self, state: &State, operation: &Operation) -> Vec<State> {
        let Call { operation: op, args } = &self.program.calls[operation.call];
        let (argument_types, result_type) = &self.signatures[*op];
        let types = self.rules.types;
        let wanted = operation.returned.as_ref().map(|(_, value)| value);
        let mut out = Vec::new();
        match (state, &self.rules.ast.spec) {
            (State::Built(words), _) => {
                let mut next = Vec::new();
                self.program.spec.step(words, operation.process, *op, args, &mut next);
                for (numbers, words) in next {
                    let result = Value::from_numbers(types, result_type, &mut &*numbers);
                    if wanted.is_none_or(|wanted| *wanted == result) {
                        out.push(State::Built(words));
                    }
                }
            }
            (State::Written(values), SpecDecl::Written { state, ops, .. }) => {
                let name = &self.rules.ast.ops[*op].name.text;
                let Some(spec) = ops.iter().find(|o| o.name.text == *name) else { return out };
                let mut others = Some(Choices::default());
                while let Some(choices) = others {
                    let world = World::new(Vec::new(), Vec::new());
                    let mut walk = Walk::new(&self.rules, world, operation.process);
                    walk.sequential = true;
                    walk.choosing(choices);
                    for (variable, value) in state.iter().zip(values) {
                        let ty = types.resolve(&variable.of).unwrap_or(Ty::Unit);
                        walk.scope.push((variable.name.text.clone(), ty, value.clone()));
                    }
                    for ((name, ty), number) in spec.args.iter().zip(argument_types).zip(args) {
                        let value = Value::from_number(types, ty, *number);
                        walk.scope.push((name.text.clone(), ty.clone(), value));
                    }
                    let ended = walk.block(&spec.body);
                    let result = match ended {
                        Ok(Flow::Return(value)) if value.can_be_returned(types, result_type) => {
                            Some(value)
                        }
                        Ok(Flow::Return(_)) => None,
                        Ok(_) => Some(Value::Nothing),
                        Err(_) => None,
                    };
                    let fits = result.is_some_and(|r| wanted.is_none_or(|w| *w == r));
                    others = walk.other_choices();
                    if fits {
                        let values = walk.scope.drain(..state.len()).map(|(_, _, v)| v);
                        out.push(State::Written(values.collect()));
                    }
                }
            }
            _ => {}
        }
        out
    }
}
