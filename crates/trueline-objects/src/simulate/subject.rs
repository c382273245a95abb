//! An object behind the operations of its specification, with its type hidden, as the harness runs it.

use std::fmt;
use std::sync::Arc;

use trueline::Value;
use trueline::spec::{Builtin, Spec, Touches};
use trueline_explore::harness::{Operate, Thread};

/// An object that can be called by operations of a specification.
pub(crate) trait Concurrent<Op>: Send + Sync {
    fn call(&self, op: &Op) -> Value;
}

/// An object of which no more is known.
pub(crate) type Subject<Op> = Box<dyn Concurrent<Op>>;

/// An operation, and how people write it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Invocation<Op> {
    pub(crate) op: Op,
    /// `enq(3)`.
    text: Arc<str>,
}

impl<Op> Invocation<Op> {
    pub(crate) fn new<S: Builtin<Op = Op>>(spec: &S, op: Op) -> Invocation<Op> {
        let (method, args) = spec.encode(&op);
        let args: Vec<String> = args.iter().map(Value::to_string).collect();
        let text = format!("{method}({})", args.join(", ")).into();
        Invocation { op, text }
    }
}

impl<Op> fmt::Debug for Invocation<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<Op: trueline::spec::Data> Operate<Subject<Op>> for Invocation<Op> {
    type Ret = Value;
    type Handle<'a> = &'a Subject<Op>;

    fn handle(object: &Subject<Op>, _: Thread) -> &Subject<Op> {
        object
    }

    fn operate(&self, object: &mut &Subject<Op>) -> Value {
        object.call(&self.op)
    }
}

/// A built-in specification of [`Invocation`]s, some of whose methods wait where they would return nil.
pub(crate) struct Specified<S> {
    pub(crate) spec: S,
    pub(crate) waiting: &'static [&'static str],
}

impl<S: Builtin> Specified<S> {
    /// Whether the operation would have to return nil, which it never does.
    fn waits(&self, state: &S::State, op: &S::Op) -> bool {
        !self.waiting.is_empty()
            && self.waiting.contains(&self.spec.encode(op).0)
            && self.spec.results(state, op).iter().all(Value::is_nil)
    }
}

impl<S: Builtin> Spec for Specified<S> {
    type State = S::State;
    type Op = Invocation<S::Op>;
    type Ret = Value;

    fn initial(&self) -> S::State {
        self.spec.initial()
    }

    fn step(
        &self,
        state: &S::State,
        call: &Invocation<S::Op>,
        ret: Option<&Value>,
        next: &mut Vec<S::State>,
    ) {
        if !self.waits(state, &call.op) {
            self.spec.step(state, &call.op, ret, next);
        }
    }

    fn partition(&self, call: &Invocation<S::Op>) -> Option<u64> {
        self.spec.partition(&call.op)
    }

    fn observes(&self, call: &Invocation<S::Op>, ret: Option<&Value>) -> bool {
        self.spec.observes(&call.op, ret)
    }

    fn order_insensitive(&self) -> bool {
        self.spec.order_insensitive()
    }

    fn touches(&self, call: &Invocation<S::Op>, ret: Option<&Value>) -> Touches {
        self.spec.touches(&call.op, ret)
    }

    fn show(&self, call: &Invocation<S::Op>, ret: Option<&Value>) -> String {
        self.spec.show(&call.op, ret)
    }

    fn show_state(&self, state: &S::State) -> String {
        self.spec.show_state(state)
    }
}
