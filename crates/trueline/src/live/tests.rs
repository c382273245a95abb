//! The test decides when the monitor runs a round: events between two rounds arrive together.

mod random;

use super::checker::Checker;
use super::{Full, Live, Report, Running};
use crate::spec::{self, Queue, QueueOp};
use crate::value::Value;

/// A monitor without a thread.
struct Manual {
    running: Running<Queue>,
    checker: Checker<Queue>,
}

fn manual(capacity: usize, when_full: Full) -> Manual {
    manual_of(Live::new(spec::queue()).capacity(capacity).when_full(when_full))
}

fn manual_of(live: Live<Queue>) -> Manual {
    let (shared, checker) = live.prepare().unwrap();
    Manual { running: Running { shared, thread: None }, checker }
}

impl Manual {
    fn report(mut self) -> Report<Queue> {
        self.checker.round();
        self.checker.finish()
    }

    /// Operations of a process, one after the other, with a round after each.
    fn operations(&mut self, operations: &[(QueueOp, Value)]) {
        let mut me = self.running.process();
        for (op, result) in operations {
            me.call(op.clone()).returns(result.clone());
            self.checker.round();
        }
    }

    /// More events at once than the capacity, on an object that is empty before and after.
    fn overflow(&mut self) {
        let mut me = self.running.process();
        for value in 1000..1100 {
            me.call(QueueOp::Enq(Value::Int(value))).returns(Value::Nil);
            me.call(QueueOp::Deq).returns(Value::Int(value));
        }
        self.checker.round();
    }
}

fn enq(value: i64) -> (QueueOp, Value) {
    (QueueOp::Enq(Value::Int(value)), Value::Nil)
}

fn deq(value: i64) -> (QueueOp, Value) {
    (QueueOp::Deq, Value::Int(value))
}

fn nothing() -> (QueueOp, Value) {
    (QueueOp::Deq, Value::Nil)
}

/// Violations of operations after a gap; before them the queue shows that it is empty, or lets a
/// value through.
#[test]
fn violations_behind_a_gap_are_found() {
    let shown: [&[(QueueOp, Value)]; 2] = [&[nothing()], &[enq(1), deq(1)]];
    let planted: [(&str, &[(QueueOp, Value)]); 4] = [
        ("twice", &[enq(5), deq(5), deq(5)]),
        ("invented", &[enq(5), deq(5), deq(777)]),
        ("lost", &[enq(5), nothing()]),
        ("order", &[enq(5), enq(6), deq(6), deq(5)]),
    ];
    for (what, operations) in planted {
        for known in shown {
            for gaps in 0..3 {
                for cancelled in [false, true] {
                    let mut live = manual(16, Full::Drop);
                    if cancelled {
                        // A peek that never returned: it changes nothing, but it was counted as
                        // running for ever.
                        drop(live.running.process().call(QueueOp::Peek));
                    }
                    (0..gaps).for_each(|_| live.overflow());
                    live.operations(known);
                    live.operations(operations);
                    let report = live.report();
                    assert!(report.is_violation(), "{what} behind {gaps} gaps: {report}");
                    assert!(report.gaps.iter().all(|gap| gap.until.is_some() && gap.lost > 0));
                }
            }
        }
    }
}

/// A dequeue that never returned may take a value that is inserted after the gap, and no other
/// dequeue may.
#[test]
fn a_removal_that_never_returned_counts_behind_a_gap() {
    for cancelled in 0..3 {
        for in_gap in [false, true] {
            let mut live = manual(16, Full::Drop);
            let mut other = live.running.process();
            let cancel = |other: &mut super::Process<Queue>| {
                (0..cancelled).for_each(|_| drop(other.call(QueueOp::Deq)));
            };
            if !in_gap {
                cancel(&mut other);
                live.checker.round();
            }
            live.overflow();
            if in_gap {
                let mut me = live.running.process();
                (0..40).for_each(|_| me.call(QueueOp::Deq).returns(Value::Nil));
                cancel(&mut other);
                live.checker.round();
            }
            live.operations(&[nothing(), enq(5), enq(6), nothing()]);
            let report = live.report();
            assert_eq!(report.is_violation(), cancelled < 2, "{cancelled} {in_gap}: {report}");
            assert!(!report.is_fine());
        }
    }
}

