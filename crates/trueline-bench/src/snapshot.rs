//! `snapshot`: Tables 1 to 4 of *Polynomial-Time Verification and Testing of Implementations of the
//! Snapshot Data Structure* (Amram, Hayoun, Mizrahi, Weiss, DISC 2022) beside ours, and how fast a
//! long simple history is tested.
//!
//! Tables 1 and 2: models with the authors' bugs, and correct ones, in the paper's three modes. The
//! paper gives the largest bound on operations a process under which PAT ended within ten minutes
//! (an hour, for correct ones); ours is the bound that the row names, with no bound where it says
//! ∞, within `--timeout`. As in the paper only pair (0, 1) changes its segments in simple
//! executions, unless `--all-pairs` is given. Tables 3 and 4: the authors' histories, from the
//! corpus, with their measurements. Table 6: Bowman's algorithm unreduced, whose kept states are
//! known.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use trueline::formats::{self, Format, ReadOptions};
use trueline::stream::{Tested, test_actions};
use trueline::{Algorithm, Budget, spec};
use trueline_model::engine::{Options, Simple, Verdict, verify};
use trueline_model::program::Program;
use trueline_model::{Model, Semantics, library};

use crate::measure::{self, Gauge};
use crate::memory;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these tables: 1, 2, 3, 4; 5 is the long history, 6 are Bowman's kept states.
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,4,5,6")]
    tables: Vec<u8>,
    /// Only rows whose name contains this text: 'bowman', 'riany 10'.
    #[arg(long, default_value = "")]
    only: String,
    /// Only these modes of Tables 1 and 2.
    #[arg(long, value_delimiter = ',', default_value = "normal,simple,polynomial")]
    modes: Vec<String>,
    /// How long a cell of Tables 1 and 2 may take.
    #[arg(long, default_value = "60s", value_parser = measure::parse_time)]
    timeout: Duration,
    /// Megabytes that a cell may take.
    #[arg(long, default_value_t = 4000)]
    memory: u64,
    /// Look at all pairs of processes, not only at (0, 1).
    #[arg(long)]
    all_pairs: bool,
    /// Workers.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// The corpus.
    #[arg(long, default_value = "../shared/corpus")]
    corpus: PathBuf,
    /// Actions of the long history.
    #[arg(long, default_value_t = 2_000_000)]
    actions: usize,
}

/// The paper's cell: bound (0 for none), seconds, gigabytes; nothing where it did not end.
type Paper = Option<(u32, f64, f64)>;

/// A row of Table 1 or 2: algorithm, model, processes, our bound (0 for none), the paper's three
/// cells.
struct Row(&'static str, &'static str, i32, i32, [Paper; 3]);

const NO: Paper = None;

/// Shorthand for a cell.
const fn p(bound: u32, seconds: f64, gigabytes: f64) -> Paper {
    Some((bound, seconds, gigabytes))
}

