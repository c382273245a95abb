//! Operations that wait: who waits for ever has called, and what it did before has happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use trueline::Budget;
use trueline::rng::{self, Rng};
use trueline_model::engine::{Options, Property, Verdict, progress, verify};
use trueline_model::interpret::{Naive, progress_naively, replay, search_naively, stuck_naively};
use trueline_model::program::Program;
use trueline_model::{Model, Semantics, generate};

const BOTH: [Semantics; 2] = [Semantics::Default, Semantics::Pat];

fn parse(source: &str) -> Model {
    Model::parse(source).unwrap_or_else(|error| panic!("{}", error.render("waiting.tl", source)))
}

fn holds(program: &Arc<Program>, property: &Property) -> Option<bool> {
    match progress(program, property, &Budget::unlimited()).verdict {
        Verdict::Holds => Some(true),
        Verdict::Violation(_) => Some(false),
        Verdict::Undecided(_) => None,
    }
}

fn response(operation: usize, weakly_fair: bool) -> Property {
    Property::Response { operation, results: None, weakly_fair }
}

/// Whether the model is free of deadlock, in either semantics; the answers to its first operation
/// are the same.
#[track_caller]
fn deadlock_free(rest: &str, expected: bool) {
    let model = parse(&format!("object D\n{rest}"));
    for semantics in BOTH {
        let program = Arc::new(model.compile(semantics, false).unwrap());
        let stuck = stuck_naively(&model, semantics, &program, 100_000).unwrap().unwrap();
        assert_eq!(stuck.is_empty(), expected, "{semantics:?}, naively: {rest}");
        let properties = [Property::DeadlockFree, response(0, false), response(0, true)];
        for property in properties {
            let found = holds(&program, &property);
            assert_eq!(found, Some(expected), "{semantics:?} {property:?}: {rest}");
        }
    }
}

fn alone(declared: &str, argument: &str, body: &str) -> String {
    let name = argument.split(':').next().unwrap_or("");
    format!(
        "shared {declared}\nop f({argument}) {{ {body} }}\nspec {{ f({name}) {{ return }} }}\nclient {{ procs 2; ops 1 }}"
    )
}

#[test]
fn who_waits_for_ever_behind_a_condition_has_called() {
    let one = |argument: &str, body: &str| alone("L: lock, Y: 0..1", argument, body);
    deadlock_free(&one("", "await Y == 1"), false);
    deadlock_free(&one("", "local a: 0..1\nif a == 0 { await Y == 1 }"), false);
    deadlock_free(&one("v: 0..1", "if v == 0 { await Y == 1 } else { await Y == 1 }"), false);
    deadlock_free(&one("", "lock(L)"), false);
    deadlock_free(&one("v: bool", "if v { lock(L) } else { lock(L) }"), false);
    deadlock_free(&one("v: bool", "if v { lock(L); unlock(L) }"), true);
    deadlock_free(&one("", "either { await Y == 1 } or { await Y == 1 }"), false);
    // The branch is chosen when the operation is called.
    deadlock_free(&one("", "either { await Y == 0 } or { await Y == 1 }"), false);
    deadlock_free(&one("", "local i: 0..2\nwhile i < 2 { i = i + 1 }\nawait Y == 1"), false);
    deadlock_free(
        &one("", "local a: 0..1\nif a == a { await Y == 0; a = 1; await Y == 1 }"),
        false,
    );
}

#[test]
fn an_atomic_block_that_waits_has_been_called() {
    let one = |body: &str| alone("X: 0..1, Y: 0..1", "", body);
    deadlock_free(&one("local a: 0..1\natomic { a = Y; await a == 1 }"), false);
    deadlock_free(&one("atomic { X = 1; await Y == 1 }"), false);
    deadlock_free(&one("atomic { if X == 0 { await Y == 1 } }"), false);
    deadlock_free(&one("atomic { X = 1; await Y == 0 }"), true);
}

#[test]
fn who_waits_for_what_it_has_read_waits_for_ever() {
    let one = |body: &str| alone("X: 0..3, Y: 0..1", "", body);
    deadlock_free(&one("local a: 0..1\na = Y; await a == 1"), false);
    // The other one writes too late for who has read before.
    deadlock_free(&one("local a: 0..3\na = fetch_add(X, 1); a = X; await a == 2"), false);
    deadlock_free(&one("local a: 0..3\na = fetch_add(X, 1); await X == 2"), true);
    deadlock_free(&one("local a: 0..1\na = Y; a = choose(0, 1); await a == 1"), false);
    let chooses = "local a: 0..1\na = Y; await a == 0; either { await Y == 1 } or { skip }";
    deadlock_free(&one(chooses), false);
}

/// Nor is a choice taken back because a guard behind it is false, where a loop of choices goes
/// round first.
#[test]
fn what_was_chosen_stays_chosen() {
    let loops = "loop { either { skip } or { await Y == 1; return } }";
    let model = parse(&format!("object D\n{}", alone("Y: 0..1", "", loops)));
    for semantics in BOTH {
        let program = Arc::new(model.compile(semantics, false).unwrap());
        assert_eq!(holds(&program, &Property::DeadlockFree), Some(false), "{semantics:?}");
    }
}

/// A guard on what a process knows before it has seen anything says when it may call.
#[test]
fn a_guard_before_any_access_keeps_from_calling() {
    let source = "object D\nshared X: 0..2\nlocal held: bool\n\
                  op take() { await !held; X = 1; held = true }\nop give() { await held; X = 0; held = false }\n\
                  spec { take() { return }\ngive() { return } }\nclient { procs 2; ops 2 }";
    let model = parse(source);
    let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
    for property in [Property::DeadlockFree, response(0, true), response(1, true)] {
        assert_eq!(holds(&program, &property), Some(true), "{property:?}");
    }
}

