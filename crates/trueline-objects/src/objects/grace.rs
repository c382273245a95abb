//! Safe memory reclamation by grace periods: a node that was taken out of a structure is freed once
//! every operation that was under way at that time has ended.
//!
//! The idea is that of read-copy-update (McKenney, Slingwine: Read-copy update. PDCS 1998) and of
//! epochs (Fraser: Practical lock-freedom. 2004); Hart et al. (Performance of memory reclamation
//! for lockless synchronization. JPDC 2007) compare such schemes. Here there is no common epoch:
//! each thread counts the times it entered and left an operation, so that the number is odd while
//! it is inside, and who wants to free looks at the numbers of all.
//!
//! Why it is sound. Let a node be retired after it was made unreachable. A thread that has a
//! pointer to it has had its number at some odd value since before the node was unreachable: it
//! reads pointers only while it is inside, and one that enters later does not find the node. The
//! fence of [`Domain::enter`] and the one of [`Garbage::unused`] make 'later' meaningful: either
//! the collector sees the odd number, or the reads of the thread that enters see that the node is
//! gone. So once each number that was odd when the collector looked has changed, nobody has the
//! pointer; and having read the changed number, which like all of them was written with release,
//! the collector comes after all that its thread did with the node.
//!
//! Cost: two stores and a fence for each operation, no access that other threads contend for, a
//! look at the numbers of all threads for each [`Domain::batch`] retired nodes. A look goes up to
//! the largest number of a thread that runs. Where that is large it takes long, so that it is taken
//! only after as many retired nodes as there were records to look at, or when they are large: it
//! costs O(1) for each node, whatever the number of threads. The memory of some of the nodes that
//! were freed is kept for the next ones of the same thread, if the object asks for it
//! ([`Domain::allocate`]): a general allocator has to find out whose memory it is that a thread
//! frees, and to lock it where it is another's. Limit: while a thread is stopped inside an
//! operation, what is retired is not freed. It does not keep others from going on: what is
//! lock-free stays so.
//!
//! What a thread has retired and not freed when it ends is taken over by the next one that looks
//! around. It claims the number of the ended thread for that time, so that it is the only one with
//! the right to that record; the lock around the numbers orders the two (`thread_index.rs`). What a
//! thread that runs has retired, less than two batches, stays until it uses the object again.
//! [`Domain::flush`] does what can be done at once.

use super::growing_array::Initial;
use super::per_thread::PerThread;
use super::sync::atomic::{AtomicUsize, Ordering, fence};
use super::sync::cell::UnsafeCell;
use super::sync::{
    spare_nodes, store_and_fence, thread_bound, threads_ended, with_ended_thread_index,
    with_thread_index,
};
use super::to_the_end::for_each_to_the_end;
use std::cell::Cell;
use std::mem::{self, MaybeUninit};
use std::ptr;
// Not of `sync`: threads do not speak to each other through these.
use std::sync::atomic::{AtomicBool, AtomicUsize as Hint};

/// The batch if not told otherwise.
pub(crate) const BATCH: usize = 64;

/// So many records are looked at after each batch; where there are more, after as many nodes as
/// there are records.
const FEW_RECORDS: usize = 64;

/// So many bytes of retired nodes are worth a look at any number of records.
const MANY_BYTES: usize = 1 << 20;

/// Frees the nodes of one object.
pub(crate) struct Domain<N> {
    records: PerThread<Record<N>>,
    batch: usize,
    /// Freed nodes of a thread whose memory is kept, at most.
    spare: usize,
    /// How many threads had ended when what they left was last taken over.
    taken_over: Hint,
}

/// What one thread says and keeps. A thread that ended leaves it to the next one with its number.
struct Record<N> {
    /// Odd while the thread is inside an operation.
    passes: AtomicUsize,
    /// The same for the thread itself, which need not ask.
    own_passes: Cell<usize>,
    /// Whether it is time to look around, once the thread is outside.
    due: Cell<bool>,
    /// Whether there may be garbage.
    has_garbage: AtomicBool,
    /// Touched by the thread with the number of this record alone.
    garbage: UnsafeCell<Garbage<N>>,
}

