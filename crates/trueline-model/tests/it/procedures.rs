//! Procedures, loops over all processes, choices with computed bounds, arrays in nodes: the engine agrees with the
//! naive search of the interpreter, which knows neither inlining nor symmetry.

use std::sync::Arc;

use trueline::{Budget, rng};
use trueline_model::engine::{Options, Verdict, verify};
use trueline_model::interpret::{self, Naive, search_naively};
use trueline_model::{Model, Semantics, generate};

fn read(source: &str) -> Model {
    Model::parse(source).unwrap_or_else(|e| panic!("{}", e.render("model.tl", source)))
}

/// Whether it is verified; how many states that took, with and without symmetry.
#[track_caller]
fn decide(source: &str) -> (bool, u64, u64) {
    let model = read(source);
    let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
    let mut states = Vec::new();
    let mut first = None;
    for switches in 0..8 {
        let options = Options {
            symmetry: switches & 1 != 0,
            partial_order: switches & 2 != 0,
            antichain: switches & 4 != 0,
            ..Options::plain()
        };
        let report = verify(&program, &options, &Budget::unlimited());
        states.push(report.counts.states);
        let holds = match &report.verdict {
            Verdict::Holds => true,
            Verdict::Violation(found) => {
                interpret::replay(&model, Semantics::Default, &program, found)
                    .unwrap_or_else(|why| panic!("switches {switches}: {why}\n{source}"));
                false
            }
            other => panic!("{other:?}\n{source}"),
        };
        assert_eq!(*first.get_or_insert(holds), holds, "switches {switches}\n{source}");
    }
    (first.unwrap(), states[1], states[0])
}

#[test]
fn random_models_agree_with_the_naive_search() {
    let (mut verified, mut violations, mut large) = (0, 0, 0);
    for seed in rng::seeds(20) {
        let source = generate::calls(seed);
        let (holds, orbits, all) = decide(&source);
        assert!(orbits <= all, "seed {seed}");
        let model = read(&source);
        let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
        match search_naively(&model, Semantics::Default, &program, 4_000).unwrap() {
            Naive::TooLarge => large += 1,
            naive => {
                assert_eq!(naive == Naive::Verified, holds, "seed {seed}\n{source}");
                verified += u64::from(holds);
                violations += u64::from(!holds);
            }
        }
    }
    println!("{verified} verified, {violations} violations, {large} too large");
    assert!(verified > 4 && violations > 4, "{verified}, {violations}, {large} too large");
}

fn refused(source: &str, message: &str, help: &str) {
    let error = Model::parse(source).expect_err("this should be refused");
    assert_eq!(error.message(), message, "{}", error.render("m.tl", source));
    assert_eq!(error.suggestion().unwrap_or(""), help, "{}", error.render("m.tl", source));
}

const REST: &str = "spec { state n: 0..3 f() { return n } } client { procs 2; ops 1 }";

#[test]
fn what_no_procedure_can_do_is_refused() {
    let model = |text: &str| format!("object M shared X: 0..3 {text} {REST}");
    let op = "op f() -> 0..3 { local r: 0..3 = p(1); return r }";
    refused(
        &model(&format!("procedure p(a: 0..3) -> 0..3 {{ local t: 0..3 = p(a); return t }} {op}")),
        "`p` calls itself",
        "a procedure is written out where it is called: use a loop",
    );
    refused(
        &model("procedure p() -> 0..3 { return X } op f() -> 0..3 { return 1 + p() }"),
        "the call of `p` must stand alone",
        "write `local x: T = p(...)` before it",
    );
    refused(
        &model(&format!("procedure p(a: 0..3) -> 0..3 {{ if a == 1 {{ return a }} }} {op}")),
        "`p` can end without returning a value",
        "end it with `return` and one of 0..3",
    );
    refused(
        &model(&format!("procedure p(a: 0..3) -> 0..3 {{ return r }} {op}")),
        "no variable is called `r`",
        "",
    );
    refused(
        &model("procedure min(a: 0..3) { X = a } op f() -> 0..3 { return X }"),
        "`min` is a function of the language",
        "choose another name",
    );
    refused(
        &model("op f() -> 0..3 { for p in pid ordered { X = 1 } return X }"),
        "processes that are alike have no order",
        "leave out `ordered`: any order is tried, or say `asymmetric` in the client",
    );
    let asymmetric = model("op f() -> 0..3 { for p in pid ordered { X = 0 } return X }")
        .replace("2;", "2 asymmetric;");
    assert!(decide(&asymmetric).0);
}

