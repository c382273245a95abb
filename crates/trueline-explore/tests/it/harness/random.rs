//! Random objects and random tests of them, against brute force: all scenarios that the test asks
//! for, all interleavings of each, all orders of each history. It shares no code with the harness.
//!
//! An operation is a list of steps on two locations. A test has operations for two threads or for
//! two roles, perhaps some before and after, and perhaps only well-formed scenarios or a rule. What
//! is compared: whether the test holds; that the reported scenario is one that the test allows, and
//! fails in the way that is reported; that no scenario with one operation less fails so; that the
//! replay fails in the same way; and that several workers report the same.

use std::collections::BTreeSet;
use std::fmt;

use trueline::Sequential;
use trueline::rng::{self, Rng};
use trueline_explore::engine::Sampler;
use trueline_explore::explore;
use trueline_explore::harness::{
    Counts, Explore, Failure, Harness, Kind, Operate, Outcome, Thread,
};
use trueline_explore::std::sync::atomic::AtomicU8;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;

const CELLS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Load(usize),
    Store(usize, u8),
    /// Stores what was read last, plus this.
    StoreSum(usize, u8),
    Add(usize, u8),
    CompareExchange(usize, u8, u8),
    /// Ends the operation if this was read last.
    ReturnIf(u8),
    /// Panics if this was read last.
    Refuse(u8),
}

/// An operation, known by its number. With `HANDLES`, threads call it on handles of their own.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Op<const HANDLES: bool> {
    number: usize,
    steps: Vec<Step>,
}

impl<const HANDLES: bool> fmt::Debug for Op<HANDLES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op({})", self.number)
    }
}

/// What runs steps: real atomics, or plain numbers.
trait Cells {
    fn load(&mut self, cell: usize) -> u8;
    fn store(&mut self, cell: usize, value: u8);
    fn add(&mut self, cell: usize, value: u8) -> u8;
    fn compare_exchange(&mut self, cell: usize, old: u8, new: u8) -> bool;
}

impl Cells for &[AtomicU8; CELLS] {
    fn load(&mut self, cell: usize) -> u8 {
        self[cell].load(SeqCst)
    }
    fn store(&mut self, cell: usize, value: u8) {
        self[cell].store(value, SeqCst);
    }
    fn add(&mut self, cell: usize, value: u8) -> u8 {
        self[cell].fetch_add(value, SeqCst)
    }
    fn compare_exchange(&mut self, cell: usize, old: u8, new: u8) -> bool {
        self[cell].compare_exchange(old, new, SeqCst, SeqCst).is_ok()
    }
}

impl Cells for [u8; CELLS] {
    fn load(&mut self, cell: usize) -> u8 {
        self[cell]
    }
    fn store(&mut self, cell: usize, value: u8) {
        self[cell] = value;
    }
    fn add(&mut self, cell: usize, value: u8) -> u8 {
        let before = self[cell];
        self[cell] = before.wrapping_add(value);
        before
    }
    fn compare_exchange(&mut self, cell: usize, old: u8, new: u8) -> bool {
        let equal = self[cell] == old;
        if equal {
            self[cell] = new;
        }
        equal
    }
}

/// What becomes of an operation after a step.
enum Then {
    GoesOn,
    Returns,
    Panics,
}

fn run_step(step: Step, cells: &mut impl Cells, seen: &mut u8) -> Then {
    match step {
        Step::Load(cell) => *seen = cells.load(cell),
        Step::Store(cell, value) => cells.store(cell, value),
        Step::StoreSum(cell, value) => cells.store(cell, seen.wrapping_add(value)),
        Step::Add(cell, value) => *seen = cells.add(cell, value),
        Step::CompareExchange(cell, old, new) => {
            *seen = u8::from(cells.compare_exchange(cell, old, new));
        }
        Step::ReturnIf(value) if *seen == value => return Then::Returns,
        Step::Refuse(value) if *seen == value => return Then::Panics,
        Step::ReturnIf(_) | Step::Refuse(_) => {}
    }
    Then::GoesOn
}

/// The result of all steps in a row; None: they panic.
fn run_all(steps: &[Step], cells: &mut impl Cells) -> Option<u8> {
    let mut seen = 0;
    for &step in steps {
        match run_step(step, cells, &mut seen) {
            Then::GoesOn => {}
            Then::Returns => break,
            Then::Panics => return None,
        }
    }
    Some(seen)
}

