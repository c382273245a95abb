//! `trueline monitor`: streams, and how they end.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use crate::common::await_read;
use crate::common::{Folder, command};
use expect_test::expect;

const GOOD: &str = "\
{\"schema\":\"trueline-history/1\",\"spec\":\"queue\"}
{\"process\":0,\"call\":\"enq\",\"args\":[1]}
{\"process\":0,\"return\":null}
{\"process\":1,\"call\":\"deq\"}
{\"process\":1,\"return\":1}
";

const BAD: &str = "\
{\"process\":0,\"call\":\"enq\",\"args\":[1]}
{\"process\":0,\"return\":null}
{\"process\":0,\"call\":\"enq\",\"args\":[2]}
{\"process\":0,\"return\":null}
{\"process\":1,\"call\":\"deq\"}
{\"process\":1,\"return\":2}
{\"process\":1,\"call\":\"deq\"}
{\"process\":1,\"return\":1}
";

#[test]
fn a_stream_that_ends_without_a_violation() {
    let run = Folder::new().run_with("monitor -", GOOD.as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(
        run.stdout.starts_with("linearizable: -: 4 events, 2 operations (0 pending"),
        "{run:?}"
    );
}

#[test]
fn the_first_violation_ends_it() {
    let f = Folder::new().with("bad.jsonl", BAD);
    let run = f.run("monitor --spec queue bad.jsonl");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    // It is seen when 2 comes out: 1 is inside and no other operation can have it.
    let seen = "found after 6 events, 3 operations";
    assert!(run.stdout.contains(seen) && run.stdout.contains("deq() -> 2"), "{}", run.stdout);
    let run = f.run("monitor --spec queue --json bad.jsonl");
    assert_eq!(run.code, 1);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["verdict"], "violation");
    assert_eq!(object["events"], 6);
    assert_eq!(object["explanation"]["rechecked"], true);
}

#[test]
fn saturation_finds_violations_and_promises_nothing() {
    let f = Folder::new().with("bad.jsonl", BAD).with("good.jsonl", GOOD);
    let run = f.run("monitor --algorithm saturate --spec queue bad.jsonl");
    assert_eq!(run.code, 1, "{run:?}");
    let run = f.run("monitor --algorithm saturate good.jsonl");
    assert!(run.code == 0 && run.stdout.contains("no violation found"), "{run:?}");
    let run = f.run("monitor --algorithm saturate --spec set good.jsonl");
    assert_ne!(run.code, 0, "{run:?}");
}

#[test]
fn a_malformed_line_is_told_or_skipped() {
    let f = Folder::new().with("s.jsonl", GOOD.replace("\"call\":\"deq\"", "\"call\":7"));
    let run = f.run("monitor s.jsonl");
    assert_eq!(run.code, 2);
    expect![[r#"
        s.jsonl:4:21: found `7}`: expected the name of a method
    "#]]
    .assert_eq(&run.stderr);
    // Without its call the return is malformed, too.
    let run = f.run("monitor --lenient s.jsonl");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("2 malformed lines skipped"), "{run:?}");
}

#[test]
fn what_was_skipped_may_explain_a_violation() {
    let stream = GOOD.replace("[1]}", "[1}");
    let run = Folder::new().run_with("monitor --lenient -", stream.as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (3, ""));
    expect!["unknown: -: undecided from here on: 2 malformed lines were skipped and may contain events that explain the operations that fit no order: deq() -> 1"]
        .assert_eq(run.stdout.lines().next().unwrap_or_default());
}

#[test]
fn a_compare_and_swap_that_is_open_may_have_written() {
    let stream = "\
{\"process\":0,\"call\":\"write\",\"args\":[3]}
{\"process\":0,\"return\":null}
{\"process\":0,\"call\":\"write\",\"args\":[2]}
{\"process\":0,\"return\":null}
{\"process\":1,\"call\":\"cas\",\"args\":[2,3]}
{\"process\":0,\"call\":\"read\"}
{\"process\":0,\"return\":3}
";
    let f = Folder::new().with("s.jsonl", stream);
    assert_eq!(f.run("check --spec register:init=0 s.jsonl").code, 0);
    let run = f.run("monitor --spec register:init=0 s.jsonl");
    assert!(run.code == 3 && run.stdout.contains("may be a write"), "{run:?}");
}

#[test]
fn what_left_while_the_last_open_removal_ran_matters_for_what_it_promises() {
    // Smallest first: 3 is inside until its poll is called, 4 from before that on; so 5 never has
    // its turn.
    let stream = "\
{\"process\":1,\"call\":\"insert\",\"args\":[5]}
{\"process\":1,\"return\":null}
{\"process\":2,\"call\":\"insert\",\"args\":[3]}
{\"process\":2,\"return\":null}
{\"process\":0,\"call\":\"insert\",\"args\":[4]}
{\"process\":2,\"call\":\"poll\"}
{\"process\":0,\"return\":null}
{\"process\":0,\"call\":\"poll\"}
{\"process\":0,\"return\":3}
{\"process\":2,\"return\":5}
";
    let f = Folder::new().with("s.jsonl", stream);
    assert_eq!(f.run("check --spec priority-queue:order=min s.jsonl").code, 1);
    assert_eq!(f.run("monitor --spec priority-queue:order=min s.jsonl").code, 1);
}

#[test]
fn a_stream_without_events_does_not_pass() {
    let header = GOOD.lines().next().unwrap_or_default();
    for stream in ["", "\n\n", header] {
        let run = Folder::new().run_with("monitor --spec queue -", stream.as_bytes());
        assert!(run.code == 2 && run.stderr.starts_with("-: no events: "), "{run:?}");
    }
}

#[test]
fn packed_streams_are_unpacked() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(BAD.as_bytes()).unwrap();
    let f = Folder::new().with("bad.jsonl.gz", packed.finish().unwrap());
    assert_eq!(f.run("monitor --spec queue bad.jsonl.gz").code, 1);
}

#[test]
fn a_return_without_a_call_is_an_error() {
    let run = Folder::new().run_with("monitor --spec queue -", b"{\"process\":3,\"return\":1}\n");
    assert_eq!(run.code, 2);
    expect![[r#"
        -:1:1: process 3 returns without an open call: expected a call first
    "#]]
    .assert_eq(&run.stderr);
}

#[test]
fn a_method_that_the_specification_does_not_know_is_an_error_unless_renamed() {
    let stream = GOOD.replace("\"deq\"", "\"fetch\"");
    let f = Folder::new().with("s.jsonl", stream);
    let run = f.run("monitor s.jsonl");
    assert!(run.code == 2 && run.stderr.starts_with("s.jsonl:4:1: "), "{run:?}");
    assert_eq!(f.run("monitor --rename fetch=deq s.jsonl").code, 0);
}

#[test]
fn several_files_are_merged_by_time() {
    let writer = "\
{\"process\":0,\"call\":\"write\",\"args\":[1],\"time\":10}
{\"process\":0,\"return\":null,\"time\":20}
{\"process\":0,\"call\":\"write\",\"args\":[2],\"time\":30}
{\"process\":0,\"return\":null,\"time\":40}
";
    let reader = |second: u32| {
        format!(
            "{{\"process\":0,\"call\":\"read\",\"time\":24}}\n{{\"process\":0,\"return\":1,\"time\":26}}\n\
             {{\"process\":0,\"call\":\"read\",\"time\":44}}\n{{\"process\":0,\"return\":{second},\"time\":46}}\n"
        )
    };
    let f = Folder::new().with("w", writer).with("good", reader(2)).with("bad", reader(1));
    assert_eq!(f.run("monitor --spec register w good").code, 0);
    let run = f.run("monitor --spec register w bad");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("bad:0") && run.stdout.contains("w:0"), "{}", run.stdout);
    let f = f.with("none", GOOD);
    let run = f.run("monitor --spec queue w none");
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("none:2:1: no time: "), "{run:?}");
    // A file whose times go back would cause false violations.
    let back = writer.replace("20", "5");
    let f = f.with("back", back);
    let run = f.run("monitor --spec register back good");
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("back:2:1: the time 5 is before 10, "), "{run:?}");
    let run = f.with("b&d", reader(1)).run("monitor --spec register w b&d");
    assert!(run.stdout.contains("reproduce: trueline monitor --spec register w 'b&d'"), "{run:?}");
}

#[test]
fn what_can_not_be_streamed_is_refused() {
    let f = Folder::new()
        .with("s", "{\"process\":0,\"call\":\"enq\",\"args\":[1],\"start\":1,\"end\":2}\n");
    let run = f.run("monitor --spec queue s");
    assert!(run.code == 2 && run.stderr.contains("can not be part of a stream"), "{run:?}");
    let run = f.run("monitor --spec queue --format edn s");
    assert!(run.code == 2 && run.stderr.contains("edn cannot be streamed"), "{run:?}");
    let run = f.run_with("monitor --spec counter -", b"{\"process\":0,\"call\":\"inc\"}\n");
    assert!(run.code == 2 && run.stderr.contains("no exact monitor"), "{run:?}");
}

#[test]
fn nothing_is_known_beyond_the_memory_or_beyond_an_ambiguous_value() {
    let f = Folder::new();
    let stream = f.run("generate --spec queue --operations 4000").stdout;
    let run = f.run_with("monitor --memory 1K -", stream.as_bytes());
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stdout.contains("the memory limit of 0 MB is spent"), "{run:?}");
    let twice = BAD.replace("[2]", "[1]");
    let run = f.run_with("monitor --spec queue -", twice.as_bytes());
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("from here on: the value 1 is put in again"), "{run:?}");
}

#[test]
fn every_kind_that_is_generated_is_fine_and_a_planted_violation_is_found() {
    let f = Folder::new();
    for spec in ["queue", "stack", "priority-queue", "register", "set --repeat", "mutex"] {
        for more in ["", "--occupancy 50 --processes 8", "--pending"] {
            let args = format!("generate --spec {spec} --operations 6000 {more}");
            let stream = f.run(&args).stdout;
            let run = f.run_with("monitor -", stream.as_bytes());
            assert_eq!(run.code, 0, "{args}: {run:?}");
        }
        if spec == "mutex" {
            continue;
        }
        let stream = f.run(&format!("generate --spec {spec} --operations 6000 --violation")).stdout;
        let run = f.run_with("monitor -", stream.as_bytes());
        assert_eq!(run.code, 1, "{spec}: {run:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_grows_is_followed_until_an_interrupt() {
    let f = Folder::new().with("s.jsonl", GOOD);
    let mut child = command("monitor --follow s.jsonl")
        .current_dir(f.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    await_read(&child, &f.path().join("s.jsonl"));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    assert!(said.contains("interrupted, no violation so far"), "{said}");

    let mut child = command("monitor --follow s.jsonl")
        .current_dir(f.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    await_read(&child, &f.path().join("s.jsonl"));
    let mut file = OpenOptions::new().append(true).open(f.path().join("s.jsonl")).unwrap();
    file.write_all(b"{\"process\":1,\"call\":\"deq\"}\n{\"process\":1,\"return\":1}\n").unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{said}");
}

/// A stream of operations one after the other: method, arguments, result.
fn one_by_one(spec: &str, operations: &[(&str, &str, &str)]) -> String {
    let mut text = format!("{{\"schema\":\"trueline-history/1\",\"spec\":\"{spec}\"}}\n");
    for (call, args, result) in operations {
        text += &format!("{{\"process\":0,\"call\":\"{call}\",\"args\":{args}}}\n");
        text += &format!("{{\"process\":0,\"return\":{result}}}\n");
    }
    text
}

#[test]
fn keys_of_a_map_are_not_one_register() {
    let puts = [("put", "[\"x\",1]", "null"), ("put", "[\"x\",2]", "null")];
    let stale = [("get", "[\"x\"]", "2"), ("get", "[\"y\"]", "2")];
    let fine = [("get", "[\"x\"]", "2"), ("get", "[\"y\"]", "null")];
    let f = Folder::new()
        .with("bad.jsonl", one_by_one("map", &[puts, stale].concat()))
        .with("good.jsonl", one_by_one("map", &[puts, fine].concat()));
    for algorithm in ["exact", "saturate"] {
        let run = f.run(&format!("monitor --algorithm {algorithm} bad.jsonl"));
        assert_eq!(run.code, 1, "{algorithm}: {run:?}");
        let run = f.run(&format!("monitor --algorithm {algorithm} good.jsonl"));
        assert_eq!(run.code, 0, "{algorithm}: {run:?}");
    }
    let puts = [("put", "[\"x\",\"a\"]", "null"), ("get", "[\"x\"]", "\"a\"")];
    let f = Folder::new()
        .with("bad.jsonl", one_by_one("kv", &[&puts[..], &[("get", "[1]", "\"a\"")]].concat()))
        .with("good.jsonl", one_by_one("kv", &[&puts[..], &[("get", "[1]", "\"\"")]].concat()));
    assert_eq!(f.run("monitor bad.jsonl").code, 1);
    assert_eq!(f.run("monitor good.jsonl").code, 0);
}

#[test]
fn a_stack_tells_what_it_has_put_off_before_it_gives_up() {
    let wrong = [("push", "[1]", "null"), ("push", "[2]", "null"), ("pop", "[]", "1")];
    for (method, args) in [("push", "[2]"), ("peek", "[]")] {
        let stream = one_by_one("stack", &[&wrong[..], &[(method, args, "null")]].concat());
        let run = Folder::new().run_with("monitor -", stream.as_bytes());
        assert_eq!(run.code, 1, "{method}: {run:?}");
    }
    // Where there is nothing to tell, nothing is claimed of the event that could not be judged.
    let right = [("push", "[1]", "null"), ("push", "[1]", "null")];
    let run = Folder::new().run_with("monitor -", one_by_one("stack", &right).as_bytes());
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stdout.contains("no violation found: 3 events"), "{run:?}");
}
