//! Queue, stack and priority queue against the oracle.

use super::oracle::{self, Object};
use super::{Random, Tally, jitter, run, seeds, show, sometimes_sparse};
use crate::monitor::container::{self, Action};
use crate::monitor::{Answer, NEVER, Op, Why, pending, priority_queue, queue, stack};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Queue,
    Stack,
    Priority,
}

/// The sequential object. Several values share a priority.
pub(super) struct Container {
    pub(super) kind: Kind,
    pub(super) initial: Vec<u32>,
    pub(super) priorities: Vec<u32>,
}

impl Container {
    /// Where the value that must leave next may stand.
    fn next(&self, state: &[u32]) -> Vec<usize> {
        let highest = state.iter().map(|&v| self.priorities[v as usize]).max();
        match self.kind {
            Kind::Queue => (0..state.len().min(1)).collect(),
            Kind::Stack => (state.len().saturating_sub(1)..state.len()).collect(),
            Kind::Priority => (0..state.len())
                .filter(|&i| Some(self.priorities[state[i] as usize]) == highest)
                .collect(),
        }
    }

    pub(super) fn check(&self, ops: &[Op<Action>]) -> Answer {
        self.only_check(ops, &self.initial)
    }

    pub(super) fn only_check(&self, ops: &[Op<Action>], initial: &[u32]) -> Answer {
        match self.kind {
            Kind::Queue => queue::check(ops, initial),
            Kind::Stack => stack::check(ops, initial),
            Kind::Priority => priority_queue::check(ops, initial, &self.priorities),
        }
    }

    pub(super) fn search(&self, ops: &[Op<Action>], steps: u64) -> Option<Answer> {
        let mut left = steps;
        let step = |n: u64| {
            left = left.saturating_sub(n);
            left > 0
        };
        pending::check(ops, &self.initial, &|ops, initial| self.only_check(ops, initial), step)
    }
}

impl Object for Container {
    type Action = Action;
    type State = Vec<u32>;

    fn initial(&self) -> Vec<u32> {
        self.initial.clone()
    }

    fn only(&self, initial: &[u32]) -> Container {
        // A part of the contents, in the same order.
        let mut all = self.initial.iter();
        assert!(initial.iter().all(|v| all.any(|a| a == v)));
        Container {
            kind: self.kind,
            initial: initial.to_vec(),
            priorities: self.priorities.clone(),
        }
    }

    fn step(&self, state: &Vec<u32>, action: &Action) -> Vec<Vec<u32>> {
        let without = |i: usize| {
            let mut next = state.clone();
            next.remove(i);
            next
        };
        match *action {
            Action::Insert(v) => vec![state.iter().copied().chain([v]).collect()],
            Action::Remove(v) => {
                self.next(state).into_iter().filter(|&i| state[i] == v).map(without).collect()
            }
            Action::Empty => Vec::from_iter(state.is_empty().then(Vec::new)),
            Action::RemoveUnknown => {
                let mut all: Vec<_> = self.next(state).into_iter().map(without).collect();
                all.push(state.clone());
                all
            }
        }
    }
}

/// What a random history should have.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) length: u32,
    pub(super) processes: u32,
    /// Percentages.
    pub(super) inserts: u32,
    pub(super) noise: u32,
    pub(super) pending: u32,
    pub(super) initial: u32,
    /// Distinct priorities.
    pub(super) priorities: u32,
}