/// Each round of the loop is another process, and every order is tried: the first two that are seen
/// are any two.
#[test]
fn a_loop_over_processes_visits_each_once_in_any_order() {
    let model = |test: &str| {
        format!(
            "object Visit shared O: pid
            op f() -> bool {{
              local n: 0..3, first: pid, wrong: bool
              O = me
              for p in pid {{
                if p == first {{ wrong = true }}
                if n == 0 {{ first = p }}
                n = n + 1
              }}
              return {test}
            }}
            spec {{ f() {{ return true }} }}
            client {{ procs 3; ops 1 }}"
        )
    };
    let (holds, orbits, all) = decide(&model("!wrong && n == 3"));
    assert!(holds && orbits < all);
    // Whoever comes first may be the process itself, and may be another.
    assert!(!decide(&model("first != me")).0);
    assert!(!decide(&model("first == me")).0);
}

/// An array of an operation that is indexed by processes is renamed with them. It was not: who was
/// seen got another name in `a`, but not in `seen`.
#[test]
fn local_arrays_indexed_by_processes_are_exchanged() {
    let source = "object Seen shared Owner: pid, X: 0..1
        op f() -> bool {
          local seen: [bool; pid], a: pid
          a = Owner
          Owner = me
          if a != null { seen[a] = true }
          X = 1
          if a != null { return seen[a] }
          return true
        }
        spec { f() { return true } }
        client { procs 3; ops 2 }";
    let (holds, orbits, all) = decide(source);
    assert!(holds && orbits * 5 < all, "{orbits} of {all}");
}

#[test]
fn a_choice_has_computed_bounds() {
    let model = |bounds: &str| {
        format!(
            "object Choice shared X: 0..3
            op f(n: 0..3) -> 0..3 {{ local r: 0..3 = choose({bounds}); return r }}
            spec {{ f(n) {{ local r: 0..3 = choose(0, n); return r }} }}
            client {{ procs 2; ops 1 }}"
        )
    };
    assert!(decide(&model("0, n")).0);
    assert!(decide(&model("n - n, n")).0);
    assert!(!decide(&model("0, 3")).0);
    // Where there is none, the model is at fault.
    assert!(!decide(&model("n, 2")).0);
}

/// A list whose nodes hold two values each, as B-trees do.
#[test]
fn a_node_contains_arrays() {
    let model = |last: &str| {
        format!(
            "object Chunks
            record Pair {{ left: 0..2; right: 0..2 }}
            node Chunk {{ count: 0..2; items: [0..2; 2]; pairs: [Pair; 2]; next: Chunk }}
            shared Head: Chunk = new Chunk{{count: 0}}
            op add(v: 1..2) -> bool {{
              local c: Chunk, n: 0..2, p: Pair
              c = Head
              n = fetch_add(c.count, 0)
              if n == 2 {{ return false }}
              atomic {{
                if c.count == n {{
                  c.items[n] = v
                  c.pairs[n] = Pair{{left: v, right: c.items[0]}}
                  c.count = n + 1
                }} else {{ n = 2 }}
              }}
              if n == 2 {{ return false }}
              p = c.pairs[n]
              assert p.left == v
              return true
            }}
            op last() -> 0..2 {{
              local r: 0..2
              atomic {{ if Head.count > 0 {{ r = Head.items[{last}] }} }}
              return r
            }}
            spec {{
              state q: seq<0..2>
              add(v) {{
                either {{ return false }} or {{ await q.len() < 2; q.push_back(v); return true }}
              }}
              last() {{ if q.is_empty() {{ return 0 }} return q.back() }}
            }}
            client {{ procs 3; ops 1; heap 1 gc }}"
        )
    };
    let (holds, orbits, all) = decide(&model("Head.count - 1"));
    assert!(holds && orbits < all);
    assert!(!decide(&model("0")).0);
    // An index out of bounds is a fault of the model.
    assert!(!decide(&model("Head.count")).0);
    let wrong = model("0").replacen("items: [0..2; 2]", "items: [0..2; pid]", 1);
    let message = "a node cannot contain an array that is indexed by processes";
    refused(&wrong, message, "keep the array in a shared variable");
}
