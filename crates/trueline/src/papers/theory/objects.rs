//! The theories of the objects, corrected.
//!
//! The paper's axioms (its figures 3 to 7) with these corrections, each found by trying all short
//! histories: INJECTIVE concludes that the two are the same; a register's matching is not
//! injective; INCLUDE forbids *any* removal of the key between the addition that it saw and itself,
//! EXCLUDE requires *some* removal of the key; LIMIT is about the first n acquires; no operation is
//! its own partner in an exchanger. MATCHINGADD and MATCHINGREM are omitted: with the corrected
//! INCLUDE and EXCLUDE they do not affect which histories are legal. FUNCTION states an implicit
//! assumption of the paper, that the matching is a function. Two extensions go beyond the paper: a
//! set's additions and removals may return whether they changed anything, and an acquire of a lock
//! may return that it found the lock held.

use super::formula::Formula::{
    And, Before, Is, LessArgument, Match, Or, Returns, ReturnsArgument, Same, SameArgument,
};
use super::formula::{Axiom, Formula, Var, exists, not};
use crate::theory::{Method, Object};
use crate::value::Value;

/// A theory: a history satisfies it if some order and some matching fulfil all axioms.
#[derive(Clone, Debug)]
pub struct Theory {
    /// The object that it describes.
    pub object: Object,
    /// True if operations happen one at a time (ATOMIC), false if they are only completed
    /// (COMPLETED). The axioms about the order itself are implicit: users of a theory build an
    /// order by construction.
    pub atomic: bool,
    /// All of them hold.
    pub axioms: Vec<Axiom>,
}

impl Theory {
    /// The theory of an object.
    pub fn of(object: Object) -> Theory {
        let axioms = match object {
            Object::Queue => container(fifo()),
            Object::Stack => container(lifo()),
            Object::PriorityQueue { smallest_first } => container(first_out(smallest_first)),
            Object::Set => set(),
            Object::Register => register(),
            Object::Lock => lock(),
            Object::Semaphore(limit) => semaphore(limit),
            Object::Exchanger => exchanger(),
        };
        Theory { object, atomic: object != Object::Exchanger, axioms }
    }
}

fn axiom(
    name: &'static str,
    variables: u8,
    premises: impl Into<Vec<Formula>>,
    conclusion: Formula,
) -> Axiom {
    Axiom { name, variables, premises: premises.into(), conclusion }
}

/// The formula that is never true.
fn never() -> Formula {
    Or(vec![])
}

fn is_add(x: Var) -> Formula {
    Is(x, Method::Add)
}

fn is_remove(x: Var) -> Formula {
    Is(x, Method::Remove)
}

fn found_nothing(x: Var) -> Formula {
    Returns(x, Value::Nil)
}

/// The matching is a function: nothing is matched to two operations.
fn function() -> Axiom {
    axiom("FUNCTION", 3, [Match(0, 2), Match(1, 2)], Same(0, 1))
}

/// No two operations are matched to the same one.
fn injective() -> Axiom {
    axiom("INJECTIVE", 3, [Match(0, 1), Match(0, 2)], Same(1, 2))
}

/// Only these are matched, and the second returns the argument of the first.
fn match1(first: Method, second: Method) -> Axiom {
    let fits = [Is(0, first), Is(1, second), ReturnsArgument(1, 0)];
    axiom("MATCH1", 2, [Match(0, 1)], And(fits.into()))
}

fn container(next_out: Axiom) -> Vec<Axiom> {
    vec![
        match1(Method::Add, Method::Remove),
        function(),
        injective(),
        axiom(
            "ADDREM",
            1,
            [is_remove(0), not(found_nothing(0))],
            exists(1, [is_add(1), Match(1, 0), Before(1, 0)]),
        ),
        axiom(
            "EMPTY",
            2,
            [is_remove(0), found_nothing(0), is_add(1), Before(1, 0)],
            exists(2, [is_remove(2), Match(1, 2), Before(2, 0)]),
        ),
        next_out,
    ]
}

fn fifo() -> Axiom {
    let premises = [is_add(0), is_add(1), is_remove(2), Match(1, 2), Before(0, 1)];
    axiom("FIFO", 3, premises, exists(3, [is_remove(3), Match(0, 3), Before(3, 2)]))
}

fn lifo() -> Axiom {
    let premises = [is_add(0), is_add(1), is_remove(2), Match(0, 2), Before(0, 1), Before(1, 2)];
    axiom("LIFO", 3, premises, exists(3, [is_remove(3), Match(1, 3), Before(3, 2)]))
}

/// MAX: the value whose turn comes first is removed before anything else that is there.
fn first_out(smallest_first: bool) -> Axiom {
    let earlier = if smallest_first { LessArgument(1, 0) } else { LessArgument(0, 1) };
    let premises = [is_add(0), is_add(1), earlier, is_remove(2), Match(0, 2), Before(1, 2)];
    axiom("MAX", 3, premises, exists(3, [is_remove(3), Match(1, 3), Before(3, 2)]))
}

