//! `trueline check`: histories in, verdicts out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

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
        match check(file, &name, args, algorithm, quasi.as_ref()) {
            Ok(checked) => {
                exit = exit.max(Exit::of(&checked.outcome.verdict));
                out.show(&checked.report(&name, args), exit)?;
            }
            Err(message) => {
                exit = Exit::Error;
                complain(format_args!("{message}"));
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

/// Reads and decides; the error is a message with the file's name.
fn check(
    file: &Path,
    name: &str,
    args: &CheckArgs,
    algorithm: Algorithm,
    quasi: Option<&Quasi>,
) -> Result<Checked, String> {
    let start = Instant::now();
    let budget = args.limits.limits().budget();
    let reading = Reading::new(&args.reading, args.spec.as_deref());
    let read = read(file, name, &reading, &budget);
    let history = match read {
        Ok(history) => history,
        Err(Failure::Exhausted(why)) => {
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
            return Ok(Checked { history, spec, outcome, quasi: None, seconds });
        }
        Err(failure) => return Err(failure.message(name)),
    };
    let spec = match &args.spec {
        Some(spec) => spec.clone(),
        None => spec_of(&history).map_err(|message| format!("{name}: {message}"))?,
    };
    let say = || format!("checking, {}, {name}", count(budget.steps_spent(), "step"));
    let decided = progress::during(say, || match quasi {
        Some(quasi) => {
            let finding = spec.quasi(&history, quasi, &budget)?;
            Ok((finding.outcome.clone(), Some((quasi.clone(), finding))))
        }
        None => Ok((spec.check(&history, algorithm, &budget)?, None)),
    });
    let (outcome, quasi) = decided.map_err(|error: history::Error| format!("{name}:{error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Checked { history, spec: Some(spec), outcome, quasi, seconds })
}

/// Reads a file with a progress line.
pub(crate) fn read(
    file: &Path,
    name: &str,
    reading: &Reading,
    budget: &Budget,
) -> Result<History, Failure> {
    let seen = AtomicU64::new(0);
    let say = || format!("reading, {}, {name}", bytes(seen.load(Ordering::Relaxed)));
    progress::during(say, || input::read(file, reading, budget, &seen))
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
    fn report(&self, name: &str, args: &CheckArgs) -> String {
        let again = again(name, args);
        let show = |i: u32, with_result: bool| match &self.spec {
            Some(spec) => spec.show(&self.history, i, with_result),
            None => self.history.show(i),
        };
        let case = Case {
            file: name,
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
            if let Some(has_keys) = self.history.guessed_keys() {
                json["keys"] = if has_keys { "guessed: yes" } else { "guessed: no" }.into();
            }
            return format!("{json}\n");
        }
        let text = match quasi {
            Some((asked, finding)) => trueline_report::quasi_text(&case, asked, finding, &look),
            None => trueline_report::text(&case, &look),
        };
        let text = text.render(output::wants_color(args.drawing.color));
        match self.history.guessed_keys().map(describe_guess) {
            Some(guess) if !args.quiet => format!("{text}{guess}\n"),
            _ => text,
        }
    }
}

/// What was guessed about independent keys, and how to say otherwise.
fn describe_guess(has_keys: bool) -> &'static str {
    match has_keys {
        true => {
            "keys: guessed that each value [k v] is an independent key and a value, since all look like it; \
             --keys no if it is one value, --keys yes if the guess is right"
        }
        false => {
            "keys: guessed that no value [k v] is an independent key and a value, since not all look like it; \
             --keys yes if they are, --keys no if the guess is right"
        }
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
