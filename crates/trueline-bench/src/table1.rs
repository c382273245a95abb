//! `table1`: the paper's Table 1 beside ours, and its Figures 4 to 6 (time and memory against
//! processes) as SVG.
//!
//! Rows of register and counter run under PAT's cost of steps, where counts without reduction equal
//! the paper's to the unit; queue, buggy queue and SNZI are models of our own under the default
//! semantics, as the paper's encodings are not known, so that their counts are not comparable. Each
//! cell has limits of its own; one that reaches them shows why. The last column has all reductions
//! on and must be decided.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use trueline::Budget;
use trueline_model::engine::{Options, Verdict, verify};
use trueline_model::{Model, Semantics, library};

use crate::measure::{self, Gauge};
use crate::memory;
use crate::plot::{self, Axis, Chart, Scale, Series};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only rows whose name contains this text: 'counter', '4-valued register, 5'.
    #[arg(long, default_value = "")]
    only: String,
    /// How long a cell may take.
    #[arg(long, default_value = "60s", value_parser = measure::parse_time)]
    timeout: Duration,
    /// How long a cell with all reductions on may take.
    #[arg(long, default_value = "600s", value_parser = measure::parse_time)]
    timeout_all: Duration,
    /// Megabytes that a cell may take.
    #[arg(long, default_value_t = 8000)]
    memory: u64,
    /// Workers.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Where to write the figures; left out: nowhere.
    #[arg(long)]
    figures: Option<PathBuf>,
}

/// A row: what the paper calls it, our model, its settings, and the paper's states and seconds for
/// each column.
struct Row {
    name: &'static str,
    model: &'static str,
    processes: i32,
    settings: &'static [(&'static str, i32)],
    points: bool,
    /// None, symmetry, partial order, both: states and seconds; 0 where the paper ran out of
    /// memory.
    paper: [(u64, f64); 4],
    violation: bool,
}

const fn row(
    name: &'static str,
    model: &'static str,
    processes: i32,
    settings: &'static [(&'static str, i32)],
    paper: [(u64, f64); 4],
) -> Row {
    Row { name, model, processes, settings, points: false, paper, violation: false }
}

const fn points(
    name: &'static str,
    processes: i32,
    settings: &'static [(&'static str, i32)],
    paper: [(u64, f64); 4],
) -> Row {
    Row { name, model: "counter", processes, settings, points: true, paper, violation: false }
}

const OUT: (u64, f64) = (0, 0.0);

