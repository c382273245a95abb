//! What is said of a model is true, and said in time: regressions, each named after its fault.

use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{Options, Property, Reason, SHORTENING, Verdict, progress, verify};
use trueline_model::interpret::{Naive, explain, follow, progress_naively, replay, search_naively};
use trueline_model::program::Program;
use trueline_model::{Model, Semantics, library};

const BOTH: [Semantics; 2] = [Semantics::Default, Semantics::Pat];

fn parse(source: &str) -> Model {
    Model::parse(source).unwrap_or_else(|error| panic!("{}", error.render("model.tl", source)))
}

fn compile(model: &Model, semantics: Semantics) -> Arc<Program> {
    Arc::new(model.compile(semantics, false).unwrap_or_else(|e| panic!("{}", e.message())))
}

/// All combinations of reductions.
fn reductions() -> Vec<Options> {
    (0..8)
        .map(|bits| Options {
            symmetry: bits & 1 != 0,
            partial_order: bits & 2 != 0,
            antichain: bits & 4 != 0,
            ..Options::plain()
        })
        .collect()
}

/// The model has this verdict, in either semantics, by every reduction and by the naive search. The
/// reason of a violation starts so.
#[track_caller]
fn expect(source: &str, reason: Option<&str>) {
    let model = parse(source);
    for semantics in BOTH {
        let program = compile(&model, semantics);
        let naive = search_naively(&model, semantics, &program, 100_000).unwrap();
        let expected = if reason.is_some() { Naive::Violation } else { Naive::Verified };
        assert_eq!(naive, expected, "{semantics:?}, naively: {source}");
        for options in reductions() {
            let found = verify(&program, &options, &Budget::unlimited()).verdict;
            let Verdict::Violation(counterexample) = found else {
                assert!(
                    reason.is_none() && matches!(found, Verdict::Holds),
                    "{semantics:?}: {found:?}"
                );
                continue;
            };
            let told = match &counterexample.reason {
                Reason::NotLinearizable => "not linearizable",
                Reason::Fault(fault) => &fault.message,
                Reason::Deadlock => "deadlock",
                Reason::WrongPoints => "wrong points",
            };
            assert!(reason.is_some_and(|r| told.starts_with(r)), "{semantics:?}: {told}: {source}");
            replay(&model, semantics, &program, &counterexample)
                .unwrap_or_else(|why| panic!("{semantics:?}: {why}: {source}"));
        }
    }
}

fn alone(body: &str, spec: &str) -> String {
    format!(
        "object O\nshared A: 0..1\nop o() -> 0..1 {{ {body} }}\nspec {{ o() {{ {spec} }} }}\nclient {{ procs 2; ops 1 }}"
    )
}

#[test]
fn a_violation_behind_a_loop_of_choices_is_told() {
    let body = "loop { either { break } or { skip } } return A";
    expect(&alone(body, "return 1"), Some("not linearizable"));
    expect(&alone(body, "return 0"), None);
}

#[test]
fn a_loop_of_choices_inside_atomic_ends() {
    let around = |branches: &str| {
        format!("local x: 0..1\natomic {{ while x < 1 {{ {branches} }} }} return A")
    };
    for branches in ["either { x = 1 } or { skip }", "either { skip } or { x = 1 }"] {
        expect(&alone(&around(branches), "return 0"), None);
        expect(&alone(&around(branches), "return 1"), Some("not linearizable"));
    }
    let long = "local i: 0..99, a: 0..1\n\
                atomic { while i < 98 { either { i = i + 1 } or { i = i + 2; a = 1 - a } } } return A";
    expect(&alone(long, "return 0"), None);
    // A loop that no choice ends is an error, and so is one without a choice.
    expect(&alone(&around("either { skip } or { x = 0 }"), "return 0"), Some("no choice ends"));
    expect(&alone(&around("skip"), "return 0"), Some("a loop in one step exceeds"));
    // After a choice that leaves it nothing to choose it goes round for ever.
    let late = "local c: bool\natomic { while A == 0 { if !c { either { c = true } or { skip } } } } return A";
    expect(&alone(late, "return 0"), Some("a loop in one step"));
}

