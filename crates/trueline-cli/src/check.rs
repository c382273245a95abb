//! `trueline check`: histories in, verdicts out.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use trueline::budget::Exhausted;
use trueline::quasi::{Finding, Quasi};
use trueline::spec::{self, Named};
use trueline::verdict::{Reason, Unknown};
use trueline::{Algorithm, Budget, History, Outcome, Verdict, history};
use trueline_report::{Case, Section, bytes, count};

use crate::again::{self, Again};
use crate::args::{CheckArgs, Keys, ensure_distinct};
use crate::exit::Exit;
use crate::guard;
use crate::input::{self, Failure, Reading};
use crate::output::{self, Output};
use crate::pages::Pages;
use crate::progress;

pub(crate) fn run(args: &'static CheckArgs) -> anyhow::Result<Exit> {
    ensure_distinct(&args.reading.rename)?;
    let algorithm = args.deciding.algorithm()?;
    let quasi = args.quasi.question(algorithm)?;
    let mut out = Output::new();
    let mut exit = Exit::Holds;
    let mut last = None;
    let pages = Pages::new(args.output.html.as_deref(), args.files.len() > 1);
    let pages = Arc::new(Mutex::new(pages));
    for file in &args.files {
        // The memory of the last file must not count for this one.
        drop(last.take());
        guard::await_given_up();
        let (quasi, pages) = (quasi.clone(), Arc::clone(&pages));
        let question = Question { file, args, algorithm, quasi, pages };
        let (answers, checked) = question.answer_within_limits();
        for answer in answers {
            exit = exit.max(answer.exit);
            match answer.text {
                Ok(report) => out.show(&report, exit)?,
                Err(message) => {
                    out.refuse(&file.display().to_string(), &message, args.json, exit)?;
                }
            }
        }
        last = checked;
    }
    // The process ends now, and the system frees its memory sooner than we could.
    std::mem::forget(last);
    Ok(exit)
}

/// A question about a file.
struct Question {
    file: &'static Path,
    args: &'static CheckArgs,
    algorithm: Algorithm,
    quasi: Option<Quasi>,
    pages: Arc<Mutex<Pages>>,
}

/// The result for one history: a report, or an error message.
struct Answer {
    exit: Exit,
    text: Result<String, String>,
}

/// The progress that is reported if a limit is reached while the file is read.
const UNREAD: &str = "the file was not read to its end";

/// The answers so far for a file.
#[derive(Default)]
struct Answers {
    answers: Vec<Answer>,
    /// How many histories the file has, once it is read.
    histories: Option<usize>,
}

/// A history that was checked.
struct Checked {
    history: History,
    /// `None` if the file was not read to its end and `--spec` is not given.
    spec: Option<Arc<Named>>,
    outcome: Outcome,
    /// The question about quasi linearizability and its answer, if it was asked.
    quasi: Option<(Quasi, Finding)>,
    seconds: f64,
}

impl Question {
    /// Answers for all histories of the file, within limits that cover the whole file. The checked
    /// histories are returned as well, so that the caller decides when their memory is freed.
    fn answer_within_limits(self) -> (Vec<Answer>, Option<Vec<Checked>>) {
        let start = Instant::now();
        let budget = Arc::new(self.args.limits.limits().budget());
        let (args, algorithm, name) = (self.args, self.algorithm, self.name());
        let pages = Arc::clone(&self.pages);
        let known = Arc::new(Mutex::new(Answers::default()));
        let theirs = Arc::clone(&known);
        let done =
            guard::within(&budget, || false, move |budget| self.answer(budget, start, &theirs));
        let mut known = std::mem::take(&mut *lock(&known));
        if let Err(why) = done
            && known.histories.is_none_or(|histories| known.answers.len() < histories)
        {
            progress::clear();
            let progress = match known.histories {
                None => UNREAD.to_owned(),
                Some(_) => {
                    let steps = count(budget.steps_spent(), "step");
                    format!("{steps}; the search was abandoned")
                }
            };
            let index = known.index(known.answers.len() + 1);
            let unknown = Checked::exhausted(why, progress, args, algorithm, start);
            known.answers.push(unknown.answer(&name, index, args, &pages));
        }
        (known.answers, done.ok())
    }

    fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// Reads and decides, and adds each answer as soon as it is known.
    fn answer(&self, budget: &Budget, start: Instant, known: &Mutex<Answers>) -> Vec<Checked> {
        let (args, algorithm, name) = (self.args, self.algorithm, self.name());
        let add = |answer: Answer| lock(known).answers.push(answer);
        let complaint = |message: String| Answer { exit: Exit::Error, text: Err(message) };
        let reading = Reading::new(&args.reading, args.spec.as_deref());
        let histories = match read_all(self.file, &name, &reading, budget) {
            Ok(histories) => histories,
            Err(Failure::Exhausted(why)) => {
                let unread = Checked::exhausted(why, UNREAD.into(), args, algorithm, start);
                add(unread.answer(&name, None, args, &self.pages));
                return Vec::new();
            }
            Err(failure) => {
                add(complaint(failure.message(&name)));
                return Vec::new();
            }
        };
        lock(known).histories = Some(histories.len());
        if histories.len() > 1 {
            lock(&self.pages).expect_several();
        }
        let mut all = Vec::new();
        for (number, history) in (1..).zip(histories) {
            let start = if number == 1 { start } else { Instant::now() };
            let index = lock(known).index(number);
            match check(history, &name, args, algorithm, self.quasi.as_ref(), budget, start) {
                Ok(checked) => {
                    add(checked.answer(&name, index, args, &self.pages));
                    all.push(checked);
                }
                Err(message) => {
                    let of = index.map(|n| format!("history {n} of ")).unwrap_or_default();
                    add(complaint(format!("{of}{message}")));
                }
            }
        }
        all
    }
}

