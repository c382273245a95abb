//! What reports used to get wrong, one test a mistake.

use crate::common::history;
use trueline::generate::Plan;
use trueline::verdict::Explanation;
use trueline::{Algorithm, Budget, History, Verdict, spec};
use trueline_report::{Case, Look, text};

fn explained(specification: &str, history: &History) -> Explanation {
    let named = spec::named(specification).unwrap();
    let outcome = named.check(history, Algorithm::Auto, &Budget::unlimited()).unwrap();
    match outcome.verdict {
        Verdict::Violation(explanation) => explanation,
        other => panic!("{}", other.name()),
    }
}

/// The text of the report, and the explanation.
fn report(specification: &str, history: &History) -> (String, Explanation) {
    let named = spec::named(specification).unwrap();
    let outcome = named.check(history, Algorithm::Auto, &Budget::unlimited()).unwrap();
    let show = |i: u32, with_result: bool| named.show(history, i, with_result);
    let case = Case {
        file: "h",
        history,
        spec: specification,
        show: &show,
        outcome: &outcome,
        seconds: 0.0,
        again: "trueline check h",
        witness: false,
        of: None,
    };
    let told = text(&case, &Look::default()).render(false);
    (told, explained(specification, history))
}

fn shown(specification: &str, history: &History, explanation: &Explanation) -> Vec<String> {
    let named = spec::named(specification).unwrap();
    explanation.operations.iter().map(|&i| named.show(history, i, true)).collect()
}

/// Histories whose values repeat, with pending operations: the ones for which little can be left
/// out.
fn hard_histories() -> impl Iterator<Item = (u64, History)> {
    let named = spec::named("cas-register").unwrap();
    (0..24).map(move |seed| {
        let plan = Plan {
            operations: 120,
            seed,
            violation: Some(0.6),
            pending: 0.05,
            unique: false,
            ..Plan::default()
        };
        (seed, named.generate(&plan).unwrap())
    })
}

#[test]
fn what_is_called_the_first_return_that_cannot_be_explained_is_the_first() {
    let named = spec::named("cas-register").unwrap();
    for (seed, history) in hard_histories() {
        let explanation = explained("cas-register", &history);
        let Some(end) = explanation.fine_until else {
            assert!(!explanation.sentence.contains("is the first whose"), "seed {seed}");
            continue;
        };
        let is_fine = |end| {
            let prefix = history.prefix(end);
            let outcome = named.check(&prefix, Algorithm::Auto, &Budget::unlimited()).unwrap();
            outcome.verdict.is_linearizable()
        };
        assert!(is_fine(end) && !is_fine(end + 1), "seed {seed}: {}", explanation.sentence);
    }
}

#[test]
fn no_limit_is_said_to_be_reached_where_none_was_set() {
    for (seed, history) in hard_histories() {
        let (told, _) = report("cas-register", &history);
        assert!(!told.contains("limit"), "seed {seed}: {told}");
    }
}

#[test]
fn a_lock_is_not_held_by_an_acquire_that_was_released_long_before() {
    let mut events: Vec<String> = Vec::new();
    for _ in 0..20 {
        events.extend(["0 acquire()", "0 ok", "0 release()", "0 ok"].map(String::from));
    }
    events.extend(["1 acquire()", "1 ok", "2 acquire()", "2 ok"].map(String::from));
    let explanation = explained("mutex", &history(&events.join(" / ")));
    assert_eq!(explanation.operations, [39, 40, 41], "{}", explanation.sentence);
    assert_eq!(
        explanation.sentence,
        "`acquire()` in line 83 got the lock while it was held: `acquire()` in line 81 had returned before it was called, \
         and nothing can have released the lock in between: `release()` in line 79 had returned before `acquire()` in line 81 \
         was called"
    );
}

/// Releases and acquires overlap all the time, so that only counting tells.
#[test]
fn a_lock_that_is_handed_over_all_the_time_is_counted() {
    let mut events = vec!["0 acquire()".to_string(), "0 ok".into()];
    for n in 0..9 {
        let (from, to) = (n % 2, (n + 1) % 2);
        events.push(format!("{to} acquire()"));
        events.push(format!("{from} release()"));
        events.push(format!("{to} ok"));
        events.push(format!("{from} ok"));
    }
    events.extend(["5 acquire()", "5 ok"].map(String::from));
    let explanation = explained("mutex", &history(&events.join(" / ")));
    assert_eq!(explanation.operations.len(), 2, "{}", explanation.sentence);
    assert!(
        explanation.sentence.starts_with("`acquire()` in line 39 "),
        "{}",
        explanation.sentence
    );
}

