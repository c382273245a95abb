//! The promises: budgets are honoured, answers do not depend on threads, claims are tested before
//! they are trusted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trueline::budget::{Exhausted, Meter};
use trueline::formats::ReadOptions;
use trueline::generate::Plan;
use trueline::history::{Builder, Call, Position};
use trueline::spec::{self, Action, Canonical, Kind};
use trueline::verdict::Reason;
use trueline::{Algorithm, Budget, Check, History, Sequential, Value, Verdict};

/// A clock that moves by a millisecond whenever it is asked, and a memory that grows by a megabyte.
#[derive(Default, Clone)]
struct Counting {
    asked: Arc<AtomicU64>,
}

impl Meter for Counting {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.asked.fetch_add(1, Ordering::Relaxed))
    }

    fn resident(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed) * 1_000_000
    }
}

/// Repeated values and many processes: no search ends soon on this.
fn hard_queue() -> History {
    let plan = Plan {
        operations: 3_000,
        processes: 24,
        seed: 3,
        unique: false,
        overlap: 1.0,
        ..Plan::default()
    };
    spec::named("queue").unwrap().generate(&plan).unwrap()
}

#[track_caller]
fn stops(algorithm: Algorithm, budget: Budget) -> Exhausted {
    let outcome = spec::named("queue").unwrap().check(&hard_queue(), algorithm, &budget).unwrap();
    match outcome.verdict {
        Verdict::Unknown(unknown) => match unknown.reason {
            Reason::Exhausted(why) => why,
            other => panic!("{other:?}"),
        },
        other => panic!("{algorithm} decided: {}", other.name()),
    }
}

const SEARCHES: [Algorithm; 6] = [
    Algorithm::Auto,
    Algorithm::Search,
    Algorithm::DepthFirst,
    Algorithm::JustInTime,
    Algorithm::Wgl,
    Algorithm::WingGong,
];

#[test]
fn every_search_stops_when_its_time_is_spent() {
    for algorithm in SEARCHES {
        let meter = Counting::default();
        let budget = Budget::unlimited().time(Duration::from_millis(50)).meter(meter.clone());
        assert_eq!(stops(algorithm, budget), Exhausted::Time(Duration::from_millis(50)));
        // It asks the clock often, and stops at once: a few more looks are allowed to those who
        // clean up.
        let asked = meter.asked.load(Ordering::Relaxed);
        assert!(asked < 60, "{algorithm} asked {asked} times");
    }
}

#[test]
fn every_search_stops_when_its_memory_is_spent() {
    for algorithm in SEARCHES {
        let budget = Budget::unlimited().memory(30_000_000).meter(Counting::default());
        assert_eq!(stops(algorithm, budget), Exhausted::Memory(30_000_000));
    }
}

#[test]
fn the_tables_of_a_search_count_as_memory() {
    for algorithm in [Algorithm::DepthFirst, Algorithm::JustInTime, Algorithm::Wgl] {
        let budget = Budget::unlimited().memory(2_000_000);
        assert_eq!(stops(algorithm, budget), Exhausted::Memory(2_000_000), "{algorithm}");
    }
}

#[test]
fn every_search_stops_when_its_steps_are_spent_or_it_is_cancelled() {
    for algorithm in SEARCHES {
        assert_eq!(stops(algorithm, Budget::unlimited().steps(5_000)), Exhausted::Steps(5_000));
        let cancelled = Budget::unlimited();
        cancelled.cancel();
        assert_eq!(stops(algorithm, cancelled), Exhausted::Cancelled);
    }
}

/// Many keys, several of them violations: which one is reported must not depend on who finishes
/// first.
#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let plan = Plan {
        operations: 2_000,
        processes: 6,
        seed: 5,
        unique: false,
        violation: Some(0.3),
        ..Plan::default()
    };
    for name in ["map", "kv", "set"] {
        let named = spec::named(name).unwrap();
        let history = named.generate(&plan).unwrap();
        let answer = |threads: usize, algorithm| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let check = || named.check(&history, algorithm, &Budget::unlimited()).unwrap();
            let outcome = pool.install(check);
            (outcome.verdict, outcome.algorithm, outcome.states)
        };
        for algorithm in [Algorithm::Auto, Algorithm::Search] {
            let one = answer(1, algorithm);
            for _ in 0..5 {
                assert_eq!(answer(4, algorithm).0, one.0, "{name} {algorithm}");
            }
        }
    }
}

