//! The commands beside `check`.

use crate::common::{Folder, example};
use expect_test::expect;

#[test]
fn convert_and_back_is_the_same_history() {
    let f = Folder::new().with("q.jsonl", example("queue-ok.jsonl"));
    let wing_gong = f.run("convert q.jsonl --to wing-gong");
    wing_gong.shows(expect![[r#"
        x Enq(1) alice
        x Enq(2) bob
        x Deq() carol
        x Ok(2) carol
        x Ok() alice
        x Ok() bob
        x Deq() carol
        x Ok(1) carol
        x Enq(3) alice
        exit code 0
    "#]]);
    let f = f.with("q.wg", &wing_gong.stdout);
    assert_eq!(f.run("check -q --spec queue q.wg").code, 0);
    let lines = f.run("convert q.jsonl --to json-lines");
    assert_eq!(lines.code, 0);
    let f = f.with("again.jsonl", &lines.stdout);
    assert_eq!(f.run("convert again.jsonl --to json-lines").stdout, lines.stdout);
}

/// Files end in `.jsonl`, so people type that as the name of the format.
#[test]
fn jsonl_is_another_name_of_json_lines() {
    let f = Folder::new().with("q.jsonl", example("queue-ok.jsonl"));
    let lines = f.run("convert q.jsonl --to json-lines");
    assert_eq!((lines.code, f.run("convert q.jsonl --to jsonl").stdout), (0, lines.stdout));
    assert_eq!(f.run("check -q q.jsonl --format jsonl").code, 0);
    assert_eq!(f.run("monitor q.jsonl --spec queue --format jsonl").code, 0);
    assert!(f.run("formats jsonl").stdout.starts_with("json-lines: "));
    let made = "generate --spec queue -n 5 --seed 1 --format";
    let lines = f.run(&format!("{made} json-lines"));
    assert_eq!((lines.code, f.run(&format!("{made} jsonl")).stdout), (0, lines.stdout));
}

#[test]
fn lists_are_one_line_each() {
    let f = Folder::new();
    f.run("algorithms").shows(expect![[r#"
        auto          the monitor if applicable, otherwise the search (default)
        monitor       exact and log-linear, for register, queue, stack, priority queue, set, mutex, snapshot with unique values
        search        general search: depth-first and just-in-time in turn; the first to finish decides
        depth-first   Wing and Gong's search, memoised on (frontier, pending operations, state), with dominance
        just-in-time  carries the set of possible configurations from return to return
        wgl           reference: memo on the full set of operations and the state
        wing-gong     reference: the search of 1993 as published, no memo
        saturate      derives necessary orderings at every return (option r: drops matched pairs); histories it cannot refute are searched
        symbolic      a SAT solver on the object's theory at every return (options c: completions one by one, i: one solver, r: as for saturate)
        enumerate     reference: every order in turn against the object's theory, at every return (option c)
        round-up      reference, only with --quasi: all quasi permutations of all sequentializations
        exit code 0
    "#]]);
    f.run("formats").shows(expect![[r#"
        json-lines        our own format: one JSON object per event, or per operation with start and end (read and written)
        edn               events of Jepsen and Knossos: one map per line, or a vector of maps (read and written)
        edn-kv            events of Jepsen on a key-value store, with :key beside :value (read)
        jepsen-log        the log of a Jepsen run: process, type, operation and value after tabs (read)
        calls             '[3] call push(a)', '[3] return': the number is the operation (read and written)
        limo              '[3] call push(a)', '[3] return': the number is the thread (read)
        intervals         method, value, start and end of each operation (read)
        intervals-pid     process, start, end, METHOD and value of each operation (read)
        snapshot-actions  startUpdate, endUpdate, startScan and endScan of a snapshot object (read)
        wing-gong         'Q Enq(5) A', 'Q Ok() A': the notation of Wing and Gong (read and written)
        exit code 0
    "#]]);
    f.run("formats calls").shows(expect![[r#"
        calls: '[3] call push(a)', '[3] return': the number is the operation (read and written)

          # @object atomic-stack
          [1] call push(a)
          [1] return
          [2] call pop
          [2] return a
        exit code 0
    "#]]);
    f.run("specs queue").shows(expect![[r#"
        queue: first in, first out; init lists the oldest value first

        parameters: init=[]

        also called: fifo, fifo-queue, atomic-queue

        methods:
          enq(value)
          deq() -> value or nil
          peek() -> value or nil
        exit code 0
    "#]]);
    let specs = f.run("specs");
    assert!(specs.stdout.lines().count() >= 20, "{}", specs.stdout);
    assert!(specs.stdout.lines().all(|line| line.chars().count() <= 120), "{}", specs.stdout);
    for kind in ["specs", "formats", "algorithms"] {
        for line in f.run(&format!("{kind} --json")).stdout.lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(object["schema"], "trueline/1");
        }
    }
}

#[test]
fn one_definition_makes_help_man_page_and_completions() {
    let f = Folder::new();
    for args in
        ["--help", "check --help", "man", "man check", "completions bash", "completions zsh"]
    {
        let run = f.run(args);
        assert!(run.code == 0 && run.stdout.contains("check"), "{args}: {run:?}");
    }
    assert!(f.run("man check").stdout.contains("timeout"));
    assert!(f.run("completions bash").stdout.contains("--algorithm"));
}

const MANIFEST: &str = "\
path\tformat\tspec\tindependent_keys\toperations\tverdict\tprovenance
jepsen/a/ok.edn\tedn\tregister\tno\t4\tlinearizable\tstated
jepsen/a/bad.edn\tedn\tregister\tno\t4\tviolation\tstated
jepsen/a/wrong.edn\tedn\tregister\tno\t4\tviolation\tstated
own/queue.jsonl\tjson-lines\tqueue\tno\t5\t\t
";

/// Help and the version were lost in silence where all else is an error.
#[test]
#[cfg(target_os = "linux")]
fn help_that_cannot_be_written_is_an_error() {
    for argument in ["--version", "help", "--help"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_trueline"));
        let output = command.arg(argument).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{argument}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("standard output: "), "{argument}: {stderr}");
    }
}

fn corpus() -> Folder {
    Folder::new()
        .with("c/jepsen/a/ok.edn", example("register-ok.edn"))
        .with("c/jepsen/a/bad.edn", example("register-violation.edn"))
        .with("c/jepsen/a/wrong.edn", example("register-ok.edn"))
        .with("c/own/queue.jsonl", example("queue-violation.jsonl"))
        .with("c/MANIFEST.tsv", MANIFEST)
}

/// The table of groups tells times: only its header and the lines around it are compared.
fn without_table(stdout: &str) -> String {
    let lines: Vec<&str> = stdout.lines().collect();
    let header = lines.iter().position(|line| line.starts_with("group ")).unwrap();
    let (before, last) = (&lines[..=header], lines.last().unwrap());
    format!("{}\n{last}\n", before.join("\n"))
}

#[test]
fn a_corpus_row_that_disagrees_fails() {
    let run = corpus().run("corpus c/MANIFEST.tsv --timeout 60s");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    expect![[r#"
        failed: jepsen/a/wrong.edn: expected violation, found linearizable
          reproduce: trueline check --spec register --format edn --keys no --timeout 60s c/jepsen/a/wrong.edn
        group              passed  failed  skipped      time  slowest
        3 passed, 1 failed, 0 skipped
    "#]].assert_eq(&without_table(&run.stdout));
}

#[test]
fn a_corpus_row_without_a_verdict_passes_when_it_is_decided() {
    let run = corpus().run("corpus c/MANIFEST.tsv --timeout 60s --only own/");
    assert_eq!(run.code, 0);
    assert_eq!(run.stdout.lines().last(), Some("1 passed, 0 failed, 0 skipped"));
}

#[test]
fn an_undecided_corpus_row_is_skipped() {
    let run = corpus().run("corpus c/MANIFEST.tsv --timeout 0s --only register");
    assert_eq!(run.code, 3);
    expect![[r#"
        skipped: jepsen/a/ok.edn: the time limit of 0 s is spent while it was read
        skipped: jepsen/a/bad.edn: the time limit of 0 s is spent while it was read
        skipped: jepsen/a/wrong.edn: the time limit of 0 s is spent while it was read
        group              passed  failed  skipped      time  slowest
        0 passed, 0 failed, 3 skipped
    "#]]
    .assert_eq(&without_table(&run.stdout));
}

#[test]
fn a_corpus_row_that_cannot_be_read_fails() {
    let f = corpus().with("c/jepsen/a/ok.edn", "{:process");
    let run = f.run("corpus c/MANIFEST.tsv --timeout 60s --only ok.edn");
    assert_eq!(run.code, 2);
    expect![[r#"
        failed: jepsen/a/ok.edn:1:10: found the end of the input: expected a value
          reproduce: trueline check --spec register --format edn --keys no --timeout 60s c/jepsen/a/ok.edn
        group              passed  failed  skipped      time  slowest
        0 passed, 1 failed, 0 skipped
    "#]].assert_eq(&without_table(&run.stdout));
}

#[test]
fn the_tally_of_a_corpus_is_the_last_object() {
    let run = corpus().run("corpus c/MANIFEST.tsv --timeout 60s --json");
    let objects: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 5);
    let results: Vec<&str> = objects[..4].iter().map(|o| o["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["passed", "passed", "failed", "passed"]);
    assert_eq!((&objects[4]["passed"], &objects[4]["failed"]), (&3.into(), &1.into()));
    assert!(objects.iter().all(|o| o["schema"] == "trueline/1"));
}

#[test]
fn what_is_generated_is_what_was_asked_for() {
    let f = Folder::new();
    let one = f.run("generate --spec queue --operations 3 --processes 2 --seed 7");
    one.shows(expect![[r#"
        {"schema":"trueline-history/1","spec":"queue"}
        {"process":1,"call":"enq","args":[1]}
        {"process":0,"call":"deq"}
        {"process":1,"return":null}
        {"process":1,"call":"deq"}
        {"process":0,"return":null}
        {"process":1,"return":1}
        exit code 0
    "#]]);
    assert_eq!(f.run("generate --spec queue -n 3 -p 2 --seed 7").stdout, one.stdout);
    let check = |flags: &str| {
        let made = f.run(&format!("generate --operations 60 --seed 1 {flags}"));
        assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{flags}");
        f.run_with("check --quiet -", made.stdout.as_bytes()).code
    };
    for spec in ["queue", "register", "kv", "bounded-queue:capacity=4", "mutex"] {
        assert_eq!(check(&format!("--spec {spec}")), 0, "{spec}");
        assert_eq!(check(&format!("--spec {spec} --pending --repeat --overlap 1")), 0, "{spec}");
        assert_eq!(check(&format!("--spec {spec} --violation")), 1, "{spec}");
        assert_eq!(check(&format!("--spec {spec} --violation=0.9")), 1, "{spec}");
    }
    // No memory is asked for before the plan is looked at.
    let wrong = f.run("generate --spec queue -n 3 -p 18446744073709551615");
    wrong.complains(expect![[r#"
        queue: processes: expected a number from 1 to 1048576, found 18446744073709551615
    "#]]);
    let wrong = f.run("generate --spec queue --violation=7");
    wrong.complains(expect![[r#"
        queue: violation: expected a number from 0 to 1, found 7
    "#]]);
}

/// Files of several histories: `check` tells each apart, and what takes one history refuses them.
#[test]
fn several_histories_in_a_file_have_a_verdict_each() {
    let one = |value: u32| {
        format!("Q Enq(1) A\nQ Ok() A\nQ Enq(2) A\nQ Ok() A\nQ Deq() A\nQ Ok({value}) A\n")
    };
    let rows = "path\tformat\tspec\tindependent_keys\toperations\tverdict\tprovenance\n\
                two.wg\twing-gong\tqueue\tno\t6\tlinearizable\town\n";
    let f = Folder::new()
        .with("two.wg", format!("{}\n{}", one(1), one(2)))
        .with("fine.wg", format!("{}\n\n{}", one(1), one(1)))
        .with("MANIFEST.tsv", rows);
    f.run("check --spec queue -q two.wg fine.wg").shows(expect![[r#"
        linearizable: two.wg, history 1: 3 operations fit an order that queue allows
        violation: two.wg, history 2: 3 operations fit no order that queue allows (object Q)
        linearizable: fine.wg, history 1: 3 operations fit an order that queue allows
        linearizable: fine.wg, history 2: 3 operations fit an order that queue allows
        exit code 1
    "#]]);
    let run = f.run("check --spec queue --json fine.wg");
    assert_eq!(run.code, 0, "{run:?}");
    let index =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["index"].clone();
    let indices: Vec<_> = run.stdout.lines().map(index).collect();
    assert_eq!(indices, [1, 2]);
    let second = "two.wg:8:1: found a second history behind a blank line";
    let run = f.run("convert two.wg --to json-lines");
    assert!(run.code == 2 && run.stderr.starts_with(second), "{run:?}");
    let run = f.run("corpus MANIFEST.tsv --timeout 60s");
    assert!(run.code == 2 && run.stdout.contains(second), "{run:?}");
    assert_eq!(f.run("monitor --spec queue two.wg").code, 2);
}
