//! `trueline verify`: models in, verdicts out.
//!
//! The work is done by a thread of its own ([`guard`]). Should it not come to an end where a limit is reached, it is left alone, and the
//! process ends without it: so a limit holds for everything, and memory is left to the system rather than freed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use std::{fs, thread};

use trueline::Budget;
use trueline::budget::Exhausted;
use trueline_model::engine::{self, Options, Progress, Property, Report, Simple, Verdict};
use trueline_model::interpret::{self, Note, Rejected};
use trueline_model::program::Program;
use trueline_model::{Model, Semantics, library, report};
use trueline_report::{Look, bytes, count};

use crate::again::{self, Again};
use crate::args::{Histories, Reduction, SemanticsArg, Switch, VerifyArgs};
use crate::exit::Exit;
use crate::guard;
use crate::output::{self, Output, complain};
use crate::progress;

pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    if args.models.len() > 1 && (args.checkpoint.is_some() || args.resume.is_some()) {
        anyhow::bail!("a checkpoint is of one model: --checkpoint and --resume take one MODEL");
    }
    let mut out = Output::new();
    let mut exit = Exit::Holds;
    guard::catch_signals()?;
    for name in &args.models {
        match verify(name, args) {
            Ok((text, ended)) => {
                exit = exit.max(ended);
                out.show(&text, exit)?;
            }
            Err(message) => {
                exit = Exit::Error;
                // A diagnostic has several lines; each is cleaned by itself.
                message.lines().for_each(|line| complain(format_args!("{line}")));
            }
        }
    }
    Ok(exit)
}

/// The text of a model: a file, or a built-in one where there is no such file.
fn source(name: &str) -> Result<String, String> {
    match fs::read_to_string(name) {
        Ok(source) => Ok(source),
        Err(error) => match library::find(name) {
            Some(model) if !Path::new(name).exists() => Ok(model.source.to_string()),
            _ => Err(format!("{name}: {error}; 'trueline models' lists the built-in ones")),
        },
    }
}

