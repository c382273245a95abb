//! `trueline simulate` and `trueline objects` as people see them.

use std::process::Command;

use crate::common::Folder;
use expect_test::expect;

/// Runs `trueline` with these arguments, which may have blanks.
fn trueline(arguments: &[&str]) -> (String, String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_trueline")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

#[test]
fn objects_are_listed_and_shown() {
    let f = Folder::new();
    let list = f.run("objects");
    assert_eq!(list.code, 0);
    assert!(list.stdout.lines().any(|l| l.starts_with("michael-scott-queue ")), "{}", list.stdout);
    f.run("objects herlihy-wing-queue-rereads").shows(expect![[r#"
        herlihy-wing-queue-rereads: deq reads the number of reserved places again, and may miss a value: Wing and Gong, section 3.2.2

        standing       broken on purpose: a mutant of herlihy-wing-queue
        specification  queue; deq waits while there is nothing
        operations     enq(-9223372036854775807 or more) deq()
        generated callsenq(*) deq(), unless given
        progress       enq wait-free; deq waits on an empty queue, otherwise lock-free
        source         Herlihy, Wing, Linearizability: a correctness condition for concurrent objects, 1990
        shown by       enq(1) enq(2) | deq()
        exit code 0
    "#]]);
    let json = f.run("objects vyukov-queue --json");
    let object: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&object["standing"], &object["see"]), (&"flawed".into(), &"array-queue".into()));
    let json = f.run("objects snapshot --json");
    let object: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(object["operations"], serde_json::json!(["update(0 to 1, any number)", "scan()"]));
    assert_eq!(f.run("objects nothing").code, 2);
}

#[test]
fn a_violation_comes_with_a_line_that_runs_it_again() {
    let (stdout, _, code) = trueline(&[
        "simulate",
        "vyukov-queue",
        "--program",
        "enq(1) deq() | enq(2) deq()",
        "--json",
    ]);
    let object: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(code, 1);
    assert_eq!(object["verdict"], "violation");
    assert_eq!(object["explanation"]["kind"], "not linearizable");
    assert!(object["executions"].as_u64().unwrap() > 0);
    assert!(object["explanation"]["history"].as_str().unwrap().contains("Q Enq(1) P1\n"));
    let replay = object["explanation"]["replay"].as_str().unwrap();
    let (again, _, code) = trueline(&[
        "simulate",
        "vyukov-queue",
        "--program",
        "enq(1) deq() | enq(2) deq()",
        "--replay",
        replay,
        "--json",
    ]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(code, 1);
    assert_eq!(again["executions"], 1);
    assert_eq!(again["explanation"]["sentence"], object["explanation"]["sentence"]);
}

#[test]
fn histories_are_printed_in_the_notation_of_wing_and_gong() {
    let (stdout, _, code) = trueline(&[
        "simulate",
        "treiber-stack",
        "--program",
        "push(1) | pop()",
        "--histories",
        "2",
    ]);
    assert_eq!(code, 0);
    assert!(stdout.starts_with("/* This is simulation number 1 */\nS Push(1) P1\n"), "{stdout}");
}

/// Several histories behind each other were read back as one, with a violation that nobody had
/// made.
#[test]
fn histories_that_are_printed_are_checked_as_several() {
    let f = Folder::new();
    let print = |object: &str, program: &str| {
        trueline(&["simulate", object, "--program", program, "--histories", "9"]).0
    };
    let sound = print("treiber-stack", "push(1) | pop() pop()");
    let checked = f.run_with("check --spec stack --json -", sound.as_bytes());
    assert_eq!(checked.code, 0, "{sound}{}{}", checked.stdout, checked.stderr);
    let objects: Vec<serde_json::Value> =
        checked.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let printed = sound.matches("/* This is simulation number").count();
    assert!(printed > 1);
    let numbers: Vec<u64> = objects.iter().map(|o| o["index"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=printed as u64).collect::<Vec<_>>());
    assert!(objects.iter().all(|o| o["file"] == "-" && o["verdict"] == "linearizable"));
    // Of an object that is broken, the last one is wrong, and is said to be.
    let broken = print("herlihy-wing-queue-rereads", "enq(1) enq(2) | deq()");
    assert_eq!(broken.matches("/* This history is not linearizable! */").count(), 1);
    let checked = f.run_with("check --spec queue -q -", broken.as_bytes());
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    let lines: Vec<&str> = checked.stdout.lines().collect();
    let (last, others) = lines.split_last().unwrap();
    assert!(last.starts_with(&format!("violation: -, history {}: ", lines.len())), "{last}");
    assert!(others.iter().all(|line| line.starts_with("linearizable: -, history ")), "{others:?}");
}

/// Twenty operations of two processes that both begin with `deq` were 'linearizable, complete'
/// after one execution.
#[test]
fn random_programs_on_which_all_block_at_once_are_a_sample() {
    let f = Folder::new();
    let run = f.run("simulate herlihy-wing-queue -p 2 -n 20 --random 1 --quiet");
    run.shows(expect![[r#"
        unknown: herlihy-wing-queue: nothing wrong was found in 1 random program of 2 processes x 20 operations, which are a sample
        exit code 3
    "#]]);
}

/// Ten mutants were 'linearizable, complete' at the size that is taken where none is given, and one
/// did not end within a minute.
#[test]
fn what_is_listed_as_broken_is_found_broken_at_any_size() {
    let f = Folder::new();
    for object in [
        "treiber-stack-reuses-nodes",
        "stuttering-queue-counts-in-two-steps",
        "snzi-does-not-take-back",
        "fetch-add-queue-numbers-in-two-steps",
    ] {
        let run = f.run(&format!("simulate {object} --quiet"));
        assert_eq!(run.code, 1, "{object}: {}{}", run.stdout, run.stderr);
        let run = f.run(&format!("simulate {object} -p 2 -n 1 --quiet"));
        assert_eq!(run.code, 1, "{object}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn the_headline_says_for_which_programs_it_holds() {
    let headline = |arguments: &[&str]| {
        let (stdout, stderr, code) = trueline(&[&["simulate", "--quiet"], arguments].concat());
        assert_eq!(code, 0, "{stdout}{stderr}");
        stdout.split("; sequentially").next().unwrap().to_string() + "\n"
    };
    let around = ["--before", "push(1)", "--after", "pop()"];
    let all = headline(&["treiber-stack"])
        + &headline(&[&["treiber-stack", "-p", "3", "-n", "1"], &around[..]].concat())
        + &headline(&["treiber-stack", "--program", "push(1) | pop()"]);
    expect![[r#"
        linearizable: treiber-stack: holds for all programs of 2 processes x 2 operations
        linearizable: treiber-stack: holds for all programs of 3 processes x 1 operation after push(1) before pop()
        linearizable: treiber-stack: holds for this program
    "#]]
    .assert_eq(&all);
}

/// A limit did not cover all that is done: programs were made, and failures made smaller, however
/// long that took; there was none of memory.
#[test]
fn limits_of_time_and_memory_end_in_unknown() {
    let f = Folder::new();
    for (limit, why) in [
        ("--timeout 0s", "the time limit of 0 s is spent"),
        ("--memory 1K", "the memory limit of 0 MB is spent"),
    ] {
        for more in ["", "--mode stress", "--random 1000000 -p 16 -n 4"] {
            let run = f.run(&format!("simulate treiber-stack {limit} {more} --json"));
            assert_eq!(run.code, 3, "{limit} {more}: {}{}", run.stdout, run.stderr);
            let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!(object["verdict"], "unknown");
            assert!(object["message"].as_str().unwrap().contains(why), "{}", run.stdout);
        }
    }
}

#[test]
fn cases_come_from_a_file() {
    let f = Folder::new()
        .with("cases", "# both fine\nenq(1) | deq()\nbefore enq(1); deq() | deq(); after enq(2)\n")
        .with("wrong", "enq(1) | deq()\nenq() | deq()\n")
        .with("unread", "enq(1) deq(\n")
        .with("empty", "# nothing\n");
    let run = f.run("simulate michael-scott-queue --cases cases");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("  2 programs, "), "{}", run.stdout);
    let error = |name: &str| f.run(&format!("simulate michael-scott-queue --cases {name}")).stderr;
    expect![[r#"
        wrong: program 2, column 1: enq takes 1 argument, found 0
        unread: line 1, column 12: found the end: expected a whole number
        empty: found no program: expected a line such as enq(3) | deq()
    "#]]
    .assert_eq(&(error("wrong") + &error("unread") + &error("empty")));
}

#[test]
fn limits_leave_it_undecided() {
    for arguments in [
        &[
            "simulate",
            "michael-scott-queue",
            "--program",
            "enq(1) deq() | enq(2) deq()",
            "--limit",
            "3",
        ][..],
        &["simulate", "treiber-stack", "--mode", "stress", "--limit", "20", "--random", "2"],
    ] {
        let (stdout, stderr, code) = trueline(arguments);
        assert_eq!(code, 3, "{stdout}{stderr}");
        assert!(stdout.starts_with("unknown: "), "{stdout}");
    }
    let bounded = ["simulate", "treiber-stack", "--preemptions", "1", "--quiet"];
    let (stdout, _, code) = trueline(&bounded);
    assert_eq!(code, 0);
    assert!(stdout.contains("preemptions <= 1"), "{stdout}");
}

#[test]
fn errors_say_what_was_expected() {
    let error = |arguments: &[&str]| {
        let (stdout, stderr, code) = trueline(&[&["simulate"], arguments].concat());
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}");
        stderr
    };
    let mut all = error(&["treiber"]);
    all += &error(&["treiber-stack", "--program", "push(1) | shove(2)"]);
    all += &error(&["treiber-stack", "--program", "push(1 | pop()"]);
    all += &error(&["treiber-stack", "--before", "pop"]);
    all += &error(&["ticket-lock", "--program", "release()"]);
    all += &error(&["treiber-stack-relaxed", "--mode", "stress", "--limit", "1"]);
    all += &error(&["treiber-stack", "--processes", "8", "--operations", "8"]);
    all += &error(&["counter", "--program", &["inc()"; 17].join("|")]);
    expect![[r#"
        no object is called treiber: 'trueline objects' lists them
        push(1) | shove(2): column 11: treiber-stack has no shove: expected one of push, pop
        --program, column 8: found "| pop()": expected , or )
        --before, column 4: found the end: expected ( behind the name of an operation
        release(): column 1: a process must not release what it does not certainly hold
        treiber-stack-relaxed: its fault is undefined behaviour on real threads: it is explored only
        there are 509850594887712 programs of this size: expected at most 100000; --random 1000 runs a sample of them
        inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc() | inc(): column 97: found 17 processes: expected at most 16
    "#]].assert_eq(&all);
}

/// `enq(0)` of a queue that keeps 0 for itself was called a violation of that queue, and
/// `update(2, 1)` panicked.
#[test]
fn values_that_an_object_does_not_take_are_errors_of_the_program() {
    let f = Folder::new().with("cases", "enq(1) | deq()\nenq(0) | deq()\n");
    let run = f.run("simulate quasi-queue --cases cases");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let program = |object: &str, program: &str| {
        let (stdout, stderr, code) = trueline(&["simulate", object, "--program", program]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{program}");
        stderr
    };
    expect![[r#"
        cases: program 2, column 1: quasi-queue takes no enq(0): expected enq(1 or more)
        enq(0) | deq(): column 1: quasi-queue takes no enq(0): expected enq(1 or more)
        scan() | update(2, 1): column 10: snapshot takes no update(2, 1): expected update(0 to 1, any number)
        insert(16): column 1: bounded-priority-queue takes no insert(16): expected insert(0 to 15)
    "#]]
    .assert_eq(
        &(run.stderr
            + &program("quasi-queue", "enq(0) | deq()")
            + &program("snapshot", "scan() | update(2, 1)")
            + &program("bounded-priority-queue", "insert(16)")),
    );
}

/// A queue without an enqueue was waited for 20,000 times, for two seconds each.
#[test]
fn a_round_that_waits_as_it_may_is_not_run_again() {
    let f = Folder::new().with("cases", "deq()\ndeq()\ndeq() enq(1)\ndeq()\n");
    let run = f.run("simulate herlihy-wing-queue --mode stress --cases cases --json");
    assert_eq!(run.code, 3, "{}", run.stderr);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&object["executions"], &object["blocked"]), (&3.into(), &3.into()));
    let run = f.run("simulate herlihy-wing-queue --mode stress --quiet --program deq()");
    run.shows(expect![[r#"
        unknown: herlihy-wing-queue: nothing wrong was seen on real threads, which show some schedules only; deq(): a round did not end within 2 s, as it may
        exit code 3
    "#]]);
}

/// What was seen under one schedule was told as if real threads had been run, and one that does not
/// fit as a violation; on real threads a schedule was passed over in silence.
#[test]
fn a_schedule_that_shows_nothing_wrong_is_told_as_it_is() {
    let schedule = |object: &str, program: &str| {
        let (stdout, _, code) = trueline(&["simulate", object, "--program", program, "--json"]);
        assert_eq!(code, 1);
        let object: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        object["explanation"]["replay"].as_str().unwrap().to_string()
    };
    let program = "enq(1) enq(2) | deq()";
    let found = schedule("herlihy-wing-queue-rereads", program);
    // The whole schedule has rounds that the sound queue does not make; how it begins fits both.
    let (test, events) = found.split_once("@t1:").unwrap();
    let beginning: Vec<&str> = events.split('.').take(2).collect();
    let fitting = format!("{test}@t1:{}/0", beginning.join("."));
    let arguments = ["simulate", "--program", program, "--replay", &fitting, "herlihy-wing-queue"];
    let (stdout, _, code) = trueline(&[&arguments[..], &["--quiet"]].concat());
    assert_eq!(code, 3);
    expect![[r#"
        unknown: herlihy-wing-queue: nothing is wrong under this schedule, which is one of many
    "#]]
    .assert_eq(&stdout);
    let (stdout, on_threads, code) = trueline(&[&arguments[..], &["--mode", "stress"]].concat());
    assert_eq!((stdout.as_str(), code), ("", 2));
    let program = "enq(1) deq() | enq(2) deq()";
    let found = schedule("vyukov-queue", program);
    let arguments = ["simulate", "--program", program, "--replay", &found, "array-queue"];
    let (stdout, of_another, code) = trueline(&arguments);
    assert_eq!((stdout.as_str(), code), ("", 2));
    expect![[r#"
        --replay cannot be combined with --mode stress: the schedule of real threads cannot be controlled
        array-queue: the schedule is one of another object or program
    "#]]
    .assert_eq(&(on_threads + &of_another));
}
