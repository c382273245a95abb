//! `trueline check`: verdicts, exit codes, output.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::common::{Folder, command, example};
use expect_test::expect;

fn examples() -> Folder {
    [
        "queue-ok.jsonl",
        "queue-violation.jsonl",
        "register-ok.edn",
        "register-violation.edn",
        "stack-violation.calls",
        "keys-violation.jsonl",
    ]
    .iter()
    .fold(Folder::new(), |folder, name| folder.with(name, example(name)))
}

#[test]
fn a_queue_that_forgets_its_order() {
    examples().run("check queue-violation.jsonl").shows(expect![[r#"
        violation: queue-violation.jsonl: 4 of 6 operations fit no order that queue allows

          `deq() -> 3` overtook 2: `enq(2)` had returned before `enq(3)` was called, and
          `deq() -> 2` was called only after `deq() -> 3` had returned

          process alice  ╞═ enq(2) ═╡ ╞═ enq(3) ═╡
          process bob                                    ╞═ deq() -> 2 ═╡
          process carol                 ╞═ deq() -> 3 ═╡

          ═ enq(2)      process alice  line 4
          ═ enq(3)      process alice  line 8
          ═ deq() -> 3  process carol  line 9
          ═ deq() -> 2  process bob    line 12

          An order explains the first 4 of 6 returns, but not the next one: that of
          deq() -> 3, called in line 9.
          queue, ALGORITHM, 6 operations, 1 partition, STATES, TIME
          queue-monitor: it is a queue and values differ where operations overlap
          reproduce: trueline check queue-violation.jsonl
        exit code 1
    "#]]);
}

#[test]
fn the_theory_of_the_object_decides_as_its_monitor_does() {
    let f = examples();
    let ways = [
        "saturate",
        "saturate --options r",
        "symbolic",
        "symbolic --options i",
        "symbolic --options c,i,r",
        "enumerate",
        "enumerate --options c",
    ];
    for way in ways {
        let fine = f.run(&format!("check --algorithm {way} queue-ok.jsonl"));
        assert_eq!(fine.code, 0, "{way}: {fine:?}");
        let wrong = f.run(&format!("check --algorithm {way} queue-violation.jsonl"));
        assert_eq!(wrong.code, 1, "{way}: {wrong:?}");
        // The first return that cannot be explained is the tenth event.
        assert!(wrong.stdout.contains("seen at step 10"), "{way}: {wrong:?}");
        let again = format!("reproduce: trueline check --algorithm {way} queue-violation.jsonl");
        assert!(wrong.stdout.contains(&again), "{way}: {wrong:?}");
    }
    // If saturation does not refute, another algorithm must confirm; it is named.
    let fine = f.run("check --algorithm saturate queue-ok.jsonl --json");
    assert!(fine.stdout.contains("it saw no violation, queue-monitor decided"), "{fine:?}");
    let unfit = f.run("check --algorithm saturate --spec semiqueue:k=2 queue-ok.jsonl");
    assert_eq!(unfit.code, 3, "{unfit:?}");
    assert!(unfit.stdout.contains("no theory is known for this specification"), "{unfit:?}");
}

#[test]
fn a_stale_read() {
    examples().run("check --spec register register-violation.edn").shows(expect![[r#"
        violation: register-violation.edn: 4 operations fit no order that register allows

          `read() -> 1` is impossible: `read() -> 2` had returned before it was called,
          and nothing can have written 1 in between: `write(1)` had returned before
          `read() -> 2` was called

          process 0  ╞═ write(1) ═╡ ├─ write(2) ──────────────────────────┤
          process 1                                     ╞═ read() -> 1 ═╡
          process 2                   ╞═ read() -> 2 ═╡

          ═ write(1)     process 0  line 2
            write(2)     process 0  line 4
          ═ read() -> 2  process 2  line 5
          ═ read() -> 1  process 1  line 7

          An order explains the first 2 of 4 returns, but not the next one: that of
          read() -> 1, called in line 7.
          register, ALGORITHM, 4 operations, 1 partition, STATES, TIME
          register-monitor: it is a register and values differ where operations overlap
          reproduce: trueline check --spec register register-violation.edn
        exit code 1
    "#]]);
}

#[test]
fn a_stack_that_claims_to_be_empty() {
    examples().run("check stack-violation.calls --ascii").shows(expect![[r#"
        violation: stack-violation.calls: 2 of 4 operations fit no order that stack allows

          `pop() -> nil` found the stack empty, but "c" was in it: `push(c)` had
          returned before it was called, and "c" was never popped

          process 0  |= push(c) =| |= pop() -> nil =|

          = push(c)       process 0  line 5
          = pop() -> nil  process 0  line 9

          An order explains the first 3 of 4 returns, but not the next one: that of
          pop() -> nil, called in line 9.
          stack, ALGORITHM, 4 operations, 1 partition, STATES, TIME
          stack-monitor: it is a stack and values differ where operations overlap
          reproduce: trueline check stack-violation.calls
        exit code 1
    "#]]);
}

#[test]
fn one_key_loses_a_write() {
    examples().run("check keys-violation.jsonl").shows(expect![[r#"
        violation: keys-violation.jsonl: 2 of 4 operations fit no order that register:init=0 allows (key x)

          `read() -> 0` is impossible: `write(5)` had returned before it was called, and
          nothing can have written 0 in between: 0 is only the initial value

          process 0  ╞═ write(5) ═╡
          process 1                 ╞═ read() -> 0 ═╡

          ═ write(5)     process 0  line 2
          ═ read() -> 0  process 1  line 7

          An order explains the first of 2 returns of key x, but not the next one: that
          of read() -> 0, called in line 7.
          register:init=0, ALGORITHM, 4 operations, 2 partitions, STATES, TIME
          register-monitor: it is a register and values differ where operations overlap
          reproduce: trueline check keys-violation.jsonl
        exit code 1
    "#]]);
}

#[test]
fn linearizable_with_its_order() {
    examples().run("check queue-ok.jsonl --witness").shows(expect![[r#"
        linearizable: queue-ok.jsonl: 5 operations fit an order that queue allows

          1  enq(2)      process bob, line 3
          2  enq(1)      process alice, line 2
          3  deq() -> 2  process carol, line 4
          4  deq() -> 1  process carol, line 8

          queue, ALGORITHM, 5 operations (1 pending), 1 partition, STATES, TIME
          queue-monitor: it is a queue and values differ where operations overlap
        exit code 0
    "#]]);
}

#[test]
fn all_examples_hold_what_their_names_say() {
    let run = examples().run(
        "check --quiet queue-ok.jsonl queue-violation.jsonl stack-violation.calls keys-violation.jsonl",
    );
    run.shows(expect![[r#"
        linearizable: queue-ok.jsonl: 5 operations fit an order that queue allows
        violation: queue-violation.jsonl: 4 of 6 operations fit no order that queue allows
        violation: stack-violation.calls: 2 of 4 operations fit no order that stack allows
        violation: keys-violation.jsonl: 2 of 4 operations fit no order that register:init=0 allows (key x)
        exit code 1
    "#]]);
    examples().run("check --quiet --spec register register-ok.edn register-violation.edn").shows(
        expect![[r#"
            linearizable: register-ok.edn: 4 operations fit an order that register allows
            violation: register-violation.edn: 4 operations fit no order that register allows
            exit code 1
        "#]],
    );
}

#[test]
fn of_several_files_the_worst_counts() {
    let f = examples().with("bad.jsonl", "{");
    assert_eq!(f.run("check -q queue-ok.jsonl").code, 0);
    assert_eq!(f.run("check -q queue-ok.jsonl queue-violation.jsonl").code, 1);
    assert_eq!(f.run("check -q bad.jsonl queue-violation.jsonl queue-ok.jsonl").code, 2);
    // Time that is spent before anything is read leaves every file undecided.
    assert_eq!(f.run("check -q --timeout 0ms queue-ok.jsonl").code, 3);
    let all = f.run("check -q bad.jsonl queue-violation.jsonl queue-ok.jsonl");
    assert_eq!(all.stdout.lines().count(), 2, "the others are checked all the same");
}

#[test]
fn a_spent_budget_is_unknown() {
    examples().run("check --timeout 0ms queue-ok.jsonl").shows(expect![[r#"
        unknown: queue-ok.jsonl: the time limit of 0 ms is reached
          progress: the file was not read to its end
          try: a longer --timeout; --keys yes if the operations are on independent keys;
          a shorter recording
          reproduce: trueline check --timeout 0s queue-ok.jsonl
        exit code 3
    "#]]);
    examples().run("check --memory 1K queue-ok.jsonl").shows(expect![[r#"
        unknown: queue-ok.jsonl: the memory limit of 1 kB is reached
          progress: the file was not read to its end
          try: a larger --memory; --keys yes if the operations are on independent keys;
          --algorithm wing-gong, which needs little memory but may not terminate in
          reasonable time
          reproduce: trueline check --memory 1000 queue-ok.jsonl
        exit code 3
    "#]]);
}

#[test]
fn standard_input() {
    let run = Folder::new().run_with("check -q -", example("queue-ok.jsonl").as_bytes());
    run.shows(expect![[r#"
        linearizable: -: 5 operations fit an order that queue allows
        exit code 0
    "#]]);
}

#[test]
fn gzip_is_opened_as_it_is() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(example("queue-violation.jsonl").as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let f = Folder::new().with("q.gz", &packed).with("cut.gz", &packed[..packed.len() / 2]);
    assert_eq!(f.run("check -q q.gz").code, 1);
    f.run("check -q cut.gz").complains(expect![[r#"
        cut.gz:2:8: reading failed here: incomplete deflate stream
    "#]]);
}

/// `printf '# queue\n0 1 3 ENQ 10\n1 2 4 DEQ 10\n' | zstd`, written as one raw block.
fn zstd(content: &[u8]) -> Vec<u8> {
    let n = content.len() as u32;
    // Magic; a single segment whose size is one byte; a last raw block of n bytes.
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, n as u8];
    packed.extend(&(n << 3 | 1).to_le_bytes()[..3]);
    packed.extend(content);
    packed
}

#[test]
fn zstd_is_opened_as_it_is_in_several_frames_too() {
    let one = zstd(b"# queue\n0 1 3 ENQ 10\n1 2 4 DEQ 10\n");
    let two = [one.clone(), zstd(b"1 5 6 DEQ 11\n")].concat();
    let f = Folder::new().with("q.zst", &one).with("two.zst", &two).with("cut.zst", &one[..20]);
    assert_eq!(f.run("check -q --spec queue q.zst").code, 0);
    assert_eq!(f.run("check -q --spec queue two.zst").code, 1, "the second frame counts");
    f.run("check -q --spec queue cut.zst").complains(expect![[r#"
        cut.zst:1:1: reading failed here: the zstd data ends too early
    "#]]);
}

#[test]
fn json_is_one_object_a_line() {
    let run = examples().run("check --json queue-violation.jsonl queue-ok.jsonl");
    let objects: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((run.code, objects.len()), (1, 2));
    for object in &objects {
        assert_eq!(object["schema"], "trueline/1");
        for count in ["seconds", "operations", "pending", "partitions", "states"] {
            assert!(object[count].is_number(), "{count} in {object}");
        }
        assert!(object["algorithm"].is_string());
    }
    assert_eq!(objects[0]["file"], "queue-violation.jsonl");
    assert_eq!(objects[0]["verdict"], "violation");
    let explanation = &objects[0]["explanation"];
    assert!(explanation["sentence"].as_str().unwrap().contains("deq() -> 3"), "{explanation}");
    let operation = &explanation["operations"][0];
    for field in ["process", "call", "args", "text", "line", "column", "called", "returned"] {
        assert!(operation.get(field).is_some(), "{field} in {operation}");
    }
    assert_eq!(objects[1]["verdict"], "linearizable");
    assert_eq!((&objects[1]["operations"], &objects[1]["pending"]), (&5.into(), &1.into()));
    let run = examples().run("check --json --timeout 0ms queue-ok.jsonl");
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (run.code, &object["verdict"], &object["reason"]),
        (3, &"unknown".into(), &"time".into())
    );
    assert!(object["progress"].is_string());
}

#[test]
fn methods_can_be_renamed() {
    let history = example("queue-ok.jsonl").replace("enq", "offer").replace("deq", "poll");
    let f = Folder::new().with("q.jsonl", history);
    assert_eq!(f.run("check -q --rename offer=enq,poll=deq q.jsonl").code, 0);
}

#[test]
fn a_closed_pipe_ends_quietly_with_the_verdict() {
    let f = examples();
    let folder = f.with("x", "");
    let run = |args: &str| {
        let mut child = command(args)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (child.wait().unwrap().code(), stderr)
    };
    assert_eq!(run("check queue-violation.jsonl"), (Some(1), String::new()));
    assert_eq!(run("check queue-ok.jsonl"), (Some(0), String::new()));
    assert_eq!(run("convert queue-ok.jsonl --to edn"), (Some(0), String::new()));
    assert_eq!(run("specs"), (Some(0), String::new()));
}

#[test]
fn colour_only_where_it_is_asked_for() {
    let f = examples();
    assert!(!f.run("check queue-violation.jsonl").stdout.contains('\u{1b}'));
    assert!(f.run("check queue-violation.jsonl --color always").stdout.contains("\u{1b}[31m"));
}

/// The reason said that no value is written twice, of a history that is decided because nothing in
/// it overlaps.
#[test]
fn the_reason_is_true_of_a_sequential_history_that_repeats_a_value() {
    let line = |text: &str| format!("{{\"process\":0,{text}}}\n");
    let write = line("\"call\":\"write\",\"args\":[1]") + &line("\"return\":null");
    let f = Folder::new().with("twice.jsonl", write.repeat(2));
    let run = f.run("check --spec register twice.jsonl");
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("values differ where operations overlap"), "{run:?}");
}

#[test]
fn a_prefix_is_told_of_the_key_where_the_specification_splits() {
    let history = "\
{\"schema\":\"trueline-history/1\",\"spec\":\"set\"}
{\"process\":0,\"call\":\"contains\",\"args\":[1]}
{\"process\":1,\"call\":\"contains\",\"args\":[2]}
{\"process\":1,\"return\":true}
{\"process\":0,\"return\":true}
";
    // 2 was not there either, and that was seen before.
    let run = Folder::new().with("h.jsonl", history).run("check h.jsonl");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.stdout.contains("On this key, an order explains everything before"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_value_that_is_pushed_again_is_told_anew() {
    let operations = ["push 1", "pop 1", "push 1", "pop 1", "pop 1", "pop 1", "pop 1", "pop 1"];
    let history = |count: usize| {
        let mut text = String::from(
            "{\"schema\":\"trueline-history/1\",\"spec\":\"relaxed-stack:stutter=2\"}\n",
        );
        for operation in &operations[..count] {
            text += match *operation {
                "pop 1" => "{\"process\":0,\"call\":\"pop\"}\n{\"process\":0,\"return\":1}\n",
                _ => {
                    "{\"process\":0,\"call\":\"push\",\"args\":[1]}\n{\"process\":0,\"return\":null}\n"
                }
            };
        }
        text
    };
    let f = Folder::new().with("five.jsonl", history(7)).with("six.jsonl", history(8));
    assert_eq!(f.run("check five.jsonl").code, 0);
    assert_eq!(f.run("check six.jsonl").code, 1);
}

#[test]
fn an_insertion_that_was_refused_is_not_taken_for_one() {
    let history = "\
{\"schema\":\"trueline-history/1\",\"spec\":\"queue\"}
{\"process\":0,\"call\":\"enq\",\"args\":[1]}
{\"process\":0,\"return\":false}
";
    let run = Folder::new().with("h.jsonl", history).run("check h.jsonl");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("recorded as failed"), "{}", run.stderr);
}

#[test]
fn calls_of_a_set_with_initial_contents_are_read_as_they_are_written() {
    let history = "# @object atomic-set:init=[3]\n[1] call remove(1)\n[1] return false\n[2] call remove(3)\n[2] return true\n";
    let run = Folder::new().with("h.calls", history).run("check h.calls");
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn a_name_that_is_renamed_twice_is_refused() {
    let f = examples();
    for command in ["check --spec queue", "monitor --spec queue", "convert --to calls"] {
        let run = f.run(&format!("{command} h.jsonl --rename offer=enq,offer=deq"));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("offer is renamed twice"), "{run:?}");
    }
}