/// A queue, or a stack that says it is a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pile {
    items: VecDeque<i64>,
    is_stack: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Op {
    Put(i64),
    Take,
}

impl Sequential for Pile {
    type Op = Op;
    type Ret = Option<i64>;

    fn apply(&mut self, op: &Op) -> Option<i64> {
        match op {
            Op::Put(v) => {
                self.items.push_back(*v);
                None
            }
            Op::Take if self.is_stack => self.items.pop_back(),
            Op::Take => self.items.pop_front(),
        }
    }

    fn canonical(&self) -> Option<Canonical<Op, Option<i64>>> {
        Some(Canonical::new(Kind::Queue, |op, ret| {
            Some(match (op, ret) {
                (Op::Put(v), _) => Action::Insert(Value::Int(*v)),
                (Op::Take, Some(Some(v))) => Action::Remove(Value::Int(*v)),
                (Op::Take, Some(None)) => Action::FoundEmpty,
                (Op::Take, None) => Action::RemoveUnknown,
            })
        }))
    }
}

fn decoded(history: &History) -> History<Op, Option<i64>> {
    let decode = |method: &str, args: &[Value], result: Option<&Value>| {
        Ok(match method {
            "enq" | "push" => (Op::Put(args[0].as_int().unwrap()), result.map(|_| None)),
            _ => (Op::Take, result.map(Value::as_int)),
        })
    };
    history.decode(decode).unwrap()
}

#[test]
fn a_users_queue_is_decided_by_the_monitor() {
    let pile = Pile { items: VecDeque::new(), is_stack: false };
    let plan = Plan { operations: 20_000, processes: 8, seed: 1, ..Plan::default() };
    let history = decoded(&spec::named("queue").unwrap().generate(&plan).unwrap());
    let outcome = Check::new(pile.clone()).run(&history);
    assert!(outcome.verdict.is_linearizable(), "{:?}", outcome.verdict);
    assert_eq!(outcome.algorithm, "queue-monitor", "{}", outcome.because);
    let plan = Plan { violation: Some(0.9), ..plan };
    let history = decoded(&spec::named("queue").unwrap().generate(&plan).unwrap());
    let outcome = Check::new(pile).run(&history);
    assert!(outcome.verdict.is_violation());
    assert_eq!(outcome.algorithm, "queue-monitor", "{}", outcome.because);
}

#[test]
fn a_false_claim_is_not_trusted() {
    let pile = Pile { items: VecDeque::new(), is_stack: true };
    let plan = Plan { operations: 30, processes: 2, seed: 1, ..Plan::default() };
    let history = decoded(&spec::named("stack").unwrap().generate(&plan).unwrap());
    let outcome = Check::new(pile).run(&history);
    assert!(outcome.verdict.is_linearizable(), "{:?}", outcome.verdict);
    assert!(
        outcome
            .because
            .starts_with("not a queue: the specification and the queue model disagree on Put("),
        "{}",
        outcome.because
    );
    assert_eq!(outcome.algorithm, "depth-first");
}

/// The first violating part is the one that the sentence is about, with its own operations.
#[test]
fn a_violation_in_one_of_several_objects_names_its_operations() {
    let mut builder = Builder::new();
    let at = Position::default();
    let (read, write) = (builder.method("read"), builder.method("write"));
    for (process, object) in [(0, "good"), (1, "bad")] {
        let part = builder
            .part(trueline::history::Part { object: Value::text(object), ..Default::default() });
        let process = builder.process(&Value::Int(process));
        let args = vec![Value::Int(1)].into();
        builder.call(process, part, Call { method: write, args }, at).unwrap();
        builder.returns(process, Value::Nil, at).unwrap();
        builder.call(process, part, Call { method: read, args: Default::default() }, at).unwrap();
        let seen = if object == "good" { 1 } else { 2 };
        builder.returns(process, Value::Int(seen), at).unwrap();
    }
    let history = builder.finish();
    let named = spec::named("register").unwrap();
    let outcome = named.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
    let Verdict::Violation(explanation) = outcome.verdict else { panic!() };
    assert_eq!(outcome.partitions, 2);
    assert_eq!(explanation.operations, [3]);
    assert_eq!(
        explanation.sentence,
        "`read() -> 2` is impossible: 2 was never written; the register holds nil initially"
    );
}

