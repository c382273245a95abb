//! What a monitor of a stream claims of a violation, compared with the whole stream: a monitor
//! forgets, so that what it shows may lack what came before. The operations that it shows are
//! looked up in the whole history, and every claim is made there.
//!
//! - `rechecked`: the operations that are shown fit no order by themselves;
//! - `minimal`: none of those that may leave can be left out;
//! - a sentence without 'after what came before' is true of the whole history, clause by clause;
//! - one with it is true of some violation: the history up to there fits no order.
//!
//! Some streams begin with hundreds of operations on the values that are used later, so that
//! something is forgotten.

use trueline::history::{Builder, Call, Position};
use trueline::rng::{self, Rng};
use trueline::spec::Builtin;
use trueline::stream::{Event, Monitor, Stopped};
use trueline::verdict::Explanation;
use trueline::{History, Value};

use super::Truth;
use super::scene::Scene;
use crate::oracle::every_spec::{Visit, every_spec};
use crate::oracle::is_linearizable;
use crate::oracle::random::{Shape, random_history};

/// What is said where it is not claimed that what is shown excludes every order.
const FORGOTTEN: [&str; 6] = [
    "took a value that was not inside: never put in, or taken long ago",
    "found a value that was certainly overwritten",
    "found a value that was not there: never written, or overwritten long ago",
    "some of which are no longer in memory",
    "Operations contradict each other that are no longer in memory",
    "after what came before",
];
/// Histories of more operations are too long for brute force.
const MOST: usize = 14;

#[derive(Default)]
struct Streams {
    wrong: Vec<String>,
    violations: u64,
    rechecked: u64,
    minimal: u64,
    forgotten: u64,
}

/// Turns that leave the object as it was, before a history: so many that a monitor forgets.
fn with_turns(history: &History, turns: usize, pair: [(&str, Value); 2], open: bool) -> History {
    let mut builder = Builder::new();
    let part = builder.part(Default::default());
    let at = |line: &mut u32| {
        *line += 1;
        Position { line: *line, column: 1 }
    };
    let mut line = 0;
    let before = builder.process(&Value::text("before"));
    let looker = builder.process(&Value::text("looker"));
    let value = || vec![Value::Int(1)];
    if open {
        // It is open all the time, so that the turns cannot be forgotten as a whole.
        let method = builder.method("contains");
        let call = Call { method, args: value().into() };
        builder.call(looker, part, call, at(&mut line)).unwrap();
    }
    for turn in 0..2 * turns {
        let (method, result) = &pair[turn % 2];
        let call = Call { method: builder.method(method), args: value().into() };
        builder.call(before, part, call, at(&mut line)).unwrap();
        builder.returns(before, result.clone(), at(&mut line)).unwrap();
    }
    let mut events: Vec<(u32, usize, bool)> = Vec::new();
    for (i, o) in history.operations().iter().enumerate() {
        events.push((o.call, i, true));
        if !o.is_pending() {
            events.push((o.returned, i, false));
        }
    }
    events.sort_unstable();
    for (_, i, is_call) in events {
        let o = &history.operations()[i];
        let process = builder.process(&history.processes()[o.process as usize]);
        if is_call {
            let method = builder.method(&history.methods()[o.op.method as usize]);
            let call = Call { method, args: o.op.args.clone() };
            // A process that never returned calls no more.
            if builder.call(process, part, call, at(&mut line)).is_err() {
                break;
            }
        } else {
            builder.returns(process, o.result.clone().unwrap_or_default(), at(&mut line)).unwrap();
        }
    }
    builder.finish()
}

impl Visit for Streams {
    fn visit<B: Builtin>(&mut self, name: &str, spec: B) {
        if Monitor::new(spec.clone()).is_err() {
            return;
        }
        for seed in rng::seeds(500) {
            let mut random = Rng::new(seed ^ 0x57ea);
            let shape = Shape { values: [2, 3][random.index(2)], ..Shape::up_to(8, &mut random) };
            let raw = random_history(&spec, shape, &mut random);
            let (one, two) = (("add", Value::Bool(true)), ("remove", Value::Bool(true)));
            let (turns, pair) = match name {
                "set" => ([0, 3, 600][random.index(3)], [one, two]),
                "set:init=[0 1]" => ([0, 3, 600][random.index(3)], [two, one]),
                _ => (0, [one, two]),
            };
            let raw = with_turns(&raw, turns, pair, turns > 0 && random.percent(50));
            let history = raw.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
            let Some((seen, found)) = watch(&spec, &history) else { continue };
            self.violations += 1;
            if let Err(what) = self.check(name, &spec, &seen, &found) {
                let all: Vec<String> = seen
                    .operations()
                    .iter()
                    .rev()
                    .take(12)
                    .map(|o| spec.show(&o.op, o.result.as_ref()))
                    .collect();
                let (sentence, shown) = (&found.sentence, &found.operations);
                self.wrong.push(format!(
                    "{name}, seed {seed}: {what}\n  {sentence}\n  {shown:?} of {all:?}"
                ));
            }
        }
    }
}