/// A value of an enqueue that never returned is not judged, and not a violation.
#[test]
fn an_insert_that_never_returned_counts_behind_a_gap() {
    let mut live = manual(16, Full::Drop);
    drop(live.running.process().call(QueueOp::Enq(Value::Int(9))));
    live.overflow();
    live.operations(&[nothing(), enq(5), deq(9), deq(5)]);
    let report = live.report();
    assert!(!report.is_violation() && !report.is_fine() && report.unjudged == 1, "{report}");
}

/// Gaps hid operations although `is_fine` returned true.
#[test]
fn a_gap_is_said_and_counted_and_not_fine() {
    let mut live = manual(16, Full::Drop);
    live.operations(&[enq(1), deq(1)]);
    // While this runs the object is not at rest.
    let mut other = live.running.process();
    let _running = other.call(QueueOp::Peek);
    live.overflow();
    live.overflow();
    let report = live.report();
    assert!(report.outcome.is_ok() && !report.is_fine());
    let [gap] = report.gaps[..] else { panic!("{report}") };
    let checked = report.tally.operations - 3;
    assert_eq!((gap.until, gap.lost + gap.skipped + checked), (None, 400), "{report}");
    assert!(gap.lost > 300 && gap.skipped > 0 && checked > 0, "{report}");
}

/// Events before which numbers may be missing at the monitor's last round are left out.
#[test]
fn what_may_have_holes_is_left_out_at_the_end() {
    let mut live = manual(1 << 10, Full::Block);
    let (mut a, mut b) = (live.running.process(), live.running.process());
    a.call(QueueOp::Enq(Value::Int(1))).returns(Value::Nil);
    // The monitor has read the word, and then a's list; it reads b's list later, with events that
    // depend on later events of a.
    let until = live.running.shared.word.load(super::Ordering::SeqCst) / super::EVENT;
    live.checker.collect();
    a.call(QueueOp::Enq(Value::Int(2))).returns(Value::Nil);
    b.call(QueueOp::Deq).returns(Value::Int(1));
    b.call(QueueOp::Deq).returns(Value::Int(2));
    let hidden = std::mem::take(&mut *super::lock(&live.running.shared.ready));
    super::lock(&live.running.shared.ready).push(hidden[1].clone());
    live.checker.collect();
    live.checker.check(until);
    let report = live.checker.finish();
    assert!(report.is_fine(), "{report}");
    assert_eq!(report.tally.operations, 1);
}

/// Dropped tokens stayed among the running operations, until their count overflowed into the
/// numbers of events.
#[test]
fn a_million_cancelled_calls_are_no_violation() {
    let mut live = manual(1 << 16, Full::Block);
    let mut me = live.running.process();
    for round in 0..40 {
        for _ in 0..30_000 {
            drop(me.call(QueueOp::Peek));
        }
        live.checker.round();
        live.operations(&[enq(round), deq(round)]);
    }
    live.operations(&[enq(3), deq(3), nothing()]);
    live.report().assert_linearizable();
}

/// A slow dequeue that runs beside all of them, with a small capacity: losses are reported, and
/// there is no false violation.
#[test]
fn a_slow_dequeue_beside_a_million_cancelled_ones_is_no_violation() {
    for cancelled in [(1 << 20) - 1, (1 << 20) - 2] {
        let mut live = manual(2, Full::Drop);
        let (mut slow, mut me) = (live.running.process(), live.running.process());
        let token = slow.call(QueueOp::Deq);
        for number in 0..cancelled {
            drop(me.call(QueueOp::Deq));
            if number % 1000 == 0 {
                live.checker.round();
            }
        }
        live.operations(&[enq(2)]);
        token.returns(Value::Int(2));
        live.operations(&[nothing(), enq(3), deq(3)]);
        let report = live.report();
        assert!(!report.is_violation() && !report.is_fine(), "{cancelled}: {report}");
        assert_eq!(report.gaps.len(), 1, "{cancelled}: {report}");
    }
}

/// A call that panicked blinded the monitor for all later events; so did one overflow.
#[test]
fn violations_behind_a_panicked_call_are_found() {
    for full in [Full::Block, Full::Drop] {
        let mut live = manual(16, full);
        let mut me = live.running.process();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _token = me.call(QueueOp::Deq);
            std::panic::resume_unwind(Box::new("the object panics"));
        }));
        assert!(panicked.is_err());
        if full == Full::Drop {
            live.overflow();
        }
        live.operations(&[nothing(), enq(5), deq(5), deq(5)]);
        let report = live.report();
        assert!(report.is_violation(), "{report}");
    }
}

