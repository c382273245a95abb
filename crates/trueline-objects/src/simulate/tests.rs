//! Simulations of objects that are made for these tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use trueline::budget::Meter;
use trueline::rng::{Rng, seeds};
use trueline::{Budget, Value};
use trueline_report::Section;

use super::subject::Concurrent;
use super::*;

#[track_caller]
fn run(entry: &Entry, request: Request) -> Simulated {
    entry.run(&request).unwrap_or_else(|error| panic!("{}: {error}", entry.name))
}

fn cases(text: &str) -> Vec<Case> {
    program::cases(text).unwrap()
}

/// A stack whose pops take the same value whenever two of them overlap. They wait for each other to
/// ensure that.
#[derive(Default)]
struct Meeting(AtomicUsize);

impl Concurrent for Meeting {
    fn call(&self, method: &str, args: &[Value], _: &mut bool) -> Value {
        match (method, args) {
            ("push", _) => Value::Nil,
            _ => {
                self.0.fetch_add(1, Ordering::SeqCst);
                while self.0.load(Ordering::SeqCst) < 2 {
                    std::thread::yield_now();
                }
                Value::Int(1)
            }
        }
    }
}

/// What real threads showed depended on what else the machine did.
#[test]
fn operations_that_overlap_on_real_threads_are_seen_to() {
    let stack = find("treiber-stack").unwrap();
    let meeting = || -> subject::Subject { Box::new(Meeting::default()) };
    let entry = Entry { production: Some(meeting), ..*stack };
    let request = Request {
        mode: Mode::Stress,
        cases: cases("before push(1); pop() | pop()"),
        limit: Some(10),
        as_found: true,
        ..Request::default()
    };
    let simulated = run(&entry, request);
    let Verdict::Violation(found) = simulated.verdict else { panic!("{simulated:?}") };
    assert_eq!(found.kind, Kind::NotLinearizable);
    assert_eq!(found.minimised, Minimised::NotAsked);
}

/// Twenty operations of two processes that both begin with `deq` were reported as 'linearizable,
/// complete' after one execution.
#[test]
fn a_random_sample_never_holds() {
    let entry = find("herlihy-wing-queue").unwrap();
    let generated = |operations, random| Generated {
        processes: 2,
        operations,
        random,
        before: Vec::new(),
        after: Vec::new(),
    };
    for seed in 0..20 {
        let generated = Some(generated(2, Some(1)));
        let simulated = run(entry, Request { generated, seed, ..Request::default() });
        let Verdict::Undecided(why) = &simulated.verdict else { panic!("{seed}: {simulated:?}") };
        assert!(
            why.message
                .ends_with("1 random program of 2 processes x 2 operations, which are a sample")
        );
    }
    let generated = Some(generated(2, None));
    let simulated = run(entry, Request { generated, ..Request::default() });
    assert!(matches!(simulated.verdict, Verdict::Holds), "{simulated:?}");
    assert!(simulated.scope.starts_with("all programs of 2 processes x 2 operations; "));
}

/// `bounded-k-fifo-queue`, which has room for eight values, was reported as 'stuck' after nine
/// `enq`: its specification had no bound.
#[test]
fn a_bounded_object_may_wait_where_it_is_full() {
    let entry = find("bounded-k-fifo-queue").unwrap();
    let enq = |n: usize| (1..=n).map(|value| format!("enq({value})")).collect::<Vec<_>>().join(" ");
    // Waiting is correct with eight values inside, and also with seven, one of which is left of the
    // first segment.
    for case in [
        enq(9),
        format!(
            "{}; deq() | enq(10)",
            enq(9).replacen("enq", "before enq", 1).replace(" enq(9)", "")
        ),
        format!("{} deq() enq(9) enq(10)", enq(8)),
    ] {
        let simulated = run(entry, Request { cases: cases(&case), ..Request::default() });
        assert!(matches!(simulated.verdict, Verdict::Holds), "{case}: {simulated:?}");
    }
    // A queue that waits with six inside does not do what it should.
    let smaller = || -> subject::Subject {
        use crate::relaxed::bounded_k_fifo_queue::{Patient, Queue};
        Box::new(Patient(Queue::new(3, 2)))
    };
    let entry = Entry { shadowed: smaller, ..*entry };
    let request = Request { cases: cases(&enq(7)), as_found: true, ..Request::default() };
    let simulated = run(&entry, request);
    let Verdict::Violation(found) = simulated.verdict else { panic!("{simulated:?}") };
    assert_eq!(found.kind, Kind::Stuck);
}

