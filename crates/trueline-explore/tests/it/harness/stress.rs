//! The same tests on real threads. What is asserted holds whatever schedule they show: where a
//! fault needs two operations that overlap, the object itself makes them meet.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use trueline_explore::harness::{Kind, Operate, Thread, Verdict};
use trueline_explore::{operations, stress};

/// Not built over the shadow: real threads need none.
#[derive(Default)]
struct Counter(AtomicU32);

impl Counter {
    fn add(&self) -> u32 {
        self.0.fetch_add(1, SeqCst)
    }
    fn panics(&self) {
        panic!("as it should");
    }
    fn hangs(&self) {
        loop {
            std::thread::park();
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Tally(u32);

impl Tally {
    fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
    fn panics(&mut self) {}
    fn hangs(&mut self) {}
}

operations! {
    enum Op -> Ret for Counter, Tally {
        add() -> u32;
        panics();
        hangs();
    }
}

/// A counter that loses updates whenever two of them overlap, and sees to it that they do.
#[derive(Default)]
struct Lossy {
    value: AtomicU32,
    /// Threads that may still call something.
    threads: AtomicUsize,
    /// Updates that have been called, and those that have read.
    met: AtomicUsize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Update;

/// What a thread has of a counter. It counts from before the first operation of any thread to after
/// the last one of its own.
struct Visit<'a> {
    counter: &'a Lossy,
    is_main: bool,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        if !self.is_main {
            self.counter.threads.fetch_sub(1, SeqCst);
        }
    }
}

impl Operate<Lossy> for Update {
    type Ret = u32;
    type Handle<'a> = Visit<'a>;

    fn handle(counter: &Lossy, thread: Thread) -> Visit<'_> {
        let is_main = thread.index == 0;
        counter.threads.fetch_add(usize::from(!is_main), SeqCst);
        Visit { counter, is_main }
    }

    fn operate(&self, visit: &mut Visit<'_>) -> u32 {
        let counter = visit.counter;
        let seen = counter.value.load(SeqCst);
        let met = counter.met.fetch_add(1, SeqCst) + 1;
        // Until a second one has read, or nobody is left who could.
        while counter.met.load(SeqCst) == met.min(1) && counter.threads.load(SeqCst) > 1 {
            std::thread::yield_now();
        }
        counter.value.store(seen + 1, SeqCst);
        seen
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Updates(u32);

impl trueline::Sequential for Updates {
    type Op = Update;
    type Ret = u32;

    fn apply(&mut self, _: &Update) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}

#[test]
fn a_correct_counter_passes_thousands_of_rounds() {
    let outcome = stress(Counter::default)
        .spec(Tally::default())
        .operations([Op::add()])
        .threads(2)
        .length(3)
        .invariant(|counter| counter.0.load(SeqCst) <= 6)
        .before([Op::add()])
        .after([Op::add()])
        .rounds(2000)
        .run();
    // 1 before, 2 x 3, 1 after: the invariant fails where it is asked at the end.
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Invariant);
    let outcome = stress(Counter::default)
        .spec(Tally::default())
        .operations([Op::add()])
        .threads(2)
        .length(1)
        .before([Op::add()])
        .after([Op::add()])
        .rounds(2000)
        .run();
    assert!(
        matches!(&outcome.verdict, Verdict::Undecided(why) if why.code == "sample"),
        "{outcome}"
    );
    assert_eq!(outcome.counts.executions, 2000);
    // Two operations have at most 6 orders of their events, with 2 results each; a scenario is run
    // 100 times.
    let most = 2000 / 100 * 6 * 2;
    assert!(outcome.counts.checks <= most, "identical histories are checked once: {outcome}");
}

#[test]
fn a_lost_update_is_found_and_minimised_on_real_threads() {
    let outcome = stress(Lossy::default)
        .spec(Updates::default())
        .program([[Update, Update], [Update, Update]])
        .rounds(100)
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable);
    assert!(failure.replay.as_ref().is_some_and(|replay| replay.ends_with("@stress")));
    let operations = failure.history.as_ref().map_or(0, |history| history.len());
    assert_eq!(operations, 2, "{outcome}");
    assert_eq!(failure.scenario, "Update | Update");
}

#[test]
fn panics_and_hangs_are_verdicts_on_real_threads_too() {
    let test = |op: Op| {
        stress(Counter::default).spec(Tally::default()).program([[Op::add(), op]]).rounds(10)
    };
    let outcome = test(Op::panics()).run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Panic);
    assert!(failure.sentence.starts_with("`panics()` panics: panic at"), "{outcome}");
    assert!(failure.sentence.ends_with("as it should"), "{outcome}");
    let outcome = test(Op::hangs()).patience(Duration::from_millis(300)).run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Stuck);
    assert!(failure.sentence.starts_with("`hangs()` of thread 1 waits for ever"), "{outcome}");
}
