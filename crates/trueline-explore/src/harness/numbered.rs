//! A specification in numbers: operations, results and states are numbered, and the checkers of `trueline` see nothing else.
//!
//! The checkers are generic over the specification, and large. Were they compiled anew for the types of each test, tests would take long to
//! build; so they are compiled here, once, for numbers. A step that was taken before is remembered, and the user's code is not asked again.
//!
//! A specification is the user's code and may panic: the panic is caught where it is asked, and becomes an error that names the operation.

use std::panic::resume_unwind;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use trueline::budget::Exhausted;
use trueline::history::Operation;
use trueline::spec::{Spec, Touches, Vocabulary};
use trueline::{Budget, Check, History, Outcome};

use crate::engine::panics::{Caught, caught};

/// A specification whose operations, results and states are numbers.
pub(crate) trait Steps: Send + Sync {
    fn initial(&self) -> u32;
    fn step(&self, state: u32, op: u32, ret: Option<u32>, next: &mut Vec<u32>);
    fn partition(&self, op: u32) -> Option<u64>;
    fn observes(&self, op: u32, ret: Option<u32>) -> bool;
    fn order_insensitive(&self) -> bool;
    fn touches(&self, op: u32, ret: Option<u32>) -> Touches;
    fn show(&self, op: u32, ret: Option<u32>) -> String;
    fn show_state(&self, state: u32) -> String;
    fn vocabulary(self: Arc<Self>) -> Option<Vocabulary<u32, u32>>;
}

/// Decides histories of numbers.
pub(crate) struct Numbered<'a> {
    check: Check<'a, BySteps>,
    steps: BySteps,
    budget: &'a Budget,
}

/// Why there is no answer about a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The specification has none: it panicked, say.
    Error(String),
    /// A limit was reached.
    Spent(Exhausted),
}

/// Sets of operations between two looks at the budget.
const SETS_AT_ONCE: usize = 256;

/// Whether operations may wait for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// They may.
    Allowed,
    /// In each of these states, which are all that are possible, one of them could go on.
    Enabled(Vec<String>),
    /// No order explains those that returned: there is none, or one that waits has taken effect.
    NoOrder,
}

impl<'a> Numbered<'a> {
    pub(crate) fn new(steps: Arc<dyn Steps>, budget: &'a Budget) -> Numbered<'a> {
        let steps = BySteps(steps);
        Numbered { check: Check::new(steps.clone()).budget(budget), steps, budget }
    }

    /// Whether a history is linearizable. An error says why the specification has no answer; where a limit was reached, the outcome does.
    pub(crate) fn check(&self, history: &History<u32, u32>) -> Result<Outcome, NoAnswer> {
        guard(|| self.check.run(history))
    }

    /// Whether the operations that wait for ever may do so: there is an order of those that returned after which none of the others can
    /// go on.
    pub(crate) fn may_wait(&self, history: &History<u32, u32>) -> Result<Waiting, NoAnswer> {
        guard(|| may_wait(&self.steps, history, self.budget))?.map_err(NoAnswer::Spent)
    }

    /// Whether these operations with these results, one after the other, are what the specification does.
    pub(crate) fn is_legal(&self, sequence: &[(u32, u32)]) -> Result<bool, NoAnswer> {
        self.budget.spend(1).map_err(NoAnswer::Spent)?;
        guard(|| {
            let mut states = vec![self.steps.initial()];
            for (op, ret) in sequence {
                let mut next = Vec::new();
                for state in &states {
                    self.steps.step(state, op, Some(ret), &mut next);
                }
                next.sort_unstable();
                next.dedup();
                states = next;
            }
            !states.is_empty()
        })
    }

    /// `push(1)`, `pop() -> 1`: without the result where there is none, or nothing in it.
    pub(crate) fn show(&self, op: u32, ret: Option<u32>) -> String {
        let text = self.steps.show(&op, ret.as_ref());
        text.strip_suffix(" -> ?").map_or(text.clone(), String::from)
    }
}

#[derive(Clone)]
struct BySteps(Arc<dyn Steps>);

impl Spec for BySteps {
    type State = u32;
    type Op = u32;
    type Ret = u32;

    fn initial(&self) -> u32 {
        self.0.initial()
    }