#[test]
fn a_specification_may_choose_in_a_loop() {
    let spec = "local x: 0..1\nwhile x < 1 { either { x = 1 } or { skip } }\nreturn x - 1";
    expect(&alone("return A", spec), None);
    expect(&alone("return A", "while choose(0, 1) == 0 { skip }\nreturn 0"), None);
}

#[test]
fn a_violation_behind_a_local_loop_is_told() {
    let body = "local x: 0..1\nwhile x < 1 { x = x + 1 } return A";
    expect(&alone(body, "return 1"), Some("not linearizable"));
    let body = "local x: 0..2\nfor i in 0..2 { if i != 1 { x = i } } x = A; while x < 2 { x = x + 1 } return A";
    expect(&alone(body, "return 1"), Some("not linearizable"));
    let body =
        "local x: 0..2\nx = A; loop { x = x + 1; if x == 2 { break } } assert x == 1; return A";
    expect(&alone(body, "return 0"), Some("an assertion"));
}

fn lock_free(model: &Model, semantics: Semantics) -> bool {
    let program = compile(model, semantics);
    match progress(&program, &Property::LockFree, &Budget::unlimited()).verdict {
        Verdict::Holds => true,
        Verdict::Violation(_) => false,
        Verdict::Undecided(why) => panic!("{why}"),
    }
}

#[test]
fn code_that_waits_for_a_lock_is_not_lock_free() {
    let counter = |body: &str| {
        format!(
            "object C\nshared L: lock, N: 0..9\nop inc() -> 0..9 {{ {body} }}\n\
             spec {{ state n: 0..9\ninc() {{ n = n + 1; return n - 1 }} }}\nclient {{ procs 2; ops 2 }}"
        )
    };
    let locked = "local n: 0..9\nlock(L); n = N; N = n + 1; unlock(L); return n";
    let free = "local n: 0..9\nloop { n = N; if cas(N, n, n + 1) { return n } }";
    for semantics in BOTH {
        assert!(!lock_free(&parse(&counter(locked)), semantics), "{semantics:?}");
        assert!(lock_free(&parse(&counter(free)), semantics), "{semantics:?}");
        for name in ["two-lock-queue", "ticket-lock"] {
            let model = parse(library::find(name).unwrap().source);
            assert!(!lock_free(&model, semantics), "{name} {semantics:?}");
        }
        assert!(lock_free(&parse(library::find("treiber").unwrap().source), semantics));
    }
}

#[test]
fn a_deadlock_of_two_locks_is_told_in_every_run() {
    let two = |second: &str| {
        format!(
            "object D\nshared L: lock, M: lock\nop f() {{ lock(L); lock(M); unlock(M); unlock(L) }}\n\
             op g() {{ {second} }}\nspec {{ f() {{ return }}\ng() {{ return }} }}\nclient {{ procs 2; ops 1 }}"
        )
    };
    expect(&two("lock(M); lock(L); unlock(L); unlock(M)"), Some("deadlock"));
    expect(&two("lock(L); lock(M); unlock(L); unlock(M)"), None);
}

/// Where the specification blocks, whoever waits does as it should.
#[test]
fn waiting_that_the_specification_explains_is_no_deadlock() {
    let source = |spec: &str| {
        format!(
            "object W\nshared X: 0..2\nop take() {{ loop {{ await X > 0; if cas(X, 1, 0) {{ return }} if cas(X, 2, 1) {{ return }} }} }}\n\
             op give() {{ fetch_add(X, 1) }}\nspec {{ state n: 0..2\ntake() {{ {spec} }}\ngive() {{ n = n + 1 }} }}\n\
             client {{ procs 2; ops 1 }}"
        )
    };
    expect(&source("await n > 0; n = n - 1"), None);
    expect(&source("if n > 0 { n = n - 1 }"), Some("deadlock"));
}

/// Everyone goes round for ever: nobody is stuck, though partial order reduction leaves no way to
/// go on.
#[test]
fn going_round_for_ever_is_no_deadlock() {
    let body = "local x: 0..1\nwhile A == 0 { x = 1 - x } return A";
    expect(&alone(body, "return 1"), None);
    let body = "local x: 0..1\nwhile x < 2 { x = 1 - x } return A";
    expect(&alone(body, "return 1"), None);
}

