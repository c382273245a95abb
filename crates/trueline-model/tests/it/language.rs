//! What the constructs of the language mean: small objects whose verdict tells.

use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{Options, Reason, Verdict, verify};
use trueline_model::{Model, Semantics, interpret};

/// A model whose text after `object T` is given; `holds` is its verdict.
#[track_caller]
fn check(rest: &str, holds: bool) {
    check_under(&[Semantics::Default, Semantics::Pat], rest, holds);
}

#[track_caller]
fn check_under(semantics: &[Semantics], rest: &str, holds: bool) {
    let source = format!("object T\n{rest}");
    let model = Model::parse(&source).unwrap_or_else(|e| panic!("{}", e.render("t.tl", &source)));
    for &semantics in semantics {
        let program = Arc::new(model.compile(semantics, false).unwrap());
        for options in [Options::default(), Options::plain()] {
            match verify(&program, &options, &Budget::unlimited()).verdict {
                Verdict::Holds => assert!(holds, "{semantics:?}: verified\n{source}"),
                Verdict::Violation(c) => {
                    assert!(!holds, "{semantics:?}: {:?}\n{:#?}\n{source}", c.reason, c.trace);
                    interpret::replay(&model, semantics, &program, &c)
                        .unwrap_or_else(|why| panic!("{semantics:?}: {why}\n{source}"));
                }
                other => panic!("{other:?}\n{source}"),
            }
        }
    }
}

const COUNT: &str =
    "spec { state n: 0..3\n f() { n = n + 1; return n } }\nclient { procs 2; ops 1 }";

fn counting(body: &str) -> String {
    format!("shared X: 0..3, L: lock\nop f() -> 0..3 {{ local x: 0..3\n{body}\n}}\n{COUNT}")
}

#[test]
fn an_access_is_a_step() {
    check(&counting("X = X + 1; return X"), false);
    check(&counting("x = X; X = x + 1; return x + 1"), false);
    check(&counting("x = fetch_add(X, 1); return x + 1"), true);
    check(&counting("atomic { X = X + 1; x = X }; return x"), true);
    check(&counting("atomic { x = X }; atomic { X = x + 1 }; return x + 1"), false);
    check(&counting("lock(L); X = X + 1; x = X; unlock(L); return x"), true);
    check(&counting("loop { x = X; if cas(X, x, x + 1) { return x + 1 } }"), true);
    check(&counting("x = X; while !cas(X, x, x + 1) { x = X }; return x + 1"), true);
    check(&counting("loop { x = ll(X); if sc(X, x + 1) { return x + 1 } }"), true);
    check(&counting("x = ll(X); if vl(X) { }; X = x + 1; return x + 1"), false);
}

/// The engine once took no step for it, and the interpreter did.
#[test]
fn an_assignment_to_itself_is_a_step_in_pat() {
    check(&counting("x = X; x = x; X = x + 1; return x + 1"), false);
}

#[test]
fn a_plain_write_breaks_links() {
    // The writer runs between ll and sc: the sc must fail, or the write is lost.
    let model = |store: &str| {
        format!(
            "shared X: 0..3\nop add() {{ local x: 0..3\nloop {{ x = ll(X); {store} }} }}\n\
             op put() {{ X = 2 }}\nop get() -> 0..3 {{ return X }}\n\
             spec {{ state n: 0..3\nadd() {{ n = min(n + 1, 3) }}\nput() {{ n = 2 }}\nget() {{ return n }} }}\n\
             client {{ role a 1 {{ add }}; role b 1 {{ put, get }}; ops 2 }}"
        )
    };
    check(&model("if sc(X, min(x + 1, 3)) { return }"), true);
    check(&model("X = min(x + 1, 3); return"), false);
}

#[test]
fn both_sides_of_a_condition_are_accesses() {
    // X and Y are set together, but read one after the other.
    let model = |test: &str| {
        format!(
            "shared X: bool, Y: bool\nop flip() {{ atomic {{ X = !X; Y = !Y }} }}\n\
             op same() -> bool {{ {test} }}\n\
             spec {{ state b: bool\nflip() {{ b = !b }}\nsame() {{ return true }} }}\n\
             client {{ procs 2; ops 2 }}"
        )
    };
    // In PAT an expression is one step.
    for (semantics, holds) in [(Semantics::Default, false), (Semantics::Pat, true)] {
        check_under(&[semantics], &model("return X == Y"), holds);
        let nested = model("if X && !Y { return false } return true");
        check_under(&[semantics], &nested, holds);
    }
    check(&model("atomic { return X == Y }"), true);
    check(&model("atomic if X && !Y { return false } return true"), true);
    check(&model("await X == Y; return true"), true);
}

