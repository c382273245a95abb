//! Compares streams with whole histories: at the end the verdicts are the same, and no violation is
//! reported too early.
//!
//! Histories come from the generator, linearizable, and are then damaged at random: results are
//! exchanged, events are moved, returns are lost. They are small, so in tests the thresholds of
//! forgetting are small, too.

mod objects;
mod searched;

use super::monitor::{Monitor, Stopped};
use crate::check::{Algorithm, Check};
use crate::generate::{Plan, generate};
use crate::history::{Event, History, Operation, PENDING, Part, Position};
use crate::rng::{Rng, seeds};
use crate::spec::{self, Builtin, Kind};
use crate::value::Value;
use crate::verdict::Verdict;

/// An operation without times, and whether it fails: is known not to have happened.
type Done<Op> = (u32, Op, Option<Value>);

/// A history as events: (operation, kind of event).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Call,
    Return,
    Unknown,
}

struct Case<Op> {
    done: Vec<Done<Op>>,
    events: Vec<(usize, What)>,
}

impl<Op: Clone + Eq + std::fmt::Debug + Send + Sync + std::hash::Hash + 'static> Case<Op> {
    fn random<B: Builtin<Op = Op>>(spec: &B, rng: &mut Rng, long: bool) -> Option<Case<Op>> {
        // Keys of a set and holders of a lock may repeat; inserted values must not.
        let canonical = spec.canonical()?;
        let kind = canonical.kind;
        // A few are long, so that much is forgotten.
        let longest = if long && rng.below(50) == 0 { 120 } else { 16 };
        let plan = Plan {
            operations: 2 + rng.below(longest) as usize,
            processes: 1 + rng.below(4) as usize,
            seed: rng.number(),
            pending: [0.0, 0.0, 0.1, 0.3][rng.below(4) as usize],
            empties: rng.below(4) > 0,
            unique: kind != Kind::Set,
            overlap: [0.3, 0.7, 1.0][rng.below(3) as usize],
            ..Plan::default()
        };
        let history = generate(spec, &plan, None).ok()?;
        let history = history.decode(|m, args, ret| spec.decode(m, args, ret)).ok()?;
        let mut events: Vec<(u32, usize, What)> = Vec::new();
        let mut done = Vec::new();
        for o in history.operations() {
            // Operations without an action for the monitor are left out.
            if o.result.is_some() && (canonical.action)(&o.op, o.result.as_ref()).is_none() {
                continue;
            }
            let i = done.len();
            events.push((o.call, i, What::Call));
            if o.returned != PENDING {
                events.push((o.returned, i, What::Return));
            }
            done.push((o.process, o.op.clone(), o.result.clone()));
        }
        if done.is_empty() {
            return None;
        }
        events.sort_unstable_by_key(|e| e.0);
        let mut case = Case { done, events: events.into_iter().map(|e| (e.1, e.2)).collect() };
        for _ in 0..rng.below(8) {
            case.damage(rng);
        }
        // Operations without a return are pending from the start, or reported as unknown later.
        for i in 0..case.done.len() {
            if !case.events.contains(&(i, What::Return)) {
                case.done[i].2 = None;
                let call = case.events.iter().position(|e| *e == (i, What::Call))?;
                if rng.below(2) == 0 {
                    let later = case.events.len() - call;
                    let at = call + 1 + rng.below(later as u64) as usize;
                    case.events.insert(at, (i, What::Unknown));
                }
            }
        }
        Some(case)
    }

    fn damage(&mut self, rng: &mut Rng) {
        let any = |rng: &mut Rng, n: usize| rng.below(n as u64) as usize;
        match rng.below(4) {
            0 => {
                let a = any(rng, self.done.len());
                if let Some(Value::Bool(told)) = self.done[a].2 {
                    self.done[a].2 = Some(Value::Bool(!told));
                    return;
                }
                let (a, b) = (any(rng, self.done.len()), any(rng, self.done.len()));
                if self.done[a].1 == self.done[b].1 {
                    let result = self.done[a].2.clone();
                    self.done[a].2 = std::mem::replace(&mut self.done[b].2, result);
                }
            }
            1 | 2 => {
                for _ in 0..1 + rng.below(16) {
                    if self.events.len() > 1 {
                        let at = any(rng, self.events.len() - 1);
                        if self.events[at].0 != self.events[at + 1].0 {
                            self.events.swap(at, at + 1);
                        }
                    }
                }
            }
            _ => {
                let at = any(rng, self.events.len());
                if self.events[at].1 == What::Return && rng.below(3) == 0 {
                    self.events.remove(at);
                }
            }
        }
        // An operation of unknown outcome has no result.
        let done = &self.done;
        self.events.retain(|&(i, what)| what != What::Return || done[i].2.is_some());
    }

    /// The first this many events as a history. Each operation has its own process: only times
    /// matter.
    fn history(&self, events: usize) -> History<Op, Value> {
        let mut operations: Vec<Operation<Op, Value>> = Vec::new();
        let mut place = vec![0; self.done.len()];
        let mut rank = 0;
        for &(i, what) in &self.events[..events] {
            match what {
                What::Call => {
                    place[i] = operations.len();
                    operations.push(Operation {
                        process: i as u32,
                        call: rank,
                        returned: PENDING,
                        part: 0,
                        line: 0,
                        column: 0,
                        op: self.done[i].1.clone(),
                        result: None,
                    });
                }
                What::Return => {
                    operations[place[i]].returned = rank;
                    operations[place[i]].result = self.done[i].2.clone();
                }
                What::Unknown => continue,
            }
            rank += 1;
        }
        let processes = (0..self.done.len() as i64).map(Value::Int).collect();
        History::assemble(operations, processes, Vec::new(), vec![Part::default()])
    }

    /// The stream's verdict, and the number of events after which it is reported.
    fn stream<B: Builtin<Op = Op>>(&self, spec: &B) -> (usize, Option<Stopped<Op, Value>>) {
        let mut monitor = Monitor::new(spec.clone()).unwrap();
        let object = monitor.object(Part::default()).unwrap();
        for i in 0..self.done.len() {
            monitor.process(Value::Int(i as i64));
        }
        for (n, &(i, what)) in self.events.iter().enumerate() {
            let event = match what {
                What::Call => Event::Call(object, self.done[i].1.clone()),
                What::Return => Event::Return(self.done[i].2.clone().unwrap()),
                What::Unknown => Event::Unknown,
            };
            if let Err(stopped) = monitor.event(i as u32, event, Position::default()) {
                return (n + 1, Some(stopped));
            }
        }
        (self.events.len(), monitor.finish().err())
    }

    fn show<B: Builtin<Op = Op>>(&self, spec: &B) -> String {
        let shown = self.events.iter().map(|&(i, what)| match what {
            What::Call => format!("{i} calls {}", spec.show(&self.done[i].1, None)),
            What::Return => {
                format!("{i} returns {}", spec.show(&self.done[i].1, self.done[i].2.as_ref()))
            }
            What::Unknown => format!("{i} unknown"),
        });
        shown.collect::<Vec<_>>().join("\n")
    }
}

