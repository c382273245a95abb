//! A queue with two ends: `deque`.

use super::items::{Items, may_return, or_nil};
use super::method::{self, Method, item, nothing};
use super::queue::{inserts, touches_item};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Builtin, Info, Origins, Shown, Spec, Touches};
use crate::value::Value;

/// The operations of a deque.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DequeOp {
    /// Inserts a value at the front. Nil is not a value: inserting it is never legal.
    PushFront(Value),
    /// Inserts a value at the back. Nil is not a value: inserting it is never legal.
    PushBack(Value),
    /// Removes the value at the front; returns nil if there is none.
    PopFront,
    /// Removes the value at the back; returns nil if there is none.
    PopBack,
    /// The value at the front; nil if there is none.
    PeekFront,
    /// The value at the back; nil if there is none.
    PeekBack,
}

use DequeOp::{PeekBack, PeekFront, PopBack, PopFront, PushBack, PushFront};

const METHODS: [Method<DequeOp>; 6] = [
    Method::new("push_front(value)", &["push_left", "add_first", "offer_first"], |a| {
        Ok(PushFront(item(&a[0])?))
    }),
    Method::new("push_back(value)", &["push_right", "add_last", "offer_last"], |a| {
        Ok(PushBack(item(&a[0])?))
    }),
    Method::new("pop_front() -> value or nil", &["pop_left", "poll_first", "remove_first"], |_| {
        Ok(PopFront)
    }),
    Method::new("pop_back() -> value or nil", &["pop_right", "poll_last", "remove_last"], |_| {
        Ok(PopBack)
    }),
    Method::new("peek_front() -> value or nil", &["peek_left", "peek_first", "front"], |_| {
        Ok(PeekFront)
    }),
    Method::new("peek_back() -> value or nil", &["peek_right", "peek_last", "back"], |_| {
        Ok(PeekBack)
    }),
];

pub(super) const DEQUE: Info = Info {
    name: "deque",
    aliases: &["double-ended-queue", "atomic-deque"],
    parameters: "init=[]",
    methods: &method::signatures(&METHODS),
    summary: "a queue with two ends; init lists the front value first",
};

/// A deque without a bound.
#[derive(Clone, Debug, Default)]
pub struct Deque {
    init: Items,
}

/// An empty deque.
pub fn deque() -> Deque {
    Deque::default()
}

impl Deque {
    /// A deque with initial contents, the front value first.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Deque {
        Deque { init: values.into_iter().collect() }
    }
}

/// The value at the operation's end.
fn seen<'a>(state: &'a Items, op: &DequeOp) -> Option<&'a Value> {
    match op {
        PopFront | PeekFront => state.first(),
        PopBack | PeekBack => state.last(),
        PushFront(_) | PushBack(_) => None,
    }
}

fn change(state: &mut Items, op: &DequeOp) {
    match op {
        PushFront(value) => state.insert(0, value.clone()),
        PushBack(value) => state.push(value.clone()),
        PopFront => drop(state.shift()),
        PopBack => drop(state.pop()),
        PeekFront | PeekBack => {}
    }
}

impl Spec for Deque {
    type State = Items;
    type Op = DequeOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(&self, state: &Items, op: &DequeOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        let is_value = !matches!(op, PushFront(Value::Nil) | PushBack(Value::Nil));
        if is_value && may_return(seen(state, op), ret) {
            let mut after = state.clone();
            change(&mut after, op);
            next.push(after);
        }
    }

    fn observes(&self, op: &DequeOp, ret: Option<&Value>) -> bool {
        match op {
            PushFront(_) | PushBack(_) => false,
            PopFront | PopBack => ret == Some(&Value::Nil),
            PeekFront | PeekBack => true,
        }
    }

    fn reorders(&self) -> bool {
        true
    }

    /// Operations at different ends commute, unless the same value may be both the first and the
    /// last.
    fn commutes(&self, a: (&DequeOp, Option<&Value>), b: (&DequeOp, Option<&Value>)) -> bool {
        match (a, b) {
            ((PushFront(_), _), (PushBack(_), _)) | ((PushBack(_), _), (PushFront(_), _)) => true,
            ((PushFront(v), _), (PopBack, Some(w)))
            | ((PopBack, Some(w)), (PushFront(v), _))
            | ((PushBack(v), _), (PopFront, Some(w)))
            | ((PopFront, Some(w)), (PushBack(v), _)) => v != w && !w.is_nil(),
            ((PopFront, Some(v)), (PopBack, Some(w)))
            | ((PopBack, Some(v)), (PopFront, Some(w))) => !v.is_nil() && !w.is_nil(),
            _ => false,
        }
    }

    fn says_nothing(&self, op: &DequeOp, ret: &Value) -> bool {
        matches!(op, PushFront(_) | PushBack(_)) && ret.is_nil()
    }

    fn origins(&self) -> Option<Origins<DequeOp, Value>> {
        fn brings(op: &DequeOp) -> Option<&Value> {
            match op {
                PushFront(value) | PushBack(value) => Some(value),
                _ => None,
            }
        }
        let shows = |op: &DequeOp, ret: &Value| match (op, ret) {
            (_, Value::Nil) | (PushFront(_) | PushBack(_), _) => None,
            (PopFront | PopBack, value) => Some(Shown::Taken(value.clone())),
            (PeekFront | PeekBack, value) => Some(Shown::Seen(value.clone())),
        };
        Some(Origins::new(brings, shows).holding(self.init.to_vec()))
    }

    fn touches(&self, op: &DequeOp, ret: Option<&Value>) -> Touches {
        match (op, ret) {
            (PushFront(value) | PushBack(value), _) => touches_item(&self.init, value),
            (PeekFront | PeekBack, None) | (_, Some(Value::Nil)) => Touches::NOTHING,
            (PopFront | PopBack, None) => Touches::Everything,
            (_, Some(value)) => touches_item(&self.init, value),
        }
    }

    fn vocabulary(&self) -> Option<Vocabulary<DequeOp, Value>> {
        Some(Vocabulary::new(Family::Deque, self.init.to_vec(), words::deque))
    }

    fn show(&self, op: &DequeOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

impl Builtin for Deque {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(DequeOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            PushFront(_) | PushBack(_) => nothing(ret),
            _ => Ok(ret.clone()),
        })
    }

    fn encode(&self, op: &DequeOp) -> (&'static str, Vec<Value>) {
        match op {
            PushFront(value) => ("push_front", vec![value.clone()]),
            PushBack(value) => ("push_back", vec![value.clone()]),
            PopFront => ("pop_front", vec![]),
            PopBack => ("pop_back", vec![]),
            PeekFront => ("peek_front", vec![]),
            PeekBack => ("peek_back", vec![]),
        }
    }

    fn results(&self, state: &Items, op: &DequeOp) -> Vec<Value> {
        vec![or_nil(seen(state, op))]
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> DequeOp {
        match (inserts(pick), pick(2)) {
            (true, 0) => PushFront(Value::Int(fresh)),
            (true, _) => PushBack(Value::Int(fresh)),
            (false, 0) => PopFront,
            (false, _) => PopBack,
        }
    }

    fn perform(&self, state: &mut Items, op: &DequeOp, _: &Value, _: &mut dyn FnMut(u64) -> u64) {
        change(state, op);
    }

    fn alien(&self, value: i64) -> Option<(DequeOp, Value)> {
        Some((PopFront, Value::Int(value)))
    }
}
