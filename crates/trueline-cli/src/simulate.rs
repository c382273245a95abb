//! `trueline simulate`: objects of this project, run and judged.

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
use trueline_report::{SCHEMA, clean, count, seconds};

use crate::again::{self, Again};
use crate::args::{SimulateArgs, SimulateMode};
use crate::exit::Exit;
use crate::guard;
use crate::limits::Limits;
use crate::output::Output;
use crate::progress;

pub(crate) fn run(args: &'static SimulateArgs) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let limits = Limits { time: args.timeout, memory: args.memory };
    let budget = Arc::new(limits.budget());
    let entry = simulate::find(&args.object).ok_or_else(|| {
        anyhow!("no object is called {}: 'trueline objects' lists them", args.object)
    })?;
    if args.replay.is_some() && args.mode == SimulateMode::Stress {
        bail!(
            "--replay does not go with --mode stress: nobody decides the schedule of real threads"
        );
    }
    if args.spurious && args.mode == SimulateMode::Stress {
        bail!("--spurious does not go with --mode stress: real threads fail when they do");
    }
    let theirs = Arc::clone(&budget);
    let done = guard::within(&budget, || false, move |_| simulate(entry, args, &theirs, start));
    let (text, exit) = match done {
        Ok(done) => done?,
        Err(why) => {
            progress::clear();
            (cut_short(entry, args, why, start), Exit::Undecided)
        }
    };
    Output::new().show(&text, exit)?;
    Ok(exit)
}

/// Runs all that was asked for; the report, and how the command ends.
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
        spec: quasi.as_ref().and_then(|quasi| quasi.spec.clone()),
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
    let case = Told { entry, args, simulated: &simulated, seconds: start.elapsed().as_secs_f64() };
    let measured = quasi.and_then(|quasi| quasi.measured);
    let undecided = measured.as_ref().is_some_and(|m| m.undecided.load(Ordering::Relaxed));
    let least = measured.map(|measured| measured.told());
    let mut text = if args.json { case.json(least) } else { case.text() };
    if let (Some(least), false) = (least, args.json) {
        let _ = match least {
            Some(places) => {
                let seen = match simulated.verdict {
                    Verdict::Holds => "",
                    _ => " in the histories that were seen",
                };
                let places = count(u64::from(places), "place");
                writeln!(text, "  displacement: {places} at most{seen}")
            }
            None if undecided => {
                writeln!(text, "  displacement: undecided: a limit was reached before it was known")
            }
            None => writeln!(text, "  displacement: no factor explains all histories"),
        };
    }
    if args.histories > 0 {
        text = histories.text(&simulated.verdict) + &commented(&text);
    }
    Ok((text, exit))
}

/// The report behind histories, as a comment of their notation, so that `check` reads all that is printed.
fn commented(report: &str) -> String {
    format!("/*\n{}*/\n", report.replace("*/", "* /"))
}

/// What is told where a limit is reached in the midst of something that cannot be interrupted.
fn cut_short(entry: &Entry, args: &SimulateArgs, why: Exhausted, start: Instant) -> String {
    let again = again(args);
    let why = format!("{why}; what was under way could not be stopped in time");
    if !args.json {
        return format!("unknown: {}: {why}\n  again: {again}\n", entry.name);
    }
    let object = json!({
        "schema": SCHEMA,
        "file": args.object,
        "object": entry.name,
        "spec": entry.spec,
        "verdict": "unknown",
        "message": why,
        "seconds": start.elapsed().as_secs_f64(),
        "explanation": null,
        "again": again,
    });
    format!("{object}\n")
}

/// How far out of order removals may be, or the question how far they are.
struct Displacement {
    spec: Option<String>,
    measured: Option<Arc<Measured>>,
}

impl Displacement {
    /// What the arguments ask; the error says what does not fit the object.
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
            bail!("--quasi: only removals move, {method} does not: expected {removal}={factor}");
        }
        let (spec, measured) = match factor {
            Factor::AtMost(places) => (entry.displaced_by(*places), None),
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
    /// `None` once a history has none.
    least: Mutex<Option<u32>>,
    /// Set once a limit was reached before the factor of a history was known: then `least` says nothing.
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

    fn told(&self) -> Option<u32> {
        self.least.lock().map_or(None, |least| *least)
    }
}

fn mode(args: &SimulateArgs) -> Mode {
    match args.mode {
        SimulateMode::Explore => Mode::Explore,
        SimulateMode::Stress => Mode::Stress,
    }
}

/// What errors of a program are found in.
fn place(args: &SimulateArgs) -> String {
    match &args.cases {
        Some(file) => file.display().to_string(),
        None => args.object.clone(),
    }
}

/// The programs that are asked for: those that were written, and those that are made while they are run.
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
                 --random 1000 takes some of them"
            );
        }
    }
    let around =
        Case { before: before.clone(), program: program::Program::new(), after: after.clone() };
    entry.check(&around).map_err(|error| anyhow!("--before and --after, {error}"))?;
    // What is known to be broken is shown to be, whatever size is asked for.
    let alone = before.is_empty() && after.is_empty();
    let listed = entry.shown_by().filter(|_| alone && random.is_none());
    let generated = Generated { processes, operations, random, before, after };
    Ok((listed.into_iter().collect(), Some(generated)))
}

