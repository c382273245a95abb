//! Safe memory reclamation by grace periods: a node that was removed from a structure is freed once
//! every operation that was pending at that time has ended.
//!
//! The idea is that of read-copy-update (McKenney, Slingwine: Read-copy update. PDCS 1998) and of
//! epochs (Fraser: Practical lock-freedom. 2004); Hart et al. (Performance of memory reclamation
//! for lockless synchronization. JPDC 2007) compare such schemes. Here there is no common epoch:
//! each thread counts how often it entered and left an operation, so that the count is odd while it
//! is inside. A thread that wants to free nodes reads the counts of all threads.
//!
//! Why it is sound. A node is retired after it was made unreachable. The count of a thread with a
//! pointer to it has had one odd value since before the node was unreachable: the thread reads
//! pointers only while it is inside, and one that enters later does not find the node. The fence of
//! [`Domain::enter`] and the one of [`Garbage::unused`] make 'later' meaningful: either the
//! collector sees the odd count, or the reads of the entering thread see that the node is unlinked.
//! So once each count that was odd when the collector read it has changed, no thread has the
//! pointer. The changed count was written with release, like all of them. Having read it, the
//! collector comes after everything that its thread did with the node.
//!
//! Cost: two stores and a fence for each operation, no access for which other threads contend, and
//! a scan of the counts of all threads for each [`Domain::batch`] retired nodes. A scan covers all
//! numbers up to the largest one of a running thread. If that is large, a scan takes long, so it
//! happens only after as many retired nodes as there are records to read, or if the nodes are
//! large: it costs O(1) for each node, whatever the number of threads. If the object asks for it
//! ([`Domain::allocate`]), the memory of some freed nodes is kept for the next ones of the same
//! thread: a general allocator has to find the owner of freed memory, and to lock the memory if the
//! owner is another thread. Limit: while a thread is stopped inside an operation, retired nodes are
//! not freed. It does not block other threads: lock-free operations stay lock-free.
//!
//! When a thread ends, the next scanning thread takes over the nodes that it had retired but not
//! freed. For that time it claims the number of the ended thread, so that it alone may access that
//! record; the lock around the numbers orders the two (`thread_index.rs`). The nodes that a running
//! thread has retired, less than two batches, stay until it uses the object again.
//! [`Domain::flush`] frees as much as possible at once.

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

/// The default batch.
pub(crate) const BATCH: usize = 64;

/// Up to this many records, a scan happens after each batch; with more records, after as many nodes
/// as there are records.
const FEW_RECORDS: usize = 64;

/// This many bytes of retired nodes justify a scan of any number of records.
const MANY_BYTES: usize = 1 << 20;

/// Frees the nodes of one object.
pub(crate) struct Domain<N> {
    records: PerThread<Record<N>>,
    batch: usize,
    /// How many freed nodes of a thread have their memory kept, at most.
    spare: usize,
    /// How many threads had ended when their garbage was last taken over.
    taken_over: Hint,
}

/// The state of one thread. When the thread ends, the next one with its number inherits it.
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
    /// Nodes retired since the thread's last scan.
    fresh: Vec<*mut N>,
    /// Before that: to be freed when the guests have left.
    waiting: Vec<*mut N>,
    /// The threads that were inside at the scan: the record and its count.
    guests: Vec<(usize, usize)>,
    /// Memory for nodes, of nodes that were dropped: at most [`Domain::spare`].
    spare: Vec<Box<MaybeUninit<N>>>,
    /// The number of records at the scan.
    records: usize,
}

