//! An object behind calls by name, as the harness runs it.

use trueline::Value;
use trueline::spec::{Dynamic, Invocation, Spec, Touches, Vocabulary};
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

/// A method that waits where its specification does not say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Where the specification says that it returns nil, it waits.
    ForResult(&'static str),
    /// It may wait where there would be no room for so many more calls of it. A call that waits has no effect.
    ForRoom(&'static str, usize),
}

/// A specification some of whose methods wait.
pub(crate) struct Waiting {
    pub(crate) spec: Dynamic,
    pub(crate) waits: &'static [Wait],
}

impl Waiting {
    /// Whether so many calls in a row have room after this state.
    fn has_room(&self, state: &<Dynamic as Spec>::State, call: &Invocation, more: usize) -> bool {
        if more == 0 {
            return true;
        }
        let mut next = Vec::new();
        self.spec.step(state, call, None, &mut next);
        next.iter().any(|state| self.has_room(state, call, more - 1))
    }
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
        for wait in self.waits {
            match *wait {
                Wait::ForResult(method) if method == &*call.method => {
                    self.spec.step(state, call, Some(&Value::Nil), next);
                    if next.len() > before {
                        // Here it would return nil, which it never does.
                        return next.truncate(before);
                    }
                }
                // A call that has not returned has not taken effect: the question is whether it could go on.
                Wait::ForRoom(method, spare)
                    if method == &*call.method
                        && ret.is_none()
                        && !self.has_room(state, call, spare + 1) =>
                {
                    return;
                }
                _ => {}
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

    /// A method that waits tells less than the specification allows, and nothing else: the words are the same.
    fn vocabulary(&self) -> Option<Vocabulary<Invocation, Value>> {
        self.spec.vocabulary()
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
        let waiting = Waiting { spec, waits: &[Wait::ForResult("deq")] };
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

    #[test]
    fn a_method_that_waits_for_room_may_wait_a_little_early() {
        let spec = trueline::spec::named("relaxed-queue:capacity=3,init=[1]").unwrap().dynamic();
        let waiting = Waiting { spec, waits: &[Wait::ForRoom("enq", 1)] };
        let enq = Invocation::new("enq", vec![2.into()]);
        let steps = |state: &_, ret: Option<&Value>| {
            let mut next = Vec::new();
            waiting.step(state, &enq, ret, &mut next);
            next
        };
        let one = waiting.initial();
        assert_eq!(steps(&one, None).len(), 1);
        let two = steps(&one, Some(&Value::Nil)).remove(0);
        // With room for one value it may wait, and may return.
        assert!(steps(&two, None).is_empty());
        let three = steps(&two, Some(&Value::Nil)).remove(0);
        assert!(steps(&three, None).is_empty() && steps(&three, Some(&Value::Nil)).is_empty());
    }
}