/// Programs of a stress test that nobody wrote.
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

    /// As Wing and Gong's simulator prints them. What is wrong is found in the last one.
    fn text(&self, verdict: &Verdict) -> String {
        let mut text = String::new();
        let shown = self.shown.lock().map(|shown| shown.clone()).unwrap_or_default();
        let all = self.seen.load(Ordering::Relaxed) <= self.most;
        // Other violations are no histories: a race ends an execution before it is one.
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

/// A simulation that is told.
struct Told<'a> {
    entry: &'a Entry,
    args: &'a SimulateArgs,
    simulated: &'a Simulated,
    seconds: f64,
}

impl Told<'_> {
    fn verdict(&self) -> &'static str {
        match self.simulated.verdict {
            Verdict::Holds => "linearizable",
            Verdict::Violation(_) => "violation",
            Verdict::Undecided(_) => "unknown",
        }
    }

    fn text(&self) -> String {
        let Simulated { verdict, counts, scope } = self.simulated;
        let what = match verdict {
            Verdict::Holds => format!("holds for {scope}"),
            Verdict::Violation(found) => format!("{}: {}", found.kind, found.sentence),
            Verdict::Undecided(why) => why.clone(),
        };
        let mut text = format!("{}: {}: {}\n", self.verdict(), self.entry.name, clean(&what));
        if self.args.quiet {
            if let Verdict::Violation(found) = verdict
                && let Minimised::Stopped(why) = &found.minimised
            {
                let _ = writeln!(text, "  there may be a smaller program that fails so: {why}");
            }
            return text;
        }
        if let Verdict::Violation(found) = verdict {
            let _ = writeln!(text, "\n{}", found.report.trim_end());
            if let Some(history) = &found.history {
                text += "\nThe history, in the notation of Wing and Gong:\n\n";
                simulate::wing_gong(history).lines().for_each(|line| {
                    let _ = writeln!(text, "  {line}");
                });
                text.push('\n');
            }
        }
        let programs = count(counts.scenarios, "program");
        let counts = counts.to_string();
        let counts = counts.split_once(", ").map_or("", |(_, rest)| rest);
        let _ = writeln!(text, "  {programs}, {counts}, {}", seconds(self.seconds));
        let _ = writeln!(text, "  again: {}", again(self.args));
        if let Some(replay) = self.replay() {
            let _ = writeln!(text, "  replay: {replay}");
        }
        text
    }

    fn json(&self, least: Option<Option<u32>>) -> String {
        let Simulated { verdict, counts, scope } = self.simulated;
        let explanation = match verdict {
            Verdict::Violation(found) => self.explanation(found),
            _ => serde_json::Value::Null,
        };
        let mut object = json!({
            "schema": SCHEMA,
            "file": self.args.object,
            "object": self.entry.name,
            "spec": self.entry.spec,
            "verdict": self.verdict(),
            "algorithm": match self.args.mode {
                SimulateMode::Explore => "explore",
                SimulateMode::Stress => "stress",
            },
            "scope": scope,
            "seconds": self.seconds,
            "programs": counts.scenarios,
            "executions": counts.executions,
            "blocked": counts.blocked,
            "histories": counts.histories,
            "checked": counts.checks,
            "explanation": explanation,
            "again": again(self.args),
        });
        if let Verdict::Undecided(why) = verdict {
            object["message"] = why.as_str().into();
        }
        if let Some(factors) = &self.args.quasi {
            object["quasi"] = factors.to_string().into();
            object["reading"] = "slots".into();
        }
        if let Some(least) = least {
            object["factor"] = least.into();
        }
        format!("{object}\n")
    }

    fn explanation(&self, found: &Found) -> serde_json::Value {
        json!({
            "kind": found.kind.to_string(),
            "sentence": found.sentence,
            "program": found.case,
            "history": found.history.as_ref().map(simulate::wing_gong),
            "replay": self.schedule(found),
            "minimised": found.minimised == Minimised::Fully,
            "not_minimised": match &found.minimised {
                Minimised::Fully => None,
                Minimised::NotAsked => Some("not asked for"),
                Minimised::Stopped(why) => Some(why.as_str()),
            },
        })
    }

    /// The failing schedule; real threads have none that could be run again.
    fn schedule<'a>(&self, found: &'a Found) -> Option<&'a String> {
        found.replay.as_ref().filter(|_| self.args.mode == SimulateMode::Explore)
    }

    /// The command that runs the failing schedule again.
    fn replay(&self) -> Option<String> {
        let Verdict::Violation(found) = &self.simulated.verdict else { return None };
        let replay = self.schedule(found)?;
        let calls = |calls: &[program::Call]| (!calls.is_empty()).then(|| program::words(calls));
        let processes: Vec<String> = found.of.program.iter().map(|p| program::words(p)).collect();
        let again = Again::new("simulate");
        let again = if self.args.spurious { again.switch("spurious") } else { again };
        let again = again
            .maybe("before", calls(&found.of.before))
            .flag("program", processes.join(" | "))
            .maybe("after", calls(&found.of.after));
        let again = again.maybe("quasi", self.args.quasi.as_ref().map(ToString::to_string));
        Some(again.flag("replay", replay).file(&self.args.object))
    }
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
        .maybe("quasi", args.quasi.as_ref().map(ToString::to_string))
        .maybe("replay", args.replay.as_ref())
        .file(&args.object)
}
