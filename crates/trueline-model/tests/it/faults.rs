//! Models that do what they must not: each ends in a counterexample that the interpreter accepts,
//! and that says what happened.

use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{Options, Reason, Verdict, verify};
use trueline_model::{Model, Semantics, interpret};

/// The message of the fault that the model with these statements ends in, under either semantics.
#[track_caller]
fn fault(statements: &str) -> String {
    let source = format!(
        "object X
         node Node {{ v: 0..1; next: Node }}
         shared M: 0..4, A: [0..2; 2], L: lock, H: Node
         op f() -> 0..2 {{
           local a: 0..4, n: Node
           {statements}
           return 0
         }}
         op idle() {{ M = M }}
         spec {{
           f() {{ return 0 }}
           idle() {{ }}
         }}
         client {{ procs 2; ops 1; heap 4 gc }}"
    );
    let model = Model::parse(&source).unwrap_or_else(|e| panic!("{}", e.render("m", &source)));
    let mut messages = Vec::new();
    for semantics in [Semantics::Default, Semantics::Pat] {
        let program = Arc::new(model.compile(semantics, false).unwrap());
        for options in [Options::default(), Options::plain()] {
            let report = verify(&program, &options, &Budget::unlimited());
            let Verdict::Violation(found) = report.verdict else { panic!("{:?}", report.verdict) };
            interpret::replay(&model, semantics, &program, &found).unwrap();
            let Reason::Fault(fault) = found.reason else { panic!("{:?}", found.reason) };
            messages.push(fault.message);
        }
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

/// The engine computes what an access needs in the step of that access, the interpreter in the step
/// before.
#[test]
fn a_fault_after_an_access_has_a_counterexample() {
    for statements in [
        "n = H\n if n.v == 1 { skip }",
        "n = H\n a = n.v",
        "a = M\n a = n.v",
        "a = M\n n.v = 1",
        "a = M\n if cas(n.v, 0, 1) { a = 1 }",
        "a = M\n M = 1 / a",
        "a = M\n a = A[1 / a]",
        "a = M\n A[1 / a] = 1",
        "a = M\n a = 1 / a",
        "n = H.next",
        "either { a = M } or { a = 1 }\n M = 1 / a",
        "a = M\n atomic { M = 1 / a }",
    ] {
        fault(statements);
    }
}

/// A fault of another call than the trace speaks of is none of its own.
#[test]
fn a_fault_of_another_call_does_not_make_a_trace_acceptable() {
    let source = "object X
        shared M: 0..4
        op f(a: 0..1) { M = 1 / a }
        spec { f(a) { } }
        client { procs 1; ops 1 }";
    let model = Model::parse(source).unwrap();
    let program = Arc::new(model.compile(Semantics::Pat, false).unwrap());
    let report = verify(&program, &Options::default(), &Budget::unlimited());
    let Verdict::Violation(mut found) = report.verdict else { panic!("{:?}", report.verdict) };
    interpret::replay(&model, Semantics::Pat, &program, &found).unwrap();
    for event in found.trace.steps.iter_mut().flat_map(|step| &mut step.events) {
        if let trueline_model::engine::Event::Call(call) = event {
            *call = 1 - *call;
        }
    }
    assert!(interpret::replay(&model, Semantics::Pat, &program, &found).is_err());
}

/// Slots that fill whole words, and behind them one that has a single value and takes no bit.
#[test]
fn a_slot_with_one_value_behind_full_words_is_packed() {
    let source = "object X
        shared N: 0..0, M: 0..1048575, P: 0..255, Q: 0..15
        op f() { N = 0 }
        op g() -> 0..1048575 { return M }
        spec {
          f() { }
          g() { return 0 }
        }
        client { procs 1; ops 0 }";
    let model = Model::parse(source).unwrap();
    let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
    let report = verify(&program, &Options::default(), &Budget::unlimited());
    assert!(matches!(report.verdict, Verdict::Holds), "{:?}", report.verdict);
}

#[test]
fn a_fault_is_told_as_what_happened_and_not_as_what_should() {
    assert_eq!(fault("a = M\n assert a == 1"), "an assertion is false");
    assert_eq!(fault("unlock(L)"), "a process unlocks a lock that it does not hold");
}

/// Each is given up at the limit, and told with its line, instead of being taken for an operation
/// that blocks.
#[test]
fn a_specification_without_end_is_refused() {
    let refused = |body: &str| {
        let source = format!(
            "object X
             op f() -> 0..10 {{ return 0 }}
             spec {{
               state n: seq<0..1> = [1]
               f() {{
                 {body}
                 return 0
               }}
             }}
             client {{ procs 2; ops 2 }}"
        );
        let model = Model::parse(&source).unwrap_or_else(|e| panic!("{}", e.render("m", &source)));
        let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
        let found = verify(&program, &Options::default(), &Budget::unlimited());
        found.error().unwrap_or_else(|| panic!("{found:?}")).to_string()
    };
    for body in ["while true { n.push_back(1) }", "while true { while true { skip } }"] {
        let told = "the specification of `f` does not end: its loop in line 6 makes more than 10000 rounds";
        assert_eq!(refused(body), told, "{body}");
    }
    let told = refused("while true { n = n ++ n }");
    assert!(told.ends_with("a sequence has more than 1048576 items"), "{told}");
}

/// A process that computes for long by itself costs what it computes, and limits are looked at
/// meanwhile.
#[test]
fn a_long_local_loop_costs_no_square_and_ends_at_a_limit() {
    let program = |rounds: u32| {
        let source = format!(
            "object X
             op f() -> 0..10 {{ for i in 0..{rounds} {{ skip }} return 0 }}
             spec {{ f() {{ return 0 }} }}
             client {{ procs 1; ops 1 }}"
        );
        let model = Model::parse(&source).unwrap();
        Arc::new(model.compile(Semantics::Default, false).unwrap())
    };
    let report = verify(&program(3_000), &Options::default(), &Budget::unlimited());
    assert!(matches!(report.verdict, Verdict::Holds), "{:?}", report.verdict);
    // A path ends every 256 steps: in between the search sees a state, and whether the budget is
    // spent.
    assert!((10..20).contains(&report.counts.states), "{}", report.counts.states);
    let report = verify(&program(2_000_000), &Options::default(), &Budget::unlimited().steps(20));
    assert!(matches!(report.verdict, Verdict::Undecided(_)), "{:?}", report.verdict);
}

/// A value outside of the range that its variable declares says nothing about the algorithm: it is
/// an error of the model, not a violation, while an assertion that fails is one.
#[test]
fn a_range_that_is_left_is_an_error_of_the_model() {
    let source = |statement: &str| {
        format!(
            "object Cell()
             shared X: 0..2
             op put() {{ local x: 0..9 = X
               {statement} }}
             spec {{ state n: 0..9  put() {{ skip }} }}
             client {{ procs 2; ops 2 }}"
        )
    };
    let verified = |statement: &str| {
        let source = source(statement);
        let model = Model::parse(&source).unwrap_or_else(|e| panic!("{}", e.render("m", &source)));
        model.verify(&Budget::unlimited())
    };
    let error = verified("X = x + 1").unwrap_err().to_string();
    let expected = "the model leaves a range after 6 steps: 3 is outside of the range of X (line 4: X = x + 1); \
                    widen the range, or write `await` where the process should wait";
    assert_eq!(error, expected);
    let findings = verified("assert x == 1").unwrap();
    assert!(matches!(findings.outcome.verdict, Verdict::Violation(_)));
}
