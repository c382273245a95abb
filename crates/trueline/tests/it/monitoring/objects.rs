//! The objects of the theories as sequential specifications for the oracle, and random histories of
//! them.

use trueline::history::{Builder, Call, Operation, Position};
use trueline::spec::Spec;
use trueline::theory::{Method, Object};
use trueline::{History, Value};

use trueline::rng::Rng;

/// What is called: method and argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Op {
    pub(crate) method: Method,
    pub(crate) argument: Value,
}

/// An object as the paper describes it.
#[derive(Clone, Debug)]
pub(crate) struct Paper(pub(crate) Object);

/// The objects that are tried; the exchanger is not sequential and has a test of its own.
pub(crate) const OBJECTS: [Object; 9] = [
    Object::Queue,
    Object::Stack,
    Object::PriorityQueue { smallest_first: false },
    Object::PriorityQueue { smallest_first: true },
    Object::Set,
    Object::Register,
    Object::Lock,
    Object::Semaphore(1),
    Object::Semaphore(2),
];

impl Paper {
    /// Every result that is possible in this state, with the state after it.
    fn outcomes(&self, state: &[Value], op: &Op) -> Vec<(Value, Vec<Value>)> {
        let with = |value: &Value| [state, std::slice::from_ref(value)].concat();
        let without = |i: usize| [&state[..i], &state[i + 1..]].concat();
        let place = state.iter().position(|v| *v == op.argument);
        let next_out = match self.0 {
            Object::Queue => (!state.is_empty()).then_some(0),
            Object::Stack => state.len().checked_sub(1),
            Object::PriorityQueue { smallest_first } => {
                let all = 0..state.len();
                if smallest_first {
                    all.min_by_key(|&i| &state[i])
                } else {
                    all.max_by_key(|&i| &state[i])
                }
            }
            _ => None,
        };
        match (self.0, op.method) {
            (Object::Set, Method::Add) => match place {
                Some(_) => vec![(false.into(), state.to_vec())],
                None => vec![(true.into(), with(&op.argument))],
            },
            (Object::Set, Method::Remove) => match place {
                Some(i) => vec![(true.into(), without(i))],
                None => vec![(false.into(), state.to_vec())],
            },
            (Object::Set, Method::Contains) => vec![(place.is_some().into(), state.to_vec())],
            (_, Method::Add) => vec![(Value::Nil, with(&op.argument))],
            (_, Method::Remove) => match next_out {
                Some(i) => vec![(state[i].clone(), without(i))],
                None => vec![(Value::Nil, vec![])],
            },
            (_, Method::Write) => vec![(Value::Nil, vec![op.argument.clone()])],
            (_, Method::Read) => {
                vec![(state.first().cloned().unwrap_or_default(), state.to_vec())]
            }
            (Object::Lock, Method::Acquire) if state.is_empty() => {
                vec![(Value::Nil, with(&op.argument))]
            }
            (Object::Semaphore(n), Method::Acquire) if state.len() < n as usize => {
                vec![(Value::Nil, with(&op.argument))]
            }
            (_, Method::Release) => {
                (0..state.len()).map(|i| (state[i].clone(), without(i))).collect()
            }
            _ => vec![],
        }
    }
}

impl Spec for Paper {
    type State = Vec<Value>;
    type Op = Op;
    type Ret = Value;

    fn initial(&self) -> Vec<Value> {
        vec![]
    }

    fn step(&self, state: &Vec<Value>, op: &Op, ret: Option<&Value>, next: &mut Vec<Vec<Value>>) {
        for (result, after) in self.outcomes(state, op) {
            // An addition to a set that tells nothing is legal either way.
            if ret.is_none_or(|ret| *ret == result || self.0 == Object::Set && ret.is_nil()) {
                next.push(after);
            }
        }
    }
}

