//! Statements of `check`, `monitor` and `convert` that were false once, each under the name of its
//! fault.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

#[cfg(target_os = "linux")]
use crate::common::await_read;
use crate::common::{Folder, command};

/// Operations one after the other: process, method, arguments, result.
fn stream(spec: &str, operations: &[(&str, &str, &str)]) -> String {
    let mut text = format!("{{\"schema\":\"trueline-history/1\",\"spec\":\"{spec}\"}}\n");
    for (call, args, result) in operations {
        text += &format!("{{\"process\":0,\"call\":\"{call}\",\"args\":{args}}}\n");
        text += &format!("{{\"process\":0,\"return\":{result}}}\n");
    }
    text
}

/// Both `check` and `monitor` end with this code.
#[track_caller]
fn both(spec: &str, operations: &[(&str, &str, &str)], code: i32) {
    let f = Folder::new().with("h.jsonl", stream(spec, operations));
    for what in ["check", "monitor", "check --algorithm wgl"] {
        let run = f.run(&format!("{what} h.jsonl"));
        assert_eq!(run.code, code, "{what}: {run:?}");
    }
}

#[track_caller]
fn check(spec: &str, operations: &[(&str, &str, &str)], code: i32) -> String {
    let f = Folder::new().with("h.jsonl", stream(spec, operations));
    let run = f.run("check h.jsonl");
    assert_eq!(run.code, code, "{run:?}");
    run.stdout + &run.stderr
}

#[test]
fn an_acquire_that_returns_false_found_the_lock_held() {
    let (taken, refused, given) =
        (("acquire", "[]", "null"), ("acquire", "[]", "false"), ("release", "[]", "null"));
    both("mutex", &[taken, refused, given, taken], 0);
    both("mutex", &[refused], 1);
    both("mutex", &[taken, given, refused], 1);
}

#[test]
fn a_priority_queue_orders_numbers_by_size() {
    for [small, large] in [
        ["9.5", "10.5"],
        ["9", "10.5"],
        ["9223372036854775807", "9223372036854775808"],
        ["9223372036854775808", "10000000000000000000"],
        ["-10.5", "-9.5"],
        ["-18446744073709551616", "-9223372036854775808"],
        ["0.09", "0.1"],
        ["5", "1e1"],
    ] {
        let [a, b] = [format!("[{small}]"), format!("[{large}]")];
        let inserts = [("insert", a.as_str(), "null"), ("insert", b.as_str(), "null")];
        let poll = |first: &'static str| [&inserts[..], &[("poll", "[]", first)]].concat();
        both("priority-queue", &poll(large), 0);
        both("priority-queue", &poll(small), 1);
        both("priority-queue:order=min", &poll(small), 0);
        both("priority-queue:order=min", &poll(large), 1);
    }
    check("priority-queue:init=[9.5 10.5]", &[("poll", "[]", "10.5")], 0);
    check("priority-queue:init=[9.5 10.5]", &[("poll", "[]", "9.5")], 1);
}

#[test]
fn a_number_is_not_a_text_and_stays_a_number() {
    both("register", &[("write", "[1.5]", "null"), ("read", "[]", "\"1.5\"")], 1);
    both("register", &[("write", "[1.50]", "null"), ("read", "[]", "15e-1")], 0);
    let large = "18446744073709551616";
    let history = stream("queue", &[("enq", &format!("[9.5,\"9.5\",{large}]"), "null")]);
    let f = Folder::new().with(
        "h.jsonl",
        history
            .replace("[9.5,\"9.5\",", "[[9.5,\"9.5\",")
            .replace("],", "]],")
            .replace("]}", "]]}"),
    );
    for format in ["json-lines", "edn", "calls", "wing-gong"] {
        let run = f.run(&format!("convert h.jsonl --to {format}"));
        assert_eq!(run.code, 0, "{run:?}");
        let separator = if format == "json-lines" { "," } else { " " };
        let list = ["[9.5", "\"9.5\"", &format!("{large}]")].join(separator);
        assert!(run.stdout.contains(&list), "{format}: {}", run.stdout);
    }
}

