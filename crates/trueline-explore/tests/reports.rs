//! What goes wrong is reported as what it is, with the lines of the user's code.

use std::cell::RefCell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr;
use trueline_explore::Alloc;
use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Report};
use trueline_explore::memory::{self, Reuse, untracked};
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence,
};
use trueline_explore::std::sync::{Arc, Condvar, Mutex};
use trueline_explore::std::{hint, thread};

#[global_allocator]
static ALLOC: Alloc = Alloc;

fn run(body: impl Fn() + Sync) -> Report {
    Exploration::new().run(body)
}

/// The line after the one that asks.
#[track_caller]
fn next_line() -> String {
    let here = Location::caller();
    format!("{}:{}:", here.file(), here.line() + 1)
}

#[track_caller]
fn passes(body: impl Fn() + Sync) {
    assert_eq!(run(body).failure, None);
}

/// The two sides of a race.
#[track_caller]
fn races(body: impl Fn() + Sync) -> (String, String) {
    match run(body).failure {
        Some(Failure::Race { first, second }) => (first, second),
        other => panic!("a race was expected, not {other:?}"),
    }
}

#[track_caller]
fn misuses(text: &str, body: impl Fn() + Sync) -> String {
    match run(body).failure {
        Some(Failure::Memory { what }) if what.contains(text) => what,
        other => panic!("{text} was expected, not {other:?}"),
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

#[test]
fn a_double_free_is_reported() {
    let what = misuses("double free of a block of 8 bytes", || {
        let pointer = black_box(Box::into_raw(Box::new(7_u64)));
        // SAFETY: the second is an error, and is what is tested.
        unsafe {
            drop(Box::from_raw(pointer));
            drop(Box::from_raw(pointer));
        }
    });
    assert!(what.contains("freed by thread 0"), "{what}");
}

#[test]
fn a_use_after_free_through_an_atomic_is_reported() {
    let what = misuses("use after free of a block of 4 bytes\n", || {
        let pointer = Box::into_raw(Box::new(AtomicU32::new(1)));
        // SAFETY: the access is an error, and is what is tested.
        unsafe {
            drop(Box::from_raw(pointer));
            (*pointer).fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(what.contains(file!()), "{what}");
    // Here the access may come before the free as well; that nothing orders them is enough.
    let what = misuses("use after free of a block of 4 bytes", || {
        let shared = AtomicPtr::new(Box::into_raw(Box::new(AtomicU32::new(1))));
        thread::scope(|s| {
            s.spawn(|| {
                let pointer = shared.load(Ordering::Acquire);
                if !pointer.is_null() {
                    // SAFETY: it may have been freed by now; that is what is tested.
                    unsafe { (*pointer).fetch_add(1, Ordering::Relaxed) };
                }
            });
            let pointer = shared.swap(ptr::null_mut(), Ordering::AcqRel);
            // SAFETY: the thread above may be using it; that is what is tested.
            drop(unsafe { Box::from_raw(pointer) });
        });
    });
    assert!(what.contains(file!()), "{what}");
}

#[test]
fn a_leak_is_reported() {
    let what = misuses("leak of a block of 24 bytes", || {
        std::mem::forget(black_box(Box::new([0_u64; 3])));
    });
    assert!(what.contains("allocated by thread 0"), "{what}");
    misuses("leak of 2 blocks", || {
        std::mem::forget(black_box((Box::new(1_u64), Box::new(2_u64))));
    });
    passes(|| {
        memory::allow_leaks();
        std::mem::forget(black_box(Box::new(1_u64)));
    });
}

#[test]
fn a_plain_store_to_a_freed_block_is_found_at_the_end() {
    misuses("was written by a plain store", || {
        let pointer = black_box(Box::into_raw(Box::new(7_u64)));
        // SAFETY: the store is an error, and is what is tested.
        unsafe {
            drop(Box::from_raw(pointer));
            pointer.write_volatile(1);
        }
    });
}

#[test]
fn printing_is_no_leak() {
    passes(|| {
        println!("a line that makes the harness's buffer grow, {}", "x".repeat(1000));
        thread::spawn(|| println!("another")).join().unwrap();
    });
}

#[test]
fn a_deadlock_is_reported_with_who_waits_for_what() {
    let report = run(|| {
        let (a, b) = (Mutex::new(()), Mutex::new(()));
        thread::scope(|s| {
            s.spawn(|| {
                let _first = a.lock().unwrap();
                let _second = b.lock().unwrap();
            });
            let _first = b.lock().unwrap();
            let _second = a.lock().unwrap();
        });
    });
    let Some(Failure::Deadlock { waiting }) = report.failure else {
        panic!("a deadlock was expected, not {:?}", report.failure);
    };
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert!(waiting.iter().all(|line| line.contains("Mutex::lock") && line.contains(file!())));
}

#[test]
fn a_lost_wakeup_is_reported_as_such() {
    let report = run(|| {
        let (lock, wakeup) = (Mutex::new(()), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| wakeup.notify_one());
            // Nothing says whether the notification has come already.
            drop(wakeup.wait(lock.lock().unwrap()).unwrap());
        });
    });
    let Some(Failure::Deadlock { waiting }) = report.failure else {
        panic!("a deadlock was expected, not {:?}", report.failure);
    };
    assert!(waiting.iter().any(|line| line.contains("lost wakeup")), "{waiting:?}");
}

#[test]
fn a_livelock_is_reported_as_such() {
    for hinted in [false, true] {
        let report = run(|| {
            let (a, b) = (AtomicBool::new(false), AtomicBool::new(false));
            let wait = |flag: &AtomicBool| {
                while !flag.load(Ordering::Acquire) {
                    if hinted {
                        hint::spin_loop();
                    }
                }
            };
            thread::scope(|s| {
                s.spawn(|| {
                    wait(&a);
                    b.store(true, Ordering::Release);
                });
                wait(&b);
                a.store(true, Ordering::Release);
            });
        });
        assert!(
            matches!(report.failure, Some(Failure::Livelock { .. })),
            "a livelock was expected, not {:?}",
            report.failure
        );
    }
}

#[test]
fn waiting_for_another_by_sleeping_is_no_livelock() {
    passes(|| {
        let flag = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| flag.store(true, Ordering::Release));
            while !flag.load(Ordering::Acquire) {
                thread::sleep(std::time::Duration::from_millis(1));
            }
            while !flag.load(Ordering::Acquire) {
                thread::park_timeout(std::time::Duration::from_millis(1));
            }
        });
    });
}

