//! Programs are held to what an object takes before they are run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trueline::Budget;
use trueline::budget::Meter;
use trueline_objects::simulate::{self, Entry, Found, Request, Standing, Verdict, program};

/// Numbers that some object keeps for itself or has no room for, and their neighbours.
const NUMBERS: [i64; 12] =
    [i64::MIN, i64::MIN + 1, -2, -1, 0, 1, 15, 16, 1 << 16, (1 << 32) - 1, 1 << 32, i64::MAX];

fn run(entry: &Entry, text: &str) -> Result<Verdict<Box<Found>>, String> {
    let cases = vec![program::case(text).unwrap()];
    let request = Request { cases, limit: Some(1000), ..Request::default() };
    entry.run(&request).map(|simulated| simulated.verdict).map_err(|error| error.to_string())
}

/// One process that calls every operation twice, with this number for a value, and for one key or
/// for two of them.
fn programs(entry: &Entry, number: i64) -> [String; 3] {
    let key = format!("({number}");
    let values = entry.alphabet.replace('*', &number.to_string());
    let keys = values.replace("(1", &key);
    let more_keys = keys.replace("(2", &key);
    [values, keys, more_keys].map(|calls| format!("{calls} {calls}"))
}

/// Objects that are right were called wrong for values which they keep for themselves or have no
/// room for, and some panicked.
#[test]
fn values_that_an_object_does_not_take_are_no_violations() {
    for entry in simulate::all().filter(|entry| entry.alphabet.contains(['*', '1'])) {
        let ordinary = programs(entry, 7).map(|text| run(entry, &text));
        for number in NUMBERS {
            for (text, ordinary) in programs(entry, number).iter().zip(&ordinary) {
                let found = run(entry, text);
                let is_wrong = |found| matches!(found, &Ok(Verdict::Violation(_)));
                let may_be_wrong = entry.standing != Standing::Correct && is_wrong(ordinary);
                assert!(may_be_wrong || !is_wrong(&found), "{}: {text}: {found:?}", entry.name);
            }
        }
    }
}

/// The numbers of [`NUMBERS`] that are not taken as values.
fn not_taken(name: &str) -> Vec<i64> {
    let entry = simulate::find(name).unwrap();
    let is_refused = |number: &i64| run(entry, &programs(entry, *number)[1]).is_err();
    NUMBERS.into_iter().filter(is_refused).collect()
}

#[test]
fn objects_take_all_numbers_but_those_that_they_have_no_room_for() {
    let below = |bound: i64| NUMBERS.into_iter().filter(|n| *n < bound).collect::<Vec<_>>();
    for name in
        ["treiber-stack", "michael-scott-queue", "list-set", "b-link-tree", "priority-queue"]
    {
        assert_eq!(not_taken(name), Vec::<i64>::new(), "{name}");
    }
    for name in ["quasi-queue", "quasi-priority-queue", "k-fifo-queue", "random-dequeue-queue"] {
        assert_eq!(not_taken(name), below(1), "{name}");
    }
    for name in ["k-stack", "k-stack-of-one", "semiqueue-looks-once"] {
        assert_eq!(not_taken(name), below(1), "{name}");
    }
    assert_eq!(not_taken("quasi-stack"), below(0));
    assert_eq!(not_taken("herlihy-wing-queue-rereads"), [i64::MIN]);
    for name in ["bounded-k-fifo-queue", "bounded-k-fifo-queue-of-one"] {
        assert_eq!(not_taken(name), [below(1), vec![1 << 32, i64::MAX]].concat(), "{name}");
    }
    let not_a_priority = |n: &i64| !(0..16).contains(n);
    let expected: Vec<i64> = NUMBERS.into_iter().filter(not_a_priority).collect();
    assert_eq!(not_taken("bounded-priority-queue"), expected);
    let not_a_segment = |n: &i64| !(0..2).contains(n);
    let expected: Vec<i64> = NUMBERS.into_iter().filter(not_a_segment).collect();
    assert_eq!(not_taken("snapshot"), expected);
}

#[test]
fn the_error_names_the_call_the_object_and_the_range() {
    let error = |name: &str, text: &str| run(simulate::find(name).unwrap(), text).unwrap_err();
    assert_eq!(
        error("quasi-queue", "before enq(1); deq() | deq() enq(0)"),
        "column 30: quasi-queue takes no enq(0): expected enq(1 or more)"
    );
    assert_eq!(
        error("snapshot", "scan(); after update(2, 1)"),
        "column 15: snapshot takes no update(2, 1): expected update(0 to 1, any number)"
    );
    assert_eq!(
        error("bounded-priority-queue", "insert(16)"),
        "column 1: bounded-priority-queue takes no insert(16): expected insert(0 to 15)"
    );
}

/// What is found wrong with one program is found before another one is run.
#[test]
fn all_programs_are_checked_before_the_first_is_run() {
    let entry = simulate::find("quasi-queue").unwrap();
    let cases = program::cases("enq(1) | deq()\nenq(0) | deq()\n").unwrap();
    let watch: simulate::Watch = Arc::new(|history| panic!("was run: {history:?}"));
    assert!(entry.run(&Request { cases, watch: Some(watch), ..Request::default() }).is_err());
}

/// The orders of 24 operations in real time took gigabytes, whatever the limit of time; programs
/// that nobody wrote had a bound.
#[test]
fn programs_have_no_more_processes_than_can_be_run() {
    let entry = simulate::find("michael-scott-queue").unwrap();
    let program = |processes: usize| vec!["enq(1)"; processes].join(" | ");
    assert_eq!(
        run(entry, &program(24)).unwrap_err(),
        "column 145: found 24 processes: expected at most 16"
    );
    let most = program::case(&program(simulate::MOST_PROCESSES)).unwrap();
    assert_eq!(entry.check(&most), Ok(()));
}

/// Shows a millisecond more each time it is asked.
#[derive(Default)]
struct Asked(AtomicU64);

impl Meter for Asked {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The orders of operations that do not touch each other are as many as their permutations: a limit
/// of time was met at the end of the first execution only, when the memory had been used up.
#[test]
fn the_clock_is_looked_at_within_one_execution() {
    let entry = simulate::find("counter").unwrap();
    let cases = vec![program::case(&["read()"; 16].join(" | ")).unwrap()];
    let budget = Budget::unlimited().meter(Asked::default()).time(Duration::from_millis(50));
    let budget = Some(Arc::new(budget));
    let simulated = entry.run(&Request { cases, budget, ..Request::default() }).unwrap();
    let Verdict::Undecided(why) = simulated.verdict else { panic!("{simulated:?}") };
    assert!(
        why.message.contains("incomplete; stopped: the time limit of 0.05 s is spent"),
        "{why:?}"
    );
    assert_eq!(simulated.counts.executions, 1);
}
