//! Quasi linearizability in two phases: the example of the documentation, a golden model, what is
//! skipped, real threads.

use trueline_explore::harness::{self, Act, Harness, Kind, TwoPhase};
use trueline_explore::operations;
use trueline_explore::std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

const FREE: u8 = 0;
const TAKEN: u8 = u8::MAX;

/// A queue of cells in segments. The newest value of a segment leaves first, so that a value is up
/// to `size - 1` places from its turn.
struct Segmented {
    size: usize,
    cells: [AtomicU8; 12],
    end: AtomicUsize,
}

impl Segmented {
    fn new(size: usize) -> Segmented {
        Segmented { size, cells: Default::default(), end: AtomicUsize::new(0) }
    }

    fn enq(&self, value: u8) {
        let cell = self.end.fetch_add(1, Ordering::SeqCst);
        self.cells[cell].store(value, Ordering::SeqCst);
    }

    /// For one thread.
    fn deq(&self) -> Option<u8> {
        let cells = &self.cells[..self.end.load(Ordering::SeqCst)];
        cells.chunks(self.size).flat_map(|segment| segment.iter().rev()).find_map(|cell| {
            let value = cell.load(Ordering::SeqCst);
            (value != FREE && value != TAKEN).then(|| cell.swap(TAKEN, Ordering::SeqCst))
        })
    }
}

operations! {
    enum Op -> Ret for Segmented {
        enq(value: u8);
        deq() -> Option<u8>;
    }
}

fn act(op: &Op, returned: &Ret) -> Act {
    match (op, returned) {
        (Op::enq(value), _) => Act::Adds(u64::from(*value)),
        (Op::deq(), Ret::deq(Some(value))) => Act::Removes(u64::from(*value)),
        _ => Act::Other,
    }
}

/// The queue with segments of three against the same with segments of one, which is strict.
fn test(how: TwoPhase) -> Harness<Segmented, Op> {
    harness::explore(|| Segmented::new(3))
        .golden(|| Segmented::new(1))
        .two_phase(how, act)
        .program([vec![Op::enq(1), Op::enq(2)], vec![Op::enq(3)]])
        .after([Op::deq(), Op::deq(), Op::deq()])
}

#[test]
fn a_relaxed_queue_against_itself_with_its_factor_set_to_nothing() {
    test(TwoPhase::new(2)).check();
}

#[test]
fn a_factor_that_is_too_small_is_refuted() {
    let outcome = test(TwoPhase::new(1)).run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable);
    let expected = "No order of the operations has every removal within 1 places of its turn";
    assert_eq!(failure.sentence, expected);
    // The program stays as it is: one that removes less would fail for no fault of the object's.
    assert_eq!(failure.scenario, "enq(1) enq(2) | enq(3); after deq() deq() deq()");
}

#[test]
fn what_was_seen_before_is_skipped_and_counted() {
    let run = |skips| {
        let outcome = harness::explore(|| Segmented::new(3))
            .golden(|| Segmented::new(1))
            .two_phase(TwoPhase { skips, exhaustive: true, ..TwoPhase::new(2) }, act)
            .before([Op::enq(1)])
            .program([[Op::enq(2)], [Op::enq(3)], [Op::deq()]])
            .after([Op::deq(), Op::deq()])
            .run();
        assert!(outcome.holds(), "{outcome}");
        (outcome.counts, outcome.to_string())
    };
    let ((with, told), (without, _)) = (run(true), run(false));
    assert_eq!((with.executions, with.histories), (without.executions, without.histories));
    let (with, without) = (with.enumerated, without.enumerated);
    assert!(with.skipped_sequentializations > 0 && with.skipped_permutations > 0, "{with:?}");
    assert_eq!((without.skipped_sequentializations, without.skipped_permutations), (0, 0));
    assert!(with.permutations < without.permutations, "{with:?} {without:?}");
    // All six orders of three removals are within two places.
    assert_eq!(without.permutations % 6, 0, "{without:?}");
    assert!(told.contains(&format!("{} sequentializations", with.sequentializations)), "{told}");
}

/// The object itself is no golden model of its own, unless it is strict: run serially, it calls its
/// own disorder order.
#[test]
fn a_relaxed_object_is_not_its_own_strict_specification() {
    let itself = |factor| {
        harness::explore(|| Segmented::new(3))
            .two_phase(TwoPhase::new(factor), act)
            .before([Op::enq(1), Op::enq(2), Op::enq(3)])
            .program([[Op::deq()]])
            .after([Op::deq(), Op::deq()])
            .run()
    };
    assert!(itself(0).holds(), "it takes 3 2 1 both times");
    let golden = harness::explore(|| Segmented::new(3))
        .golden(|| Segmented::new(1))
        .two_phase(TwoPhase::new(0), act)
        .before([Op::enq(1), Op::enq(2), Op::enq(3)])
        .program([[Op::deq()]])
        .after([Op::deq(), Op::deq()])
        .run();
    assert!(golden.failure().is_some(), "{golden}");
}

#[test]
fn two_phases_on_real_threads() {
    let stress = |factor| {
        harness::stress(|| Segmented::new(3))
            .golden(|| Segmented::new(1))
            .two_phase(TwoPhase::new(factor), act)
            .program([vec![Op::enq(1), Op::enq(2)], vec![Op::enq(3)]])
            .after([Op::deq(), Op::deq(), Op::deq()])
            .rounds(200)
            .run()
    };
    let outcome = stress(2);
    assert!(outcome.passes(), "{outcome}");
    let outcome = stress(0);
    assert!(outcome.failure().is_some_and(|f| f.kind == Kind::NotLinearizable), "{outcome}");
}
