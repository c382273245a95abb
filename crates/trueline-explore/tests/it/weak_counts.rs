//! What can be seen of the counts of an `Arc`, and what its handles order.

use crate::outcomes::{check, explore, races};
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use trueline_explore::std::sync::{Arc, Mutex, Weak};
use trueline_explore::std::thread;

/// A cell that threads share without a lock.
struct Shared(UnsafeCell<u32>);

// SAFETY: that its accesses are ordered is what the tests ask.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Shared {
        Shared(UnsafeCell::new(0))
    }

    fn set(&self) {
        // SAFETY: the detector ends the execution before a race is one.
        self.0.with_mut(|value| unsafe { *value = 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }
}

#[test]
fn get_mut_races_with_the_drop_of_a_weak() {
    // The thread drops the only `Weak` before or after.
    check([false, true], || {
        let mut arc = Arc::new(1);
        let weak = Arc::downgrade(&arc);
        let other = thread::spawn(move || drop(weak));
        let alone = Arc::get_mut(&mut arc).is_some();
        other.join().unwrap();
        alone
    });
}

#[test]
fn weak_counts_change_under_those_who_look() {
    // None before the downgrade, one after it.
    check([0, 1], || {
        let arc = Arc::new(1);
        let theirs = arc.clone();
        let other = thread::spawn(move || Arc::downgrade(&theirs));
        let count = Arc::weak_count(&arc);
        drop(other.join().unwrap());
        count
    });
    // One, and one more while the clone lives.
    check([1, 2], || {
        let arc = Arc::new(1);
        let weak = Arc::downgrade(&arc);
        let count = thread::scope(|s| {
            s.spawn(|| drop(weak.clone()));
            Arc::weak_count(&arc)
        });
        drop(weak);
        count
    });
    // `Weak::weak_count` is 0 when no owner is left.
    check([0, 1], || {
        let arc = Arc::new(1);
        let weak = Arc::downgrade(&arc);
        let other = thread::spawn(move || drop(arc));
        let count = weak.weak_count();
        other.join().unwrap();
        count
    });
}

#[test]
fn who_is_started_inside_new_cyclic_finds_an_owner_or_none() {
    check([None, Some(1)], || {
        let mut other = None;
        let arc = Arc::new_cyclic(|weak| {
            let weak = weak.clone();
            other = Some(thread::spawn(move || weak.upgrade().map(|arc| *arc)));
            1
        });
        let found = other.unwrap().join().unwrap();
        drop(arc);
        found
    });
}

#[test]
fn who_upgrades_knows_what_new_cyclic_has_written() {
    // The value itself is a cell; nothing but the upgrade orders the two.
    let (report, found) = explore(|| {
        let mut other = None;
        let arc = Arc::new_cyclic(|weak: &Weak<Shared>| {
            let weak = weak.clone();
            other = Some(thread::spawn(move || weak.upgrade().map(|arc| arc.get())));
            let value = Shared::new();
            value.set();
            value
        });
        let found = other.unwrap().join().unwrap();
        drop(arc);
        found
    });
    assert!(report.holds(), "{report}");
    assert_eq!(found, [None, Some(1)].into());
}

#[test]
fn a_weak_that_is_not_the_last_orders_nothing() {
    races(|| {
        let (arc, shared) = (Arc::new(1), &Shared::new());
        let weak = || Arc::downgrade(&arc);
        let (first, second, third) = (weak(), weak(), weak());
        thread::scope(|s| {
            s.spawn(move || {
                shared.set();
                drop(first);
            });
            s.spawn(move || {
                drop(second);
                shared.get();
            });
        });
        drop(third);
    });
}

#[test]
fn a_weak_passes_nothing_on_to_the_last_owner() {
    // A flag that orders nothing says that the `Weak` is gone. Std has a count for each kind of
    // handle.
    races(|| {
        let (arc, shared, flag) = (Arc::new(1), &Shared::new(), &AtomicU32::new(0));
        let (weak, another) = (Arc::downgrade(&arc), Arc::downgrade(&arc));
        thread::scope(|s| {
            s.spawn(move || {
                shared.set();
                drop(weak);
                flag.store(1, Relaxed);
            });
            s.spawn(move || {
                if flag.load(Relaxed) == 1 {
                    assert_eq!(Arc::into_inner(arc), Some(1));
                    shared.get();
                }
            });
        });
        drop(another);
    });
}

#[test]
fn the_last_weak_frees_in_the_knowledge_of_the_others() {
    // Both threads have used the memory; whoever is last frees it.
    check([()], || {
        let arc = Arc::new(AtomicU32::new(0));
        let (first, second) = (Arc::downgrade(&arc), Arc::downgrade(&arc));
        let use_it = |weak: &Weak<AtomicU32>| {
            if let Some(arc) = weak.upgrade() {
                arc.fetch_add(1, Relaxed);
            }
        };
        thread::scope(|s| {
            s.spawn(move || {
                use_it(&first);
                drop(first);
            });
            s.spawn(move || {
                use_it(&second);
                drop(second);
            });
            drop(arc);
        });
    });
}

#[test]
fn an_unwrap_that_fails_orders_nothing() {
    races(|| {
        let (arc, shared, flag) = (Arc::new(1), &Shared::new(), &AtomicU32::new(0));
        let (theirs, ours) = (arc.clone(), arc.clone());
        thread::scope(|s| {
            s.spawn(move || {
                shared.set();
                drop(theirs);
                flag.store(1, Relaxed);
            });
            s.spawn(move || {
                if flag.load(Relaxed) == 1 {
                    assert!(Arc::try_unwrap(ours).is_err());
                    shared.get();
                }
            });
        });
        drop(arc);
    });
}

#[test]
fn make_mut_of_a_shared_arc_gives_its_handle_up() {
    struct Value(AtomicU32);
    impl Clone for Value {
        fn clone(&self) -> Value {
            Value(AtomicU32::new(self.0.load(Relaxed)))
        }
    }
    // The thread's store comes before the copy or not; without a copy it has come and gone.
    check([10, 11], || {
        let mut arc = Arc::new(Value(AtomicU32::new(0)));
        let theirs = arc.clone();
        let other = thread::spawn(move || {
            theirs.0.store(1, Relaxed);
            drop(theirs);
        });
        *Arc::make_mut(&mut arc).0.get_mut() += 10;
        other.join().unwrap();
        arc.0.load(Relaxed)
    });
    // Where only a `Weak` is left, the value moves and the `Weak` finds nothing.
    check([(2, false), (2, true)], || {
        let mut arc = Arc::new(1);
        let weak = Arc::downgrade(&arc);
        let other = thread::spawn(move || weak.upgrade().is_some());
        *Arc::make_mut(&mut arc) += 1;
        (*arc, other.join().unwrap())
    });
}

#[test]
fn a_loop_that_upgrades_until_no_owner_is_left_is_no_livelock() {
    // Where one owner is left, each round of the loop changes the counts, so that it is not
    // recognised: it is cut off.
    let (report, outcomes) = explore(|| {
        let arc = Arc::new(1);
        let (second, weak) = (arc.clone(), Arc::downgrade(&arc));
        let other = thread::spawn(move || while weak.upgrade().is_some() {});
        drop(arc);
        drop(second);
        other.join().unwrap();
    });
    assert_eq!(report.failure, None, "{report}");
    assert_eq!(outcomes, [()].into());
}

#[test]
fn who_drops_the_last_weak_is_either() {
    // The owner holds a `Weak` too. While it lives the two decrements leave two and one in either
    // order: they commute.
    let (report, _) = explore(|| {
        let arc = Arc::new(1);
        let (first, second) = (Arc::downgrade(&arc), Arc::downgrade(&arc));
        thread::scope(|s| {
            s.spawn(move || drop(first));
            s.spawn(move || drop(second));
        });
        drop(arc);
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 1, "the owner is last");
    let (report, _) = explore(|| {
        let arc = Arc::new(1);
        let (first, second) = (Arc::downgrade(&arc), Arc::downgrade(&arc));
        drop(arc);
        thread::scope(|s| {
            s.spawn(move || drop(first));
            s.spawn(move || drop(second));
        });
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 2, "either is last");
}

#[test]
fn a_weak_of_nothing_is_no_event() {
    check([(0, 0, true)], || {
        let weak = Mutex::new(Weak::<u32>::new());
        thread::scope(|s| {
            s.spawn(|| drop(weak.lock().unwrap().clone()));
            let weak = weak.lock().unwrap();
            (weak.strong_count(), weak.weak_count(), weak.upgrade().is_none())
        })
    });
}

#[test]
fn who_is_last_among_owners_and_weaks_is_either() {
    // The destructor runs in the thread that is the last owner: the upgraded handle or the first
    // one.
    struct Noted(thread::ThreadId, Arc<AtomicU32>);
    impl Drop for Noted {
        fn drop(&mut self) {
            let own = thread::current().id() == self.0;
            self.1.store(if own { 1 } else { 2 }, SeqCst);
        }
    }
    check([1, 2], || {
        let by = Arc::new(AtomicU32::new(0));
        let arc = Arc::new(Noted(thread::current().id(), by.clone()));
        let weak = Arc::downgrade(&arc);
        let other = thread::spawn(move || drop(weak.upgrade()));
        drop(arc);
        other.join().unwrap();
        by.load(SeqCst)
    });
}
