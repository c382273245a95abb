//! Quasi linearizability on the command line.

use crate::common::{Folder, example};
use expect_test::expect;

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

#[test]
fn the_largest_factor_is_no_smaller_than_a_large_one() {
    let f = Folder::new();
    let history = f.run("generate --spec relaxed-queue:window=3 -n 60 --seed 5").stdout;
    let f = f.with("h.jsonl", history);
    for factor in ["1000", "4294967280", "4294967295"] {
        let run = f.run(&format!("check --spec queue h.jsonl --quasi deq={factor} --end open"));
        assert_eq!(run.code, 0, "{factor}: {run:?}");
    }
}

#[test]
fn round_up_looks_at_the_clock_where_no_order_is_worth_trying() {
    let f = Folder::new();
    let history = f.run("generate --spec relaxed-queue:window=3 -n 40 --overlap 1").stdout;
    let f = f.with("h.jsonl", history);
    let run =
        f.run("check --spec queue h.jsonl --quasi deq=0 --algorithm round-up --timeout 200ms");
    assert!(run.code == 3 && run.stdout.contains("time"), "{run:?}");
}

#[test]
fn with_an_open_end_what_is_still_to_come_counts_and_is_named() {
    let mut history = String::from("{\"schema\":\"trueline-history/1\",\"spec\":\"queue\"}\n");
    for value in 1..=3 {
        history += &format!(
            "{{\"process\":0,\"call\":\"enq\",\"args\":[{value}]}}\n{{\"process\":0,\"return\":null}}\n"
        );
    }
    for value in 2..=3 {
        history +=
            &format!("{{\"process\":0,\"call\":\"deq\"}}\n{{\"process\":0,\"return\":{value}}}\n");
    }
    let run = Folder::new().with("h.jsonl", history).run("check h.jsonl --quasi deq=? --end open");
    assert_eq!(run.code, 0, "{run:?}");
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("A removal that has not been called yet is out of order by 2 places."),
        "{text}"
    );
    assert!(text.contains("at best one that is to come is 2 places too late"), "{text}");
}
