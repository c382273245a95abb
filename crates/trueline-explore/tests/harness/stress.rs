//! The same tests on real threads.

use std::time::{Duration, Instant};

use trueline_explore::harness::{Kind, Verdict};
use trueline_explore::{operations, stress};

/// Not built over the shadow: real threads need none.
#[derive(Default)]
struct Counter(std::sync::atomic::AtomicU32);

impl Counter {
    fn add(&self) -> u32 {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
    }
    fn lossy_add(&self) -> u32 {
        use std::sync::atomic::Ordering::SeqCst;
        let seen = self.0.load(SeqCst);
        // Long enough for another thread to come between, on any machine.
        std::thread::sleep(Duration::from_micros(20));
        self.0.store(seen + 1, SeqCst);
        seen
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
    fn lossy_add(&mut self) -> u32 {
        self.add()
    }
    fn panics(&mut self) {}
    fn hangs(&mut self) {}
}

operations! {
    enum Op -> Ret for Counter, Tally {
        add() -> u32;
        lossy_add() -> u32;
        panics();
        hangs();
    }
}

#[test]
fn a_correct_counter_passes_thousands_of_rounds() {
    let start = Instant::now();
    let outcome = stress(Counter::default)
        .spec(Tally::default())
        .operations([Op::add()])
        .threads(2)
        .length(3)
        .invariant(|counter| counter.0.load(std::sync::atomic::Ordering::SeqCst) <= 6)
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
        .length(3)
        .before([Op::add()])
        .after([Op::add()])
        .rounds(2000)
        .run();
    assert!(matches!(outcome.verdict, Verdict::NothingFound), "{outcome}");
    assert_eq!(outcome.counts.executions, 2000);
    assert!(outcome.counts.checks < 2000, "identical histories are checked once: {outcome}");
    println!("{outcome} in {:?}", start.elapsed());
}

#[test]
fn a_lost_update_is_found_and_minimised_on_real_threads() {
    let outcome = stress(Counter::default)
        .spec(Tally::default())
        .operations([Op::lossy_add(), Op::add()])
        .threads(3)
        .length(2)
        .rounds(4000)
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable);
    assert!(failure.replay.as_ref().is_some_and(|replay| replay.ends_with("@stress")));
    let operations = failure.history.as_ref().map_or(0, |history| history.len());
    assert!(operations <= 3, "{outcome}");
}

#[test]
fn panics_and_hangs_are_verdicts_on_real_threads_too() {
    let test = |op: Op| {
        stress(Counter::default)
            .spec(Tally::default())
            .program([vec![Op::add(), op], vec![Op::add()]])
            .rounds(10)
            .patience(Duration::from_millis(300))
            .run()
    };
    let outcome = test(Op::panics());
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Panic);
    assert!(failure.sentence.starts_with("`panics()` panics: panic at"), "{outcome}");
    assert!(failure.sentence.ends_with("as it should"), "{outcome}");
    let outcome = test(Op::hangs());
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Stuck);
    assert!(failure.sentence.starts_with("`hangs()` of thread 1 waits for ever"), "{outcome}");
}
