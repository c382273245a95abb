//! Plain accesses to cells: how long they last, which bytes they touch, and when their history
//! ends.

use std::mem::ManuallyDrop;

use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Report};
use trueline_explore::memory::{self, Reuse};
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use trueline_explore::std::sync::atomic::{AtomicPtr, AtomicU32};
use trueline_explore::std::thread;

struct Shared<T>(T);

// SAFETY: the tests want races.
unsafe impl<T> Sync for Shared<T> {}

fn explore(body: impl Fn() + Sync) -> Report {
    Exploration::new().run(body)
}

#[track_caller]
fn races(report: &Report) {
    assert!(matches!(report.failure, Some(Failure::Race { .. })), "{report}");
}

#[test]
fn a_write_lasts_until_its_function_returns() {
    let report = explore(|| {
        let (flag, cell) = (AtomicU32::new(0), Shared(UnsafeCell::new(0u32)));
        let cell = &cell;
        thread::scope(|s| {
            s.spawn(|| {
                cell.0.with_mut(|p| {
                    flag.store(1, Release);
                    // SAFETY: none; it comes after the cell was published.
                    unsafe { *p = 1 };
                });
            });
            if flag.load(Acquire) == 1 {
                // SAFETY: none.
                cell.0.with(|p| unsafe { *p });
            }
        });
    });
    races(&report);
}

#[test]
fn a_read_lasts_until_its_function_returns() {
    let report = explore(|| {
        let (flag, cell) = (AtomicU32::new(0), Shared(UnsafeCell::new(0u32)));
        let cell = &cell;
        thread::scope(|s| {
            s.spawn(|| {
                cell.0.with(|p| {
                    flag.store(1, Release);
                    // SAFETY: none; somebody may write meanwhile.
                    unsafe { *p }
                })
            });
            if flag.load(Acquire) == 1 {
                // SAFETY: none.
                cell.0.with_mut(|p| unsafe { *p = 2 });
            }
        });
    });
    races(&report);
}