/// Each cancelled dequeue cost time for all before it.
#[test]
fn cancelled_dequeues_cost_the_same_each() {
    let mut live = manual(1 << 16, Full::Block);
    let mut me = live.running.process();
    for round in 0..30 {
        for _ in 0..10_000 {
            drop(me.call(QueueOp::Deq));
        }
        live.checker.round();
        live.operations(&[enq(round), deq(round)]);
    }
    live.report().assert_linearizable();
}

/// Processes that come and go leave nothing behind: neither a list nor a number.
#[test]
fn processes_that_are_gone_cost_nothing() {
    let mut live = manual(1 << 16, Full::Block);
    for value in 0..50_000 {
        let mut me = live.running.process();
        me.call(QueueOp::Enq(Value::Int(value))).returns(Value::Nil);
        me.call(QueueOp::Deq).returns(Value::Int(value));
        drop(me);
        if value % 16 == 0 {
            live.checker.round();
        }
    }
    assert!(live.checker.processes() < 200, "{}", live.checker.processes());
    // No list is announced, however many processes exist.
    let _idle: Vec<_> = (0..1000).map(|_| live.running.process()).collect();
    live.checker.round();
    assert!(super::lock(&live.running.shared.ready).is_empty());
    live.report().assert_linearizable();
}

/// A token that is forgotten is as good as dropped.
#[test]
fn a_forgotten_token_is_a_cancelled_call() {
    let mut live = manual(1 << 16, Full::Block);
    let mut me = live.running.process();
    std::mem::forget(me.call(QueueOp::Deq));
    std::mem::forget(me.call(QueueOp::Enq(Value::Int(4))));
    drop(me);
    live.operations(&[enq(1), deq(1), deq(4), nothing()]);
    live.report().assert_linearizable();
}

/// A monitor that is dropped still reports what it has found.
#[test]
fn a_violation_is_told_to_a_callback() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let tell = move |violation: &crate::stream::Violation<QueueOp, Value>| {
        let _ = sender.send(violation.history.len());
    };
    let live = Live::new(spec::queue()).on_violation(tell).start().unwrap();
    let mut me = live.process();
    me.call(QueueOp::Deq).returns(Value::Int(1));
    drop(live);
    // The monitor has found the violation, so this does not wait for ever.
    assert_eq!(receiver.recv().ok(), Some(1));
}

/// A callback that panicked lost the violation: the report said 'unknown'.
#[test]
fn a_callback_that_panics_does_not_hide_the_violation() {
    let live = Live::new(spec::queue())
        .on_violation(|_| std::panic::resume_unwind(Box::new("the callback panics")))
        .start()
        .unwrap();
    live.process().call(QueueOp::Deq).returns(Value::Int(1));
    assert!(live.stop().is_violation());
}

/// Faults before, between and after gaps and calls that panicked: checked ones are found, and
/// unchecked parts are reported.
#[test]
fn a_fault_is_found_before_between_and_after_gaps_and_panics() {
    let faults: [&[(QueueOp, Value)]; 3] = [
        &[nothing(), enq(5), deq(5), deq(5)],
        &[nothing(), enq(5), nothing()],
        &[nothing(), enq(5), enq(6), deq(6)],
    ];
    for fault in faults {
        for place in 0..=4 {
            let mut live = manual(16, Full::Drop);
            for part in 0..=4 {
                if part == place {
                    live.operations(fault);
                }
                match part {
                    0 | 2 => live.overflow(),
                    1 | 3 => drop(live.running.process().call(QueueOp::Peek)),
                    _ => {}
                }
            }
            let report = live.report();
            assert!(report.is_violation(), "place {place}: {report}");
        }
        // Nothing is checked inside of a gap, and the report says so.
        let mut live = manual(16, Full::Drop);
        let mut other = live.running.process();
        let running = other.call(QueueOp::Peek);
        live.overflow();
        live.operations(fault);
        drop(running);
        live.operations(&[nothing()]);
        let report = live.report();
        assert!(!report.is_fine() && !report.is_violation(), "{report}");
        let skipped: u64 = report.gaps.iter().map(|gap| gap.skipped).sum();
        assert!(skipped >= fault.len() as u64, "{report}");
    }
}
