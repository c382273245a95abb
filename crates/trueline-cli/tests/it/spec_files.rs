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

fn line(process: usize, event: &str) -> String {
    format!("{{\"process\":{process},{event}}}\n")
}

fn call(process: usize, method: &str, args: &str) -> String {
    line(process, &format!("\"call\":\"{method}\",\"args\":[{args}]"))
}

/// With the object behind every call.
fn of(object: &str, text: &str) -> String {
    text.replace("\"args\"", &format!("\"object\":\"{object}\",\"args\""))
}

/// Every read was part of a 'minimal' violation of one of them.
#[test]
fn reads_that_do_not_matter_are_left_out() {
    let source = "spec { state v: any  read() -> any { return v }  write(x: any) { v = x } }";
    let mut text: String = (0..13).map(|p| call(p, "read", "")).collect();
    text.extend((0..12).map(|p| line(p, "\"return\":null")));
    text += &line(12, "\"return\":5");
    let folder = Folder::new().with("reg.tl", source).with("h.jsonl", text);
    let run = folder.run("check --spec reg.tl h.jsonl");
    assert!(run.stdout.starts_with("violation: h.jsonl: 1 of 13 operations"), "{}", run.stdout);
    let run = folder.run("check --spec reg.tl --json h.jsonl");
    assert!(run.stdout.contains("\"minimal\":true"), "{}", run.stdout);
}

/// Nothing says what operations of a written specification have to do with each other, so that
/// none was left out, and every violation was minimal.
#[test]
fn what_is_not_needed_is_not_minimal() {
    let mut text: String =
        (0..13).map(|n| call(0, "enq", &n.to_string()) + &line(0, "\"return\":null")).collect();
    text += &(call(1, "deq", "") + &line(1, "\"return\":77"));
    let folder = folder().with("h.jsonl", text);
    let run = folder.run("check --spec queue.tl --json h.jsonl");
    assert!(run.code == 1 && run.stdout.contains("\"minimal\":false"), "{}", run.stdout);
}

/// 300 enqueues, and a dequeue of a value that is not first.
fn long() -> String {
    let enqueues = (0..300).map(|n| call(0, "enq", &n.to_string()) + &line(0, "\"return\":null"));
    enqueues.collect::<String>() + &call(0, "deq", "") + &line(0, "\"return\":5")
}

/// What was cut out of a long sentence was its 'no', and a stream was said to be as long as what is
/// still in memory of it.
#[test]
fn a_long_state_does_not_turn_a_sentence_around() {
    let folder = folder().with("h.jsonl", long());
    for command in ["check", "monitor"] {
        let run = folder.run(&format!("{command} --spec queue.tl h.jsonl"));
        let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("of 301 operations fit no order that queue.tl allows"), "{text}");
        assert!(text.contains("then no order of `enq(298)`"), "{text}");
        assert!(!text.contains(" of 45"), "{text}");
    }
}

/// What an operation of one object could not do made the violation of another one an error.
#[test]
fn doubts_of_one_object_are_none_of_another() {
    let source = "spec { state n: 0..1 = 1  inc() { n = n + 1 }  dec() { n = n - 1 }
        read() -> 0..1 { return n } }";
    // In one of the orders of `a`, `inc` leaves the range; in the other one nothing does.
    let nothing = "\"return\":null";
    let fine = call(0, "inc", "") + &call(1, "dec", "") + &line(0, nothing) + &line(1, nothing);
    let wrong = call(2, "read", "") + &line(2, "\"return\":0");
    let both = of("a", &fine) + &of("b", &wrong);
    let folder = Folder::new().with("n.tl", source).with("both.jsonl", both);
    let turned = of("b", &wrong) + &of("a", &fine);
    let folder = folder.with("turned.jsonl", turned).with("fine.jsonl", of("a", &fine));
    // Here it is the object's own doubt.
    let own = of("a", &fine) + &of("a", &wrong) + &of("b", &fine);
    let folder = folder.with("own.jsonl", own);
    for command in ["check", "monitor"] {
        let run = |file: &str| folder.run(&format!("{command} --spec n.tl {file}"));
        for file in ["both.jsonl", "turned.jsonl"] {
            let found = run(file);
            assert_eq!(found.code, 1, "{command} {file}: {}{}", found.stdout, found.stderr);
            assert!(found.stdout.contains("(object b)"), "{}", found.stdout);
        }
        assert_eq!(run("fine.jsonl").code, 0);
        let doubted = run("own.jsonl");
        assert_eq!(doubted.code, 2, "{command}: {}{}", doubted.stdout, doubted.stderr);
        assert!(doubted.stderr.contains("leaves its range: `n`"), "{}", doubted.stderr);
    }
}

/// A value that the specification does not have was a violation of the object.
#[test]
fn simulate_does_not_blame_the_object_for_a_type() {
    let source = "spec { state items: seq<0..9>
        push(v: 0..1) { items.push_front(v) }
        pop() -> 0..1? { if items.is_empty() { return none } return items.pop_front() } }";
    let folder = Folder::new().with("one.tl", source);
    let run = folder.run("simulate treiber-stack --spec one.tl --program push(2)");
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("2 is not one of 0..1"), "{}", run.stderr);
    let wide = source.replace("push(v: 0..1)", "push(v: 0..9)").replace("items.pop_front()", "1");
    let folder = folder.with("wide.tl", wide);
    let run = folder.run("simulate treiber-stack --spec wide.tl --program push(2),pop()");
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    let run = folder.run("simulate treiber-stack --spec one.tl --program push(1)|pop()");
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

/// An operation whose outcome is unknown is pending, and of a window that is over nothing is held.
#[test]
fn a_stream_tells_what_it_holds() {
    let calls = (0..5_000).map(|n| {
        let (one, other) = (n % 2, (n + 1) % 2);
        // There is always one open, so that no window ends.
        call(one, "deq", "") + &if n > 0 { line(other, "\"return\":null") } else { String::new() }
    });
    let lost = call(7, "enq", "1") + &line(7, "\"unknown\":true");
    let text = lost + &calls.collect::<String>() + &call(3, "deq", "") + &line(3, "\"return\":9");
    let folder = folder().with("h.jsonl", text);
    let run = folder.run("monitor --spec queue.tl --json h.jsonl");
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(told["open"], 2, "{}", run.stdout);
    let most = told["most_held"].as_u64().unwrap();
    assert!((2_000..4_200).contains(&most), "{most}");
}

/// `poll() -> nil` is wrong when it returns, but another removal is open, which may be dealt the
/// value that was inside: the violation is told when that one has returned, as the pages say.
#[test]
fn a_priority_queue_waits_for_open_removals_and_no_longer() {
    let insert = |process, n: i32| {
        call(process, "insert", &n.to_string()) + &line(process, "\"return\":null")
    };
    let before = insert(0, 7) + &call(0, "poll", "") + &insert(1, 9) + &call(1, "poll", "");
    let until = before + &line(0, "\"return\":null") + &insert(2, 1) + &insert(2, 2);
    let until = until + &line(1, "\"return\":9");
    let most = until.lines().count();
    let folder = Folder::new().with("h.jsonl", until + &insert(2, 3) + &insert(2, 4));
    let run = folder.run("monitor --spec priority-queue --json h.jsonl");
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 1, "{}", run.stdout);
    let events = told["events"].as_u64().unwrap() as usize;
    assert!((7..=most).contains(&events), "{events}");
}
