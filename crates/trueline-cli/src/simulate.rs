//! `trueline simulate`: runs objects of this project and decides their histories.

use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use serde_json::json;

use trueline::Budget;
use trueline::budget::Exhausted;
use trueline::quasi::{End, Factor, Quasi};
use trueline::spec::{self, Named};
use trueline_objects::simulate::{
    self, Case, Entry, Found, Generated, Kind, Minimised, Mode, Request, Simulated, Verdict,
    program,
};
use trueline_report::{Answer, Report, Role, Section, Undecided, count, seconds};

use crate::again::{self, Again};
use crate::args::{SimulateArgs, SimulateMode};
use crate::exit::{Closed, Exit};
use crate::guard;
use crate::limits::Limits;
use crate::output::{self, Output};
use crate::pages::Pages;
use crate::progress;

pub(crate) fn run(args: &'static SimulateArgs) -> anyhow::Result<Exit> {
    match run_within_limits(args) {
        Err(error) if args.json && !error.is::<Closed>() => {
            let mut out = Output::new();
            out.refuse(&args.object, &format!("{error:#}"), true, Exit::Error)?;
            Ok(Exit::Error)
        }
        ended => ended,
    }
}

fn run_within_limits(args: &'static SimulateArgs) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let limits = Limits { time: args.timeout, memory: args.memory };
    let budget = Arc::new(limits.budget());
    let entry = simulate::find(&args.object).ok_or_else(|| {
        anyhow!("no object is called {}: 'trueline objects' lists them", args.object)
    })?;
    if args.replay.is_some() && args.mode == SimulateMode::Stress {
        bail!(
            "--replay cannot be combined with --mode stress: the schedule of real threads cannot be controlled"
        );
    }
    if args.spurious && args.mode == SimulateMode::Stress {
        bail!(
            "--spurious cannot be combined with --mode stress: spurious failures on real threads cannot be controlled"
        );
    }
    let theirs = Arc::clone(&budget);
    let done = guard::within(&budget, || false, move |_| simulate(entry, args, &theirs, start));
    let (text, exit) = match done {
        Ok(done) => done?,
        Err(why) => {
            progress::clear();
            (cut_short(entry, args, &why, start), Exit::Undecided)
        }
    };
    Output::new().show(&text, exit)?;
    Ok(exit)
}

/// Runs everything that was asked for; returns the report and the exit code.
fn simulate(
    entry: &'static Entry,
    args: &SimulateArgs,
    budget: &Arc<Budget>,
    start: Instant,
) -> anyhow::Result<(String, Exit)> {
    let (cases, generated) = programs(entry, args)?;
    let quasi = Displacement::asked(entry, args, budget)?;
    let measured = quasi.as_ref().and_then(|quasi| quasi.measured.clone());
    let histories = Arc::new(Histories::new(args.histories));
    let seen = Arc::clone(&histories);
    let request = Request {
        mode: mode(args),
        cases,
        generated,
        limit: args.limit,
        budget: Some(Arc::clone(budget)),
        preemptions: args.preemptions,
        spurious: args.spurious,
        seed: args.seed,
        replay: args.replay.clone(),
        spec: match &quasi {
            Some(quasi) => quasi.spec.clone(),
            None => args.spec.clone(),
        },
        watch: Some(Arc::new(move |history| {
            seen.add(history);
            measured.iter().for_each(|measured| measured.add(history));
        })),
        ..Request::default()
    };
    let say = || {
        let seen = histories.seen.load(Ordering::Relaxed);
        format!("simulating, {seen} histories checked, {}", entry.name)
    };
    let simulated = progress::during(say, || entry.run(&request));
    let simulated = simulated.map_err(|error| anyhow!("{}: {error}", place(args)))?;
    let exit = match &simulated.verdict {
        Verdict::Holds => Exit::Holds,
        Verdict::Violation(_) => Exit::Violation,
        Verdict::Undecided(_) => Exit::Undecided,
    };
    let case = Run { entry, args, simulated: &simulated, seconds: start.elapsed().as_secs_f64() };
    let mut report = case.report();
    if let Some(measured) = quasi.and_then(|quasi| quasi.measured) {
        let least = measured.factor();
        report.field("factor", least);
        let text = match least {
            Some(places) => {
                let seen = match simulated.verdict {
                    Verdict::Holds => "",
                    _ => " in the histories that were seen",
                };
                format!("{} at most{seen}", count(u64::from(places), "place"))
            }
            None if measured.undecided.load(Ordering::Relaxed) => {
                "undecided: a limit was reached before it was known".into()
            }
            None => "no factor explains all histories".into(),
        };
        report.sections.push(Section::Line(Role::Plain, format!("displacement: {text}")));
    }
    let mut pages = Pages::new(args.output.html.as_deref(), false);
    pages.add(&mut report).map_err(anyhow::Error::msg)?;
    let text = output::render(&report, args.json, &args.output);
    let text = match args.histories {
        0 => text,
        _ => histories.text(&simulated.verdict) + &commented(&text),
    };
    Ok((text, exit))
}

