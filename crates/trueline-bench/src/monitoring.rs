//! `monitoring`: the experiments of Emmi, Enea and Hamza (PLDI 2015) with our algorithms.
//!
//! Figure 12: how many steps of histories of an atomic stack each algorithm processes within a time
//! limit, on histories that we generate, as theirs are not public. Tables 1 and 2: how far each
//! comes, and which violations it sees, on very concurrent and on nearly sequential histories of
//! queues, on the part of their files that the corpus has. A step is a call or a return. Limits are
//! shorter than theirs by default: machines are faster, and the slow algorithms are exponential.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use trueline::budget::Meter;
use trueline::formats::{self, ReadOptions};
use trueline::generate::Plan;
use trueline::papers::{Enumerate, Options, Symbolic};
use trueline::saturate::{Online, Saturate, Stop};
use trueline::spec::{self, Named};
use trueline::theory::{Event, Object};
use trueline::{Algorithm, Budget, History, Value};

use crate::measure;
use crate::plot::{self, Axis, Chart, Scale, Series};

/// How often a time is measured.
const RUNS: usize = 5;
/// A thousandth of the paper's 5 s, in seconds.
const TARGET: f64 = 0.005;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder of the authors' histories.
    #[arg(long, default_value = "../shared/corpus/violin")]
    corpus: PathBuf,
    /// The time limits of Figure 12, ascending.
    #[arg(long, value_delimiter = ',', default_value = "50ms,250ms,500ms,750ms,1s", value_parser = measure::parse_time)]
    limits: Vec<Duration>,
    /// The time limit a history of the tables.
    #[arg(long, default_value = "100ms", value_parser = measure::parse_time)]
    timeout: Duration,
    /// How many stacks Figure 12 has.
    #[arg(long, default_value_t = 10)]
    stacks: u64,
    /// Where to draw Figure 12, as SVG; left out: it is not drawn.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// The algorithms and flags of the paper's tables, and those of Figure 12 besides.
const ALGORITHMS: [(&str, &str); 11] = [
    ("enumerate", ""),
    ("enumerate", "c"),
    ("symbolic", ""),
    ("symbolic", "r"),
    ("symbolic", "i"),
    ("symbolic", "c"),
    ("symbolic", "c,i"),
    ("symbolic", "i,r"),
    ("symbolic", "c,i,r"),
    ("saturate", ""),
    ("saturate", "r"),
];

/// What the paper's Table 1 says: average steps, violations of 4. In the order of [`ALGORITHMS`].
const TABLE_1: [Option<(f64, &str)>; 11] = [
    Some((35.0, "0/4")),
    Some((38.0, "0/4")),
    Some((52.0, "3/4")),
    Some((52.0, "3/4")),
    Some((51.0, "3/4")),
    Some((38.0, "0/4")),
    Some((38.0, "0/4")),
    None,
    None,
    Some((100.0, "4/4")),
    Some((100.0, "4/4")),
];

/// What the paper's Table 2 says: violations in per cent, average step. In the order of
/// [`ALGORITHMS`].
const TABLE_2: [Option<(&str, f64)>; 11] = [
    Some(("55%", 23.8)),
    Some(("88%", 23.8)),
    Some(("75%", 23.8)),
    Some(("78%", 23.8)),
    Some(("90%", 23.8)),
    Some(("100%", 23.8)),
    Some(("100%", 23.8)),
    None,
    None,
    Some(("100%", 24.2)),
    Some(("100%", 24.2)),
];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let slowest = figure_12(arguments)?;
    let met = slowest.is_some_and(|seconds| seconds <= TARGET);
    let stacks = format!(
        "saturate r processes the slowest stack in {} ms (target {} ms: {})",
        slowest
            .map_or("more than its limit".to_string(), |seconds| format!("{:.2}", seconds * 1e3)),
        TARGET * 1e3,
        if met { "met" } else { "missed" }
    );
    let tables = arguments.corpus.join("pldi15-tables");
    if !tables.is_dir() {
        println!("\n{}: not there, so no tables", tables.display());
        println!("\nmonitoring: {stacks}");
        return Ok(());
    }
    let first = table_1(arguments, &tables)?;
    let second = table_2(arguments, &tables)?;
    println!("\nmonitoring: {stacks}; saturate r sees {first} and {second} of the tables");
    Ok(())
}