/// Long histories are not decoded into a second copy; the answer is that of the decoded one.
#[test]
fn long_histories_are_decided_alike_without_decoding() {
    fn compare<B: spec::Builtin>(name: &str, spec: B, plan: &Plan) {
        let named = spec::named(name).unwrap();
        let history = named.generate(plan).unwrap();
        let direct = named.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
        let decoded = history.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
        let usual = Check::new(spec).run(&decoded);
        assert!(direct.algorithm.ends_with("monitor"), "{name}: {}", direct.because);
        assert_eq!(direct.algorithm, usual.algorithm, "{name}: {}", usual.because);
        assert_eq!(direct.verdict.name(), usual.verdict.name(), "{name}");
        assert_eq!(direct.verdict.is_violation(), plan.violation.is_some(), "{name}");
        if let (Verdict::Violation(a), Verdict::Violation(b)) = (&direct.verdict, &usual.verdict) {
            assert!(a.rechecked && !a.operations.is_empty(), "{name}: {a:?}");
            assert_eq!((&a.operations, &a.sentence), (&b.operations, &b.sentence), "{name}");
        }
    }
    let plan = Plan { operations: 30_000, processes: 6, seed: 2, ..Plan::default() };
    for plan in [
        plan.clone(),
        Plan { violation: Some(0.9), ..plan.clone() },
        Plan { pending: 0.001, ..plan.clone() },
    ] {
        compare("register", spec::register(Value::Nil), &plan);
        compare("queue", spec::queue(), &plan);
        compare("stack", spec::stack(), &plan);
        compare("priority-queue", spec::priority_queue(), &plan);
        compare("priority-queue:order=min", spec::priority_queue().smallest_first(), &plan);
        compare("set", spec::set(), &plan);
        compare("mutex", spec::mutex(), &plan);
    }
}

/// Once, looking ahead dropped every state that a late start could have had: the story was empty,
/// and an empty story counts as a violation and as confirmed.
#[test]
fn a_story_has_operations_and_states_to_start_in() {
    for name in ["cas-register", "mutex", "log", "bounded-priority-queue:capacity=3"] {
        let named = spec::named(name).unwrap();
        for seed in 0..60 {
            let plan = Plan {
                operations: 60,
                seed,
                violation: Some(0.5),
                pending: 0.05,
                unique: false,
                ..Plan::default()
            };
            let Ok(history) = named.generate(&plan) else { continue };
            let outcome = named.check(&history, Algorithm::Search, &Budget::unlimited()).unwrap();
            let Verdict::Violation(e) = outcome.verdict else { panic!("{name} {seed}") };
            assert!(!e.operations.is_empty(), "{name} {seed}: {e:?}");
            assert!(e.start.as_ref().is_none_or(|s| !s.states.is_empty()), "{name} {seed}: {e:?}");
            assert!(e.clash.iter().all(|c| e.operations.contains(c)), "{name} {seed}: {e:?}");
        }
    }
}

/// What was called after the first return that cannot be explained is not needed to explain that.
#[test]
fn calls_after_the_first_bad_return_are_not_shown() {
    let owner = [vec![(0, "release", "true")], pairs(("acquire", "null"), ("release", "true"))];
    let semaphore = [
        vec![(0, "acquire", "false"), (0, "release", "false")],
        pairs(("acquire", "true"), ("release", "true")),
    ];
    for (name, calls) in [("owner-mutex", owner.concat()), ("semaphore:init=2", semaphore.concat())]
    {
        let mut text = String::new();
        for (process, call, result) in calls {
            text += &format!("{{\"process\":{process},\"call\":\"{call}\"}}\n");
            text += &format!("{{\"process\":{process},\"return\":{result}}}\n");
        }
        let (history, _) =
            trueline::formats::read(text.as_bytes(), &ReadOptions::default()).unwrap();
        let named = spec::named(name).unwrap();
        let outcome = named.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
        let Verdict::Violation(e) = outcome.verdict else { panic!("{name}: {outcome:?}") };
        assert!(e.minimal && e.operations == [0], "{name}: {:?}: {}", e.operations, e.sentence);
    }
}

/// Six times the one and then the other, by process 1.
fn pairs(
    one: (&'static str, &'static str),
    other: (&'static str, &'static str),
) -> Vec<(u32, &'static str, &'static str)> {
    (0..6).flat_map(|_| [(1, one.0, one.1), (1, other.0, other.1)]).collect()
}
