//! Programs over the shadow std: the number of their traces and the outcomes that they reach.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;
use trueline_explore::engine::Exploration;
use trueline_explore::memory::untracked;
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use trueline_explore::std::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc,
};
use trueline_explore::std::{future, hint, thread, time};

/// Explores a program completely; all outcomes, and the number of executions.
#[track_caller]
fn explore<T: Ord + Clone + Send>(body: impl Fn() -> T + Sync) -> (BTreeSet<T>, u64) {
    let outcomes = std::sync::Mutex::new(BTreeSet::new());
    let report = Exploration::new().run(|| {
        let outcome = body();
        untracked(|| outcomes.lock().unwrap().insert(outcome.clone()));
    });
    assert_eq!(report.failure, None);
    assert!(report.holds(), "{report}");
    (outcomes.into_inner().unwrap(), report.executions)
}

#[track_caller]
fn check<T: Ord + Clone + Send + Debug>(
    expected: impl IntoIterator<Item = T>,
    body: impl Fn() -> T + Sync,
) {
    let (outcomes, _) = explore(body);
    assert_eq!(outcomes, BTreeSet::from_iter(expected));
}

#[test]
fn counters_have_as_many_traces_as_orders() {
    for (threads, times, traces) in [(2, 1, 2), (2, 2, 6), (3, 1, 6), (3, 2, 90)] {
        let (outcomes, executions) = explore(|| {
            let counter = AtomicUsize::new(0);
            thread::scope(|s| {
                for _ in 0..threads {
                    s.spawn(|| {
                        for _ in 0..times {
                            counter.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            counter.into_inner()
        });
        assert_eq!(outcomes, BTreeSet::from([threads * times]));
        assert_eq!(executions, traces);
    }
}

#[test]
fn lost_updates_are_seen() {
    check([1, 2], || {
        let counter = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let seen = counter.load(Ordering::SeqCst);
                    counter.store(seen + 1, Ordering::SeqCst);
                });
            }
        });
        counter.load(Ordering::SeqCst)
    });
}

#[test]
fn a_load_beside_a_load_and_a_compare_exchange_sees_both_values() {
    check([0, 1], || {
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            let reader = s.spawn(|| x.load(Ordering::SeqCst));
            s.spawn(|| {
                let seen = x.load(Ordering::SeqCst);
                let _ = x.compare_exchange(seen, 1, Ordering::SeqCst, Ordering::SeqCst);
            });
            reader.join().unwrap()
        })
    });
}

#[test]
fn values_are_sequentially_consistent_whatever_the_ordering() {
    // Store buffering: both loads yield 0 on real machines, never here.
    check([(0, 1), (1, 0), (1, 1)], || {
        let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|s| {
            let first = s.spawn(|| {
                x.store(1, Ordering::Relaxed);
                y.load(Ordering::Relaxed)
            });
            y.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let second = x.load(Ordering::Relaxed);
            (first.join().unwrap(), second)
        })
    });
}

#[test]
fn a_mutex_excludes_and_orders() {
    let (outcomes, executions) = explore(|| {
        let log = Mutex::new(Vec::new());
        thread::scope(|s| {
            for i in 0..3 {
                let log = &log;
                s.spawn(move || {
                    let mut log = log.lock().unwrap();
                    log.push(i);
                    log.push(i);
                });
            }
        });
        log.into_inner().unwrap()
    });
    assert_eq!(outcomes.len(), 6);
    assert!(outcomes.iter().all(|log| log.chunks(2).all(|pair| pair[0] == pair[1])));
    assert_eq!(executions, 6);
}

#[test]
fn try_lock_fails_only_while_locked() {
    check([false, true], || {
        let lock = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| *lock.lock().unwrap() += 1);
            lock.try_lock().is_ok()
        })
    });
}

#[test]
fn readers_share_and_a_writer_excludes() {
    check([(0, 0), (0, 1), (1, 0), (1, 1)], || {
        let lock = RwLock::new((0, 0));
        thread::scope(|s| {
            let read = || {
                let guard = lock.read().unwrap();
                let both = *guard;
                assert_eq!(both.0, both.1);
                both.0
            };
            let readers = [s.spawn(read), s.spawn(read)];
            {
                let mut guard = lock.write().unwrap();
                guard.0 = 1;
                thread::yield_now();
                guard.1 = 1;
            }
            let [a, b] = readers.map(|reader| reader.join().unwrap());
            (a, b)
        })
    });
}

