//! Tokens, results and the ends of threads.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::outcomes::{check, explore, races};
use trueline_explore::engine::Exploration;
use trueline_explore::memory::untracked;
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueline_explore::std::sync::{Arc, Condvar, Mutex};
use trueline_explore::std::thread;

#[test]
fn the_place_of_a_token_does_not_depend_on_who_asks_for_it_first() {
    // The one that parks gives up at once or finds the token, which nobody can tell apart; the
    // third thread sees the store or not.
    check([0, 1], || {
        let (x, y, go) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|s| {
            let parks = s.spawn(|| {
                y.store(1, SeqCst);
                while go.load(SeqCst) == 0 {}
                thread::park_timeout(Duration::from_millis(1));
                x.load(SeqCst);
            });
            let handle = parks.thread().clone();
            let x = &x;
            s.spawn(move || {
                x.store(1, SeqCst);
                handle.unpark();
            });
            let seen = x.load(SeqCst);
            go.store(1, SeqCst);
            seen
        })
    });
}

/// Says who drops it: 1 is the main thread, 2 another.
struct Noted(thread::ThreadId, Arc<AtomicU32>);

impl Noted {
    fn by_main(place: &Arc<AtomicU32>) -> Noted {
        Noted(thread::current().id(), place.clone())
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let main = thread::current().id() == self.0;
        self.1.store(if main { 1 } else { 2 }, SeqCst);
    }
}

#[test]
fn a_result_is_dropped_with_its_handle_or_by_its_thread() {
    check([1, 2], || {
        let by = Arc::new(AtomicU32::new(0));
        let result = Noted::by_main(&by);
        thread::scope(|s| drop(s.spawn(move || result)));
        by.load(SeqCst)
    });
    // The main thread may look before the other has come to drop it.
    check([0, 1, 2], || {
        let by = Arc::new(AtomicU32::new(0));
        let result = Noted::by_main(&by);
        drop(thread::spawn(move || result));
        by.load(SeqCst)
    });
    // A result that is asked for is dropped by whoever has it.
    check([1], || {
        let by = Arc::new(AtomicU32::new(0));
        let result = Noted::by_main(&by);
        drop(thread::spawn(move || result).join().unwrap());
        by.load(SeqCst)
    });
}

#[test]
fn a_handle_of_a_result_without_a_destructor_is_no_event() {
    let (report, _) = explore(|| {
        drop(thread::spawn(|| 1));
        drop(thread::spawn(|| 2));
    });
    assert!(report.holds(), "{report}");
    assert_eq!(report.executions, 1);
}

/// A thread local that sets a flag when it is dropped.
struct Flagged(RefCell<Option<Arc<AtomicU32>>>);

impl Drop for Flagged {
    fn drop(&mut self) {
        if let Some(flag) = self.0.borrow().as_ref() {
            flag.store(1, SeqCst);
        }
    }
}

trueline_explore::thread_local! {
    static FLAGGED: Flagged = Flagged(RefCell::new(None));
    static PLAIN: Cell<u32> = Cell::new(7);
    static ASKS: Asks = Asks(RefCell::new(None));
}

fn set_at_the_end(flag: Arc<AtomicU32>) {
    FLAGGED.with(|flagged| *flagged.0.borrow_mut() = Some(flag));
}

#[test]
fn a_scope_does_not_wait_for_the_destructors_of_thread_locals() {
    check([0, 1], || {
        let flag = Arc::new(AtomicU32::new(0));
        let theirs = flag.clone();
        thread::scope(|s| {
            s.spawn(move || set_at_the_end(theirs));
        });
        flag.load(SeqCst)
    });
}

#[test]
fn a_thread_is_finished_before_its_thread_locals_are_dropped() {
    check([None, Some(0), Some(1)], || {
        let flag = Arc::new(AtomicU32::new(0));
        let theirs = flag.clone();
        let other = thread::spawn(move || set_at_the_end(theirs));
        let seen = other.is_finished().then(|| flag.load(SeqCst));
        other.join().unwrap();
        seen
    });
    // A join waits for them.
    check([1], || {
        let flag = Arc::new(AtomicU32::new(0));
        let theirs = flag.clone();
        thread::spawn(move || set_at_the_end(theirs)).join().unwrap();
        flag.load(SeqCst)
    });
}

/// Asks for thread locals when it is dropped: for itself, and for one without a destructor.
struct Asks(RefCell<Option<Arc<AtomicU32>>>);