#[test]
fn increments_that_tell_the_total_before() {
    let inc = |told: &'static str| ("inc", "[]", told);
    check("counter", &[inc("0"), inc("1"), ("read", "[]", "2")], 0);
    check("counter", &[inc("1"), inc("2"), ("read", "[]", "2")], 0);
    check("counter", &[("fetch_add", "[5]", "0"), ("add_and_get", "[2]", "7")], 0);
    // Before for one and after for another is neither.
    let said = check("counter", &[inc("1"), inc("1")], 1);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for meaning in ["Read as totals after the additions: ", "Read as totals before the additions: "]
    {
        assert!(words.contains(meaning), "{said}");
    }
    // Which of the two a name means is shown as it is read.
    let said = check("counter:results=before", &[("add_and_get", "[5]", "4")], 1);
    assert!(said.contains("add_and_get(5) -> 4"), "{said}");
    let said = check("counter:results=before", &[("add", "[5]", "4")], 1);
    assert!(said.contains("add(5) -> 4") && !said.contains("fetch_add"), "{said}");
    check("counter:results=after", &[inc("0"), inc("1")], 1);
    check("counter:results=before", &[inc("0"), inc("1")], 0);
    check("counter", &[("fetch_add", "[5]", "5")], 1);
    for what in ["\"five\"", "1.5", "false", "[1]"] {
        let said = check("counter", &[inc(Box::leak(what.to_string().into_boxed_str()))], 2);
        assert!(said.contains("as the result, found"), "{said}");
    }
}

#[test]
fn a_counter_with_two_meanings_shows_what_is_a_violation_in_both() {
    // Once two decrements were shown that are fine as totals before: only the third operation
    // spoils that.
    let operations = [("dec", "[]", "0"), ("dec", "[]", "-1"), ("read", "[]", "5")];
    let said = check("counter", &operations, 1);
    assert!(said.contains("3 operations fit no order") || said.contains("`read() -> 5`"), "{said}");
    let operations = [("dec", "[]", "0"), ("dec", "[]", "null"), ("inc", "[]", "7")];
    let said = check("counter", &operations, 1);
    // The sentence calls it what the lanes do.
    assert!(said.contains("`add(1) -> 7`") && !said.contains("they fit no order"), "{said}");
    assert!(!said.contains("inc()"), "{said}");
}

#[test]
fn contains_without_a_result_is_not_known() {
    for spec in ["set", "multiset"] {
        let looks = ("contains", "[1]", "null");
        check(spec, &[looks, ("add", "[1]", "null"), looks], 0);
        check(spec, &[("add", "[1]", "null"), ("contains", "[1]", "false")], 1);
    }
    let looks = ("contains", "[1]", "null");
    check("map", &[looks, ("put", "[1,2]", "null"), looks], 0);
    // The monitor says that it cannot tell, or the same.
    let f = Folder::new().with("h.jsonl", stream("set", &[("add", "[1]", "true"), looks]));
    assert_ne!(f.run("monitor h.jsonl").code, 1);
}

#[test]
fn a_written_value_of_minus_one_is_not_nil() {
    for (format, text) in [
        ("intervals", "# register\nwrite -1 1 2\nread -1 3 4\n"),
        ("intervals", "# queue\nenq -1 1 2\ndeq -1 3 4\n"),
        ("intervals-pid", "# stack\n0 1 2 PUSH -1\n0 3 4 POP -1\n"),
    ] {
        let f = Folder::new().with("h", text);
        let run = f.run(&format!("check h --format {format}"));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("expected another value than -1"), "{run:?}");
    }
    let f = Folder::new().with("h", "# register\nread -1 1 2\n");
    assert_eq!(f.run("check h").code, 0);
    let run = f.run("check h --spec register:init=-1");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("is ambiguous"), "{run:?}");
    // Where nothing is empty, -1 is a value as any other.
    let f = Folder::new().with("h", "# set\ninsert -1 1 1 2\ncontains -1 1 3 4\n");
    assert_eq!(f.run("check h").code, 0);
}

#[test]
fn guessed_keys_are_told() {
    // As keys and values it is fine; as values the second read is stale.
    let text = "{:process 0, :type :invoke, :f :write, :value [1 2]}\n\
                {:process 0, :type :ok, :f :write, :value [1 2]}\n\
                {:process 0, :type :invoke, :f :write, :value [3 4]}\n\
                {:process 0, :type :ok, :f :write, :value [3 4]}\n\
                {:process 0, :type :invoke, :f :read, :value [1 nil]}\n\
                {:process 0, :type :ok, :f :read, :value [1 2]}\n";
    let f = Folder::new().with("h.edn", text);
    let run = f.run("check h.edn --spec register");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("keys: guessed") && run.stdout.contains("--keys no"), "{run:?}");
    let run = f.run("check h.edn --spec register --json");
    assert!(run.stdout.contains("\"keys\":\"guessed: yes\""), "{run:?}");
    let run = f.run("check h.edn --spec register --keys no");
    assert_eq!(run.code, 1, "{run:?}");
    for said in ["no", "yes"] {
        let run = f.run(&format!("check h.edn --spec register --json --keys {said}"));
        assert!(!run.stdout.contains("guessed"), "{run:?}");
    }
    // What does not look like keys up to the end was guessed, too.
    let mixed = format!("{text}{}", text.replace("[1 2]", "5").replace("[3 4]", "6"));
    let f = Folder::new().with("h.edn", mixed);
    let run = f.run("check h.edn --spec register --json");
    assert!(run.stdout.contains("\"keys\":\"guessed: no\""), "{run:?}");
    // Nothing looks like keys: there is nothing to guess.
    let plain = text.replace("[1 2]", "2").replace("[3 4]", "4").replace("[1 nil]", "nil");
    let f = Folder::new().with("h.edn", plain);
    let run = f.run("check h.edn --spec register --json");
    assert!(!run.stdout.contains("guessed"), "{run:?}");
}