#[test]
fn reading_and_writing_a_freed_node_is_told() {
    let source = |heap: &str, use_it: &str| {
        format!(
            "object F\nnode N {{ v: 0..1 }}\nshared P: N = new N{{}}\n\
             op o() {{ local n: N, x: 0..1\nn = P; if n != null {{ P = null; free(n); {use_it} }} }}\n\
             spec {{ o() {{ return }} }}\nclient {{ procs 1; ops 1; heap 2 {heap} }}"
        )
    };
    for use_it in
        ["x = n.v", "n.v = 1", "cas(n.v, 0, 1)", "x = swap(n.v, 1)", "x = fetch_add(n.v, 1)"]
    {
        expect(&source("reuse", use_it), Some("v of a node that was freed"));
        expect(&source("recycle", use_it), None);
    }
    expect(&source("reuse", "n = new N{v: 1}; x = n.v"), None);
    expect(&source("reuse", "free(n)"), Some("a node is freed twice"));
}

/// One process runs the body once, on `x` and cells that are 0, and returns `r`.
fn once(body: &str, result: u32) -> String {
    format!(
        "object S\nrecord P {{ a: 0..2; b: 0..2 }}\nnode N {{ v: 0..2; next: N }}\n\
         shared x: 0..2, y: 0..2, A: [0..2; 3], B: [[0..2; 3]; 3], R: P\nlocal w: 0..2, V: [0..2; 3]\n\
         op f() -> 0..2 {{\n  local r: 0..2\n  {body}\n  return r\n}}\n\
         spec {{ f() {{ return {result} }} }}\nclient {{ procs 1; ops 1; heap 4 gc }}"
    )
}

/// The body returns this, and nothing else; so it does as one step, where it can be one.
#[track_caller]
fn returns(body: &str, result: u32) {
    expect(&once(body, result), None);
    expect(&once(body, (result + 1) % 3), Some("not linearizable"));
    if !["for ", "local ", "loop "].iter().any(|word| body.contains(word)) {
        expect(&once(&format!("atomic {{ {body} }}"), result), None);
    }
}

#[test]
fn an_old_value_that_replaces_the_index_is_stored_after_the_cell_is_written() {
    returns("r = 1; r = swap(A[r], 2); r = A[1]", 2);
    returns("A[0] = 1; r = fetch_add(A[r], 1); r = A[0]", 2);
    returns("A[0] = 1; r = ll(A[r]); if sc(A[0], 2) { r = A[0] }", 2);
    returns("A[0] = 1; r = ll(A[r]); if vl(A[1]) { r = 2 } else { r = 0 }", 0);
    returns("w = 1; A[1] = 2; w = swap(A[w], 0); r = A[1]", 0);
    returns("V[1] = 1; V[V[1]] = swap(A[V[1]], 2); r = A[1]", 2);
    let list = "local n: N = new N{v: 1}\nn = new N{v: 2, next: n}\nlocal m: N = n\nn = swap(n.next, null)\n";
    returns(&format!("{list}assert n.v == 1\nif m.next == null {{ r = 2 }}"), 2);
}

#[test]
fn the_parts_of_a_record_are_assigned_at_once() {
    returns("local q: P = P{a: 1, b: 2}; q = P{a: q.b, b: q.a}; r = q.b", 1);
    returns("R = P{a: 1, b: 2}; R = P{a: R.b, b: R.a}; r = R.b", 1);
    returns("local q: P = P{a: 1, b: 2}; q = r == 0 ? P{a: q.b, b: q.a} : q; r = q.b", 1);
}

#[test]
fn what_is_not_chosen_is_not_done() {
    for branch in ["swap(x, 1)", "fetch_add(x, 1)", "ll(x)", "choose(0, 1)", "choose(1, 1)"] {
        for body in [format!("r == 1 ? {branch} : 2"), format!("r == 0 ? 2 : {branch}")] {
            let error = Model::parse(&once(&format!("r = {body}"), 0)).map(drop);
            let error = error.expect_err(&body);
            assert_eq!(error.message(), "what stands behind `?` changes nothing");
        }
    }
    returns("r = cas(x, 0, 1) ? x : 2", 1);
    returns("if r == 1 && cas(x, 0, 1) { r = 1 } else { r = x }", 0);
}

