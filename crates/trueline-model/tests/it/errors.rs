//! Errors of models: each is one, points at the right place, and says what to write instead. And no
//! text, however broken, makes the language panic.

use std::fs;
use std::path::Path;

use trueline::rng::{self, Rng};
use trueline_model::Model;

const GOOD: &str = "\
object Cell(procs: 1..4 = 2, most: 1..8 = 3)
type Value = 0..most
node Node { value: Value; next: Node }
shared Head: Node, X: Value, Busy: bool, Owner: pid, L: lock, A: [Value; 2]
op write(v: Value) {
  X = v
}
op read() -> Value {
  local x: Value
  x = X
  return x
}
spec {
  state r: Value
  write(v) { r = v }
  read() { return r }
}
client { procs procs; ops 1; heap 2 gc }
";

/// Replaces the first occurrence of `from`; the one error must stand at the text `at` and say these
/// things.
#[track_caller]
fn check(from: &str, to: &str, at: &str, message: &str, help: &str) {
    assert!(GOOD.contains(from), "{from:?} is not in the model");
    let source = GOOD.replacen(from, to, 1);
    let error = Model::parse(&source).expect_err("the model should be wrong");
    let shown = error.render("cell.tl", &source);
    let span = error.span();
    assert_eq!(&source[span.start as usize..span.end as usize], at, "{shown}");
    assert_eq!(error.message(), message, "{shown}");
    assert_eq!(error.suggestion().unwrap_or(""), help, "{shown}");
    assert_eq!(shown.matches("error:").count(), 1);
    assert!(shown.contains("--> cell.tl:"), "{shown}");
}

#[test]
fn the_model_without_errors_has_none() {
    Model::parse(GOOD).unwrap_or_else(|error| panic!("{}", error.render("cell.tl", GOOD)));
}

#[test]
fn a_typo_is_answered_with_what_was_meant() {
    let body = "x = X\n";
    let unknown = "no variable is called `Haed`";
    check(body, "x = Haed.value\n", "Haed", unknown, "did you mean `Head`?");
    check(body, "x = Head.valu\n", "valu", "`Node` has no field `valu`", "did you mean `value`?");
    check(
        "return x",
        "retrun x",
        "retrun",
        "`retrun` begins no statement",
        "did you mean `return`?",
    );
    let named = "no type is called `Vale`";
    check("local x: Value", "local x: Vale", "Vale", named, "did you mean `Value`?");
    let function = "no function is called `csa`";
    check("X = v", "csa(X, 0, v)", "csa", function, "did you mean `cas`?");
    let operation = "the object has no operation `wirte`";
    check("  write(v) {", "  wirte(v) {", "wirte", operation, "did you mean `write`?");
    let declaration =
        "expected a declaration (`shared`, `op`, `spec`, `client`, ...), found `sharde`";
    check("shared Head", "sharde Head", "sharde", declaration, "did you mean `shared`?");
    let parameter = "no parameter is called `mots`";
    check("0..most", "0..mots", "mots", parameter, "did you mean `most`?");
}

#[test]
fn a_type_error_says_what_was_expected() {
    let (at, help) = ("X = v", "compare it with a number: `x == 1`");
    check(at, "if X { X = v }", "X", "expected bool, found 0..3", help);
    check(
        at,
        "X = true",
        "true",
        "expected 0..3, found bool",
        "a value of type 0..3 is needed here",
    );
    check(at, "X = 7", "7", "7 is not one of 0..3", "widen the range");
    check(
        at,
        "X = none",
        "none",
        "`none` is not one of 0..3",
        "an optional type has `none`: `0..3?`",
    );
    check(at, "Owner = 1", "1", "expected pid, found the number 1", "a process is named by `me`");
    let ids = "compare them with `==` and `!=`: processes are alike";
    check(at, "if me < Owner { X = v }", "me", "ids of processes are not numbers", ids);
    let compared = "0..3 and bool cannot be compared";
    check(at, "if X == Busy { X = v }", "X == Busy", compared, "use `true` and `false`");
    check(at, "L = me", "L", "a lock cannot be assigned", "use `lock(l)` and `unlock(l)`");
    check(at, "A = v", "A", "an array cannot be assigned as a whole", "assign its cells");
    let arguments = "`cas` takes 3 arguments, but here are 2";
    check(at, "cas(X, v)", "cas", arguments, "write `cas(place, old, new)`");
    let local = "`cas` works on shared memory, but this is local";
    check(at, "cas(v, 0, 1)", "v", local, "");
    check(
        at,
        "return v",
        "v",
        "this operation returns nothing",
        "say what it returns: `op name() -> 0..3`",
    );
}