/// The report as a comment in the notation of the histories before it, so that `check` can read the
/// whole output.
fn commented(report: &str) -> String {
    format!("/*\n{}*/\n", report.replace("*/", "* /"))
}

/// The report if a limit was reached during work that cannot be interrupted.
fn cut_short(entry: &Entry, args: &SimulateArgs, why: &Exhausted, start: Instant) -> String {
    let why = Undecided {
        message: format!("{why}; the running search could not be stopped in time"),
        ..Undecided::limit(why)
    };
    let mut report = Report::new(entry.name, Answer::Unknown(why.clone()), why.message);
    report.field("file", &*args.object);
    report.field("object", entry.name);
    report.field("spec", judge(entry, args));
    report.field("seconds", start.elapsed().as_secs_f64());
    report.field("explanation", serde_json::Value::Null);
    report.reproduce = Some(again(args));
    output::render(&report, args.json, &args.output)
}

/// How far out of order removals may be, or the question about the least factor.
struct Displacement {
    spec: Option<Arc<Named>>,
    measured: Option<Arc<Measured>>,
}

impl Displacement {
    /// The question in the arguments; the error says what does not fit the object.
    fn asked(
        entry: &Entry,
        args: &SimulateArgs,
        budget: &Arc<Budget>,
    ) -> anyhow::Result<Option<Displacement>> {
        let Some(factors) = &args.quasi else { return Ok(None) };
        let (Some(strict), [(method, factor)]) = (entry.strict(), factors.given()) else {
            bail!("--quasi: expected one factor, for a queue, a stack or a priority queue");
        };
        let removal = entry.methods().pop().unwrap_or_default();
        if *method != removal {
            bail!(
                "--quasi: only removals can be out of order, not {method}: expected {removal}={factor}"
            );
        }
        let (spec, measured) = match factor {
            Factor::AtMost(places) => {
                let spec = entry.displaced_by(*places).map(|text| spec::named(&text)).transpose();
                (spec.map_err(anyhow::Error::msg)?.map(Arc::new), None)
            }
            Factor::Least => {
                let strict = spec::named(&strict).map_err(anyhow::Error::msg)?;
                let question =
                    Quasi { factors: factors.clone(), end: End::Open, ..Quasi::default() };
                let (budget, least) = (Arc::clone(budget), Mutex::new(Some(0)));
                let undecided = AtomicBool::new(false);
                (None, Some(Arc::new(Measured { strict, question, budget, least, undecided })))
            }
        };
        Ok(Some(Displacement { spec, measured }))
    }
}

/// The least factor that explains all histories.
struct Measured {
    strict: Named,
    question: Quasi,
    budget: Arc<Budget>,
    /// `None` if some history has none.
    least: Mutex<Option<u32>>,
    /// Set if a limit was reached before the factor of a history was known; `least` is then
    /// meaningless.
    undecided: AtomicBool,
}

impl Measured {
    fn add(&self, history: &trueline::History) {
        let found = self.strict.quasi(history, &self.question, &self.budget);
        if let (Ok(found), Ok(mut least)) = (found, self.least.lock()) {
            if matches!(found.outcome.verdict, trueline::Verdict::Unknown(_)) {
                self.undecided.store(true, Ordering::Relaxed);
            }
            *least = least.zip(found.factor).map(|(known, factor)| known.max(factor));
        }
    }

    fn factor(&self) -> Option<u32> {
        self.least.lock().map_or(None, |least| *least)
    }
}

fn mode(args: &SimulateArgs) -> Mode {
    match args.mode {
        SimulateMode::Explore => Mode::Explore,
        SimulateMode::Stress => Mode::Stress,
    }
}

/// The place that an error in a program names.
fn place(args: &SimulateArgs) -> String {
    match &args.cases {
        Some(file) => file.display().to_string(),
        None => args.object.clone(),
    }
}

