//! Memory that is freed twice, used after it was freed, leaked, or used again too early.

use super::{misuses, passes};
use std::hint::black_box;
use std::ptr;
use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Report};
use trueline_explore::memory::{self, Reuse};
use trueline_explore::std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use trueline_explore::std::thread;

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
