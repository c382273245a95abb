//! The laws that every built-in specification obeys: the claims of its hooks are true of `step`.
//!
//! Random small sequential histories; each hook is compared with `step`.

use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::rng::Rng;
use crate::value::Value;

type Step<B> = (<B as Spec>::Op, Option<Value>);

/// A specification under test. `free`: which results beyond [`Builtin::results`] are legal on
/// purpose, because a format may omit or shorten them.
struct Laws<B: Builtin> {
    spec: B,
    info: Info,
    free: fn(&B::Op, &Value) -> bool,
    rng: Rng,
}

fn laws<B: Builtin>(spec: B, info: Info, free: fn(&B::Op, &Value) -> bool) {
    let mut laws = Laws { spec, info, free, rng: Rng::new(7) };
    for _ in 0..1000 {
        laws.results_and_observers();
        laws.splitting();
        laws.order();
        laws.dropping();
        laws.looking_ahead();
        laws.reordering();
        laws.origins();
        laws.growing();
        laws.sum();
    }
}

fn strict<T>(_: &T, _: &Value) -> bool {
    false
}

impl<B: Builtin> Laws<B> {
    fn next(&self, state: &B::State, op: &B::Op, ret: Option<&Value>) -> Vec<B::State> {
        let mut next = Vec::new();
        self.spec.step(state, op, ret, &mut next);
        next
    }

    /// A random operation, from the signatures of the methods.
    fn op(&mut self) -> B::Op {
        let signature = *self.rng.choose(self.info.methods);
        let (name, rest) = signature.split_once('(').unwrap();
        let parameters = rest.split_once(')').unwrap().0;
        let arity = parameters.split(',').filter(|a| !a.is_empty()).count();
        let args: Vec<Value> = (0..arity).map(|_| Value::Int(self.rng.below(3) as i64)).collect();
        self.spec.decode(name, &args, None).unwrap().0
    }

    /// Results that some operation may have, right or wrong.
    fn pool(&self, state: &B::State, op: &B::Op) -> Vec<Value> {
        let mut pool =
            vec![Value::Nil, true.into(), false.into(), "".into(), "1".into(), "12".into()];
        pool.extend((-2..6).map(Value::Int));
        pool.extend([Value::list([]), Value::list([1.into()]), Value::list([0.into(), 1.into()])]);
        pool.extend(self.spec.results(state, op));
        pool
    }

    /// A random legal sequential history. `unknown`: share of operations of unknown outcome.
    fn legal_history(&mut self, length: usize, unknown: f64) -> (Vec<Step<B>>, B::State) {
        let mut state = self.spec.initial();
        let mut steps = Vec::new();
        while steps.len() < length {
            let op = self.op();
            let results = self.spec.results(&state, &op);
            if results.is_empty() {
                continue;
            }
            let mut result = self.rng.choose(&results).clone();
            let silent = self.next(&state, &op, Some(&Value::Nil));
            if (self.free)(&op, &Value::Nil) && !silent.is_empty() && self.rng.chance(0.3) {
                result = Value::Nil;
            }
            if self.rng.chance(unknown) {
                if self.rng.chance(0.5) {
                    state = self.rng.choose(&self.next(&state, &op, None)).clone();
                }
                steps.push((op, None));
                continue;
            }
            let rng = &mut self.rng;
            self.spec.perform(&mut state, &op, &result, &mut |n| rng.below(n));
            steps.push((op, Some(result)));
        }
        (steps, state)
    }

    /// The states after the steps; those with an unknown outcome may have had no effect.
    fn run(&self, steps: &[Step<B>]) -> HashSet<B::State> {
        let mut states = HashSet::from([self.spec.initial()]);
        for (op, ret) in steps {
            let mut after = HashSet::new();
            for state in &states {
                after.extend(self.next(state, op, ret.as_ref()));
            }
            if ret.is_none() {
                after.extend(states);
            }
            states = after;
        }
        states
    }