/// What is converted carries the keys as if somebody had said so, and a corpus counts the verdict.
#[test]
fn guessed_keys_are_told_by_convert_and_corpus() {
    let text = "{:process 0, :type :invoke, :f :write, :value [1 2]}\n\
                {:process 0, :type :ok, :f :write, :value [1 2]}\n";
    let columns = "path\tformat\tspec\tindependent_keys\n";
    let f = Folder::new()
        .with("h.edn", text)
        .with("guessed.tsv", format!("{columns}h.edn\tedn\tregister\t\n"))
        .with("said.tsv", format!("{columns}h.edn\tedn\tregister\tyes\n"));
    let run = f.run("convert h.edn --to json-lines");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("\"key\":1"), "{run:?}");
    assert!(
        run.stderr.contains("h.edn: keys: guessed") && run.stderr.contains("--keys no"),
        "{run:?}"
    );
    let run = f.run("convert h.edn --to json-lines --keys no");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let run = f.run("corpus guessed.tsv");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("keys: guessed in 1 row, first in h.edn"), "{run:?}");
    let run = f.run("corpus guessed.tsv --json");
    assert!(run.stdout.contains("\"keys\":\"guessed: yes\""), "{run:?}");
    for run in [f.run("corpus said.tsv"), f.run("corpus said.tsv --json")] {
        assert!(!run.stdout.contains("guessed"), "{run:?}");
    }
}

#[test]
fn removals_with_an_argument_read_back_from_calls() {
    let text = "{:process 0, :type :invoke, :f :add, :value 5}\n\
                {:process 0, :type :ok, :f :add, :value true}\n\
                {:process 0, :type :invoke, :f :remove, :value 5}\n\
                {:process 0, :type :ok, :f :remove, :value true}\n\
                {:process 0, :type :invoke, :f :remove, :value 5}\n\
                {:process 0, :type :ok, :f :remove, :value 5}\n";
    let f = Folder::new().with("h.edn", text);
    let calls = f.run("convert h.edn --to calls");
    assert_eq!(calls.code, 0, "{calls:?}");
    let json = f.run("convert h.edn --to json-lines --spec set").stdout;
    let f = f.with("h.calls", &calls.stdout);
    let again = f.run("convert h.calls --to json-lines").stdout;
    assert_eq!(again, json);
    assert_eq!(f.run("check h.edn --spec set").code, f.run("check h.calls --spec set").code);
}

#[test]
fn a_get_of_a_map_is_called_with_its_key() {
    let event = |kind: &str, f: &str, value: &str| {
        format!("{{:process 0, :type :{kind}, :f :{f}, :value {value}}}\n")
    };
    for (called, told) in [(":k", "5"), (":k", "[:k 5]"), ("[:k nil]", "[:k 5]"), ("[:k nil]", "5")]
    {
        let puts = event("invoke", "put", "[:k 5]") + &event("ok", "put", "[:k 5]");
        let gets = event("invoke", "get", called) + &event("ok", "get", told);
        let other = event("invoke", "get", ":other") + &event("ok", "get", "nil");
        let f = Folder::new()
            .with("good.edn", format!("{puts}{gets}{other}"))
            .with("bad.edn", format!("{gets}{puts}"));
        let run = f.run("check good.edn --spec map");
        assert_eq!(run.code, 0, "{called} {told}: {run:?}");
        let run = f.run("check bad.edn --spec map");
        assert_eq!(run.code, 1, "{called} {told}: {run:?}");
        let run = f.run("convert good.edn --to json-lines --spec map");
        assert!(run.stdout.contains("\"call\":\"get\",\"args\":[\":k\"]"), "{run:?}");
    }
    // Without the specification the key is not dropped without a word.
    let f = Folder::new().with("h.edn", event("invoke", "get", ":k") + &event("ok", "get", "5"));
    let run = f.run("convert h.edn --to json-lines");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--spec map"), "{run:?}");
}

