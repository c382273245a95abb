//! Every claim of a sentence holds: on random violations of every specification the sentences are
//! parsed and each clause is compared with the history, by code that shares nothing with what
//! made them. A sentence that is not understood here fails. `TRUELINE_CASES` says how many
//! histories of each specification.

mod cells;
mod claims;
mod containers;
mod growing;
mod levels;
mod lists;
mod minimal;
mod owned;
mod scene;
mod streams;
mod sums;

use trueline::history::{Builder, Call, Position};
use trueline::rng::{self, Rng, Seeds};
use trueline::spec::Builtin;
use trueline::verdict::Explanation;
use trueline::{Algorithm, Budget, Check, History, Value, Verdict};

use crate::oracle::every_spec::{Visit, every_spec};
use crate::oracle::is_linearizable;
use crate::oracle::random::{Shape, random_history};
use scene::Scene;

#[derive(Default)]
struct Truth {
    /// Histories are too long for the oracle.
    long: bool,
    /// Names mean operations that are shown: others may be forgotten.
    remembered: bool,
    wrong: Vec<String>,
    violations: u64,
    /// Sentences that speak of times alone.
    general: u64,
    /// Explanations that are said to be minimal.
    minimal: u64,
    /// Explanations that count from the midst. What came before is not shown, so that what is shown
    /// stays a violation without the operation that it is counted from.
    midst: u64,
}

/// Histories of each specification. Some faults took 450 short ones to be found.
fn seeds(long: bool) -> Seeds {
    rng::seeds(if long { 100 } else { 500 })
}

impl Visit for Truth {
    fn visit<B: Builtin>(&mut self, name: &str, spec: B) {
        for seed in seeds(self.long) {
            let mut random = Rng::new(seed);
            let shape = match self.long {
                false => Shape::up_to(9, &mut random),
                true => Shape {
                    operations: 20 + random.below(40),
                    processes: 2 + random.below(4),
                    wrong: 4,
                    unknown: [0, 3][random.index(2)],
                    values: [0, 3, 20][random.index(3)],
                },
            };
            let raw = random_history(&spec, shape, &mut random);
            let history = raw.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
            let Verdict::Violation(explanation) = Check::new(spec.clone()).run(&history).verdict
            else {
                continue;
            };
            self.violations += 1;
            let told = |what: &str| {
                let shown: Vec<String> = history
                    .operations()
                    .iter()
                    .map(|o| {
                        let shown = spec.show(&o.op, o.result.as_ref());
                        format!("{}..{} {shown}", o.call, o.returned)
                    })
                    .collect();
                let (sentence, all) = (&explanation.sentence, &explanation.operations);
                format!(
                    "{name}, seed {seed}: {what}\n  {sentence}\n  {all:?}\n  {}",
                    shown.join("\n  ")
                )
            };
            if let Err(what) = self.check(name, &spec, &history, &explanation) {
                self.wrong.push(told(&what));
            }
        }
    }
}

impl Truth {
    fn check<B: Builtin>(
        &mut self,
        name: &str,
        spec: &B,
        history: &History<B::Op, Value>,
        explanation: &Explanation,
    ) -> Result<(), String> {
        // What is shown is a violation in itself.
        let without = |left_out: &[u32]| {
            let kept = explanation.operations.iter().copied().filter(|i| !left_out.contains(i));
            let kept: Vec<u32> = kept.collect();
            is_linearizable(spec, &history.select(&kept).prefix(explanation.until))
        };
        let is_short = explanation.operations.len() <= 9;
        if explanation.start.is_none() && is_short && without(&[]) {
            return Err("the operations that are shown are no violation".into());
        }
        let scene = Scene::new(name, spec, history, explanation);
        let scene = if self.remembered { scene.remembered() } else { scene };
        // A monitor leaves out what it has forgotten, and the explanation relies on that.
        if explanation.start.is_none() && explanation.until == u32::MAX && !self.remembered {
            scene.stays_a_violation()?;
        }
        let kind = scene.claims(&explanation.sentence)?;
        self.general += u64::from(kind == claims::General::Yes);
        self.minimal += u64::from(explanation.minimal);
        let counts_on = explanation.sentence.contains(": it was ");
        self.midst += u64::from(counts_on && !explanation.minimal);
        if explanation.minimal && is_short && explanation.start.is_none() {
            let looks = |i: usize| {
                let o = &history.operations()[i];
                let until = explanation.until;
                let result = o.result.as_ref().filter(|_| !o.is_pending() && o.returned < until);
                spec.observes(&o.op, result)
            };
            for group in scene.may_leave(looks) {
                let left: Vec<u32> = group.iter().map(|&i| i as u32).collect();
                if !without(&left) {
                    return Err(format!("{left:?} could be left out"));
                }
            }
        }
        Ok(())
    }
}