/// A random history of up to so many operations: processes call, take effect and return; then some
/// results are spoiled and some intervals shrunk. Values are unique, as saturation needs them; a
/// set has two keys.
pub(crate) fn random_history(object: Object, most: u64, random: &mut Rng) -> History<Op, Value> {
    let spec = Paper(object);
    let processes = 2 + random.below(3);
    let operations = 3 + random.below(most - 2);
    let pending = [0, 0, 10, 25][random.below(4) as usize];
    let wrong = [0, 10, 25, 50][random.below(4) as usize];
    // A process may stop within an operation: then another takes its place.
    let mut current: Vec<u64> = (0..processes).collect();
    let mut builder = Builder::new();
    let part = builder.part(Default::default());
    let at = Position::default();
    enum Phase {
        Idle,
        Called(Op),
        Done(Value),
    }
    let mut phases: Vec<Phase> = (0..processes).map(|_| Phase::Idle).collect();
    let mut state = spec.initial();
    let (mut called, mut fresh) = (0, 0i64);
    let mut answers: Vec<Value> = vec![Value::Nil];
    let mut methods: Vec<(u32, Op)> = Vec::new();
    let mut next_process = processes;
    for _ in 0..operations * 10 {
        let p = random.below(processes) as usize;
        let process = builder.process(&Value::Int(current[p] as i64));
        let give_up = random.below(100) < pending;
        phases[p] = match std::mem::replace(&mut phases[p], Phase::Idle) {
            Phase::Idle if called == operations => Phase::Idle,
            Phase::Idle => {
                fresh += 1;
                let op = some_op(object, fresh, random);
                let call = Call {
                    method: builder.method("m"),
                    args: vec![Value::Int(called as i64)].into(),
                };
                builder.call(process, part, call, at).unwrap();
                methods.push((called as u32, op.clone()));
                called += 1;
                Phase::Called(op)
            }
            Phase::Called(_) | Phase::Done(_) if give_up => {
                current[p] = next_process;
                next_process += 1;
                Phase::Idle
            }
            Phase::Called(op) => {
                let outcomes = spec.outcomes(&state, &op);
                if outcomes.is_empty() {
                    Phase::Called(op)
                } else {
                    let (result, after) =
                        outcomes[random.below(outcomes.len() as u64) as usize].clone();
                    state = after;
                    answers.push(result.clone());
                    Phase::Done(spoiled(object, &op, result, wrong, &answers, random))
                }
            }
            Phase::Done(result) => {
                builder.returns(process, result, at).unwrap();
                Phase::Idle
            }
        };
    }
    let history = builder.finish();
    let decode = |o: &Operation<Call, Value>| -> Result<(Op, Option<Value>), ()> {
        let number = o.op.args.as_slice()[0].as_int().unwrap() as usize;
        Ok((methods[number].1.clone(), o.result.clone()))
    };
    history.map(decode).unwrap()
}

fn some_op(object: Object, fresh: i64, random: &mut Rng) -> Op {
    let value = Value::Int(fresh);
    let (method, argument) = match object {
        Object::Set => {
            let key = Value::Int(random.below(2) as i64);
            ([Method::Add, Method::Remove, Method::Contains][random.below(3) as usize], key)
        }
        Object::Register if random.below(20) < 9 => (Method::Write, value),
        Object::Register => (Method::Read, Value::Nil),
        Object::Lock | Object::Semaphore(_) if random.below(20) < 11 => (Method::Acquire, value),
        Object::Lock | Object::Semaphore(_) => (Method::Release, Value::Nil),
        Object::PriorityQueue { .. } if random.below(20) < 11 => {
            // Distinct and not in order.
            (Method::Add, Value::Int(fresh * 7 % 31))
        }
        Object::Queue | Object::Stack if random.below(20) < 11 => (Method::Add, value),
        _ => (Method::Remove, Value::Nil),
    };
    Op { method, argument }
}

/// The result, or one that the object gave to another caller.
fn spoiled(
    object: Object,
    op: &Op,
    result: Value,
    percent: u64,
    answers: &[Value],
    random: &mut Rng,
) -> Value {
    let answers_something = match op.method {
        Method::Remove | Method::Read | Method::Release | Method::Contains => true,
        Method::Add => object == Object::Set,
        _ => false,
    };
    if !answers_something || random.below(100) >= percent {
        return result;
    }
    match object {
        Object::Set if op.method != Method::Contains && random.below(4) == 0 => Value::Nil,
        Object::Set => Value::Bool(random.below(2) == 0),
        Object::Lock | Object::Semaphore(_) => {
            Value::Int(1 + random.below(answers.len() as u64 * 2) as i64)
        }
        _ => match random.below(3) {
            0 => Value::Nil,
            1 => Value::Int(1 + random.below(6) as i64),
            _ => answers[random.below(answers.len() as u64) as usize].clone(),
        },
    }
}