#[test]
fn a_panic_inside_is_a_report_and_never_an_abort() {
    struct Noisy(Arc<AtomicUsize>, Mutex<u32>);
    impl Drop for Noisy {
        fn drop(&mut self) {
            // Shadow operations while unwinding, among them one that would have to wait.
            self.0.fetch_add(1, Ordering::SeqCst);
            drop(self.1.lock());
        }
    }
    for who in 0..2 {
        let report = run(|| {
            let counter = Arc::new(AtomicUsize::new(0));
            let noisy = Noisy(counter.clone(), Mutex::new(0));
            let other = counter.clone();
            let thread = thread::spawn(move || {
                let _noisy = Noisy(other.clone(), Mutex::new(0));
                let seen = other.fetch_add(1, Ordering::SeqCst);
                assert!(who != 1 || seen != 1, "thread 1 was second");
            });
            let seen = counter.fetch_add(1, Ordering::SeqCst);
            assert!(who != 0 || seen != 2, "thread 0 was third");
            thread.join().unwrap();
            drop(noisy);
        });
        let Some(Failure::Panic { message, at }) = report.failure else {
            panic!("a panic was expected, not {:?}", report.failure);
        };
        assert!(message.starts_with(&format!("thread {who} was")), "{message}");
        assert!(at.unwrap().contains(file!()));
    }
}

#[test]
fn a_panic_that_is_caught_poisons_and_goes_on() {
    passes(|| {
        let lock = Mutex::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = lock.lock();
                    panic!("on purpose");
                }));
                assert!(caught.is_err());
                assert!(lock.is_poisoned());
            });
            drop(lock.lock());
        });
        assert!(lock.lock().is_err());
        lock.clear_poison();
        assert!(lock.lock().is_ok());
    });
}

#[test]
fn a_panic_with_a_destructor_that_panics_again_in_the_next_execution() {
    // Many failing explorations in a row: nothing of one is left for the next.
    for _ in 0..20 {
        let report = run(|| {
            let flag = AtomicBool::new(false);
            thread::scope(|s| {
                s.spawn(|| flag.store(true, Ordering::Relaxed));
                assert!(!flag.load(Ordering::Relaxed), "seen");
            });
        });
        assert!(matches!(report.failure, Some(Failure::Panic { .. })), "{:?}", report.failure);
        assert!(!std::thread::panicking());
    }
}

