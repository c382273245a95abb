//! Register, set and mutex against the oracle.

use super::oracle::Object;
use super::{Random, Tally, cases, jitter, run};
use crate::monitor::{NEVER, Op, mutex, register, set};

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
    let mut random = Random(4);
    let mut tally = Tally::default();
    for _ in 0..cases() {
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
        let answer = register::check(&ops, initial);
        tally.compare(&Register(initial), &ops, &answer);
    }
    tally.is_balanced();
    assert!(tally.largest <= 6);
    if std::env::var("TRUELINE_CASES").is_ok() {
        eprintln!("Register: {tally:?}");
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
    (present, ops)
}

#[test]
fn set_against_the_oracle() {
    let mut random = Random(5);
    let mut tally = Tally::default();
    for _ in 0..cases() {
        let (present, ops) = random_key(&mut random, true);
        tally.compare(&Key(present), &ops, &set::check(&ops, present));
    }
    tally.is_balanced();
    if std::env::var("TRUELINE_CASES").is_ok() {
        eprintln!("Set: {tally:?}");
    }
}

#[test]
fn mutex_against_the_oracle() {
    let mut random = Random(6);
    let mut tally = Tally::default();
    for _ in 0..cases() {
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
