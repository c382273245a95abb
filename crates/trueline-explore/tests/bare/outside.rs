//! Outside of explorations the shadow std is std: the same calls yield the same results.

use std::hint::black_box;
use std::panic::catch_unwind;
use std::time::Duration;

/// Runs a body twice, with `lib` as the shadow and as the real std, and compares what it yields.
macro_rules! same {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            let shadow = {
                #[allow(unused_imports)]
                use trueline_explore::std as lib;
                $body
            };
            let real = {
                #[allow(unused_imports)]
                use std as lib;
                $body
            };
            assert_eq!(shadow, real);
        }
    };
}

macro_rules! integers {
    ($($name:ident: $atomic:ident, $value:ty;)*) => {$(
        same!($name, {
            use lib::sync::atomic::{$atomic, Ordering::*};
            let mut x = $atomic::new(5);
            let mut log: Vec<$value> = vec![
                x.fetch_add(<$value>::MAX, AcqRel),
                x.fetch_sub(9, Relaxed),
                x.fetch_and(0x5a, SeqCst),
                x.fetch_nand(0x33, Acquire),
                x.fetch_or(0x41, Release),
                x.fetch_xor(0x7f, AcqRel),
                x.fetch_max(100, AcqRel),
                x.fetch_min(3, AcqRel),
                x.swap(77, SeqCst),
                x.load(Acquire),
            ];
            x.store(12, Release);
            let exchanges = [
                x.compare_exchange(12, 13, AcqRel, Acquire),
                x.compare_exchange(12, 14, SeqCst, Relaxed),
                x.fetch_update(SeqCst, SeqCst, |v| v.checked_add(1)),
                x.fetch_update(SeqCst, SeqCst, |_| None),
            ];
            *x.get_mut() += 1;
            let mut plain: $value = 3;
            // SAFETY: the pointer is to a local that nobody else uses.
            unsafe { $atomic::from_ptr(&mut plain) }.store(4, Relaxed);
            log.push(plain);
            let debug = format!("{x:?}");
            (log, exchanges, debug, x.into_inner(), size_of::<$atomic>(), align_of::<$atomic>())
        });
    )*};
}

integers! {
    i8_is_the_same: AtomicI8, i8;
    u8_is_the_same: AtomicU8, u8;
    i16_is_the_same: AtomicI16, i16;
    u16_is_the_same: AtomicU16, u16;
    i32_is_the_same: AtomicI32, i32;
    u32_is_the_same: AtomicU32, u32;
    i64_is_the_same: AtomicI64, i64;
    u64_is_the_same: AtomicU64, u64;
    isize_is_the_same: AtomicIsize, isize;
    usize_is_the_same: AtomicUsize, usize;
}

same!(bool_and_pointer_are_the_same, {
    use lib::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*, fence};
    static FLAG: AtomicBool = AtomicBool::new(true);
    let (mut a, mut b) = (1, 2);
    let (a, b): (*mut i32, *mut i32) = (&mut a, &mut b);
    let pointer = AtomicPtr::new(a);
    fence(SeqCst);
    let flags = [
        FLAG.fetch_and(false, AcqRel),
        FLAG.fetch_or(true, AcqRel),
        FLAG.fetch_nand(true, AcqRel),
        FLAG.fetch_xor(true, AcqRel),
        FLAG.fetch_not(AcqRel),
        FLAG.swap(true, AcqRel),
    ];
    let swapped = pointer.swap(b, AcqRel) == a;
    let exchanged = pointer.compare_exchange(a, b, AcqRel, Acquire) == Err(b);
    (flags, swapped, exchanged, pointer.load(Relaxed) == b)
});

same!(orders_that_make_no_sense_panic, {
    use lib::sync::atomic::{AtomicU8, Ordering::*, fence};
    fn message(function: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let payload = catch_unwind(function).unwrap_err();
        payload.downcast_ref::<&str>().map(|text| text.to_string()).unwrap_or_default()
    }
    [
        message(|| {
            AtomicU8::new(0).load(black_box(Release));
        }),
        message(|| AtomicU8::new(0).store(0, black_box(Acquire))),
        message(|| {
            let _ = AtomicU8::new(0).compare_exchange(0, 0, SeqCst, black_box(AcqRel));
        }),
        message(|| fence(black_box(Relaxed))),
    ]
});

