//! Loops that look, and give up or look again: what counts is the state of the thread, not what it
//! says with hints.

mod spurious;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Mutex as RealMutex, PoisonError};
use std::time::Duration;

use trueline_explore::engine::{Assumption, Exploration, Report, Stop};
use trueline_explore::memory::untracked;
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use trueline_explore::std::sync::{Arc, Mutex};
use trueline_explore::std::{hint, thread, time};
use trueline_explore::{explore, operations};

/// What a loop says after a round in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hint {
    Nothing,
    SpinLoop,
    YieldNow,
}

const HINTS: [Hint; 3] = [Hint::Nothing, Hint::SpinLoop, Hint::YieldNow];

impl Hint {
    fn give(self) {
        match self {
            Hint::Nothing => (),
            Hint::SpinLoop => hint::spin_loop(),
            Hint::YieldNow => thread::yield_now(),
        }
    }
}

/// Two slots, looked at in turn until something is there or the mailbox is closed.
struct Mail {
    hint: Hint,
    closed: AtomicBool,
    slots: [AtomicU32; 2],
}

impl Mail {
    fn new(hint: Hint) -> Mail {
        Mail { hint, closed: AtomicBool::new(false), slots: Default::default() }
    }

    fn put(&self, slot: usize, value: u32) {
        self.slots[slot].store(value, SeqCst);
    }

    fn close(&self) {
        self.closed.store(true, SeqCst);
    }

    fn take(&self) -> Option<u32> {
        self.take_and_say().map(|(value, _)| value)
    }

    /// Also says whether it has looked in vain before.
    fn take_and_say(&self) -> Option<(u32, bool)> {
        let mut in_vain = false;
        loop {
            for slot in &self.slots {
                if self.closed.load(SeqCst) {
                    return None;
                }
                let value = slot.swap(0, SeqCst);
                if value != 0 {
                    return Some((value, in_vain));
                }
            }
            in_vain = true;
            self.hint.give();
        }
    }

    fn try_take(&self) -> Option<u32> {
        for _ in 0..3 {
            let value = self.slots[0].swap(0, SeqCst);
            if value != 0 {
                return Some(value);
            }
            self.hint.give();
        }
        None
    }
}

operations! {
    enum Op -> Ret for Mail {
        put(slot: usize, value: u32);
        take() -> Option<u32>;
        try_take() -> Option<u32>;
    }
}

/// What a body notes in all its executions.
fn outcomes<T: Ord + Clone + Send>(
    exploration: &Exploration,
    body: impl Fn() -> T + Sync,
) -> (Report, BTreeSet<T>) {
    let seen = RealMutex::new(BTreeSet::new());
    let report = exploration.run(|| {
        let outcome = body();
        untracked(|| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome.clone());
        });
    });
    (report, seen.into_inner().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn two_slots_looked_at_in_turn_are_not_stuck() {
    for hint in HINTS {
        for slot in [0, 1] {
            let outcome = explore(move || Mail::new(hint))
                .program([vec![Op::take()], vec![Op::put(slot, 7)]])
                .run();
            assert!(outcome.holds(), "{hint:?}, slot {slot}: {outcome}");
        }
    }
}

#[test]
fn a_letter_found_after_a_round_in_vain_is_seen_with_and_without_a_hint() {
    let mut all = BTreeSet::new();
    for hint in HINTS {
        let (report, seen) = outcomes(&Exploration::new(), || {
            let mail = Arc::new(Mail::new(hint));
            let theirs = Arc::clone(&mail);
            let taker = thread::spawn(move || theirs.take_and_say());
            mail.put(0, 7);
            mail.close();
            taker.join().unwrap()
        });
        assert!(report.holds(), "{hint:?}: {report}");
        assert_eq!(seen, BTreeSet::from([None, Some((7, false)), Some((7, true))]), "{hint:?}");
        all.insert(seen);
    }
    assert_eq!(all.len(), 1);
}

#[test]
fn a_bounded_spin_alone_gives_up() {
    for hint in HINTS {
        let (report, seen) = outcomes(&Exploration::new(), || Mail::new(hint).try_take());
        assert!(report.holds(), "{hint:?}: {report}");
        assert_eq!(seen, BTreeSet::from([None]), "{hint:?}");
    }
}

#[test]
fn a_bounded_spin_gives_up_with_and_without_a_hint() {
    let mut executions = BTreeSet::new();
    for hint in HINTS {
        let outcome = explore(move || Mail::new(hint))
            .operations([Op::put(0, 1), Op::try_take()])
            .threads(2)
            .length(1)
            .run();
        assert!(outcome.holds(), "{hint:?}: {outcome}");
        executions.insert(outcome.counts.executions);
        let (report, seen) = outcomes(&Exploration::new(), || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&flag);
            let waiter = thread::spawn(move || {
                for round in 0..3 {
                    if theirs.load(SeqCst) {
                        return Some(round);
                    }
                    hint.give();
                }
                None
            });
            flag.store(true, SeqCst);
            waiter.join().unwrap()
        });
        assert!(report.holds(), "{hint:?}: {report}");
        assert_eq!(seen, BTreeSet::from([None, Some(0), Some(1), Some(2)]), "{hint:?}");
    }
    assert_eq!(executions.len(), 1, "a hint changes the number of executions: {executions:?}");
}