/// A history in the words of its theory.
struct Log {
    name: String,
    object: Object,
    initial: Vec<Value>,
    events: Vec<Event>,
    /// What an exact checker says.
    is_violation: bool,
}

impl Log {
    fn new(name: String, spec: &Named, history: &History) -> anyhow::Result<Log> {
        let told = spec.events(history).map_err(|e| anyhow!("{name}: {e}"))?;
        let outcome = spec.check(history, Algorithm::Auto, &Budget::unlimited());
        let outcome = outcome.map_err(|e| anyhow!("{name}: {e}"))?;
        let (object, initial, events) = told;
        Ok(Log { name, object, initial, events, is_violation: outcome.verdict.is_violation() })
    }

    fn read(file: &Path, spec: &Named) -> anyhow::Result<Log> {
        let name = file.display().to_string();
        let opened = fs::File::open(file).with_context(|| name.clone())?;
        let read = formats::read(opened, &ReadOptions::default());
        let (history, _) = read.map_err(|e| anyhow!("{name}:{e}"))?;
        Log::new(name, spec, &history)
    }
}

/// How far an algorithm came.
struct Run {
    /// Steps that it processed: answered in time.
    steps: u64,
    seconds: f64,
    /// Steps processed at each time limit.
    at: Vec<u64>,
    violation: Option<u64>,
}

struct Clock(Instant);

impl Meter for Clock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Tells a history to an algorithm until it sees a violation or the last limit is over.
fn process(
    (algorithm, letters): (&str, &str),
    log: &Log,
    limits: &[Duration],
) -> anyhow::Result<Run> {
    let options: Options = letters.parse()?;
    let last = limits.last().copied().unwrap_or_default();
    let budget = Budget::unlimited().time(last).meter(Clock(Instant::now()));
    let (object, initial) = (log.object, log.initial.as_slice());
    let mut monitor: Box<dyn Online + '_> = match algorithm {
        "enumerate" => Box::new(Enumerate::new(object, options, &budget).holding(initial)),
        "symbolic" => Box::new(Symbolic::new(object, options, &budget).holding(initial)),
        _ => {
            let monitor = Saturate::new(object).holding(initial);
            Box::new(if options.removal { monitor.forgetting() } else { monitor })
        }
    };
    let start = Instant::now();
    let mut run = Run { steps: 0, seconds: 0.0, at: vec![0; limits.len()], violation: None };
    for event in &log.events {
        let told = match &event.result {
            None => monitor.call(event.operation.into(), event.method, &event.argument),
            Some(result) => monitor.returned(event.operation.into(), result),
        };
        let elapsed = start.elapsed();
        match told {
            Ok(()) => {}
            Err(Stop::Violation(why)) => run.violation = Some(why.step),
            Err(Stop::Exhausted(_)) => break,
            Err(Stop::Unfit(why)) => return Err(anyhow!("{}: {why}", log.name)),
        }
        if elapsed > last {
            break;
        }
        run.steps += 1;
        run.seconds = elapsed.as_secs_f64();
        for (at, limit) in run.at.iter_mut().zip(limits) {
            *at += u64::from(elapsed <= *limit);
        }
        if run.violation.is_some() {
            break;
        }
    }
    Ok(run)
}

