//! `roundup`: Tables II, III and V of the paper on Round-Up beside ours, and its Figures 8 and 9 as
//! SVG.
//!
//! Table II asks for linearizability, Tables III and V for quasi linearizability with the factor 2,
//! or 3 where the row says so. A row is timed as it is decided: the whole search, or up to the
//! first violation, found but not made smaller; the least of several runs, as other programs use
//! the machine.
//!
//! **Histories.** A second, untimed search goes on after violations and counts: histories that are
//! one, and all. They differ from the paper's, for three reasons. Our objects are written anew and
//! have other steps, so that other results are possible. One of our histories stands for all
//! executions with these results and this order in real time, and of the orders that schedules of
//! the same steps show only those are taken that demand most; the paper has one for each order of
//! calls and returns. And its tool bounds context switches, as section V-D says, which we do not.
//!
//! **Figures.** Two-phase checking (all sequentializations, all quasi permutations of each) of the
//! rows of Table V, with what was seen before skipped and without: how many permutations, and how
//! long.

mod rows;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, anyhow};
use trueline::spec::{self, Named};
use trueline::{Algorithm, Budget, History};
use trueline_explore::harness::TwoPhase;
use trueline_objects::simulate::{self, Entry, Request, Simulated, Verdict, program};

use crate::plot::{self, Axis, Chart, Scale, Series};
use rows::{ROWS, Row, Table};

/// Times of a row, of which the least counts.
const RUNS: usize = 3;
/// Executions that are looked at for the number of histories.
const SURVEYED: u64 = 20_000;
/// How much faster than the paper a row should be.
const TARGET: f64 = 100.0;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only rows that contain this text: 'k-stack', 'III Quasi Queue'
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Draws Figures 8 and 9 there
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let asked = |row: &&Row| {
        let text =
            format!("{} {} {} {}", row.table.number(), row.class, row.shape.name, row.object);
        text.contains(&arguments.only)
    };
    println!(
        "{:<5} {:<25} {:<7} {:<24} | {:>9} {:>9} {:>8} | {:<9} {:>10} {:>10} {:>10} {:>8}",
        "table",
        "class",
        "calls",
        "our object",
        "violation",
        "histories",
        "seconds",
        "ours",
        "histories",
        "executions",
        "ms",
        "faster"
    );
    let (mut rows, mut same, mut slow) = (0, 0, 0);
    for row in ROWS.iter().filter(asked) {
        let (found, seconds) = timed(row)?;
        let (verdict, agrees) = match &found.verdict {
            Verdict::Holds => ("holds", !row.violation),
            Verdict::Violation(_) => ("violation", row.violation),
            Verdict::Undecided(_) => ("undecided", false),
        };
        let faster = row.seconds / seconds;
        rows += 1;
        same += usize::from(agrees);
        slow += usize::from(faster < TARGET);
        println!(
            "{:<5} {:<25} {:<7} {:<24} | {:>9} {:>9} {:>8.2} | {:<9} {:>10} {:>10} {:>10.3} {:>7.0}x{}{}",
            row.table.number(),
            row.class,
            row.shape.name,
            row.object,
            if row.violation { "YES" } else { "NO" },
            format!("{}/{}", row.histories.0, row.histories.1),
            row.seconds,
            verdict,
            survey(row)?,
            found.counts.executions,
            seconds * 1e3,
            faster,
            if agrees { "" } else { "  DIFFERS" },
            if faster < TARGET { "  SLOW" } else { "" },
        );
    }
    println!(
        "{same} of {rows} rows have the verdict of the paper; {slow} are less than {TARGET} times faster"
    );
    if let Some(folder) = &arguments.figures {
        figures(folder, &asked)?;
    }
    anyhow::ensure!(same == rows, "{} rows differ", rows - same);
    Ok(())
}

/// The object of a row, and what to ask of it.
fn question(row: &Row) -> anyhow::Result<(&'static Entry, Request)> {
    let entry =
        simulate::find(row.object).ok_or_else(|| anyhow!("no object is called {}", row.object))?;
    let methods = entry.methods();
    let [add, take] = &methods[..] else {
        return Err(anyhow!("{} has other methods than add and take", row.object));
    };
    let case = program::case(&row.shape.program(add, take));
    let cases = vec![case.map_err(|e| anyhow!("{}: {e}", row.class))?];
    let spec = match row.factor {
        Some(factor) => entry.displaced_by(factor),
        None => entry.strict(),
    };
    Ok((entry, Request { cases, spec: judge(spec)?, as_found: true, ..Request::default() }))
}

/// The specification of this name.
fn judge(text: Option<String>) -> anyhow::Result<Option<Arc<Named>>> {
    let spec = text.map(|text| spec::named(&text)).transpose().map_err(anyhow::Error::msg)?;
    Ok(spec.map(Arc::new))
}