    /// A result that is out of reach is illegal, and stays out of reach unless an operation helps.
    fn looking_ahead(&mut self) {
        let length = self.rng.below(6) as usize;
        let (_, state) = self.legal_history(length, 0.0);
        let (observer, op) = (self.op(), self.op());
        let length = self.rng.below(6) as usize;
        let (_, elsewhere) = self.legal_history(length, 0.0);
        for result in self.pool(&elsewhere, &observer) {
            let result = Some(&result);
            if self.spec.in_reach(&state, &observer, result) {
                continue;
            }
            assert!(self.spec.looks_ahead(), "{} does not look ahead", self.info.name);
            let shown = self.spec.show(&observer, result);
            assert!(
                self.next(&state, &observer, result).is_empty(),
                "legal, not in reach: {shown}"
            );
            if !self.spec.may_help(&op, &observer, result) {
                for after in self.next(&state, &op, None) {
                    let reached = self.spec.in_reach(&after, &observer, result);
                    assert!(!reached, "{} helps {shown}", self.spec.show(&op, None));
                }
            }
        }
    }

    /// Operations that are claimed to commute do: both orders lead to the same states. A result
    /// that is claimed to show nothing allows what an unknown one allows.
    fn reordering(&mut self) {
        let length = self.rng.below(6) as usize;
        let (_, state) = self.legal_history(length, 0.2);
        let (a, b) = (self.op(), self.op());
        // Results that are right now, right after the other one, at another time, or never.
        let pool = |op: &B::Op, other: &B::Op| {
            let mut pool = self.pool(&state, op);
            for after in self.next(&state, other, None) {
                pool.extend(self.spec.results(&after, op));
            }
            pool.into_iter().map(Some).chain([None]).collect::<Vec<Option<Value>>>()
        };
        let (of_a, of_b) = (pool(&a, &b), pool(&b, &a));
        let both = |first: (&B::Op, Option<&Value>), second: (&B::Op, Option<&Value>)| {
            let between = self.next(&state, first.0, first.1);
            let after = between.iter().flat_map(|s| self.next(s, second.0, second.1));
            after.collect::<HashSet<B::State>>()
        };
        for ret in of_a.iter().flatten().filter(|ret| self.spec.says_nothing(&a, ret)) {
            let known: HashSet<_> = self.next(&state, &a, Some(ret)).into_iter().collect();
            let unknown: HashSet<_> = self.next(&state, &a, None).into_iter().collect();
            assert_eq!(known, unknown, "{} says something", self.spec.show(&a, Some(ret)));
        }
        for (x, y) in of_a.iter().flat_map(|x| of_b.iter().map(move |y| (x, y))) {
            let (first, second) = ((&a, x.as_ref()), (&b, y.as_ref()));
            let commute = self.spec.commutes(first, second);
            assert_eq!(commute, self.spec.commutes(second, first), "{first:?} {second:?}");
            if commute {
                assert!(self.spec.reorders(), "{} does not reorder", self.info.name);
                let (there, back) = (both(first, second), both(second, first));
                assert_eq!(there, back, "{first:?} {second:?} where the object is {state:?}");
            }
        }
    }

    /// A shown value was inserted before, or was there initially; each removed value has an
    /// insertion of its own.
    fn origins(&mut self) {
        let Some(origins) = self.spec.origins() else { return };
        let (steps, _) = self.legal_history(8, 0.2);
        let mut brought: BTreeMap<Value, usize> = BTreeMap::new();
        for value in &origins.initial {
            *brought.entry(value.clone()).or_default() += 1;
        }
        let mut left = brought.clone();
        for (op, ret) in &steps {
            match ret.as_ref().and_then(|ret| (origins.shows)(op, ret)) {
                Some(Shown::Seen(value)) => assert!(brought.contains_key(&value), "{steps:?}"),
                Some(Shown::Taken(value)) => {
                    let left = left.get_mut(&value).filter(|left| **left > 0);
                    *left.unwrap_or_else(|| panic!("{value} was not brought: {steps:?}")) -= 1;
                }
                None => {}
            }
            if let Some(value) = (origins.brings)(op) {
                *brought.entry(value.clone()).or_default() += 1;
                *left.entry(value.clone()).or_default() += 1;
            }
        }
    }

