//! What was called nondeterminism though the program is deterministic, and what is nondeterminism.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Mutex as RealMutex;
use std::sync::atomic::AtomicU32 as RealAtomic;
use std::task::{Poll, Waker};

use crate::outcomes::{check, explore};
use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Sampler};
use trueline_explore::memory::{Reuse, allow_leaks, reuse, untracked};
use trueline_explore::std::future::{block_on, poll_fn};
use trueline_explore::std::sync::atomic::{
    AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst,
};
use trueline_explore::std::sync::{Arc, Mutex, mpsc};
use trueline_explore::std::thread;

/// Nine increments by three threads.
fn increments() {
    let cell = Arc::new(AtomicU32::new(0));
    let spawn = |_| {
        let cell = cell.clone();
        thread::spawn(move || (0..3).for_each(|_| _ = cell.fetch_add(1, SeqCst)))
    };
    let threads: Vec<_> = (0..3).map(spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// The blocks kept their addresses, so that workers with different arenas saw different programs.
#[test]
fn leaks_of_one_exploration_do_not_disturb_the_workers_of_the_next() {
    let leak = || (0..100).for_each(|_| _ = black_box(Box::leak(Box::new(AtomicU32::new(0)))));
    for allowed in [true, false] {
        let report = Exploration::new().run(|| {
            if allowed {
                allow_leaks();
            }
            leak();
        });
        assert_eq!(report.failure.is_none(), allowed, "{report}");
        let report = Exploration::new().workers(3).run(increments);
        assert!(report.holds(), "{report}");
        assert_eq!(report.executions, 1680);
    }
}

/// A worker panicked where another had seen another location.
#[test]
fn workers_report_nondeterminism() {
    for workers in [1, 2, 3] {
        let runs = RealAtomic::new(0);
        let report = Exploration::new().workers(workers).run(|| {
            let cells = [const { AtomicU32::new(0) }; 8];
            thread::scope(|s| {
                for _ in 0..3 {
                    s.spawn(|| {
                        cells[0].fetch_add(1, SeqCst);
                        let run = runs.fetch_add(1, Relaxed);
                        cells[run as usize / 7 % 8].fetch_add(1, SeqCst);
                    });
                }
            });
        });
        assert!(matches!(report.failure, Some(Failure::Nondeterminism { .. })), "{report}");
    }
}

/// The receiver gave its part of the channel up after the destructors of the messages.
#[test]
fn who_ends_a_channel_does_not_depend_on_the_destructors_of_its_messages() {
    struct Message<'a>(&'a AtomicU32);
    impl Drop for Message<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let body = || {
        let ended = AtomicU32::new(0);
        let (sender, receiver) = mpsc::channel();
        sender.send(Message(&ended)).unwrap();
        thread::scope(|s| {
            s.spawn(|| {
                drop(sender);
                ended.fetch_add(1, SeqCst);
            });
            drop(receiver);
        });
    };
    check([()], body);
    let report = Exploration::new().sample(Sampler::Random, 1, 1000).run(body);
    assert_eq!(report.failure, None, "{report}");
}

/// The order in which the owner waits was that in which threads had spawned others side by side.
#[test]
fn threads_of_a_scope_may_spawn_others_side_by_side() {
    check([0, 1, 2, 3], || {
        let [x, y] = [const { AtomicU32::new(0) }; 2];
        let (x, y) = (&x, &y);
        thread::scope(|s| {
            s.spawn(move || {
                s.spawn(|| y.fetch_or(1, SeqCst));
                s.spawn(|| x.store(1, SeqCst));
            });
            s.spawn(move || {
                s.spawn(|| y.fetch_or(2, SeqCst));
                x.load(SeqCst);
            });
            y.load(SeqCst)
        })
    });
    // The outer scope waits for a thread that one of the inner scope has spawned.
    check([1], || {
        let x = AtomicU32::new(0);
        thread::scope(|outer| {
            thread::scope(|inner| {
                inner.spawn(|| outer.spawn(|| x.store(1, SeqCst)));
            });
        });
        x.into_inner()
    });
}

/// The waker was freed by whoever gave up its last handle, which no event tells. Where blocks are
/// used again, that hid behaviours.
#[test]
fn who_frees_a_waker_hides_no_behaviour() {
    let body = || {
        reuse(Reuse::Lifo);
        let (flag, slot) = (AtomicBool::new(false), Mutex::new(None::<Waker>));
        thread::scope(|s| {
            let other = s.spawn(|| {
                flag.store(true, SeqCst);
                let waker = slot.lock().unwrap().take();
                let woke = waker.is_some();
                if let Some(waker) = waker {
                    waker.wake();
                }
                (woke, flag.swap(true, SeqCst))
            });
            let mut polls = 0;
            block_on(poll_fn(|context| {
                polls += 1;
                *slot.lock().unwrap() = Some(context.waker().clone());
                if flag.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            }));
            flag.store(false, SeqCst);
            (polls, other.join().unwrap())
        })
    };
    let (report, complete) = explore(body);
    assert!(report.holds(), "{report}");
    let sampled = RealMutex::new(BTreeSet::new());
    Exploration::new().sample(Sampler::Random, 1, 5000).run(|| {
        let outcome = body();
        untracked(|| sampled.lock().unwrap().insert(outcome));
    });
    assert_eq!(complete, sampled.into_inner().unwrap());
}