    fn step(&self, state: &u32, op: &u32, ret: Option<&u32>, next: &mut Vec<u32>) {
        if let Err(caught) = caught(|| self.0.step(*state, *op, ret.copied(), next)) {
            if caught.payload.is::<GivenUp>() {
                resume_unwind(caught.payload);
            }
            let (op, state) = (self.0.show(*op, None), self.0.show_state(*state));
            let op = op.strip_suffix(" -> ?").unwrap_or(&op);
            let what = caught.failure();
            give_up(format!("the specification fails at `{op}` in the state {state}: {what}"));
        }
    }

    fn partition(&self, op: &u32) -> Option<u64> {
        self.0.partition(*op)
    }

    fn observes(&self, op: &u32, ret: Option<&u32>) -> bool {
        self.0.observes(*op, ret.copied())
    }

    fn order_insensitive(&self) -> bool {
        self.0.order_insensitive()
    }

    fn touches(&self, op: &u32, ret: Option<&u32>) -> Touches {
        self.0.touches(*op, ret.copied())
    }

    fn show(&self, op: &u32, ret: Option<&u32>) -> String {
        let text = self.0.show(*op, ret.copied());
        text.strip_suffix(" -> ()").map_or(text.clone(), String::from)
    }

    fn show_state(&self, state: &u32) -> String {
        self.0.show_state(*state)
    }

    fn vocabulary(&self) -> Option<Vocabulary<u32, u32>> {
        Arc::clone(&self.0).vocabulary()
    }
}

/// A panic that says why a specification has no answer. It never leaves [`guard`], whatever thread it was raised on.
struct GivenUp(String);

/// Runs what asks a specification; the error names the operation at which it panicked.
fn guard<T>(ask: impl FnOnce() -> T) -> Result<T, NoAnswer> {
    let told = |caught: Caught| match caught.payload.downcast_ref::<GivenUp>() {
        Some(GivenUp(what)) => what.clone(),
        None => format!("the specification fails: {}", caught.failure()),
    };
    caught(ask).map_err(|caught| NoAnswer::Error(told(caught)))
}

/// Ends the question that a specification was asked with this error.
pub(crate) fn give_up(what: String) -> ! {
    // Resumed rather than raised, so that no hook prints it.
    resume_unwind(Box::new(GivenUp(what)))
}

/// All orders of the operations that returned, by sets of those taken and states; looks for one after which no other operation of the
/// history can go on. Operations that wait must not have taken effect: this is the 'stuck' history of Line-Up (Burckhardt, Dern, Musuvathi
/// and Tan, 2010), with one order for all that wait.
///
/// The sets may be as many as the subsets of the operations that overlap: the budget is asked every few of them.
fn may_wait(
    spec: &BySteps,
    history: &History<u32, u32>,
    budget: &Budget,
) -> Result<Waiting, Exhausted> {
    let operations = history.operations();
    let (done, waiting): (Vec<_>, Vec<_>) = operations.iter().partition(|o| !o.is_pending());
    let all = if done.is_empty() { 0 } else { u128::MAX >> (128 - done.len()) };
    let mut seen: HashSet<(u128, u32), FixedState> = HashSet::with_hasher(FixedState::default());
    let mut stack = vec![(0u128, spec.initial())];
    let mut enabled = Vec::new();
    let mut next = Vec::new();
    while let Some((taken, state)) = stack.pop() {
        if !seen.insert((taken, state)) {
            continue;
        }
        if seen.len().is_multiple_of(SETS_AT_ONCE) {
            budget.spend(SETS_AT_ONCE as u64)?;
        }
        if taken == all {
            let mut can_go_on = |op| {
                next.clear();
                spec.step(&state, op, None, &mut next);
                !next.is_empty()
            };
            if !waiting.iter().any(|o| can_go_on(&o.op)) {
                return Ok(Waiting::Allowed);
            }
            enabled.push(spec.show_state(&state));
            continue;
        }
        for (i, o) in done.iter().enumerate() {
            let ready = |(j, other): (usize, &&Operation<u32, u32>)| {
                taken >> j & 1 == 1 || !other.precedes(o)
            };
            if taken >> i & 1 == 1 || !done.iter().enumerate().all(ready) {
                continue;
            }
            next.clear();
            spec.step(&state, &o.op, o.result.as_ref(), &mut next);
            stack.extend(next.drain(..).map(|state| (taken | 1 << i, state)));
        }
    }
    Ok(if enabled.is_empty() { Waiting::NoOrder } else { Waiting::Enabled(enabled) })
}