/// Long programs of one process: if an object is bounded, its specification must know the bound.
#[test]
fn objects_hold_for_long_programs_of_one_process() {
    let correct = |entry: &&Entry| entry.standing == Standing::Correct;
    let entries: Vec<&Entry> = all().filter(correct).collect();
    for seed in seeds(80) {
        let mut rng = Rng::new(seed);
        let entry = entries[seed as usize % entries.len()];
        let operations = 10 + rng.index(30);
        let mut cases = entry.random(Mode::Explore, 1, (1, operations), seed);
        // Half of the programs only insert, as far as an object lets them.
        if rng.percent(50) && entry.rule.is_none() {
            let inserts = &entry.methods()[0];
            cases = entry.random(Mode::Explore, 1, (1, 2 * operations), seed);
            cases[0].program[0].retain(|call| call.method == *inserts);
        }
        let request = Request { cases: cases.clone(), limit: Some(1000), ..Request::default() };
        let simulated = run(entry, request);
        let wrong = matches!(simulated.verdict, Verdict::Violation(_));
        assert!(!wrong, "seed {seed}: {}: {}: {simulated:?}", entry.name, cases[0]);
    }
}

/// A meter that reports the end of the time after this many queries.
struct Asked {
    asked: AtomicUsize,
    most: usize,
}

impl Meter for Asked {
    fn elapsed(&self) -> Duration {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        Duration::from_secs(if asked > self.most { 2 } else { 0 })
    }
}

/// Making a failure smaller took 53 s of a limit of one.
#[test]
fn a_limit_covers_making_a_failure_smaller() {
    let entry = find("vyukov-queue").unwrap();
    let case = "enq(1) enq(2) deq() | enq(3) deq() enq(4)";
    let request = |budget| Request { cases: cases(case), budget, ..Request::default() };
    let full = run(entry, request(None));
    let Verdict::Violation(full) = full.verdict else { panic!("{full:?}") };
    assert_eq!(full.minimised, Minimised::Fully);
    // As often as it takes to find it, and a little more.
    let mut stopped = 0;
    let mut smallest = usize::MAX;
    for most in (0..).map(|n: u32| 1usize << n) {
        let meter = Asked { asked: AtomicUsize::new(0), most };
        let budget = Budget::unlimited().meter(meter).time(Duration::from_secs(1));
        match run(entry, request(Some(Arc::new(budget)))).verdict {
            Verdict::Undecided(why) => {
                assert!(why.message.contains("time limit of 1 s"), "{why:?}");
                assert_eq!(why.code, "time");
            }
            Verdict::Violation(found) => {
                let length = found.case.len();
                assert!(length <= smallest, "more time made it larger: {}", found.case);
                smallest = length;
                if found.minimised == Minimised::Fully {
                    assert_eq!(found.case, full.case);
                    break;
                }
                let why = "the time limit of 1 s is spent";
                assert_eq!(found.minimised, Minimised::Stopped(why.into()));
                let line = format!(
                    "A smaller program may fail in the same way; minimisation stopped: {why}."
                );
                assert!(found.sections.contains(&Section::Note(line)), "{:?}", found.sections);
                stopped += 1;
            }
            Verdict::Holds => panic!("it does not"),
        }
    }
    assert!(stopped > 0);
}

/// On real threads a limit was checked only between rounds, and a waiting round takes two seconds.
#[test]
fn a_limit_ends_rounds_on_real_threads() {
    let entry = find("herlihy-wing-queue").unwrap();
    let meter = Asked { asked: AtomicUsize::new(0), most: 5 };
    let budget = Budget::unlimited().meter(meter).time(Duration::from_secs(1));
    let request = Request {
        mode: Mode::Stress,
        cases: cases("deq()\ndeq() | deq()"),
        budget: Some(Arc::new(budget)),
        ..Request::default()
    };
    let simulated = run(entry, request);
    let Verdict::Undecided(why) = &simulated.verdict else { panic!("{simulated:?}") };
    assert!(why.message.contains("the time limit of 1 s is spent"), "{why:?}");
    assert_eq!(simulated.counts.blocked, 0, "no round was waited for to its end");
}

/// All requested programs were generated before the first was run: gigabytes of them.
#[test]
fn programs_are_made_while_they_are_run() {
    let entry = find("treiber-stack").unwrap();
    let generated = Generated {
        processes: 16,
        operations: 100,
        random: Some(u32::MAX),
        before: Vec::new(),
        after: Vec::new(),
    };
    let meter = Asked { asked: AtomicUsize::new(0), most: 0 };
    let budget = Budget::unlimited().meter(meter).time(Duration::from_secs(1));
    let request = Request {
        generated: Some(generated),
        budget: Some(Arc::new(budget)),
        ..Request::default()
    };
    let verdict = entry.run(&request);
    // Too many operations are an error, or the limit comes first; neither generates four thousand
    // million programs.
    assert!(!matches!(verdict, Ok(Simulated { verdict: Verdict::Holds, .. })), "{verdict:?}");
}

/// Ten mutants were reported as 'linearizable, complete' at the default size.
#[test]
fn what_is_listed_as_broken_has_a_program_that_shows_it() {
    for entry in all() {
        let shown_by = entry.shown_by();
        assert_eq!(shown_by.is_none(), entry.standing == Standing::Correct, "{}", entry.name);
        if let Some(case) = shown_by {
            assert_eq!(entry.check(&case), Ok(()), "{}", entry.name);
        }
    }
}
