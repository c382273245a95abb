//! What reports look like, drawn from hand-made verdicts.

use crate::common::{history, report, violation, with_case};
use expect_test::expect;
use trueline::verdict::{Reason, Unknown, Verdict, Witness};
use trueline::{Value, budget::Exhausted};
use trueline_report::Look;

/// A removal that returns before its insertion is called.
const EARLY: &str = "0 enq(1) / 0 ok / 1 deq() / 1 ok 7 / 0 enq(7) / 0 ok";

#[test]
fn two_lanes() {
    let (h, v) =
        violation(EARLY, &[1, 2], &[1, 2], "`deq() -> 7` returned before `enq(7)` was called");
    report(
        &h,
        &v,
        Look::default(),
        expect![[r#"
            violation: q.jsonl: 2 of 3 operations fit no order that queue allows

              `deq() -> 7` returned before `enq(7)` was called

              process 0                   ╞═ enq(7) ═╡
              process 1  ╞═ deq() -> 7 ═╡

              ═ deq() -> 7  process 1  line 3
              ═ enq(7)      process 0  line 5

              An order explains the first 2 of 3 returns, but not the next one: that of
              enq(7), called in line 5.
              queue, search, 3 operations, 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn a_pending_operation_is_open_ended() {
    let (h, v) = violation(
        "0 write(1) / 1 write(2) / 2 read() / 2 ok 3 / 1 ok",
        &[0, 1, 2],
        &[2],
        "`read() -> 3` returned a value that nobody wrote",
    );
    report(
        &h,
        &v,
        Look::default(),
        expect![[r#"
            violation: q.jsonl: 3 operations fit no order that queue allows

              `read() -> 3` returned a value that nobody wrote

              process 0  ├─ write(1) ────────…
              process 1    ├─ write(2) ──────…
              process 2      ╞═ read() -> 3 ═╡

                write(1)     process 0  line 1, no return
                write(2)     process 1  line 2, returns after the part shown
              ═ read() -> 3  process 2  line 3

              No order explains even the first return: that of read() -> 3, called in line
              3.
              queue, search, 3 operations (1 pending), 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn a_narrow_terminal_gets_numbers() {
    let (h, v) = violation(
        "0 write(100) / 1 write(200) / 0 ok / 1 ok / 0 read() / 0 ok 200 / 1 read() / 1 ok 100",
        &[0, 1, 2, 3],
        &[2, 3],
        "`read() -> 200` and then `read() -> 100`: the writes were over, so both orders are wrong",
    );
    report(
        &h,
        &v,
        Look { width: 40, ..Look::default() },
        expect![[r#"
            violation: q.jsonl: 4 operations fit no order that queue allows

              `read() -> 200` and then
              `read() -> 100`: the writes were over,
              so both orders are wrong

              0  ├─ 1 ─┤   ╞═ 3 ═╡
              1    ├─ 2 ─┤         ╞═ 4 ═╡

              1   write(100)     process 0  line 1
              2   write(200)     process 1  line 2
              3 ═ read() -> 200  process 0  line 5
              4 ═ read() -> 100  process 1  line 7

              An order explains the first 3 of 4
              returns, but not the next one: that of
              read() -> 100, called in line 7.
              queue, search, 4 operations, 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn ascii() {
    let (h, v) = violation(
        "0 enq(1) / 1 deq() / 1 ok 7 / 2 enq(7) / 2 ok",
        &[0, 1, 2],
        &[1, 2],
        "`deq() -> 7` returned before `enq(7)` was called",
    );
    report(
        &h,
        &v,
        Look { ascii: true, ..Look::default() },
        expect![[r#"
            violation: q.jsonl: 3 operations fit no order that queue allows

              `deq() -> 7` returned before `enq(7)` was called

              process 0  |- enq(1) ------------------...
              process 1    |= deq() -> 7 =|
              process 2                     |= enq(7) =|

                enq(1)      process 0  line 1, no return
              = deq() -> 7  process 1  line 2
              = enq(7)      process 2  line 4

              An order explains the first of 2 returns, but not the next one: that of
              enq(7), called in line 4.
              queue, search, 3 operations (1 pending), 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn many_operations_wrap_and_the_first_are_left_out() {
    let mut events = Vec::new();
    for i in 0..30 {
        events.push(format!("0 enq({}) / 1 deq() / 0 ok / 1 ok {}", 1000 + i, 1000 + i));
    }
    events.push("2 deq() / 2 ok 1000".into());
    let all: Vec<u32> = (0..61).collect();
    let (h, v) = violation(&events.join(" / "), &all, &[0, 1, 60], "1000 was removed twice");
    report(
        &h,
        &v,
        Look::default(),
        expect![[r#"
            violation: q.jsonl: 61 operations fit no order that queue allows

              1000 was removed twice

              21 earlier operations left out

              process 0  ╞═ enq(1000) ═╡                           ├─ enq(1012) ─┤
              process 1    ╞═ deq() -> 1000 ═╡ ├─ deq() -> 1011 ─┤   ├─ deq() -> 1012 ─┤

              process 0  ├─ enq(1013) ─┤       ├─ enq(1014) ─┤       ├─ enq(1015) ─┤
              process 1    ├─ deq() -> 1013 ─┤   ├─ deq() -> 1014 ─┤   ├─ deq() -> 1015 ─┤

              process 0  ├─ enq(1016) ─┤       ├─ enq(1017) ─┤       ├─ enq(1018) ─┤
              process 1    ├─ deq() -> 1016 ─┤   ├─ deq() -> 1017 ─┤   ├─ deq() -> 1018 ─┤

              process 0  ├─ enq(1019) ─┤       ├─ enq(1020) ─┤       ├─ enq(1021) ─┤
              process 1    ├─ deq() -> 1019 ─┤   ├─ deq() -> 1020 ─┤   ├─ deq() -> 1021 ─┤

              process 0  ├─ enq(1022) ─┤       ├─ enq(1023) ─┤       ├─ enq(1024) ─┤
              process 1    ├─ deq() -> 1022 ─┤   ├─ deq() -> 1023 ─┤   ├─ deq() -> 1024 ─┤

              process 0  ├─ enq(1025) ─┤       ├─ enq(1026) ─┤       ├─ enq(1027) ─┤
              process 1    ├─ deq() -> 1025 ─┤   ├─ deq() -> 1026 ─┤   ├─ deq() -> 1027 ─┤

              process 0  ├─ enq(1028) ─┤       ├─ enq(1029) ─┤
              process 1    ├─ deq() -> 1028 ─┤   ├─ deq() -> 1029 ─┤
              process 2                                              ╞═ deq() -> 1000 ═╡

              ═ enq(1000)      process 0  line 1
              ═ deq() -> 1000  process 1  line 2
              ═ deq() -> 1000  process 2  line 121
                the others are in lines 46 to 118

              None of these operations can be left out without losing the violation or its
              reason.

              An order explains the first 60 of 61 returns, but not the next one: that of
              deq() -> 1000, called in line 121.
              queue, search, 61 operations, 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn a_bar_that_crosses_blocks_says_so() {
    let events: Vec<String> = (0..14).map(|i| format!("1 write({i}) / 1 ok")).collect();
    let events = format!("0 read() / {} / 0 ok 99", events.join(" / "));
    let all: Vec<u32> = (0..15).collect();
    let (h, v) = violation(&events, &all, &[0], "nobody wrote 99");
    report(
        &h,
        &v,
        Look { width: 50, ..Look::default() },
        expect![[r#"
            violation: q.jsonl: 15 operations fit no order that queue allows

              nobody wrote 99

              0  ╞═ read() -> 99 ══════════════»
              1    ├─ write(0) ─┤ ├─ write(1) ─┤

              0  «═ read() -> 99 ══════════════»
              1    ├─ write(2) ─┤ ├─ write(3) ─┤

              0  «═ read() -> 99 ══════════════»
              1    ├─ write(4) ─┤ ├─ write(5) ─┤

              0  «═ read() -> 99 ══════════════»
              1    ├─ write(6) ─┤ ├─ write(7) ─┤

              0  «═ read() -> 99 ══════════════»
              1    ├─ write(8) ─┤ ├─ write(9) ─┤

              0  «═ read() -> 99 ════════════════»
              1    ├─ write(10) ─┤ ├─ write(11) ─┤

              0  «═ read() -> 99 ══════════════════╡
              1    ├─ write(12) ─┤ ├─ write(13) ─┤

              ═ read() -> 99  process 0  line 1
                the others are in lines 2 to 28

              None of these operations can be left out without
              losing the violation or its reason.

              An order explains the first 14 of 15 returns,
              but not the next one: that of read() -> 99,
              called in line 1.
              queue, search, 15 operations, 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn wide_and_hostile_names_keep_the_columns() {
    let (h, v) = violation(
        "Zoë put(キー) / 客 get() / 客 ok キーと値 / Zoë ok",
        &[0, 1],
        &[1],
        "`get` saw\u{1b}[2J\na value that nobody put",
    );
    report(
        &h,
        &v,
        Look::default(),
        expect![[r#"
            violation: q.jsonl: 2 operations fit no order that queue allows

              `get` saw\u{1b}[2J\na value that nobody put

              process Zoë  ├─ put(キー) ───────────…
              process 客     ╞═ get() -> キーと値 ═╡

                put(キー)          process Zoë  line 1, returns after the part shown
              ═ get() -> キーと値  process 客   line 2

              No order explains even the first return: that of get() -> キーと値, called in
              line 2.
              queue, search, 2 operations, 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn a_process_that_goes_on_after_an_unknown_outcome_gets_a_second_lane() {
    let (h, v) = violation(
        "0 write(1) / 0 ? / 0 read() / 0 ok 5",
        &[0, 1],
        &[1],
        "`read() -> 5` returned a value that nobody wrote",
    );
    report(
        &h,
        &v,
        Look::default(),
        expect![[r#"
            violation: q.jsonl: 2 operations fit no order that queue allows

              `read() -> 5` returned a value that nobody wrote

              process 0  ├─ write(1) ──────…
              process 0    ╞═ read() -> 5 ═╡

                write(1)     process 0  line 1, no return
              ═ read() -> 5  process 0  line 3

              No order explains even the first return: that of read() -> 5, called in line
              3.
              queue, search, 2 operations (1 pending), 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn a_long_label_is_cut() {
    let long = "x".repeat(300);
    let (h, v) =
        violation(&format!("0 get() / 0 ok {long}"), &[0], &[0], "`get` saw what nobody put");
    report(
        &h,
        &v,
        Look { width: 60, ..Look::default() },
        expect![[r#"
            violation: q.jsonl: 1 operation fits no order that queue allows

              `get` saw what nobody put

              process 0  ╞═ get() -> xxxxxxxxxxxxxxxxxxxxxxxxxxx… ═╡

              ═ get() -> xxxxxxxxxxxxxx…  process 0  line 1

              No order explains even the first return: that of
              get() -> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…, called in line
              1.
              queue, search, 1 operation, 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn linearizable_with_its_order() {
    let h = history("0 enq(1) / 1 deq() / 0 ok / 1 ok 1");
    let v = Verdict::Linearizable(Witness { order: vec![0, 1] });
    report(
        &h,
        &v,
        Look::default(),
        expect![[r#"
            linearizable: q.jsonl: 2 operations fit an order that queue allows

              1  enq(1)      process 0, line 1
              2  deq() -> 1  process 1, line 2

              queue, search, 2 operations, 1 partition, 1,234 states, 12.5 ms
        "#]],
    );
}

#[test]
fn unknown_says_what_to_try() {
    let h = history(EARLY);
    let v = Verdict::Unknown(Unknown {
        reason: Reason::Exhausted(Exhausted::Time(std::time::Duration::from_secs(5))),
        progress: "2 of 3 returns explained".into(),
    });
    report(
        &h,
        &v,
        Look::default(),
        expect![[r#"
            unknown: q.jsonl: the time limit of 5 s is reached
              progress: 2 of 3 returns explained
              try: a longer --timeout; --keys yes if the operations are on independent keys;
              a shorter recording
              queue, search, 3 operations, 1 partition, 1,234 states, 12.5 ms
              reproduce: trueline check --spec queue q.jsonl
        "#]],
    );
}

#[test]
fn quiet_leaves_the_verdict_line() {
    let (h, v) = violation(EARLY, &[1, 2], &[1, 2], "");
    report(
        &h,
        &v,
        Look { quiet: true, ..Look::default() },
        expect![[r#"
        violation: q.jsonl: 2 of 3 operations fit no order that queue allows
    "#]],
    );
}

#[test]
fn colour_marks_the_verdict_and_the_clash() {
    let (h, v) = violation(EARLY, &[0, 1], &[1], "why");
    let render =
        |color| with_case(&h, &v, |c| trueline_report::text(c, &Look::default()).render(color));
    let text = render(true);
    assert!(text.starts_with("\u{1b}[1m\u{1b}[31mviolation\u{1b}[0m: q.jsonl"), "{text:?}");
    assert!(text.contains("\u{1b}[31m╞═ deq() -> 7 ═╡\u{1b}[0m"), "{text:?}");
    assert!(!render(false).contains('\u{1b}'));
}

#[test]
fn json_tells_the_same() {
    let (h, v) = violation(EARLY, &[1, 2], &[1, 2], "a \"quoted\"\u{1} sentence");
    let json = with_case(&h, &v, trueline_report::json);
    expect![[r#"
        {
          "schema": "trueline/1",
          "file": "q.jsonl",
          "verdict": "violation",
          "spec": "queue",
          "algorithm": "search",
          "because": "",
          "seconds": 0.0125,
          "operations": 3,
          "pending": 0,
          "partitions": 1,
          "states": 1234,
          "explanation": {
            "sentence": "a \"quoted\"\u0001 sentence",
            "operations": [
              {
                "index": 1,
                "process": 1,
                "call": "deq",
                "args": [],
                "result": 7,
                "text": "deq() -> 7",
                "line": 3,
                "column": 1,
                "called": 2,
                "returned": 3
              },
              {
                "index": 2,
                "process": 0,
                "call": "enq",
                "args": [
                  7
                ],
                "result": null,
                "text": "enq(7)",
                "line": 5,
                "column": 1,
                "called": 4,
                "returned": 5
              }
            ],
            "clash": [
              1,
              2
            ],
            "until": 6,
            "fine_until": 5,
            "minimal": true,
            "rechecked": true
          },
          "again": "trueline check --spec queue q.jsonl"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&json).unwrap());
    assert_eq!(
        trueline_report::value(&Value::list([1.into(), Value::Nil])).to_string(),
        "[1,null]"
    );
}