#[derive(Debug)]
struct Object {
    cells: [AtomicU8; CELLS],
    /// Whether thread 0 may have a handle.
    main_calls: bool,
}

impl Operate<Object> for Op<false> {
    type Ret = u8;
    type Handle<'a> = &'a Object;
    fn handle(object: &Object, _: Thread) -> &Object {
        object
    }
    fn operate(&self, object: &mut &Object) -> u8 {
        run_all(&self.steps, &mut &object.cells).expect("refused")
    }
}

/// A handle that thread 0 has only where the test gives it something to call.
struct Handle<'a>(&'a [AtomicU8; CELLS]);

impl Operate<Object> for Op<true> {
    type Ret = u8;
    type Handle<'a> = Handle<'a>;
    fn handle(object: &Object, thread: Thread) -> Handle<'_> {
        // The oracle does not know that thread 0 may have no handle: what fails for that is a
        // disagreement.
        assert!(object.main_calls || thread.role.is_some(), "thread 0 calls nothing in this test");
        Handle(&object.cells)
    }
    fn operate(&self, handle: &mut Handle<'_>) -> u8 {
        run_all(&self.steps, &mut handle.0).expect("refused")
    }
}

/// The same, one operation at a time. One that panics has a result that no operation has.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Serial<const HANDLES: bool>([u8; CELLS]);

const NO_RESULT: u8 = 255;

impl<const HANDLES: bool> Sequential for Serial<HANDLES> {
    type Op = Op<HANDLES>;
    type Ret = u8;
    fn apply(&mut self, op: &Op<HANDLES>) -> u8 {
        run_all(&op.steps, &mut self.0).unwrap_or(NO_RESULT)
    }
}

/// Calls by the numbers of their operations.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Scenario {
    before: Vec<usize>,
    lanes: Vec<Vec<usize>>,
    after: Vec<usize>,
}

impl Scenario {
    /// From the text of a report: `before op(1); op(0) | op(1); after op(0)`.
    fn of(text: &str) -> Scenario {
        let calls = |text: &str| {
            let numbers = text.split("op(").skip(1);
            numbers.map(|rest| rest.split(')').next().unwrap().parse().unwrap()).collect()
        };
        let mut scenario = Scenario::default();
        for part in text.split("; ") {
            if let Some(part) = part.strip_prefix("before ") {
                scenario.before = calls(part);
            } else if let Some(part) = part.strip_prefix("after ") {
                scenario.after = calls(part);
            } else if !part.is_empty() {
                scenario.lanes = part.split(" | ").map(calls).collect();
            }
        }
        scenario
    }

    fn calls(&self) -> Vec<usize> {
        let lanes = self.lanes.iter().flatten();
        self.before.iter().chain(lanes).chain(&self.after).copied().collect()
    }

    /// With one call less.
    fn smaller(&self) -> Vec<Scenario> {
        let mut all = Vec::new();
        for i in 0..self.before.len() {
            let mut one = self.clone();
            one.before.remove(i);
            all.push(one);
        }
        for (i, lane) in self.lanes.iter().enumerate() {
            for j in 0..lane.len() {
                let mut one = self.clone();
                one.lanes[i].remove(j);
                one.lanes.retain(|lane| !lane.is_empty());
                all.push(one);
            }
        }
        for i in 0..self.after.len() {
            let mut one = self.clone();
            one.after.remove(i);
            all.push(one);
        }
        all
    }
}

/// A thread of the brute force.
#[derive(Clone)]
struct Lane {
    /// Numbers of its calls.
    calls: Vec<usize>,
    /// Which of them is next or under way, and its step.
    call: usize,
    step: usize,
    seen: u8,
}

#[derive(Clone)]
struct World {
    cells: [u8; CELLS],
    /// When each call made its first and its last access, and its result.
    spans: Vec<Option<(u32, u32, u8)>>,
    time: u32,
}

/// All interleavings of a scenario.
struct Brute<'a> {
    steps: &'a [Vec<Step>],
    /// The operation of each call.
    ops: Vec<usize>,
    kinds: BTreeSet<&'static str>,
}

