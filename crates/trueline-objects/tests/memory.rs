//! What objects cost in memory, counted by the allocator of this test.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;

use trueline_objects::{BLinkTree, Counter, ListSet, TreiberStack, WideRegister};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many bytes a function has allocated and not freed.
fn growth<R>(run: impl FnOnce() -> R) -> usize {
    let before = BYTES.load(Ordering::SeqCst);
    drop(run());
    BYTES.load(Ordering::SeqCst).saturating_sub(before)
}

/// One look by thread number 300 made an empty set 40 KB larger: records for all threads with
/// numbers of that size. One test alone is in this file, since it counts what all threads allocate.
#[test]
fn a_thread_with_a_large_number_costs_an_object_a_record() {
    const THREADS: usize = 300;
    let (set, map, counter) = (ListSet::<u8>::new(), BLinkTree::<u8, u8>::new(), Counter::new());
    let (stack, register) = (TreiberStack::<u8>::new(), WideRegister::new(0_u8));
    let sizes = [size_of_val(&set), size_of_val(&stack), size_of_val(&counter)];
    assert!(sizes.iter().all(|size| *size < 1700), "{sizes:?}");
    let (ready, is_ready) = mpsc::channel();
    let barrier = Barrier::new(THREADS);
    thread::scope(|s| {
        for thread in 0..THREADS {
            let (ready, barrier) = (ready.clone(), &barrier);
            let (set, map, counter, stack, register) = (&set, &map, &counter, &stack, &register);
            s.spawn(move || {
                // It gets the least number that nobody has: the last one of them has a number of
                // 299 or more.
                assert!(!ListSet::<u8>::new().contains(&1));
                ready.send(()).unwrap();
                if thread + 1 == THREADS {
                    for (what, bytes) in [
                        ("set", growth(|| set.contains(&1))),
                        ("map", growth(|| map.get(&1))),
                        ("stack", growth(|| stack.pop())),
                        ("register", growth(|| register.read())),
                        ("counter", growth(|| counter.inc())),
                    ] {
                        assert!((1..3000).contains(&bytes), "{what}: {bytes}");
                    }
                }
                barrier.wait();
            });
            is_ready.recv().unwrap();
        }
    });
}
