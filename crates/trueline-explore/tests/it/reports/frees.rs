//! Cells and locks that are dropped or freed: reported where nothing orders that after another
//! thread's use, and only there.

use super::{misuses, passes, run};
use std::ptr;
use std::sync::PoisonError;
use trueline_explore::engine::interface::Failure;
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use trueline_explore::std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use trueline_explore::std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use trueline_explore::std::thread;

/// A cell that anybody may use, at his own risk.
struct Slot(UnsafeCell<u32>);

// SAFETY: not at all; that is what is tested.
unsafe impl Sync for Slot {}

impl Slot {
    fn raw() -> *mut Slot {
        Box::into_raw(Box::new(Slot(UnsafeCell::new(1))))
    }

    fn read(&self) -> u32 {
        // SAFETY: no other thread runs meanwhile.
        self.0.with(|value| unsafe { *value })
    }

    /// As [`Slot::read`], through a pointer of which nobody says what it is for.
    fn get(&self) -> u32 {
        // SAFETY: no other thread runs meanwhile.
        unsafe { *self.0.get() }
    }

    fn write(&self) {
        // SAFETY: no other thread runs meanwhile.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

/// What threads pass to each other without more ado.
struct Raw<T>(*mut T);

// SAFETY: not at all; that is what is tested.
unsafe impl<T> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Raw<T> {}

impl<T> Raw<T> {
    /// # Safety
    /// None; see above.
    unsafe fn at<'a>(&self) -> &'a T {
        // SAFETY: the arena keeps freed blocks readable.
        unsafe { &*self.0 }
    }

    /// # Safety
    /// It comes from a box.
    unsafe fn free(&self) {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The drop of a cell is reported, with the line of the use that nothing orders before it.
#[track_caller]
fn drops_too_early(body: impl Fn() + Sync) {
    let what = misuses("nothing orders the free after an access", body);
    assert!(what.contains("the drop: thread"), "{what}");
    let access = what.lines().find(|line| line.contains("the access: thread"));
    assert!(access.is_some_and(|line| line.contains(file!())), "{what}");
}

/// A cell is used, then a flag is set; who sees the flag drops the cell.
fn used_then_dropped(use_it: fn(&Slot), store: Ordering, load: Ordering) {
    let (slot, done) = (Raw(Slot::raw()), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            // SAFETY: nobody frees it before the flag is set.
            use_it(unsafe { slot.at() });
            done.store(true, store);
        });
        while !done.load(load) {}
        // SAFETY: none where the flag orders nothing; that is what is tested.
        unsafe { slot.free() };
    });
}

/// The drop of a cell erased what was known of it, so that the free that followed found nothing.
#[test]
fn a_cell_that_is_dropped_after_a_relaxed_flag_is_reported() {
    for use_it in
        [|s: &Slot| assert_eq!(s.read(), 1), |s: &Slot| assert_eq!(s.get(), 1), Slot::write]
    {
        drops_too_early(|| used_then_dropped(use_it, Relaxed, Relaxed));
        drops_too_early(|| used_then_dropped(use_it, Release, Relaxed));
        drops_too_early(|| used_then_dropped(use_it, Relaxed, Acquire));
        passes(|| used_then_dropped(use_it, Release, Acquire));
    }
}

#[test]
fn a_cell_that_is_dropped_while_a_thread_reads_it_is_reported() {
    drops_too_early(|| {
        let slot = Raw(Slot::raw());
        thread::scope(|s| {
            s.spawn(|| {
                // SAFETY: none; that is what is tested.
                unsafe { slot.at() }.read()
            });
            // SAFETY: as above.
            unsafe { slot.free() };
        });
    });
}

#[test]
fn a_cell_that_is_read_after_it_was_dropped_is_reported() {
    // The block stays, and the drop comes first in the only order of events that there is.
    let report = run(|| {
        let (slot, flag) = (Raw(Slot::raw()), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                // SAFETY: the drop is the only one; that it is not ordered is what is tested.
                unsafe { ptr::drop_in_place(ptr::from_ref(slot.at()).cast_mut()) };
                flag.store(true, Relaxed);
            });
            while !flag.load(Relaxed) {}
            // SAFETY: none; that is what is tested.
            unsafe { slot.at() }.read();
        });
        // SAFETY: it comes from a box, and has been dropped.
        unsafe { Raw(slot.0.cast::<u32>()).free() };
    });
    let Some(Failure::Race { first, second }) = &report.failure else {
        panic!("a race was expected, not {report}");
    };
    assert!(first.starts_with("thread 1, UnsafeCell::drop, before its first"), "{report}");
    assert!(second.contains(file!()), "{report}");
}

