//! The relaxed objects: what the paper on Round-Up reports about each, and what it left open.

use std::sync::{Arc, Mutex};

use trueline::quasi::{Factor, Factors, Quasi};
use trueline::spec::{self, Named};
use trueline::{Budget, History};
use trueline_explore::harness::TwoPhase;
use trueline_objects::simulate::{self, Found, Request, Simulated, Verdict, program};
use trueline_report::Look;

/// The specification that an entry names.
fn named(text: Option<String>) -> Option<Arc<Named>> {
    text.map(|text| Arc::new(spec::named(&text).unwrap()))
}

#[track_caller]
fn run(name: &str, case: &str) -> (Simulated, Vec<History>) {
    let entry = simulate::find(name).unwrap_or_else(|| panic!("no object {name}"));
    let histories = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&histories);
    let watch: Arc<dyn Fn(&History) + Send + Sync> =
        Arc::new(move |history: &History| seen.lock().unwrap().push(history.clone()));
    let cases = vec![program::case(case).unwrap()];
    let request = Request { cases, watch: Some(watch), ..Request::default() };
    let simulated = entry.run(&request).unwrap_or_else(|error| panic!("{name}: {error}"));
    let histories = std::mem::take(&mut *histories.lock().unwrap());
    (simulated, histories)
}

#[track_caller]
fn report(found: &Found) -> String {
    found.report().text(&Look { width: 100, ..Look::default() }).render(false)
}

fn violation(name: &str, case: &str) -> Found {
    match run(name, case).0.verdict {
        Verdict::Violation(found) => *found,
        other => panic!("{name}: {other:?}"),
    }
}

#[track_caller]
fn holds(name: &str, case: &str) {
    let (simulated, _) = run(name, case);
    assert!(matches!(simulated.verdict, Verdict::Holds), "{name}: {simulated:?}");
}

/// The uppermost segment is empty when a push and a pop meet there.
const MEET: &str = "before push(1) push(2) push(3) pop(); push(4) | pop(); after pop() pop() pop()";

/// The six steps of section VI-D: two threads, what each does to which location, in this order.
#[test]
fn the_k_stack_as_published_inserts_a_value_twice() {
    let found = violation("k-stack-as-published", MEET);
    let trace = Trace::of(&report(&found));
    let (push, pop) = (trace.lane("push("), trace.lane("pop()"));
    let value = found.case.split("; ").nth(1).unwrap();
    let value = &value[value.find("push(").unwrap() + 5..value.find(')').unwrap()];
    let insert = format!(": 0 -> {value}");
    let at = |from: usize, lane: usize, what: &str| trace.find(from, lane, what);
    // Step 1: the pop finds nothing in the segment and begins to remove it. The cells are those
    // that the push fills later.
    let first = at(0, push, &insert);
    let cell = trace.location(first);
    let empty = at(0, pop, &format!("load {cell} = 0"));
    // Steps 2 to 6.
    let marks = at(empty, pop, "fetch_add ");
    let count = trace.location(marks);
    let sees_mark = at(first.max(marks), push, &format!("load {count} = 1"));
    let in_use = at(first.max(marks), pop, &format!("load {cell} = {value}"));
    let unmarks = at(in_use.max(sees_mark), pop, &format!("fetch_sub {count}: 1 -> 0"));
    let sees_none = at(unmarks, push, &format!("load {count} = 0"));
    // The same push puts the same value in once more.
    let second = at(sees_none, push, &insert);
    assert!(empty < first && first < second, "{}", report(&found));
    let history = found.history.expect("a history");
    let shown: Vec<String> = (0..history.len() as u32).map(|i| history.show(i)).collect();
    let popped = format!("pop() -> {value}");
    assert_eq!(shown.iter().filter(|text| text.ends_with(&popped)).count(), 2, "{shown:?}");
}

/// The steps in a report: the margin of the thread, and what it did.
struct Trace(Vec<(usize, String)>);

impl Trace {
    fn of(report: &str) -> Trace {
        let steps = report.lines().filter(|line| line.contains(".rs:") || line.contains('('));
        let step = |line: &str| {
            let text = line.trim_start();
            let end = text.find("  ").unwrap_or(text.len());
            (line.len() - text.len(), text[..end].to_string())
        };
        Trace(steps.map(step).collect())
    }