same!(locks_and_poison_are_the_same, {
    use lib::sync::{Mutex, RwLock, TryLockError};
    use std::panic::AssertUnwindSafe;
    let (lock, shared) = (Mutex::new(1), RwLock::new(2));
    let held = lock.lock().unwrap();
    let busy = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
    drop(held);
    let reader = shared.read().unwrap();
    let both = shared.try_read().is_ok();
    let excluded = shared.try_write().is_err();
    drop(reader);
    let poison = |what: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(what)).is_err();
    let caught = poison(&mut || {
        let _guard = lock.lock();
        panic!("on purpose");
    });
    // A reader that panics leaves no poison.
    let read = poison(&mut || {
        let _guard = shared.read();
        panic!("on purpose");
    });
    let unpoisoned = shared.is_poisoned();
    let write = poison(&mut || {
        let _guard = shared.write();
        panic!("on purpose");
    });
    let poisoned = (lock.is_poisoned(), shared.is_poisoned(), shared.read().is_err());
    lock.clear_poison();
    let cleared = lock.lock().is_ok();
    let text = format!("{:?}", lock.lock().unwrap());
    (
        busy,
        both,
        excluded,
        caught,
        read,
        unpoisoned,
        write,
        poisoned,
        cleared,
        text,
        lock.into_inner().unwrap(),
    )
});

same!(condition_variables_are_the_same, {
    use lib::sync::{Condvar, Mutex};
    let (lock, wakeup) = (Mutex::new(0), Condvar::new());
    let brief = Duration::from_millis(1);
    let (guard, result) = wakeup.wait_timeout(lock.lock().unwrap(), brief).unwrap();
    let timed_out = result.timed_out();
    let (guard, result) = wakeup.wait_timeout_while(guard, brief, |value| *value == 0).unwrap();
    let timed_out_again = result.timed_out();
    drop(guard);
    lib::thread::scope(|s| {
        s.spawn(|| {
            *lock.lock().unwrap() = 1;
            wakeup.notify_all();
        });
        drop(wakeup.wait_while(lock.lock().unwrap(), |value| *value == 0).unwrap());
    });
    (timed_out, timed_out_again, lock.into_inner().unwrap())
});

same!(lazy_values_are_the_same, {
    use lib::sync::{LazyLock, Once, OnceLock};
    static LAZY: LazyLock<String> = LazyLock::new(|| String::from("lazy"));
    static ONCE: Once = Once::new();
    let mut runs = 0;
    ONCE.call_once(|| runs += 1);
    ONCE.call_once(|| runs += 1);
    let mut lock = OnceLock::new();
    let before = lock.get().copied();
    let first = lock.set(1);
    let second = lock.set(2);
    let kept = *lock.get_or_init(|| 3);
    let copy = lock.clone().into_inner();
    let taken = (lock.take(), lock.take());
    let poisoned = Once::new();
    let panics =
        catch_unwind(std::panic::AssertUnwindSafe(|| poisoned.call_once(|| panic!("on purpose"))));
    let mut told = false;
    poisoned.call_once_force(|state| told = state.is_poisoned());
    (
        LAZY.len(),
        runs,
        ONCE.is_completed(),
        before,
        first,
        second,
        kept,
        copy,
        taken,
        panics.is_err(),
        told,
    )
});

same!(reference_counts_are_the_same, {
    use lib::sync::{Arc, Weak};
    let mut one = Arc::new(String::from("a"));
    let exclusive = Arc::get_mut(&mut one).is_some();
    let two = one.clone();
    let shared = Arc::get_mut(&mut one).is_none();
    let weak = Arc::downgrade(&two);
    let counts = (Arc::strong_count(&one), Arc::weak_count(&one), weak.strong_count());
    let equal = (one == two, Arc::ptr_eq(&one, &two), format!("{one:?} {one}"));
    let refused = Arc::try_unwrap(one).is_err();
    let upgraded = weak.upgrade().map(|arc| arc.len());
    let mut two = two;
    Arc::make_mut(&mut two).push('b');
    let inner = Arc::into_inner(two);
    let gone = weak.upgrade().is_none() && Weak::<u8>::new().upgrade().is_none();
    let slice: Arc<[i32]> = Arc::from(vec![1, 2, 3]);
    let text: Arc<str> = Arc::from("text");
    let object: Arc<dyn std::fmt::Debug> = Arc::from(Box::new(5) as Box<dyn std::fmt::Debug>);
    let raw = Arc::into_raw(Arc::new(9));
    // SAFETY: the pointer was made just before.
    let back = unsafe { Arc::from_raw(raw) };
    let cyclic = Arc::new_cyclic(|me: &Weak<usize>| me.strong_count());
    let many = (slice.len(), text.len(), format!("{object:?}"), *back, *cyclic);
    (exclusive, shared, counts, equal, refused, upgraded, inner, gone, many)
});