#[test]
fn a_cell_behind_a_pointer_that_is_swapped_out_and_freed_is_reported() {
    fn body(reads_first: bool, read: fn(&Slot) -> u32) {
        let shared = AtomicPtr::new(Slot::raw());
        let reader = || {
            let slot = shared.load(Acquire);
            // SAFETY: it may be freed meanwhile; that is what is tested.
            unsafe { slot.as_ref() }.map(read)
        };
        let freer = || {
            // SAFETY: it was taken by this thread; who else reads it is what is tested.
            unsafe { Raw(shared.swap(ptr::null_mut(), AcqRel)).free() };
        };
        thread::scope(|s| {
            if reads_first {
                s.spawn(reader);
                freer();
            } else {
                s.spawn(freer);
                reader();
            }
        });
    }
    for (reads_first, read) in [(true, Slot::read as fn(&Slot) -> u32), (false, Slot::get)] {
        let failure = run(|| body(reads_first, read)).failure;
        assert!(matches!(failure, Some(Failure::Race { .. } | Failure::Memory { .. })));
    }
}

/// The textbook stack that frees what it pops.
#[test]
fn a_treiber_stack_that_frees_its_nodes_at_once_is_reported() {
    struct Node {
        next: UnsafeCell<*mut Node>,
        value: UnsafeCell<u32>,
    }
    struct Stack(AtomicPtr<Node>);
    impl Stack {
        fn push(&self, value: u32) {
            let next = UnsafeCell::new(self.0.load(Acquire));
            let node = Node { next, value: UnsafeCell::new(value) };
            self.0.store(Box::into_raw(Box::new(node)), Release);
        }

        fn pop(&self) -> Option<u32> {
            loop {
                let head = self.0.load(Acquire);
                // SAFETY: none; another thread may free the node. That is what is tested.
                let node = unsafe { head.as_ref() }?;
                // SAFETY: as above.
                let next = node.next.with(|next| unsafe { *next });
                if self.0.compare_exchange(head, next, AcqRel, Acquire).is_ok() {
                    // SAFETY: as above.
                    let value = node.value.with(|value| unsafe { *value });
                    // SAFETY: as above.
                    unsafe { Raw(head).free() };
                    return Some(value);
                }
            }
        }
    }
    drops_too_early(|| {
        let stack = Stack(AtomicPtr::new(ptr::null_mut()));
        stack.push(1);
        stack.push(2);
        thread::scope(|s| {
            s.spawn(|| stack.pop());
            stack.pop();
        });
    });
}

#[test]
fn the_only_owner_of_an_arc_drops_a_cell_that_another_thread_reads() {
    drops_too_early(|| {
        let slot = Raw(Arc::into_raw(Arc::new(Slot(UnsafeCell::new(1)))).cast_mut());
        thread::scope(|s| {
            s.spawn(|| {
                // SAFETY: none; it has no handle. That is what is tested.
                unsafe { slot.at() }.read()
            });
            // SAFETY: it is the only handle.
            drop(unsafe { Arc::from_raw(slot.0.cast_const()) });
        });
    });
}

#[test]
fn a_cell_whose_last_user_synchronised_is_dropped_silently() {
    passes(|| {
        let slots: Vec<Arc<Slot>> = vec![Arc::new(Slot(UnsafeCell::new(1))); 2];
        for slot in slots {
            thread::spawn(move || slot.read());
        }
    });
    passes(|| {
        let slot = Slot(UnsafeCell::new(1));
        thread::scope(|s| {
            s.spawn(|| slot.read());
            s.spawn(|| slot.get());
        });
        assert_eq!(slot.0.into_inner(), 1);
    });
    passes(|| {
        let slot = Box::new(Slot(UnsafeCell::new(1)));
        let slot = thread::spawn(move || {
            slot.write();
            slot
        });
        drop(slot.join().unwrap());
    });
    passes(|| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let slot = Box::new(Slot(UnsafeCell::new(1)));
            slot.write();
            sender.send(slot).unwrap();
        });
        drop(receiver.recv().unwrap());
    });
    // Nobody has a handle any more, and the thread that drops a handle late has used the cell.
    passes(|| {
        let slot = Arc::new(Slot(UnsafeCell::new(1)));
        let weak = Arc::downgrade(&slot);
        let thread = thread::spawn(move || weak.upgrade().map(|slot| slot.read()));
        drop(slot);
        thread.join().unwrap();
    });
}

