//! Claims of reports that were false once, each under the name of its fault: what is minimal, what
//! a stream has forgotten, how far an order goes, which counterexample is the shortest.

use serde_json::Value as Json;

use crate::common::Folder;

/// A history from events such as `0:enq(1)` and `0=null`.
fn history(spec: &str, events: &str) -> String {
    let mut text = format!("{{\"schema\":\"trueline-history/1\",\"spec\":\"{spec}\"}}\n");
    for event in events.split_whitespace() {
        let line = match event.split_once(':') {
            Some((process, call)) => {
                let (method, args) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
                format!("{{\"process\":{process},\"call\":\"{method}\",\"args\":[{args}]}}\n")
            }
            None => {
                let (process, result) = event.split_once('=').unwrap();
                format!("{{\"process\":{process},\"return\":{result}}}\n")
            }
        };
        text += &line;
    }
    text
}

/// The report of a command on a history, which is a violation.
#[track_caller]
fn report(command: &str, text: &str) -> Json {
    let run = Folder::new().with("h.jsonl", text).run(&format!("{command} h.jsonl --json"));
    assert_eq!(run.code, 1, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// A pending removal, or an initial value, kept every other value from being left out, and that was
/// called minimal.
#[test]
fn what_could_be_left_out_is_not_minimal() {
    for (spec, events) in [
        (
            "queue",
            "0:deq() 1:enq(5) 1=null 1:enq(5) 1=null 1:enq(6) 1=null 1:enq(6) 1=null 1:deq() 1=null",
        ),
        ("priority-queue:init=[2 2]", "0:poll() 1:insert(1) 1=null 1:poll() 1=null"),
        ("register:init=?", "2:cas(1,1) 0:read() 1:read() 2=false 1=1 0=2"),
    ] {
        let found = report("check", &history(spec, events));
        let shown = found["explanation"]["operations"].as_array().unwrap().len();
        let all = history(spec, events).matches("\"call\"").count();
        let minimal = found["explanation"]["minimal"].as_bool().unwrap();
        assert!(!minimal || shown < all, "{spec}: {found}");
    }
    let few = "0:enq(1) 0=null 0:enq(2) 0=null 1:deq() 1=2";
    assert_eq!(report("check", &history("queue", few))["explanation"]["minimal"], true);
}

/// The log of a key is cut where it grows long. What was left was explained as if it were all,
/// without the culprit.
#[test]
fn a_stream_that_has_lost_the_beginning_of_a_key_claims_nothing_of_the_rest() {
    let turns = "0:add(1) 0=true 0:remove(1) 0=true ".repeat(600);
    let text = history(
        "set",
        &format!("9:contains(1) 0:contains(1) 0=false {turns} 0:contains(1) 0=true"),
    );
    let found = report("monitor", &text);
    let explanation = &found["explanation"];
    assert_eq!(
        (&explanation["minimal"], &explanation["rechecked"]),
        (&false.into(), &false.into())
    );
    let sentence = explanation["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("`contains(1) -> true` contradicts the operations before it"),
        "{found}"
    );
    assert!(explanation["operations"].as_array().unwrap().len() <= 13, "{found}");
}

/// Nothing has left the memory here. The sentence used to say so.
#[test]
fn a_stream_with_initial_contents_does_not_claim_that_operations_are_forgotten() {
    for (spec, events) in [
        ("queue:init=[1 2]", "0:deq() 0=2"),
        ("stack:init=[1 2]", "0:pop() 0=1 0:pop() 0=2"),
        ("priority-queue:init=[4]", "0:insert(3) 0=null 1:poll() 1=3"),
    ] {
        let found = report("monitor", &history(spec, events));
        assert_eq!(found["verdict"], "violation", "{spec}: {found}");
        let explanation = found["explanation"].to_string();
        assert!(!explanation.contains("are no longer in memory"), "{spec}: {explanation}");
        assert!(explanation.contains("the initial contents"), "{spec}: {explanation}");
    }
}

/// `add`, `remove`, `contains -> true`: an order that ignores the times allows the last one.
#[test]
fn what_a_stream_has_forgotten_is_not_denied() {
    for (spec, events) in [
        ("set", "0:add(1) 0=true 0:remove(1) 0=true 0:contains(1) 0=true"),
        ("mutex", "0:acquire() 0=null 0:release() 0=null 0:release() 0=null"),
        ("set:init=[1]", "0:remove(1) 0=true 0:add(1) 0=true 0:contains(1) 0=false"),
    ] {
        let found = report("monitor", &history(spec, events));
        let sentence = found["explanation"]["sentence"].as_str().unwrap();
        assert!(sentence.ends_with("after what came before"), "{spec}: {sentence}");
    }
}

/// The three operations alone have an order; the initial value that had left is not among them.
#[test]
fn initial_values_that_have_left_a_stream_are_spoken_of() {
    let events = "0:deq() 0=1 0:enq(2) 0=null 0:enq(1) 0=null 0:deq() 0=1";
    let text = history("queue:init=[1]", events);
    let run = Folder::new().with("h.jsonl", text).run("monitor h.jsonl");
    assert_eq!(run.code, 1, "{run:?}");
    let headline = run.stdout.lines().next().unwrap();
    assert!(headline.ends_with("allows, after what came before them"), "{headline}");
    assert!(!run.stdout.contains("limit"), "{}", run.stdout);
}

/// A search for stacks does not follow the returns: where it got stuck does not say how far an
/// order goes.
#[test]
fn how_far_a_quasi_order_goes_is_not_told_of_stacks() {
    let events = "0:push(1) 0=null 0:push(2) 0=null 0:pop() 0=1 0:push(3) 0=null 0:push(4) 0=null 0:pop() 0=3";
    let found = report("check --quasi pop=1", &history("stack", events));
    assert_eq!(found["explanation"]["fine_until"], Json::Null);
}

#[test]
fn an_initial_value_of_a_log_was_not_appended() {
    let found = report("check", &history("log:init=[1]", "0:read() 0=[1,1]"));
    let sentence = found["explanation"]["sentence"].as_str().unwrap();
    assert!(
        sentence.ends_with("it is there once initially and cannot have been appended by then"),
        "{sentence}"
    );
}

#[test]
fn one_who_finds_a_value_and_leaves_it_has_written_it_too() {
    let events = "0:write(1) 1:cas(1,1) 2:cas(1,2) 3:cas(1,3) 0=null 1=true 2=true 3=true";
    let found = report("check", &history("register", events));
    let sentence = found["explanation"]["sentence"].as_str().unwrap();
    assert!(!sentence.contains("only `write(1)` can have written 1 before"), "{sentence}");
}

/// A deadlocked state is found in the same level as a wrong step that is one step
/// longer.
#[test]
fn a_deadlock_is_a_shorter_counterexample_than_a_wrong_step_of_the_next_level() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ticket-lock.tl");
    let source = std::fs::read_to_string(path).unwrap();
    let wrong = source.replace("await Serving == ticket", "await Serving != ticket");
    assert_ne!(source, wrong);
    let f = Folder::new().with("wrong.tl", wrong);
    let mut lengths = Vec::new();
    for reduction in ["none", "por", "symmetry", "both"] {
        let run = f.run(&format!("verify wrong.tl --set ops=1 --reduction {reduction} --json"));
        assert_eq!(run.code, 1, "{run:?}");
        let found: Json = serde_json::from_str(&run.stdout).unwrap();
        if found["explanation"]["shortest"] == true {
            lengths.push(found["explanation"]["steps"].as_array().unwrap().len());
        }
    }
    assert!(lengths.len() > 1 && lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
}

/// The code of the counter for points had no bug, whatever was asked for.
#[test]
fn points_do_not_hide_a_bug_that_was_asked_for() {
    let f = Folder::new();
    for bug in ["--set bug=1", "--set procs=3 --set bug=2"] {
        for points in ["", "--points"] {
            let run = f.run(&format!("verify counter {bug} {points} -q"));
            assert_eq!(run.code, 1, "{bug} {points}: {run:?}");
        }
    }
    let run = f.run("verify counter --points");
    assert!(run.code == 0 && run.stdout.contains("with points: this is about the code"), "{run:?}");
}