#[test]
fn an_unbounded_domain_needs_a_range() {
    let help = "every variable holds one of finitely many values: give a range, such as `0..3`";
    check("X: Value", "X: int", "int", "`int` is an unbounded domain", help);
    check("local x: Value", "local x: nat", "nat", "`nat` is an unbounded domain", help);
    let say = "say what it may hold: `x: 0..3`";
    check("local x: Value", "local x", "x", "expected `:` and the variable's type, found `x`", say);
    let range = "this domain has more than a million values";
    check("X: Value", "X: 0..9999999", "0..9999999", range, "a small range will do");
    let backwards = "a range begins with its least value: `0..3`";
    check("X: Value", "X: 3..0", "3..0", "the range 3..0 is empty", backwards);
}

#[test]
fn a_missing_return_is_found() {
    let header = "op read() -> Value";
    let message = "`read` can end without returning a value";
    let help = "end it with `return` and one of 0..3";
    check("  return x\n", "", header, message, help);
    check("return x", "if x == 0 { return x }", header, message, help);
    check("return x", "while x == 0 { return x }", header, message, help);
    check(
        "return x",
        "return",
        "return",
        "this operation returns 0..3",
        "write `return` and the value",
    );
    let spec = "`read` can end here without returning a value";
    check("read() { return r }", "read() { }", "read", spec, "return one of 0..3");
    check(
        "return x",
        "return x; x = 1",
        "x = 1",
        "this is never reached",
        "remove it, or what ends the block before it",
    );
}

#[test]
fn what_is_not_there_is_missed() {
    check(
        "client { procs procs; ops 1; heap 2 gc }\n",
        "",
        "",
        "the model has no client",
        "add one: `client { procs 2; ops 1 }`",
    );
    check(
        "; heap 2 gc",
        "",
        "client",
        "the client does not say how many nodes there are",
        "add `heap 4 gc` (garbage is collected) or `heap 4 reuse` (nodes are freed)",
    );
    check(
        "  read() { return r }\n",
        "",
        "spec",
        "the specification does not say what `read` does",
        "add `read(...) { ... }`",
    );
    check(
        "X = v",
        "free(Head)",
        "free(Head)",
        "nothing is freed by hand where garbage is collected",
        "say `heap n reuse` in the client, or remove this",
    );
    check("X = v", "break", "break", "`break` stands outside of a loop", "");
    check(
        "X = v",
        "loop { }",
        "loop { }",
        "this loop does nothing, for ever",
        "await something in it",
    );
    check(
        "X = v",
        "X += 1",
        "+=",
        "there is no such assignment",
        "write `fetch_add(x, 1)` for one access, `x = x + 1` for a read and a write",
    );
}

#[test]
fn built_in_specifications_are_checked_against_the_operations() {
    let spec = "spec {\n  state r: Value\n  write(v) { r = v }\n  read() { return r }\n}";
    check(
        spec,
        "spec regsiter",
        "regsiter",
        "no built-in specification is called `regsiter`",
        "did you mean `register`?",
    );
    check(spec, "spec register(inti: 0)", "inti", "this specification has no parameter `inti`", "");
    let source = GOOD.replacen(spec, "spec queue", 1);
    let error = Model::parse(&source).expect_err("a queue has no write");
    assert!(error.message().contains("for the specification queue"), "{}", error.message());
    let source = GOOD.replacen(spec, "spec register(init: 0)", 1);
    Model::parse(&source).unwrap();
}

#[test]
fn parameters_outside_of_their_range_are_refused() {
    let mut model = Model::parse(GOOD).unwrap();
    let error = model.set("most", 9).unwrap_err();
    assert_eq!(error.to_string(), "most must be 1 to 8, not 9");
    let error = model.set("msot", 2).unwrap_err();
    assert_eq!(error.to_string(), "Cell has no parameter \"msot\": did you mean `most`?");
    model.set("most", 8).unwrap();
}

