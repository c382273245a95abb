//! `trueline check`: histories in, verdicts out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trueline::budget::Exhausted;
use trueline::quasi::{Finding, Quasi};
use trueline::spec::{self, Named};
use trueline::verdict::{Reason, Unknown};
use trueline::{Algorithm, Budget, History, Outcome, Verdict, history};
use trueline_report::{Case, Look, bytes, count};

use crate::again::{self, Again};
use crate::args::{CheckArgs, Keys, ensure_distinct};
use crate::exit::Exit;
use crate::input::{self, Failure, Reading};
use crate::output::{self, Output, complain};
use crate::progress;

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    ensure_distinct(&args.reading.rename)?;
    let algorithm = args.deciding.algorithm()?;
    let quasi = args.quasi.question(algorithm)?;
    let mut out = Output::new();
    let mut exit = Exit::Holds;
    for file in &args.files {
        let name = file.display().to_string();
        let budget = args.limits.limits().budget();
        let start = Instant::now();
        let histories = match read_all(file, &name, &Reading::from(&args.reading), &budget) {
            Ok(histories) => histories,
            Err(Failure::Exhausted(why)) => {
                let checked = Checked::unread(why, algorithm, args, start);
                exit = exit.max(Exit::of(&checked.outcome.verdict));
                out.show(&checked.report(&name, None, args), exit)?;
                continue;
            }
            Err(failure) => {
                exit = Exit::Error;
                complain(format_args!("{}", failure.message(&name)));
                continue;
            }
        };
        // One limit covers the whole file; each history has a verdict of its own.
        let several = histories.len() > 1;
        for (number, history) in (1..).zip(histories) {
            let start = if number == 1 { start } else { Instant::now() };
            let index = several.then_some(number);
            match check(history, &name, args, algorithm, quasi.as_ref(), &budget, start) {
                Ok(checked) => {
                    exit = exit.max(Exit::of(&checked.outcome.verdict));
                    out.show(&checked.report(&name, index, args), exit)?;
                }
                Err(message) => {
                    exit = Exit::Error;
                    let of = index.map(|n| format!("history {n} of ")).unwrap_or_default();
                    complain(format_args!("{of}{message}"));
                }
            }
        }
    }
    Ok(exit)
}

/// A file that was checked.
struct Checked {
    history: History,
    /// None where the file was not read to its end and `--spec` names none.
    spec: Option<Arc<Named>>,
    outcome: Outcome,
    /// What was asked and found out about places, where that was asked.
    quasi: Option<(Quasi, Finding)>,
    seconds: f64,
}

