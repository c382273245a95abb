//! The report on a failure: what is wrong, the operations in lanes, the steps with their lines, and how to run it again.

use trueline::Verdict;
use trueline::history::Operation;
use trueline_report::{Bar, Document, Line, Look, Role, clean, lanes, unbroken, wrap};

use super::Operate;
use super::detail::{self, Label, WIDTH};
use super::guarded;
use super::outcome::{Counts, Kind, Minimised};
use super::replay::{Replay, VARIABLE};
use super::setting::{Drawn, Failing, Setting};

/// How to run a failure again.
pub(crate) struct Again<'a> {
    pub(crate) replay: &'a Replay,
    pub(crate) test: Option<&'a str>,
    pub(crate) kept: Option<&'a str>,
}

/// Why, in one sentence.
pub(crate) fn sentence<O, R>(failing: &Failing<O, R>) -> String {
    match explanation(failing) {
        // Threads are the processes of the history.
        Some(explanation) => explanation.sentence.replace("` of process ", "` of thread "),
        None => failing.what.lines().next().unwrap_or_default().to_string(),
    }
}

/// What the checker says, where it was asked.
fn explanation<O, R>(failing: &Failing<O, R>) -> Option<&trueline::verdict::Explanation> {
    match &failing.drawn.as_ref()?.outcome.as_ref()?.verdict {
        Verdict::Violation(explanation) => Some(explanation),
        _ => None,
    }
}

/// The report on a failure.
pub(crate) fn failure<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    failing: &Failing<O, O::Ret>,
    counts: &Counts,
    minimised: &Minimised,
    again: &Again<'_>,
) -> String {
    let mut document = Document::default();
    let mut first = Line::of(Role::Bad, failing.kind.to_string());
    first.push(Role::Plain, clean(&format!(": {}", failing.scenario.show(setting.alphabet))));
    document.push(first);
    document.gap();
    paragraph(&mut document, Role::Strong, &sentence(failing));
    if explanation(failing).is_none() {
        for line in failing.what.lines().skip(1) {
            paragraph(&mut document, Role::Plain, line.trim());
        }
    }
    if let Some(drawn) = &failing.drawn
        && !drawn.calls.is_empty()
    {
        document.gap();
        document.extend(operations(setting, failing, drawn));
    }
    if !failing.steps.is_empty() {
        document.gap();
        document.extend(detail::trace(&failing.steps, &labels(setting, failing)));
    }
    document.gap();
    if let Minimised::Stopped(why) = minimised {
        let text = format!("There may be a smaller program that fails so: {why}.");
        paragraph(&mut document, Role::Plain, &text);
        document.gap();
    }
    document.push(Line::of(Role::Dim, format!("  {counts}")));
    if let Some(kept) = again.kept {
        document.push(Line::of(Role::Dim, format!("  {kept}")));
    }
    let test = again.test.unwrap_or("");
    let line = format!("  again: {VARIABLE}='{}' cargo test {test}", again.replay);
    document.push(Line::of(Role::Dim, line.trim_end().to_string()));
    if failing.kind == Kind::Nondeterminism {
        let hint = "Objects on the heap need the allocator of trueline-explore; clocks, random numbers and hash maps \
                    with random seeds must stay out of the object.";
        paragraph(&mut document, Role::Plain, hint);
    }
    document.render(false)
}

fn paragraph(document: &mut Document, role: Role, text: &str) {
    for line in wrap(&unbroken(&clean(text)), WIDTH - 2) {
        document.push(Line::of(role, format!("  {line}")));
    }
}

/// The operations in lanes. Of a history that is not linearizable, those that matter.
fn operations<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    failing: &Failing<O, O::Ret>,
    drawn: &Drawn<O, O::Ret>,
) -> Document {
    let threads = failing.scenario.calls();
    let thread = |number: usize| threads[number].0;
    let mut present: Vec<usize> = drawn.calls.iter().map(|&number| thread(number)).collect();
    present.sort_unstable();
    present.dedup();
    let clash = explanation(failing).map(|explanation| &explanation.clash);
    let bar = |(i, o): (usize, &Operation<O, O::Ret>)| {
        let raw = &drawn.raw.operations()[i];
        let number = drawn.calls[super::histories::place(&raw.op)];
        let clashes = match clash {
            Some(clash) => clash.contains(&(i as u32)),
            None => failing.culprits.contains(&number),
        };
        Bar {
            lane: present.iter().position(|&t| t == thread(number)).unwrap_or(0),
            call: o.call,
            end: (!o.is_pending()).then_some(o.returned),
            label: clean(&guarded::show(setting.spec, &o.op, o.result.as_ref())),
            clash: clashes,
        }
    };
    let bars: Vec<Bar> = drawn.history.operations().iter().enumerate().map(bar).collect();
    let names: Vec<String> = present.iter().map(|&thread| detail::name(thread)).collect();
    lanes(&bars, &names, &Look { width: WIDTH, ..Look::default() })
}

/// The operations by their numbers.
fn labels<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    failing: &Failing<O, O::Ret>,
) -> Vec<Option<Label>> {
    let calls = failing.scenario.calls();
    let result = |number: usize| {
        let drawn = failing.drawn.as_ref()?;
        let found = drawn.history.operations().iter().zip(drawn.raw.operations());
        let mut found =
            found.filter(|(_, raw)| drawn.calls[super::histories::place(&raw.op)] == number);
        found.next()?.0.result.as_ref()
    };
    let label = |(number, &(thread, call)): (usize, &(usize, usize))| {
        let show = |ret| clean(&guarded::show(setting.spec, &setting.alphabet[call], ret));
        let returned = result(number).map(|ret| show(Some(ret)));
        Some(Label { thread, call: show(None), returned })
    };
    calls.iter().enumerate().map(label).collect()
}