#[test]
fn deep_nesting_is_an_error_and_not_an_overflow() {
    let n = 50_000;
    let many = |text: &str| text.repeat(n);
    for body in [
        format!("X = {}1{}", many("("), many(")")),
        format!("X = {}1", many("-")),
        format!("if {}true {{ X = v }}", many("!")),
        format!("X = 1{}", many(" + 1")),
        format!("X = {}1", many("1 + (")),
        format!("X = {}", many("true ? 1 : ")),
        format!("X = v{}", many(".next")),
        format!("X = v{}", many("[0]")),
        many("if X == 1 { "),
        many("if X == 1 { } else "),
        many("loop { "),
        format!("local q: {}Value", many("[")),
        format!("local q: Value{}", many("?")),
        format!("X = {}", many("cas(")),
        format!("X = {}", many("new Node{next: ")),
    ] {
        let source = GOOD.replacen("X = v", &body, 1);
        assert!(Model::parse(&source).is_err());
    }
    let records: String =
        (1..60).map(|i| format!("record R{i} {{ a: R{}; b: R{} }}\n", i - 1, i - 1)).collect();
    let source =
        GOOD.replacen("node Node", &format!("record R0 {{ a: bool }}\n{records}node Node"), 1);
    assert!(Model::parse(&source).unwrap_err().message().contains("cells"));
}

/// Words and signs are swapped, dropped, doubled and taken from elsewhere, and bytes are changed. A
/// panic fails the test.
#[test]
fn broken_models_are_errors_and_never_panics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut sources = vec![GOOD.to_string()];
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    sources.extend(paths.iter().map(|path| fs::read_to_string(path).unwrap()));
    let split = |source: &str| -> Vec<String> {
        let mut tokens: Vec<String> = Vec::new();
        for c in source.chars() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            match tokens.last_mut() {
                Some(last) if word(c) && last.chars().all(word) => last.push(c),
                _ => tokens.push(c.to_string()),
            }
        }
        tokens
    };
    let all: Vec<Vec<String>> = sources.iter().map(|s| split(s)).collect();
    let mut refused = 0;
    let seeds = rng::seeds(1500);
    let total = seeds.cases();
    for seed in seeds {
        let mut dice = Rng::new(seed);
        let mut tokens = all[dice.index(all.len())].clone();
        for _ in 0..1 + dice.index(3) {
            let at = dice.index(tokens.len());
            let other = &all[dice.index(all.len())];
            match dice.index(5) {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, other[dice.index(other.len())].clone()),
                2 => tokens[at] = other[dice.index(other.len())].clone(),
                3 => {
                    let second = dice.index(tokens.len());
                    tokens.swap(at, second);
                }
                _ => {
                    tokens[at] = ["99999999999", "-1", "\u{e9}", "{", ")", "@lin", "none", "0"]
                        [dice.index(8)]
                    .into()
                }
            }
        }
        let source = tokens.concat();
        if let Err(error) = Model::parse(&source) {
            refused += 1;
            assert!(error.render("m.tl", &source).starts_with("error: "));
        }
    }
    assert!(refused > total / 4, "only {refused} of {total} are refused");
    for seed in rng::seeds(1500) {
        let mut dice = Rng::new(seed);
        let bytes: Vec<u8> = (0..dice.index(80)).map(|_| dice.index(256) as u8).collect();
        let source = String::from_utf8_lossy(&bytes).into_owned();
        assert!(Model::parse(&source).is_err());
    }
}

#[test]
fn more_than_can_be_checked_is_an_error_of_the_model() {
    let nodes = "at least 1 and at most 63 can be checked";
    check("heap 2", "heap 64", "64", "a heap cannot have 64 nodes", nodes);
    let processes = "at most 15 can be checked";
    check("procs procs", "procs 16", "16", "there cannot be 16 processes", processes);
    let two = "role a 8 { read } role b 8 { write }";
    check("procs procs", two, "8", "there cannot be 16 processes", processes);
}

#[test]
fn a_role_that_calls_nothing_is_an_error() {
    let help = "name its operations, or write `procs` for processes that may call everything";
    check("procs procs", "role idle 1 { }", "idle", "the role `idle` calls nothing", help);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let marked = format!("\u{feff}//! expect procs=2: verified\n{GOOD}");
    let model = Model::parse(&marked).unwrap();
    assert_eq!(model.expectations().len(), 1);
    let broken = "\u{feff}objekt Cell";
    let shown = Model::parse(broken).unwrap_err().render("cell.tl", broken);
    assert!(shown.contains("--> cell.tl:1:1\n"), "{shown}");
    assert!(Model::parse("object \u{feff}").is_err());
}