#[test]
fn a_condition_variable_wakes_whoever_waits() {
    check([1], || {
        let (ready, wakeup) = (Mutex::new(0), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| {
                *ready.lock().unwrap() = 1;
                wakeup.notify_one();
            });
            let guard = wakeup.wait_while(ready.lock().unwrap(), |ready| *ready == 0).unwrap();
            *guard
        })
    });
}

#[test]
fn either_of_two_waiters_is_woken() {
    check([0, 1], || {
        let (turns, wakeup, both) = (Mutex::new((0, None)), Condvar::new(), Condvar::new());
        thread::scope(|s| {
            for i in 0..2 {
                let (turns, wakeup, both) = (&turns, &wakeup, &both);
                s.spawn(move || {
                    let mut guard = turns.lock().unwrap();
                    guard.0 += 1;
                    both.notify_one();
                    guard = wakeup.wait(guard).unwrap();
                    guard.1.get_or_insert(i);
                    wakeup.notify_one();
                });
            }
            let guard = both.wait_while(turns.lock().unwrap(), |turns| turns.0 < 2).unwrap();
            wakeup.notify_one();
            drop(guard);
        });
        turns.into_inner().unwrap().1.unwrap()
    });
}

#[test]
fn a_wait_with_a_timeout_ends_either_way() {
    check([(false, true), (true, false), (true, true)], || {
        let (flag, wakeup) = (Mutex::new(false), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| {
                *flag.lock().unwrap() = true;
                wakeup.notify_all();
            });
            let guard = flag.lock().unwrap();
            let second = Duration::from_secs(1);
            let (guard, result) = wakeup.wait_timeout(guard, second).unwrap();
            (result.timed_out(), *guard)
        })
    });
}

#[test]
fn once_runs_once_and_others_wait() {
    check([(1, 1)], || {
        let (once, runs) = (Once::new(), AtomicUsize::new(0));
        let call = || {
            once.call_once(|| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
            assert!(once.is_completed());
            runs.load(Ordering::Relaxed)
        };
        thread::scope(|s| {
            let other = s.spawn(call);
            (call(), other.join().unwrap())
        })
    });
}

#[test]
fn a_once_lock_keeps_the_first_value() {
    check([(1, 1), (2, 2)], || {
        let lock = OnceLock::new();
        thread::scope(|s| {
            let other = s.spawn(|| *lock.get_or_init(|| 1));
            let own = lock.set(2).map_or_else(|_| *lock.get().unwrap(), |()| 2);
            (own, other.join().unwrap())
        })
    });
}

#[test]
fn statics_start_anew_in_each_execution() {
    static LAZY: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(7));
    static ONCE: OnceLock<usize> = OnceLock::new();
    static LOCK: Mutex<usize> = Mutex::new(0);
    let (outcomes, executions) = explore(|| {
        *LOCK.lock().unwrap() = 0;
        thread::scope(|s| {
            s.spawn(|| {
                LAZY.fetch_add(1, Ordering::Relaxed);
                *LOCK.lock().unwrap() += 1;
            });
            LAZY.fetch_add(1, Ordering::Relaxed);
            *LOCK.lock().unwrap() += 1;
        });
        let first = ONCE.set(3).is_ok();
        (LAZY.load(Ordering::Relaxed), first, *LOCK.lock().unwrap())
    });
    assert_eq!(outcomes, BTreeSet::from([(9, true, 2)]));
    assert!(executions > 1);
    // Outside they are as new.
    assert_eq!(LAZY.load(Ordering::Relaxed), 7);
    assert_eq!(ONCE.get(), None);
}

#[test]
fn a_barrier_has_one_leader_and_can_be_used_again() {
    check([(2, 4)], || {
        let (barrier, leaders, arrived) =
            (Barrier::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        let run = || {
            for round in 1..=2 {
                arrived.fetch_add(1, Ordering::Relaxed);
                if barrier.wait().is_leader() {
                    leaders.fetch_add(1, Ordering::Relaxed);
                }
                assert!(arrived.load(Ordering::Relaxed) >= 2 * round);
            }
        };
        thread::scope(|s| {
            s.spawn(run);
            run();
        });
        (leaders.into_inner(), arrived.into_inner())
    });
}

#[test]
fn messages_of_a_sender_arrive_in_order() {
    check([vec![1, 2, 3], vec![1, 3, 2], vec![3, 1, 2]], || {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let threads = [
            thread::spawn(move || {
                sender.send(1).unwrap();
                sender.send(2).unwrap();
            }),
            thread::spawn(move || other.send(3).unwrap()),
        ];
        let all: Vec<_> = receiver.iter().collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        all
    });
}

#[test]
fn a_rendezvous_gives_back_what_nobody_took() {
    check(
        [(Ok(()), Some(5)), (Err(mpsc::SendError(5)), None)].map(|(sent, got)| (sent.is_ok(), got)),
        || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let thread = thread::spawn(move || receiver.try_recv().ok());
            let sent = sender.send(5).is_ok();
            (sent, thread.join().unwrap())
        },
    );
}