#[test]
fn a_mutex_that_is_tried_before_it_is_waited_for_holds() {
    for hint in HINTS {
        let (report, seen) = outcomes(&Exploration::new(), || {
            let counter = Arc::new(Mutex::new(0));
            let theirs = Arc::clone(&counter);
            let add = move |counter: &Mutex<u32>| {
                for _ in 0..2 {
                    if let Ok(mut value) = counter.try_lock() {
                        *value += 1;
                        return false;
                    }
                    hint.give();
                }
                *counter.lock().unwrap() += 1;
                true
            };
            let other = thread::spawn(move || add(&theirs));
            let waited = [add(&counter), other.join().unwrap()];
            assert_eq!(*counter.lock().unwrap(), 2);
            waited
        });
        assert!(report.holds(), "{hint:?}: {report}");
        let expected = [[false, false], [false, true], [true, false]];
        assert_eq!(seen, BTreeSet::from(expected), "{hint:?}");
    }
}

#[test]
fn a_compare_exchange_loop_with_a_hint_is_no_livelock() {
    for hint in HINTS {
        let report = Exploration::new().run(|| {
            let x = AtomicU32::new(0);
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let mut seen = x.load(SeqCst);
                        while let Err(now) = x.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
                            seen = now;
                            hint.give();
                        }
                    });
                }
            });
            assert_eq!(x.load(SeqCst), 2);
        });
        assert!(report.holds(), "{hint:?}: {report}");
        assert_eq!(report.executions, 4, "{hint:?}");
    }
}

struct Spawning(AtomicU32);

impl Spawning {
    fn set(&self) {
        thread::scope(|scope| {
            scope.spawn(|| self.0.store(1, SeqCst));
        });
    }

    fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

mod spawning {
    use super::Spawning;

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    pub(super) struct Register(u32);

    impl Register {
        fn set(&mut self) {
            self.0 = 1;
        }

        fn get(&mut self) -> u32 {
            self.0
        }
    }

    trueline_explore::operations! {
        pub(super) enum Op -> Ret for Spawning, Register {
            set();
            get() -> u32;
        }
    }
}

#[test]
fn an_operation_that_spawns_a_thread_and_joins_it_is_linearizable() {
    let outcome = explore(|| Spawning(AtomicU32::new(0)))
        .spec(spawning::Register::default())
        .operations([spawning::Op::set(), spawning::Op::get()])
        .threads(2)
        .length(2)
        .run();
    assert!(outcome.holds(), "{outcome}");
}

/// Where a loop keeps the number of its rounds.
#[derive(Clone, Copy, Debug)]
enum Place {
    Stack,
    Heap,
    /// A `Cell` that another part of the program owns.
    Shared,
    ThreadLocal,
    /// A variable of the thread that waits for this one.
    Borrowed,
}

trueline_explore::thread_local! {
    static ROUNDS: Cell<u32> = Cell::new(0);
}

/// Looks at a flag up to four times. Its own frame does not show how often it has looked.
#[inline(never)]
fn look_four_times(flag: &AtomicBool, hint: Hint, rounds: &Cell<u32>) -> Option<u32> {
    loop {
        if flag.load(SeqCst) {
            return Some(rounds.get());
        }
        rounds.set(rounds.get() + 1);
        if rounds.get() == 4 {
            return None;
        }
        hint.give();
    }
}

fn count_rounds(place: Place, flag: &AtomicBool, hint: Hint, borrowed: &mut u32) -> Option<u32> {
    match place {
        Place::Stack => look_four_times(flag, hint, &Cell::new(0)),
        Place::Heap => {
            let rounds = std::hint::black_box(Box::new(Cell::new(0)));
            look_four_times(flag, hint, &rounds)
        }
        Place::Shared => {
            let rounds = std::rc::Rc::new(Cell::new(0));
            let shared = std::hint::black_box(std::rc::Rc::clone(&rounds));
            look_four_times(flag, hint, &shared)
        }
        Place::ThreadLocal => ROUNDS.with(|rounds| look_four_times(flag, hint, rounds)),
        Place::Borrowed => look_four_times(flag, hint, Cell::from_mut(borrowed)),
    }
}

#[test]
fn a_loop_that_counts_outside_of_its_stack_is_not_taken_to_spin() {
    for place in [Place::Stack, Place::Heap, Place::Shared, Place::ThreadLocal, Place::Borrowed] {
        for hint in HINTS {
            let (report, seen) = outcomes(&Exploration::new(), || {
                let flag = AtomicBool::new(false);
                let mut borrowed = 0;
                let found = thread::scope(|scope| {
                    let looks = || count_rounds(place, &flag, hint, &mut borrowed);
                    let looking = scope.spawn(looks);
                    flag.store(true, SeqCst);
                    looking.join().unwrap()
                });
                (found, borrowed)
            });
            let found: BTreeSet<Option<u32>> = seen.iter().map(|outcome| outcome.0).collect();
            let expected = BTreeSet::from([None, Some(0), Some(1), Some(2), Some(3)]);
            assert_eq!(found, expected, "{place:?}, {hint:?}");
            assert!(report.holds(), "{place:?}, {hint:?}: {report}");
        }
    }
}

#[test]
fn a_loop_that_waits_and_writes_to_the_heap_what_is_there_spins() {
    for hint in HINTS {
        let report = Exploration::new().run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&flag);
            let waiter = thread::spawn(move || {
                let last = std::hint::black_box(Box::new(Cell::new(true)));
                while !theirs.load(SeqCst) {
                    last.set(false);
                    hint.give();
                }
            });
            flag.store(true, SeqCst);
            waiter.join().unwrap();
        });
        assert!(report.holds(), "{hint:?}: {report}");
    }
}

