//! Register, set and mutex against the oracle.

use super::oracle::{self, Object};
use super::{Random, Tally, jitter, run, seeds, sometimes_sparse};
use crate::monitor::{Answer, NEVER, Op, Span, mutex, register, set};

/// The value 0 is there at the start, if there is one.
struct Register(Option<u32>);

impl Object for Register {
    type Action = register::Action;
    type State = Option<u32>;

    fn initial(&self) -> Option<u32> {
        self.0
    }

    fn only(&self, _: &[u32]) -> Register {
        Register(self.0)
    }

    fn step(&self, state: &Option<u32>, action: &register::Action) -> Vec<Option<u32>> {
        match *action {
            register::Action::Write(v) => vec![Some(v)],
            register::Action::Read(v) => Vec::from_iter((*state == Some(v)).then_some(*state)),
        }
    }
}

#[test]
fn register_against_the_oracle() {
    let mut tally = Tally::default();
    for seed in seeds() {
        let mut random = Random::new(4, seed);
        let (length, processes) = (2 + random.below(11), 1 + random.below(6));
        let (noise, writes) = ([0, 30, 60][random.below(3) as usize], 30 + random.below(30));
        let initial = random.chance(80).then_some(0);
        let (mut state, mut last) = (initial, 0);
        let mut ops = run(&mut random, processes, length, |random| {
            if random.chance(writes) || state.is_none() {
                last += 1;
                state = Some(last);
                return register::Action::Write(last);
            }
            let value = if random.chance(noise) { Some(random.below(last + 1)) } else { state };
            register::Action::Read(value.expect("only after a write"))
        });
        let times = random.below(1 + noise / 3);
        jitter(&mut random, &mut ops, times);
        for o in &mut ops {
            if random.chance(8) {
                o.span.returned = NEVER;
            }
        }
        let read = |o: &Op<register::Action>| matches!(o.action, register::Action::Read(_));
        ops.retain(|o| o.span.returned != NEVER || !read(o));
        sometimes_sparse(&mut random, &mut ops);
        assert!(register::is_unambiguous(&ops, initial));
        let answer = register::check(&ops, initial);
        tally.compare(&Register(initial), &ops, &answer);
    }
    tally.is_balanced();
    assert!(tally.largest <= 6);
    if std::env::var("TRUELINE_CASES").is_ok() {
        eprintln!("Register: {tally:?}");
    }
}

#[test]
fn a_stale_read_can_need_six_operations() {
    use register::Action::{Read, Write};
    let op = |call, returned, action| Op { span: Span { call, returned }, action };
    let ops = [
        op(0, 20, Write(1)),
        op(1, 21, Write(2)),
        op(2, 6, Read(2)),
        op(3, 4, Read(1)),
        op(8, 15, Read(1)),
        op(10, 11, Read(2)),
    ];
    let Answer::Violation { operations, .. } = register::check(&ops, Some(0)) else {
        panic!("two values at a time");
    };
    assert_eq!(operations, [0, 1, 2, 3, 4, 5]);
    for dropped in 2..6 {
        let mut rest = ops.to_vec();
        rest.remove(dropped);
        assert!(oracle::linearizable(&Register(Some(0)), &rest));
    }
}

struct Key(bool);

impl Object for Key {
    type Action = set::Action;
    type State = bool;

    fn initial(&self) -> bool {
        self.0
    }

    fn only(&self, _: &[u32]) -> Key {
        Key(self.0)
    }

    fn step(&self, state: &bool, action: &set::Action) -> Vec<bool> {
        let (before, after) = match action {
            set::Action::Add => (false, true),
            set::Action::Remove => (true, false),
            set::Action::Present => (true, true),
            set::Action::Absent => (false, false),
        };
        Vec::from_iter((*state == before).then_some(after))
    }
}

/// A random history of one key; without lookups it is one of a lock.
fn random_key(random: &mut Random, lookups: bool) -> (bool, Vec<Op<set::Action>>) {
    use set::Action::{Absent, Add, Present, Remove};
    let (length, processes) = (2 + random.below(11), 1 + random.below(6));
    let noise = [0, 10, 25][random.below(3) as usize];
    let present = random.chance(30);
    let mut state = present;
    let mut ops = run(random, processes, length, |random| {
        let truth = if random.chance(noise) { !state } else { state };
        let changes = !lookups || random.chance(60);
        match (truth, changes) {
            (true, true) => {
                state = false;
                Remove
            }
            (false, true) => {
                state = true;
                Add
            }
            (true, false) => Present,
            (false, false) => Absent,
        }
    });
    let times = random.below(1 + noise / 3);
    jitter(random, &mut ops, times);
    let pending = [0, 10, 25][random.below(3) as usize];
    for o in &mut ops {
        if random.chance(pending) {
            o.span.returned = NEVER;
        }
    }
    ops.retain(|o| o.span.returned != NEVER || matches!(o.action, Add | Remove));
    sometimes_sparse(random, &mut ops);
    (present, ops)
}