/// `prompt`: a violation is found at the first return that makes it one.
fn compare<B: Builtin>(name: &str, spec: &B, seed: u64, prompt: bool)
where
    B::Op: std::fmt::Debug,
{
    let (mut fine, mut violations, mut unknown, mut unchecked) = (0, 0, 0, 0);
    let seeds = seeds(1500);
    let total = seeds.cases();
    for number in seeds {
        let mut rng = Rng::new(number ^ seed << 56);
        let Some(case) = Case::random(spec, &mut rng, true) else { continue };
        let offline =
            |events| Check::new(spec.clone()).algorithm(Algorithm::Auto).run(&case.history(events));
        let whole = offline(case.events.len()).verdict;
        let told = || format!("{name}, case {number}:\n{}", case.show(spec));
        match case.stream(spec) {
            (_, None) => {
                assert!(whole.is_linearizable(), "missed: {}\n{whole:?}", told());
                fine += 1;
            }
            (events, Some(Stopped::Violation(violation))) => {
                let prefix = offline(events).verdict;
                assert!(prefix.is_violation(), "too early, after {events}: {}", told());
                if prompt {
                    let before = offline(events - 1).verdict;
                    assert!(before.is_linearizable(), "too late, after {events}: {}", told());
                }
                violations += 1;
                match &violation.outcome.verdict {
                    Verdict::Violation(explanation) => {
                        unchecked += u64::from(!explanation.rechecked)
                    }
                    other => panic!("{other:?} explains {}", told()),
                }
            }
            (_, Some(Stopped::Unknown(_))) => unknown += 1,
            (_, Some(Stopped::Input(error))) => panic!("{error:?}: {}", told()),
        }
    }
    println!(
        "{name}: {fine} fine, {violations} violations ({unchecked} not rechecked), {unknown} unknown"
    );
    assert!(fine > total / 10 && violations > total / 20, "{name}: {fine} {violations}");
    assert!(unknown < total / 20, "{name}: {unknown} unknown");
    assert!(unchecked < violations / 20, "{name}: {unchecked} of {violations} not rechecked");
}

