//! Failures that are not violations: panics, invariants, specifications that panic, objects that
//! disagree with themselves.

use trueline_explore::harness::{Kind, Verdict};
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueline_explore::{explore, operations};

#[derive(Default)]
struct Counter(AtomicU32);

impl Counter {
    fn add(&self) -> u32 {
        self.0.fetch_add(1, SeqCst)
    }
    fn torn_add(&self) -> u32 {
        let seen = self.0.load(SeqCst);
        assert_eq!(self.0.swap(seen + 1, SeqCst), seen, "somebody came between");
        seen
    }
    fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Tally(u32);

impl Tally {
    fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
    fn torn_add(&mut self) -> u32 {
        self.add()
    }
    fn get(&mut self) -> u32 {
        assert!(self.0 < 2, "this tally counts to one");
        self.0
    }
}

operations! {
    enum Op -> Ret for Counter, Tally {
        add() -> u32;
        torn_add() -> u32;
        get() -> u32;
    }
}

#[test]
fn an_operation_that_panics_is_a_verdict_of_its_own() {
    let outcome = explore(Counter::default)
        .spec(Tally::default())
        .operations([Op::add(), Op::torn_add()])
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!((failure.kind, &*failure.scenario), (Kind::Panic, "add() | torn_add()"));
    assert!(failure.sentence.starts_with("`torn_add()` panics"), "{outcome}");
    assert!(outcome.to_string().contains("somebody came between"), "{outcome}");
}

#[test]
fn an_invariant_is_asked_when_nothing_is_under_way() {
    let test = |program: [[Op; 1]; 2]| {
        explore(Counter::default)
            .spec(Tally::default())
            .program(program)
            .invariant(|counter| counter.get() < 2)
            .run()
    };
    assert!(test([[Op::add()], [Op::get()]]).holds());
    let outcome = test([[Op::add()], [Op::add()]]);
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Invariant);
    let outcome = explore(Counter::default)
        .spec(Tally::default())
        .program([[Op::add()]])
        .invariant(|counter| assert_eq!(counter.get(), 0, "it should be zero"))
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Invariant);
    assert!(failure.sentence.contains("it should be zero"), "{outcome}");
}

#[test]
fn a_specification_that_panics_is_an_error_that_names_the_operation() {
    let outcome = explore(Counter::default)
        .spec(Tally::default())
        .program([[Op::add(), Op::add(), Op::get()]])
        .run();
    let Some(what) = outcome.error() else { panic!("{outcome}") };
    assert!(what.starts_with("the specification fails at `get()` in the state Tally(2): panic at"));
    assert!(what.contains("failures.rs") && what.ends_with("this tally counts to one"), "{what}");
}

#[test]
fn nothing_to_run_is_an_error() {
    let outcome = explore(Counter::default).spec(Tally::default()).run();
    assert!(outcome.error().is_some(), "{outcome}");
    assert!(!outcome.passes());
}

#[test]
fn a_limit_that_is_met_is_no_pass() {
    let outcome = explore(Counter::default)
        .spec(Tally::default())
        .program([[Op::add(), Op::add()], [Op::add(), Op::add()]])
        .executions(3)
        .run();
    assert!(
        matches!(&outcome.verdict, Verdict::Undecided(why) if why.code == "incomplete")
            && !outcome.passes(),
        "{outcome}"
    );
}

operations! {
    enum Own -> OwnRet for Counter {
        add() -> u32;
        get() -> u32;
        lossy_add() -> u32 = |counter| {
            let seen = counter.0.load(SeqCst);
            counter.0.store(seen + 1, SeqCst);
            seen
        };
    }
}

#[test]
fn an_object_is_its_own_specification_where_none_is_given() {
    let outcome = explore(Counter::default).operations([Own::add(), Own::get()]).length(3).run();
    assert!(outcome.holds(), "{outcome}");
    let outcome = explore(Counter::default).operations([Own::get(), Own::lossy_add()]).run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable);
    assert_eq!(failure.scenario, "lossy_add() | lossy_add()");
}

#[test]
fn an_object_that_disagrees_with_itself_needs_a_specification() {
    struct Moody;
    static MOOD: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    impl Moody {
        fn ask(&self) -> u32 {
            MOOD.fetch_add(1, SeqCst)
        }
    }
    operations! { enum Op -> Ret for Moody { ask() -> u32; } }
    let outcome = explore(|| Moody).program([[Op::ask()]]).run();
    let Some(what) = outcome.error() else { panic!("{outcome}") };
    assert!(what.contains("`ask()` gave") && what.contains("give one with .spec"), "{what}");
}

#[test]
fn a_race_is_a_failure_with_both_lines() {
    struct Racy(UnsafeCell<u32>);
    // SAFETY: the test wants the race, and explores it: only one thread at a time runs.
    unsafe impl Sync for Racy {}
    impl Racy {
        fn add(&self) {
            // SAFETY: as above.
            self.0.with_mut(|p| unsafe { *p += 1 });
        }
    }
    operations! { enum Op -> Ret for Racy { add(); } }
    let outcome = explore(|| Racy(UnsafeCell::new(0))).operations([Op::add()]).run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!((failure.kind, &*failure.scenario), (Kind::Race, "add() | add()"));
    assert!(outcome.to_string().matches("failures.rs").count() >= 2, "{outcome}");
    // Both accesses are among the steps.
    assert_eq!(outcome.to_string().matches("plain write @1").count(), 2, "{outcome}");
}