const TABLE_1: [Row; 30] = [
    Row("Bowman", "bowman", 3, 0, [p(0, 11.0, 0.64), p(0, 2.0, 0.1), p(0, 2.0, 0.3)]),
    Row("Jayanti", "jayanti", 3, 2, [p(14, 272.0, 22.8), p(23, 393.0, 25.1), p(3, 72.0, 0.7)]),
    Row("Afek bounded", "afek-bounded", 3, 2, [NO, p(2, 242.0, 1.9), p(2, 417.0, 1.8)]),
    Row(
        "Afek unbounded",
        "afek-unbounded",
        3,
        2,
        [p(2, 50.0, 0.5), p(4, 422.0, 4.3), p(3, 215.0, 1.4)],
    ),
    Row("Riany", "riany", 3, 2, [p(6, 285.0, 4.1), p(9, 445.0, 5.4), p(27, 595.0, 2.0)]),
    Row("Bowman", "bowman", 4, 0, [p(3, 168.0, 12.0), p(0, 60.0, 0.5), p(0, 54.0, 0.6)]),
    Row("Jayanti", "jayanti", 4, 2, [p(3, 149.0, 11.9), p(6, 218.0, 16.0), p(3, 98.0, 0.7)]),
    Row("Afek bounded", "afek-bounded", 4, 2, [NO, p(2, 305.0, 2.0), p(2, 506.0, 2.3)]),
    Row(
        "Afek unbounded",
        "afek-unbounded",
        4,
        2,
        [p(2, 163.0, 2.0), p(4, 522.0, 7.0), p(3, 255.0, 2.1)],
    ),
    Row("Riany", "riany", 4, 2, [p(3, 172.0, 12.1), p(6, 275.0, 17.0), p(24, 512.0, 1.9)]),
    Row("Bowman", "bowman", 5, 0, [p(1, 9.0, 0.4), p(3, 290.0, 18.4), p(40, 575.0, 4.4)]),
    Row("Jayanti", "jayanti", 5, 2, [p(1, 141.0, 0.9), p(3, 253.0, 18.4), p(3, 118.0, 0.7)]),
    Row("Afek bounded", "afek-bounded", 5, 2, [NO, p(2, 417.0, 4.0), NO]),
    Row(
        "Afek unbounded",
        "afek-unbounded",
        5,
        2,
        [p(1, 21.0, 0.4), p(3, 441.0, 18.4), p(3, 298.0, 2.6)],
    ),
    Row("Riany", "riany", 5, 2, [NO, NO, p(23, 579.0, 1.8)]),
    Row("Bowman", "bowman", 6, 0, [p(1, 66.0, 3.8), p(1, 7.0, 0.5), p(35, 507.0, 3.3)]),
    Row("Jayanti", "jayanti", 6, 2, [p(1, 302.0, 4.6), p(2, 590.0, 28.1), p(3, 142.0, 0.7)]),
    Row("Afek bounded", "afek-bounded", 6, 2, [NO, NO, NO]),
    Row(
        "Afek unbounded",
        "afek-unbounded",
        6,
        2,
        [p(1, 95.0, 4.2), p(1, 7.0, 0.5), p(3, 326.0, 2.8)],
    ),
    Row("Riany", "riany", 6, 2, [NO, NO, p(21, 508.0, 2.2)]),
    Row("Bowman", "bowman", 8, 0, [NO, p(1, 288.0, 15.6), p(33, 554.0, 2.7)]),
    Row("Jayanti", "jayanti", 8, 2, [NO, p(1, 386.0, 15.6), p(3, 197.0, 0.7)]),
    Row("Afek bounded", "afek-bounded", 8, 2, [NO, NO, NO]),
    Row("Afek unbounded", "afek-unbounded", 8, 2, [NO, p(1, 256.0, 15.7), p(3, 402.0, 3.2)]),
    Row("Riany", "riany", 8, 2, [NO, NO, p(19, 502.0, 2.2)]),
    Row("Bowman", "bowman", 10, 0, [NO, NO, p(30, 558.0, 2.9)]),
    Row("Jayanti", "jayanti", 10, 2, [NO, NO, p(3, 267.0, 1.1)]),
    Row("Afek bounded", "afek-bounded", 10, 2, [NO, NO, NO]),
    Row("Afek unbounded", "afek-unbounded", 10, 2, [NO, NO, p(3, 491.0, 3.6)]),
    Row("Riany", "riany", 10, 2, [NO, NO, p(18, 586.0, 3.0)]),
];

/// The cells of Afek and Bowman with five and six processes are read from the authors' raw results,
/// as the printed table is ragged.
const TABLE_2: [Row; 13] = [
    Row("Bowman", "bowman", 3, 0, [p(2, 47.0, 0.7), p(0, 3.0, 0.1), p(0, 11.0, 0.1)]),
    Row("Jayanti", "jayanti", 3, 1, [NO, NO, NO]),
    Row("Afek bounded", "afek-bounded", 3, 1, [p(1, 113.0, 1.0), p(1, 15.0, 0.2), p(1, 31.0, 0.3)]),
    Row(
        "Afek unbounded",
        "afek-unbounded",
        3,
        1,
        [p(1, 12.0, 0.2), p(2, 2627.0, 19.5), p(2, 2675.0, 7.5)],
    ),
    Row("Riany", "riany", 3, 1, [NO, NO, NO]),
    Row("Attiya-Welch", "attiya-welch", 3, 1, [NO, NO, NO]),
    Row("Bowman", "bowman", 4, 0, [p(1, 29.0, 0.6), p(0, 134.0, 1.8), p(0, 460.0, 0.7)]),
    Row("Jayanti", "jayanti", 4, 1, [NO, NO, NO]),
    Row("Afek bounded", "afek-bounded", 4, 1, [NO, NO, NO]),
    Row("Afek unbounded", "afek-unbounded", 4, 1, [NO, p(1, 154.0, 1.9), p(1, 269.0, 1.5)]),
    Row("Riany", "riany", 4, 1, [NO, NO, NO]),
    Row("Bowman", "bowman", 5, 1, [NO, p(1, 158.0, 1.4), p(1, 121.0, 0.5)]),
    Row("Bowman", "bowman", 6, 1, [NO, NO, NO]),
];

