//! What may be kept where: a number never turns into `none`, and a container holds nothing that is
//! not of its type, in specifications for histories, in models and in the interpreter.

use std::fmt::Write;
use std::sync::Arc;

use trueline::history::Error;
use trueline::{Algorithm, Budget, formats};
use trueline_model::engine::{Options, Reason, Verdict, verify};
use trueline_model::{Model, Semantics, Specification, interpret};

/// The verdict on calls one after the other, with their arguments and results.
fn check(source: &str, calls: &[(&str, &str, &str)]) -> Result<&'static str, Error> {
    let read = Specification::parse(source).unwrap_or_else(|e| panic!("{}", e.render("s", source)));
    let mut text = String::new();
    for (call, args, result) in calls {
        let _ = writeln!(text, r#"{{"process":0,"call":"{call}","args":[{args}]}}"#);
        let _ = writeln!(text, r#"{{"process":0,"return":{result}}}"#);
    }
    let history = formats::read(text.as_bytes(), &formats::ReadOptions::default()).unwrap().0;
    let spec = read.named("s.tl").unwrap();
    Ok(spec.check(&history, Algorithm::Auto, &Budget::unlimited())?.verdict.name())
}

/// The specification or model is refused for the text that begins with `place`.
#[track_caller]
fn refused(source: &str, place: &str, message: &str) {
    let error = match source.starts_with("object") {
        true => Model::parse(source).map(drop).expect_err(source),
        false => Specification::parse(source).map(drop).expect_err(source),
    };
    assert_eq!(error.message(), message, "{source}");
    let (line, column) = error.span().line_column(source);
    let rest = &source.lines().nth(line - 1).unwrap()[column - 1..];
    assert!(rest.starts_with(place), "{source}: {rest}");
}

/// -1 was the `none` of `0..3?`, so that `put(-1)` explained a later `get() -> none`.
#[test]
fn a_number_does_not_turn_into_none() {
    let (put, get) = (("put", "-1", "null"), ("get", "", "null"));
    for spec in [
        "state n: -5..10  put(v: -5..10) { n = v }  get() -> 0..3? { return n }",
        "state m: 0..3? = 2  put(v: -5..10) { m = v }  get() -> 0..3? { return m }",
        "state m: 0..3? = 2  put(v: -5..10) { m = true ? v : none }  get() -> 0..3? { return m }",
        "state m: 0..3? = 2  put(v: -5..10) { local k: 0..3? = v; m = k }  get() -> 0..3? { return m }",
        "state q: seq<0..3?>  put(v: -5..10) { q.push_back(v) }  get() -> 0..3? { return q.front() }",
        "state q: seq<0..3?>  put(v: -5..10) { q = q ++ [v] }  get() -> 0..3? { return q.front() }",
        "state q: seq<0..3?>  put(v: -5..10) { q = [v; 2] }  get() -> 0..3? { return q.front() }",
        "state q: seq<0..3?> = [none], b: bool  put(v: -5..10) { b = v in q }
         get() -> 0..3? { await b; return none }",
        "state q: seq<0..3?> = [none], b: bool  put(v: -5..10) { b = q.contains(v) }
         get() -> 0..3? { await b; return none }",
        "state s: set<0..3?>  put(v: -5..10) { s.insert(v) }
         get() -> 0..3? { await none in s; return none }",
        "state m: map<0..3?, 0..1>  put(v: -5..10) { m[v] = 1 }
         get() -> 0..3? { await none in m; return none }",
        "state m: map<0..1, 0..3?>  put(v: -5..10) { m[1] = v }  get() -> 0..3? { return m[1] }",
        "state a: [0..3?; 2] = [1, 1]  put(v: -5..10) { a[1] = v }  get() -> 0..3? { return a[1] }",
        "state r: R = R { f: 1 }  put(v: -5..10) { r = R { f: v } }  get() -> 0..3? { return r.f }",
        "state r: R = R { f: 1 }  put(v: -5..10) { r.f = v }  get() -> 0..3? { return r.f }",
    ] {
        let source = format!("record R {{ f: 0..3? }} spec {{ {spec} }}");
        let error = check(&source, &[put, get]).expect_err(&source);
        let told = error.message();
        assert!(told.ends_with(" would be -1, which is not one of 0..3"), "{source}: {told}");
    }
    // A whole container is not looked through, so its type must exclude the number.
    let whole = "spec { state q: seq<-5..10>, p: seq<0..3?>  put() { p = q } }";
    refused(whole, "q }", "expected seq<0..3?>, found seq<-5..10>");
    // A number that is one, and `none`.
    let source = "spec { state n: -1..3  put(v: -1..3) { n = v }
        get() -> 0..3? { return n < 0 ? none : n } }";
    let put = |v| ("put", v, "null");
    assert_eq!(check(source, &[put("2"), ("get", "", "2")]).unwrap(), "linearizable");
    assert_eq!(check(source, &[put("2"), get]).unwrap(), "violation");
    assert_eq!(check(source, &[put("-1"), get]).unwrap(), "linearizable");
}

