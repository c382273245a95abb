//! Last in, first out: `stack`.

use super::items::{Items, may_return, or_nil};
use super::method::{self, INSERT, Method, PEEK, REMOVE, item, nothing};
use super::queue::{inserts, touches_item};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Info, Kind, Origins, Shown, Spec, Touches};
use crate::value::Value;

/// The operations of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StackOp {
    /// Inserts a value. Nil is not a value: inserting it is never legal.
    Push(Value),
    /// Removes the newest value; returns nil if there is none.
    Pop,
    /// The newest value; nil if there is none.
    Peek,
}

const METHODS: [Method<StackOp>; 3] = [
    Method::new("push(value)", INSERT, |a| Ok(StackOp::Push(item(&a[0])?))),
    Method::new("pop() -> value or nil", REMOVE, |_| Ok(StackOp::Pop)),
    Method::new("peek() -> value or nil", PEEK, |_| Ok(StackOp::Peek)),
];

pub(super) const STACK: Info = Info {
    name: "stack",
    aliases: &["lifo", "lifo-stack", "atomic-stack"],
    parameters: "init=[]",
    methods: &method::signatures(&METHODS),
    summary: "last in, first out; init lists the oldest value first",
};

/// A stack without a bound.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    init: Items,
}

/// An empty stack.
pub fn stack() -> Stack {
    Stack::default()
}

impl Stack {
    /// A stack with initial contents, the oldest (bottom) value first.
    pub fn with_init(self, values: impl IntoIterator<Item = Value>) -> Stack {
        Stack { init: values.into_iter().collect() }
    }

    /// The initial contents, the oldest (bottom) value first.
    pub fn init(&self) -> &[Value] {
        &self.init
    }
}

fn change(state: &mut Items, op: &StackOp) {
    match op {
        StackOp::Push(value) => state.push(value.clone()),
        StackOp::Pop => drop(state.pop()),
        StackOp::Peek => {}
    }
}

impl Spec for Stack {
    type State = Items;
    type Op = StackOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        self.init.clone()
    }

    fn step(&self, state: &Items, op: &StackOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        let legal = match op {
            StackOp::Push(value) => !value.is_nil() && ret.is_none_or(Value::is_nil),
            StackOp::Pop | StackOp::Peek => may_return(state.last(), ret),
        };
        if legal {
            let mut after = state.clone();
            change(&mut after, op);
            next.push(after);
        }
    }

    fn canonical(&self) -> Option<Canonical<StackOp, Value>> {
        let action = |op: &StackOp, ret: Option<&Value>| match op {
            StackOp::Push(value) => Some(Action::Insert(value.clone())),
            StackOp::Pop => Some(Action::removal(ret)),
            StackOp::Peek => None,
        };
        Some(Canonical::new(Kind::Stack, action).holding(self.init.to_vec()))
    }

    fn observes(&self, op: &StackOp, ret: Option<&Value>) -> bool {
        match op {
            StackOp::Push(_) => false,
            StackOp::Pop => ret == Some(&Value::Nil),
            StackOp::Peek => true,
        }
    }

    fn says_nothing(&self, op: &StackOp, ret: &Value) -> bool {
        matches!(op, StackOp::Push(_)) && ret.is_nil()
    }

    fn origins(&self) -> Option<Origins<StackOp, Value>> {
        fn brings(op: &StackOp) -> Option<&Value> {
            match op {
                StackOp::Push(value) => Some(value),
                StackOp::Pop | StackOp::Peek => None,
            }
        }
        let shows = |op: &StackOp, ret: &Value| match (op, ret) {
            (_, Value::Nil) | (StackOp::Push(_), _) => None,
            (StackOp::Pop, value) => Some(Shown::Taken(value.clone())),
            (StackOp::Peek, value) => Some(Shown::Seen(value.clone())),
        };
        Some(Origins::new(brings, shows).holding(self.init.to_vec()))
    }

    fn touches(&self, op: &StackOp, ret: Option<&Value>) -> Touches {
        match (op, ret) {
            (StackOp::Push(value), _) => touches_item(&self.init, value),
            (StackOp::Peek, None) | (_, Some(Value::Nil)) => Touches::NOTHING,
            (StackOp::Pop, None) => Touches::Everything,
            (_, Some(value)) => touches_item(&self.init, value),
        }
    }

    fn vocabulary(&self) -> Option<Vocabulary<StackOp, Value>> {
        Some(Vocabulary::new(Family::Stack, self.init.to_vec(), words::stack))
    }

    fn show(&self, op: &StackOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        state.to_string()
    }
}

impl Builtin for Stack {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(StackOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match op {
            StackOp::Push(_) => nothing(ret),
            StackOp::Pop | StackOp::Peek => Ok(ret.clone()),
        })
    }

    fn encode(&self, op: &StackOp) -> (&'static str, Vec<Value>) {
        match op {
            StackOp::Push(value) => ("push", vec![value.clone()]),
            StackOp::Pop => ("pop", vec![]),
            StackOp::Peek => ("peek", vec![]),
        }
    }

    fn results(&self, state: &Items, op: &StackOp) -> Vec<Value> {
        vec![match op {
            StackOp::Push(_) => Value::Nil,
            StackOp::Pop | StackOp::Peek => or_nil(state.last()),
        }]
    }

    fn sample(&self, _: &Self::State, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> StackOp {
        if inserts(pick) { StackOp::Push(Value::Int(fresh)) } else { StackOp::Pop }
    }

    fn perform(&self, state: &mut Items, op: &StackOp, _: &Value, _: &mut dyn FnMut(u64) -> u64) {
        change(state, op);
    }

    fn alien(&self, value: i64) -> Option<(StackOp, Value)> {
        Some((StackOp::Pop, Value::Int(value)))
    }
}