#[test]
fn a_token_is_kept_for_the_next_park() {
    check([()], || {
        let thread = thread::spawn(thread::park);
        thread.thread().unpark();
        thread.join().unwrap();
    });
}

#[test]
fn thread_locals_belong_to_virtual_threads() {
    trueline_explore::thread_local! {
        static COUNT: std::cell::Cell<u32> = const { std::cell::Cell::new(5) };
        static DROPPED: Noted = Noted(RefCell::new(None));
    }
    struct Noted(RefCell<Option<Arc<AtomicUsize>>>);
    impl Drop for Noted {
        fn drop(&mut self) {
            if let Some(counter) = self.0.take() {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    check([(6, 6, 1)], || {
        let drops = Arc::new(AtomicUsize::new(0));
        let counter = drops.clone();
        let thread = thread::spawn(move || {
            DROPPED.with(|noted| *noted.0.borrow_mut() = Some(counter));
            COUNT.set(COUNT.get() + 1);
            COUNT.get()
        });
        let other = thread.join().unwrap();
        COUNT.set(COUNT.get() + 1);
        (COUNT.get(), other, drops.load(Ordering::Relaxed))
    });
}

#[test]
fn virtual_time_passes_without_waiting() {
    check([()], || {
        let start = time::Instant::now();
        thread::sleep(Duration::from_secs(3600));
        assert!(start.elapsed() >= Duration::from_secs(3600));
        let deadline = time::Instant::now() + Duration::from_secs(60);
        while time::Instant::now() < deadline {
            hint::spin_loop();
        }
    });
}

#[test]
fn a_future_is_woken_by_another_thread() {
    check([3], || {
        struct Shared(Mutex<(bool, Option<std::task::Waker>)>);
        let shared = Arc::new(Shared(Mutex::new((false, None))));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let waker = {
                let mut state = other.0.lock().unwrap();
                state.0 = true;
                state.1.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        let result = future::block_on(future::poll_fn(|context| {
            let mut state = shared.0.lock().unwrap();
            if state.0 {
                return std::task::Poll::Ready(3);
            }
            state.1 = Some(context.waker().clone());
            std::task::Poll::Pending
        }));
        thread.join().unwrap();
        result
    });
}

#[test]
fn twenty_threads_work() {
    let (outcomes, executions) = explore(|| {
        let flags: [AtomicBool; 20] = [const { AtomicBool::new(false) }; 20];
        thread::scope(|s| {
            for flag in &flags {
                s.spawn(|| flag.store(true, Ordering::Relaxed));
            }
        });
        flags.iter().filter(|flag| flag.load(Ordering::Relaxed)).count()
    });
    assert_eq!((outcomes, executions), (BTreeSet::from([20]), 1));
}

#[test]
fn handles_that_are_dropped_before_the_last_do_not_multiply_executions() {
    let (_, executions) = explore(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || drop(shared))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        Arc::strong_count(&shared)
    });
    assert!(executions <= 8, "{executions} rather than 4!");
}

#[test]
fn whoever_drops_the_last_handle_runs_the_destructor() {
    check([0, 1], || {
        struct Tells(u32, Arc<AtomicU32>);
        impl Drop for Tells {
            fn drop(&mut self) {
                let thread = WHO.get();
                self.1.store(thread, Ordering::Relaxed);
                self.0 = 0;
            }
        }
        trueline_explore::thread_local!(static WHO: std::cell::Cell<u32> = std::cell::Cell::new(0));
        let who = Arc::new(AtomicU32::new(9));
        let shared = Arc::new(Tells(1, who.clone()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            WHO.set(1);
            drop(other);
        });
        drop(shared);
        thread.join().unwrap();
        who.load(Ordering::Relaxed)
    });
}

#[test]
fn a_weak_handle_upgrades_or_not() {
    check([false, true], || {
        let strong = Arc::new(5);
        let weak = Arc::downgrade(&strong);
        let thread = thread::spawn(move || weak.upgrade().is_some());
        drop(strong);
        thread.join().unwrap()
    });
}
