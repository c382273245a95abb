//! Programs whose numbers of graphs are known: of the literature, and the rows of a table that
//! brute force made.

use std::collections::BTreeSet;
use std::path::Path;

use trueline_explore::weak::{Turn, sample};

use super::oracle::{self, Model};
use super::program::Litmus;
use super::{all_graphs, graphs_of_workers, outcome, sequential};

const TURNS: [Turn; 3] = [Turn::First, Turn::Last, Turn::Random(1)];

/// Programs with their numbers of graphs under RC11 and under sequential consistency.
#[rustfmt::skip]
const KNOWN: &[(&str, usize, usize)] = &[
    // Store buffering.
    ("x.rlx=1; a=y.rlx || y.rlx=1; b=x.rlx", 4, 3),
    ("x.rel=1; a=y.acq || y.rel=1; b=x.acq", 4, 3),
    ("x.sc=1; a=y.sc || y.sc=1; b=x.sc", 3, 3),
    ("x.rlx=1; fence.sc; a=y.rlx || y.rlx=1; fence.sc; b=x.rlx", 3, 3),
    ("x.sc=1; a=y.sc || y.sc=1; b=x.acq", 4, 3),
    ("x.rel=1; a=x.sc; b=y.sc || y.rel=1; c=y.sc; d=x.sc", 4, 3),
    // Message passing.
    ("x.rlx=1; y.rlx=1 || a=y.rlx; b=x.rlx", 4, 3),
    ("x.rlx=1; y.rel=1 || a=y.acq; b=x.rlx", 3, 3),
    ("x.rlx=1; fence.rel; y.rlx=1 || a=y.rlx; fence.acq; b=x.rlx", 3, 3),
    // Load buffering, which RC11 forbids.
    ("a=x.rlx; y.rlx=1 || b=y.rlx; x.rlx=1", 3, 3),
    // S, R, 2+2W.
    ("x.rlx=2; y.rlx=1 || a=y.rlx; x.rlx=1", 4, 3),
    ("x.rlx=2; y.rel=1 || a=y.acq; x.rlx=1", 3, 3),
    ("x.rlx=1; y.rlx=1 || y.rlx=2; a=x.rlx", 4, 3),
    ("x.sc=1; y.sc=1 || y.sc=2; a=x.sc", 3, 3),
    ("x.rlx=1; y.rlx=2 || y.rlx=1; x.rlx=2", 4, 3),
    ("x.sc=1; y.sc=2 || y.sc=1; x.sc=2", 3, 3),
    // Independent reads of independent writes.
    ("x.rlx=1 || y.rlx=1 || a=x.rlx; b=y.rlx || c=y.rlx; d=x.rlx", 16, 15),
    ("x.sc=1 || y.sc=1 || a=x.sc; b=y.sc || c=y.sc; d=x.sc", 15, 15),
    ("x.sc=1 || y.sc=1 || a=x.acq; b=y.sc || c=y.acq; d=x.sc", 16, 15),
    // Causality over three threads.
    ("x.rlx=1 || a=x.rlx; y.rlx=1 || b=y.rlx; c=x.rlx", 8, 7),
    ("x.rlx=1; y.rlx=1 || a=y.rlx; z.rlx=1 || b=z.rlx; c=x.rlx", 8, 7),
    ("x.rlx=1 || a=x.rlx; fence.sc; b=y.rlx || y.rlx=1; fence.sc; c=x.rlx", 7, 7),
    ("x.sc=1; y.rel=1 || a=y.add.sc(1); b=y.rlx || y.sc=3; c=x.sc", 24, 18),
    ("a=x.acq; b=y.sc || x.sc=1; x.sc=2 || y.sc=1; c=x.sc", 17, 15),
    // One location.
    ("x.rlx=1 || x.rlx=2 || a=x.rlx; b=x.rlx || c=x.rlx; d=x.rlx", 72, 72),
    ("x.rlx=1 || x.rlx=2 || x.rlx=3 || a=x.rlx; b=x.rlx; c=x.rlx; d=x.rlx", 210, 210),
    ("a=x.add.rlx(1) || b=x.add.rlx(1)", 2, 2),
    ("a=x.add.rlx(1) || b=x.add.rlx(1) || c=x.add.rlx(1)", 6, 6),
    ("a=x.add.rlx(1) || b=x.add.rlx(1) || c=x.rlx; d=x.rlx || x.rlx=5 || e=x.rlx; f=x.rlx", 600, 600),
];