    /// As long as it covers every operation, a growing collection allows exactly what a list or a
    /// set does.
    fn growing(&mut self) {
        let Some(growing) = self.spec.growing() else { return };
        let (steps, _) = self.legal_history(8, 0.0);
        let (mut states, mut model) = (vec![self.spec.initial()], growing.initial.clone());
        let mut key = None;
        for (op, ret) in &steps {
            let own = growing.key.map(|key| key(op).clone());
            if (growing.growth)(op, ret.as_ref()).is_none()
                || *key.get_or_insert(own.clone()) != own
            {
                continue;
            }
            for ret in self.pool(&states[0], op).into_iter().map(Some).chain([None]) {
                let Some(growth) = (growing.growth)(op, ret.as_ref()) else { continue };
                let next = self.next(&states[0], op, ret.as_ref());
                let after = grown(&model, growing.ordered, &growth);
                let shown = self.spec.show(op, ret.as_ref());
                assert_eq!(next.is_empty(), after.is_none(), "{shown} with {model:?}");
            }
            let growth = (growing.growth)(op, ret.as_ref());
            let next = self.next(&states[0], op, ret.as_ref());
            if let Some(after) = growth.and_then(|g| grown(&model, growing.ordered, &g)) {
                (states, model) = (next, after);
            }
        }
    }

    /// The shown total is the sum of what was added before.
    fn sum(&mut self) {
        let Some(sum) = self.spec.sum() else { return };
        let (steps, _) = self.legal_history(8, 0.0);
        let mut total = sum.initial;
        let mut state = self.spec.initial();
        for (op, _) in &steps {
            let after = total + (sum.adds)(op);
            for ret in self.pool(&state, op).into_iter().chain((0..20).map(Value::Int)) {
                if self.next(&state, op, Some(&ret)).is_empty() {
                    continue;
                }
                match (sum.tells)(op, &ret) {
                    None => {}
                    Some(Total::Before(told)) => assert_eq!(told, total, "{steps:?}"),
                    Some(Total::After(told)) => assert_eq!(told, after, "{steps:?}"),
                }
            }
            state = self.next(&state, op, None).remove(0);
            total = after;
        }
    }

    fn results_and_observers(&mut self) {
        let length = self.rng.below(8) as usize;
        let (_, state) = self.legal_history(length, 0.1);
        let op = self.op();
        let results = self.spec.results(&state, &op);
        let shown = |ret: Option<&Value>| {
            format!(
                "{} where {} is {}",
                self.spec.show(&op, ret),
                self.info.name,
                self.spec.show_state(&state)
            )
        };
        for result in &results {
            let next = self.next(&state, &op, Some(result));
            assert!(!next.is_empty(), "wrongly illegal: {}", shown(Some(result)));
            let mut performed = state.clone();
            self.spec.perform(&mut performed, &op, result, &mut |_| 0);
            assert!(next.contains(&performed), "performed differently: {}", shown(Some(result)));
            let (method, args) = self.spec.encode(&op);
            let decoded = self.spec.decode(method, &args, Some(result));
            assert_eq!(decoded, Ok((op.clone(), Some(result.clone()))));
        }
        for result in self.pool(&state, &op) {
            let next = self.next(&state, &op, Some(&result));
            let right = results.contains(&result) || (self.free)(&op, &result);
            assert!(right || next.is_empty(), "wrongly legal: {}", shown(Some(&result)));
            if self.spec.observes(&op, Some(&result)) {
                assert!(next.iter().all(|s| *s == state), "no observer: {}", shown(Some(&result)));
            }
            let unknown = self.next(&state, &op, None);
            let known = (self.free)(&op, &result) || next.iter().all(|s| unknown.contains(s));
            assert!(known, "not possible where unknown: {}", shown(Some(&result)));
        }
        if self.spec.observes(&op, None) {
            assert_eq!(self.next(&state, &op, None), std::slice::from_ref(&state));
        }
        if let Some((op, result)) = self.spec.alien(1 << 50) {
            let next = self.next(&state, &op, Some(&result));
            assert!(next.is_empty(), "no alien: {}", self.spec.show(&op, Some(&result)));
        }
    }

    /// If every operation has a key, a history is legal iff it is for each key.
    fn splitting(&mut self) {
        let (mut steps, _) = self.legal_history(6, 0.0);
        for (op, ret) in &mut steps {
            if self.rng.chance(0.1) {
                let pool = self.pool(&self.spec.initial(), op);
                *ret = Some(self.rng.choose(&pool).clone());
            }
        }
        let mut parts: BTreeMap<u64, Vec<Step<B>>> = BTreeMap::new();
        for step in &steps {
            let Some(key) = self.spec.partition(&step.0) else { return };
            parts.entry(key).or_default().push(step.clone());
        }
        let whole = !self.run(&steps).is_empty();
        assert_eq!(whole, parts.values().all(|part| !self.run(part).is_empty()), "{steps:?}");
    }