    /// The margin of the steps of the thread that begins with this call once two threads run.
    #[track_caller]
    fn lane(&self, call: &str) -> usize {
        let steps = self.0.windows(2).filter(|two| two[1].0 == two[0].0 + 2);
        let mut lanes: Vec<usize> = steps
            .filter(|two| two[0].1.starts_with(call) && two[0].0 > 2)
            .map(|two| two[1].0)
            .collect();
        lanes.dedup();
        *lanes.first().unwrap_or_else(|| panic!("no thread calls {call}: {:?}", self.0))
    }

    /// The first such step from here on.
    #[track_caller]
    fn find(&self, from: usize, lane: usize, what: &str) -> usize {
        let wanted = |step: &(usize, String)| step.0 == lane && step.1.contains(what);
        match self.0[from..].iter().position(wanted) {
            Some(at) => from + at,
            None => panic!("no {what} at margin {lane} after {from}: {:#?}", self.0),
        }
    }

    /// `@3`.
    fn location(&self, step: usize) -> &str {
        let text = &self.0[step].1;
        let text = &text[text.find('@').expect("a location")..];
        &text[..text.find([':', ' ']).unwrap_or(text.len())]
    }
}

#[test]
fn the_k_stack_repaired_inserts_it_once() {
    for name in ["k-stack", "k-stack-of-one"] {
        holds(name, MEET);
        holds(name, "before push(1) push(2) pop(); push(3) | pop(); after pop() pop() pop()");
    }
}

/// With a mark in place of a count, a pop that gives up took away the mark of another one, and a
/// push in between was lost. It takes three threads and three preemptions.
#[test]
fn two_pops_that_remove_a_segment_do_not_take_away_each_others_mark() {
    let entry = simulate::find("k-stack-of-one").unwrap();
    let case = "before push(1) push(2) pop(); pop() | push(3) pop() pop() | push(4); after pop()";
    let cases = vec![program::case(case).unwrap()];
    let request = Request { cases, preemptions: Some(3), ..Request::default() };
    let simulated = entry.run(&request).unwrap();
    assert!(matches!(simulated.verdict, Verdict::Holds), "{simulated:?}");
}

/// The largest displacement of these histories.
fn displacement(strict: &str, method: &str, histories: &[History]) -> Option<u32> {
    let strict = spec::named(strict).unwrap();
    let question = Quasi { factors: Factors::of(method, Factor::Least), ..Quasi::default() };
    let least = histories.iter().map(|history| {
        let found = strict.quasi(history, &question, &Budget::unlimited()).unwrap();
        found.factor.expect("some factor explains it")
    });
    least.max()
}

#[test]
fn the_k_stack_repaired_is_out_of_order_by_one() {
    let case = "before push(1) push(2); pop() | push(3); after pop() pop()";
    let (simulated, histories) = run("k-stack", case);
    assert!(matches!(simulated.verdict, Verdict::Holds), "{simulated:?}");
    assert!(simulated.scope.to_string().contains("complete"), "{}", simulated.scope);
    // Displacement is no promise of a k-stack: 1 leaves first, and what is pushed meanwhile puts
    // its turn back.
    assert_eq!(displacement("stack", "pop", &histories), Some(2));
}

/// Displacement is no promise of a priority queue whose `insert` does not wait; the explorer makes
/// the program as small as it gets.
#[test]
fn a_smaller_value_that_comes_late_displaces_those_that_left_early() {
    let case = "insert(2) insert(3) insert(4) poll() insert(1)";
    holds("quasi-priority-queue", case);
    let entry = simulate::find("quasi-priority-queue").unwrap();
    let cases = vec![program::case(case).unwrap()];
    let request = Request { cases, spec: named(entry.displaced_by(2)), ..Request::default() };
    let Verdict::Violation(found) = entry.run(&request).unwrap().verdict else {
        panic!("the displacement is bounded")
    };
    assert_eq!(program::case(&found.case).unwrap().to_string().matches('(').count(), 5);
    let filled = "insert(4) insert(1) | insert(3) insert(2); after poll() poll() poll() poll()";
    let cases = vec![program::case(filled).unwrap()];
    let request = Request { cases, spec: named(entry.displaced_by(2)), ..Request::default() };
    let simulated = entry.run(&request).unwrap();
    assert!(matches!(simulated.verdict, Verdict::Holds), "{simulated:?}");
}

#[test]
fn a_bounded_k_fifo_queue_is_full_and_comes_round() {
    // A ring of four segments of two: the ninth value finds no room until the first has left.
    holds(
        "bounded-k-fifo-queue",
        "before enq(1) enq(2) enq(3) enq(4) enq(5) enq(6) enq(7) enq(8) deq() deq(); enq(9) | deq(); after deq() deq()",
    );
    let full = "before enq(1) enq(2); enq(3) | deq() deq(); after enq(4) deq() deq()";
    let (simulated, histories) = run("bounded-k-fifo-queue-of-one", full);
    assert!(matches!(simulated.verdict, Verdict::Holds), "{simulated:?}");
    let refused = |history: &History| {
        (0..history.len() as u32).any(|i| history.show(i).contains("enq(3) -> false"))
    };
    assert!(histories.iter().any(refused) && !histories.iter().all(refused));
}

