//! State counts of the paper's Table 1, exact orbits and antichains, to the unit.

mod support;

use std::sync::Arc;

use support::{counter, counter_with_points, register};
use trueline::Budget;
use trueline_model::engine::{Options, Verdict, verify};
use trueline_model::program::Program;

#[track_caller]
fn check(program: &Arc<Program>, options: Options, states: u64) {
    let report = verify(program, &options, &Budget::unlimited());
    assert!(matches!(report.verdict, Verdict::Verified), "{:?}", report.verdict);
    assert_eq!(report.states, states, "{report:?}");
}

fn symmetry() -> Options {
    Options { symmetry: true, ..Options::plain() }
}

fn antichain() -> Options {
    Options { antichain: true, ..Options::plain() }
}

fn points(options: Options) -> Options {
    Options { points: true, ..options }
}

#[test]
fn counter_without_reduction() {
    check(&counter(3, 4, Some(1)), Options::plain(), 3674);
    check(&counter(4, 4, Some(1)), Options::plain(), 124_558);
}

#[test]
fn counter_with_points_without_reduction() {
    for (processes, states) in [(3, 535), (4, 9165), (5, 190_367)] {
        check(&counter_with_points(processes, 4), points(Options::plain()), states);
    }
    for (size, states) in [(2, 175_747), (3, 189_527), (5, 190_367)] {
        check(&counter_with_points(5, size), points(Options::plain()), states);
    }
}

#[test]
fn register_without_reduction() {
    check(&register(3, 4), Options::plain(), 9338);
    check(&register(4, 4), Options::plain(), 186_316);
    check(&register(4, 3), Options::plain(), 52_381);
}

#[test]
fn symmetry_stores_exactly_one_state_an_orbit() {
    check(&counter(3, 4, Some(1)), symmetry(), 666);
    check(&counter(4, 4, Some(1)), symmetry(), 5824);
    check(&counter(5, 4, Some(1)), symmetry(), 57_495);
    for (processes, states) in [(3, 114), (4, 536), (5, 2495)] {
        check(&counter_with_points(processes, 4), points(symmetry()), states);
    }
    check(&register(3, 4), symmetry(), 4923);
    check(&register(4, 4), symmetry(), 35_891);
    check(&register(5, 4), symmetry(), 219_001);
}

#[test]
fn antichains_keep_the_minimal_sets() {
    check(&counter(3, 4, Some(1)), antichain(), 2884);
    check(&counter(4, 4, Some(1)), antichain(), 73_495);
}
