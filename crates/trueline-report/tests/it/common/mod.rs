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

/// A number, a list of values as in `[1 2]`, or a text.
fn value(text: &str) -> Value {
    if let Some(items) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Value::list(items.split_whitespace().map(value));
    }
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

/// Hands the case with this verdict to `f`.
pub(crate) fn with_case<T>(history: &History, verdict: &Verdict, f: impl FnOnce(&Case) -> T) -> T {
    let outcome = Outcome {
        verdict: verdict.clone(),
        algorithm: "search",
        because: String::new(),
        partitions: 1,
        states: 1234,
    };
    let show = |i: u32, with_result: bool| {
        let shown = history.show(i);
        let cut = if with_result { None } else { shown.split_once(" -> ") };
        cut.map_or(shown.clone(), |(call, _)| call.to_string())
    };
    f(&Case {
        file: "q.jsonl",
        history,
        spec: "queue",
        show: &show,
        outcome: &outcome,
        seconds: 0.0125,
        again: "trueline check --spec queue q.jsonl",
        witness: true,
        of: None,
    })
}

#[track_caller]
pub(crate) fn report(history: &History, verdict: &Verdict, look: Look, expect: Expect) {
    let text = with_case(history, verdict, |case| trueline_report::text(case, &look).render(false));
    expect.assert_eq(&text);
}
