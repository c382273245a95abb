//! A pointer to a specification is a specification, so that code can keep specifications of
//! different types that share their operations, results and states.

use std::sync::Arc;

use super::{Canonical, Data, Growing, Origins, Spec, Sum, Touches, Vocabulary};

impl<State: Data, Op: Data, Ret: Data> Spec for Arc<dyn Spec<State = State, Op = Op, Ret = Ret>> {
    type State = State;
    type Op = Op;
    type Ret = Ret;

    fn initial(&self) -> State {
        (**self).initial()
    }

    fn step(&self, state: &State, op: &Op, ret: Option<&Ret>, next: &mut Vec<State>) {
        (**self).step(state, op, ret, next);
    }

    fn partition(&self, op: &Op) -> Option<u64> {
        (**self).partition(op)
    }

    fn canonical(&self) -> Option<Canonical<Op, Ret>> {
        (**self).canonical()
    }

    fn vocabulary(&self) -> Option<Vocabulary<Op, Ret>> {
        (**self).vocabulary()
    }

    fn observes(&self, op: &Op, ret: Option<&Ret>) -> bool {
        (**self).observes(op, ret)
    }

    fn order_insensitive(&self) -> bool {
        (**self).order_insensitive()
    }

    fn reorders(&self) -> bool {
        (**self).reorders()
    }

    fn commutes(&self, a: (&Op, Option<&Ret>), b: (&Op, Option<&Ret>)) -> bool {
        (**self).commutes(a, b)
    }

    fn says_nothing(&self, op: &Op, ret: &Ret) -> bool {
        (**self).says_nothing(op, ret)
    }

    fn looks_ahead(&self) -> bool {
        (**self).looks_ahead()
    }

    fn in_reach(&self, state: &State, observer: &Op, ret: Option<&Ret>) -> bool {
        (**self).in_reach(state, observer, ret)
    }

    fn may_help(&self, op: &Op, observer: &Op, ret: Option<&Ret>) -> bool {
        (**self).may_help(op, observer, ret)
    }

    fn origins(&self) -> Option<Origins<Op, Ret>> {
        (**self).origins()
    }

    fn growing(&self) -> Option<Growing<Op, Ret>> {
        (**self).growing()
    }

    fn sum(&self) -> Option<Sum<Op, Ret>> {
        (**self).sum()
    }

    fn touches(&self, op: &Op, ret: Option<&Ret>) -> Touches {
        (**self).touches(op, ret)
    }

    fn show(&self, op: &Op, ret: Option<&Ret>) -> String {
        (**self).show(op, ret)
    }

    fn show_state(&self, state: &State) -> String {
        (**self).show_state(state)
    }
}
