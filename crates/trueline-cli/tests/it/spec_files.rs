//! `--spec FILE.tl`: specifications of the user's own.

use expect_test::expect;

use crate::common::Folder;

const QUEUE: &str = include_str!("../../../../examples/specifications/queue.tl");
const COUNTER: &str = include_str!("../../../../examples/specifications/bounded-counter.tl");
const VIOLATION: &str = include_str!("../../../../examples/queue-violation.jsonl");
const OK: &str = include_str!("../../../../examples/queue-ok.jsonl");

fn folder() -> Folder {
    let folder = Folder::new().with("queue.tl", QUEUE).with("counter.tl", COUNTER);
    folder.with("bad.jsonl", VIOLATION).with("ok.jsonl", OK)
}

/// A history of calls of one process, one after the other: `inc=true`.
fn serial(calls: &str) -> String {
    let mut text = String::new();
    for call in calls.split_whitespace() {
        let (method, result) = call.split_once('=').unwrap();
        text += &format!("{{\"process\":0,\"call\":\"{method}\",\"args\":[]}}\n");
        text += &format!("{{\"process\":0,\"return\":{result}}}\n");
    }
    text
}

#[test]
fn check_and_monitor_take_a_file() {
    let folder = folder();
    for command in ["check", "monitor"] {
        assert_eq!(folder.run(&format!("{command} --spec queue.tl ok.jsonl")).code, 0);
        let found = folder.run(&format!("{command} --spec queue.tl bad.jsonl"));
        assert_eq!(found.code, 1, "{}{}", found.stdout, found.stderr);
        assert!(found.stdout.starts_with("violation: bad.jsonl"), "{}", found.stdout);
        let again = format!("reproduce: trueline {command} --spec queue.tl bad.jsonl");
        assert!(found.stdout.contains(&again), "{}", found.stdout);
    }
}

#[test]
fn parameters_stand_behind_the_file() {
    let folder = folder().with("h.jsonl", serial("inc=true inc=true inc=true inc=false read=3"));
    assert_eq!(folder.run("check --spec counter.tl h.jsonl").code, 0);
    assert_eq!(folder.run("check --spec counter.tl:most=4 h.jsonl").code, 1);
    let wrong = folder.run("check --spec counter.tl:size=4 h.jsonl");
    assert_eq!(wrong.code, 2);
    let message = "counter.tl: the specification has no parameter \"size\": it has most";
    assert!(wrong.stderr.contains(message), "{}", wrong.stderr);
}

#[test]
fn an_error_of_the_file_names_line_and_column() {
    let source = "spec {\n  state items: seq<Value>\n  len() -> any { return 0 }\n}\n";
    let folder = Folder::new().with("q.tl", source);
    let run = folder.run("check --spec q.tl h.jsonl");
    assert_eq!(run.code, 2);
    expect![[r#"
        error: invalid value 'q.tl' for '--spec <SPEC>': q.tl:2:20: no type is called `Value`
          |
        2 |   state items: seq<Value>
          |                    ^^^^^

        For more information, try '--help'.
    "#]]
    .assert_eq(&run.stderr);
    let missing = folder.run("check --spec none.tl h.jsonl");
    assert!(missing.code == 2 && missing.stderr.contains("none.tl: "), "{}", missing.stderr);
}

#[test]
fn values_that_do_not_fit_name_the_history() {
    let folder = folder().with("h.jsonl", serial("inc=true read=true"));
    let run = folder.run("check --spec counter.tl h.jsonl");
    assert_eq!(run.code, 2);
    let message = "read: the result is not one that it declares: expected 0..1000000, found a truth value: true";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    let run = folder.run("monitor --spec counter.tl h.jsonl");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

/// A variable whose range is too small makes no violation, in a file and in a stream.
#[test]
fn a_range_that_is_left_is_an_error_of_the_specification() {
    let source = "spec { state n: 0..2  inc() -> bool { n = n + 1; return true } }";
    let folder =
        Folder::new().with("n.tl", source).with("h.jsonl", serial("inc=true inc=true inc=true"));
    for command in ["check", "monitor"] {
        let run = folder.run(&format!("{command} --spec n.tl h.jsonl"));
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        let message = "leaves its range: `n` would be 3, which is not one of 0..2";
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn simulate_judges_by_a_file() {
    let folder = folder();
    let stack = QUEUE.replace("pop_front", "pop_back").replace("enq", "push").replace("deq", "pop");
    let folder = folder.with("stack.tl", stack);
    let holds = folder.run("simulate treiber-stack --spec stack.tl -p 2 -n 1");
    assert_eq!(holds.code, 0, "{}{}", holds.stdout, holds.stderr);
    // A stack is no queue, and a queue has other methods.
    let other = folder.run("simulate treiber-stack --spec queue.tl -p 2 -n 1");
    assert!(other.code == 2 && other.stderr.contains("unknown method push"), "{}", other.stderr);
    let fifo = QUEUE.replace("enq", "push").replace("deq()", "pop()");
    let folder = folder.with("fifo.tl", fifo);
    // With one value there is no difference.
    let run = folder.run("simulate treiber-stack --spec fifo.tl --program push(1)|pop()");
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = folder.run("simulate treiber-stack --spec fifo.tl -p 1 -n 3");
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("--spec fifo.tl"), "{}", run.stdout);
}