#[test]
fn queue() {
    compare("queue", &spec::queue(), 1, false);
}

#[test]
fn queue_that_is_not_empty_at_first() {
    let init = [Value::Int(100), Value::Int(101)];
    compare_verdicts("queue", &spec::queue().with_init(init.to_vec()), 2);
}

#[test]
fn stack() {
    compare("stack", &spec::stack(), 3, false);
}

#[test]
fn stack_that_is_not_empty_at_first() {
    let init = [Value::Int(100), Value::Int(101)];
    compare_verdicts("stack", &spec::stack().with_init(init.to_vec()), 4);
}

#[test]
fn priority_queue() {
    compare("priority queue", &spec::priority_queue(), 5, false);
    compare("smallest first", &spec::priority_queue().smallest_first(), 6, false);
}

#[test]
fn register() {
    compare("register", &spec::register(Value::Nil), 7, true);
}

#[test]
fn set() {
    compare("set", &spec::set(), 8, true);
}

#[test]
fn mutex() {
    compare("mutex", &spec::mutex(), 9, true);
}

/// Each key is a register: keys are distinguished.
#[test]
fn map() {
    compare_verdicts("map", &spec::map(), 10);
    compare_verdicts("kv", &spec::kv(), 11);
}

/// As [`compare`], if explanations cannot be checked again.
fn compare_verdicts<B: Builtin>(name: &str, spec: &B, seed: u64) {
    let mut violations = 0;
    for number in seeds(600) {
        let mut rng = Rng::new(number ^ seed << 56);
        let Some(case) = Case::random(spec, &mut rng, false) else { continue };
        let offline = |events| Check::new(spec.clone()).run(&case.history(events)).verdict;
        let told = || format!("{name}, case {number}:\n{}", case.show(spec));
        match case.stream(spec) {
            (_, None) => {
                assert!(offline(case.events.len()).is_linearizable(), "missed: {}", told())
            }
            (events, Some(Stopped::Violation(_))) => {
                assert!(offline(events).is_violation(), "too early, after {events}: {}", told());
                violations += 1;
            }
            (_, Some(_)) => {}
        }
    }
    assert!(violations > 10, "{name}: {violations}");
}

/// A key came to rest, a lookup of it was called, it changed and came to rest again, and was
/// forgotten as of the first time.
#[test]
fn a_key_that_rests_again_behind_the_call_of_a_lookup() {
    use spec::SetOp::{Add, Contains, Remove};
    let mut monitor = Monitor::new(spec::set()).unwrap();
    let object = monitor.object(Part::default()).unwrap();
    for process in 0..3 {
        monitor.process(Value::Int(process));
    }
    let (k, other) = (Value::Int(1), Value::Int(2));
    let yes = || Event::Return(Value::Bool(true));
    let events = [
        (2, Event::Call(object, Contains(other.clone()))),
        (0, Event::Call(object, Add(k.clone()))),
        (0, yes()),
        (0, Event::Call(object, Remove(k.clone()))),
        (0, yes()),
        (1, Event::Call(object, Contains(k.clone()))),
        (0, Event::Call(object, Add(k.clone()))),
        (0, yes()),
        (0, Event::Call(object, Remove(k.clone()))),
        (0, yes()),
        (2, Event::Return(Value::Bool(false))),
        (0, Event::Call(object, Add(other.clone()))),
        (0, yes()),
        (1, yes()),
    ];
    for (process, event) in events {
        monitor.event(process, event, Position::default()).unwrap();
    }
    monitor.finish().unwrap();
}