fn check_all(long: bool) {
    let mut truth = Truth { long, ..Truth::default() };
    every_spec(&mut truth);
    let Truth { violations, general, minimal, midst, .. } = truth;
    println!(
        "{violations} violations, {general} told by times alone, {minimal} minimal, {midst} from the midst"
    );
    // One of each specification.
    let mut some: Vec<&str> = truth.wrong.iter().map(String::as_str).collect();
    some.dedup_by_key(|text| text.split(", seed").next());
    assert!(truth.wrong.is_empty(), "{} are wrong:\n{}", truth.wrong.len(), some.join("\n\n"));
    assert!(truth.violations > seeds(long).cases());
    // Most use the terms of their kind.
    assert!(general * 2 < violations, "{general} of {violations}");
    // Of long histories some show calls after the first bad return, and are not said to be minimal.
    let share = if long { 75 } else { 80 };
    assert!(minimal * 100 > (violations - midst) * share, "{minimal} of {violations} - {midst}");
}

#[test]
fn every_claim_of_a_sentence_is_true() {
    check_all(false);
}

/// Where much is left out: counts over many operations, values that come and go.
#[test]
fn every_claim_about_a_longer_history_is_true() {
    check_all(true);
}

/// A counter whose increments tell totals has two meanings, and a sentence for each: every
/// operation that either of them names is one of those that are shown, and no other one that is
/// shown has that name.
#[test]
fn two_meanings_name_each_operation_so_that_one_is_meant() {
    let named = trueline::spec::named("counter").unwrap();
    let (mut violations, mut with_twins) = (0, 0);
    for seed in rng::seeds(2_000) {
        let mut random = Rng::new(seed ^ 0x2e);
        let history = counted(&mut random);
        let outcome = named.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
        let Verdict::Violation(explanation) = outcome.verdict else { continue };
        violations += 1;
        let shown: Vec<String> = explanation
            .operations
            .iter()
            .map(|&i| {
                let shown = named.show(&history, i, true);
                shown.strip_suffix(" -> ?").map_or(shown.clone(), String::from)
            })
            .collect();
        let alike = |text: &str| shown.iter().filter(|other| *other == text).count();
        with_twins += u64::from(shown.iter().any(|text| alike(text) > 1));
        let pieces: Vec<&str> = explanation.sentence.split('`').collect();
        for (name, behind) in pieces.iter().zip(&pieces[1..]).skip(1).step_by(2) {
            let is_told_apart = [" of process ", " in line ", " in column ", " (number "]
                .iter()
                .any(|by| behind.starts_with(by));
            assert!(
                is_told_apart || alike(name) <= 1,
                "seed {seed}: which {name}? {}\n{shown:?}",
                explanation.sentence
            );
        }
    }
    let cases = rng::seeds(2_000).cases();
    assert!(violations * 2 > cases && with_twins * 20 > cases, "{violations} {with_twins}");
}

/// Increments, decrements and reads with results of which some are totals.
fn counted(random: &mut Rng) -> History {
    let mut builder = Builder::new();
    let part = builder.part(Default::default());
    let mut open = vec![false; 2 + random.index(2)];
    for line in 1..5 + random.index(10) as u32 {
        let at = Position { line, column: 1 };
        let p = random.index(open.len());
        let process = builder.process(&Value::Int(p as i64));
        if std::mem::replace(&mut open[p], false) {
            let result = match random.below(3) {
                0 => Value::Nil,
                _ => Value::Int(random.below(3) as i64),
            };
            builder.returns(process, result, at).unwrap();
        } else {
            let method = builder.method(["inc", "inc", "dec", "read"][random.index(4)]);
            builder.call(process, part, Call { method, args: vec![].into() }, at).unwrap();
            open[p] = true;
        }
    }
    builder.finish()
}
