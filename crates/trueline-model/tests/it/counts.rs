//! State counts of the paper's Table 1, exact orbits and antichains, to the unit.

use std::sync::Arc;

use crate::support::{counter, counter_with_points, register};
use trueline::Budget;
use trueline_model::engine::{Counts, Options, Published, Verdict, published, verify};
use trueline_model::program::Program;

#[track_caller]
fn check(program: &Arc<Program>, options: Options, states: u64) {
    let report = verify(program, &options, &Budget::unlimited());
    assert!(matches!(report.verdict, Verdict::Holds), "{:?}", report.verdict);
    assert_eq!(report.counts.states, states, "{report:?}");
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

/// Depends on the order in which exchanges are tried, as the paper's own counts do (669, 5935;
/// 4938): never below the orbits, never above what is stored without the improvement.
#[test]
fn published_symmetry_stores_orbits_more_than_once() {
    for (program, orbits) in
        [(counter(3, 4, Some(1)), 666), (counter(4, 4, Some(1)), 5824), (register(3, 4), 4923)]
    {
        let run = |which| published(&program, which, false, false, &Budget::unlimited());
        let (first, improved) = (run(Published::First), run(Published::Improved));
        assert_eq!((first.verified, improved.verified), (Some(true), Some(true)));
        assert!(
            orbits <= improved.states && improved.states <= first.states,
            "{first:?} {improved:?}"
        );
        let both = published(&program, Published::Improved, true, false, &Budget::unlimited());
        assert!(both.verified == Some(true) && both.states < improved.states, "{both:?}");
    }
}

/// Every count and the verdict are the same for any number of threads, with every combination of
/// reductions.
#[test]
fn threads_change_nothing() {
    let program = counter(4, 4, Some(1));
    for bits in 0..8 {
        let options = Options {
            symmetry: bits & 1 != 0,
            partial_order: bits & 2 != 0,
            antichain: bits & 4 != 0,
            ..Options::plain()
        };
        let run = |threads| {
            let report =
                verify(&program, &Options { threads, ..options.clone() }, &Budget::unlimited());
            assert!(matches!(report.verdict, Verdict::Holds));
            (
                report.counts.states,
                report.counts.transitions,
                report.counts.depth,
                report.counts.terminal,
            )
        };
        let one = run(1);
        assert_eq!(one, run(2), "{bits}");
        assert_eq!(one, run(5), "{bits}");
    }
}

/// A run that is stopped, any number of times, and goes on from its checkpoint ends with the same
/// counts.
#[test]
fn a_resumed_run_ends_as_if_it_had_not_been_stopped() {
    let path = std::env::temp_dir().join(format!("trueline-checkpoint-{}", std::process::id()));
    let program = counter(4, 4, Some(1));
    for bits in 0..8 {
        let options = Options {
            symmetry: bits & 1 != 0,
            partial_order: bits & 2 != 0,
            antichain: bits & 4 != 0,
            checkpoint: Some(path.clone()),
            ..Options::plain()
        };
        let whole = verify(
            &program,
            &Options { checkpoint: None, ..options.clone() },
            &Budget::unlimited(),
        );
        let mut report =
            verify(&program, &options, &Budget::unlimited().steps(whole.counts.states / 3));
        assert!(matches!(report.verdict, Verdict::Undecided(_)), "{:?}", report.verdict);
        let mut stops = 0;
        let resumed = Options { resume: Some(path.clone()), ..options.clone() };
        while !matches!(report.verdict, Verdict::Holds) {
            stops += 1;
            assert!(stops < 50, "{:?}", report.verdict);
            let most = (whole.counts.states / 3).max(1 << 18);
            report = verify(&program, &resumed, &Budget::unlimited().steps(most));
        }
        let counts =
            |counts: &Counts| (counts.states, counts.transitions, counts.depth, counts.terminal);
        assert_eq!(counts(&report.counts), counts(&whole.counts), "{bits}");
        let other = verify(&counter(3, 4, Some(1)), &resumed, &Budget::unlimited());
        assert!(other.error().is_some_and(|why| why.contains("another model")), "{other:?}");
    }
    std::fs::remove_file(path).unwrap();
}
