//! Marked linearization points are never trusted too far: with them nothing is verified that is a
//! violation without.

use std::sync::Arc;

use trueline::Budget;
use trueline::rng::{self, Rng};
use trueline_model::engine::{Options, Reason, Verdict, verify};
use trueline_model::{Model, Semantics, generate};

/// The verdicts without points and with them.
fn both(source: &str, semantics: Semantics, options: &Options) -> [&'static str; 2] {
    let model = Model::parse(source)
        .unwrap_or_else(|error| panic!("{}", error.render("points.tl", source)));
    [false, true].map(|points| {
        let program = Arc::new(model.compile(semantics, points).unwrap());
        let options = Options { points, ..options.clone() };
        match verify(&program, &options, &Budget::unlimited()).verdict {
            Verdict::Holds => "verified",
            Verdict::Violation(found) if found.reason == Reason::WrongPoints => "wrong points",
            Verdict::Violation(_) => "violation",
            other => panic!("{other:?}\n{source}"),
        }
    })
}

#[track_caller]
fn expect(rest: &str, without: &str, with: &str) {
    for semantics in [Semantics::Default, Semantics::Pat] {
        for options in [Options::plain(), Options::default()] {
            let found = both(&format!("object P\n{rest}"), semantics, &options);
            assert_eq!(found, [without, with], "{semantics:?}\n{rest}");
        }
    }
}

#[test]
fn an_operation_without_a_mark_is_held_against_the_specification() {
    let of = |result: u8| {
        format!(
            "shared X: 0..2\nop f() {{ X = 1 @lin }}\nop g() -> 0..2 {{ return {result} }}\n\
             spec {{ f() {{ return }}\ng() {{ return 0 }} }}\nclient {{ procs 1; ops 1 }}"
        )
    };
    expect(&of(2), "violation", "violation");
    // Even one that is right by itself: it has no point.
    expect(&of(0), "verified", "wrong points");
}

#[test]
fn a_way_to_return_without_a_mark_is_held_against_the_specification() {
    expect(
        "shared X: 0..2\n\
         op g() -> 0..2 {\nlocal a: 0..2\na = X\nif a == 1 { return 0 @lin }\nreturn 2\n}\n\
         op f() { X = 1 @lin }\n\
         spec { f() { return }\ng() { return 0 } }\nclient { procs 2; ops 1 }",
        "violation",
        "violation",
    );
    expect(
        "shared N: 0..4\n\
         op increment() -> 0..4 {\nlocal n: 0..4\nn = N\nif n == 4 { return n @lin }\nN = n + 1\nreturn n + 1\n}\n\
         spec { state n: 0..4\nincrement() { if n < 4 { n = n + 1 }\nreturn n } }\n\
         client { procs 2; ops 2 }",
        "violation",
        "violation",
    );
}

/// An operation that takes effect twice is no operation, whether or not each effect alone is one.
#[test]
fn a_second_mark_is_explained_by_nothing() {
    let twice = |spec: &str| {
        format!(
            "shared X: 0..4\nop f() {{ X = 1 @lin; X = 2 @lin }}\nop g() -> 0..4 {{ return X @lin }}\n\
             spec {{ state n: 0..4\nf() {{ {spec} }}\ng() {{ return n }} }}\nclient {{ procs 1; ops 2 }}"
        )
    };
    expect(&twice("n = n + 1"), "violation", "violation");
    expect(&twice("n = 2"), "verified", "wrong points");
    // In a loop one mark is passed any number of times.
    let looping = |rounds: u8| {
        format!(
            "shared X: 0..4\nop f() {{ for i in 1..{rounds} {{ X = i @lin }} }}\nop g() -> 0..4 {{ return X @lin }}\n\
             spec {{ state n: 0..4\nf() {{ n = n + 1 }}\ng() {{ return n }} }}\nclient {{ procs 1; ops 2 }}"
        )
    };
    expect(&looping(2), "violation", "violation");
    expect(&looping(0), "violation", "violation");
}

/// A mark tells the call that was made, not what has become of its arguments since.
#[test]
fn arguments_that_change_or_are_forgotten_are_those_of_the_call() {
    let put = |body: &str| {
        format!(
            "shared X: 0..1, Y: 0..1\nop put(v: 0..1) {{ {body} }}\nop get() -> 0..1 {{ return X @lin }}\n\
             spec {{ state n: 0..1\nput(v) {{ n = v }}\nget() {{ return n }} }}\nclient {{ procs 2; ops 2 }}"
        )
    };
    expect(&put("v = 0; X = v @lin"), "violation", "violation");
    expect(&put("X = 0; Y = v; Y = 1 @lin"), "violation", "violation");
    expect(&put("X = v @lin; v = 0"), "verified", "verified");
    expect(&put("Y = v; X = v @lin; Y = 0"), "verified", "verified");
}