/// A thread uses something in a block and then sets a flag; who sees the flag frees the block.
fn used_then_freed<T>(make: fn() -> T, use_it: fn(&T), (store, load): (Ordering, Ordering)) {
    let (block, done) = (Raw(Box::into_raw(Box::new(make()))), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            // SAFETY: nobody frees it before the flag is set.
            use_it(unsafe { block.at() });
            done.store(true, store);
        });
        while !done.load(load) {}
        // SAFETY: none where the flag orders nothing; that is what is tested.
        unsafe { block.free() };
    });
}

/// Uses of locks left no trace that a free could find.
#[test]
fn a_lock_that_is_freed_after_a_relaxed_flag_is_reported() {
    #[track_caller]
    fn check<T>(name: &str, make: fn() -> T, use_it: fn(&T)) {
        for orders in [(Relaxed, Relaxed), (Release, Relaxed), (Relaxed, Acquire)] {
            let what = misuses("possible use after free", || used_then_freed(make, use_it, orders));
            assert!(what.contains(name) && what.contains(file!()), "{what}");
        }
        passes(|| used_then_freed(make, use_it, (Release, Acquire)));
    }
    check("MutexGuard::drop", || Mutex::new(0), |m| *m.lock().unwrap() += 1);
    check("Mutex::is_poisoned", || Mutex::new(0), |m| assert!(!m.is_poisoned()));
    check("RwLockReadGuard::drop", || RwLock::new(0), |l| assert_eq!(*l.read().unwrap(), 0));
    check("RwLockWriteGuard::drop", || RwLock::new(0), |l| *l.write().unwrap() += 1);
    check("Once, finished", Once::new, |once| once.call_once(|| ()));
    check("Once::is_completed", Once::new, |once| assert!(!once.is_completed()));
    check("Barrier::wait", || Barrier::new(1), |barrier| assert!(barrier.wait().is_leader()));
    check("Condvar::notify_one", Condvar::new, Condvar::notify_one);
    check("Condvar::notify_all", Condvar::new, Condvar::notify_all);
    check("Arc::strong_count", || Arc::new(0), |arc| assert_eq!(Arc::strong_count(arc), 1));
}

#[test]
fn a_lock_that_was_tried_in_vain_is_not_freed_before_that_is_known() {
    misuses("possible use after free", || {
        let block = Raw(Box::into_raw(Box::new(Mutex::new(()))));
        let tried = AtomicBool::new(false);
        // SAFETY: nobody has freed it yet.
        let guard = unsafe { block.at() }.lock().unwrap();
        thread::scope(|s| {
            s.spawn(|| {
                // SAFETY: nobody frees it before the flag is set.
                assert!(unsafe { block.at() }.try_lock().is_err());
                tried.store(true, Relaxed);
            });
            while !tried.load(Relaxed) {}
            drop(guard);
            // SAFETY: none; that is what is tested.
            unsafe { block.free() };
        });
    });
}

#[test]
fn a_lock_that_says_itself_that_it_is_no_longer_used_is_freed_silently() {
    passes(|| {
        let block = Raw(Box::into_raw(Box::new((Mutex::new(false), Condvar::new()))));
        thread::scope(|s| {
            s.spawn(|| {
                // SAFETY: the other thread frees it after it has had the lock.
                let (done, changed) = unsafe { block.at() };
                let mut guard = done.lock().unwrap_or_else(PoisonError::into_inner);
                *guard = true;
                changed.notify_one();
            });
            // SAFETY: as above.
            let (done, changed) = unsafe { block.at() };
            drop(changed.wait_while(done.lock().unwrap(), |done| !*done).unwrap());
            // SAFETY: the other thread has given the lock back.
            unsafe { block.free() };
        });
    });
}

#[test]
fn a_condvar_that_is_notified_without_its_lock_is_freed_too_early() {
    let failure = run(|| {
        let block = Raw(Box::into_raw(Box::new((Mutex::new(false), Condvar::new()))));
        thread::scope(|s| {
            s.spawn(|| {
                // SAFETY: none; the other thread may free it before the notification. That is what
                // is tested.
                let (done, changed) = unsafe { block.at() };
                *done.lock().unwrap() = true;
                changed.notify_one();
            });
            // SAFETY: as above.
            let (done, changed) = unsafe { block.at() };
            drop(changed.wait_while(done.lock().unwrap(), |done| !*done).unwrap());
            // SAFETY: as above.
            unsafe { block.free() };
        });
    });
    assert!(matches!(failure.failure, Some(Failure::Memory { .. })), "{failure}");
}
