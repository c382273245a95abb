//! An object behind calls by name, as the harness runs it.

use trueline::Value;
use trueline::spec::{Dynamic, Invocation, Spec, Touches};
use trueline_explore::harness::{Operate, Thread};

/// An object that can be called by name.
pub(crate) trait Concurrent: Send + Sync {
    /// Calls a method. `holds` is for locks: whether the thread that calls holds this one.
    fn call(&self, method: &str, args: &[Value], holds: &mut bool) -> Value;
}

/// An object of which no more is known.
pub(crate) type Subject = Box<dyn Concurrent>;

/// An object in the hands of one thread.
pub(crate) struct Hand<'a> {
    object: &'a Subject,
    holds: bool,
}

impl Operate<Subject> for Invocation {
    type Ret = Value;
    type Handle<'a> = Hand<'a>;

    fn handle(object: &Subject, _: Thread) -> Hand<'_> {
        Hand { object, holds: false }
    }

    fn operate(&self, hand: &mut Hand<'_>) -> Value {
        hand.object.call(&self.method, self.args.as_slice(), &mut hand.holds)
    }
}

/// A specification some of whose methods wait where it says that they return nil.
pub(crate) struct Waiting {
    pub(crate) spec: Dynamic,
    pub(crate) methods: &'static [&'static str],
}

impl Spec for Waiting {
    type State = <Dynamic as Spec>::State;
    type Op = Invocation;
    type Ret = Value;

    fn initial(&self) -> Self::State {
        self.spec.initial()
    }

    fn step(
        &self,
        state: &Self::State,
        call: &Invocation,
        ret: Option<&Value>,
        next: &mut Vec<Self::State>,
    ) {
        let before = next.len();
        if self.methods.contains(&&*call.method) {
            self.spec.step(state, call, Some(&Value::Nil), next);
            if next.len() > before {
                // Here it would return nil, which it never does.
                return next.truncate(before);
            }
        }
        self.spec.step(state, call, ret, next);
    }

    fn partition(&self, call: &Invocation) -> Option<u64> {
        self.spec.partition(call)
    }

    fn observes(&self, call: &Invocation, ret: Option<&Value>) -> bool {
        self.spec.observes(call, ret)
    }

    fn touches(&self, call: &Invocation, ret: Option<&Value>) -> Touches {
        self.spec.touches(call, ret)
    }

    fn show(&self, call: &Invocation, ret: Option<&Value>) -> String {
        self.spec.show(call, ret)
    }

    fn show_state(&self, state: &Self::State) -> String {
        self.spec.show_state(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_waits_has_no_next_state_where_it_would_return_nil() {
        let spec = trueline::spec::named("queue").unwrap().dynamic();
        let waiting = Waiting { spec, methods: &["deq"] };
        let steps = |state: &_, call: &Invocation, ret: Option<&Value>| {
            let mut next = Vec::new();
            waiting.step(state, call, ret, &mut next);
            next
        };
        let (enq, deq) = (Invocation::new("enq", vec![1.into()]), Invocation::new("deq", vec![]));
        let empty = waiting.initial();
        assert!(steps(&empty, &deq, None).is_empty());
        assert!(steps(&empty, &deq, Some(&Value::Nil)).is_empty());
        let one = steps(&empty, &enq, Some(&Value::Nil)).remove(0);
        let empty = [empty];
        assert_eq!(steps(&one, &deq, Some(&1.into())), empty);
        assert_eq!(steps(&one, &deq, None), empty);
        assert!(steps(&one, &deq, Some(&Value::Nil)).is_empty());
    }
}