impl Answers {
    /// The number of a history, if the file has several.
    fn index(&self, number: usize) -> Option<usize> {
        self.histories.filter(|&histories| histories > 1).map(|_| number)
    }
}

/// A worker that panicked leaves the answers that it had added, so poison is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Decides a history; an error carries the file's name.
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
    with_progress(name, |seen| input::read(file, reading, budget, seen))
}

/// Reads all histories of a file with a progress line.
fn read_all(
    file: &Path,
    name: &str,
    reading: &Reading,
    budget: &Budget,
) -> Result<Vec<History>, Failure> {
    with_progress(name, |seen| input::read_all(file, reading, budget, seen))
}

/// Reads with a progress line.
fn with_progress<T>(name: &str, read: impl FnOnce(&AtomicU64) -> T) -> T {
    let seen = AtomicU64::new(0);
    let say = || format!("reading, {}, {name}", bytes(seen.load(Ordering::Relaxed)));
    progress::during(say, || read(&seen))
}

/// The specification that the file names. If it names none, the error lists those that would fit.
fn spec_of(history: &History) -> Result<Arc<Named>, String> {
    if let Some(text) = history.spec() {
        let named = spec::named(text)
            .map_err(|e| format!("the specification that the file names is invalid: {e}"))?;
        return Ok(Arc::new(named));
    }
    let fits = |name: &str| spec::named(name).is_ok_and(|spec| spec.fits(history).is_ok());
    let fitting: Vec<&str> = spec::all().iter().map(|info| info.name).filter(|n| fits(n)).collect();
    let hint = if fitting.is_empty() {
        let methods = history.methods().join(", ");
        format!("no built-in specification has its methods ({methods}); see --rename")
    } else {
        format!("its methods fit {}", fitting.join(", "))
    };
    Err(format!(
        "the file names no specification: expected --spec NAME; {hint}; 'trueline specs' lists all"
    ))
}

impl Checked {
    /// The result if a limit was reached and nothing is known of the history.
    fn exhausted(
        why: Exhausted,
        progress: String,
        args: &CheckArgs,
        algorithm: Algorithm,
        start: Instant,
    ) -> Checked {
        let verdict = Verdict::Unknown(Unknown { reason: Reason::Exhausted(why), progress });
        let outcome = Outcome {
            verdict,
            algorithm: algorithm.name(),
            because: String::new(),
            partitions: 0,
            states: 0,
        };
        let spec = args.spec.clone();
        let history = history::Builder::new().finish();
        Checked { history, spec, outcome, quasi: None, seconds: start.elapsed().as_secs_f64() }
    }

    /// `index` is the number of the history among several of the file, from 1.
    fn answer(
        &self,
        name: &str,
        index: Option<usize>,
        args: &CheckArgs,
        pages: &Mutex<Pages>,
    ) -> Answer {
        let text = self.report(name, index, args, pages);
        let exit = if text.is_ok() { Exit::of(&self.outcome.verdict) } else { Exit::Error };
        Answer { exit, text }
    }

    /// `index` is the number of the history among several of the file, from 1.
    fn report(
        &self,
        name: &str,
        index: Option<usize>,
        args: &CheckArgs,
        pages: &Mutex<Pages>,
    ) -> Result<String, String> {
        let again = again(name, args);
        let show = |i: u32, with_result: bool| match &self.spec {
            Some(spec) => spec.show(&self.history, i, with_result),
            None => self.history.show(i),
        };
        // People see the number of the history behind the file's name; programs have a field for
        // it.
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
        let mut report = match &self.quasi {
            Some((asked, finding)) => case.quasi_report(asked, finding),
            None => case.report(),
        };
        if let Some(index) = index {
            report.field("index", index);
        }
        if lock(pages).wanted() {
            // The specification alone does not describe which orders are quasi linearizable.
            let strict = self.spec.as_deref().filter(|_| self.quasi.is_none());
            let mut timeline = case.timeline(strict);
            if let Some((_, finding)) = &self.quasi {
                timeline.moved = case.moved_view(finding, &timeline.index);
            }
            report.timeline = Some(timeline);
        }
        if let Some(has_keys) = self.history.guessed_keys() {
            report.field("keys", name_guess(has_keys));
            report.sections.push(Section::Paragraph(describe_guess(has_keys).into()));
        }
        lock(pages).add(&mut report)?;
        Ok(output::render(&report, args.json, &args.output))
    }
}

/// The guess about independent keys, for programs.
pub(crate) fn name_guess(has_keys: bool) -> &'static str {
    if has_keys { "guessed: yes" } else { "guessed: no" }
}

/// The guess about independent keys, and the flag that overrides it.
pub(crate) fn describe_guess(has_keys: bool) -> &'static str {
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