/// Random runs before the search, where there is a bug to be found.
const BUG_WALKS: u64 = 200_000;

const MODES: [&str; 3] = ["normal", "simple", "polynomial"];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let wants = |table: u8| arguments.tables.contains(&table);
    let mut wrong = 0;
    if wants(1) {
        println!(
            "Table 1: the authors' bugs. bound: seconds, memory; the paper's, then ours; - did not end. Ours starts simple modes with random walks.\n"
        );
        wrong += table(&TABLE_1, true, arguments)?;
    }
    if wants(2) {
        println!("\nTable 2: correct algorithms.\n");
        wrong += table(&TABLE_2, false, arguments)?;
    }
    if wants(3) {
        println!(
            "\nTable 3: testing linearizable simple histories. Median seconds; all of ours end.\n"
        );
        testing("linearizable", arguments)?;
    }
    if wants(4) {
        println!("\nTable 4: testing histories that are not linearizable.\n");
        testing("non_linearizable", arguments)?;
    }
    if wants(5) {
        long(arguments)?;
    }
    if wants(6) {
        wrong += kept_states(arguments)?;
    }
    match wrong {
        0 => Ok(()),
        wrong => bail!("{wrong} cells have another verdict than they should"),
    }
}

fn table(rows: &[Row], has_bug: bool, arguments: &Arguments) -> anyhow::Result<u32> {
    let mut wrong = 0;
    let mut found = 0;
    for Row(name, file, processes, bound, paper) in rows {
        let name = format!("{name} {processes}");
        if !name.to_lowercase().contains(&arguments.only.to_lowercase()) {
            continue;
        }
        let mut line = format!("{name:<19}");
        let mut ended = false;
        for (mode, paper) in MODES.iter().zip(paper) {
            if !arguments.modes.iter().any(|m| m == mode) {
                continue;
            }
            let paper = paper.map_or("-".into(), |(b, seconds, gigabytes)| {
                let b = if b == 0 { "∞".to_string() } else { b.to_string() };
                format!("{b}: {seconds} s, {gigabytes} GB")
            });
            let cell = cell(file, *processes, *bound, has_bug, mode, arguments)?;
            let shown = match &cell {
                Cell::Ended { seconds, bytes, states } => {
                    ended = true;
                    let b = if *bound == 0 { "∞".to_string() } else { bound.to_string() };
                    let megabytes = *bytes as f64 / 1e6;
                    let how = match states {
                        0 => "by a random walk".to_string(),
                        states => format!("{states} states"),
                    };
                    format!("{b}: {seconds:.2} s, {megabytes:.0} MB, {how}")
                }
                Cell::Spent => "-".into(),
                Cell::Wrong(verdict) => {
                    wrong += 1;
                    format!("WRONG: {verdict}")
                }
            };
            line += &format!(" | {mode} {paper:<20} ours {shown:<34}");
        }
        found += u32::from(ended);
        println!("{}", line.trim_end());
    }
    println!("decided in some mode: {found}");
    Ok(wrong)
}

enum Cell {
    Ended { seconds: f64, bytes: usize, states: u64 },
    Spent,
    Wrong(String),
}

fn compile(
    algorithm: &str,
    parameters: &[(&str, i32)],
    semantics: Semantics,
) -> anyhow::Result<Arc<Program>> {
    let file = format!("{algorithm}-snapshot");
    let built_in = library::find(&file).ok_or_else(|| anyhow!("no model is called {file}"))?;
    let mut model =
        Model::parse(built_in.source).map_err(|e| anyhow!("{file}: {}", e.message()))?;
    for (name, value) in parameters {
        model.set(name, *value).map_err(anyhow::Error::msg)?;
    }
    let program = model.compile(semantics, false);
    Ok(Arc::new(program.map_err(|e| anyhow!("{file}: {}", e.message()))?))
}