impl Streams {
    fn check<B: Builtin>(
        &mut self,
        name: &str,
        spec: &B,
        seen: &History<B::Op, Value>,
        found: &Explanation,
    ) -> Result<(), String> {
        let shown = seen.select(&found.operations);
        let is_short = found.operations.len() <= MOST;
        self.rechecked += u64::from(found.rechecked);
        self.minimal += u64::from(found.minimal);
        if found.rechecked && is_short && found.start.is_none() && is_linearizable(spec, &shown) {
            return Err("what is shown has an order, but was confirmed".into());
        }
        // Of a container that held something initially, nothing is claimed but that it is a
        // violation.
        let claims_nothing = !found.minimal && !found.rechecked;
        if claims_nothing || FORGOTTEN.iter().any(|words| found.sentence.contains(words)) {
            self.forgotten += 1;
            if seen.len() <= MOST && is_linearizable(spec, seen) {
                return Err("what came before does not exclude it".into());
            }
            if found.sentence.contains("no longer in memory") && !claims_nothing {
                return Err("something is claimed of what was forgotten".into());
            }
            let scene = Scene::new(name, spec, seen, found).remembered();
            return scene.resolved(&found.sentence).map(drop);
        }
        Truth { remembered: true, ..Truth::default() }.check(name, spec, seen, found)
    }
}

/// The history up to the violation that a monitor found, and what it says of it.
fn watch<B: Builtin>(
    spec: &B,
    history: &History<B::Op, Value>,
) -> Option<(History<B::Op, Value>, Explanation)> {
    let mut monitor = Monitor::new(spec.clone()).ok()?;
    let all = history.operations();
    let mut events: Vec<(u32, usize, bool)> = Vec::new();
    for (i, o) in all.iter().enumerate() {
        events.push((o.call, i, true));
        if !o.is_pending() {
            events.push((o.returned, i, false));
        }
    }
    events.sort_unstable();
    let processes: Vec<u32> =
        history.processes().iter().map(|name| monitor.process(name.clone())).collect();
    let object = monitor.object(Default::default()).ok()?;
    let mut stopped = None;
    for &(rank, i, is_call) in &events {
        let o = &all[i];
        let event = match (is_call, &o.result) {
            (true, _) => Event::Call(object, o.op.clone()),
            (false, result) => Event::Return(result.clone()?),
        };
        // Its call's line tells which operation it is.
        let at = Position { line: o.line, column: 1 };
        if let Err(why) = monitor.event(processes[o.process as usize], event, at) {
            stopped = Some((rank + 1, why));
            break;
        }
    }
    let (until, why) = match stopped {
        Some(stopped) => stopped,
        None => (u32::MAX, monitor.finish().err()?),
    };
    let Stopped::Violation(violation) = why else { return None };
    let trueline::Verdict::Violation(mut found) = violation.outcome.verdict else { return None };
    let shown = violation.history.operations();
    for index in found.operations.iter_mut().chain(&mut found.clash) {
        let line = shown[*index as usize].line;
        *index = all.iter().position(|o| o.line == line)? as u32;
    }
    found.operations.sort_unstable();
    found.fine_until = None;
    Some((history.prefix(until), found))
}

#[test]
fn every_claim_of_a_monitor_is_true_of_the_whole_stream() {
    let mut streams = Streams::default();
    every_spec(&mut streams);
    let Streams { wrong, violations, rechecked, minimal, forgotten } = &streams;
    println!(
        "{violations} violations, {rechecked} rechecked, {minimal} minimal, {forgotten} forgotten"
    );
    // One of each specification and each kind.
    let mut some: Vec<&str> = wrong.iter().map(String::as_str).collect();
    let kind = |text: &str| {
        let (name, rest) = text.split_once(", seed").unwrap_or((text, ""));
        let what = rest.lines().next().and_then(|line| line.split_once(": "));
        (name.to_string(), what.map_or(String::new(), |(_, what)| what.to_string()))
    };
    some.sort_by_key(|text| kind(text));
    some.dedup_by_key(|text| kind(text));
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), some.join("\n"));
    // Most histories are not decided: their values repeat.
    let cases = rng::seeds(500).cases();
    assert!(
        *violations * 2 > cases && rechecked * 4 > cases && minimal * 4 > cases,
        "{violations} {rechecked} {minimal}"
    );
    assert!(forgotten * 20 > cases, "{forgotten}");
}