/// The time in which `saturate r` processed the slowest stack, in seconds.
fn figure_12(arguments: &Arguments) -> anyhow::Result<Option<f64>> {
    let stack = spec::named("stack").map_err(|e| anyhow!(e))?;
    let mut logs = Vec::new();
    for seed in 1..=arguments.stacks {
        let plan = Plan { operations: 510, processes: 4, seed, ..Plan::default() };
        let history = stack.generate(&plan).map_err(|e| anyhow!(e))?;
        logs.push(Log::new(format!("generated stack {seed}"), &stack, &history)?);
    }
    let shared = arguments.corpus.join("histories/generated/my-sync-stack.2.log");
    let shared = if shared.is_file() { Some(Log::read(&shared, &stack)?) } else { None };
    let limits = &arguments.limits;
    println!(
        "Figure 12: steps processed within a time limit a history, averaged over {} stacks of 1020 steps (4 processes,\n\
         generated). The paper: limits of 5 s to 100 s; ENUMERATE 16 to 18 steps, SYMBOLIC 31.6 to 52.7, SATURATE 307.7\n\
         to 744.6, SATURATE -r all in under 5 s.\n",
        logs.len()
    );
    print!("{:<18}", "algorithm");
    for limit in limits {
        print!(" {:>9}", format!("{:?}", limit));
    }
    println!(" {:>12}", "ms for all");
    let mut lines = Vec::new();
    // Of the last algorithm, which forgets most.
    let mut fastest = None;
    for algorithm in ALGORITHMS {
        let runs: Vec<Run> =
            logs.iter().map(|log| process(algorithm, log, limits)).collect::<Result<_, _>>()?;
        let average = |i: usize| {
            runs.iter().map(|run| run.at[i]).sum::<u64>() as f64 / runs.len().max(1) as f64
        };
        print!("{:<18}", name(algorithm));
        let points: Vec<(f64, f64)> =
            limits.iter().enumerate().map(|(i, t)| (average(i), t.as_secs_f64())).collect();
        for (steps, _) in &points {
            print!(" {steps:>9.1}");
        }
        let all = runs.iter().zip(&logs).all(|(run, log)| run.steps == log.events.len() as u64);
        if all {
            let mut slowest: f64 = 0.0;
            for (first, log) in runs.iter().zip(&logs) {
                slowest = slowest.max(best(first.seconds, algorithm, log, limits)?);
            }
            println!(" {:>12}", format!("<= {:.2}", slowest * 1e3));
            fastest = Some(slowest);
        } else {
            println!();
        }
        lines.push((name(algorithm), points));
    }
    if let Some(log) = &shared {
        let mut one = process(("saturate", "r"), log, limits)?;
        one.seconds = best(one.seconds, ("saturate", "r"), log, limits)?;
        println!(
            "\nthe shared stack of {} steps, saturate r: {} steps in {:.2} ms, {}; the paper's limit is 5 s",
            log.events.len(),
            one.steps,
            one.seconds * 1e3,
            match one.violation {
                Some(step) => format!("a violation at step {step}"),
                None => "no violation".to_string(),
            }
        );
    }
    if let Some(file) = &arguments.svg {
        let title = "Steps processed within a time limit (Figure 12)";
        let series = lines.iter().map(|(name, points)| Series {
            name: name.clone(),
            points: points.clone(),
            joined: true,
        });
        let chart = Chart {
            right: Axis { name: "steps processed".into(), scale: Scale::Logarithmic },
            up: Axis { name: "seconds".into(), scale: Scale::Linear },
            series: series.collect(),
            diagonal: false,
        };
        fs::write(file, plot::svg(title, &[chart])).with_context(|| file.display().to_string())?;
        println!("drawn in {}", file.display());
    }
    Ok(fastest)
}

/// The best time of several runs: others use the machine, too.
fn best(
    first: f64,
    algorithm: (&str, &str),
    log: &Log,
    limits: &[Duration],
) -> anyhow::Result<f64> {
    (1..RUNS).try_fold(first, |best, _| Ok(best.min(process(algorithm, log, limits)?.seconds)))
}

/// How many violations of how many `saturate r` saw.
fn table_1(arguments: &Arguments, tables: &Path) -> anyhow::Result<String> {
    let logs = folders(tables, &["msq-very-concurrent", "bkq-very-concurrent"])?;
    let violations = logs.iter().filter(|log| log.is_violation).count();
    println!(
        "\nTable 1: {} very concurrent histories of queues, {violations} of them violations; {:?} a history. In brackets the\n\
         paper's, of 200 histories, 4 of them violations, in 5 s.\n",
        logs.len(),
        arguments.timeout
    );
    println!(
        "{:<18} {:>10} {:>8} {:>13} {:>12} {:>8} {:>9}",
        "algorithm", "avg steps", "", "avg time viol", "violations", "", "invented"
    );
    let mut last = String::new();
    for (i, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let tally = Tally::of(algorithm, &logs, arguments.timeout)?;
        let (steps, found) = match TABLE_1[i] {
            Some((steps, found)) => (format!("({steps})"), format!("({found})")),
            None => Default::default(),
        };
        println!(
            "{:<18} {:>10.1} {steps:>8} {:>13} {:>12} {found:>8} {:>9}",
            name(algorithm),
            tally.average_steps,
            tally.average_time.map_or("-".to_string(), |s| format!("{:.2} ms", s * 1e3)),
            format!("{}/{violations}", tally.found),
            tally.invented,
        );
        last = format!("{}/{violations}", tally.found);
    }
    Ok(last)
}