/// Models were verified in which -1 stood for `none`.
#[test]
fn a_number_does_not_turn_into_none_in_a_model() {
    let model = |shared: &str, body: &str| {
        format!(
            "object X()
             record R {{ f: 0..3? }}
             node Node {{ f: 0..3? }}
             shared N: 0..3?, A: [0..3?; 2], P: R, H: Node, {shared}
             op put(v: -1..3) -> 0..3? {{ {body} }}
             spec {{ put(v) {{ return none }} }}
             client {{ procs 2; ops 2; heap 4 gc }}"
        )
    };
    for body in [
        "N = v; return none",
        "A[1] = v; return none",
        "P.f = v; return none",
        "P = R{f: v}; return none",
        "H = new Node{f: v}; return none",
        "cas(N, none, v); return none",
        "local old: 0..3? = swap(N, v); return none",
        "local k: 0..3? = v; return none",
        "return v < 0 ? v : none",
        "if v < 0 { return v } return none",
    ] {
        let source = model("M: 0..1", body);
        let model = match Model::parse(&source) {
            Ok(model) => model,
            Err(error) => {
                assert!(body.contains('?') && error.message().contains("-1..3"), "{source}");
                continue;
            }
        };
        for semantics in [Semantics::Default, Semantics::Pat] {
            let program = Arc::new(model.compile(semantics, false).unwrap());
            for options in [Options::default(), Options::plain()] {
                let report = verify(&program, &options, &Budget::unlimited());
                let Verdict::Violation(found) = report.verdict else {
                    panic!("{body}: {:?}", report.verdict)
                };
                interpret::replay(&model, semantics, &program, &found).unwrap();
                let Reason::Fault(fault) = found.reason else {
                    panic!("{body}: {:?}", found.reason)
                };
                assert_eq!(
                    fault.message, "-1 is outside of the range of an optional type",
                    "{body}"
                );
            }
        }
    }
    refused(&model("M: 0..3? = -1", "return none"), "-1", "-1 is not one of 0..3?");
    refused(&model("M: [0..3?; 2] = [-1, 1]", "return none"), "-1, ", "-1 is not one of 0..3?");
}

/// A `none` whose type nothing told stood for 0.
#[test]
fn none_without_a_type_is_not_zero() {
    let source = "spec { state n: 0..3  put(v: 0..3) { n = v }
        is(c: bool) -> bool { return (c ? none : n) == 0 }
        has(c: bool) -> bool { return none in [1, none] && c } }";
    let put = ("put", "1", "null");
    let verdict = |method, c, result| match Specification::parse(source) {
        Ok(_) => check(source, &[put, (method, c, result)]).unwrap(),
        Err(error) => panic!("{}", error.render("s", source)),
    };
    assert_eq!(verdict("is", "true", "false"), "linearizable");
    assert_eq!(verdict("is", "true", "true"), "violation");
    assert_eq!(verdict("has", "true", "true"), "linearizable");
    assert_eq!(verdict("has", "true", "false"), "violation");
}