#[test]
fn a_loop_that_never_repeats_its_state_is_not_complete() {
    for hint in HINTS {
        let report = Exploration::new().events(60).run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&flag);
            let waiter = thread::spawn(move || {
                let mut rounds = 0;
                while !theirs.load(SeqCst) {
                    rounds = std::hint::black_box(rounds + 1);
                    hint.give();
                }
            });
            flag.store(true, SeqCst);
            waiter.join().unwrap();
        });
        assert!(!report.holds(), "{hint:?}: {report}");
        assert_eq!(report.scope.stopped, Some(Stop::Length(60)), "{hint:?}: {report}");
        assert!(report.to_string().contains("incomplete"), "{hint:?}: {report}");
    }
}

/// How long a thread slept depends on how often it looked, which is not explored to the end.
#[test]
fn a_loop_that_sleeps_is_complete_unless_the_clock_is_looked_at_afterwards() {
    let sleeps = |looks: bool| {
        Exploration::new().run(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&flag);
            let waiter = thread::spawn(move || {
                while !theirs.load(SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
                looks.then(time::Instant::now)
            });
            flag.store(true, SeqCst);
            waiter.join().unwrap();
        })
    };
    let report = sleeps(false);
    assert!(report.holds(), "{report}");
    assert!(!report.to_string().contains("virtual time"), "{report}");
    let report = sleeps(true);
    assert_eq!(report.scope.assumed, Some(Assumption::Time), "{report}");
    assert!(!report.holds() && !report.to_string().contains("complete"), "{report}");
}

/// How often a loop looks before a deadline depends on the clock, of which one is tried.
#[test]
fn a_loop_until_a_deadline_is_complete_in_virtual_time() {
    for workers in [1, 2] {
        let report = Exploration::new().workers(workers).run(|| {
            let (flag, start) = (AtomicBool::new(false), time::Instant::now());
            thread::scope(|scope| {
                scope.spawn(|| flag.store(true, SeqCst));
                while !flag.load(SeqCst) && start.elapsed() < Duration::from_micros(9) {}
            });
        });
        assert!(report.holds() && report.scope.clock, "{report}");
        assert!(report.to_string().contains("; virtual time; complete;"), "{report}");
    }
}

/// A hint in vain does not make a search longer than one without.
#[test]
fn a_lock_that_spins_with_a_hint_takes_as_many_executions_as_one_without() {
    let executions = HINTS.map(|hint| {
        let report = Exploration::new().run(|| {
            let (lock, value) = (AtomicBool::new(false), AtomicU32::new(0));
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        while lock.swap(true, SeqCst) {
                            hint.give();
                        }
                        value.store(value.load(SeqCst) + 1, SeqCst);
                        lock.store(false, SeqCst);
                    });
                }
            });
            assert_eq!(value.load(SeqCst), 2);
        });
        assert!(report.holds(), "{hint:?}: {report}");
        report.executions
    });
    assert!(executions.iter().all(|&n| n == executions[0]), "{executions:?}");
}