impl Brute<'_> {
    /// Runs a lane up to after its next access. False: it panics.
    fn advance(&self, world: &mut World, lane: &mut Lane) -> bool {
        let call = lane.calls[lane.call];
        let steps = &self.steps[self.ops[call]];
        let is_access = |step: &Step| !matches!(step, Step::ReturnIf(_) | Step::Refuse(_));
        let mut accessed = false;
        loop {
            let step = steps.get(lane.step).copied();
            if accessed && step.as_ref().is_some_and(is_access) {
                return true;
            }
            let then = match step {
                None => Then::Returns,
                Some(step) => run_step(step, &mut world.cells, &mut lane.seen),
            };
            if step.as_ref().is_some_and(is_access) {
                accessed = true;
                world.time += 1;
                let span = world.spans[call].get_or_insert((world.time, world.time, 0));
                (span.1, span.2) = (world.time, lane.seen);
            }
            lane.step += 1;
            match then {
                Then::GoesOn => {}
                Then::Panics => return false,
                Then::Returns => {
                    world.spans[call].as_mut().expect("operations begin with an access").2 =
                        lane.seen;
                    (lane.call, lane.step, lane.seen) = (lane.call + 1, 0, 0);
                    return true;
                }
            }
        }
    }

    fn explore(&mut self, world: &World, lanes: &[Lane], phases: &[Vec<Lane>]) {
        let mut is_over = true;
        for i in 0..lanes.len() {
            if lanes[i].call == lanes[i].calls.len() {
                continue;
            }
            is_over = false;
            let (mut world, mut lanes) = (world.clone(), lanes.to_vec());
            if self.advance(&mut world, &mut lanes[i]) {
                self.explore(&world, &lanes, phases);
            } else {
                self.kinds.insert("panic");
            }
        }
        match phases.split_first() {
            Some((next, rest)) if is_over => self.explore(world, next, rest),
            None if is_over && !self.is_linearizable(&world.spans) => {
                self.kinds.insert("not linearizable");
            }
            _ => {}
        }
    }

    fn is_linearizable(&self, spans: &[Option<(u32, u32, u8)>]) -> bool {
        fn extend(
            brute: &Brute<'_>,
            spans: &[(u32, u32, u8)],
            taken: u32,
            state: [u8; CELLS],
        ) -> bool {
            let all = spans.len();
            if taken.count_ones() as usize == all {
                return true;
            }
            (0..all).filter(|i| taken >> i & 1 == 0).any(|i| {
                let earlier = |&j: &usize| taken >> j & 1 == 0 && spans[j].1 < spans[i].0;
                let mut state = state;
                !(0..all).any(|j| earlier(&j))
                    && run_all(&brute.steps[brute.ops[i]], &mut state) == Some(spans[i].2)
                    && extend(brute, spans, taken | 1 << i, state)
            })
        }
        let spans: Vec<_> = spans.iter().map(|span| span.expect("all have returned")).collect();
        extend(self, &spans, 0, [0; CELLS])
    }
}

/// The ways in which a scenario can fail.
fn kinds(steps: &[Vec<Step>], scenario: &Scenario) -> BTreeSet<&'static str> {
    let ops = scenario.calls();
    let mut number = 0;
    let mut lane = |calls: &Vec<usize>| {
        let calls: Vec<usize> = calls.iter().map(|_| (number, number += 1).0).collect();
        Lane { calls, call: 0, step: 0, seen: 0 }
    };
    let before = vec![lane(&scenario.before)];
    let lanes = scenario.lanes.iter().map(&mut lane).collect();
    let after = vec![lane(&scenario.after)];
    let spans = vec![None; ops.len()];
    let mut brute = Brute { steps, ops, kinds: BTreeSet::new() };
    let world = World { cells: [0; CELLS], spans, time: 0 };
    brute.explore(&world, &before, &[lanes, after]);
    brute.kinds
}

/// What a test asks for.
#[derive(Clone, Debug)]
struct Test {
    steps: Vec<Vec<Step>>,
    /// The operations of two threads of one role, or of two roles.
    roles: Vec<Vec<usize>>,
    length: usize,
    before: Vec<usize>,
    after: Vec<usize>,
    /// At most as many of operation 1 as of operation 0.
    well_formed: bool,
    /// A thread calls operation 1 only after operation 0.
    ruled: bool,
}