fn cell(
    file: &str,
    processes: i32,
    bound: i32,
    has_bug: bool,
    mode: &str,
    arguments: &Arguments,
) -> anyhow::Result<Cell> {
    let parameters = [("procs", processes), ("ops", bound), ("bug", i32::from(has_bug))];
    let program = compile(file, &parameters, Semantics::Default)?;
    let pairs = if arguments.all_pairs { Vec::new() } else { vec![(0, 1)] };
    let options = Options {
        threads: arguments.threads,
        simple: (mode != "normal").then(|| Simple {
            automata: mode == "polynomial",
            pairs,
            walks: if has_bug { BUG_WALKS } else { 0 },
            settles_at_scans: false,
        }),
        ..Options::default()
    };
    let start = Instant::now();
    memory::reset_peak();
    let before = memory::held();
    let budget = Budget::unlimited().meter(Gauge(start)).time(arguments.timeout);
    let budget = budget.memory(arguments.memory * 1_000_000);
    let report = verify(&program, &options, &budget);
    let (seconds, bytes) = (start.elapsed().as_secs_f64(), memory::peak() - before);
    let states = report.counts.states;
    Ok(match (report.verdict, has_bug) {
        (Verdict::Holds, false) | (Verdict::Violation(_), true) => {
            Cell::Ended { seconds, bytes, states }
        }
        (Verdict::Undecided(_), _) => Cell::Spent,
        (Verdict::Holds, true) => Cell::Wrong("the bug was not found".into()),
        (verdict, _) => Cell::Wrong(format!("{verdict:?}").chars().take(200).collect()),
    })
}

/// The authors' medians and shares by (processes, operations, tool), from their raw results.
fn authors(corpus: &Path, kind: &str) -> anyhow::Result<BTreeMap<(u32, u32, String), Vec<f64>>> {
    let path = corpus.join("snapshot-testing-results.csv");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut all: BTreeMap<(u32, u32, String), Vec<f64>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() < 8 || fields[1] != kind || fields[7] != "1" {
            continue;
        }
        let (Ok(processes), Ok(operations)) = (fields[2].parse(), fields[3].parse()) else {
            continue;
        };
        if let Ok(seconds) = fields[5].parse() {
            all.entry((processes, operations, fields[0].to_string())).or_default().push(seconds);
        }
    }
    Ok(all)
}

fn testing(kind: &str, arguments: &Arguments) -> anyhow::Result<()> {
    let authors = authors(&arguments.corpus, kind)?;
    let folder = arguments.corpus.join("snapshot");
    let spec = spec::named("snapshot").map_err(anyhow::Error::msg)?;
    let mut ours: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        files.push(entry?.path());
    }
    files.sort();
    let (mut count, mut wrong) = (0, 0);
    let started = Instant::now();
    for file in files {
        let name = file.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_string();
        let Some(rest) = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-')) else {
            continue;
        };
        let numbers: Vec<u32> = rest.split('-').filter_map(|n| n.parse().ok()).collect();
        let [processes, operations, _] = numbers[..] else { continue };
        let bytes = fs::read(&file)?;
        let start = Instant::now();
        let options =
            ReadOptions { format: Some(Format::SnapshotActions), ..ReadOptions::default() };
        let (history, _) =
            formats::read(&bytes[..], &options).map_err(|e| anyhow!("{name}: {e}"))?;
        let outcome = spec.check(&history, Algorithm::Auto, &Budget::unlimited());
        let outcome = outcome.map_err(|e| anyhow!("{name}: {e}"))?;
        let seconds = start.elapsed().as_secs_f64();
        ours.entry((processes, operations)).or_default().push(seconds);
        count += 1;
        wrong += u32::from(outcome.verdict.is_linearizable() != (kind == "linearizable"));
    }
    let all = started.elapsed().as_secs_f64();
    println!(
        "processes  operations  paper       Lowe (share that ended)  ours        histories here"
    );
    for ((processes, operations), times) in &ours {
        let of = |tool: &str| authors.get(&(*processes, *operations, tool.to_string()));
        let median = |tool: &str| {
            of(tool).map_or("-".into(), |t| measure::seconds(measure::median(t.clone())))
        };
        let share = of("lowe")
            .map_or(0.0, |t| 100.0 * t.len() as f64 / of("us").map_or(25, Vec::len) as f64);
        println!(
            "{processes:>9}  {operations:>10}  {:<10}  {:<10} {share:>4.0} %        {:<10}  {}",
            median("us"),
            median("lowe"),
            measure::seconds(measure::median(times.clone())),
            times.len()
        );
    }
    println!("{count} histories in {}, {wrong} wrong", measure::seconds(all));
    if wrong > 0 {
        bail!("{wrong} histories have another verdict than stated")
    }
    Ok(())
}

