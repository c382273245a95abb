//! Races: found where nothing orders two accesses, with the lines of both, and only there.

use super::{misuses, next_line, passes, run};
use std::cell::RefCell;
use std::ptr;
use trueline_explore::engine::interface::Failure;
use trueline_explore::memory::untracked;
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use trueline_explore::std::sync::{Arc, Mutex};
use trueline_explore::std::thread;

/// The two sides of a race.
#[track_caller]
fn races(body: impl Fn() + Sync) -> (String, String) {
    match run(body).failure {
        Some(Failure::Race { first, second }) => (first, second),
        other => panic!("a race was expected, not {other:?}"),
    }
}

/// A value that anybody may look at, at his own risk.
struct Slot(UnsafeCell<u32>);

// SAFETY: not at all; that is what is tested.
unsafe impl Sync for Slot {}

impl Slot {
    const fn new() -> Slot {
        Slot(UnsafeCell::new(0))
    }

    #[track_caller]
    fn write(&self, value: u32) {
        // SAFETY: no other thread runs meanwhile.
        self.0.with_mut(|slot| unsafe { *slot = value });
    }

    #[track_caller]
    fn raw(&self) -> *mut u32 {
        self.0.get()
    }

    #[track_caller]
    fn read(&self) -> u32 {
        // SAFETY: no other thread runs meanwhile.
        self.0.with(|slot| unsafe { *slot })
    }
}

fn publish(store: Ordering, load: Ordering) {
    let (slot, ready) = (Slot::new(), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            slot.write(42);
            ready.store(true, store);
        });
        if ready.load(load) {
            assert_eq!(slot.read(), 42);
        }
    });
}

#[test]
fn a_publication_through_relaxed_is_a_race_with_both_lines() {
    for (store, load) in [
        (Ordering::Relaxed, Ordering::Relaxed),
        (Ordering::Relaxed, Ordering::Acquire),
        (Ordering::Release, Ordering::Relaxed),
    ] {
        let lines = RefCell::new((String::new(), String::new()));
        let lines = AssertSync(lines);
        let (first, second) = races(|| {
            let (slot, ready) = (Slot::new(), AtomicBool::new(false));
            thread::scope(|s| {
                s.spawn(|| {
                    untracked(|| lines.get().borrow_mut().0 = next_line());
                    slot.write(42);
                    ready.store(true, store);
                });
                if ready.load(load) {
                    untracked(|| lines.get().borrow_mut().1 = next_line());
                    assert_eq!(slot.read(), 42);
                }
            });
        });
        let lines = lines.get().borrow();
        assert!(first.contains(&lines.0), "{first} at {}", lines.0);
        assert!(second.contains(&lines.1), "{second} at {}", lines.1);
        assert!(first.starts_with("thread 1, UnsafeCell::with_mut, "), "{first}");
        assert!(second.starts_with("thread 0, UnsafeCell::with, "), "{second}");
    }
}

/// For what virtual threads of one OS thread share.
struct AssertSync<T>(T);

// SAFETY: an exploration runs on one OS thread here.
unsafe impl<T> Sync for AssertSync<T> {}

impl<T> AssertSync<T> {
    fn get(&self) -> &T {
        &self.0
    }
}

#[test]
fn a_publication_through_release_passes() {
    passes(|| publish(Ordering::Release, Ordering::Acquire));
    passes(|| publish(Ordering::SeqCst, Ordering::SeqCst));
}

#[test]
fn fences_order_what_relaxed_accesses_pass_on() {
    let body = |release: bool, acquire: bool| {
        let (slot, ready) = (Slot::new(), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                slot.write(42);
                if release {
                    fence(Ordering::Release);
                }
                ready.store(true, Ordering::Relaxed);
            });
            if ready.load(Ordering::Relaxed) {
                if acquire {
                    fence(Ordering::Acquire);
                }
                slot.read();
            }
        });
    };
    passes(|| body(true, true));
    races(|| body(true, false));
    races(|| body(false, true));
}

#[test]
fn a_release_sequence_goes_on_through_updates_and_ends_with_a_store() {
    let body = |update: bool| {
        let (slot, state) = (Slot::new(), AtomicU32::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                slot.write(42);
                state.store(1, Ordering::Release);
            });
            s.spawn(|| {
                if update {
                    let _ = state.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed);
                } else if state.load(Ordering::Relaxed) == 1 {
                    state.store(2, Ordering::Relaxed);
                }
            });
            if state.load(Ordering::Acquire) == 2 {
                slot.read();
            }
        });
    };
    passes(|| body(true));
    races(|| body(false));
}

#[test]
fn raw_pointers_are_told_apart_by_what_they_change() {
    let body = |write: bool| {
        let slot = Slot::new();
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let pointer = slot.raw();
                    // SAFETY: no other thread runs meanwhile.
                    unsafe {
                        if write {
                            *pointer += 1;
                        }
                        assert!(*pointer <= 2);
                    }
                });
            }
        });
    };
    passes(|| body(false));
    let (first, second) = races(|| body(true));
    assert!(first.contains("UnsafeCell::get, written"), "{first}");
    assert!(second.contains("UnsafeCell::get, written"), "{second}");
}