#[test]
fn set_against_the_oracle() {
    let mut tally = Tally::default();
    for seed in seeds() {
        let mut random = Random::new(5, seed);
        let (present, ops) = random_key(&mut random, true);
        tally.compare(&Key(present), &ops, &set::check(&ops, present, false));
    }
    tally.is_balanced();
    if std::env::var("TRUELINE_CASES").is_ok() {
        eprintln!("Set: {tally:?}");
    }
}

/// A reader may add to what is shown whatever was dropped: there is still no order. (Lookups that
/// were dropped only add demands.)
#[test]
fn what_an_explanation_of_a_set_drops_does_not_help() {
    let mut dropped = [0u64; 4];
    for seed in seeds() {
        let mut random = Random::new(7, seed);
        let (present, ops) = random_key(&mut random, true);
        let Answer::Violation { operations, .. } = set::check(&ops, present, false) else {
            continue;
        };
        let changes =
            |i: &u32| matches!(ops[*i as usize].action, set::Action::Add | set::Action::Remove);
        let others: Vec<u32> =
            (0..ops.len() as u32).filter(|i| changes(i) && !operations.contains(i)).collect();
        dropped[others.len().min(3)] += 1;
        for some in 0..1u32 << others.len() {
            let added = others.iter().enumerate().filter(|(n, _)| some >> n & 1 == 1);
            let mut all: Vec<u32> =
                operations.iter().copied().chain(added.map(|(_, &i)| i)).collect();
            all.sort_unstable();
            let shown: Vec<_> = all.iter().map(|&i| ops[i as usize]).collect();
            assert!(
                !oracle::linearizable(&Key(present), &shown),
                "seed {seed}: {operations:?} with {all:?} has an order, present {present}:\n{}",
                super::show(&ops)
            );
        }
    }
    assert!(dropped.iter().all(|&n| n * 30 > seeds().cases()), "{dropped:?}");
}

#[test]
fn mutex_against_the_oracle() {
    let mut tally = Tally::default();
    for seed in seeds() {
        let mut random = Random::new(6, seed);
        let (held, ops) = random_key(&mut random, false);
        let lock = |o: &Op<set::Action>| Op {
            span: o.span,
            action: match o.action {
                set::Action::Add => mutex::Action::Acquire,
                set::Action::Remove => mutex::Action::Release,
                set::Action::Present => mutex::Action::FoundHeld,
                set::Action::Absent => mutex::Action::FoundFree,
            },
        };
        let locked: Vec<_> = ops.iter().map(lock).collect();
        tally.compare(&Key(held), &ops, &mutex::check(&locked, held));
    }
    tally.is_balanced();
    if std::env::var("TRUELINE_CASES").is_ok() {
        eprintln!("Mutex: {tally:?}");
    }
}

/// Processes that take a lock and give it back, again and again. `jump` of 10,000 calls take it
/// without waiting.
fn locking(
    random: &mut Random,
    processes: usize,
    events: u32,
    jump: u32,
) -> Vec<Op<mutex::Action>> {
    use mutex::Action::{Acquire, Release};
    #[derive(Clone, Copy, PartialEq)]
    enum At {
        Idle,
        Wanting(usize),
        Got(usize),
        Holding,
        Releasing(usize),
        Released(usize),
    }
    let mut at = vec![At::Idle; processes];
    let (mut ops, mut held): (Vec<Op<_>>, bool) = (Vec::new(), false);
    let mut rank = 0;
    while rank < events {
        let p = random.below(processes as u32) as usize;
        let event = |rank: &mut u32| {
            *rank += 1;
            *rank - 1
        };
        at[p] = match at[p] {
            At::Idle | At::Holding => {
                let action = if at[p] == At::Idle { Acquire } else { Release };
                let span = Span { call: event(&mut rank), returned: NEVER };
                ops.push(Op { span, action });
                let i = ops.len() - 1;
                if action == Acquire { At::Wanting(i) } else { At::Releasing(i) }
            }
            At::Wanting(i) if !held || random.below(10_000) < jump => {
                held = true;
                At::Got(i)
            }
            At::Wanting(i) => At::Wanting(i),
            At::Got(i) => {
                ops[i].span.returned = event(&mut rank);
                At::Holding
            }
            At::Releasing(i) => {
                held = false;
                At::Released(i)
            }
            At::Released(i) => {
                ops[i].span.returned = event(&mut rank);
                At::Idle
            }
        };
    }
    ops
}

#[test]
fn a_lock_that_two_hold_is_explained_by_few_operations() {
    let mut sizes = Vec::new();
    for seed in 0..100 {
        let mut random = Random::new(0, seed);
        let good = locking(&mut random, 8, 4_000, 0);
        assert!(matches!(mutex::check(&good, false), Answer::Order(_)));
        let bad = locking(&mut random, 8, 40_000, 1);
        if let Answer::Violation { operations, .. } = mutex::check(&bad, false) {
            sizes.push(operations.len());
        }
    }
    sizes.sort_unstable();
    assert!(sizes.len() > 80 && sizes[sizes.len() / 2] <= 4 && sizes.iter().all(|&n| n < 40));
}
