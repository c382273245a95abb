//! The live monitor on real threads.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use trueline::Value;
use trueline::live::{Full, Live};
use trueline::rng::seeds;
use trueline::spec::{self, QueueOp};

/// `stop` decided events that were taken while it collected them, without those before them: of 500
/// runs 12 to 23 were violations of a queue that is correct.
#[test]
fn a_monitor_that_is_stopped_while_threads_work_finds_no_violation() {
    for round in seeds(300) {
        let queue = Mutex::new(VecDeque::new());
        let full = if round % 3 == 0 { Full::Drop } else { Full::Block };
        let live = Live::new(spec::queue()).capacity(1 << 12).when_full(full).start().unwrap();
        let (is_over, next) = (AtomicBool::new(false), AtomicI64::new(1));
        let report = thread::scope(|s| {
            for t in 0..4 {
                let mut me = live.process();
                let (queue, is_over, next) = (&queue, &is_over, &next);
                s.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        if t % 2 == 0 {
                            let value = next.fetch_add(1, Ordering::Relaxed);
                            let token = me.call(QueueOp::Enq(Value::Int(value)));
                            queue.lock().unwrap().push_back(value);
                            token.returns(Value::Nil);
                        } else {
                            let token = me.call(QueueOp::Deq);
                            let value = queue.lock().unwrap().pop_front();
                            token.returns(value.map_or(Value::Nil, Value::Int));
                        }
                    }
                });
            }
            // In the midst of things, wherever that is.
            while next.load(Ordering::Relaxed) < 1 + round as i64 % 400 {
                thread::yield_now();
            }
            let report = live.stop();
            is_over.store(true, Ordering::Relaxed);
            report
        });
        assert!(!report.is_violation(), "round {round}: {report}");
    }
}

/// Twice the number of operations is the number of events: that became 0, nothing was recorded, and
/// the report was fine.
#[test]
fn a_window_of_more_operations_than_can_be_counted_has_no_end() {
    for operations in [usize::MAX / 4 + 1, usize::MAX / 2 + 1, usize::MAX] {
        for begins_anew in [false, true] {
            let live = Live::new(spec::queue()).windows(operations).start().unwrap();
            let mut me = live.process();
            if begins_anew {
                live.next_window();
            }
            me.call(QueueOp::Deq).returns(Value::Int(1));
            let report = live.stop();
            assert!(report.is_violation(), "{operations}: {report}");
        }
    }
}
