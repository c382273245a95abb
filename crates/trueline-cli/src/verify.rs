//! `trueline verify`: verifies models.
//!
//! A thread of its own does the work ([`guard`]). If it does not stop when a limit is reached, it
//! is abandoned and the process ends without it. So a limit covers everything, and the system
//! reclaims the memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use std::{fs, thread};

use trueline::Budget;
use trueline::budget::Exhausted;
use trueline_model::engine::{self, Graph, Options, Pulse, Simple, Verdict};
use trueline_model::program::Program;
use trueline_model::{Findings, Model, Semantics, Verification, library, report};
use trueline_report::{Answer, bytes, count, limit_code};

use crate::again::{self, Again};
use crate::args::{Histories, Reduction, SemanticsArg, Switch, VerifyArgs};
use crate::exit::Exit;
use crate::graph::{GraphTarget, PAGE};
use crate::guard;
use crate::output::{self, Output};
use crate::pages::Pages;
use crate::progress;

pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    if args.models.len() > 1 && (args.checkpoint.is_some() || args.resume.is_some()) {
        anyhow::bail!(
            "a checkpoint belongs to one model: --checkpoint and --resume need exactly one MODEL"
        );
    }
    if args.models.len() > 1 && args.graph.as_deref().is_some_and(|file| file != PAGE) {
        anyhow::bail!("--graph FILE is for one model: use --graph page, or give exactly one MODEL");
    }
    let mut out = Output::new();
    let mut exit = Exit::Holds;
    guard::catch_signals()?;
    let mut pages = Pages::new(args.output.html.as_deref(), args.models.len() > 1);
    for name in &args.models {
        match verify(name, args, &mut pages) {
            Ok((text, ended)) => {
                exit = exit.max(ended);
                out.show(&text, exit)?;
            }
            Err(message) => {
                exit = Exit::Error;
                out.refuse(name, &message, args.json, exit)?;
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

fn verify(name: &str, args: &VerifyArgs, pages: &mut Pages) -> Result<(String, Exit), String> {
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
    let mut graph = graph(name, args, &program, &budget)?;
    let options = options(args);
    let pulse = options.pulse.clone();
    let verification = Verification { semantics, options, progress: args.progress };
    let (theirs, run) = (model.clone(), program.clone());
    let work = move |budget: &Budget| verification.run(&theirs, &run, budget);
    let say = || {
        let states = pulse.states.load(Ordering::Relaxed);
        let rate = states as f64 / budget.elapsed().as_secs_f64().max(1e-3);
        let depth = pulse.depth.load(Ordering::Relaxed);
        let memory = bytes(pulse.bytes.load(Ordering::Relaxed));
        let states = count(states, "state");
        format!("verifying, {states}, {} a second, depth {depth}, {memory}, {name}", rate as u64)
    };
    let saving = || pulse.saving.load(Ordering::Relaxed);
    let found = progress::during(say, || guard::within(&budget, saving, work));
    let mut found = match found {
        Ok(found) => found.map_err(|error| format!("{name}: {error}"))?,
        Err(why) => given_up(&why, &pulse),
    };
    let spent = budget.spend(0).err();
    if let (Verdict::Unknown(reason), Some(path)) = (&mut found.report.verdict, &args.checkpoint)
        && path.exists()
    {
        *reason = format!("{reason}; resume with --resume {}", path.display());
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
            (true, Verdict::Unknown(_)) => "a limit was reached first",
            (true, _) => "a violation was found first",
            (false, _) => "use --progress to check the declared properties",
        },
        algorithm: &algorithm(args),
        seconds: start.elapsed().as_secs_f64(),
        again: &again,
        other_code: args.points && model.has_code_for_points(),
        reason_code: spent.as_ref().map_or("incomplete", limit_code),
    };
    let mut report = case.report();
    if let Some((graph, target)) = graph.take() {
        target.put(name, trueline_model::graph::drawn(&program, &graph, &found), &mut report)?;
    }
    pages.add(&mut report)?;
    let exit = match report.verdict {
        Answer::Holds { .. } => Exit::Holds,
        Answer::Violation(_) => Exit::Violation,
        Answer::Unknown(_) => Exit::Undecided,
    };
    Ok((output::render(&report, args.json, &args.output), exit))
}

/// The state graph of a program that is small enough, if one was asked for.
fn graph(
    name: &str,
    args: &VerifyArgs,
    program: &Arc<Program>,
    budget: &Budget,
) -> Result<Option<(Graph, GraphTarget)>, String> {
    let Some(target) = GraphTarget::new(args)? else { return Ok(None) };
    let made = engine::graph(program, target.most(), budget);
    let graph = made.map_err(|why| format!("{name}: --graph: {}", target.refusal(&why)))?;
    Ok(Some((graph, target)))
}

/// The findings of a search that was abandoned.
fn given_up(why: &Exhausted, pulse: &Pulse) -> Findings {
    let depth = pulse.depth.load(Ordering::Relaxed);
    let mut found = Findings::unknown(format!("{why}; the search had reached depth {depth}"));
    found.report.states = pulse.states.load(Ordering::Relaxed);
    found.report.depth = depth;
    found.report.bytes = pulse.bytes.load(Ordering::Relaxed);
    found
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

/// Which histories are checked, if not all are: completes 'every ... is one of the specification'.
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