const ROWS: &[Row] = &[
    row(
        "4-valued register",
        "register",
        3,
        &[("values", 4)],
        [(9338, 0.40), (4938, 1.46), (2443, 0.38), (1498, 0.36)],
    ),
    row(
        "4-valued register",
        "register",
        4,
        &[("values", 4)],
        [(186_316, 8.96), (36_440, 26.3), (32_222, 5.22), (7845, 4.0)],
    ),
    row(
        "4-valued register",
        "register",
        5,
        &[("values", 4)],
        [(4_032_362, 377.0), (228_560, 717.0), (457_101, 123.0), (33_944, 64.0)],
    ),
    row(
        "4-valued register",
        "register",
        6,
        &[("values", 4)],
        [OUT, (1_292_755, 21_747.0), (7_028_550, 3935.0), (134_461, 1609.0)],
    ),
    row("4-valued register", "register", 7, &[("values", 4)], [OUT, OUT, OUT, (484_723, 53_110.0)]),
    row(
        "3-valued register",
        "register",
        4,
        &[("values", 3)],
        [(52_381, 2.72), (10_764, 7.42), (12_028, 1.63), (3114, 1.27)],
    ),
    row(
        "5-valued register",
        "register",
        4,
        &[("values", 5)],
        [(507_082, 22.7), (96_184, 73.5), (71_021, 12.7), (16_377, 8.66)],
    ),
    row(
        "6-valued register",
        "register",
        4,
        &[("values", 6)],
        [(1_160_625, 49.2), (215_620, 195.0), (138_053, 34.9), (30_636, 19.1)],
    ),
    row(
        "7-valued register",
        "register",
        4,
        &[("values", 7)],
        [(2_352_897, 107.0), (430_595, 370.0), (245_634, 60.8), (52_908, 31.4)],
    ),
    row(
        "counter of size 4",
        "counter",
        3,
        &[("size", 4)],
        [(3674, 0.31), (669, 0.44), (2910, 0.36), (556, 0.30)],
    ),
    row(
        "counter of size 4",
        "counter",
        4,
        &[("size", 4)],
        [(124_558, 7.63), (5935, 6.93), (101_037, 11.8), (4879, 5.59)],
    ),
    row(
        "counter of size 4",
        "counter",
        5,
        &[("size", 4)],
        [(5_970_298, 673.0), (59_977, 409.0), (4_853_123, 1074.0), (53_115, 389.0)],
    ),
    row(
        "counter of size 4",
        "counter",
        6,
        &[("size", 4)],
        [OUT, (694_620, 52_187.0), OUT, (636_815, 53_010.0)],
    ),
    row(
        "counter of size 2",
        "counter",
        5,
        &[("size", 2)],
        [(4_569_968, 490.0), (49_947, 351.0), (3_766_611, 825.0), (42_999, 298.0)],
    ),
    row(
        "counter of size 3",
        "counter",
        5,
        &[("size", 3)],
        [(5_665_598, 637.0), (58_083, 419.0), (4_645_898, 985.0), (51_932, 357.0)],
    ),
    row(
        "counter of size 5",
        "counter",
        5,
        &[("size", 5)],
        [(6_002_458, 659.0), (60_124, 398.0), (4_874_975, 1030.0), (53_670, 391.0)],
    ),
    points(
        "counter of size 4 (points)",
        3,
        &[("size", 4)],
        [(535, 0.06), (114, 0.23), (198, 0.11), (62, 0.04)],
    ),
    points(
        "counter of size 4 (points)",
        4,
        &[("size", 4)],
        [(9165, 0.25), (536, 0.41), (2796, 0.41), (320, 0.28)],
    ),
    points(
        "counter of size 4 (points)",
        5,
        &[("size", 4)],
        [(190_367, 5.40), (2495, 9.13), (52_510, 6.74), (877, 4.79)],
    ),
    points(
        "counter of size 4 (points)",
        6,
        &[("size", 4)],
        [(4_536_325, 147.0), (11_221, 454.0), (1_165_367, 168.0), (4488, 262.0)],
    ),
    points(
        "counter of size 4 (points)",
        7,
        &[("size", 4)],
        [OUT, (48_918, 30_184.0), OUT, (28_652, 27_593.0)],
    ),
    points(
        "counter of size 2 (points)",
        5,
        &[("size", 2)],
        [(175_747, 5.08), (2384, 8.7), (48_604, 6.3), (875, 4.86)],
    ),
    points(
        "counter of size 3 (points)",
        5,
        &[("size", 3)],
        [(189_527, 5.72), (2490, 8.5), (52_270, 6.3), (885, 4.9)],
    ),
    points(
        "counter of size 5 (points)",
        5,
        &[("size", 5)],
        [(190_367, 5.35), (2495, 8.32), (52_510, 6.37), (877, 4.66)],
    ),
    row(
        "queue of size 3",
        "ms-queue",
        3,
        &[("ops", 1), ("values", 3)],
        [(181_591, 10.2), (31_637, 14.6), (76_283, 18.6), (15_267, 8.45)],
    ),
    row(
        "queue of size 3",
        "ms-queue",
        4,
        &[("ops", 1), ("values", 3)],
        [OUT, (1_417_457, 3173.0), OUT, (773_064, 2068.0)],
    ),
    Row {
        name: "buggy queue of size 2",
        model: "shann-queue",
        processes: 3,
        settings: &[("ops", 2)],
        points: false,
        paper: [(86_736, 4.23), (74_920, 33.0), (74_920, 0.93), (477, 0.36)],
        violation: true,
    },
    row(
        "SNZI of size 2",
        "snzi",
        2,
        &[("ops", 2)],
        [(17_629, 0.90), (8824, 1.6), (6406, 1.44), (3461, 1.03)],
    ),
    row("SNZI of size 3", "snzi", 3, &[("ops", 2)], [OUT, OUT, OUT, (3_524_553, 5224.0)]),
];

/// A method: its name and its switches for symmetry, partial order and antichains.
const METHODS: [(&str, bool, bool, bool); 5] = [
    ("none", false, false, false),
    ("symmetry", true, false, false),
    ("por", false, true, false),
    ("both", true, true, false),
    ("all", true, true, true),
];