/// What leaves a range is a doubt, not a value that is kept.
#[test]
fn containers_hold_their_types() {
    let told = |spec: &str, calls: &[(&str, &str, &str)]| {
        let error = check(&format!("record R {{ f: 0..3 }} spec {{ {spec} }}"), calls);
        error.map_err(|error| error.message().to_string())
    };
    let put = ("put", "7", "null");
    for (what, number, spec) in [
        ("a part of `q`", 7, "state q: seq<0..3>  put(v: 0..10) { q.push_back(v) }"),
        ("a part of `q`", 7, "state q: seq<0..3>  put(v: 0..10) { q.push_front(v) }"),
        ("an item of a list", 7, "state q: seq<0..3>  put(v: 0..10) { q = q ++ [v] }"),
        ("an item of a list", 7, "state q: seq<0..3>  put(v: 0..10) { q = [v; 2] }"),
        (
            "a part of `q`",
            7,
            "state q: seq<0..3>, p: seq<0..10>  put(v: 0..10) { p.push_back(v) q = p }",
        ),
        ("a part of `s`", 7, "state s: set<0..3>  put(v: 0..10) { s.insert(v) }"),
        ("a part of `m`", 7, "state m: map<0..3, 0..10>  put(v: 0..10) { m[v] = v }"),
        ("`m`", 7, "state m: map<0..10, 0..3>  put(v: 0..10) { m[v] = v }"),
        ("a part of `m`", 7, "state m: map<0..3, 0..10>  put(v: 0..10) { m.insert(v, v) }"),
        ("a part of `m`", 7, "state m: map<0..10, 0..3>  put(v: 0..10) { m.insert(v, v) }"),
        ("`f` of R", 7, "state r: R  put(v: 0..10) { r = R { f: v } }"),
        ("`r`", 7, "state r: R  put(v: 0..10) { r.f = v }"),
        ("`a`", 7, "state a: [0..3; 2]  put(v: 0..10) { a[1] = v }"),
        (
            "a part of `m`",
            7,
            "state m: map<0..1, seq<0..3>>  put(v: 0..10) { m[0] = [] m[0].push_back(v) }",
        ),
    ] {
        let doubt = format!(
            "the specification of `put` leaves its range: {what} would be {number}, which is not one of 0..3"
        );
        assert_eq!(told(spec, &[put]), Err(doubt), "{spec}");
        assert_eq!(told(spec, &[("put", "3", "null")]), Ok("linearizable"), "{spec}");
    }
    let get = "state n: 0..10  put(v: 0..10) { n = v }  get() -> 0..3 { return n }";
    let doubt = "the specification of `get` leaves its range: its result would be 7, which is not one of 0..3";
    assert_eq!(told(get, &[put, ("get", "", "1")]), Err(doubt.into()));
    // What is only looked for may be anything.
    let has = "state s: set<0..3>  has(v: 0..10) -> bool { return s.contains(v) || v in s }";
    assert_eq!(told(has, &[("has", "7", "false")]), Ok("linearizable"));
    assert_eq!(told(has, &[("has", "7", "true")]), Ok("violation"));
}

/// The limit held for `++` alone.
#[test]
fn no_container_grows_beyond_the_limit() {
    let fill = |add: &str| {
        let adds = (0..150).map(|k| format!(" {}", add.replace('K', &k.to_string())));
        let adds: String = adds.collect();
        format!(
            "spec {{ state q: seq<0..3>, s: set<0..9999999>, m: map<0..9999999, 0..1>, i: 0..100000
             fill() {{ while i < 7000 {{ {adds} i = i + 1 }} }} }}"
        )
    };
    for (what, add) in [
        ("sequence", "q.push_back(0)"),
        ("set", "s.insert(i * 150 + K)"),
        ("map", "m.insert(i * 150 + K, 0)"),
        ("map", "m[i * 150 + K] = 0"),
    ] {
        let error = check(&fill(add), &[("fill", "", "null")]).unwrap_err();
        let message = error.message();
        assert_eq!(
            message,
            format!(
                "the specification of `fill` does not end: a {what} has more than 1048576 items"
            )
        );
    }
}

/// The model was verified: its specification kept 7 in a sequence of `0..3`.
#[test]
fn what_leaves_a_range_explains_nothing_in_a_model() {
    for (state, put, get, is_fine) in [
        (
            "s: seq<0..3>, e: seq<0..3>",
            "s = e s.push_back(v)",
            "s.is_empty() ? 0 : s.front()",
            false,
        ),
        (
            "s: seq<0..7>, e: seq<0..7>",
            "s = e s.push_back(v)",
            "s.is_empty() ? 0 : s.front()",
            true,
        ),
        ("m: map<0..1, 0..3>, b: 0..7", "m[0] = v b = v", "b", false),
        ("m: map<0..3, 0..7>, b: 0..7", "m[v] = 1 b = v", "b", false),
        ("m: map<0..7, 0..7>, b: 0..7", "m[v] = 1 b = v", "b", true),
        ("s: set<0..3>, b: 0..7", "s.insert(v) b = v", "b", false),
    ] {
        let source = format!(
            "object X()
             shared N: 0..7 = 0
             op put(v: 2..7) {{ N = v }}
             op get() -> 0..7 {{ return N }}
             spec {{ state {state}  put(v) {{ {put} }}  get() {{ return {get} }} }}
             client {{ procs 2; ops 2 }}"
        );
        let model = Model::parse(&source).unwrap_or_else(|e| panic!("{}", e.render("m", &source)));
        let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
        match verify(&program, &Options::default(), &Budget::unlimited()).verdict {
            Verdict::Holds => assert!(is_fine, "{source}"),
            Verdict::Violation(found) => {
                assert!(!is_fine, "{source}");
                interpret::replay(&model, Semantics::Default, &program, &found).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}
