//! `trueline verify`: models in, verdicts out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use std::{fs, thread};

use trueline::Budget;
use trueline_model::engine::{self, Options, Property, Simple, Verdict};
use trueline_model::program::Program;
use trueline_model::{Model, Semantics, interpret, library, report};
use trueline_report::{Look, bytes, count};

use crate::again::{self, Again};
use crate::args::{Histories, Reduction, SemanticsArg, Switch, VerifyArgs};
use crate::exit::Exit;
use crate::output::{self, Output, complain};
use crate::progress;

pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    if args.models.len() > 1 && (args.checkpoint.is_some() || args.resume.is_some()) {
        anyhow::bail!("a checkpoint is of one model: --checkpoint and --resume take one MODEL");
    }
    let mut out = Output::new();
    let mut exit = Exit::Holds;
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
    let budget = args.limits.limits().budget();
    let options = options(args);
    let pulse = options.pulse.clone();
    let say = || {
        let states = pulse.states.load(Ordering::Relaxed);
        let rate = states as f64 / budget.elapsed().as_secs_f64().max(1e-3);
        let depth = pulse.depth.load(Ordering::Relaxed);
        let memory = bytes(pulse.bytes.load(Ordering::Relaxed));
        let states = count(states, "state");
        format!("verifying, {states}, {} a second, depth {depth}, {memory}, {name}", rate as u64)
    };
    let verified = progress::during(say, || engine::verify(&program, &options, &budget));
    if let Verdict::Refused(why) = &verified.verdict {
        return Err(format!("{name}: {why}"));
    }
    let mut found = Vec::new();
    if args.progress && !matches!(verified.verdict, Verdict::Violation(_)) {
        let say = || format!("checking progress, {name}");
        found = progress::during(say, || check_progress(&model, &program, &budget));
    }
    // A counterexample is shown only after the interpreter, which shares nothing with the engine, has accepted it.
    if let Verdict::Violation(found) = &verified.verdict {
        interpret::replay(&model, semantics, &program, found).map_err(|error| {
            format!("{name}: a counterexample was found and not accepted: {error}")
        })?;
    }
    let settings: Vec<(String, i32)> =
        model.parameters().iter().map(|p| (p.name.clone(), p.value)).collect();
    let again = again(name, args);
    let unchecked = if found.is_empty() { model.properties() } else { Vec::new() };
    let restriction = restriction(args);
    let case = report::Case {
        file: name,
        settings: &settings,
        program: &program,
        report: &verified,
        restriction: restriction.as_deref(),
        progress: &found,
        unchecked: &unchecked,
        unchecked_because: match args.progress {
            true => "a violation was found before",
            false => "--progress checks what the model declares as a property",
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