/// How many events there were when an access began was kept on the thread's stack: each round of a
/// loop differed from the one before, and the exploration did not end.
#[test]
fn a_loop_that_reads_a_cell_in_each_round_is_recognised() {
    let report = explore(|| {
        let (flag, cell) = (AtomicU32::new(0), Shared(UnsafeCell::new(0u32)));
        let (flag, cell) = (&flag, &cell);
        thread::scope(|s| {
            s.spawn(|| flag.store(1, SeqCst));
            while cell.0.with(|_| flag.load(SeqCst)) == 0 {}
        });
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_weak_exchange_in_a_loop_that_reads_a_cell_fails_for_no_reason_finitely_often() {
    let report = Exploration::new().spurious(true).run(|| {
        let (value, cell) = (AtomicU32::new(0), Shared(UnsafeCell::new(0u32)));
        let (value, cell) = (&value, &cell);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let mut seen = value.load(SeqCst);
                    loop {
                        // SAFETY: nobody writes.
                        let next = seen + 1 + cell.0.with(|p| unsafe { *p });
                        match value.compare_exchange_weak(seen, next, SeqCst, SeqCst) {
                            Ok(_) => break,
                            Err(found) => seen = found,
                        }
                    }
                });
            }
        });
        assert_eq!(value.load(SeqCst), 2);
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn an_access_that_was_over_before_it_was_published_is_no_race() {
    let report = explore(|| {
        let (flag, cell) = (AtomicU32::new(0), Shared(UnsafeCell::new(0u32)));
        let cell = &cell;
        thread::scope(|s| {
            s.spawn(|| {
                flag.load(SeqCst);
                // SAFETY: nobody else uses the cell before the flag is set.
                cell.0.with_mut(|p| unsafe { *p = 1 });
                flag.store(1, Release);
            });
            if flag.load(Acquire) == 1 {
                // SAFETY: the writer does nothing after it has set the flag.
                cell.0.with(|p| unsafe { *p });
            }
        });
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_race_in_any_byte_of_a_large_cell_is_found() {
    for index in [0, 127, 128, 200, 255] {
        let report = explore(|| {
            let cell = Shared(UnsafeCell::new([0u64; 256]));
            let cell = &cell;
            thread::scope(|s| {
                for value in 1..3 {
                    // SAFETY: none; it is a race.
                    s.spawn(move || unsafe { (*cell.0.get())[index] = value });
                }
            });
        });
        races(&report);
        assert!(report.to_string().contains("a cell is one unit"), "{report}");
    }
}

#[test]
fn cells_of_no_bytes_do_not_race() {
    let report = explore(|| {
        let cells = Shared([UnsafeCell::new(()), UnsafeCell::new(())]);
        let cells = &cells;
        thread::scope(|s| {
            for index in 0..2 {
                s.spawn(move || {
                    // SAFETY: there is nothing to write, and both cells are at the same address.
                    cells.0[index].with_mut(|p| unsafe { *p = () });
                    // SAFETY: as above.
                    unsafe { *cells.0[index].get() = () };
                });
            }
        });
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn a_pointer_into_a_freed_block_is_no_access_of_its_next_owner() {
    // Both threads write a block of their own and free it; the second one may get the block of the
    // first.
    let report = explore(|| {
        memory::reuse(Reuse::Lifo);
        let body = |value: u64| {
            let cell = Box::new(UnsafeCell::new([0u64; 4]));
            let pointer = cell.get();
            // SAFETY: the cell is this thread's own.
            unsafe { *pointer = [value; 4] };
            // No shadow operation comes between the write and the free, and the cell's destructor
            // does not run.
            let raw = Box::into_raw(cell);
            // SAFETY: it is the box from above, as one of a type without a destructor and of the
            // same layout.
            drop(unsafe { Box::from_raw(raw.cast::<[u64; 4]>()) });
        };
        thread::scope(|s| {
            s.spawn(move || body(1));
            s.spawn(move || body(2));
        });
    });
    assert!(report.holds(), "{report}");
}

/// Two cells at one address, of which one has no bytes.
#[repr(C)]
struct Neighbours {
    empty: ManuallyDrop<UnsafeCell<()>>,
    full: UnsafeCell<u32>,
}

/// The drop of a cell without bytes ended the history of the cell at the same address, and its race
/// was missed.
#[test]
fn a_cell_without_bytes_that_is_dropped_leaves_the_history_of_its_neighbour() {
    let report = explore(|| {
        let cells = Shared(Neighbours {
            empty: ManuallyDrop::new(UnsafeCell::new(())),
            full: UnsafeCell::new(0),
        });
        let cells = &cells;
        thread::scope(|s| {
            // SAFETY: none, it races with the read.
            s.spawn(|| cells.0.full.with_mut(|p| unsafe { *p = 1 }));
            // SAFETY: it is dropped once, and nobody else uses it.
            unsafe { ManuallyDrop::drop(&mut *(&raw const cells.0.empty).cast_mut()) };
            // SAFETY: none, see above.
            cells.0.full.with(|p| unsafe { *p });
        });
    });
    races(&report);
}

struct Node {
    value: UnsafeCell<ManuallyDrop<u64>>,
    next: UnsafeCell<usize>,
}

struct List {
    head: AtomicPtr<Node>,
}

impl List {
    fn push(&self, value: u64) {
        let value = UnsafeCell::new(ManuallyDrop::new(value));
        let node = Box::into_raw(Box::new(Node { value, next: UnsafeCell::new(0) }));
        node.expose_provenance();
        let mut head = self.head.load(SeqCst);
        loop {
            // SAFETY: the node is this thread's own until it is in the list.
            unsafe { (*node).next.with_mut(|next| *next = head.addr()) };
            match self.head.compare_exchange_weak(head, node, Release, Acquire) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }
}

/// What an access to a cell left on the stack in a debug build differed from round to round, and a
/// loop that fails for no reason was never seen to be where it had been: the exploration did not
/// end.
#[test]
fn a_loop_with_a_cell_that_fails_for_no_reason_is_explored_to_the_end() {
    let report = Exploration::new().spurious(true).executions(1000).run(|| {
        memory::allow_leaks();
        let list = List { head: AtomicPtr::default() };
        thread::scope(|s| {
            s.spawn(|| list.push(1));
            list.push(2);
        });
        // SAFETY: nobody changes the list any more.
        let value = unsafe { (*list.head.load(SeqCst)).value.with(|value| **value) };
        assert!(value == 1 || value == 2);
    });
    assert!(report.holds(), "{report}");
}
