//! `trueline check`: verdicts, exit codes, output.

mod common;

use std::io::{Read, Write};
use std::process::Stdio;

use common::{Folder, command, example};
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
    examples().run("check queue-violation.jsonl").shows(expect![[""]]);
}

#[test]
fn a_stale_read() {
    examples().run("check --spec register register-violation.edn").shows(expect![[""]]);
}

#[test]
fn a_stack_that_claims_to_be_empty() {
    examples().run("check stack-violation.calls --ascii").shows(expect![[""]]);
}

#[test]
fn one_key_loses_a_write() {
    examples().run("check keys-violation.jsonl").shows(expect![[""]]);
}

#[test]
fn linearizable_with_its_order() {
    examples().run("check queue-ok.jsonl --witness").shows(expect![[""]]);
}

#[test]
fn all_examples_hold_what_their_names_say() {
    let run = examples().run(
        "check --quiet queue-ok.jsonl queue-violation.jsonl stack-violation.calls keys-violation.jsonl",
    );
    run.shows(expect![[""]]);
    examples()
        .run("check --quiet --spec register register-ok.edn register-violation.edn")
        .shows(expect![[""]]);
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
    examples().run("check --timeout 0ms queue-ok.jsonl").shows(expect![[""]]);
    examples().run("check --memory 1K queue-ok.jsonl").shows(expect![[""]]);
}

#[test]
fn standard_input() {
    let run = Folder::new().run_with("check -q -", example("queue-ok.jsonl").as_bytes());
    run.shows(expect![[""]]);
}

#[test]
fn gzip_is_opened_as_it_is() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(example("queue-violation.jsonl").as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let f = Folder::new().with("q.gz", &packed).with("cut.gz", &packed[..packed.len() / 2]);
    assert_eq!(f.run("check -q q.gz").code, 1);
    f.run("check -q cut.gz").complains(expect![[""]]);
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
    f.run("check -q --spec queue cut.zst").complains(expect![[""]]);
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
