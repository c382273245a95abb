//! Several workers on real code: a Treiber stack over the shadow std, whose nodes each worker
//! allocates in an arena of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize as Plain, Ordering as PlainOrdering};

use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Report, Sampler};
use trueline_explore::std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use trueline_explore::std::thread;

struct Node {
    value: usize,
    next: *mut Node,
}

/// Leaks what it pops.
#[derive(Default)]
struct Stack {
    head: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self, value: usize) {
        let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
        loop {
            let top = self.head.load(Ordering::Acquire);
            // SAFETY: nobody else knows the node yet.
            unsafe { (*node).next = top };
            if self.head.compare_exchange(top, node, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let top = self.head.load(Ordering::Acquire);
            if top.is_null() {
                return None;
            }
            // SAFETY: nodes are never freed.
            let (value, next) = unsafe { ((*top).value, (*top).next) };
            if self.head.compare_exchange(top, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Some(value);
            }
        }
    }
}

fn pushes_and_pops() {
    trueline_explore::memory::allow_leaks();
    let stack = Stack::default();
    let taken = AtomicUsize::new(0);
    thread::scope(|scope| {
        for value in 1..=2 {
            let (stack, taken) = (&stack, &taken);
            scope.spawn(move || {
                stack.push(value);
                if stack.pop().is_none() {
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(taken.load(Ordering::Relaxed), 0, "a pop after a push found nothing");
}

fn reads_then_writes() {
    let counter = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let value = counter.load(Ordering::SeqCst);
                counter.store(value + 1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(counter.load(Ordering::SeqCst), 3, "an update is lost");
}

#[test]
fn workers_agree_on_code_that_allocates() {
    let counts = Mutex::new(Vec::new());
    for workers in 1..=4 {
        let visited = Plain::new(0);
        let report = Exploration::new().workers(workers).run_with(pushes_and_pops, |_| {
            visited.fetch_add(1, PlainOrdering::Relaxed);
            Ok(())
        });
        assert_eq!(report.failure, None, "{workers} workers: {report}");
        assert!(report.holds());
        assert_eq!(visited.into_inner() as u64, report.executions);
        counts.lock().unwrap().push((report.executions, report.blocked));
    }
    let counts = counts.into_inner().unwrap();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
fn workers_report_the_first_failure_of_the_sequential_search() {
    let explorations = [
        Exploration::new(),
        Exploration::new().sample(Sampler::Random, 3, 500),
        Exploration::new().sample(Sampler::Pct { depth: 2 }, 3, 500),
    ];
    for exploration in explorations {
        let key = |report: Report| {
            assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{report}");
            (report.failure, report.schedule, report.executions, report.trace)
        };
        let alone = key(exploration.run(reads_then_writes));
        for workers in 2..=4 {
            let together = key(exploration.clone().workers(workers).run(reads_then_writes));
            assert_eq!(together, alone, "{workers} workers");
        }
    }
}

#[test]
fn workers_stop_where_one_does() {
    for workers in 1..=3 {
        let report = Exploration::new().workers(workers).executions(5).run(pushes_and_pops);
        assert_eq!(report.executions, 5);
        assert!(!report.holds(), "{report}");
    }
}