impl Test {
    fn random(rng: &mut Rng) -> Test {
        let operations = 2 + rng.index(2);
        let steps = (0..operations).map(|_| random_steps(rng)).collect();
        let all: Vec<usize> = (0..operations).collect();
        let roles = match rng.percent(30) {
            true => vec![vec![rng.index(operations), 0], vec![rng.index(operations)]],
            false => vec![all],
        };
        let some = |rng: &mut Rng| match rng.percent(30) {
            true => vec![rng.index(operations)],
            false => Vec::new(),
        };
        Test {
            steps,
            roles,
            length: 1 + rng.index(2),
            before: some(rng),
            after: some(rng),
            well_formed: rng.percent(25),
            ruled: rng.percent(25),
        }
    }

    fn op<const HANDLES: bool>(&self, number: usize) -> Op<HANDLES> {
        Op { number, steps: self.steps[number].clone() }
    }

    fn ops<const HANDLES: bool>(&self, numbers: &[usize]) -> Vec<Op<HANDLES>> {
        numbers.iter().map(|&number| self.op(number)).collect()
    }

    fn harness<const HANDLES: bool>(&self) -> Harness<Object, Op<HANDLES>, Explore>
    where
        Op<HANDLES>: Operate<Object, Ret = u8>,
    {
        let main_calls = !self.before.is_empty() || !self.after.is_empty() || self.well_formed;
        let make = move || Object { cells: Default::default(), main_calls };
        let test = explore(make).spec(Serial::<HANDLES>::default()).length(self.length);
        let test = match &self.roles[..] {
            [all] => test.operations(self.ops(all)),
            roles => roles.iter().fold(test, |test, role| test.role(1, self.ops(role))),
        };
        let test = test.before(self.ops(&self.before)).after(self.ops(&self.after));
        let test = match self.well_formed {
            true => test.well_formed(|op: &Op<HANDLES>| op.number == 0, self.op(1)),
            false => test,
        };
        match self.ruled {
            true => test.rule(|calls: &[&Op<HANDLES>]| {
                obeys(&calls.iter().map(|op| op.number).collect::<Vec<_>>())
            }),
            false => test,
        }
    }

    /// Whether a scenario keeps to the options of the test.
    fn allows(&self, scenario: &Scenario) -> bool {
        let main = [&scenario.before[..], &scenario.after[..]].concat();
        let obeys = !self.ruled || obeys(&main) && scenario.lanes.iter().all(|lane| obeys(lane));
        let count = |number| scenario.calls().into_iter().filter(|&n| n == number).count();
        obeys && (!self.well_formed || count(1) <= count(0))
    }

    /// The scenarios that the test asks for, up to the order of threads.
    fn scenarios(&self) -> Vec<Scenario> {
        let rows = |operations: &[usize], length: usize| {
            let mut rows = vec![Vec::new()];
            for _ in 0..length {
                let longer =
                    |row: Vec<usize>| operations.iter().map(move |&op| [&row[..], &[op]].concat());
                rows = rows.into_iter().flat_map(longer).collect();
            }
            rows
        };
        let mut all = Vec::new();
        for length in 1..=self.length {
            let second = self.roles.last().unwrap();
            for one in rows(&self.roles[0], length) {
                for other in rows(second, length) {
                    let mut scenario = Scenario {
                        before: self.before.clone(),
                        lanes: vec![one.clone(), other],
                        after: self.after.clone(),
                    };
                    let count =
                        |number| scenario.calls().into_iter().filter(|&n| n == number).count();
                    if self.well_formed {
                        let Some(missing) = count(0).checked_sub(count(1)) else { continue };
                        scenario.after.extend(std::iter::repeat_n(1, missing));
                    }
                    all.push(scenario);
                }
            }
        }
        all.retain(|scenario| self.allows(scenario));
        all
    }
}

fn obeys(calls: &[usize]) -> bool {
    calls.first() != Some(&1)
}