    /// If the order does not matter, every legal order leads to the same state.
    fn order(&mut self) {
        if !self.spec.order_insensitive() {
            return;
        }
        let (mut steps, state) = self.legal_history(6, 0.0);
        assert_eq!(self.run(&steps), HashSet::from([state.clone()]), "{steps:?}");
        for _ in 0..20 {
            let (a, b) = (self.rng.below(6) as usize, self.rng.below(6) as usize);
            steps.swap(a, b);
            assert!(self.run(&steps).iter().all(|s| *s == state), "{steps:?}");
        }
    }

    /// Leaving out what [`Spec::touches`] allows never makes a legal history illegal.
    fn dropping(&mut self) {
        let unknown = if self.rng.chance(0.5) { 0.2 } else { 0.0 };
        let (mut steps, _) = self.legal_history(7, unknown);
        let whole = steps.clone();
        for _ in 0..12 {
            if steps.is_empty() {
                break;
            }
            let i = self.rng.below(steps.len() as u64) as usize;
            let touches: Vec<Touches> =
                steps.iter().map(|(op, ret)| self.spec.touches(op, ret.as_ref())).collect();
            if self.spec.observes(&steps[i].0, steps[i].1.as_ref()) {
                steps.remove(i);
            } else if !touches.contains(&Touches::Everything) {
                match touches[i] {
                    Touches::Flow { writes: Some(key), .. } if reads(&touches, key, i) => {}
                    Touches::Flow { .. } => drop(steps.remove(i)),
                    value => {
                        let mut all = touches.iter();
                        steps.retain(|_| all.next() != Some(&value));
                    }
                }
            }
            assert!(!self.run(&steps).is_empty(), "{whole:?} is legal, {steps:?} is not");
        }
    }
}

/// The content of a list or a set after the operation; `None` if its result is wrong.
fn grown(held: &[Value], ordered: bool, growth: &Growth) -> Option<Vec<Value>> {
    let with = |value: &Value| {
        let mut after = held.to_vec();
        if ordered || !held.contains(value) {
            after.push(value.clone());
        }
        if !ordered {
            after.sort();
        }
        after
    };
    match growth {
        Growth::Add(value) => Some(with(value)),
        Growth::AddNew(value) if !ordered => (!held.contains(value)).then(|| with(value)),
        Growth::Found(value) if !ordered => held.contains(value).then(|| held.to_vec()),
        Growth::AddAt(value, at) => (ordered && *at == held.len() as i64).then(|| with(value)),
        Growth::Show(Value::List(shown)) => (**shown == held).then(|| held.to_vec()),
        Growth::Show(Value::Text(text)) => {
            let made: String = held.iter().filter_map(Value::as_text).collect();
            (made == **text).then(|| held.to_vec())
        }
        Growth::Nothing => Some(held.to_vec()),
        _ => None,
    }
}

/// Whether some operation other than the one at `i` reads the value of `key`.
fn reads(touches: &[Touches], key: u64, i: usize) -> bool {
    let reads = |t: &Touches| matches!(t, Touches::Flow { reads: Some(k), .. } if *k == key);
    touches.iter().enumerate().any(|(other, t)| other != i && reads(t))
}

fn ints(values: &[i64]) -> Vec<Value> {
    values.iter().copied().map(Value::Int).collect()
}

#[test]
fn queues() {
    laws(queue(), queue::QUEUE, strict);
    laws(queue().with_init(ints(&[1, 2])), queue::QUEUE, strict);
    // An enq without a result had room.
    let free = |op: &QueueOp, ret: &Value| matches!(op, QueueOp::Enq(_)) && ret.is_nil();
    laws(bounded_queue(2), queue::BOUNDED_QUEUE, free);
    laws(bounded_queue(3).with_init(ints(&[1])), queue::BOUNDED_QUEUE, free);
}

