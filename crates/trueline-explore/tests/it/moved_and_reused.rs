//! Locks at places where something else was before, and locks that move.

use std::mem::{MaybeUninit, forget, swap};

use crate::outcomes::check;
use trueline_explore::std::sync::atomic::{AtomicU8, AtomicU32, Ordering::SeqCst};
use trueline_explore::std::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use trueline_explore::std::thread;

const BYTES: usize = 256;

/// A place on the stack for one object after the other.
#[repr(align(16))]
struct Place(MaybeUninit<[u8; BYTES]>);

impl Place {
    fn new() -> Place {
        Place(MaybeUninit::uninit())
    }

    /// Puts an object there, for as long as it is borrowed; it is not dropped.
    fn put<T>(&mut self, value: T) -> &mut T {
        const { assert!(size_of::<T>() <= BYTES && align_of::<T>() <= align_of::<Place>()) };
        let place = self.0.as_mut_ptr().cast::<T>();
        // SAFETY: the place is large enough, aligned, and borrowed as long as the object.
        unsafe {
            place.write(value);
            &mut *place
        }
    }

    /// Fills it with atomics that another thread sets, one for each byte.
    fn set_all(&mut self, value: u8) {
        let atomics = self.put([const { AtomicU8::new(0) }; BYTES]);
        thread::scope(|s| {
            s.spawn(|| atomics.iter().for_each(|atomic| atomic.store(value, SeqCst)));
        });
    }
}

#[test]
fn a_mutex_where_an_atomic_was_is_free() {
    // Two threads take a ticket each under the lock: either is first.
    for value in [1, 2] {
        check([(0, 1), (1, 0)], || {
            let mut place = Place::new();
            place.set_all(value);
            let mutex = &*place.put(Mutex::new(0));
            let ticket = || {
                let mut next = mutex.lock().unwrap();
                *next += 1;
                *next - 1
            };
            thread::scope(|s| {
                let first = s.spawn(ticket);
                let second = ticket();
                (first.join().unwrap(), second)
            })
        });
    }
}

#[test]
fn a_mutex_where_a_locked_mutex_was_is_free() {
    // The thread finds the new lock free, or held by the main thread.
    check([false, true], || {
        let mut place = Place::new();
        forget(place.put(Mutex::new(0)).lock().unwrap());
        let mutex = &*place.put(Mutex::new(0));
        thread::scope(|s| {
            let tries = s.spawn(|| mutex.try_lock().is_ok());
            drop(mutex.lock().unwrap());
            tries.join().unwrap()
        })
    });
}

#[test]
fn a_fresh_lock_can_be_had_where_an_atomic_was() {
    check([(true, true, true)], || {
        let mut place = Place::new();
        place.set_all(1);
        let writes = place.put(RwLock::new(0)).try_write().is_ok();
        place.set_all(128);
        let reads = place.put(RwLock::new(0)).try_read().is_ok();
        place.set_all(1);
        let locks = place.put(Mutex::new(0)).try_lock().is_ok();
        (writes, reads, locks)
    });
}

#[test]
fn a_once_where_an_atomic_was_is_not_running() {
    // Who comes first initialises.
    for value in [1, 2, 3] {
        check([1, 2], || {
            let mut place = Place::new();
            place.set_all(value);
            let once = &*place.put(OnceLock::new());
            thread::scope(|s| {
                s.spawn(|| once.get_or_init(|| 1));
                *once.get_or_init(|| 2)
            })
        });
        check([()], || {
            let mut place = Place::new();
            place.set_all(value);
            let once = &*place.put(Once::new());
            thread::scope(|s| {
                s.spawn(|| once.call_once(|| ()));
                once.wait();
            });
        });
    }
}

#[test]
fn a_barrier_and_a_condvar_where_an_atomic_was_are_new() {
    check([1], || {
        let mut place = Place::new();
        place.set_all(1);
        let barrier = &*place.put(Barrier::new(2));
        thread::scope(|s| {
            let other = s.spawn(|| barrier.wait().is_leader());
            let own = barrier.wait().is_leader();
            u32::from(own) + u32::from(other.join().unwrap())
        })
    });
    check([true], || {
        let mut place = Place::new();
        place.set_all(1);
        let pair = &*place.put((Mutex::new(false), Condvar::new()));
        thread::scope(|s| {
            s.spawn(|| {
                *pair.0.lock().unwrap() = true;
                pair.1.notify_one();
            });
            *pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap()
        })
    });
}

#[test]
fn an_atomic_where_a_lock_was_has_its_own_value() {
    // The exchange comes before the store or after it.
    check([0, 1], || {
        let mut place = Place::new();
        forget(place.put(Mutex::new(0)).lock().unwrap());
        let atomic = &*place.put(AtomicU32::new(0));
        thread::scope(|s| {
            let other = s.spawn(|| {
                atomic.compare_exchange(0, 2, SeqCst, SeqCst).unwrap_or_else(|found| found)
            });
            atomic.store(1, SeqCst);
            other.join().unwrap()
        })
    });
}

#[test]
fn a_locked_mutex_that_moves_stays_locked() {
    check([(false, true)], || {
        let mutex = Mutex::new(0);
        forget(mutex.lock().unwrap());
        let moved = Box::new(mutex);
        (moved.try_lock().is_ok(), Mutex::new(0).try_lock().is_ok())
    });
}

#[test]
fn locks_that_change_places_keep_their_states() {
    check([[false, true, false, true]], || {
        let (mut a, mut b) = (Mutex::new(1), Mutex::new(2));
        forget(a.lock().unwrap());
        swap(&mut a, &mut b);
        let (moved, other) = (b.try_lock().is_ok(), a.try_lock().is_ok());
        swap(&mut a, &mut b);
        // The other is used where the locked one was, which then comes back without having been
        // used elsewhere.
        swap(&mut a, &mut b);
        drop(a.lock().unwrap());
        swap(&mut a, &mut b);
        [moved, other, a.try_lock().is_ok(), b.try_lock().is_ok()]
    });
}

#[test]
fn a_once_lock_that_moves_stays_set() {
    check([(1, Err(3), Some(1))], || {
        let once = OnceLock::new();
        once.set(1).unwrap();
        let moved = Box::new(once);
        let found = *moved.wait();
        (found, moved.set(3), moved.into_inner())
    });
}