impl Drop for Asks {
    fn drop(&mut self) {
        let own = ASKS.try_with(|_| ()).is_err();
        let plain = PLAIN.try_with(Cell::get);
        if let Some(place) = self.0.borrow().as_ref() {
            place.store(u32::from(own) * 10 + plain.unwrap_or(0), SeqCst);
        }
    }
}

trueline_explore::thread_local! {
    static NEVER: Cell<u32> = unreachable!("the value is set first");
    static NEVER_BORROWED: RefCell<Vec<u32>> = unreachable!("the value is set first");
}

/// The initial expression ran, though the value that it gave was thrown away.
#[test]
fn to_set_a_thread_local_does_not_run_its_initial_expression() {
    let body = || {
        let set = || {
            NEVER.set(1);
            NEVER.set(NEVER.get() + 1);
            NEVER_BORROWED.set(vec![1]);
            NEVER_BORROWED.set(NEVER_BORROWED.with_borrow(|values| [&values[..], &[2]].concat()));
            (NEVER.get(), NEVER_BORROWED.take())
        };
        let other = thread::spawn(set);
        (set(), other.join().unwrap())
    };
    let expected = (2, vec![1, 2]);
    check([(expected.clone(), expected.clone())], body);
    // Outside of an exploration it is std's.
    assert_eq!(body(), (expected.clone(), expected));
}

#[test]
fn a_thread_local_is_gone_once_its_destructor_has_begun() {
    check([17], || {
        let place = Arc::new(AtomicU32::new(0));
        let theirs = place.clone();
        let body = move || ASKS.with(|asks| *asks.0.borrow_mut() = Some(theirs));
        thread::spawn(body).join().unwrap();
        place.load(SeqCst)
    });
}

#[test]
fn a_notification_orders_nothing_by_itself() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: that its accesses are ordered is what the test asks.
    unsafe impl Sync for Shared {}
    races(|| {
        let (shared, pair) = (&Shared(UnsafeCell::new(0)), &(Mutex::new(()), Condvar::new()));
        thread::scope(|s| {
            s.spawn(|| {
                let waits = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_secs(1));
                if !waits.unwrap().1.timed_out() {
                    // SAFETY: the detector ends the execution before a race is one.
                    shared.0.with(|value| unsafe { *value });
                }
            });
            // SAFETY: as above.
            shared.0.with_mut(|value| unsafe { *value = 1 });
            pair.1.notify_one();
        });
    });
    // Under the lock it is ordered.
    check([()], || {
        let (shared, pair) = (&Shared(UnsafeCell::new(0)), &(Mutex::new(()), Condvar::new()));
        thread::scope(|s| {
            s.spawn(|| {
                let waits = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_secs(1));
                if !waits.unwrap().1.timed_out() {
                    // SAFETY: as above.
                    shared.0.with(|value| unsafe { *value });
                }
            });
            let guard = pair.0.lock().unwrap();
            // SAFETY: as above.
            shared.0.with_mut(|value| unsafe { *value = 1 });
            pair.1.notify_one();
            drop(guard);
        });
    });
}

/// The explorer panicked where a thread took more than a kilobyte along.
#[test]
fn a_thread_may_take_much_along() {
    fn loads<const N: usize>() {
        let x = AtomicU32::new(0);
        let cells = [const { AtomicU32::new(1) }; N];
        thread::scope(|s| {
            let x = &x;
            // Its own atomics conflict with nothing: there are as many executions as orders of the
            // store and the load.
            let thread = s.spawn(move || {
                (cells.iter().map(|cell| cell.swap(2, SeqCst)).sum(), x.load(SeqCst))
            });
            x.store(1, SeqCst);
            let (sum, _): (u32, u32) = thread.join().unwrap();
            assert_eq!(sum as usize, N);
        });
    }
    for workers in [1, 2] {
        for body in [loads::<8>, loads::<256>, loads::<1024>] {
            let report = Exploration::new().workers(workers).run(body);
            assert!(report.holds(), "{report}");
            assert_eq!(report.executions, 2);
        }
    }
}

#[test]
fn an_atomic_that_is_shown_is_read() {
    check(["0", "1"].map(String::from), || {
        let atomic = AtomicU32::new(0);
        let shown = thread::scope(|s| {
            s.spawn(|| atomic.store(1, SeqCst));
            format!("{atomic:?}")
        });
        untracked(|| shown.clone())
    });
}
