//! A user's specification behind the interface that the harness uses.
//!
//! States are numbers, so that the harness treats specifications of all types alike. Steps are
//! cached, and the user's code runs only once for each. The code may panic: the panic is caught at
//! the call and becomes an error that names the operation and the state.

use std::hash::BuildHasher;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::{HashSet, HashTable};
use trueline::budget::Exhausted;
use trueline::history::Operation;
use trueline::spec::{Data, Spec, Touches, Vocabulary};
use trueline::{Budget, Check, History, Outcome};

use super::table::Table;
use crate::engine::panics::{Caught, caught};

/// A specification of operations `O` with results `R`: a [`Guarded`] one.
pub(crate) type Specification<O, R> = Arc<dyn Spec<State = u32, Op = O, Ret = R>>;

/// A user's specification, guarded against panics.
///
/// It does not pass on the claims of the specification about its kind and what commutes: scenarios
/// are too short for these to matter.
pub(crate) struct Guarded<S: Spec> {
    spec: S,
    met: Mutex<Met<S>>,
}

/// The states, operations and steps so far.
struct Met<S: Spec> {
    states: Table<S::State>,
    steps: HashTable<Step<S>>,
}

/// A step that was taken.
struct Step<S: Spec> {
    state: u32,
    op: S::Op,
    ret: Option<S::Ret>,
    next: Box<[u32]>,
}

impl<S: Spec> Met<S> {
    fn next(&self, state: u32, op: &S::Op, ret: Option<&S::Ret>) -> Option<&[u32]> {
        let is_it =
            |step: &Step<S>| step.state == state && step.op == *op && step.ret.as_ref() == ret;
        self.steps.find(hash::<S>(state, op, ret), is_it).map(|step| &*step.next)
    }

    fn remember(&mut self, step: Step<S>) {
        let of = |step: &Step<S>| hash::<S>(step.state, &step.op, step.ret.as_ref());
        let hash = of(&step);
        self.steps.insert_unique(hash, step, of);
    }
}

fn hash<S: Spec>(state: u32, op: &S::Op, ret: Option<&S::Ret>) -> u64 {
    FixedState::default().hash_one((state, op, ret))
}

impl<S: Spec + 'static> Guarded<S> {
    pub(crate) fn shared(spec: S) -> Specification<S::Op, S::Ret> {
        let met = Mutex::new(Met { states: Table::default(), steps: HashTable::new() });
        Arc::new(Guarded { spec, met })
    }

    fn met(&self) -> MutexGuard<'_, Met<S>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Spec + 'static> Spec for Guarded<S> {
    type State = u32;
    type Op = S::Op;
    type Ret = S::Ret;

    fn initial(&self) -> u32 {
        let initial = self.spec.initial();
        self.met().states.number_of(&initial)
    }

    fn step(&self, state: &u32, op: &S::Op, ret: Option<&S::Ret>, next: &mut Vec<u32>) {
        let before = {
            let met = self.met();
            if let Some(known) = met.next(*state, op, ret) {
                next.extend_from_slice(known);
                return;
            }
            met.states.value(*state)
        };
        let mut after = Vec::new();
        // The user's code runs without the lock.
        if let Err(caught) = caught(|| self.spec.step(&before, op, ret, &mut after)) {
            if caught.payload.is::<GivenUp>() {
                resume_unwind(caught.payload);
            }
            let (op, state) = (self.show(op, None), self.spec.show_state(&before));
            let op = op.strip_suffix(" -> ?").unwrap_or(&op);
            let what = caught.failure();
            let what = format!("the specification fails at `{op}` in the state {state}: {what}");
            give_up(NoAnswer::Error(what));
        }
        let mut met = self.met();
        let after: Box<[u32]> = after.iter().map(|state| met.states.number_of(state)).collect();
        next.extend_from_slice(&after);
        met.remember(Step { state: *state, op: op.clone(), ret: ret.cloned(), next: after });
    }

    fn partition(&self, op: &S::Op) -> Option<u64> {
        self.spec.partition(op)
    }

    fn observes(&self, op: &S::Op, ret: Option<&S::Ret>) -> bool {
        self.spec.observes(op, ret)
    }

    fn order_insensitive(&self) -> bool {
        self.spec.order_insensitive()
    }

    fn touches(&self, op: &S::Op, ret: Option<&S::Ret>) -> Touches {
        self.spec.touches(op, ret)
    }

    fn show(&self, op: &S::Op, ret: Option<&S::Ret>) -> String {
        let text = self.spec.show(op, ret);
        text.strip_suffix(" -> ()").map_or(text.clone(), String::from)
    }

    fn show_state(&self, state: &u32) -> String {
        let state = self.met().states.value(*state);
        self.spec.show_state(&state)
    }

    /// A vocabulary that comes from a claim about the kind is valid only if the claim is tested,
    /// and the claim is not passed on.
    fn vocabulary(&self) -> Option<Vocabulary<S::Op, S::Ret>> {
        self.spec.vocabulary().filter(|words| !words.is_claimed())
    }
}