/// Checks the counts under all schedules; yields the outcomes.
#[track_caller]
fn check(name: &str, text: &str, rc11: usize, sc: usize, race: Option<bool>) -> BTreeSet<String> {
    let mut litmus = Litmus::new(text);
    let mut outcomes = None;
    for awaits in [true, false] {
        litmus.awaits = awaits;
        let one = all_graphs(&litmus, Turn::First).graphs;
        for workers in [1, 2, 4] {
            assert_eq!(graphs_of_workers(&litmus, workers), one, "{name}, {workers} workers");
        }
        for turn in TURNS {
            let found = all_graphs(&litmus, turn);
            assert_eq!(found.graphs.len(), rc11, "{name}, {turn:?}, RC11: {text}");
            assert_eq!(found.sequential, sc, "{name}, {turn:?}, orders without late steps");
            if ["add", "swap", "cas", "assume"].iter().all(|word| !text.contains(word)) {
                let summary = found.summary;
                assert_eq!((summary.blocked, summary.dead_ends), (0, 0), "{name}: {text}");
            }
            assert!(race.is_none_or(|race| race == found.race), "{name}: a race: {}", found.race);
            let before = outcomes.get_or_insert_with(|| found.outcomes.clone());
            assert_eq!(*before, found.outcomes, "{name}, {turn:?}");
            let found = all_graphs(&sequential(&litmus), turn);
            assert_eq!(found.graphs.len(), sc, "{name}, {turn:?}, all SeqCst: {text}");
        }
    }
    outcomes.expect("there was a schedule")
}

/// The sampler must reach every outcome and no other.
#[track_caller]
fn check_samples(name: &str, text: &str, expected: &BTreeSet<String>) {
    let litmus = Litmus::new(text);
    let mut reached = BTreeSet::new();
    let most = 200_000;
    for seed in 0..most {
        // After all were reached, some more are drawn to see whether there are others.
        if seed >= 200 && reached.len() == expected.len() {
            break;
        }
        if let Some(graph) = sample(&litmus, seed) {
            let outcome = outcome(&litmus, &graph);
            assert!(expected.contains(&outcome), "{name}, seed {seed}: {outcome}");
            reached.insert(outcome);
        }
    }
    let missed: Vec<&String> = expected.difference(&reached).collect();
    assert!(missed.is_empty(), "{name}: not reached in {most} samples: {missed:?}");
}

#[test]
fn known_programs_have_as_many_graphs_as_is_known() {
    for &(text, rc11, sc) in KNOWN {
        let outcomes = check(text, text, rc11, sc, None);
        check_samples(text, text, &outcomes);
    }
}

#[test]
fn brute_force_counts_the_same_for_known_programs() {
    for &(text, rc11, sc) in KNOWN {
        let litmus = Litmus::new(text);
        if oracle::combinations(&litmus).is_none_or(|count| count > 2000) {
            continue;
        }
        assert_eq!(oracle::check(&litmus, Model::Rc11).count, rc11, "{text}");
        assert_eq!(oracle::check(&litmus, Model::Sc).count, sc, "{text}");
    }
}

/// Rings of `n` threads that each store to one location and load the next one: 2^n graphs, one less
/// under sequential consistency.
#[test]
fn rings_have_closed_forms() {
    let letter = |k: usize| char::from(b'x' - k as u8);
    for n in 2..=6 {
        let ring = |thread: &dyn Fn(char, char, usize) -> String| {
            let threads: Vec<String> =
                (0..n).map(|k| thread(letter(k), letter((k + 1) % n), k)).collect();
            threads.join(" || ")
        };
        let buffering = ring(&|own, next, k| format!("{own}.rlx=1; r{k}={next}.rlx"));
        check("ring of SB", &buffering, 1 << n, (1 << n) - 1, None);
        let writes = ring(&|own, next, _| format!("{own}.rlx=1; {next}.rlx=2"));
        check("ring of 2+2W", &writes, 1 << n, (1 << n) - 1, None);
        let loads = ring(&|own, next, k| format!("r{k}={own}.rlx; {next}.rlx=1"));
        check("ring of LB", &loads, (1 << n) - 1, (1 << n) - 1, None);
    }
}