#[test]
fn records_are_compared_as_a_whole() {
    let model = |swing: &str| {
        format!(
            "record Pair {{ a: 0..2; b: 0..2 }}\nshared P: Pair\n\
             op step() -> 0..2 {{ local p: Pair\nloop {{ p = P; {swing} }} }}\n\
             spec {{ state n: 0..2\nstep() {{ n = (n + 1) % 3; return n }} }}\nclient {{ procs 2; ops 2 }}"
        )
    };
    let next = "Pair{a: (p.a + 1) % 3, b: p.a}";
    check(&model(&format!("if cas(P, p, {next}) {{ return (p.a + 1) % 3 }}")), true);
    check(&model(&format!("P = {next}; return (p.a + 1) % 3")), false);
    check(&model("P.a = (p.a + 1) % 3; return (p.a + 1) % 3"), false);
}

#[test]
fn arrays_loops_and_ids_of_processes() {
    // Each process raises its own flag and looks at the others': at least one of two sees the
    // other.
    let model = |order: &str| {
        format!(
            "enum Phase {{ out, inside }}\nshared F: [bool; pid], A: [0..2; 3], Who: pid, Ph: Phase\n\
             op enter() -> bool {{ local n: 0..3, w: pid\n{order}\n}}\n\
             spec {{ state taken: bool\nenter() {{ if taken {{ return false }}; taken = true; return true }} }}\n\
             client {{ procs 2; ops 1 }}"
        )
    };
    check(&model("F[me] = true; w = swap(Who, me); return w == null"), true);
    check(&model("w = Who; Who = me; return w == null"), false);
    check(&model("atomic if Ph == out { Ph = inside; return true } else { return false }"), true);
    check(&model("for i in 0..2 { if cas(A[i], 0, 1) { return i == 0 } }\nreturn false"), true);
    check(&model("for i in 0..1 { n = n + 1 }\nassert n == 2\nreturn cas(Who, null, me)"), true);
    check(&model("while n < 3 { n = n + 1 }\nassert n == 3\nreturn cas(Who, null, me)"), true);
}

#[test]
fn choices_and_optional_values() {
    let model = |body: &str| {
        format!(
            "shared X: 1..3?\nop put(v: 1..3?) {{ X = v }}\nop any() -> 1..3? {{ {body} }}\n\
             spec {{ state x: 1..3?\nput(v) {{ x = v }}\n\
             any() {{ either {{ return x }} or {{ return none }} }} }}\nclient {{ procs 2; ops 1 }}"
        )
    };
    check(&model("either { return X } or { return none }"), true);
    check(&model("return none"), true);
    check(&model("local c: 0..1 = choose(0, 1)\nif c == 0 { return none }\nreturn X"), true);
    check(&model("local c: 1..3 = choose(1, 3)\nreturn c"), false);
}

#[test]
fn specifications_have_sets_maps_and_arrays() {
    let client = "client { procs 2; ops 2 }";
    check(
        &format!(
            "shared A: [bool; 2]\nop add(k: 0..1) -> bool {{ return !swap(A[k], true) }}\n\
             op has(k: 0..1) -> bool {{ return A[k] }}\n\
             spec {{ state s: set<0..1> = []\nadd(k) {{ return s.insert(k) }}\nhas(k) {{ return k in s }} }}\n{client}"
        ),
        true,
    );
    check(
        &format!(
            "shared A: [0..2?; 2]\nop put(k: 0..1, v: 0..2) {{ A[k] = v }}\nop get(k: 0..1) -> 0..2? {{ return A[k] }}\n\
             spec {{ state m: map<0..1, 0..2>, a: [bool; 2] = [false; 2]\nput(k, v) {{ m[k] = v; a[k] = true }}\n\
             get(k) {{ if a[k] {{ return m.get(k) }} return none }} }}\n{client}"
        ),
        true,
    );
}