/// The programs to run: those that the user wrote, and the number of those that are generated as
/// they run.
fn programs(entry: &Entry, args: &SimulateArgs) -> anyhow::Result<(Vec<Case>, Option<Generated>)> {
    if let Some(file) = &args.cases {
        let name = file.display();
        let text = fs::read_to_string(file).with_context(|| name.to_string())?;
        let cases = program::cases(&text).map_err(|error| anyhow!("{name}: {error}"))?;
        if cases.is_empty() {
            bail!("{name}: found no program: expected a line such as enq(3) | deq()");
        }
        for (line, case) in (1..).zip(&cases) {
            entry.check(case).map_err(|error| anyhow!("{name}: program {line}, {error}"))?;
        }
        return Ok((cases, None));
    }
    let calls = |flag: &str, text: &Option<String>| {
        let calls = program::calls(text.as_deref().unwrap_or_default());
        calls.map_err(|error| anyhow!("--{flag}, {error}"))
    };
    let (before, after) = (calls("before", &args.before)?, calls("after", &args.after)?);
    if let Some(text) = &args.program {
        let program = program::program(text).map_err(|error| anyhow!("--program, {error}"))?;
        let case = Case { before, program, after };
        entry.check(&case).map_err(|error| anyhow!("{case}: {error}"))?;
        return Ok((vec![case], None));
    }
    let (processes, operations) = (usize::from(args.processes), usize::from(args.operations));
    let stressed = (args.mode == SimulateMode::Stress).then_some(RANDOM_PROGRAMS);
    let random = args.random.or(stressed);
    if random.is_none() {
        let programs = entry.number_of_matrices(processes, operations);
        if programs > MOST_PROGRAMS {
            bail!(
                "there are {programs} programs of this size: expected at most {MOST_PROGRAMS}; \
                 --random 1000 runs a sample of them"
            );
        }
    }
    let around =
        Case { before: before.clone(), program: program::Program::new(), after: after.clone() };
    entry.check(&around).map_err(|error| anyhow!("--before and --after, {error}"))?;
    // The cases that show the fault of a mutant run whatever size is asked for.
    let alone = before.is_empty() && after.is_empty();
    let listed = entry.shown_by().filter(|_| alone && random.is_none());
    let generated = Generated { processes, operations, random, before, after };
    Ok((listed.into_iter().collect(), Some(generated)))
}

/// The number of random programs of a stress test.
const RANDOM_PROGRAMS: u32 = 100;

/// More programs than this are not enumerated.
const MOST_PROGRAMS: u128 = 100_000;

/// The first histories, for people.
struct Histories {
    most: u64,
    seen: AtomicU64,
    shown: Mutex<Vec<String>>,
}

impl Histories {
    fn new(most: u64) -> Histories {
        Histories { most, seen: AtomicU64::new(0), shown: Mutex::new(Vec::new()) }
    }

    fn add(&self, history: &trueline::History) {
        if self.seen.fetch_add(1, Ordering::Relaxed) < self.most
            && let Ok(mut shown) = self.shown.lock()
        {
            shown.push(simulate::wing_gong(history));
        }
    }

    /// The histories as Wing and Gong's simulator prints them. A violation is in the last one.
    fn text(&self, verdict: &Verdict<Box<Found>>) -> String {
        let mut text = String::new();
        let shown = self.shown.lock().map(|shown| shown.clone()).unwrap_or_default();
        let all = self.seen.load(Ordering::Relaxed) <= self.most;
        // Other violations have no history: a race ends an execution before it has one.
        let ends_wrong =
            matches!(verdict, Verdict::Violation(found) if found.kind == Kind::NotLinearizable);
        for (i, history) in shown.iter().enumerate() {
            let is_wrong = all && i + 1 == shown.len() && ends_wrong;
            let not = if is_wrong { "not " } else { "" };
            let number = i + 1;
            let _ = write!(
                text,
                "/* This is simulation number {number} */\n{history}/* This history is {not}linearizable! */\n\n"
            );
        }
        text
    }
}

/// A simulation that is being reported.
struct Run<'a> {
    entry: &'a Entry,
    args: &'a SimulateArgs,
    simulated: &'a Simulated,
    seconds: f64,
}