fn verify(name: &str, args: &VerifyArgs) -> Result<(String, Exit), String> {
    let start = Instant::now();
    let budget = Arc::new(args.limits.limits().budget());
    let source = source(name)?;
    let mut model = Model::parse(&source).map_err(|error| error.render(name, &source))?;
    for (parameter, value) in &args.set {
        model.set(parameter, *value).map_err(|error| format!("{name}: {error}"))?;
    }
    let semantics = match args.semantics {
        SemanticsArg::Default => Semantics::Default,
        SemanticsArg::Pat => Semantics::Pat,
    };
    let compiled = model.compile(semantics, args.points);
    let program = Arc::new(compiled.map_err(|error| error.render(name, &source))?);
    if let Some(path) = &args.resume {
        fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if args.histories == Histories::All && (args.automata || !args.pair.is_empty()) {
        return Err(
            "--automata and --pair are about simple histories: expected --histories simple".into(),
        );
    }
    if args.histories == Histories::Simple && program.spec.snapshot().is_none() {
        return Err(format!(
            "{name}: --histories simple is for snapshot objects: expected `spec snapshot` in the model"
        ));
    }
    let options = options(args);
    let pulse = options.pulse.clone();
    let work = Work {
        model: model.clone(),
        semantics,
        program: program.clone(),
        options,
        progress: args.progress,
    };
    let say = || {
        let states = pulse.states.load(Ordering::Relaxed);
        let rate = states as f64 / budget.elapsed().as_secs_f64().max(1e-3);
        let depth = pulse.depth.load(Ordering::Relaxed);
        let memory = bytes(pulse.bytes.load(Ordering::Relaxed));
        let states = count(states, "state");
        format!("verifying, {states}, {} a second, depth {depth}, {memory}, {name}", rate as u64)
    };
    let saving = || pulse.saving.load(Ordering::Relaxed);
    let found = progress::during(say, || guard::within(&budget, saving, move |b| work.run(b)));
    let mut found = found.unwrap_or_else(|why| Found::nothing(why, &pulse));
    if let Verdict::Refused(why) = &found.report.verdict {
        return Err(format!("{name}: {why}"));
    }
    if let Some(why) = &found.mismatch {
        return Err(format!("{name}: a counterexample was found and not accepted: {why}"));
    }
    let undecided =
        found.progress.iter_mut().filter_map(|(_, report)| match &mut report.progress {
            Progress::Unknown(reason) => Some(reason),
            Progress::Holds | Progress::Fails(_) => None,
        });
    let unknown = match &mut found.report.verdict {
        Verdict::Unknown(reason) => Some(reason),
        _ => None,
    };
    for reason in undecided.chain(unknown) {
        if let Some(rest) = reason.strip_prefix("cancelled") {
            *reason = format!("interrupted{rest}");
        }
    }
    if let (Verdict::Unknown(reason), Some(path)) = (&mut found.report.verdict, &args.checkpoint)
        && path.exists()
    {
        *reason = format!("{reason}; go on with --resume {}", path.display());
    }
    let settings: Vec<(String, i32)> =
        model.parameters().iter().map(|p| (p.name.clone(), p.value)).collect();
    let again = again(name, args);
    let unchecked = if found.progress.is_empty() { model.properties() } else { Vec::new() };
    let restriction = restriction(args);
    let case = report::Case {
        file: name,
        settings: &settings,
        program: &program,
        report: &found.report,
        restriction: restriction.as_deref(),
        notes: &found.notes,
        progress: &found.progress,
        progress_notes: &found.progress_notes,
        unchecked: &unchecked,
        unchecked_because: match (args.progress, &found.report.verdict) {
            (true, Verdict::Unknown(_)) => "a limit was reached before",
            (true, _) => "a violation was found before",
            (false, _) => "--progress checks what the model declares as a property",
        },
        algorithm: &algorithm(args),
        seconds: start.elapsed().as_secs_f64(),
        again: &again,
    };
    let exit = match case.verdict() {
        "verified" => Exit::Holds,
        "violation" => Exit::Violation,
        _ => Exit::Undecided,
    };
    if args.json {
        return Ok((format!("{}\n", report::json(&case)), exit));
    }
    let look = Look {
        width: output::width(args.width.map(usize::from)),
        ascii: output::wants_ascii(args.output.drawing.ascii),
        quiet: args.output.quiet,
    };
    Ok((report::text(&case, &look).render(output::wants_color(args.output.drawing.color)), exit))
}

/// What is to be done for one model.
struct Work {
    model: Model,
    semantics: Semantics,
    program: Arc<Program>,
    options: Options,
    progress: bool,
}

/// What came out.
struct Found {
    report: Report,
    /// What the steps of the counterexample did.
    notes: Vec<Note>,
    progress: Vec<(String, engine::ProgressReport)>,
    progress_notes: Vec<Vec<Note>>,
    /// Why the counterexample is none.
    mismatch: Option<String>,
}

impl Found {
    /// The work did not come to an end.
    fn nothing(why: Exhausted, pulse: &engine::Pulse) -> Found {
        let depth = pulse.depth.load(Ordering::Relaxed);
        let mut report = Report::unknown(format!("{why}; the search had reached depth {depth}"));
        report.states = pulse.states.load(Ordering::Relaxed);
        report.depth = pulse.depth.load(Ordering::Relaxed);
        report.bytes = pulse.bytes.load(Ordering::Relaxed);
        let (progress, progress_notes) = (Vec::new(), Vec::new());
        Found { report, notes: Vec::new(), progress, progress_notes, mismatch: None }
    }
}

impl Work {
    fn run(self, budget: &Budget) -> Found {
        let Work { model, semantics, program, options, progress } = self;
        let report = engine::verify(&program, &options, budget);
        let mut found = Found {
            report,
            notes: Vec::new(),
            progress: Vec::new(),
            progress_notes: Vec::new(),
            mismatch: None,
        };
        // A counterexample is shown only after the interpreter, which shares nothing with the engine, has accepted it.
        match &found.report.verdict {
            Verdict::Violation(shown) => {
                match interpret::explain(&model, semantics, &program, shown, budget) {
                    Ok(notes) => found.notes = notes,
                    Err(Rejected::Mismatch(why)) => found.mismatch = Some(why),
                    Err(Rejected::Spent(spent)) => {
                        found.report.verdict = Verdict::Unknown(format!(
                            "{spent}; a violation was found, but there was no time left to confirm it"
                        ));
                    }
                }
                return found;
            }
            Verdict::WrongPoints(shown) => {
                let steps = &shown.trace.steps;
                let notes = interpret::follow(&model, semantics, &program, steps, budget);
                found.notes = notes.unwrap_or_default();
            }
            Verdict::Verified | Verdict::Unknown(_) | Verdict::Refused(_) => {}
        }
        if progress {
            found.progress = check_progress(&model, &program, budget);
            let notes = |(_, report): &(String, engine::ProgressReport)| {
                let Progress::Fails(lasso) = &report.progress else { return Vec::new() };
                let run: Vec<_> = lasso.stem.iter().chain(&lasso.cycle).cloned().collect();
                let notes = interpret::follow(&model, semantics, &program, &run, budget);
                notes.unwrap_or_default()
            };
            found.progress_notes = found.progress.iter().map(notes).collect();
        }
        found
    }
}

/// The progress properties that the model asks for; freedom from deadlock in any case.
fn check_progress(
    model: &Model,
    program: &Arc<Program>,
    budget: &Budget,
) -> Vec<(String, engine::ProgressReport)> {
    let mut wanted = vec![("deadlock-free".to_string(), Property::DeadlockFree)];
    if model.asks_for("lock_free") {
        wanted.push(("lock-free".to_string(), Property::LockFree));
    }
    for response in &program.responses {
        let weakly_fair = model.weakly_fair(&response.name);
        let (operation, results) = (response.operation, response.results.clone());
        let property = Property::Response { operation, results, weakly_fair };
        wanted.push((response.name.clone(), property));
    }
    let check = |(name, property)| (name, engine::progress(program, &property, budget));
    wanted.into_iter().map(check).collect()
}

fn options(args: &VerifyArgs) -> Options {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    Options {
        symmetry: matches!(args.reduction, Reduction::Symmetry | Reduction::Both),
        partial_order: matches!(args.reduction, Reduction::Por | Reduction::Both),
        antichain: args.antichain == Switch::On,
        points: args.points,
        threads: args.threads.map_or_else(processors, usize::from),
        checkpoint: args.checkpoint.clone(),
        resume: args.resume.clone(),
        simple: (args.histories == Histories::Simple).then(|| Simple {
            automata: args.automata,
            pairs: args.pair.clone(),
            walks: args.walks,
            settles_at_scans: args.semantics == SemanticsArg::Pat,
        }),
        leaves_tables: true,
        ..Options::default()
    }
}

fn reduction(args: &VerifyArgs) -> &'static str {
    match args.reduction {
        Reduction::None => "none",
        Reduction::Symmetry => "symmetry",
        Reduction::Por => "por",
        Reduction::Both => "both",
    }
}