same!(threads_are_the_same, {
    use lib::thread;
    let named = thread::Builder::new()
        .name(String::from("worker"))
        .stack_size(1 << 16)
        .spawn(|| thread::current().name().map(String::from))
        .unwrap();
    let own = named.thread().name().map(String::from);
    let name = named.join().unwrap();
    let panicked = thread::spawn(|| panic!("on purpose")).join().is_err();
    let mut values = vec![1, 2, 3];
    let sum: i32 = thread::scope(|s| {
        // A thread of the scope spawns another.
        let handles = values
            .iter_mut()
            .map(|v| s.spawn(move || s.spawn(|| *v += 1).join()))
            .collect::<Vec<_>>();
        handles.into_iter().for_each(|handle| handle.join().unwrap().unwrap());
        2
    });
    let parked = thread::spawn(thread::park);
    parked.thread().unpark();
    parked.join().unwrap();
    thread::park_timeout(Duration::from_millis(1));
    thread::yield_now();
    lib::hint::spin_loop();
    let other = thread::current().id() == thread::spawn(|| thread::current().id()).join().unwrap();
    let same = thread::current().id() == thread::current().id();
    (own, name, panicked, values, sum, other, same)
});

same!(channels_are_the_same, {
    use lib::sync::mpsc;
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let empty = receiver.try_recv();
    let late = receiver.recv_timeout(Duration::from_millis(1));
    lib::thread::spawn(move || other.send(1)).join().unwrap().unwrap();
    sender.send(2).unwrap();
    drop(sender);
    let all: Vec<i32> = receiver.iter().collect();
    let closed = receiver.recv();
    let (bounded, end) = mpsc::sync_channel(1);
    let tries = [bounded.try_send(1), bounded.try_send(2)];
    let first = end.recv();
    drop(end);
    (empty, late, all, closed, tries, first, bounded.send(3))
});

same!(barriers_have_one_leader, {
    use lib::sync::Barrier;
    let barrier = Barrier::new(3);
    lib::thread::scope(|s| {
        let handles: Vec<_> = (0..3).map(|_| s.spawn(|| barrier.wait().is_leader())).collect();
        handles.into_iter().map(|h| usize::from(h.join().unwrap())).sum::<usize>()
    })
});

same!(cells_and_time_are_the_same, {
    use lib::cell::UnsafeCell;
    use lib::time::Instant;
    let mut cell = UnsafeCell::new(1);
    *cell.get_mut() += 1;
    // SAFETY: nobody else has the cell.
    unsafe { *cell.get() += 1 };
    let start = Instant::now();
    lib::thread::sleep(Duration::from_millis(2));
    let slept = start.elapsed() >= Duration::from_millis(2);
    let later = start + Duration::from_secs(1);
    (size_of::<UnsafeCell<u8>>(), cell.into_inner(), slept, later - start, later > start)
});

#[test]
fn thread_locals_are_the_same() {
    use std::cell::{Cell, RefCell};
    trueline_explore::std::thread_local! {
        static A: Cell<u32> = const { Cell::new(1) };
        /// Documented, public, and without a semicolon at its end.
        pub static B: RefCell<Vec<u32>> = RefCell::new(Vec::new())
    }
    A.set(2);
    B.with_borrow_mut(|list| list.push(3));
    let there = std::thread::spawn(|| (A.get(), B.with_borrow(Vec::len))).join().unwrap();
    assert_eq!((A.get(), B.take(), there), (2, vec![3], (1, 0)));
    assert_eq!(A.with(|a| a.replace(5)), 2);
    assert_eq!(A.try_with(Cell::get), Ok(5));
}

#[test]
fn a_future_is_run_to_its_end() {
    use trueline_explore::std::future::{block_on, poll_fn};
    let mut polls = 0;
    let result = block_on(poll_fn(|context| {
        polls += 1;
        context.waker().wake_by_ref();
        if polls < 3 { std::task::Poll::Pending } else { std::task::Poll::Ready(polls) }
    }));
    assert_eq!(result, 3);
}