/// Nodes that were retired.
struct Garbage<N> {
    /// Since the last time that the thread looked around.
    fresh: Vec<*mut N>,
    /// Before that: to be freed when the guests have left.
    waiting: Vec<*mut N>,
    /// Who was inside when the thread looked around: the record and its number.
    guests: Vec<(usize, usize)>,
    /// Memory for nodes, of nodes that were dropped: at most [`Domain::spare`].
    spare: Vec<Box<MaybeUninit<N>>>,
    /// How many records there were when the thread looked around.
    records: usize,
}

// SAFETY: the raw pointers are owned nodes, dropped by whoever has the domain or, while it is
// shared, by any thread that uses it; `passes` is atomic; `own_passes`, `due` and `garbage` are
// touched by one thread at a time, see `with_thread_index`.
unsafe impl<N: Send> Send for Record<N> {}
// SAFETY: as above.
unsafe impl<N: Send> Sync for Record<N> {}

impl<N> Initial for Record<N> {
    const INITIAL: Record<N> = Record {
        passes: AtomicUsize::new(0),
        own_passes: Cell::new(0),
        due: Cell::new(false),
        has_garbage: AtomicBool::new(false),
        garbage: UnsafeCell::new(Garbage {
            fresh: Vec::new(),
            waiting: Vec::new(),
            guests: Vec::new(),
            spare: Vec::new(),
            records: 0,
        }),
    };
}

impl<N> Domain<N> {
    /// A domain that looks around when a thread has retired so many nodes, or [`MANY_BYTES`] of
    /// them.
    pub(crate) const fn new(batch: usize) -> Domain<N> {
        let most = match MANY_BYTES.checked_div(size_of::<N>()) {
            Some(most) => most,
            None => usize::MAX,
        };
        let batch = if batch < most { batch } else { most };
        Domain {
            records: PerThread::new(),
            batch: if batch == 0 { 1 } else { batch },
            spare: 0,
            // No thread has left anything in a new domain; the first look may be in vain.
            taken_over: Hint::new(0),
        }
    }

    /// The same, of an object whose nodes come from [`Domain::allocate`]: the memory of some that
    /// were freed is kept for that.
    pub(crate) const fn with_spare(batch: usize) -> Domain<N> {
        let spare = spare_nodes(size_of::<N>());
        let mut domain = Domain::new(batch);
        domain.spare = spare;
        domain
    }