// SAFETY: the raw pointers are owned nodes, dropped by the owner of the domain or, while it is
// shared, by any thread that uses it; `passes` is atomic; `own_passes`, `due` and `garbage` are
// accessed by one thread at a time, see `with_thread_index`.
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
    /// A domain that scans when a thread has retired this many nodes, or [`MANY_BYTES`] of them.
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
            // No thread has left anything in a new domain; the first check may be in vain.
            taken_over: Hint::new(0),
        }
    }

    /// The same, for an object whose nodes come from [`Domain::allocate`], which reuses the memory
    /// of some freed nodes.
    pub(crate) const fn with_spare(batch: usize) -> Domain<N> {
        let spare = spare_nodes(size_of::<N>());
        let mut domain = Domain::new(batch);
        domain.spare = spare;
        domain
    }

    /// Runs an operation of the object. The pointers that it reads stay valid while it runs.
    ///
    /// It may run code of the user's, such as comparisons, which may panic or call the object
    /// again: the outer operation protects the inner one. Nodes are freed after the outer one, so
    /// that destructors may call the object, too.
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
            // Release: a collector that was waiting for the end of the previous operation may read
            // this count instead of the one before it.
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
            // SAFETY: the record belongs to this thread, and the garbage is not borrowed: see
            // `collect`.
            self.records.get(index).garbage.with_mut(|garbage| unsafe { (*garbage).spare.pop() })
        });
        let memory = spare.unwrap_or_else(Box::new_uninit);
        Box::into_raw(Box::write(memory, node))
    }

    /// Frees as much as possible now, of this thread and of those that have ended, including the
    /// spare memory. Inside of an operation it does nothing.
    pub(crate) fn flush(&self) {
        with_thread_index(|index| {
            let record = self.records.get(index);
            if !record.own_passes.get().is_multiple_of(2) {
                return;
            }
            self.take_over(record);
            // Nodes retired since the last scan wait for the threads that are inside now, which may
            // have left by the second scan.
            self.collect(record);
            self.collect(record);
            // SAFETY: the record belongs to this thread, and the garbage is not borrowed.
            record.garbage.with_mut(|garbage| unsafe { (*garbage).spare = Vec::new() });
        });
    }

    /// Takes over the garbage of threads that have ended.
    fn take_over(&self, own: &Record<N>) {
        self.taken_over.store(threads_ended(), Ordering::Relaxed);
        for (index, record) in self.records.iter() {
            let has_garbage = record.has_garbage.load(Ordering::Relaxed);
            if !has_garbage || ptr::eq(record, own) {
                continue;
            }
            with_ended_thread_index(index, || {
                record.has_garbage.store(false, Ordering::Relaxed);
                // SAFETY: for now, this is the only running thread with the number of this record,
                // which is not its own record.
                let theirs = record.garbage.with_mut(|garbage| unsafe {
                    let Garbage { fresh, waiting, guests, spare, .. } = &mut *garbage;
                    guests.clear();
                    *spare = Vec::new();
                    [mem::take(fresh), mem::take(waiting)]
                });
                // SAFETY: the record belongs to this thread, and the garbage is not borrowed.
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
            // SAFETY: the record belongs to this thread, and the garbage is not borrowed: `run`
            // calls no code of the user's.
            record.garbage.with_mut(|garbage| run(unsafe { &mut *garbage }));
        };
        let mut freed = Vec::new();
        garbage(&mut |garbage| freed = garbage.unused(self));
        for_each_to_the_end(freed.drain(..), |node| {
            // SAFETY: the promise of `retire`: its memory was a box's.
            let mut memory = unsafe { Box::from_raw(node.cast::<MaybeUninit<N>>()) };
            // SAFETY: no thread has a pointer to the node: see the module's text. If its destructor
            // panics, the box frees the memory.
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

/// Ends the operation when dropped, even if it panics.
struct Leaving<'a, N> {
    record: &'a Record<N>,
    after: usize,
}

impl<N> Drop for Leaving<'_, N> {
    #[inline]
    fn drop(&mut self) {
        // Release: the reads inside come before a collector sees that the operation is over.
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
    /// Frees a node when no thread can have a pointer to it any more.
    ///
    /// # Safety
    /// The node was made by `Box::into_raw` or [`Domain::allocate`], is retired once, and cannot be
    /// reached from the object any more. Dropping it may happen on any thread.
    #[inline]
    pub(crate) unsafe fn retire(&self, node: *mut N) {
        self.record.garbage.with_mut(|garbage| {
            // SAFETY: the record belongs to this thread while it is inside, and the garbage is not
            // borrowed.
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
    /// Removes the nodes that can be freed now. The calling thread is not inside an operation.
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
        // SAFETY: the guarantee of `retire`. The domain is exclusively owned, so no operation is
        // pending.
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
            // SAFETY: the domain is exclusively owned.
            record.garbage.with(|garbage| unsafe { (*garbage).spare.len() })
        };
        for value in 0..2 * domain.spare as u64 + 8 {
            domain.enter(|inside| {
                let node = Box::into_raw(Box::new(value));
                // SAFETY: no other thread has the node.
                unsafe { inside.retire(node) };
            });
        }
        assert_eq!(spare(), domain.spare);
        let node = domain.allocate(7);
        assert_eq!(spare(), domain.spare.saturating_sub(1));
        // SAFETY: `allocate` guarantees that it came from a box.
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

    /// After many threads, all their records were scanned as often as before.
    #[test]
    fn the_cost_of_a_look_is_shared_by_as_many_nodes_as_there_are_records() {
        let domain = Domain::<u64>::new(1);
        let record = domain.records.get(super::with_thread_index(|index| index));
        // SAFETY: the domain is exclusively owned.
        record.garbage.with_mut(|garbage| unsafe { (*garbage).records = 1 << 14 });
        let mut looks = 0;
        for _ in 0..10_000 {
            domain.enter(|inside| {
                // SAFETY: no other thread has the node.
                unsafe { inside.retire(Box::into_raw(Box::new(1))) };
                looks += usize::from(record.due.get());
            });
        }
        assert_eq!(looks, 0);
    }
}