#[test]
fn the_parts_of_a_statement_are_computed_from_left_to_right() {
    returns("A[x] = fetch_add(x, 1) + 1; r = A[0]", 1);
    returns("A[x] = swap(x, 2) + 1; r = A[0]", 1);
    returns("B[x][fetch_add(x, 1)] = 2; r = B[0][0]", 2);
    returns("if cas(x, y, fetch_add(y, 1)) { r = 1 } else { r = 2 }", 1);
    returns("if cas(A[x], 0, fetch_add(x, 1) + 2) { r = A[0] }", 2);
    returns("r = swap(A[x], fetch_add(x, 1) + 1); r = A[0]", 1);
    returns("local q: P = P{a: x, b: fetch_add(x, 1)}; r = q.a", 0);
    returns("for i in x..fetch_add(x, 1) + 1 { r = r + 1 }", 2);
}

#[test]
fn an_array_is_new_in_every_round_of_a_loop() {
    returns("for i in 0..1 { local z: [0..2; 2]; r = r + z[1]; z[1] = 1 }", 0);
    returns("for i in 0..1 { local z: [P; 2]; r = r + z[1].b; z[1].b = 1 }", 0);
    let round = "local z: [0..2; 2]; r = r + z[1]; z[1] = 1; k = k + 1";
    returns(&format!("local k: 0..2; atomic {{ while k < 2 {{ {round} }} }}"), 0);
}

/// A guard and an assertion are a step even if they need not read; `?:` and `||` read nothing that
/// they do not need.
#[test]
fn a_violation_behind_a_condition_that_need_not_read_is_told() {
    for body in [
        "local s: 0..1, r: 0..1\nr = A; await s != 1 || A == 1; A = 1; return r",
        "local s: 0..1, r: 0..1\nr = A; assert s != 1 || A == 1; A = 1; return r",
        "local s: 0..1, r: 0..1\nr = A; s = s == 1 ? A : 0; A = 1; return r",
        "local s: 0..1, r: 0..1, b: bool\nr = A; b = s == 1 && A == 1; A = 1; return r",
    ] {
        expect(&alone(body, "return 1"), Some("not linearizable"));
    }
    // Reading and writing are two steps, and another reads in between.
    let body = "local r: 0..1\nr = A == 0 ? A : 1; A = 1; return r";
    expect(&alone(body, "return choose(0, 1)"), None);
    returns("local s: 0..2; s = 1; r = s == 1 ? A[x] + 1 : B[x][y]", 1);
    returns("local q: [P; 2]; q[1].a = 1; await q[1].a == 1; r = q[1].a", 1);
}

#[test]
fn an_assertion_changes_nothing() {
    let error = Model::parse(&once("assert cas(x, 0, 1)", 0)).map(drop).unwrap_err();
    assert_eq!(error.message(), "an assertion changes nothing");
}

/// A place that is another one once a part of it is written is refused.
#[test]
fn what_is_written_is_not_where_it_goes() {
    let body = "local z: [P; 3]; z[z[0].a] = P{a: 1, b: 2}; r = z[0].b";
    let error = Model::parse(&once(body, 0)).map(drop).expect_err(body);
    assert_eq!(error.message(), "what is written here is also where it goes");
}

/// Calls are steps of their own under PAT's semantics: what must not be called is not called there
/// either.
#[test]
fn a_guard_at_the_beginning_says_when_an_operation_may_be_called() {
    let source = |body: &str| {
        format!(
            "object G\nshared X: 0..1\nlocal held: bool\nop f(a: 0..1) -> 0..1 {{ {body} }}\nop g() {{ await held; held = false; X = 0 }}\n\
             spec {{ f(a) {{ return 0 }}\ng() {{ return }} }}\nclient {{ procs 2; ops 2 }}"
        )
    };
    expect(&source("await !held; await a == 1; held = true; return X"), None);
    expect(&source("local b: 0..1 = a\nawait b == 1; return X"), None);
    expect(&source("when points { await a == 0 } else { await a == 1 } return X"), None);
    // What was chosen or computed has happened, and who waits for it waits within the operation.
    let chosen = "local b: 0..1\nb = choose(0, 1); await b == 1; return X";
    expect(&source(chosen), Some("deadlock"));
    expect(&source("a = 1 - a; await a == 1; return X"), Some("deadlock"));
    for name in ["ticket-lock", "snzi", "striped-counter"] {
        let model = parse(library::find(name).unwrap().source);
        for semantics in BOTH {
            let program = compile(&model, semantics);
            let verdict = verify(&program, &Options::default(), &Budget::unlimited()).verdict;
            assert!(matches!(verdict, Verdict::Holds), "{name} {semantics:?}: {verdict:?}");
        }
    }
}

