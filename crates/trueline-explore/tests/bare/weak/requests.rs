//! What litmus texts cannot say: locks, choices, deadlocks, early ends.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use trueline_explore::weak::{
    Condition, End, Order, Program, Request, Summary, Turn, Update, explore, sample,
};

/// Each thread as a function of its answers.
struct Threads<const N: usize>([fn(&[u64]) -> Request; N]);

impl<const N: usize> Program for Threads<N> {
    fn threads(&self) -> usize {
        N
    }

    fn next(&self, thread: usize, answers: &[u64]) -> Request {
        self.0[thread](answers)
    }

    fn initial(&self, location: usize) -> u64 {
        if location == TEN { 10 } else { 0 }
    }
}

/// The location that is 10 at first.
const TEN: usize = 9;

fn lock(location: usize) -> Request {
    let (update, until) = (Update::swap(1), Some(Condition::equals(0)));
    let (success, failure) = (Order::Acquire, Order::Relaxed);
    Request::Update { location, update, success, failure, until }
}

fn write(location: usize, order: Order, value: u64) -> Request {
    Request::Write { location, order, value }
}

fn read(location: usize, order: Order) -> Request {
    Request::Read { location, order, until: None }
}

#[track_caller]
fn summary(program: &impl Program) -> Summary {
    let count = |turn| {
        let summary = explore(program, turn, |_, _| ControlFlow::Continue(()));
        (summary.complete, summary.deadlocks)
    };
    let first = explore(program, Turn::First, |_, _| ControlFlow::Continue(()));
    for turn in [Turn::Last, Turn::Random(1), Turn::Random(2)] {
        assert_eq!(count(turn), (first.complete, first.deadlocks), "{turn:?}");
    }
    first
}

/// Adds 1 to a plain location under a lock that is given back with an ordering.
fn adds_under_lock(answers: &[u64], unlock: Order) -> Request {
    match answers {
        [] => lock(1),
        [_] => read(2, Order::NotAtomic),
        [_, found] => write(2, Order::NotAtomic, found + 1),
        [_, _, _] => write(1, unlock, 0),
        _ => Request::End,
    }
}

fn races(program: &impl Program) -> bool {
    let mut races = false;
    explore(program, Turn::First, |graph, _| {
        races |= graph.race().is_some();
        ControlFlow::Continue(())
    });
    races
}

#[test]
fn a_lock_excludes_and_orders() {
    let right = |answers: &[u64]| adds_under_lock(answers, Order::Release);
    let program = Threads([right, right, right]);
    let found = summary(&program);
    assert_eq!((found.complete, found.deadlocks), (6, 0));
    assert!(!races(&program));
    explore(&program, Turn::First, |graph, _| {
        let last = *graph.writes(2).last().expect("three writes");
        assert_eq!(graph.event(last).value, 3);
        ControlFlow::Continue(())
    });
}

#[test]
fn a_lock_that_is_given_back_relaxed_races() {
    let wrong = |answers: &[u64]| adds_under_lock(answers, Order::Relaxed);
    assert!(races(&Threads([wrong, wrong])));
}

#[test]
fn locks_taken_in_two_orders_deadlock_once() {
    fn thread(answers: &[u64], first: usize, second: usize) -> Request {
        match answers.len() {
            0 => lock(first),
            1 => lock(second),
            2 => write(first, Order::Release, 0),
            3 => write(second, Order::Release, 0),
            _ => Request::End,
        }
    }
    let found =
        summary(&Threads([|answers| thread(answers, 1, 2), |answers| thread(answers, 2, 1)]));
    assert_eq!((found.complete, found.deadlocks), (2, 1));
}

#[test]
fn a_wait_that_nobody_ends_is_a_deadlock_and_a_failed_assumption_is_none() {
    let waits = |answers: &[u64]| match answers {
        [] => {
            Request::Read { location: 1, order: Order::Acquire, until: Some(Condition::equals(2)) }
        }
        _ => Request::End,
    };
    let stores = |answers: &[u64]| match answers {
        [] => write(1, Order::Release, 1),
        _ => Request::End,
    };
    let found = summary(&Threads([waits, stores]));
    assert_eq!((found.complete, found.deadlocks), (0, 1));
    assert!(sample(&Threads([waits, stores]), 1).is_none());
    let assumes = |answers: &[u64]| match answers {
        [] => read(1, Order::Relaxed),
        [1] => Request::End,
        _ => Request::Stuck,
    };
    let found = summary(&Threads([assumes, stores]));
    assert_eq!((found.complete, found.deadlocks, found.blocked), (1, 0, 1));
}

#[test]
fn every_choice_is_made_once() {
    let chooses = |answers: &[u64]| match answers {
        [] => Request::Choice(3),
        [choice] => write(1, Order::Relaxed, choice + 5),
        _ => Request::End,
    };
    let reads = |answers: &[u64]| match answers {
        [] => read(1, Order::Relaxed),
        _ => Request::End,
    };
    assert_eq!(summary(&Threads([chooses, reads])).complete, 6);
    assert_eq!(summary(&Threads([reads, chooses])).complete, 6);
    let drawn: BTreeSet<u64> = (0..200)
        .map(|seed| sample(&Threads([reads, chooses]), seed).unwrap().answers(0)[0])
        .collect();
    assert_eq!(drawn, BTreeSet::from([0, 5, 6, 7]));
}

#[test]
fn a_location_begins_with_its_initial_value() {
    let reads = |answers: &[u64]| match answers {
        [] => read(TEN, Order::Relaxed),
        _ => Request::End,
    };
    explore(&Threads([reads]), Turn::First, |graph, end| {
        assert_eq!((graph.answers(0), end), (vec![10], End::Complete));
        ControlFlow::Continue(())
    });
}

#[test]
fn a_visitor_that_breaks_ends_the_exploration() {
    let adds = |answers: &[u64]| match answers {
        [] => Request::Update {
            location: 1,
            update: Update::add(1),
            success: Order::Relaxed,
            failure: Order::Relaxed,
            until: None,
        },
        _ => Request::End,
    };
    let found = explore(&Threads([adds, adds, adds]), Turn::First, |_, _| ControlFlow::Break(()));
    assert!(found.stopped);
    assert_eq!(found.complete, 1);
    assert_eq!(summary(&Threads([adds, adds, adds])).complete, 6);
}
