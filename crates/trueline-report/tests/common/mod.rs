//! Hand-made histories and verdicts.

use expect_test::Expect;
use trueline::history::{Builder, Call, History, Position};
use trueline::verdict::{Explanation, Verdict};
use trueline::{Outcome, Value};
use trueline_report::{Case, Look};

/// Events between ` / `: `0 enq(1)`, `0 ok`, `0 ok 7`, `0 ?`; the n-th event stands in line n.
pub(crate) fn history(events: &str) -> History {
    let mut b = Builder::new();
    for (n, event) in events.split(" / ").enumerate() {
        let at = Position { line: n as u32 + 1, column: 1 };
        let (name, rest) = event.split_once(' ').unwrap();
        let process = b.process(&value(name));
        let part = b.part(Default::default());
        if let Some((method, args)) = rest.split_once('(') {
            let args: Vec<Value> =
                args.trim_end_matches(')').split_terminator(',').map(value).collect();
            let method = b.method(method);
            b.call(process, part, Call { method, args: args.into() }, at).unwrap();
        } else if rest == "?" {
            b.unknown(process, at).unwrap();
        } else {
            let result = rest.strip_prefix("ok").unwrap().trim();
            let result = if result.is_empty() { Value::Nil } else { value(result) };
            b.returns(process, result, at).unwrap();
        }
    }
    b.finish()
}

fn value(text: &str) -> Value {
    text.parse().map_or_else(|_| Value::text(text), Value::Int)
}

/// A violation by these operations, clashing ones named, that ends with the last return.
pub(crate) fn violation(
    events: &str,
    operations: &[u32],
    clash: &[u32],
    why: &str,
) -> (History, Verdict) {
    let h = history(events);
    let ends = clash.iter().map(|&i| h.operations()[i as usize].returned);
    let last = ends.max().unwrap();
    let explanation = Explanation {
        operations: operations.to_vec(),
        start: None,
        until: last + 1,
        clash: clash.to_vec(),
        sentence: why.into(),
        fine_until: Some(last),
        minimal: true,
        rechecked: true,
    };
    (h, Verdict::Violation(explanation))
}

pub(crate) fn outcome(verdict: Verdict) -> Outcome {
    Outcome { verdict, algorithm: "search", partitions: 1, states: 1234 }
}

pub(crate) fn case<'a>(history: &'a History, outcome: &'a Outcome) -> Case<'a> {
    Case {
        file: "q.jsonl",
        history,
        spec: "queue",
        outcome,
        seconds: 0.0125,
        again: "trueline check --spec queue q.jsonl",
        witness: true,
    }
}

#[track_caller]
pub(crate) fn report(history: &History, verdict: &Verdict, look: Look, expect: Expect) {
    let outcome = outcome(verdict.clone());
    let text = trueline_report::text(&case(history, &outcome), &look).render(false);
    expect.assert_eq(&text);
}
