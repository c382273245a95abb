//! The report on a failure: the reason, the operations in lanes, the steps with their lines, and
//! the command that runs it again.

use trueline::Verdict;
use trueline::history::Operation;
use trueline_report::{Answer, Bar, Operations, Report, Section};

use super::Operate;
use super::detail::{self, Label};
use super::guarded;
use super::outcome::{Counts, Failure, Kind, Minimised};
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
        Some(explanation) => explanation.sentence.clone(),
        None => failing.what.lines().next().unwrap_or_default().to_string(),
    }
}

/// The checker's explanation, if the checker ran.
fn explanation<O, R>(failing: &Failing<O, R>) -> Option<&trueline::verdict::Explanation> {
    match &failing.drawn.as_ref()?.outcome.as_ref()?.verdict {
        Verdict::Violation(explanation) => Some(explanation),
        _ => None,
    }
}

/// The reason, the operations in lanes, the steps, and whether there may be a smaller failure.
pub(crate) fn sections<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    failing: &Failing<O, O::Ret>,
    minimised: &Minimised,
) -> Vec<Section> {
    let more = match explanation(failing) {
        Some(_) => Vec::new(),
        None => failing.what.lines().skip(1).map(String::from).collect(),
    };
    let mut sections = vec![Section::Sentence { title: None, text: sentence(failing), more }];
    if let Some(drawn) = &failing.drawn
        && !drawn.calls.is_empty()
    {
        sections.push(Section::Operations(operations(setting, failing, drawn)));
    }
    if !failing.steps.is_empty() {
        let race = failing.race.as_ref();
        let steps = detail::steps(&failing.steps, &labels(setting, failing), race);
        sections.push(Section::Steps(steps));
    }
    sections.extend(caveat(minimised).map(Section::Note));
    sections
}

/// A sentence that says whether a smaller scenario may fail in the same way.
fn caveat(minimised: &Minimised) -> Option<String> {
    match minimised {
        Minimised::Stopped(why) => Some(format!(
            "A smaller program may fail in the same way; minimisation stopped: {why}."
        )),
        Minimised::Fully | Minimised::NotAsked => None,
    }
}

/// The report on a failure.
pub(crate) fn failure<O, R>(failure: &Failure<O, R>, counts: &Counts, again: &Again<'_>) -> Report {
    let verdict = Answer::Violation(failure.kind.to_string().into());
    let mut report = Report::new(&*failure.scenario, verdict, "");
    report.sections.clone_from(&failure.sections);
    report.caveat = caveat(&failure.minimised);
    report.sections.push(Section::dim(counts.to_string()));
    if let Some(kept) = again.kept {
        report.sections.push(Section::dim(kept));
    }
    if failure.kind == Kind::Nondeterminism {
        let hint = "To fix this, install trueline_explore::Alloc as the global allocator, and keep clocks, random numbers and hash maps \
                    with random seeds must stay out of the object.";
        report.sections.push(Section::Paragraph(hint.to_string()));
    }
    let test = again.test.unwrap_or("");
    let command = format!("{VARIABLE}='{}' cargo test {test}", again.replay);
    report.reproduce = Some(command.trim_end().to_string());
    report
}

/// The operations in lanes. If the history is not linearizable, only those that matter.
fn operations<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    failing: &Failing<O, O::Ret>,
    drawn: &Drawn<O, O::Ret>,
) -> Operations {
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
            label: guarded::show(setting.spec, &o.op, o.result.as_ref()),
            clash: clashes,
        }
    };
    let bars: Vec<Bar> = drawn.history.operations().iter().enumerate().map(bar).collect();
    let lanes = present.iter().map(|&thread| detail::name(thread)).collect();
    Operations { lanes, bars, ..Operations::default() }
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
        let show = |ret| guarded::show(setting.spec, &setting.alphabet[call], ret);
        let returned = result(number).map(|ret| show(Some(ret)));
        Some(Label { thread, call: show(None), returned })
    };
    calls.iter().enumerate().map(label).collect()
}