#[test]
fn a_mutex_a_join_and_an_unpark_order() {
    passes(|| {
        let (slot, lock) = (Slot::new(), Mutex::new(()));
        thread::scope(|s| {
            for i in 0..2 {
                let (slot, lock) = (&slot, &lock);
                s.spawn(move || {
                    let _guard = lock.lock().unwrap();
                    slot.write(i);
                });
            }
        });
        slot.read();
    });
    passes(|| {
        let slot = Slot::new();
        thread::scope(|s| {
            let parked = s.spawn(|| {
                thread::park();
                slot.read();
            });
            slot.write(1);
            parked.thread().unpark();
        });
    });
}

#[test]
fn the_final_drop_of_an_arc_is_no_race() {
    struct Owner(Slot);
    impl Drop for Owner {
        fn drop(&mut self) {
            self.0.write(9);
        }
    }
    passes(|| {
        let shared = Arc::new(Owner(Slot::new()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.0.read();
            drop(other);
        });
        shared.0.read();
        drop(shared);
        thread.join().unwrap();
    });
}

#[test]
fn a_reference_count_without_release_is_found() {
    fn body(order: Ordering) {
        struct Counted {
            owners: AtomicUsize,
            slot: Slot,
        }
        let counted = Box::new(Counted { owners: AtomicUsize::new(2), slot: Slot::new() });
        let pointer = Box::into_raw(counted).expose_provenance();
        let release = move || {
            let pointer = ptr::with_exposed_provenance_mut::<Counted>(pointer);
            // SAFETY: the last owner frees it.
            unsafe {
                (*pointer).slot.read();
                if (*pointer).owners.fetch_sub(1, order) == 1 {
                    drop(Box::from_raw(pointer));
                }
            }
        };
        let thread = thread::spawn(release);
        release();
        thread.join().unwrap();
    }
    passes(|| body(Ordering::AcqRel));
    misuses("nothing orders the free after an access", || body(Ordering::Relaxed));
}

/// Whoever sees the value cannot tell whether it was written again before.
#[test]
fn an_update_that_leaves_the_value_orders_nothing_before_those_who_see_it() {
    let updates: [fn(&AtomicU32) -> u32; 4] = [
        |x| x.swap(0, Ordering::AcqRel),
        |x| x.fetch_add(0, Ordering::AcqRel),
        |x| x.fetch_or(0, Ordering::AcqRel),
        |x| x.compare_exchange(0, 0, Ordering::AcqRel, Ordering::Acquire).unwrap(),
    ];
    for update in updates {
        for looks in [update, |x| x.load(Ordering::Acquire)] {
            for writer in [0, 1] {
                races(|| {
                    let (slot, x) = (&Slot::new(), &AtomicU32::new(0));
                    thread::scope(|s| {
                        for thread in 0..2 {
                            s.spawn(move || {
                                if thread == writer {
                                    slot.write(42);
                                    update(x);
                                } else {
                                    looks(x);
                                    slot.read();
                                }
                            });
                        }
                    });
                });
            }
        }
    }
}

#[test]
fn an_update_that_leaves_the_value_heads_a_release_sequence() {
    passes(|| {
        let (slot, x) = (Slot::new(), AtomicU32::new(0));
        thread::scope(|s| {
            s.spawn(|| {
                slot.write(42);
                x.fetch_add(0, Ordering::Release);
                x.fetch_add(1, Ordering::Relaxed);
            });
            if x.load(Ordering::Acquire) == 1 {
                assert_eq!(slot.read(), 42);
            }
        });
    });
}

/// `Arc::strong_count` is a relaxed load.
#[test]
fn to_count_handles_orders_nothing() {
    let body = |counts: bool| {
        let (slot, mut shared) = (Slot::new(), Arc::new(0));
        let other = shared.clone();
        thread::scope(|s| {
            s.spawn(|| {
                slot.write(42);
                drop(other);
            });
            let alone = if counts {
                Arc::strong_count(&shared) == 1
            } else {
                Arc::get_mut(&mut shared).is_some()
            };
            if alone {
                slot.read();
            }
        });
    };
    passes(|| body(false));
    races(|| body(true));
}

/// The load of `x` comes after the update in the order of `SeqCst`: the load of `y` found 0, so it
/// precedes the store to `y`.
#[test]
fn an_update_that_leaves_the_value_precedes_a_load_that_seq_cst_puts_after_it() {
    use Ordering::{Acquire, Relaxed, Release, SeqCst};
    let body = |store: Ordering, load: Ordering| {
        let slot = Slot::new();
        let [x, y, z] = [const { AtomicU32::new(0) }; 3];
        thread::scope(|s| {
            s.spawn(|| {
                slot.write(1);
                x.fetch_or(0, SeqCst);
                if y.load(load) == 0 {
                    z.store(1, Relaxed);
                }
            });
            y.store(1, store);
            let found = z.load(Relaxed);
            x.load(SeqCst);
            if found == 1 {
                slot.read();
            }
        });
    };
    passes(|| body(SeqCst, SeqCst));
    // Nothing puts the load after the update if one of the accesses to `y` is weaker.
    races(|| body(SeqCst, Acquire));
    races(|| body(Release, SeqCst));
}
