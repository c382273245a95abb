//! Small random histories of any built-in specification: about half of them linearizable, with
//! pending operations, repeated values and everything else that a type allows.

use trueline::History;
use trueline::Value;
use trueline::history::{Builder, Call, Position};
use trueline::rng::Rng;
use trueline::spec::Builtin;

fn pick<'a, T>(random: &mut Rng, items: &'a [T]) -> Option<&'a T> {
    items.get(random.index(items.len()))
}

/// What the histories look like.
#[derive(Clone, Copy)]
pub struct Shape {
    pub operations: u64,
    pub processes: u64,
    /// Per cent of results that are replaced by another result that the type knows.
    pub wrong: u64,
    /// Per cent of operations whose outcome stays unknown.
    pub unknown: u64,
    /// Values are drawn from this many, or never repeat where it is 0.
    pub values: u64,
}

impl Shape {
    /// A random shape for histories of two to this many operations.
    pub fn up_to(most: u64, random: &mut Rng) -> Shape {
        Shape {
            operations: 2 + random.below(most - 1),
            processes: 2 + random.below(3),
            wrong: [10, 40, 80][random.below(3) as usize],
            unknown: [0, 0, 20][random.below(3) as usize],
            values: [0, 2, 4][random.below(3) as usize],
        }
    }
}

enum Phase<B: Builtin> {
    Idle,
    Called(B::Op),
    Done(B::Op, Value),
}

/// Simulates processes that call, take effect on one sequential object and return; then spoils some
/// results.
pub fn random_history<B: Builtin>(spec: &B, shape: Shape, random: &mut Rng) -> History {
    // Types with keys draw them from eight; a small history needs fewer to be interesting.
    let choose = |state: &B::State, value: i64, random: &mut Rng| {
        let few = random.percent(70);
        spec.sample(state, &mut |n| random.below(if few && n == 8 { 2 } else { n }), value)
    };
    random_history_of(spec, shape, random, choose)
}

/// The same with operations that `choose` chooses: it sees the state and a value.
pub fn random_history_of<B: Builtin>(
    spec: &B,
    shape: Shape,
    random: &mut Rng,
    choose: impl Fn(&B::State, i64, &mut Rng) -> B::Op,
) -> History {
    let mut builder = Builder::new();
    let part = builder.part(Default::default());
    let at = Position::default();
    let mut phases: Vec<Phase<B>> = (0..shape.processes).map(|_| Phase::Idle).collect();
    let mut state = spec.initial();
    let mut states = vec![state.clone()];
    let mut called = 0;
    let mut fresh = 100;
    for _ in 0..shape.operations * 8 {
        let p = random.below(shape.processes) as usize;
        let process = builder.process(&Value::Int(p as i64));
        phases[p] = match std::mem::replace(&mut phases[p], Phase::Idle) {
            Phase::Idle if called < shape.operations => {
                called += 1;
                fresh += 1;
                let value =
                    if shape.values == 0 { fresh } else { random.below(shape.values) as i64 };
                let op = choose(&state, value, random);
                let (method, args) = spec.encode(&op);
                let method = builder.method(method);
                let call = Call { method, args: args.into() };
                builder.call(process, part, call, at).expect("processes alternate");
                Phase::Called(op)
            }
            Phase::Idle => Phase::Idle,
            Phase::Called(_) if random.percent(shape.unknown) => {
                builder.unknown(process, at).expect("processes alternate");
                Phase::Idle
            }
            Phase::Called(op) => {
                let results = spec.results(&state, &op);
                match pick(random, &results) {
                    None => Phase::Called(op),
                    Some(result) => {
                        let mut next = Vec::new();
                        spec.step(&state, &op, Some(result), &mut next);
                        if let Some(after) = pick(random, &next) {
                            state = after.clone();
                            states.push(state.clone());
                        }
                        Phase::Done(op, result.clone())
                    }
                }
            }
            Phase::Done(..) if random.percent(shape.unknown) => {
                builder.unknown(process, at).expect("processes alternate");
                Phase::Idle
            }
            Phase::Done(op, mut result) => {
                if random.percent(shape.wrong) {
                    // What the operation would have returned at another time.
                    let then = pick(random, &states).unwrap_or(&state);
                    result = pick(random, &spec.results(then, &op)).cloned().unwrap_or(result);
                    if random.percent(30) {
                        result = spoiled(result, random);
                    }
                }
                builder.returns(process, result, at).expect("processes alternate");
                Phase::Idle
            }
        };
    }
    builder.finish()
}

/// A list or a text that lacks something, has it twice, shows what was never there, or has its
/// neighbours changed. Other results stay as they are.
fn spoiled(result: Value, random: &mut Rng) -> Value {
    let mut items: Vec<Value> = match &result {
        Value::List(items) => items.to_vec(),
        Value::Text(text) => text.split_inclusive(';').map(Value::text).collect(),
        _ => return result,
    };
    let at = random.index(items.len().max(1));
    let behind = (at + 1) % items.len().max(1);
    match random.below(4) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 if !items.is_empty() => items.insert(at, items[at].clone()),
        2 if items.len() > 1 => items.swap(at, behind),
        _ => items.push(Value::Int(77)),
    }
    match result {
        Value::Text(_) => {
            let texts = items.iter().map(|item| match item.as_text() {
                Some(text) => text.to_string(),
                None => item.to_string(),
            });
            Value::text(texts.collect::<String>())
        }
        _ => Value::list(items),
    }
}