#[test]
fn explorations_in_parallel_do_not_disturb_each_other() {
    let explore = |seed: usize| {
        let report = run(|| {
            let slot = Arc::new(Mutex::new(vec![seed]));
            let threads: Vec<_> = (0..3)
                .map(|i| {
                    let slot = slot.clone();
                    thread::spawn(move || slot.lock().unwrap().push(seed + i))
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let slot = slot.lock().unwrap();
            assert_eq!(slot.len(), 4);
            assert!(slot.iter().all(|value| value / 100 == seed / 100));
        });
        assert_eq!(report.failure, None);
        report.executions
    };
    let counts: Vec<u64> = std::thread::scope(|s| {
        let threads: Vec<_> = (1..=4).map(|i| s.spawn(move || explore(100 * i))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(counts.iter().all(|&count| count == counts[0] && count >= 6), "{counts:?}");
}

/// A Treiber stack that frees what it pops at once, to which no one may hold on.
fn aba(reuse: Reuse) -> Report {
    struct Node {
        value: u32,
        next: *mut Node,
    }
    struct Stack(AtomicPtr<Node>);
    impl Stack {
        fn push(&self, value: u32) {
            let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
            let mut head = self.0.load(Ordering::Acquire);
            loop {
                // SAFETY: the node is not shared yet.
                unsafe { (*node).next = head };
                match self.0.compare_exchange(head, node, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return,
                    Err(found) => head = found,
                }
            }
        }

        fn pop(&self) -> Option<Box<Node>> {
            let mut head = self.0.load(Ordering::Acquire);
            while !head.is_null() {
                // SAFETY: a plain load, which may be of a freed block: the arena keeps it readable.
                let next = unsafe { (*head).next };
                match self.0.compare_exchange(head, next, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => {
                        // SAFETY: this thread has taken the node off.
                        return Some(unsafe { Box::from_raw(head) });
                    }
                    Err(found) => head = found,
                }
            }
            None
        }
    }
    Exploration::new().run(move || {
        memory::reuse(reuse);
        let stack = Stack(AtomicPtr::new(ptr::null_mut()));
        stack.push(1);
        stack.push(2);
        let popped = thread::scope(|s| {
            let first = s.spawn(|| stack.pop().map(|node| node.value));
            let (a, b) = (stack.pop(), stack.pop());
            let values = (a.as_ref().map(|node| node.value), b.as_ref().map(|node| node.value));
            // The node that was on top is freed last, so it is the next to be used.
            drop(b);
            drop(a);
            stack.push(3);
            [first.join().unwrap(), values.0, values.1]
        });
        let mut all: Vec<u32> = popped.into_iter().flatten().collect();
        while all.len() < 10
            && let Some(node) = stack.pop()
        {
            all.push(node.value);
        }
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    })
}

#[test]
fn reuse_provokes_aba() {
    let kept = aba(Reuse::Quarantine);
    assert_eq!(kept.failure, None, "without reuse the stack loses nothing");
    let reused = aba(Reuse::Lifo);
    assert!(
        matches!(reused.failure, Some(Failure::Memory { .. } | Failure::Panic { .. })),
        "{:?}",
        reused.failure
    );
}

/// What the engine leaves on the stack differs from event to event, and so does where the code generator puts it: both hid spin
/// loops from the engine.
#[test]
fn leftovers_of_the_engine_do_not_hide_a_spin_loop() {
    #[inline(never)]
    fn shallow(flag: &AtomicBool) -> bool {
        flag.load(Ordering::Acquire)
    }
    #[inline(never)]
    fn deep(flag: &AtomicBool, levels: usize) -> bool {
        // Mostly not written: what it holds is what lay there.
        let room = std::mem::MaybeUninit::<[u64; 8]>::uninit();
        black_box(&room);
        if levels == 0 { shallow(flag) } else { deep(flag, levels - 1) }
    }
    let report = run(|| {
        let (a, b) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait = |flag: &AtomicBool| while !(deep(flag, 3) | shallow(flag) | deep(flag, 1)) {};
        thread::scope(|s| {
            s.spawn(|| {
                wait(&a);
                b.store(true, Ordering::Release);
            });
            wait(&b);
            a.store(true, Ordering::Release);
        });
    });
    assert!(matches!(report.failure, Some(Failure::Livelock { .. })), "{:?}", report.failure);
}