/// The paper's enumeration and the search for the specification `displacement` are two ways to one
/// answer.
#[test]
fn two_phases_agree_with_the_search() {
    let fill = "add(1) add(2) | add(3) take(); after take() take()";
    let meet = "before add(1) add(2) add(3) take(); add(4) | take(); after take() take()";
    for name in [
        "quasi-queue",
        "quasi-queue-b1",
        "quasi-queue-b2",
        "quasi-queue-b3",
        "quasi-stack",
        "quasi-stack-b1",
        "quasi-stack-b2",
        "random-dequeue-queue",
        "random-dequeue-queue-without-window",
        "k-fifo-queue",
        "bounded-k-fifo-queue",
        "k-stack",
        "k-stack-as-published",
        "single-list-queue",
        "incorrect-queue",
        "quasi-priority-queue",
        "quasi-priority-queue-b2",
    ] {
        let entry = simulate::find(name).unwrap();
        let methods = entry.methods();
        for text in [fill, meet] {
            let text = text.replace("add", &methods[0]).replace("take", &methods[1]);
            for factor in 0..3 {
                let ask = |spec, two_phase| {
                    let cases = vec![program::case(&text).unwrap()];
                    let request =
                        Request { cases, spec, two_phase, as_found: true, ..Request::default() };
                    entry.run(&request).unwrap()
                };
                let violates = |found: &Simulated| match found.verdict {
                    Verdict::Holds => false,
                    Verdict::Violation(_) => true,
                    Verdict::Undecided(_) => panic!("{name}: {found:?}"),
                };
                let searched = ask(named(entry.displaced_by(factor)), None);
                let how = TwoPhase::new(factor);
                let skipping = ask(named(entry.strict()), Some(how));
                let plain = TwoPhase { skips: false, exhaustive: true, ..how };
                let plain = ask(named(entry.strict()), Some(plain));
                let context = || format!("{name}, factor {factor}: {text}");
                assert_eq!(violates(&skipping), violates(&searched), "{}", context());
                assert_eq!(violates(&plain), violates(&searched), "{}", context());
                let (with, without) = (skipping.counts.enumerated, plain.counts.enumerated);
                assert!(with.permutations <= without.permutations, "{}", context());
                assert_eq!(without.skipped_permutations + without.skipped_sequentializations, 0);
            }
        }
    }
}

/// What is skipped is counted, and told.
#[test]
fn two_phase_checking_counts_what_it_skips() {
    let entry = simulate::find("quasi-queue").unwrap();
    let case = "enq(1) enq(2) | enq(3) enq(4); after deq() deq() deq() deq()";
    let request = Request {
        cases: vec![program::case(case).unwrap()],
        spec: named(entry.strict()),
        two_phase: Some(TwoPhase { exhaustive: true, ..TwoPhase::new(2) }),
        ..Request::default()
    };
    let found = entry.run(&request).unwrap();
    assert!(matches!(found.verdict, Verdict::Holds), "{found:?}");
    let all = found.counts.enumerated;
    // Fourteen permutations of four removals are within two places, whatever the order of the six
    // additions is.
    assert!(found.counts.checks < found.counts.histories, "{:?}", found.counts);
    assert!(all.skipped_sequentializations > 0 && all.skipped_permutations > 0, "{all:?}");
    assert_eq!(all.permutations + all.skipped_permutations, 14 * all.sequentializations);
    let told = found.counts.to_string();
    assert!(
        told.contains(" sequentializations and ") && told.contains(" permutations and "),
        "{told}"
    );
}

#[test]
fn the_racy_empty_of_the_segmented_queue_is_real() {
    let case = "before enq(1); enq(2) deq() | deq()";
    let found = violation("quasi-queue-racy-empty", case);
    assert!(found.sentence.contains("deq() -> nil"), "{}", found.sentence);
    holds("quasi-queue", case);
}

#[test]
fn a_window_keeps_the_first_value_from_being_overtaken_for_ever() {
    let case = "before enq(1) enq(2) enq(3) enq(4); deq() | deq(); after deq() deq()";
    violation("random-dequeue-queue-without-window", case);
    holds("random-dequeue-queue", case);
}