/// A simple history of so many actions of 20 processes, as text: an atomic object, each operation
/// taking effect at once.
fn simple_history(actions: usize) -> Vec<u8> {
    const PROCESSES: usize = 20;
    let mut text = Vec::with_capacity(actions * 24);
    let mut seed = 7u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % below
    };
    let mut held = [0u8; PROCESSES];
    // What each process does: nothing, an update of this value, a scan with what it saw.
    let mut open: Vec<Option<(bool, [u8; PROCESSES], u8)>> = vec![None; PROCESSES];
    for done in 0..actions {
        let process = random(PROCESSES as u64) as usize;
        match open[process].take() {
            None if random(2) == 0 => {
                let changes = process < 2 && (held[process] == 1 || done > actions / 2);
                let value = u8::from(changes);
                text.extend_from_slice(format!("startUpdate!{process},{value};").as_bytes());
                held[process] = value;
                open[process] = Some((true, held, value));
            }
            None => {
                text.extend_from_slice(format!("startScan!{process};").as_bytes());
                open[process] = Some((false, held, 0));
            }
            Some((true, _, value)) => {
                text.extend_from_slice(format!("endUpdate!{process},{value};").as_bytes());
            }
            Some((false, seen, _)) => {
                text.extend_from_slice(format!("endScan!{process}").as_bytes());
                for value in seen {
                    text.extend_from_slice(&[b',', b'0' + value]);
                }
                text.push(b';');
            }
        }
    }
    text
}

fn long(arguments: &Arguments) -> anyhow::Result<()> {
    println!("\nA long simple history of 20 processes, tested online from its text.\n");
    for actions in [arguments.actions / 10, arguments.actions] {
        let text = simple_history(actions);
        let before = memory::held();
        memory::reset_peak();
        let start = Instant::now();
        let (tested, tally) = test_actions(&text[..]).map_err(|e| anyhow!("{e}"))?;
        let seconds = start.elapsed().as_secs_f64();
        let kilobytes = (memory::peak() - before) as f64 / 1000.0;
        if !matches!(tested, Tested::Linearizable) {
            bail!("the history is linearizable, and was found to be {tested:?}");
        }
        println!(
            "{} actions, {} bytes: {}, {} actions a second, {kilobytes:.0} kB held at most",
            tally.events,
            text.len(),
            measure::seconds(seconds),
            measure::large(tally.events as f64 / seconds)
        );
    }
    Ok(())
}

/// Bowman's algorithm with PAT's steps and antichains alone, in all histories and in simple ones:
/// processes, operations each (0: no bound), and the states that such a search is known to keep.
fn kept_states(arguments: &Arguments) -> anyhow::Result<u32> {
    println!("\nBowman's snapshot without reductions: kept states.\n");
    let mut wrong = 0;
    let rows = [
        (3, 1, false, 22_092),
        (3, 2, false, 2_267_272),
        (4, 1, false, 1_300_619),
        (3, 0, true, 109_152),
        (4, 0, true, 2_856_435),
    ];
    for (processes, bound, simple, known) in rows {
        let steps = if simple { 2 } else { 1 };
        let parameters = [("procs", processes), ("ops", bound), ("pat", steps)];
        let program = compile("bowman", &parameters, Semantics::Pat)?;
        let simple = simple.then(|| Simple {
            pairs: vec![(0, 1)],
            settles_at_scans: true,
            ..Simple::default()
        });
        let histories = if simple.is_some() { "simple" } else { "all" };
        let options =
            Options { antichain: true, simple, threads: arguments.threads, ..Options::plain() };
        let start = Instant::now();
        let report = verify(&program, &options, &Budget::unlimited());
        let agrees = report.counts.states == known && matches!(report.verdict, Verdict::Holds);
        wrong += u32::from(!agrees);
        println!(
            "{histories:<7} {processes} processes, {} operations each: {:>9} states, known {known:>9}, {:.2} s{}",
            if bound == 0 { "unbounded".to_string() } else { bound.to_string() },
            report.counts.states,
            start.elapsed().as_secs_f64(),
            if agrees { "" } else { "  DIFFERS" }
        );
    }
    Ok(wrong)
}