/// The second search, which looks for a shorter run, stops after a number of states that is fixed.
#[test]
fn a_violation_is_told_before_all_shorter_runs_are_seen() {
    let mut model = parse(library::find("riany-snapshot").unwrap().source);
    for (name, value) in [("procs", 3), ("ops", 2), ("bug", 1)] {
        model.set(name, value).unwrap();
    }
    let program = compile(&model, Semantics::Default);
    let budget = Budget::unlimited();
    let report = verify(&program, &Options { threads: 2, ..Options::default() }, &budget);
    let Verdict::Violation(found) = &report.verdict else { panic!("{:?}", report.verdict) };
    assert!(!found.shortest);
    assert!(
        found.shorter_seen.is_some_and(|depth| depth > 5 && depth < found.trace.steps.len() as u64)
    );
    assert!(budget.steps_spent() < report.counts.states + 2 * SHORTENING);
    replay(&model, Semantics::Default, &program, found).unwrap();
}

#[test]
fn a_limit_is_kept_while_one_state_is_expanded() {
    // One step of one process has a million results.
    let picks: Vec<String> =
        (0..6).map(|i| format!("local a{i}: 0..9\na{i} = choose(0, 9)")).collect();
    let sum: Vec<String> = (0..6).map(|i| format!("a{i}")).collect();
    let source = format!(
        "object W\nshared X: 0..1\nop f() -> 0..54 {{ {}\nX = 0\nX = 1\nreturn {} }}\nspec {{ f() {{ return choose(0, 54) }} }}\nclient {{ procs 2; ops 1 }}",
        picks.join("\n"),
        sum.join(" + ")
    );
    let model = parse(&source);
    let program = compile(&model, Semantics::Default);
    for options in reductions() {
        let budget = Budget::unlimited();
        budget.cancel();
        let report = verify(&program, &options, &budget);
        assert!(matches!(report.verdict, Verdict::Undecided(_)), "{:?}", report.verdict);
        assert!(report.counts.transitions < 1_000);
    }
}

/// Each step tells its own line, what it read and whether a `cas` succeeded, and what changed.
#[test]
fn notes_say_what_each_step_did() {
    let source = "object N\nnode Node { v: 0..3; next: Node }\nshared Top: Node, A: [0..3; 2]\n\
                  op push(v: 1..2) -> 0..3 {\n  local n: Node = new Node{v: v}, t: Node\n  local i: 0..2\n  while i < 1 {\n    i = i + 1\n  }\n\
                  \x20 A[i] = v\n  loop {\n    t = Top\n    n.next = t\n    if cas(Top, t, n) { return 3 }\n  }\n}\n\
                  spec { push(v) { return 0 } }\nclient { procs 1; ops 1; heap 3 gc }";
    let model = parse(source);
    let program = compile(&model, Semantics::Default);
    let report = verify(&program, &Options::default(), &Budget::unlimited());
    let Verdict::Violation(found) = &report.verdict else { panic!("{:?}", report.verdict) };
    let budget = Budget::unlimited();
    let notes = explain(&model, Semantics::Default, &program, found, &budget).unwrap();
    assert_eq!(notes.len(), found.trace.steps.len());
    let told: Vec<String> = notes
        .iter()
        .map(|note| {
            let access = note.accesses.iter().map(|a| {
                let success = a.succeeded.map_or("", |s| if s { " yes" } else { " no" });
                format!("{} {} {}{success}", a.kind, a.place, a.value)
            });
            let changed = |pairs: &[(String, String)]| {
                pairs.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" ")
            };
            format!(
                "{} | {} | {} | {} | {}",
                note.line,
                access.collect::<Vec<_>>().join(", "),
                changed(&note.shared),
                changed(&note.heap),
                changed(&note.locals)
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "7 |  |  | #1.v=1 #1.next=null | n=#1 i=1",
            "10 | writes A[1] 1 | A[1]=1 |  | ",
            "12 | reads Top null |  |  | ",
            "13 | writes #1.next null |  |  | ",
            "14 | cas Top null yes | Top=#1 |  | ",
        ]
    );
    assert_eq!(found.trace.steps.last().unwrap().possible, [[0]]);
}