    /// Runs an operation of the object. The pointers that it reads stay good while it runs.
    ///
    /// It may run code of the user's, such as comparisons, which may panic or call the object
    /// again: the operation inside is under the protection of the one outside. Nodes are freed
    /// after the outer one, so that destructors may call the object, too.
    #[inline]
    pub(crate) fn enter<R>(&self, operation: impl FnOnce(&Inside<'_, N>) -> R) -> R {
        with_thread_index(|index| {
            let record = self.records.get(index);
            let before = record.own_passes.get();
            let inside = Inside { domain: self, record };
            if !before.is_multiple_of(2) {
                return operation(&inside);
            }
            record.own_passes.set(before.wrapping_add(1));
            // Release: a collector that was waiting for the end of the operation before may see
            // this number in place of the one before it.
            store_and_fence(&record.passes, before.wrapping_add(1));
            let leaving = Leaving { record, after: before.wrapping_add(2) };
            let result = operation(&inside);
            drop(leaving);
            if record.due.replace(false) {
                self.collect(record);
            }
            result
        })
    }

    /// A node on the heap, as if by `Box::into_raw`.
    #[inline]
    pub(crate) fn allocate(&self, node: N) -> *mut N {
        let spare = with_thread_index(|index| {
            // SAFETY: the record is this thread's own, and nobody borrows the garbage: see
            // `collect`.
            self.records.get(index).garbage.with_mut(|garbage| unsafe { (*garbage).spare.pop() })
        });
        let memory = spare.unwrap_or_else(Box::new_uninit);
        Box::into_raw(Box::write(memory, node))
    }

    /// Frees what can be freed now, of this thread and of those that have ended, and the memory
    /// that is kept. Inside of an operation it does nothing.
    pub(crate) fn flush(&self) {
        with_thread_index(|index| {
            let record = self.records.get(index);
            if !record.own_passes.get().is_multiple_of(2) {
                return;
            }
            self.take_over(record);
            // What was retired since the last look waits for those that are inside now: they may
            // have left by the second.
            self.collect(record);
            self.collect(record);
            // SAFETY: the record is this thread's own, and nobody borrows the garbage.
            record.garbage.with_mut(|garbage| unsafe { (*garbage).spare = Vec::new() });
        });
    }

    /// Takes over what threads have left that have ended.
    fn take_over(&self, own: &Record<N>) {
        self.taken_over.store(threads_ended(), Ordering::Relaxed);
        for (index, record) in self.records.iter() {
            let has_garbage = record.has_garbage.load(Ordering::Relaxed);
            if !has_garbage || ptr::eq(record, own) {
                continue;
            }
            with_ended_thread_index(index, || {
                record.has_garbage.store(false, Ordering::Relaxed);
                // SAFETY: no running thread has the number of this record but this one, for now;
                // and it is another record than its own.
                let theirs = record.garbage.with_mut(|garbage| unsafe {
                    let Garbage { fresh, waiting, guests, spare, .. } = &mut *garbage;
                    guests.clear();
                    *spare = Vec::new();
                    [mem::take(fresh), mem::take(waiting)]
                });
                // SAFETY: the record is this thread's own, and nobody borrows the garbage.
                own.garbage.with_mut(|garbage| unsafe {
                    theirs.into_iter().for_each(|mut nodes| (*garbage).fresh.append(&mut nodes));
                });
            });
        }
    }

    #[cold]
    fn collect(&self, record: &Record<N>) {
        if self.taken_over.load(Ordering::Relaxed) != threads_ended() {
            self.take_over(record);
        }
        let garbage = |run: &mut dyn FnMut(&mut Garbage<N>)| {
            // SAFETY: the record is this thread's own, and nobody borrows the garbage: what is done
            // with it runs no code of the user's.
            record.garbage.with_mut(|garbage| run(unsafe { &mut *garbage }));
        };
        let mut freed = Vec::new();
        garbage(&mut |garbage| freed = garbage.unused(self));
        for_each_to_the_end(freed.drain(..), |node| {
            // SAFETY: the promise of `retire`: its memory was a box's.
            let mut memory = unsafe { Box::from_raw(node.cast::<MaybeUninit<N>>()) };
            // SAFETY: nobody has a pointer to the node: see the module's text. If its destructor
            // panics, the memory goes with the box.
            unsafe { memory.assume_init_drop() };
            let mut memory = Some(memory);
            garbage(&mut |garbage| {
                if garbage.spare.len() < self.spare {
                    garbage.spare.extend(memory.take());
                }
            });
        });
        garbage(&mut |garbage| {
            // It has room for as many as come next.
            if garbage.fresh.capacity() == 0 && freed.capacity() <= 2 * self.batch {
                garbage.fresh = mem::take(&mut freed);
            }
            let has_garbage = !(garbage.fresh.is_empty() && garbage.waiting.is_empty());
            record.has_garbage.store(has_garbage, Ordering::Relaxed);
        });
    }
}

/// Says that the operation is over, also where it panics.
struct Leaving<'a, N> {
    record: &'a Record<N>,
    after: usize,
}

impl<N> Drop for Leaving<'_, N> {
    #[inline]
    fn drop(&mut self) {
        // Release: what was read inside was read before a collector sees that it is over.
        self.record.passes.store(self.after, Ordering::Release);
        self.record.own_passes.set(self.after);
    }
}

/// An operation under way.
pub(crate) struct Inside<'a, N> {
    domain: &'a Domain<N>,
    record: &'a Record<N>,
}

impl<N> Inside<'_, N> {
    /// Frees a node when nobody can have a pointer to it any more.
    ///
    /// # Safety
    /// The node was made by `Box::into_raw` or [`Domain::allocate`], is retired once, and cannot be
    /// reached from the object any more. Dropping it may happen on any thread.
    #[inline]
    pub(crate) unsafe fn retire(&self, node: *mut N) {
        self.record.garbage.with_mut(|garbage| {
            // SAFETY: the record is this thread's own while it is inside, and nobody borrows the
            // garbage.
            let garbage = unsafe { &mut *garbage };
            garbage.fresh.push(node);
            self.record.has_garbage.store(true, Ordering::Relaxed);
            let fresh = garbage.fresh.len();
            if fresh.is_multiple_of(self.domain.batch) {
                let is_cheap = garbage.records <= FEW_RECORDS || garbage.records <= fresh;
                if is_cheap || fresh.saturating_mul(size_of::<N>()) >= MANY_BYTES {
                    self.record.due.set(true);
                }
            }
        });
    }
}

