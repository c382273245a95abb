//! What a built-in specification allows the operations of a model to return is what `check` allows
//! in a history: random operations with random result types, one after the other, are asked of
//! both.

use trueline::formats::{self, Keys, ReadOptions};
use trueline::rng::{self, Rng};
use trueline::spec::{self, Named};
use trueline::{Algorithm, Budget, Verdict};
use trueline_model::program::Program;
use trueline_model::{Model, Semantics};

/// A specification as models and as histories name it, and its methods with the number of their
/// arguments.
struct Object {
    model: &'static str,
    history: &'static str,
    methods: &'static [(&'static str, usize)],
}

const fn object(
    model: &'static str,
    history: &'static str,
    methods: &'static [(&'static str, usize)],
) -> Object {
    Object { model, history, methods }
}

#[rustfmt::skip]
const OBJECTS: &[Object] = &[
    object("queue", "queue", &[("enq", 1), ("deq", 0), ("peek", 0)]),
    object("bounded-queue(capacity: 1)", "bounded-queue:capacity=1", &[("enq", 1), ("deq", 0)]),
    object("stack", "stack", &[("push", 1), ("pop", 0)]),
    object("deque", "deque", &[("push_front", 1), ("push_back", 1), ("pop_front", 0), ("pop_back", 0)]),
    object("set", "set", &[("add", 1), ("remove", 1), ("contains", 1)]),
    object("multiset", "multiset", &[("add", 1), ("remove", 1)]),
    object("map", "map", &[("put", 2), ("get", 1), ("remove", 1)]),
    object("priority-queue", "priority-queue", &[("insert", 1), ("poll", 0)]),
    object("register(init: 1)", "register:init=1", &[("write", 1), ("read", 0)]),
    object("cas-register(init: 1)", "cas-register:init=1", &[("write", 1), ("read", 0), ("cas", 2)]),
    object("counter(init: 1)", "counter:init=1", &[
        ("fetch_add", 1), ("fetch_inc", 0), ("inc_and_get", 0), ("add_and_get", 1), ("inc", 0), ("read", 0),
    ]),
    object("semaphore(init: 1)", "semaphore:init=1", &[("acquire", 0), ("release", 0)]),
    object("log", "log", &[("append", 1)]),
    object("snzi(init: 1)", "snzi:init=1", &[("arrive", 0), ("depart", 0), ("query", 0)]),
    object("semiqueue(k: 2)", "semiqueue:k=2", &[("enq", 1), ("deq", 0)]),
    object("stuttering-queue(j: 1)", "stuttering-queue:j=1", &[("enq", 1), ("deq", 0)]),
];

/// A result type as models write it, and its values: the word that stands for each, and how JSON
/// writes it.
type ResultType = (&'static str, &'static [(i32, &'static str)]);

#[rustfmt::skip]
const RESULTS: &[ResultType] = &[
    ("", &[]),
    ("-> bool", &[(0, "false"), (1, "true")]),
    ("-> bool?", &[(-1, "null"), (0, "false"), (1, "true")]),
    ("-> 0..2", &[(0, "0"), (1, "1"), (2, "2")]),
    ("-> 0..2?", &[(-1, "null"), (0, "0"), (1, "1"), (2, "2")]),
    ("-> 1..9", &[(1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "6"), (7, "7"), (8, "8"), (9, "9")]),
];

fn source(object: &Object, results: &[&ResultType]) -> String {
    let mut text = String::from("object O\nshared X: 0..1\n");
    for ((method, count), (ty, values)) in object.methods.iter().zip(results) {
        let args: Vec<String> =
            ["a: 0..2", "b: 0..2"][..*count].iter().map(|a| a.to_string()).collect();
        let value = match values.last() {
            None => "X = 1".to_string(),
            Some((_, value)) => format!("return {value}"),
        };
        text += &format!("op {method}({}) {ty} {{ {value} }}\n", args.join(", "));
    }
    text + &format!("spec {}\nclient {{ procs 1; ops 1 }}\n", object.model)
}

/// Whether `check` explains these calls, made one after the other; false, too, where it refuses to
/// read one.
fn is_linearizable(spec: &Named, calls: &[(&str, Vec<i32>, &str)]) -> bool {
    let mut text = String::new();
    for (method, args, result) in calls {
        text += &format!("{{\"process\":0,\"call\":\"{method}\",\"args\":{args:?}}}\n");
        text += &format!("{{\"process\":0,\"return\":{result}}}\n");
    }
    let keys = if spec.takes_keys() { Keys::Arguments } else { Keys::No };
    let (history, _) = formats::read(text.as_bytes(), &ReadOptions { format: None, keys }).unwrap();
    match spec.check(&history, Algorithm::Auto, &Budget::unlimited()) {
        Ok(outcome) => matches!(outcome.verdict, Verdict::Linearizable(_)),
        Err(_) => false,
    }
}

/// The states that the specification of the program may be in after this call with this result.
fn after(
    program: &Program,
    from: &[Box<[i32]>],
    op: usize,
    args: &[i32],
    words: &[i32],
) -> Vec<Box<[i32]>> {
    let mut states = Vec::new();
    for state in from {
        let mut out = Vec::new();
        program.spec.step(state, 0, op, args, &mut out);
        states.extend(out.into_iter().filter(|(w, _)| **w == *words).map(|(_, state)| state));
    }
    states.sort();
    states.dedup();
    states
}

#[test]
fn a_model_may_return_what_a_history_may_tell() {
    let seeds = rng::seeds(3_000);
    let cases = seeds.cases();
    let (mut compared, mut legal, mut refused) = (0, 0, 0);
    for seed in seeds {
        let mut dice = Rng::new(seed);
        let object = &OBJECTS[dice.index(OBJECTS.len())];
        let results: Vec<&ResultType> =
            object.methods.iter().map(|_| &RESULTS[dice.index(RESULTS.len())]).collect();
        let text = source(object, &results);
        let spec = spec::named(object.history).unwrap();
        let compiled =
            Model::parse(&text).and_then(|model| model.compile(Semantics::Default, false));
        let program = match compiled {
            Ok(program) => program,
            Err(error) => {
                let message = error.message().to_string();
                let known = message.contains("for the specification")
                    || message.contains("does not say which total");
                assert!(known, "seed {seed}: {}", error.render("model.tl", &text));
                refused += 1;
                continue;
            }
        };
        let mut states = program.spec.initial();
        let mut calls: Vec<(&str, Vec<i32>, &str)> = Vec::new();
        for _ in 0..5 {
            let op = dice.index(object.methods.len());
            let (method, count) = object.methods[op];
            let args: Vec<i32> = (0..count).map(|_| dice.below(3) as i32).collect();
            // A result that is legal, where one of a few tries finds it: so the object comes to
            // hold something.
            let (mut words, mut told) = (vec![], "null");
            for _ in 0..3 {
                if !results[op].1.is_empty() {
                    let (word, text) = results[op].1[dice.index(results[op].1.len())];
                    (words, told) = (vec![word], text);
                }
                if !after(&program, &states, op, &args, &words).is_empty() {
                    break;
                }
            }
            let next = after(&program, &states, op, &args, &words);
            calls.push((method, args, told));
            let expected = is_linearizable(&spec, &calls);
            assert_eq!(!next.is_empty(), expected, "seed {seed}: {calls:?}\n{text}");
            compared += 1;
            if next.is_empty() {
                break;
            }
            legal += 1;
            states = next;
        }
    }
    println!("{compared} calls compared, {legal} of them legal; {refused} models refused");
    assert!(legal * 4 > compared && legal > cases / 4, "{legal} of {compared} are legal");
}