fn ask(entry: &Entry, request: &Request) -> anyhow::Result<(Simulated, f64)> {
    let start = Instant::now();
    let found = entry.run(request).map_err(|e| anyhow!("{}: {e}", entry.name))?;
    Ok((found, start.elapsed().as_secs_f64()))
}

/// Decides a row several times: what came of it, and the least time.
fn timed(row: &Row) -> anyhow::Result<(Simulated, f64)> {
    let (entry, request) = question(row)?;
    let (found, mut least) = ask(entry, &request)?;
    for _ in 1..RUNS {
        least = least.min(ask(entry, &request)?.1);
    }
    Ok((found, least))
}

/// Histories that are a violation, and all of them; '+' where executions were left out.
fn survey(row: &Row) -> anyhow::Result<String> {
    let (entry, request) = question(row)?;
    let judge = request.spec.clone().ok_or_else(|| anyhow!("{}: no specification", row.class))?;
    let counted = Arc::new(Mutex::new((0u64, 0u64)));
    let counts = Arc::clone(&counted);
    let watch = move |history: &History| {
        let outcome = judge.check(history, Algorithm::Auto, &Budget::unlimited());
        let holds = outcome.is_ok_and(|outcome| outcome.verdict.is_linearizable());
        if let Ok(mut counts) = counts.lock() {
            counts.0 += u64::from(!holds);
            counts.1 += 1;
        }
    };
    let request =
        Request { survey: true, watch: Some(Arc::new(watch)), limit: Some(SURVEYED), ..request };
    let (found, _) = ask(entry, &request)?;
    let cut = if matches!(found.verdict, Verdict::Undecided(_)) { "+" } else { "" };
    let (wrong, all) = *counted.lock().map_err(|_| anyhow!("a history could not be decided"))?;
    Ok(format!("{wrong}/{all}{cut}"))
}

/// Two-phase checking of the rows of Table V, with the paper's optimisations and without.
fn figures(folder: &Path, asked: &dyn Fn(&&Row) -> bool) -> anyhow::Result<()> {
    println!(
        "\n{:<25} {:<24} {:>10} {:>9} | {:>17} {:>12} {:>10} | {:>17} {:>12} {:>10}",
        "two-phase checking",
        "our object",
        "histories",
        "skipped",
        "sequentializations",
        "permutations",
        "ms",
        "without",
        "permutations",
        "ms"
    );
    let (mut permutations, mut times) = (Vec::new(), Vec::new());
    for row in ROWS.iter().filter(|row| row.table == Table::Five).filter(asked) {
        let (entry, request) = question(row)?;
        let factor = row.factor.unwrap_or(0);
        let both = [true, false].map(|skips| {
            let two_phase = Some(TwoPhase { factor, skips, exhaustive: true });
            let request = Request { two_phase, spec: judge(entry.strict())?, ..request.clone() };
            ask(entry, &request)
        });
        let [with, without] = both;
        let ((with, with_s), (without, without_s)) = (with?, without?);
        let (w, o) = (with.counts.enumerated, without.counts.enumerated);
        println!(
            "{:<25} {:<24} {:>10} {:>9} | {:>17} {:>12} {:>10.3} | {:>17} {:>12} {:>10.3}",
            row.class,
            row.object,
            with.counts.histories,
            with.counts.histories - with.counts.checks,
            format!("{} (-{})", w.sequentializations, w.skipped_sequentializations),
            format!("{} (-{})", w.permutations, w.skipped_permutations),
            with_s * 1e3,
            o.sequentializations,
            o.permutations,
            without_s * 1e3,
        );
        let agrees = matches!(with.verdict, Verdict::Violation(_)) == row.violation
            && matches!(without.verdict, Verdict::Violation(_)) == row.violation;
        anyhow::ensure!(agrees, "{}: two-phase checking finds something else", row.class);
        permutations.push((o.permutations as f64, w.permutations as f64));
        times.push((without_s, with_s));
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (number, unit, points) in [(8, "quasi permutations", permutations), (9, "seconds", times)] {
        let axis = |which: &str| Axis {
            name: format!("{unit} {which} the optimisations"),
            scale: Scale::Logarithmic,
        };
        let chart = Chart {
            right: axis("without"),
            up: axis("with"),
            series: vec![Series { name: "rows of Table V".into(), points, joined: false }],
            diagonal: true,
        };
        let path = folder.join(format!("figure-{number}.svg"));
        let title =
            format!("Figure {number} of Round-Up: {unit}, with and without what is skipped");
        fs::write(&path, plot::svg(&title, &[chart]))
            .with_context(|| path.display().to_string())?;
        println!("{}", path.display());
    }
    Ok(())
}