/// Of several statements on a line the one that ran is told, and what was written though nothing
/// changed.
#[test]
fn a_step_tells_its_own_statement_of_the_line_and_the_cell_that_it_wrote() {
    let source = "object N\nshared A: [0..1; 2], L: lock\nop f() -> 0..1 { local i: 0..1; i = 1; lock(L); A[i] = 0; unlock(L); return A[0] }\n\
                  spec { f() { return 1 } }\nclient { procs 1; ops 1 }";
    let model = parse(source);
    let program = compile(&model, Semantics::Default);
    let report = verify(&program, &Options::default(), &Budget::unlimited());
    let Verdict::Violation(found) = &report.verdict else { panic!("{:?}", report.verdict) };
    let budget = Budget::unlimited();
    let notes = explain(&model, Semantics::Default, &program, found, &budget).unwrap();
    let told: Vec<(u32, &str)> = notes.iter().map(|note| (note.line, &*note.text)).collect();
    let statements = ["lock(L)", "A[i] = 0", "unlock(L)", "return A[0]"];
    let expected: Vec<(u32, &str)> = statements.into_iter().map(|text| (3, text)).collect();
    assert!(told.ends_with(&expected), "{told:?}");
    let kept: Vec<_> = notes.iter().flat_map(|note| note.kept.clone()).collect();
    assert_eq!(kept, [("A[1]".to_string(), "0".to_string())]);
    // The call comes to the lock, which is taken in the step after it.
    assert_eq!(notes.iter().map(|note| note.arrives).collect::<Vec<_>>()[..2], [true, false]);
    // Where each statement is a step, a step that accesses nothing tells its own line too.
    let program = compile(&model, Semantics::Pat);
    let report = verify(&program, &Options::default(), &Budget::unlimited());
    let Verdict::Violation(found) = &report.verdict else { panic!("{:?}", report.verdict) };
    let notes = explain(&model, Semantics::Pat, &program, found, &budget).unwrap();
    let told: Vec<&str> = notes.iter().map(|note| &*note.text).collect();
    assert_eq!(told[..3], ["i = 1", "i = 1", "lock(L)"]);
    assert_eq!((notes[0].arrives, notes[1].arrives), (true, false));
}

/// The error of a model that does not compile.
#[track_caller]
fn refused(source: &str) -> String {
    let compiled = Model::parse(source).and_then(|model| model.compile(Semantics::Default, false));
    compiled.expect_err(source).render("model.tl", source)
}

fn named(ops: &str, spec: &str, count: u32) -> String {
    format!("object Q\nshared X: 0..9\n{ops}\nspec {spec}\nclient {{ procs 1; ops {count} }}")
}

#[test]
fn a_counter_in_a_model_returns_totals() {
    let op = "op fetch_add(a: 1..2) -> 0..9 { return fetch_add(X, a) }";
    expect(&named(op, "counter", 2), None);
    let op = "op inc_and_get() -> 0..9 { local x: 0..9; x = fetch_add(X, 1); return x + 1 }";
    expect(&named(op, "counter", 2), None);
    let op = "op fetch_inc() -> 0..9 { X = 1; return 1 }";
    expect(&named(op, "counter", 1), Some("not linearizable"));
    let op = "op inc() -> 0..9 { return fetch_add(X, 1) }";
    let message = refused(&named(op, "counter", 1));
    assert!(message.contains("`inc` does not say which total it returns"), "{message}");
}