impl<N> Garbage<N> {
    /// What can be freed now. The thread that asks is not inside an operation.
    fn unused(&mut self, domain: &Domain<N>) -> Vec<*mut N> {
        // Acquire, here and below: see the module's text.
        let passes = |index: usize| domain.records.get(index).passes.load(Ordering::Acquire);
        self.guests.retain(|&(guest, inside)| passes(guest) == inside);
        if !self.guests.is_empty() {
            return Vec::new();
        }
        let mut unused = mem::replace(&mut self.waiting, mem::take(&mut self.fresh));
        fence(Ordering::SeqCst);
        self.records = 0;
        // A thread that is inside has a number below the bound: see `thread_bound`, whose fences
        // are the ones of this file.
        let bound = thread_bound();
        for (index, record) in domain.records.iter().take_while(|(index, _)| *index < bound) {
            self.records += 1;
            let passes = record.passes.load(Ordering::Acquire);
            if !passes.is_multiple_of(2) {
                self.guests.push((index, passes));
            }
        }
        if self.guests.is_empty() {
            unused.append(&mut self.waiting);
        }
        unused
    }
}

impl<N> Drop for Domain<N> {
    fn drop(&mut self) {
        let garbage = self.records.iter_mut().map(|record| record.garbage.get_mut());
        let nodes =
            garbage.flat_map(|garbage| garbage.fresh.drain(..).chain(garbage.waiting.drain(..)));
        // SAFETY: the promise of `retire`; nobody has the domain any more, so no operation is under
        // way.
        for_each_to_the_end(nodes, |node| drop(unsafe { Box::from_raw(node) }));
    }
}

#[cfg(test)]
mod tests {
    use super::Domain;

    #[test]
    fn a_thread_keeps_the_memory_of_some_freed_nodes_and_uses_it_again() {
        let domain = Domain::<u64>::with_spare(1);
        let spare = || {
            let record = domain.records.get(super::with_thread_index(|index| index));
            // SAFETY: nobody else has the domain.
            record.garbage.with(|garbage| unsafe { (*garbage).spare.len() })
        };
        for value in 0..2 * domain.spare as u64 + 8 {
            domain.enter(|inside| {
                let node = Box::into_raw(Box::new(value));
                // SAFETY: nobody else has the node.
                unsafe { inside.retire(node) };
            });
        }
        assert_eq!(spare(), domain.spare);
        let node = domain.allocate(7);
        assert_eq!(spare(), domain.spare.saturating_sub(1));
        // SAFETY: `allocate` says that it is a box's.
        assert_eq!(*unsafe { Box::from_raw(node) }, 7);
        domain.flush();
        assert_eq!(spare(), 0);
    }

    #[test]
    fn no_memory_is_kept_that_nobody_asks_for_and_not_much_of_large_nodes() {
        assert_eq!(Domain::<u64>::new(1).spare, 0);
        assert_eq!((Domain::<u64>::new(64).batch, Domain::<[u8; 1 << 18]>::new(64).batch), (64, 4));
        let large = size_of::<[u8; 1 << 18]>();
        assert_eq!(Domain::<[u8; 1 << 18]>::with_spare(1).spare * large, 0);
        assert!(Domain::<[u8; 1 << 12]>::with_spare(1).spare << 12 <= 1 << 16);
    }

    /// After many threads a look at all their records was taken as often as before.
    #[test]
    fn the_cost_of_a_look_is_shared_by_as_many_nodes_as_there_are_records() {
        let domain = Domain::<u64>::new(1);
        let record = domain.records.get(super::with_thread_index(|index| index));
        // SAFETY: nobody else has the domain.
        record.garbage.with_mut(|garbage| unsafe { (*garbage).records = 1 << 14 });
        let mut looks = 0;
        for _ in 0..10_000 {
            domain.enter(|inside| {
                // SAFETY: nobody else has the node.
                unsafe { inside.retire(Box::into_raw(Box::new(1))) };
                looks += usize::from(record.due.get());
            });
        }
        assert_eq!(looks, 0);
    }
}