#[test]
fn a_lost_element_names_its_add_and_the_read_alone() {
    let mut events: Vec<String> = Vec::new();
    for n in 0..40 {
        events.extend([format!("{} add({n})", n % 4), format!("{} ok", n % 4)]);
    }
    let rest: Vec<String> = (0..40).filter(|&n| n != 23).map(|n| n.to_string()).collect();
    events.extend(["4 read()".into(), format!("4 ok [{}]", rest.join(" "))]);
    let history = history(&events.join(" / "));
    let explanation = explained("set", &history);
    assert_eq!(explanation.operations, [23, 40]);
    let sentence = &explanation.sentence;
    assert!(
        sentence.contains("should show 23: `add(23)` had returned before it was called"),
        "{sentence}"
    );
}

#[test]
fn a_register_is_explained_without_later_writes() {
    let events = "0 write(1) / 0 ok / 0 write(2) / 0 ok / 1 read() / 1 ok 1 / 0 write(3) / 0 ok / 0 write(4) / 0 ok \
                  / 0 write(1) / 0 ok / 1 read() / 1 ok 1";
    let events = events.split_whitespace().collect::<Vec<_>>().join(" ");
    let explanation = explained("register", &history(&events));
    assert_eq!(explanation.operations, [0, 1, 2], "{}", explanation.sentence);
}

#[test]
fn operations_that_look_alike_are_told_apart() {
    let events = "0 write(4) / 0 ok / 1 write(0) / 1 ok / 2 read() / 2 ok 4 / 0 write(4) / 1 read() / 1 ok 0 / 1 read() / 1 ok 4 \
                  / 1 write(9) / 1 ok / 1 read() / 1 ok 4";
    let events = events.split_whitespace().collect::<Vec<_>>().join(" ");
    let history = history(&events);
    let (_, explanation) = report("register", &history);
    let all = shown("register", &history, &explanation);
    for name in &all {
        let quoted = format!("`{name}`");
        let alike = all.iter().filter(|other| *other == name).count();
        let plain = explanation.sentence.matches(&quoted).count();
        let told = explanation.sentence.matches(&format!("{quoted} of process")).count()
            + explanation.sentence.matches(&format!("{quoted} in line")).count();
        assert!(alike == 1 || plain == told, "{}", explanation.sentence);
    }
}

#[test]
fn two_reads_and_an_append_are_enough_for_a_lost_append() {
    let mut events: Vec<String> = Vec::new();
    let mut whole = String::new();
    for n in 0..60 {
        events.extend([format!("{} append(k,x{n}y)", n % 5), format!("{} ok", n % 5)]);
        if n != 31 {
            whole += &format!("x{n}y");
        }
    }
    events.extend(["6 get(k)".into(), format!("6 ok {whole}")]);
    let history = history(&events.join(" / "));
    let explanation = explained("kv", &history);
    assert!(explanation.operations.len() <= 3, "{}", explanation.sentence);
    assert!(explanation.sentence.contains("append(k, x31y)"), "{}", explanation.sentence);
}

#[test]
fn long_values_and_names_are_cut_at_words() {
    let value = "word ".repeat(40_000);
    let events = format!("0 write({value}end) / 0 ok / 1 read() / 1 ok 7");
    let (told, explanation) = report("register", &history(&events));
    assert!(
        told.len() < 4_000 && explanation.sentence.len() < 1_000,
        "{} {}",
        told.len(),
        explanation.sentence.len()
    );
    let events = format!("0 write(1) / 0 ok / 1 read() / 1 ok {value}end");
    let (told, explanation) = report("register", &history(&events));
    assert!(told.len() < 4_000, "{}", told.len());
    assert!(explanation.sentence.contains("word…"), "{}", explanation.sentence);
}

#[test]
fn the_note_names_nobody_else_than_the_sentence() {
    // Two reads at once of values that nobody wrote: either is to blame, but one report should not
    // blame both.
    let events =
        "4 write(2) / 4 ok / 9 write(0) / 9 ok / 22 read() / 21 read() / 21 ok 5 / 22 ok 3";
    let (told, explanation) = report("register", &history(events));
    assert_eq!(explanation.operations.len(), 1);
    let blamed =
        if explanation.sentence.contains("read() -> 5") { "read() -> 5" } else { "read() -> 3" };
    let other = if blamed == "read() -> 5" { "read() -> 3" } else { "read() -> 5" };
    assert!(told.contains(blamed) && !told.contains(other), "{told}");
}

#[test]
fn initial_values_are_part_of_the_reason() {
    for (specification, events, sentence) in [
        (
            "queue:init=[1 2]",
            "0 deq() / 0 ok 2",
            "`deq() -> 2` overtook 1: the queue holds [1 2] initially, and 1 was never dequeued",
        ),
        (
            "queue:init=[1]",
            "0 enq(5) / 0 ok / 0 deq() / 0 ok 1 / 0 deq() / 0 ok 7",
            "`deq() -> 7` is impossible: 7 was never enqueued, and the queue holds [1] initially",
        ),
    ] {
        let explanation = explained(specification, &history(events));
        assert_eq!(explanation.sentence, sentence);
        assert_eq!(explanation.operations.len(), 1);
    }
}