fn random_steps(rng: &mut Rng) -> Vec<Step> {
    let cell = |rng: &mut Rng| rng.index(CELLS);
    let value = |rng: &mut Rng| rng.index(3) as u8;
    let mut steps = Vec::new();
    for i in 0..1 + rng.index(3) {
        let step = match rng.index(if i == 0 { 5 } else { 8 }) {
            0 | 1 => Step::Load(cell(rng)),
            2 => Step::Add(cell(rng), 1),
            3 => Step::Store(cell(rng), value(rng)),
            4 => Step::CompareExchange(cell(rng), value(rng), value(rng)),
            5 => Step::StoreSum(cell(rng), 1),
            6 => Step::ReturnIf(value(rng)),
            _ if rng.percent(40) => Step::Refuse(1 + value(rng)),
            _ => Step::Load(cell(rng)),
        };
        steps.push(step);
    }
    steps
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Panic => "panic",
        Kind::NotLinearizable => "not linearizable",
        _ => "other",
    }
}

/// Holds what the harness says of a test against brute force. Whether the test fails.
fn compare<const HANDLES: bool>(test: &Test, scenarios: &[Scenario], seed: u64) -> bool
where
    Op<HANDLES>: Operate<Object, Ret = u8>,
{
    let context = format!("seed {seed}: {test:?}, handles: {HANDLES}");
    let outcome = test.harness::<HANDLES>().run();
    let fails = scenarios.iter().any(|scenario| !kinds(&test.steps, scenario).is_empty());
    assert_eq!(outcome.holds(), !fails, "{context}: {outcome}");
    let Some(failure) = outcome.failure() else { return false };
    let scenario = Scenario::of(&failure.scenario);
    let kind = name(failure.kind);
    assert!(test.allows(&scenario), "{context}: {scenario:?} is not asked for, {outcome}");
    assert!(kinds(&test.steps, &scenario).contains(kind), "{context}: {outcome}");
    for smaller in scenario.smaller().iter().filter(|smaller| test.allows(smaller)) {
        // A well-formed scenario ends with the removals that are missing.
        let is_complete = !test.well_formed
            || smaller
                .calls()
                .iter()
                .filter(|&&call| call < 2)
                .fold(0, |sum, &call| if call == 0 { sum + 1 } else { sum - 1 })
                == 0;
        let fails_so = is_complete && kinds(&test.steps, smaller).contains(kind);
        assert!(!fails_so, "{context}: {smaller:?} fails so, too: {outcome}");
    }
    let replayed = test.harness::<HANDLES>().replay(failure.replay.clone().unwrap()).run();
    let again = replayed.failure().unwrap_or_else(|| panic!("{context}: {replayed}"));
    assert_eq!((again.kind, &again.scenario), (failure.kind, &failure.scenario), "{context}");
    let told = |outcome: &Outcome<Failure<Op<HANDLES>, u8>, Counts>| {
        outcome.failure().map(|f| (f.kind, f.scenario.clone(), f.replay.clone()))
    };
    let workers = 2 + seed as usize % 2;
    let alone = test.harness::<HANDLES>().as_found().run();
    let several = test.harness::<HANDLES>().as_found().workers(workers).run();
    assert!(told(&alone).is_some(), "{context}: {alone}");
    assert_eq!(told(&several), told(&alone), "{context}");
    // A sample may miss the failure; with several workers it finds the same as with one.
    let sample = || test.harness::<HANDLES>().as_found().sample(Sampler::Random, seed, 60);
    let (alone, several) = (sample().run(), sample().workers(workers).run());
    assert_eq!(told(&several), told(&alone), "{context}, sampled");
    true
}

#[test]
fn what_the_harness_says_of_random_tests_is_what_brute_force_says() {
    let cases = rng::seeds(150).cases();
    let (mut failing, mut holding) = (0, 0);
    for seed in rng::seeds(150) {
        let test = Test::random(&mut Rng::new(seed));
        let scenarios = test.scenarios();
        if scenarios.is_empty() {
            continue;
        }
        let fails = match seed % 3 {
            0 => compare::<true>(&test, &scenarios, seed),
            _ => compare::<false>(&test, &scenarios, seed),
        };
        if fails { failing += 1 } else { holding += 1 }
    }
    assert!(failing * 5 > cases && holding * 5 > cases, "{failing}, {holding}");
}