/// Decides a history; the error is a message with the file's name.
fn check(
    history: History,
    name: &str,
    args: &CheckArgs,
    algorithm: Algorithm,
    quasi: Option<&Quasi>,
    budget: &Budget,
    start: Instant,
) -> Result<Checked, String> {
    let spec = match &args.spec {
        Some(spec) => spec.clone(),
        None => spec_of(&history).map_err(|message| format!("{name}: {message}"))?,
    };
    let say = || format!("checking, {}, {name}", count(budget.steps_spent(), "step"));
    let decided = progress::during(say, || match quasi {
        Some(quasi) => {
            let finding = spec.quasi(&history, quasi, budget)?;
            Ok((finding.outcome.clone(), Some((quasi.clone(), finding))))
        }
        None => Ok((spec.check(&history, algorithm, budget)?, None)),
    });
    let (outcome, quasi) = decided.map_err(|error: history::Error| format!("{name}:{error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Checked { history, spec: Some(spec), outcome, quasi, seconds })
}

/// Reads a file of one history with a progress line.
pub(crate) fn read(
    file: &Path,
    name: &str,
    reading: &Reading,
    budget: &Budget,
) -> Result<History, Failure> {
    while_told(name, |seen| input::read(file, reading, budget, seen))
}

/// Reads all histories of a file with a progress line.
fn read_all(
    file: &Path,
    name: &str,
    reading: &Reading,
    budget: &Budget,
) -> Result<Vec<History>, Failure> {
    while_told(name, |seen| input::read_all(file, reading, budget, seen))
}

/// Reads with a progress line.
fn while_told<T>(name: &str, read: impl FnOnce(&AtomicU64) -> T) -> T {
    let seen = AtomicU64::new(0);
    let say = || format!("reading, {}, {name}", bytes(seen.load(Ordering::Relaxed)));
    progress::during(say, || read(&seen))
}

/// The specification that the file names. Where it names none, the error tells which would fit.
fn spec_of(history: &History) -> Result<Arc<Named>, String> {
    if let Some(text) = history.spec() {
        let named =
            spec::named(text).map_err(|e| format!("the file asks for a specification: {e}"))?;
        return Ok(Arc::new(named));
    }
    let fits = |name: &str| spec::named(name).is_ok_and(|spec| spec.fits(history).is_ok());
    let fitting: Vec<&str> = spec::all().iter().map(|info| info.name).filter(|n| fits(n)).collect();
    let hint = if fitting.is_empty() {
        let methods = history.methods().join(", ");
        format!("none that is built in fits its methods ({methods}) as they are, see --rename")
    } else {
        format!("its methods fit {}", fitting.join(", "))
    };
    Err(format!(
        "the file names no specification: expected --spec NAME; {hint}; 'trueline specs' lists all"
    ))
}

impl Checked {
    /// A file that was not read to its end.
    fn unread(why: Exhausted, algorithm: Algorithm, args: &CheckArgs, start: Instant) -> Checked {
        let progress = "the file was not read to its end".into();
        let reason = Reason::Exhausted(why);
        let verdict = Verdict::Unknown(Unknown { reason, progress });
        let outcome = Outcome {
            verdict,
            algorithm: algorithm.name(),
            because: String::new(),
            partitions: 0,
            states: 0,
        };
        let spec = args.spec.clone();
        let history = history::Builder::new().finish();
        let seconds = start.elapsed().as_secs_f64();
        Checked { history, spec, outcome, quasi: None, seconds }
    }

    /// `index` is the number of the history among several of the file, from 1.
    fn report(&self, name: &str, index: Option<usize>, args: &CheckArgs) -> String {
        let again = again(name, args);
        let show = |i: u32, with_result: bool| match &self.spec {
            Some(spec) => spec.show(&self.history, i, with_result),
            None => self.history.show(i),
        };
        // People see which history it is in the place of the file; programs have a field of its own.
        let titled = index.map(|n| format!("{name}, history {n}"));
        let title = titled.as_deref().filter(|_| !args.json).unwrap_or(name);
        let case = Case {
            file: title,
            history: &self.history,
            spec: self.spec.as_ref().map_or("", |spec| spec.text()),
            show: &show,
            outcome: &self.outcome,
            seconds: self.seconds,
            again: &again,
            witness: args.witness,
        };
        let look = Look {
            width: output::width(args.width.map(usize::from)),
            ascii: output::wants_ascii(args.drawing.ascii),
            quiet: args.quiet,
        };
        let quasi = self.quasi.as_ref();
        if args.json {
            let mut json = match quasi {
                Some((asked, finding)) => trueline_report::quasi_json(&case, asked, finding),
                None => trueline_report::json(&case),
            };
            if let Some(index) = index {
                json["index"] = index.into();
            }
            return format!("{json}\n");
        }
        let text = match quasi {
            Some((asked, finding)) => trueline_report::quasi_text(&case, asked, finding, &look),
            None => trueline_report::text(&case, &look),
        };
        text.render(output::wants_color(args.drawing.color))
    }
}

/// The command that checks this file again in the same way.
fn again(name: &str, args: &CheckArgs) -> String {
    let reading = &args.reading;
    let renames: Vec<String> =
        reading.rename.iter().map(|r| format!("{}={}", r.from, r.to)).collect();
    let other = |flag: &str, default: &str| (flag != default).then(|| flag.to_string());
    let again = Again::new("check")
        .maybe("spec", args.spec.as_ref().map(|spec| spec.text()))
        .maybe("format", reading.format.map(|format| format.name()))
        .maybe("keys", other(reading.keys.name(), Keys::Auto.name()))
        .maybe("rename", (!renames.is_empty()).then(|| renames.join(",")));
    args.quasi
        .again(args.deciding.again(again))
        .maybe("timeout", args.limits.timeout.map(again::time))
        .maybe("memory", args.limits.memory.map(|bytes| bytes.to_string()))
        .file(name)
}