/// What is done through a raw pointer is known only later; the step stands where the pointer was
/// taken.
#[test]
fn accesses_to_plain_memory_are_among_the_steps_of_their_operations() {
    struct Racy {
        ready: AtomicU32,
        value: UnsafeCell<u32>,
    }
    // SAFETY: the test wants the race, and explores it: only one thread at a time runs.
    unsafe impl Sync for Racy {}
    impl Racy {
        fn put(&self) {
            // SAFETY: as above.
            unsafe { *self.value.get() = 7 };
            self.ready.store(1, SeqCst);
            // SAFETY: as above.
            unsafe { *self.value.get() = 8 };
        }
        fn get(&self) -> u32 {
            // SAFETY: as above.
            if self.ready.load(SeqCst) == 0 { 0 } else { unsafe { *self.value.get() } }
        }
    }
    operations! { enum Op -> Ret for Racy { put(); get() -> u32; } }
    let new = || Racy { ready: AtomicU32::new(0), value: UnsafeCell::new(0) };
    let outcome = explore(new).program([vec![Op::put()], vec![Op::get()]]).run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::Race);
    let text = outcome.to_string();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}:\n{text}"));
    assert!(at("put()") < at("plain write @1") && at("plain write @1") < at("store @2: 0 -> 1"));
    assert!(at("load @2 = 1") < at("plain read @1"), "{text}");
}

#[test]
fn each_of_three_threads_has_a_header_and_a_margin() {
    let program = [vec![Own::lossy_add()], vec![Own::lossy_add()], vec![Own::lossy_add()]];
    let outcome = explore(Counter::default).program(program).as_found().run();
    let text = outcome.to_string();
    let columns = |line: &str| {
        let all = ["thread 1", "thread 2", "thread 3"].map(|name| line.find(name));
        all.into_iter().collect::<Option<Vec<usize>>>().filter(|all| all.is_sorted())
    };
    let steps = text.lines().skip_while(|line| columns(line).is_none());
    let header = steps.clone().next().and_then(columns).unwrap_or_else(|| panic!("{text}"));
    for margin in &header {
        let starts = |line: &str| line.find(|c: char| c != ' ') == Some(*margin);
        assert!(steps.clone().skip(1).any(starts), "nothing at column {margin}:\n{text}");
    }
    assert!(header[1] - header[0] >= 8 && header[2] - header[1] >= 8, "{text}");
}

#[test]
fn a_failure_is_replayed_by_its_text() {
    let failing = || {
        explore(Counter::default)
            .spec(Tally::default())
            .operations([Op::add(), Op::torn_add()])
            .name("failures::a_failure_is_replayed_by_its_text")
    };
    let outcome = failing().run();
    let replay = outcome.failure().and_then(|f| f.replay.clone()).expect("it fails");
    let again = format!("TRUELINE_REPLAY='{replay}' cargo test failures::a_failure_is_replayed");
    assert!(outcome.to_string().contains(&again), "{outcome}");
    let replayed = failing().replay(&replay).run();
    let failure = replayed.failure().unwrap_or_else(|| panic!("{replayed}"));
    assert_eq!(failure.kind, Kind::Panic);
    assert_eq!(replayed.counts.executions, 1);
    assert_eq!(failure.replay.as_ref(), Some(&replay));
    let other = explore(Counter::default).operations([Own::get()]).replay(&replay).run();
    assert!(other.holds(), "a replay of another test is none of this one's: {other}");
    let bad = failing().replay("h1:rubbish").run();
    assert!(bad.error().is_some(), "{bad}");
}

#[test]
fn a_scenario_that_failed_is_kept_and_run_first() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("regressions");
    let _ = std::fs::remove_dir_all(&directory);
    let test = |operations: Vec<Own>| {
        let test = explore(Counter::default).operations(operations).name("own::kept");
        test.regressions_in(&directory).run()
    };
    let all = || vec![Own::add(), Own::get(), Own::lossy_add()];
    let first = test(all());
    assert!(first.failure().is_some() && first.counts.scenarios > 1, "{first}");
    let file = directory.join("own-kept.txt");
    let kept = std::fs::read_to_string(&file).expect("it was kept");
    assert!(kept.contains("/0,2/ = add() | lossy_add()"), "{kept}");
    assert!(first.to_string().contains("own-kept.txt"), "{first}");
    let second = test(all());
    assert!(second.failure().is_some() && second.counts.scenarios == 1, "{second}");
    // Other operations under the same numbers: the line is stale, and passed over.
    let third = test(vec![Own::add(), Own::get()]);
    assert!(third.holds(), "{third}");
    assert_eq!(std::fs::read_to_string(&file).ok(), Some(kept));
}

/// Only full matrices were run, with two calls of each of two threads: two calls or four, never
/// three.
#[test]
fn an_invariant_that_only_an_uneven_program_violates_is_asked() {
    let test = || {
        explore(Counter::default)
            .spec(Tally::default())
            .operations([Op::add()])
            .threads(2)
            .length(2)
    };
    for (bad, scenario) in [(3, 3), (1, 1)] {
        let outcome = test().invariant(move |counter| counter.get() != bad).run();
        let failure = outcome.failure().expect("some program adds up to it");
        assert_eq!(failure.kind, Kind::Invariant, "{outcome}");
        assert_eq!(failure.scenario.matches("add()").count(), scenario, "{outcome}");
    }
    let outcome = test().invariant(|counter| counter.get() <= 4).run();
    let text = outcome.to_string();
    assert!(text.contains("holds: all scenarios up to 2 threads x 2 operations"), "{text}");
    assert!(text.contains("; 5 scenarios, "), "{text}");
}