pub(super) fn random_history(
    random: &mut Random,
    kind: Kind,
    shape: Shape,
) -> (Container, Vec<Op<Action>>) {
    let values = shape.length + shape.initial;
    let priorities = (0..values).map(|_| random.below(shape.priorities)).collect();
    // Names in no order.
    let mut names: Vec<u32> = (0..values).collect();
    for i in (1..names.len()).rev() {
        names.swap(i, random.below(i as u32 + 1) as usize);
    }
    let initial: Vec<u32> = names.drain(..shape.initial as usize).collect();
    let object = Container { kind, initial, priorities };
    let mut state = object.initial.clone();
    let mut ops = run(random, shape.processes, shape.length, |random| {
        if random.chance(shape.inserts) {
            let v = names.pop().expect("as many names as operations");
            state.push(v);
            return Action::Insert(v);
        }
        let mut next = object.next(&state);
        if random.chance(shape.noise) {
            next = (0..state.len()).collect();
        }
        if next.is_empty() || random.chance(shape.noise / 4) {
            return Action::Empty;
        }
        Action::Remove(state.remove(next[random.below(next.len() as u32) as usize]))
    });
    if random.chance(shape.noise * 2) {
        let times = random.below(4);
        jitter(random, &mut ops, times);
    }
    if shape.noise > 0 && random.chance(3) {
        // A value out of nowhere, or twice.
        let (i, v) = (random.below(shape.length) as usize, random.below(values));
        if matches!(ops[i].action, Action::Remove(_)) {
            ops[i].action = Action::Remove(v);
        }
    }
    for o in &mut ops {
        if random.chance(shape.pending) {
            o.span.returned = NEVER;
            if let Action::Remove(_) = o.action {
                o.action = Action::RemoveUnknown;
            }
        }
    }
    ops.retain(|o| o.span.returned != NEVER || o.action != Action::Empty);
    (object, ops)
}

fn small(random: &mut Random, pending: bool) -> Shape {
    Shape {
        length: if random.chance(20) { 2 + random.below(6) } else { 7 + random.below(6) },
        processes: 1 + random.below(5),
        inserts: 35 + random.below(30),
        noise: [0, 30, 60, 80][random.below(4) as usize],
        pending: if pending { [0, 10, 30, 50][random.below(4) as usize] } else { 0 },
        initial: if random.chance(30) { random.below(4) } else { 0 },
        priorities: [2, 4, 1000][random.below(3) as usize],
    }
}

/// No value can be dropped.
fn is_minimal(object: &Container, ops: &[Op<Action>], operations: &[u32]) {
    let name = |o: &Op<Action>| match o.action {
        Action::Insert(v) | Action::Remove(v) => v,
        Action::Empty | Action::RemoveUnknown => panic!("not a part of a component"),
    };
    let part: Vec<_> = operations.iter().map(|&i| ops[i as usize]).collect();
    for dropped in part.iter().map(name).chain(object.initial.iter().copied()) {
        let rest: Vec<_> = part.iter().copied().filter(|o| name(o) != dropped).collect();
        let initial: Vec<u32> = object.initial.iter().copied().filter(|&v| v != dropped).collect();
        assert!(oracle::linearizable(&object.only(&initial), &rest), "{}", show(ops));
    }
}

fn against_the_oracle(kind: Kind) {
    let mut tally = Tally::default();
    for seed in seeds() {
        let mut random = Random::new(kind as u64 + 1, seed);
        let shape = small(&mut random, seed % 2 == 0);
        let (object, mut ops) = random_history(&mut random, kind, shape);
        sometimes_sparse(&mut random, &mut ops);
        assert!(container::is_unambiguous(&ops, &object.initial));
        let answer = object.search(&ops, u64::MAX).expect("no limit, no doubt");
        tally.compare(&object, &ops, &answer);
        if let Answer::Violation { operations, initial, why } = &answer {
            match why {
                Why::WrongOrder { .. } => assert!(operations.len() <= 4),
                Why::NoBottom => is_minimal(&object.only(initial), &ops, operations),
                _ => {}
            }
        }
        if !ops.iter().any(|o| o.action == Action::RemoveUnknown) {
            assert_eq!(
                matches!(object.check(&ops), Answer::Order(_)),
                matches!(answer, Answer::Order(_))
            );
        }
    }
    tally.is_balanced();
    if std::env::var("TRUELINE_CASES").is_ok() {
        eprintln!("{kind:?}: {tally:?}");
    }
}

#[test]
fn queue_against_the_oracle() {
    against_the_oracle(Kind::Queue);
}

#[test]
fn stack_against_the_oracle() {
    against_the_oracle(Kind::Stack);
}

#[test]
fn priority_queue_against_the_oracle() {
    against_the_oracle(Kind::Priority);
}