/// The operation returns that its key was there.
fn saw_it(x: Var) -> Formula {
    let tells = |method, told: bool| And(vec![Is(x, method), Returns(x, told.into())]);
    Or(vec![tells(Method::Contains, true), tells(Method::Add, false), tells(Method::Remove, true)])
}

/// The operation returns that its key was not there.
fn missed_it(x: Var) -> Formula {
    let tells = |method, told: bool| And(vec![Is(x, method), Returns(x, told.into())]);
    Or(vec![tells(Method::Contains, false), tells(Method::Add, true), tells(Method::Remove, false)])
}

fn set() -> Vec<Axiom> {
    vec![
        axiom("MATCH2", 2, [Match(0, 1)], And(vec![is_add(0), SameArgument(0, 1), saw_it(1)])),
        function(),
        axiom("INCLUDE", 1, [saw_it(0)], exists(1, [is_add(1), Match(1, 0), Before(1, 0)])),
        axiom(
            "INCLUDE",
            3,
            [
                is_add(0),
                SameArgument(0, 1),
                saw_it(1),
                is_remove(2),
                SameArgument(1, 2),
                Match(0, 1),
                Before(0, 2),
                Before(2, 1),
            ],
            never(),
        ),
        axiom(
            "EXCLUDE",
            2,
            [missed_it(0), is_add(1), SameArgument(0, 1), Before(1, 0)],
            exists(2, [is_remove(2), SameArgument(0, 2), Before(1, 2), Before(2, 0)]),
        ),
    ]
}

fn register() -> Vec<Axiom> {
    let (write, read) = (|x| Is(x, Method::Write), |x| Is(x, Method::Read));
    vec![
        match1(Method::Write, Method::Read),
        function(),
        axiom("READWRITE", 1, [read(0)], exists(1, [write(1), Match(1, 0), Before(1, 0)])),
        axiom(
            "READFROM",
            2,
            [write(0), read(1), not(Match(0, 1)), Before(0, 1)],
            exists(2, [write(2), Match(2, 1), Before(0, 2), Before(2, 1)]),
        ),
    ]
}

fn is_release(x: Var) -> Formula {
    Is(x, Method::Release)
}

/// An acquire that found the lock held.
fn found_held(x: Var) -> Formula {
    And(vec![Is(x, Method::Acquire), Returns(x, false.into())])
}

/// An acquire that took the permit.
fn takes(x: Var) -> Formula {
    And(vec![Is(x, Method::Acquire), not(Returns(x, false.into()))])
}

/// Every release ends an acquire before it.
fn total() -> Axiom {
    let premises = [is_release(0)];
    axiom("TOTAL", 1, premises, exists(1, [takes(1), Match(1, 0), Before(1, 0)]))
}

fn injective_releases() -> Axiom {
    let premises = [is_release(1), is_release(2), Match(0, 1), Match(0, 2)];
    axiom("INJECTIVE", 3, premises, Same(1, 2))
}

fn lock() -> Vec<Axiom> {
    let ends = And(vec![is_release(1), ReturnsArgument(1, 0)]);
    vec![
        axiom("MATCH3", 2, [Match(0, 1)], And(vec![takes(0), Or(vec![ends, found_held(1)])])),
        function(),
        injective_releases(),
        total(),
        axiom(
            "MUTEX",
            2,
            [takes(0), takes(1), Before(0, 1)],
            exists(2, [is_release(2), Before(0, 2), Before(2, 1)]),
        ),
        axiom("HELD", 1, [found_held(0)], exists(1, [takes(1), Match(1, 0), Before(1, 0)])),
        axiom(
            "HELD",
            3,
            [takes(0), found_held(1), is_release(2), Match(0, 1), Match(0, 2)],
            Before(1, 2),
        ),
    ]
}

fn semaphore(limit: u32) -> Vec<Axiom> {
    // Acquires x0 to x(n - 1) before acquire xn: one of them has been released.
    let n = limit.min(200) as Var;
    let mut premises: Vec<Formula> = vec![Is(0, Method::Acquire)];
    for x in 1..=n {
        premises.push(Is(x, Method::Acquire));
        premises.extend((0..x).map(|y| not(Same(x, y))));
    }
    premises.extend((0..n).map(|x| Before(x, n)));
    let one_of = Or((0..n).map(|x| Match(x, n + 1)).collect());
    vec![
        match1(Method::Acquire, Method::Release),
        function(),
        injective(),
        total(),
        axiom(
            "LIMIT",
            n + 1,
            premises,
            exists(n + 1, [is_release(n + 1), Before(n + 1, n), one_of]),
        ),
    ]
}

fn exchanger() -> Vec<Axiom> {
    vec![
        match1(Method::Exchange, Method::Exchange),
        function(),
        injective(),
        axiom("SYMMETRIC", 2, [Match(0, 1)], Match(1, 0)),
        axiom("IRREFLEXIVE", 1, [Match(0, 0)], never()),
        axiom(
            "EXCHANGE",
            1,
            [not(Returns(0, Value::Nil))],
            exists(1, [Match(0, 1), not(Before(0, 1)), not(Before(1, 0))]),
        ),
        axiom("MATCHOVERLAP", 2, [Match(0, 1)], And(vec![not(Before(0, 1)), not(Before(1, 0))])),
    ]
}