impl Run<'_> {
    fn report(&self) -> Report {
        let Simulated { verdict, counts, scope } = self.simulated;
        let (answer, summary) = match verdict {
            Verdict::Holds => (Answer::holds("linearizable"), format!("holds for {scope}")),
            Verdict::Violation(found) => {
                (Answer::violation(), format!("{}: {}", found.kind, found.case))
            }
            Verdict::Undecided(why) => (Answer::Unknown(why.clone()), why.message.clone()),
        };
        let mut report = Report::new(self.entry.name, answer, summary);
        for (name, value) in [
            ("file", json!(self.args.object)),
            ("object", json!(self.entry.name)),
            ("spec", json!(judge(self.entry, self.args))),
            ("algorithm", json!(if self.is_explored() { "explore" } else { "stress" })),
            ("scope", json!(scope)),
            ("seconds", json!(self.seconds)),
            ("programs", json!(counts.scenarios)),
            ("executions", json!(counts.executions)),
            ("blocked", json!(counts.blocked)),
            ("histories", json!(counts.histories)),
            ("checked", json!(counts.checks)),
            ("explanation", json!(null)),
        ] {
            report.field(name, value);
        }
        if let Some(factors) = &self.args.quasi {
            report.field("quasi", factors.to_string());
            report.field("reading", "slots");
        }
        if let Verdict::Violation(found) = verdict {
            self.explain(found, &mut report);
        }
        let programs = count(counts.scenarios, "program");
        let counts = counts.without_scenarios();
        let line = format!("{programs}, {counts}, {}", seconds(self.seconds));
        report.sections.push(Section::dim(line));
        report.reproduce = Some(again(self.args));
        report.replay = self.replay();
        report
    }

    /// Adds the violation, for people and for programs.
    fn explain(&self, found: &Found, report: &mut Report) {
        report.sections.clone_from(&found.sections);
        let history = found.history.as_ref().map(simulate::wing_gong);
        if let Some(history) = &history {
            let title = "The history, in the notation of Wing and Gong:".into();
            report.sections.push(Section::Quote { title, text: history.clone() });
        }
        let not_minimised = match &found.minimised {
            Minimised::Fully => None,
            Minimised::NotAsked => Some("not asked for"),
            Minimised::Stopped(why) => Some(why.as_str()),
        };
        if let Minimised::Stopped(why) = &found.minimised {
            report.caveat = Some(format!(
                "A smaller program may fail in the same way; minimisation stopped: {why}."
            ));
        }
        for (name, value) in [
            ("kind", json!(found.kind.to_string())),
            ("sentence", json!(found.sentence)),
            ("program", json!(found.case)),
            ("history", json!(history)),
            ("replay", json!(self.schedule(found))),
            ("minimised", json!(found.minimised == Minimised::Fully)),
            ("not_minimised", json!(not_minimised)),
        ] {
            report.explanation.insert(name.to_string(), value);
        }
    }

    fn is_explored(&self) -> bool {
        self.args.mode == SimulateMode::Explore
    }

    /// The failing schedule; a run on real threads has none to replay.
    fn schedule<'a>(&self, found: &'a Found) -> Option<&'a String> {
        found.replay.as_ref().filter(|_| self.is_explored())
    }

    /// The command that runs the failing schedule again.
    fn replay(&self) -> Option<String> {
        let Verdict::Violation(found) = &self.simulated.verdict else { return None };
        let replay = self.schedule(found)?;
        let calls =
            |calls: &[program::Call]| (!calls.is_empty()).then(|| program::join_calls(calls));
        let processes: Vec<String> =
            found.of.program.iter().map(|p| program::join_calls(p)).collect();
        let again = Again::new("simulate");
        let again = if self.args.spurious { again.switch("spurious") } else { again };
        let again = again
            .maybe("before", calls(&found.of.before))
            .flag("program", processes.join(" | "))
            .maybe("after", calls(&found.of.after));
        let again = again
            .maybe("spec", self.args.spec.as_ref().map(|spec| spec.text()))
            .maybe("quasi", self.args.quasi.as_ref().map(ToString::to_string));
        Some(again.flag("replay", replay).file(&self.args.object))
    }
}

/// The specification that decides the histories.
fn judge<'a>(entry: &'a Entry, args: &'a SimulateArgs) -> &'a str {
    args.spec.as_ref().map_or(entry.spec, |spec| spec.text())
}

/// The command that runs the same programs again.
fn again(args: &SimulateArgs) -> String {
    let size = args.program.is_none() && args.cases.is_none();
    let random = size && (args.random.is_some() || args.mode == SimulateMode::Stress);
    let again = Again::new("simulate");
    let again = if args.spurious { again.switch("spurious") } else { again };
    again
        .maybe("mode", (args.mode == SimulateMode::Stress).then_some("stress"))
        .maybe("before", args.before.as_ref())
        .maybe("program", args.program.as_ref())
        .maybe("after", args.after.as_ref())
        .maybe("processes", size.then(|| args.processes.to_string()))
        .maybe("operations", size.then(|| args.operations.to_string()))
        .maybe("random", args.random.map(|n| n.to_string()))
        .maybe("cases", args.cases.as_ref().map(|file| file.display().to_string()))
        .maybe("limit", args.limit.map(|n| n.to_string()))
        .maybe("preemptions", args.preemptions.map(|n| n.to_string()))
        .maybe("seed", random.then(|| args.seed.to_string()))
        .maybe("timeout", args.timeout.map(again::time))
        .maybe("memory", args.memory.map(|bytes| bytes.to_string()))
        .maybe("spec", args.spec.as_ref().map(|spec| spec.text()))
        .maybe("quasi", args.quasi.as_ref().map(ToString::to_string))
        .maybe("replay", args.replay.as_ref())
        .file(&args.object)
}