#[test]
fn relaxed_queues() {
    laws(semiqueue(1), relaxed::SEMIQUEUE, strict);
    laws(semiqueue(2), relaxed::SEMIQUEUE, strict);
    laws(semiqueue(3).with_init(ints(&[1, 1])), relaxed::SEMIQUEUE, strict);
    laws(stuttering_queue(1), relaxed::STUTTERING_QUEUE, strict);
    laws(stuttering_queue(3), relaxed::STUTTERING_QUEUE, strict);
    use relaxations::{RELAXED_PRIORITY_QUEUE, RELAXED_QUEUE, RELAXED_STACK};
    let none = Relaxation::default();
    for relaxation in [
        none,
        Relaxation { out_of_order: Some(1), ..none },
        Relaxation { out_of_order: Some(2), lateness: Some(1), ..none },
        Relaxation { lateness: Some(2), ..none },
        Relaxation { window: Some(2), ..none },
        Relaxation { window: Some(3), lateness: Some(1), ..none },
        Relaxation { stutter: 2, ..none },
        Relaxation { displacement: Some(1), ..none },
        Relaxation { displacement: Some(2), ..none },
        Relaxation { displacement: Some(1), capacity: Some(2), ..none },
        Relaxation { out_of_order: Some(1), capacity: Some(2), ..none },
    ] {
        laws(relaxed(Turn::Oldest, relaxation), RELAXED_QUEUE, strict);
        laws(relaxed(Turn::Newest, relaxation), RELAXED_STACK, strict);
        laws(relaxed(Turn::Largest, relaxation), RELAXED_PRIORITY_QUEUE, strict);
        let smallest = relaxed(Turn::Smallest, relaxation).with_init(ints(&[1, 1, 0]));
        laws(smallest, RELAXED_PRIORITY_QUEUE, strict);
    }
}

#[test]
fn stacks_and_deques() {
    laws(stack(), stack::STACK, strict);
    laws(stack().with_init(ints(&[1, 2])), stack::STACK, strict);
    laws(deque(), deque::DEQUE, strict);
    laws(deque().with_init(ints(&[2, 1])), deque::DEQUE, strict);
}

#[test]
fn priority_queues() {
    laws(priority_queue(), priority_queue::PRIORITY_QUEUE, strict);
    let small = priority_queue().with_init(ints(&[2, 1])).smallest_first();
    laws(small, priority_queue::PRIORITY_QUEUE, strict);
    let free = |op: &PriorityQueueOp, ret: &Value| {
        matches!(op, PriorityQueueOp::Insert(_)) && ret.is_nil()
    };
    laws(bounded_priority_queue(2), priority_queue::BOUNDED_PRIORITY_QUEUE, free);
}

#[test]
fn registers() {
    laws(register(Value::Nil), register::REGISTER, strict);
    laws(cas_register(Some(Value::Int(0))), register::CAS_REGISTER, strict);
    laws(rmw(0), rmw::RMW, strict);
    // Any value may be the unknown one, and the state contains what is known of it.
    laws(unknown_register(), register::REGISTER, |op, _| !matches!(op, RegisterOp::Write(_)));
}

#[test]
fn counters_and_locks() {
    laws(counter(), counter::COUNTER, |op, ret| {
        matches!((op, ret), (CounterOp::Add(_) | CounterOp::FetchAdd(_), Value::Int(_)))
    });
    laws(mutex(), lock::MUTEX, strict);
    laws(owner_mutex(), owner_mutex::OWNER_MUTEX, strict);
    laws(owner_mutex().reentrant(), owner_mutex::OWNER_MUTEX, strict);
    laws(semaphore(0), lock::SEMAPHORE, strict);
    laws(semaphore(2), lock::SEMAPHORE, strict);
    laws(snzi(0), snzi::SNZI, strict);
    laws(snzi(2), snzi::SNZI, strict);
}

#[test]
fn sets() {
    laws(set(), set::SET, |op, ret| {
        matches!((op, ret), (SetOp::Add(_) | SetOp::Remove(_) | SetOp::Contains(_), Value::Nil))
    });
    laws(multiset().with_init(ints(&[1, 1])), set::MULTISET, |op, ret| {
        matches!((op, ret), (MultisetOp::Contains(_), Value::Nil))
    });
}

#[test]
fn maps() {
    laws(kv(), kv::KV, strict);
    laws(map(), map::MAP, |op, ret| {
        matches!((op, ret), (MapOp::Remove(_) | MapOp::Contains(_), Value::Nil))
    });
}

#[test]
fn lists() {
    laws(log(), log::LOG, |op, ret| matches!((op, ret), (LogOp::Append(_), Value::Nil)));
    let scan =
        |op: &SnapshotOp, ret: &Value| matches!((op, ret), (SnapshotOp::Scan, Value::List(_)));
    laws(snapshot(None), snapshot::SNAPSHOT, scan);
    laws(snapshot(Some(2)), snapshot::SNAPSHOT, scan);
}