/// A mark of one operation is not that of another which it helps, and what never returns needs
/// none.
#[test]
fn marks_of_helpers_and_of_what_never_returns() {
    let helped = |g: &str| {
        format!(
            "shared X: 0..1, Y: 0..1\nop f() {{ Y = 1; while X != 1 {{ skip }} }}\n\
             op g() -> bool {{ {g} }}\n\
             spec {{ state n: 0..1\nf() {{ n = 1 }}\ng() {{ return n == 1 }} }}\nclient {{ procs 2; ops 1 }}"
        )
    };
    expect(
        &helped("atomic { if Y == 1 { X = 1; return true @lin } return false @lin }"),
        "verified",
        "wrong points",
    );
    expect(
        &helped("atomic { if Y == 1 { X = 1; return false @lin } return true @lin }"),
        "violation",
        "violation",
    );
    expect(
        "shared X: 0..1\nop f() { X = 1; await X == 0 }\nop g() -> 0..1 { return 0 @lin }\n\
         spec { f() { await false }\ng() { return 0 } }\nclient { procs 2; ops 1 }",
        "verified",
        "verified",
    );
}

/// A random model with marks here and there, and returns in between.
fn sprinkled(seed: u64) -> String {
    let mut dice = Rng::new(seed ^ 0x5ca1_ab1e);
    let text = generate::model(seed);
    // Whether f and g have no result: then every mark knows it.
    let empty = [dice.chance(0.5), dice.chance(0.3)];
    // Most returns carry a mark, and few marks stand elsewhere, or the other way round.
    let at_returns = if dice.chance(0.6) { 0.9 } else { 0.2 };
    let elsewhere = *dice.choose(&[0.0, 0.1, 0.3]);
    let (mut out, mut which, mut in_spec) = (String::new(), 0, false);
    for line in text.lines() {
        let (margin, line) = line.split_at(line.len() - line.trim_start().len());
        in_spec |= line.starts_with("spec");
        for (number, name) in ["f(", "g("].iter().enumerate() {
            if line.starts_with(name) || line.starts_with(&format!("op {name}")) {
                which = number;
            }
        }
        let value = if empty[which] { "" } else { " r" };
        let mark = |dice: &mut Rng| if dice.chance(at_returns) { " @lin" } else { "" };
        let line = match line {
            "return r" if in_spec => format!("return{value}"),
            "return r" => format!("return{value}{}", mark(&mut dice)),
            line if empty[which] => line.replace(" -> 0..2", ""),
            line => line.to_string(),
        };
        let open = line.ends_with('}') || line.starts_with("if ") || line.starts_with('}');
        let access = !open && line.contains(" = ") && !margin.is_empty() && !in_spec;
        let marked = if access && dice.chance(elsewhere) { " @lin" } else { "" };
        out.push_str(&format!("{margin}{line}{marked}\n"));
        if access && dice.chance(0.15) {
            let number = dice.below(3);
            let mark = mark(&mut dice);
            out.push_str(&format!("{margin}if r == {number} {{ return{value}{mark} }}\n"));
        }
    }
    out
}

#[test]
fn nothing_is_verified_with_points_that_is_a_violation_without() {
    let mut counts = std::collections::BTreeMap::new();
    let seeds = rng::seeds(300);
    let cases = seeds.cases();
    for seed in seeds {
        let source = sprinkled(seed);
        if !source.contains("@lin") {
            continue;
        }
        let semantics = if seed % 4 == 0 { Semantics::Pat } else { Semantics::Default };
        let options = if seed % 2 == 0 { Options::default() } else { Options::plain() };
        let found = both(&source, semantics, &options);
        let agree =
            matches!(found, ["verified", "verified" | "wrong points"] | ["violation", "violation"]);
        assert!(agree, "seed {seed} {semantics:?}: {found:?}\n{source}");
        *counts.entry(found).or_insert(0u64) += 1;
    }
    println!("{counts:?}");
    for found in
        [["verified", "verified"], ["verified", "wrong points"], ["violation", "violation"]]
    {
        let count = counts.get(&found).copied().unwrap_or_default();
        assert!(count * 50 + 50 >= cases, "{found:?}: {count} of {cases}");
    }
}
