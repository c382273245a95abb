//! Quasi linearizability on the command line, and the example of its page.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Folder, example};
use expect_test::expect;

/// The block of the page that starts with this line of backticks.
fn block(page: &str, start: &str) -> String {
    let from = page.find(start).unwrap_or_else(|| panic!("no block {start}")) + start.len();
    let rest = page[from..].trim_start_matches('\n');
    rest[..rest.find("```").unwrap()].to_string()
}

#[test]
fn the_example_of_the_page() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/quasi-linearizability.md");
    let page = fs::read_to_string(path).unwrap();
    let folder = Folder::new().with("relaxed.jsonl", block(&page, "```json"));
    let command = block(&page, "```console\n$ trueline ");
    let run = folder.run(command.trim());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(without_counts(&run.stdout), without_counts(&block(&page, "```text")));
}

/// The text without the line that tells algorithm, states and time.
fn without_counts(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains(" partition, "))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn folder() -> Folder {
    Folder::new().with("queue-violation.jsonl", example("queue-violation.jsonl"))
}

#[test]
fn a_factor_turns_a_violation_into_an_answer() {
    let f = folder();
    assert_eq!(f.run("check queue-violation.jsonl").code, 1);
    assert_eq!(f.run("check queue-violation.jsonl --quasi deq=0").code, 1);
    assert_eq!(f.run("check queue-violation.jsonl --quasi deq=1 --end open").code, 0);
    let run = f.run("check queue-violation.jsonl --quasi deq=? --end open --json");
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["verdict"], "linearizable");
    assert_eq!(json["factor"], 1);
    assert_eq!(json["reading"], "slots");
    assert_eq!(json["end"], "open");
    assert!(json["needs"]["operations"].as_array().unwrap().len() >= 4);
    assert!(json["displaced"].as_array().unwrap().iter().all(|moved| moved["places"] == 1));
}

#[test]
fn questions_that_make_no_sense_say_so() {
    let f = folder();
    f.run("check queue-violation.jsonl --quasi enq=1").complains(expect![[r#"
        queue-violation.jsonl: in the reading slots only removals move, enq does not: expected --reading literal or uniform, for the specification queue
    "#]]);
    f.run("check queue-violation.jsonl --quasi pull=1").complains(expect![[r#"
        queue-violation.jsonl: no factor can be given for pull: expected a method that adds or removes values, for the specification queue
    "#]]);
    f.run("check queue-violation.jsonl --quasi deq=1 --spec semiqueue").complains(expect![[r#"
        queue-violation.jsonl: quasi linearizability is about queues, stacks and priority queues, for the specification semiqueue
    "#]]);
    f.run("check queue-violation.jsonl --quasi deq=1 --algorithm wgl").complains(expect![[r#"
        the algorithm wgl does not decide quasi linearizability: expected auto or round-up
    "#]]);
}