#[track_caller]
fn violation(source: &str) {
    let model = parse(source);
    for semantics in BOTH {
        let program = Arc::new(model.compile(semantics, false).unwrap());
        let naive = search_naively(&model, semantics, &program, 100_000).unwrap();
        assert_eq!(naive, Naive::Violation, "{semantics:?}");
        for options in [Options::plain(), Options::default()] {
            match verify(&program, &options, &Budget::unlimited()).verdict {
                Verdict::Violation(found) => {
                    replay(&model, semantics, &program, &found).unwrap();
                }
                other => panic!("{semantics:?}: {other:?}"),
            }
        }
    }
}

/// What a process wrote is written though it waits for ever then.
#[test]
fn a_write_before_a_guard_is_seen_by_others() {
    violation(
        "object S\nshared X: 0..3\nop f() { local a: 0..3\na = fetch_add(X, 1); await a == 0 }\n\
         op g() -> 0..3 { return X }\n\
         spec { state n: 0..3\nf() { n = 1 }\ng() { return n } }\nclient { procs 3; ops 1 }",
    );
}

/// A mark at the beginning of `atomic` does not join the block with the access before it.
#[test]
fn a_block_that_begins_with_a_mark_is_a_step_of_its_own() {
    violation(
        "object S\nshared X: 0..3\nop f() { local a: 0..3\na = X; atomic { @lin; X = a + 1 } }\n\
         op g() -> 0..3 { return X @lin }\n\
         spec { state n: 0..3\nf() { n = n + 1 }\ng() { return n } }\nclient { procs 3; ops 1 }",
    );
}

/// A random model that waits here and there, on what it reads and on what it knows. Whether it
/// satisfies its specification is open.
fn waiting(seed: u64) -> String {
    let mut dice = Rng::new(seed ^ 0x0dd_ba11);
    let text = generate::model(seed);
    let often = *dice.choose(&[0.1, 0.3]);
    let (mut out, mut in_spec) = (String::new(), false);
    for line in text.lines() {
        let margin = &line[..line.len() - line.trim_start().len()];
        in_spec |= line.starts_with("spec");
        out.push_str(line);
        if !in_spec && line.contains(" = ") && !line.contains('{') && dice.chance(0.1) {
            out.push_str(" @lin");
        }
        out.push('\n');
        let opens = line.ends_with('{') && !line.trim_start().starts_with("op ");
        let inside = !margin.is_empty() && (opens || !line.contains('{'));
        if !in_spec && inside && !line.contains("return") && dice.chance(often) {
            let value = dice.below(3);
            let guard = match dice.below(6) {
                0 => format!("await x != {value}"),
                1 => format!("await y == {value}"),
                2 => format!("await r != {value}"),
                3 => format!("if r == {value} {{ await x == {} }}", dice.below(3)),
                4 => format!("either {{ await y != {value} }} or {{ skip }}"),
                _ => format!("s = choose(0, {value}); await s != {value}"),
            };
            out.push_str(&format!("{margin}{guard}\n"));
        }
    }
    out
}

#[test]
fn random_models_that_wait_agree_with_a_naive_search() {
    let (mut stuck_somewhere, mut never_stuck, mut violations) = (0, 0, 0);
    let seeds = rng::seeds(60);
    let cases = seeds.cases();
    for seed in seeds {
        let source = waiting(seed);
        let model = parse(&source);
        let semantics = BOTH[usize::from(seed % 4 == 0)];
        let program = Arc::new(model.compile(semantics, false).unwrap());
        let about = format!("seed {seed} {semantics:?}\n{source}");
        let stuck = stuck_naively(&model, semantics, &program, 3_000).unwrap();
        if let Some(stuck) = &stuck {
            let free = holds(&program, &Property::DeadlockFree);
            assert_eq!(free, Some(stuck.is_empty()), "{about}");
            // Nothing runs for ever here: who does not return is stuck.
            let late: BTreeSet<usize> = (0..2)
                .filter(|&op| holds(&program, &response(op, seed % 2 == 0)) == Some(false))
                .collect();
            assert_eq!(late, *stuck, "{about}");
            if let Some(naive) = progress_naively(&model, semantics, &program, 300).unwrap() {
                let found = holds(&program, &Property::LockFree);
                assert_eq!(found, Some(naive.lock_free), "{about}");
            }
            if stuck.is_empty() { never_stuck += 1 } else { stuck_somewhere += 1 }
        }
        let naive = search_naively(&model, semantics, &program, 2_000).unwrap();
        for options in [Options::plain(), Options::default()] {
            match (naive, verify(&program, &options, &Budget::unlimited()).verdict) {
                (Naive::Verified | Naive::TooLarge, Verdict::Holds) => {}
                (Naive::Violation | Naive::TooLarge, Verdict::Violation(found)) => {
                    replay(&model, semantics, &program, &found)
                        .unwrap_or_else(|why| panic!("{why}: {about}"));
                }
                (naive, verdict) => panic!("{naive:?} {verdict:?}: {about}"),
            }
        }
        violations += u64::from(naive == Naive::Violation);
    }
    println!("{stuck_somewhere} stuck, {never_stuck} not, {violations} violations");
    let enough = |some: u64| some * 10 + 10 >= cases;
    assert!(enough(stuck_somewhere) && enough(never_stuck) && enough(violations));
}