const QUEUED: &str =
    "{\"process\":0,\"call\":\"enq\",\"args\":[1]}\n{\"process\":0,\"return\":null}\n";

/// A monitor that follows `s.jsonl` and has read all of it.
#[cfg(target_os = "linux")]
fn follow(f: &Folder) -> Child {
    let child = command("monitor --follow --spec queue s.jsonl")
        .current_dir(f.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    await_read(&child, &f.path().join("s.jsonl"));
    child
}

#[cfg(target_os = "linux")]
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
#[cfg(target_os = "linux")]
fn a_followed_file_that_is_cut_short_is_noticed() {
    let f = Folder::new().with("s.jsonl", QUEUED);
    let child = follow(&f);
    fs::write(f.path().join("s.jsonl"), "").unwrap();
    let (code, said) = end(child);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("s.jsonl") && said.contains("it was truncated from"), "{said}");
}

/// Cut and written anew, it is longer than before.
#[test]
#[cfg(target_os = "linux")]
fn a_followed_file_that_is_written_anew_is_noticed() {
    let f = Folder::new().with("s.jsonl", QUEUED);
    let child = follow(&f);
    let other = "{\"process\":0,\"call\":\"deq\"}\n{\"process\":0,\"return\":2}\n".repeat(9);
    // In place: another file of the name would be a rotation.
    fs::write(f.path().join("s.jsonl"), other).unwrap();
    let (code, said) = end(child);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("written anew") || said.contains("it was truncated from"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_followed_file_that_is_rotated_is_noticed() {
    let f = Folder::new().with("s.jsonl", QUEUED);
    let child = follow(&f);
    fs::rename(f.path().join("s.jsonl"), f.path().join("s.jsonl.1")).unwrap();
    let taken = "{\"process\":0,\"call\":\"deq\"}\n{\"process\":0,\"return\":1}\n";
    fs::write(f.path().join("s.jsonl"), taken).unwrap();
    let (code, said) = end(child);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("rotated"), "{said}");
}

/// The skipped line may have contained a wrong result.
#[test]
fn a_stream_with_skipped_lines_is_not_called_linearizable() {
    let stream =
        format!("{QUEUED}{{\"process\":0,\"call\":\"deq\"}}\n{{\"process\":0,\"return\":2\n");
    let f = Folder::new().with("s.jsonl", stream);
    let run = f.run("monitor --lenient --spec queue s.jsonl");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.starts_with("no violation found: s.jsonl"), "{run:?}");
    assert!(run.stdout.contains("1 malformed line skipped"), "{run:?}");
    let run = f.run("monitor --lenient --spec queue --json s.jsonl");
    assert!(run.stdout.contains("\"verdict\":\"unknown\""), "{run:?}");
    assert!(run.stdout.contains("\"message\":\"no violation found\""), "{run:?}");
    let f = Folder::new().with("s.jsonl", QUEUED);
    let run = f.run("monitor --lenient --spec queue s.jsonl");
    assert!(run.stdout.starts_with("linearizable: s.jsonl"), "{run:?}");
}

/// A pipe has no length: it was taken for a file that was cut to nothing. What comes here takes
/// several reads.
#[test]
#[cfg(target_os = "linux")]
fn a_followed_pipe_is_not_cut_short() {
    let taken = "{\"process\":0,\"call\":\"deq\"}\n{\"process\":0,\"return\":1}\n";
    let text = format!("{QUEUED}{taken}").repeat(9_000) + taken;
    let run = Folder::new().run_with("monitor --follow --spec queue /dev/stdin", text.as_bytes());
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("found after 36,002 events"), "{run:?}");
}

/// The memory used to be looked at between events alone, and one event can take more than all
/// before it.
#[test]
#[cfg(target_os = "linux")]
fn a_monitor_that_waits_keeps_its_memory_limit() {
    let mut child = command("monitor --memory 1M --spec queue -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    assert!(said.contains("the memory limit of 1 MB is spent"), "{said}");
    drop(open);
}

/// Its input never ends, and nothing comes.
#[test]
fn a_monitor_that_waits_keeps_its_time_limit() {
    for json in ["", "--json"] {
        let mut child = command(&format!("monitor --timeout 100ms --spec queue {json} -"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let open = child.stdin.take();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
        assert!(said.contains("the time limit of 0.1 s is spent"), "{said}");
        drop(open);
    }
}