#[test]
fn roles_fix_arguments() {
    let model = |call: &str| {
        format!(
            "shared X: 0..3\nop add(k: 1..2) -> 0..3 {{ local x: 0..3 = X\nX = (x + k) % 4; return x }}\n\
             spec {{ state n: 0..3\nadd(k) {{ local o: 0..3 = n\nn = (n + k) % 4; return o }} }}\n\
             client {{ role a 1 {{ {call} }}; ops 2 }}"
        )
    };
    check(&model("add(1)"), true);
    check(&model("add(_)"), true);
    let source = format!("object T\n{}", model("add(1)"));
    let program = Model::parse(&source).unwrap().compile(Semantics::Default, false).unwrap();
    assert_eq!(program.calls.len(), 1);
}

#[test]
fn faults_of_the_model_are_counterexamples() {
    let model = |body: &str| {
        format!(
            "node N {{ v: 0..1; n: N }}\nshared H: N, X: 0..2, A: [0..2; 2], L: lock\nop f() {{ local x: 0..3 = X\n{body} }}\n\
             spec {{ f() {{ }} }}\nclient {{ procs 2; ops 2; heap 4 gc }}"
        )
    };
    check(&model("X = x + 1"), false);
    check(&model("x = A[x]; fetch_add(X, 1)"), false);
    check(&model("x = H.v"), false);
    check(&model("unlock(L)"), false);
    check(&model("assert x < 2; X = min(x + 1, 2)"), false);
    check(&model("if x < 2 { atomic { if X < 2 { X = X + 1 } } }"), true);
    check(&model("H = new N{v: 1, n: H}; x = H.v"), true);
}

/// Nested nodes of the initial state are different ones.
#[test]
fn nodes_made_inside_of_each_other_are_different() {
    let rest = "node N { v: 0..3; n: N }\nshared H: N\ninit { H = new N{v: 1, n: new N{v: 2, n: new N{v: 3}}} }\n\
                op f() -> 0..3 { return H.n.n.v }\nspec { f() { return 3 } }\nclient { procs 2; ops 1; heap 4 gc }";
    check(rest, true);
}

#[test]
fn a_mark_at_the_wrong_place_is_told_from_a_violation() {
    let source = "object T\nshared X: 0..3\nop f() -> 0..3 { local x: 0..3\n @lin\n x = fetch_add(X, 1)\n return x }\n\
                  op g() -> 0..3 { local x: 0..3 = X\n @lin\n return x }\n\
                  spec { state n: 0..3\nf() { n = n + 1; return n - 1 }\ng() { return n } }\nclient { procs 2; ops 1 }";
    let model = Model::parse(source).unwrap();
    let program = Arc::new(model.compile(Semantics::Default, true).unwrap());
    let options = Options { points: true, ..Options::default() };
    // In one step with the access it is right, wherever it stands within the step.
    assert!(matches!(verify(&program, &options, &Budget::unlimited()).verdict, Verdict::Holds));
    let late = source.replacen(
        "@lin\n x = fetch_add(X, 1)",
        "x = fetch_add(X, 1)\n x = X\n @lin\n x = x - 1",
        1,
    );
    let model = Model::parse(&late).unwrap();
    let program = Arc::new(model.compile(Semantics::Default, true).unwrap());
    match verify(&program, &options, &Budget::unlimited()).verdict {
        Verdict::Violation(c) => {
            assert!(matches!(c.reason, Reason::WrongPoints | Reason::NotLinearizable), "{c:?}");
        }
        other => panic!("{other:?}"),
    }
}

/// Found with points, explained without: its calls and returns are seen, though the program hides
/// them.
#[test]
fn a_violation_found_with_points_is_replayed() {
    let source = "object T\nshared X: 0..3\nop f() -> 0..3 { local x: 0..3 = X\n X = x + 1\n return x @lin }\n\
                  spec { state n: 0..3\nf() { n = n + 1; return n - 1 } }\nclient { procs 2; ops 1 }";
    let model = Model::parse(source).unwrap();
    for semantics in [Semantics::Default, Semantics::Pat] {
        let program = Arc::new(model.compile(semantics, true).unwrap());
        let options = Options { points: true, ..Options::default() };
        match verify(&program, &options, &Budget::unlimited()).verdict {
            Verdict::Violation(c) => interpret::replay(&model, semantics, &program, &c).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}