/// Why there is no answer about a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The specification failed: it panicked, for example.
    Error(String),
    /// A limit was reached.
    Spent(Exhausted),
}

impl NoAnswer {
    pub(crate) fn error(what: &str) -> NoAnswer {
        NoAnswer::Error(String::from(what))
    }
}

/// Whether operations may wait for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// They may wait for ever.
    Allowed,
    /// In each of these states, which are all that are possible, one of the operations could
    /// continue.
    Enabled(Vec<String>),
    /// No order explains the operations that returned, or only one in which a waiting operation has
    /// taken effect.
    NoOrder,
}

/// Sets of operations between two checks of the budget.
const SETS_AT_ONCE: usize = 256;

/// Whether a history is linearizable. An error says why the specification has no answer; if a limit
/// was reached, the outcome says so.
pub(crate) fn check<O: Data, R: Data>(
    spec: &Specification<O, R>,
    history: &History<O, R>,
    budget: &Budget,
) -> Result<Outcome, NoAnswer> {
    guard(|| Check::new(Arc::clone(spec)).budget(budget).run(history))
}

/// Whether the specification allows these operations with these results, one after the other.
#[cfg(feature = "papers")]
pub(crate) fn is_legal<'a, O: Data, R: Data>(
    spec: &Specification<O, R>,
    sequence: impl Iterator<Item = &'a (O, R)>,
    budget: &Budget,
) -> Result<bool, NoAnswer> {
    budget.spend(1).map_err(NoAnswer::Spent)?;
    guard(|| {
        let mut states = vec![spec.initial()];
        for (op, ret) in sequence {
            let mut next = Vec::new();
            for state in &states {
                spec.step(state, op, Some(ret), &mut next);
            }
            next.sort_unstable();
            next.dedup();
            states = next;
        }
        !states.is_empty()
    })
}

/// `push(1)`, `pop() -> 1`: without the result if there is none or it is empty.
pub(crate) fn show<O: Data, R: Data>(
    spec: &Specification<O, R>,
    op: &O,
    ret: Option<&R>,
) -> String {
    let text = spec.show(op, ret);
    text.strip_suffix(" -> ?").map_or(text.clone(), String::from)
}

/// Whether the operations that wait for ever may do so: there is an order of the returned
/// operations after which none of the waiting ones can continue.
pub(crate) fn may_wait<O: Data, R: Data>(
    spec: &Specification<O, R>,
    history: &History<O, R>,
    budget: &Budget,
) -> Result<Waiting, NoAnswer> {
    guard(|| look_for_an_end(spec, history, budget))?.map_err(NoAnswer::Spent)
}

/// Searches all orders of the returned operations, by sets of taken operations and states, for one
/// after which no other operation of the history can continue. Waiting operations have not taken
/// effect. This is the 'stuck' history of Line-Up (Burckhardt, Dern, Musuvathi and Tan, 2010), with
/// one order for all that wait.
///
/// There may be as many sets as subsets of the overlapping operations, so the budget is checked
/// every few of them.
fn look_for_an_end<O: Data, R: Data>(
    spec: &Specification<O, R>,
    history: &History<O, R>,
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
            let ready =
                |(j, other): (usize, &&Operation<O, R>)| taken >> j & 1 == 1 || !other.precedes(o);
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

/// The payload of a panic that says why a specification has no answer. It never leaves [`guard`],
/// on whatever thread it was raised.
struct GivenUp(NoAnswer);

/// Runs code that calls a specification; an error names the operation at which it panicked.
fn guard<T>(ask: impl FnOnce() -> T) -> Result<T, NoAnswer> {
    caught(ask).map_err(|caught: Caught| match caught.payload.downcast_ref::<GivenUp>() {
        Some(GivenUp(why)) => why.clone(),
        None => NoAnswer::Error(format!("the specification fails: {}", caught.failure())),
    })
}

/// Abandons the question, with the reason why it has no answer.
pub(crate) fn give_up(why: NoAnswer) -> ! {
    // Resumed rather than raised, so that no hook prints it.
    resume_unwind(Box::new(GivenUp(why)))
}
