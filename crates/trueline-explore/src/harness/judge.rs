//! A specification as the harness sees it: one that decides histories, whatever its type.
//!
//! A specification is the user's code and may panic: the panic is caught where the specification is asked, and becomes an error that
//! names the operation.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use trueline::spec::{Canonical, Spec, Touches};
use trueline::{Check, History, Outcome};

/// Decides histories of operations `O` with results `R`.
pub(crate) trait Judge<O, R>: Send + Sync {
    /// Whether a history is linearizable. An error says why the specification has no answer.
    fn check(&self, history: &History<O, R>) -> Result<Outcome, String>;

    /// Whether the operations that wait for ever may do so: there is an order of those that returned after which none of the
    /// others can go on. If not, the states that are possible at the end, as people read them.
    fn may_wait(&self, history: &History<O, R>) -> Result<Waiting, String>;

    /// The operation as people read it.
    fn show(&self, op: &O, ret: Option<&R>) -> String;
}

/// Whether operations may wait for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// They may.
    Allowed,
    /// In each of these states, which are all that are possible, one of them could go on.
    Enabled(Vec<String>),
    /// No order explains those that returned.
    NoOrder,
}

/// A specification of the user's as a judge.
pub(crate) struct Specified<S> {
    check: Check<'static, Guarded<S>>,
    guarded: Guarded<S>,
}

impl<S: Spec> Specified<S> {
    pub(crate) fn new(spec: S) -> Specified<S> {
        let spec = std::sync::Arc::new(spec);
        let guarded = || Guarded(std::sync::Arc::clone(&spec));
        Specified { check: Check::new(guarded()), guarded: guarded() }
    }
}

impl<S: Spec> Judge<S::Op, S::Ret> for Specified<S> {
    fn check(&self, history: &History<S::Op, S::Ret>) -> Result<Outcome, String> {
        guard(|| self.check.run(history))
    }

    fn may_wait(&self, history: &History<S::Op, S::Ret>) -> Result<Waiting, String> {
        guard(|| may_wait(&self.guarded, history))
    }

    fn show(&self, op: &S::Op, ret: Option<&S::Ret>) -> String {
        show(&self.guarded, op, ret)
    }
}

/// `push(1)` rather than `push(1) -> ()` and `push(1) -> ?`.
pub(crate) fn show<S: Spec>(spec: &S, op: &S::Op, ret: Option<&S::Ret>) -> String {
    let text = spec.show(op, ret);
    match text.strip_suffix(" -> ()").or(text.strip_suffix(" -> ?")) {
        Some(call) => call.to_string(),
        None => text,
    }
}

/// A panic that says why a specification has no answer. It never leaves [`guard`], whatever thread it was raised on.
struct NoAnswer(String);

/// Runs what asks a specification; the error names the operation at which it panicked.
fn guard<T>(ask: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|payload| match payload.downcast::<NoAnswer>() {
        Ok(no_answer) => no_answer.0,
        Err(payload) => format!("the specification panics: {}", message(&*payload)),
    })
}

/// Ends the question that a specification was asked with this error.
pub(crate) fn give_up(what: String) -> ! {
    // Resumed rather than raised, so that no hook prints it.
    resume_unwind(Box::new(NoAnswer(what)))
}

/// The text of a panic.
pub(crate) fn message(payload: &(dyn std::any::Any + Send)) -> String {
    (payload.downcast_ref::<&str>().map(|text| String::from(*text)))
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| String::from("a panic with a payload that is no text"))
}

/// A specification that says at which operation it panicked.
struct Guarded<S>(std::sync::Arc<S>);

impl<S: Spec> Spec for Guarded<S> {
    type State = S::State;
    type Op = S::Op;
    type Ret = S::Ret;

    fn initial(&self) -> S::State {
        self.0.initial()
    }

    fn step(&self, state: &S::State, op: &S::Op, ret: Option<&S::Ret>, next: &mut Vec<S::State>) {
        let step = AssertUnwindSafe(|| self.0.step(state, op, ret, next));
        if let Err(payload) = catch_unwind(step) {
            if payload.is::<NoAnswer>() {
                resume_unwind(payload);
            }
            let what = message(&*payload);
            give_up(format!("the specification panics at `{op:?}` in the state {state:?}: {what}"));
        }
    }

    fn partition(&self, op: &S::Op) -> Option<u64> {
        self.0.partition(op)
    }

    fn canonical(&self) -> Option<Canonical<S::Op, S::Ret>> {
        self.0.canonical()
    }

    fn observes(&self, op: &S::Op, ret: Option<&S::Ret>) -> bool {
        self.0.observes(op, ret)
    }

    fn order_insensitive(&self) -> bool {
        self.0.order_insensitive()
    }

    fn looks_ahead(&self) -> bool {
        self.0.looks_ahead()
    }

    fn in_reach(&self, state: &S::State, observer: &S::Op, ret: Option<&S::Ret>) -> bool {
        self.0.in_reach(state, observer, ret)
    }

    fn may_help(&self, op: &S::Op, observer: &S::Op, ret: Option<&S::Ret>) -> bool {
        self.0.may_help(op, observer, ret)
    }

    fn touches(&self, op: &S::Op, ret: Option<&S::Ret>) -> Touches {
        self.0.touches(op, ret)
    }

    fn show(&self, op: &S::Op, ret: Option<&S::Ret>) -> String {
        self.0.show(op, ret)
    }

    fn show_state(&self, state: &S::State) -> String {
        self.0.show_state(state)
    }
}

/// All orders of the operations that returned, by sets of those taken and states; looks for one after which no other operation of the
/// history can go on. Operations that wait have not taken effect: this is the 'stuck' history of Line-Up (Burckhardt, Dern, Musuvathi
/// and Tan, 2010), with one order for all that wait.
pub(crate) fn may_wait<S: Spec>(spec: &S, history: &History<S::Op, S::Ret>) -> Waiting {
    let operations = history.operations();
    let (done, waiting): (Vec<_>, Vec<_>) = operations.iter().partition(|o| !o.is_pending());
    let all = if done.is_empty() { 0 } else { u128::MAX >> (128 - done.len()) };
    let mut seen: HashSet<(u128, S::State), FixedState> =
        HashSet::with_hasher(FixedState::default());
    let mut stack = vec![(0u128, spec.initial())];
    let mut enabled = Vec::new();
    let mut next = Vec::new();
    while let Some((taken, state)) = stack.pop() {
        if !seen.insert((taken, state.clone())) {
            continue;
        }
        if taken == all {
            let mut can_go_on = |op| {
                next.clear();
                spec.step(&state, op, None, &mut next);
                !next.is_empty()
            };
            if !waiting.iter().any(|o| can_go_on(&o.op)) {
                return Waiting::Allowed;
            }
            enabled.push(spec.show_state(&state));
            continue;
        }
        for (i, o) in done.iter().enumerate() {
            let ready = |(j, other): (usize, &&trueline::history::Operation<S::Op, S::Ret>)| {
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
    if enabled.is_empty() { Waiting::NoOrder } else { Waiting::Enabled(enabled) }
}
