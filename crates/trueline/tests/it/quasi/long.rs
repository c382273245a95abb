//! Long histories: how many steps they take.

use trueline::generate::Plan;
use trueline::quasi::{End, Factor, Factors, Quasi, Reading};
use trueline::{Budget, History, Verdict, spec};

fn recorded(
    relaxed: &str,
    operations: usize,
    processes: usize,
    seed: u64,
    occupancy: usize,
) -> History {
    let plan = Plan { operations, processes, seed, occupancy, ..Plan::default() };
    spec::named(relaxed).unwrap().generate(&plan).unwrap()
}

fn ask(history: &History, factor: Factor, end: End, budget: &Budget) -> (Verdict, Option<u32>) {
    let factors = Factors::of("deq", factor);
    let quasi = Quasi { factors, reading: Reading::Slots, end, ..Quasi::default() };
    let start = std::time::Instant::now();
    let found = spec::named("queue").unwrap().quasi(history, &quasi, budget).unwrap();
    let verdict = found.outcome.verdict;
    println!(
        "{} operations, deq={factor}, {end}: {} by {}, factor {:?}, {} steps, {:?}",
        history.len(),
        verdict.name(),
        found.outcome.algorithm,
        found.factor,
        budget.steps_spent(),
        start.elapsed()
    );
    (verdict, found.factor)
}

#[test]
fn a_thousand_operations_with_factor_2() {
    for (relaxed, processes, occupancy) in [
        ("relaxed-queue:window=2", 4, 0),
        ("relaxed-queue:window=3", 8, 50),
        ("relaxed-queue:window=4", 8, 0),
        ("queue", 8, 100),
    ] {
        let history = recorded(relaxed, 1000, processes, 1, occupancy);
        let budget = Budget::unlimited().steps(2_000_000);
        let (verdict, _) = ask(&history, Factor::AtMost(2), End::Open, &budget);
        assert!(!matches!(verdict, Verdict::Unknown(_)), "{relaxed}: {verdict:?}");
    }
}

#[test]
fn the_least_factor_of_a_long_history_of_a_k_fifo_queue() {
    // For the last two the narrow search gets stuck and must go back.
    for (relaxed, processes, seed, occupancy) in [
        ("relaxed-queue:window=4", 4, 7, 0),
        ("relaxed-queue:window=8", 8, 7, 64),
        ("relaxed-queue:window=4", 8, 1, 32),
        ("relaxed-queue:window=8", 8, 1, 64),
    ] {
        let history = recorded(relaxed, 10_000, processes, seed, occupancy);
        let budget = Budget::unlimited().steps(10_000_000);
        let (verdict, factor) = ask(&history, Factor::Least, End::Open, &budget);
        assert!(verdict.is_linearizable(), "{relaxed}: {verdict:?}");
        assert!(factor.is_some_and(|k| k > 0), "{relaxed}: {factor:?}");
    }
}