fn algorithm(args: &VerifyArgs) -> String {
    let mut parts = vec![if args.automata { "automata" } else { "refinement" }];
    if args.histories == Histories::Simple {
        parts.insert(0, "simple histories");
    }
    if matches!(args.reduction, Reduction::Symmetry | Reduction::Both) {
        parts.push("symmetry");
    }
    if matches!(args.reduction, Reduction::Por | Reduction::Both) {
        parts.push("partial order");
    }
    if args.antichain == Switch::On {
        parts.push("antichain");
    }
    if args.points {
        parts.push("points");
    }
    parts.join(" + ")
}

/// Which histories are looked at, where not all are, as in 'every ... is one of the specification'.
fn restriction(args: &VerifyArgs) -> Option<String> {
    let pairs: Vec<String> = args.pair.iter().map(|(i, j)| format!("{i} and {j}")).collect();
    match (args.histories, pairs.as_slice()) {
        (Histories::All, _) => None,
        (Histories::Simple, []) => Some("simple history".into()),
        (Histories::Simple, pairs) => Some(format!(
            "simple history in which only the processes {} change their segments",
            pairs.join(", or ")
        )),
    }
}

/// The command that verifies this model again in the same way.
fn again(name: &str, args: &VerifyArgs) -> String {
    let mut again = Again::new("verify");
    for (parameter, value) in &args.set {
        again = again.flag("set", format!("{parameter}={value}"));
    }
    if args.points {
        again = again.switch("points");
    }
    if args.progress {
        again = again.switch("progress");
    }
    if args.automata {
        again = again.switch("automata");
    }
    for (i, j) in &args.pair {
        again = again.flag("pair", format!("{i},{j}"));
    }
    again
        .maybe("reduction", (args.reduction != Reduction::Both).then(|| reduction(args)))
        .maybe("histories", (args.histories == Histories::Simple).then_some("simple"))
        .maybe("antichain", (args.antichain == Switch::Off).then_some("off"))
        .maybe("semantics", (args.semantics == SemanticsArg::Pat).then_some("pat"))
        .maybe("walks", args.other_walks().map(|walks| walks.to_string()))
        .maybe("checkpoint", args.checkpoint.as_ref().map(|path| path.to_string_lossy()))
        .maybe("resume", args.resume.as_ref().map(|path| path.to_string_lossy()))
        .maybe("timeout", args.limits.timeout.map(again::time))
        .maybe("memory", args.limits.memory.map(|bytes| bytes.to_string()))
        .file(name)
}