/// What a cell came to.
#[derive(Clone)]
struct Cell {
    states: u64,
    seconds: f64,
    bytes: usize,
    decided: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "Table 1 of the paper (PAT, 8 cores, 32 GB) beside ours ({} of this machine). states / seconds; - is out of memory there,\n\
         and out of its limits here ({} s, {} MB a cell; {} s with all reductions, antichains among them).\n",
        arguments.threads,
        arguments.timeout.as_secs(),
        arguments.memory,
        arguments.timeout_all.as_secs(),
    );
    println!(
        "{:<27} {:>2}  {:<5} {:>19} {:>19} {:>19} {:>19} {:>19}",
        "algorithm", "n", "", "none", "symmetry", "por", "both", "all"
    );
    let mut results: Vec<(&Row, Vec<Cell>)> = Vec::new();
    let mut failures = 0;
    for row in ROWS {
        if !format!("{}, {}", row.name, row.processes).contains(&arguments.only) {
            continue;
        }
        let cells: anyhow::Result<Vec<Cell>> =
            (0..METHODS.len()).map(|method| cell(row, method, arguments)).collect();
        let cells = cells?;
        let paper = row.paper.iter().map(|p| shown(p.0, p.1, p.0 > 0));
        let ours = cells.iter().map(|c| shown(c.states, c.seconds, c.decided));
        println!("{}", line(row, "paper", paper));
        println!("{}", line(row, "ours", ours));
        let comparable = matches!(row.model, "register" | "counter");
        if comparable && cells[0].decided && row.paper[0].0 > 0 && cells[0].states != row.paper[0].0
        {
            println!("  the count without reduction differs from the paper's");
            failures += 1;
        }
        if cells.last().is_none_or(|c| !c.decided) {
            println!("  not decided with all reductions on");
            failures += 1;
        }
        results.push((row, cells));
    }
    if let Some(folder) = &arguments.figures {
        fs::create_dir_all(folder)?;
        for (number, name) in
            [(4, "4-valued register"), (5, "counter of size 4"), (6, "counter of size 4 (points)")]
        {
            let rows: Vec<&(&Row, Vec<Cell>)> =
                results.iter().filter(|r| r.0.name == name).collect();
            if rows.is_empty() {
                continue;
            }
            let path = folder.join(format!("figure-{number}.svg"));
            fs::write(&path, figure(number, name, &rows))?;
            println!("{}", path.display());
        }
    }
    if failures > 0 {
        bail!("{failures} rows are not as they should be");
    }
    Ok(())
}

fn cell(row: &Row, method: usize, arguments: &Arguments) -> anyhow::Result<Cell> {
    let built_in = library::find(row.model).ok_or_else(|| anyhow!("no model {}", row.model))?;
    let mut model = Model::parse(built_in.source).map_err(|e| anyhow!("{}", e.message()))?;
    for (name, value) in [("procs", row.processes)].iter().chain(row.settings) {
        model.set(name, *value).map_err(|e| anyhow!(e))?;
    }
    let semantics = match row.model {
        "register" | "counter" => Semantics::Pat,
        _ => Semantics::Default,
    };
    let program = model.compile(semantics, row.points).map_err(|e| anyhow!("{}", e.message()))?;
    let (_, symmetry, partial_order, antichain) = METHODS[method];
    let options = Options {
        symmetry,
        partial_order,
        antichain,
        points: row.points,
        threads: arguments.threads,
        ..Options::default()
    };
    let time = if antichain { arguments.timeout_all } else { arguments.timeout };
    memory::reset_peak();
    let before = memory::held();
    let start = Instant::now();
    let budget =
        Budget::unlimited().meter(Gauge(start)).time(time).memory(arguments.memory * 1_000_000);
    let report = verify(&Arc::new(program), &options, &budget);
    let decided = match &report.verdict {
        Verdict::Holds if !row.violation => true,
        Verdict::Violation(_) if row.violation => true,
        Verdict::Undecided(_) => false,
        other => bail!("{} with {} processes: {other:?}", row.name, row.processes),
    };
    let seconds = start.elapsed().as_secs_f64();
    Ok(Cell {
        states: report.counts.states,
        seconds,
        bytes: memory::peak().saturating_sub(before),
        decided,
    })
}

fn shown(states: u64, seconds: f64, decided: bool) -> String {
    if decided { format!("{states} / {seconds:.2}") } else { "-".into() }
}

fn line(row: &Row, whose: &str, cells: impl Iterator<Item = String>) -> String {
    let mut text = match whose {
        "paper" => format!("{:<27} {:>2}  {whose:<5}", row.name, row.processes),
        _ => format!("{:<27} {:>2}  {whose:<5}", "", ""),
    };
    for cell in cells {
        let _ = write!(text, " {cell:>19}");
    }
    text
}

/// Two charts, time and memory against processes, on logarithmic scales; one line a method.
fn figure(number: usize, name: &str, rows: &[&(&Row, Vec<Cell>)]) -> String {
    let chart = |unit: &str, value: &dyn Fn(&Cell) -> f64| {
        let series = |method: usize| {
            let decided = rows.iter().filter(|row| row.1[method].decided);
            let point =
                |row: &&(&Row, Vec<Cell>)| (f64::from(row.0.processes), value(&row.1[method]));
            let points = decided.map(point).collect();
            Series { name: METHODS[method].0.into(), points, joined: true }
        };
        Chart {
            right: Axis { name: "processes".into(), scale: Scale::Whole },
            up: Axis { name: unit.into(), scale: Scale::Logarithmic },
            series: (0..METHODS.len()).map(series).collect(),
            diagonal: false,
        }
    };
    let charts = [
        chart("seconds", &|cell| cell.seconds.max(1e-3)),
        chart("megabytes", &|cell| (cell.bytes as f64 / 1e6).max(1e-2)),
    ];
    plot::svg(&format!("Figure {number}: {name}"), &charts)
}