/// How many violations of how many `saturate r` saw.
fn table_2(arguments: &Arguments, tables: &Path) -> anyhow::Result<String> {
    let logs = folders(tables, &["bkq-almost-sequential"])?;
    let violations = logs.iter().filter(|log| log.is_violation).count();
    println!(
        "\nTable 2: {} nearly sequential histories of a reordering queue, {violations} of them violations; {:?} a history. In\n\
         brackets the paper's, of 100 histories in 5 s.\n",
        logs.len(),
        arguments.timeout
    );
    println!(
        "{:<18} {:>12} {:>8} {:>10} {:>8} {:>9}",
        "algorithm", "violations", "", "avg step", "", "invented"
    );
    let mut last = String::new();
    for (i, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let tally = Tally::of(algorithm, &logs, arguments.timeout)?;
        let (found, step) = match TABLE_2[i] {
            Some((found, step)) => (format!("({found})"), format!("({step})")),
            None => Default::default(),
        };
        println!(
            "{:<18} {:>12} {found:>8} {:>10} {step:>8} {:>9}",
            name(algorithm),
            format!("{}/{violations}", tally.found),
            tally.average_step.map_or("-".to_string(), |step| format!("{step:.1}")),
            tally.invented,
        );
        last = format!("{}/{violations}", tally.found);
    }
    Ok(last)
}

/// What an algorithm makes of some histories.
struct Tally {
    average_steps: f64,
    /// Until a violation was seen, in seconds.
    average_time: Option<f64>,
    average_step: Option<f64>,
    found: usize,
    /// Violations that an exact checker denies.
    invented: usize,
}

impl Tally {
    fn of(algorithm: (&str, &str), logs: &[Log], timeout: Duration) -> anyhow::Result<Tally> {
        let runs: Vec<Run> =
            logs.iter().map(|log| process(algorithm, log, &[timeout])).collect::<Result<_, _>>()?;
        // Steps that a violation spares count as processed.
        let steps = |(run, log): (&Run, &Log)| match run.violation {
            Some(_) => log.events.len() as u64,
            None => run.steps,
        };
        let seen: Vec<(&Run, &Log)> =
            runs.iter().zip(logs).filter(|(run, _)| run.violation.is_some()).collect();
        let average = |numbers: Vec<f64>| {
            (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
        };
        Ok(Tally {
            average_steps: average(runs.iter().zip(logs).map(|pair| steps(pair) as f64).collect())
                .unwrap_or(0.0),
            average_time: average(seen.iter().map(|(run, _)| run.seconds).collect()),
            average_step: average(
                seen.iter().filter_map(|(run, _)| run.violation).map(|step| step as f64).collect(),
            ),
            found: seen.iter().filter(|(_, log)| log.is_violation).count(),
            invented: seen.iter().filter(|(_, log)| !log.is_violation).count(),
        })
    }
}

/// The histories in these folders, by name.
fn folders(tables: &Path, names: &[&str]) -> anyhow::Result<Vec<Log>> {
    let queue = spec::named("queue").map_err(|e| anyhow!(e))?;
    let mut logs = Vec::new();
    for name in names {
        let folder = tables.join(name);
        let listed = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut files: Vec<PathBuf> =
            listed.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "log")) {
            logs.push(Log::read(file, &queue)?);
        }
    }
    Ok(logs)
}

fn name((algorithm, letters): (&str, &str)) -> String {
    if letters.is_empty() { algorithm.to_string() } else { format!("{algorithm} {letters}") }
}