/// Threads that add to one counter: (nk)! / (k!)^n graphs; one writer with `n` readers: 2^n.
#[test]
fn counters_and_readers_have_closed_forms() {
    let factorial = |n: usize| (1..=n).product::<usize>();
    for (n, k) in [(2, 2), (2, 3), (3, 2), (4, 1), (5, 1)] {
        let thread = |t: usize| {
            let adds: Vec<String> = (0..k).map(|i| format!("r{t}{i}=x.add.rlx(1)")).collect();
            adds.join("; ")
        };
        let text = (0..n).map(thread).collect::<Vec<_>>().join(" || ");
        let count = factorial(n * k) / factorial(k).pow(n as u32);
        check("counters", &text, count, count, None);
    }
    for n in 1..=7 {
        let readers: Vec<String> = (0..n).map(|k| format!("r{k}=x.rlx")).collect();
        let text = format!("x.rlx=1 || {}", readers.join(" || "));
        check("readers", &text, 1 << n, 1 << n, None);
    }
}

struct Row {
    name: String,
    program: String,
    counts: [(Model, usize); 4],
    race: bool,
    outcomes: BTreeSet<String>,
    sequential: BTreeSet<String>,
}

/// The rows of the shared table, if it is there.
fn table() -> Option<Vec<Row>> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/weak/litmus.tsv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return None;
    };
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().expect("a header").split('\t').collect();
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |name| cells[header.iter().position(|&h| h == name).expect("a column")];
        let count = |name| cell(name).parse().expect("a number");
        let outcomes = |name, count: usize| {
            let several = cell(name).split(" | ").map(|outcome| outcome.trim().to_string());
            several.take(if count == 0 { 0 } else { usize::MAX }).collect()
        };
        Row {
            name: cell("name").to_string(),
            program: cell("program").to_string(),
            counts: [
                (Model::Rc11, count("rc11")),
                (Model::Sc, count("sc")),
                (Model::Pldi17, count("pldi17")),
                (Model::Cpp20, count("cpp20")),
            ],
            race: cell("race") == "race",
            outcomes: outcomes("outcomes", count("rc11")),
            sequential: outcomes("outcomes_sc", count("sc")),
        }
    });
    Some(rows.collect())
}

#[test]
fn every_row_of_the_table_has_its_counts_and_outcomes() {
    let Some(rows) = table() else { return };
    for row in &rows {
        let (rc11, sc) = (row.counts[0].1, row.counts[1].1);
        let outcomes = check(&row.name, &row.program, rc11, sc, Some(row.race));
        assert_eq!(outcomes, row.outcomes, "{}", row.name);
        let found = all_graphs(&sequential(&Litmus::new(&row.program)), Turn::First);
        assert_eq!(found.outcomes, row.sequential, "{}, all SeqCst", row.name);
    }
    println!("{} rows", rows.len());
}

#[test]
fn the_sampler_reaches_every_outcome_of_the_table_and_no_other() {
    for row in table().unwrap_or_default() {
        check_samples(&row.name, &row.program, &row.outcomes);
    }
}

#[test]
fn brute_force_counts_what_the_table_says_under_every_model() {
    for row in table().unwrap_or_default() {
        let litmus = Litmus::new(&row.program);
        for (model, count) in row.counts {
            let found = oracle::check(&litmus, model);
            assert_eq!(found.count, count, "{}, {model:?}", row.name);
            if model == Model::Rc11 {
                assert_eq!(found.outcomes, row.outcomes, "{}", row.name);
                assert_eq!(found.race, row.race, "{}", row.name);
            }
        }
    }
}