#[test]
fn an_operation_whose_result_nobody_knows_is_no_reason_to_wait() {
    let op = "op fetch_inc() -> 0..9 { await X == 5; return 0 }";
    expect(&named(op, "counter", 1), Some("deadlock"));
    let op = "op write(a: 1..2) -> bool { await X == 5; return true }";
    expect(&named(op, "register", 1), Some("deadlock"));
    let message = refused(&named("op release() -> 5..6 { return 5 }", "semaphore", 1));
    assert!(message.contains("for the specification semaphore"), "{message}");
}

#[test]
fn a_parameter_that_a_specification_does_not_have_is_refused() {
    let deq = "op deq() -> 1..2? { X = 1; return none }";
    let message = refused(&named(deq, "queue(init: 1)", 1));
    assert!(message.contains("no parameter `init`"), "{message}");
    let message = refused(&named("op acquire() -> bool { return true }", "semaphore(init: -5)", 1));
    assert!(message.contains("`init` is -5: expected 0 or more"), "{message}");
}

#[test]
fn an_operation_without_a_result_means_what_it_means_in_a_history() {
    let two = |op: &str, spec: &str| named(op, spec, 2);
    expect(&two("op acquire() { X = 1 }", "semaphore(init: 2)"), None);
    expect(&two("op acquire() { X = 1 }", "semaphore(init: 1)"), Some("not linearizable"));
    let cas = "op cas(a: 1..2, b: 1..2) { X = 1 }";
    expect(&named(cas, "cas-register(init: 1)", 1), Some("not linearizable"));
    expect(&named("op remove(a: 1..2) { X = 1 }", "multiset", 1), Some("not linearizable"));
    let enq = "op enq(a: 1..2) { X = 1 }";
    expect(&two(enq, "bounded-queue(capacity: 1)"), Some("not linearizable"));
    expect(&two(enq, "bounded-queue(capacity: 2)"), None);
}

/// Two processes wait for each other, or one for what never comes, while another goes on without
/// end.
#[test]
fn who_waits_for_ever_while_others_go_on_is_deadlocked() {
    let deadlock_free = |source: &str, semantics: Semantics| {
        let model = parse(source);
        let program = compile(&model, semantics);
        let naive = progress_naively(&model, semantics, &program, 10_000).unwrap().unwrap();
        let found = match progress(&program, &Property::DeadlockFree, &Budget::unlimited()).verdict
        {
            Verdict::Holds => true,
            Verdict::Violation(lasso) => {
                assert!(lasso.waits.is_some() && lasso.for_ever, "{lasso:?}");
                follow(&model, semantics, &program, &lasso.stem, &Budget::unlimited()).unwrap();
                false
            }
            Verdict::Undecided(why) => panic!("{why}"),
        };
        assert_eq!(found, naive.deadlock_free, "{source}");
        found
    };
    let two = |second: &str| {
        format!(
            "object D\nshared l: lock, m: lock, Y: 0..1\n\
             op f() {{ lock(l); lock(m); unlock(m); unlock(l) }}\nop h() {{ {second} }}\nop g() {{ Y = 1 - Y }}\n\
             spec {{ state n: 0..1\nf() {{ return }}\nh() {{ return }}\ng() {{ return }} }}\n\
             client {{ role a 1 {{ f }} role c 1 {{ h }} role b 1 {{ g }}; ops unbounded }}"
        )
    };
    let one = |set: &str| {
        format!(
            "object D\nshared X: 0..1, Y: 0..1\nop f() {{ await X == 1 }}\nop g() {{ Y = 1 - Y; {set} }}\n\
             spec {{ f() {{ return }}\ng() {{ return }} }}\n\
             client {{ role a 1 {{ f }} role b 1 {{ g }}; ops unbounded }}"
        )
    };
    for semantics in BOTH {
        assert!(!deadlock_free(&two("lock(m); lock(l); unlock(l); unlock(m)"), semantics));
        assert!(deadlock_free(&two("lock(l); lock(m); unlock(l); unlock(m)"), semantics));
        assert!(!deadlock_free(&one("skip"), semantics));
        assert!(deadlock_free(&one("X = 1"), semantics));
    }
}
