//! Detects races that the memory orderings allow.
//!
//! Values are sequentially consistent, but happens-before does not follow the order in which events
//! ran: a second vector clock uses the memory orderings as written, with the rules of C++20 that
//! Rust has adopted.
//!
//! - A release store starts a release sequence with the thread's clock. A relaxed store ends the
//!   former sequence and carries the clock of the last release fence, which is empty if there was
//!   none. A read-modify-write continues the sequence and adds its own clock if it releases.
//! - An acquire load joins the clock of the sequence it read from; a relaxed load keeps it for the
//!   next acquire fence.
//! - A read-modify-write that leaves the value unchanged could also have come after a load that has
//!   read this value, or after another such update. Only one of the two orders is explored. So its
//!   clock is passed on only to the next change, and to those `SeqCst` reads that must come after
//!   it by [`seq_cst`].
//! - Locks, joins, unparks and the like are a release and an acquire. A `SeqCst` fence is an
//!   acquire and a release fence; the total order of such fences does not order plain accesses by
//!   itself.
//!
//! Two accesses to one [`UnsafeCell`](crate::std::cell::UnsafeCell) race if one of them writes and
//! neither knows the other's epoch, as in FastTrack (Flanagan, Freund: PLDI 2009). Plain accesses
//! need no scheduling points: until the first race of an execution, synchronisation orders them,
//! and all orders of synchronisation are explored. Each check costs the number of threads that read
//! the cell since its last write.
//!
//! Dropping a cell writes it: the thread that drops it must know every access, and a later access
//! must know the drop. Freeing a block is checked in the same way against every shadow access
//! inside of it, to atomics, locks and cells.

mod clock;
mod seq_cst;
mod table;

pub(crate) use clock::Clock;
use seq_cst::SeqCstOrder;
use table::{Entry, Table};

use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::Ordering;

type Caller = &'static Location<'static>;

/// A plain access to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Read,
    Write,
}

/// One access that takes part in a race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) thread: u32,
    epoch: u32,
    pub(crate) name: &'static str,
    pub(crate) place: Place,
}

/// The line of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    At(Caller),
    /// The access does not know its caller: the line of the last shadow operation before it, if
    /// there was one.
    After(Option<Caller>),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::At(line) => write!(f, "{line}"),
            Place::After(Some(line)) => write!(f, "at or after {line}"),
            Place::After(None) => f.write_str("before its first shadow operation"),
        }
    }
}

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    pub(crate) first: Touch,
    pub(crate) second: Touch,
}

/// The clocks of a thread.
#[derive(Default)]
struct Knowledge {
    clock: Clock,
    /// The clock at the last release fence.
    released: Clock,
    /// The clocks that relaxed loads have read, for the next acquire fence.
    to_acquire: Clock,
}

/// An atomic, a lock, or whatever else synchronises.
#[derive(Default)]
struct Sync {
    /// The clock that the release sequence of the last write carries.
    carries: Clock,
    /// The clocks of updates since then that left the value unchanged.
    unordered: Clock,
    /// Those of them that are `SeqCst`: the thread, the access's number in [`SeqCstOrder`], and the
    /// clock that it passes on.
    unordered_seq_cst: Vec<(u32, u32, Clock)>,
    /// The thread whose clock it is, and its epoch then. A thread that knows this epoch knows the
    /// whole clock, since a thread passes on one clock per epoch. `None`: it is joined from several
    /// clocks.
    whole: Option<(u32, u32)>,
    /// The last access of each thread.
    touches: SmallVec<[Touch; 4]>,
}

#[derive(Default)]
struct Cell {
    write: Option<Touch>,
    /// Reads since the last write, one for each thread.
    reads: SmallVec<[Touch; 4]>,
}

impl Sync {
    /// Whether a clock already contains everything that it carries.
    #[inline]
    fn is_known(&self, clock: &Clock) -> bool {
        self.whole.is_some_and(|(thread, epoch)| clock.get(thread) >= epoch)
    }

    /// The value changes: all earlier updates come before the change in every order that is
    /// explored.
    #[inline]
    fn fix_unordered(&mut self) {
        if !self.unordered.is_empty() {
            self.carries.join(&self.unordered);
            self.whole = None;
            self.forget_unordered();
        }
    }

    #[inline]
    fn forget_unordered(&mut self) {
        self.unordered.clear();
        self.unordered_seq_cst.clear();
    }
}

impl Entry for Sync {
    fn renew(&mut self) {
        self.carries.clear();
        self.forget_unordered();
        self.whole = None;
        self.touches.clear();
    }
}

impl Entry for Cell {
    fn renew(&mut self) {
        self.write = None;
        self.reads.clear();
    }
}

/// The detector for one execution.
#[derive(Default)]
pub(crate) struct Detector {
    threads: Vec<Knowledge>,
    syncs: Table<Sync>,
    cells: Table<Cell>,
    seq_cst: SeqCstOrder,
}

/// How an atomic access was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    /// A load, or a compare-exchange that failed.
    Load,
    Store,
    Update,
    /// An update that leaves the value as it is.
    Rewrite,
}

impl Atomic {
    /// An update, by the values before and after.
    #[inline]
    pub(crate) fn update(before: u64, after: u64) -> Atomic {
        if before == after { Atomic::Rewrite } else { Atomic::Update }
    }
}

pub(crate) fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

pub(crate) fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

impl Detector {
    pub(crate) fn reset(&mut self) {
        self.syncs.clear();
        self.cells.clear();
        self.seq_cst.clear();
        for thread in &mut self.threads {
            thread.clock.clear();
            thread.released.clear();
            thread.to_acquire.clear();
        }
        self.start(0, None);
    }

    /// A thread begins with the knowledge of its parent.
    pub(crate) fn start(&mut self, thread: u32, parent: Option<u32>) {
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Knowledge::default);
        }
        if let Some(parent) = parent {
            let inherited = std::mem::take(&mut self.threads[parent as usize].clock);
            self.threads[index].clock.assign(&inherited);
            self.threads[parent as usize].clock = inherited;
            self.advance(parent);
        }
        let epoch = self.threads[index].clock.get(thread) + 1;
        self.threads[index].clock.set(thread, epoch);
    }

    /// A thread learns all that another knew at its end.
    pub(crate) fn join(&mut self, thread: u32, ended: u32) {
        let known = std::mem::take(&mut self.threads[ended as usize].clock);
        self.threads[thread as usize].clock.join(&known);
        self.threads[ended as usize].clock = known;
    }

    /// An atomic access, after it was done.
    pub(crate) fn atomic(
        &mut self,
        thread: u32,
        location: usize,
        access: Atomic,
        order: Ordering,
        name: &'static str,
        caller: Caller,
    ) {
        let knowledge = &mut self.threads[thread as usize];
        let sync = self.syncs.entry(location);
        let epoch = knowledge.clock.get(thread);
        let touch = Touch { thread, epoch, name, place: Place::At(caller) };
        remember(&mut sync.touches, touch);
        match access {
            Atomic::Load | Atomic::Rewrite => (),
            Atomic::Store => sync.forget_unordered(),
            Atomic::Update => sync.fix_unordered(),
        }
        let is_seq_cst = order == Ordering::SeqCst;
        if is_seq_cst && access == Atomic::Rewrite {
            self.seq_cst.keep();
        }
        let changes = matches!(access, Atomic::Store | Atomic::Update);
        self.seq_cst.access(thread, location, changes, is_seq_cst);
        if is_seq_cst {
            for (other, number, passed_on) in &sync.unordered_seq_cst {
                if self.seq_cst.precedes((*other, *number), thread) {
                    knowledge.clock.join(passed_on);
                }
            }
        }
        if access != Atomic::Store && !sync.is_known(&knowledge.clock) {
            if acquires(order) {
                knowledge.clock.join(&sync.carries);
            } else {
                knowledge.to_acquire.join(&sync.carries);
            }
        }
        if access == Atomic::Load {
            return;
        }
        if access == Atomic::Rewrite {
            if releases(order) {
                sync.unordered.join(&knowledge.clock);
                if is_seq_cst {
                    let number = self.seq_cst.last_of(thread);
                    sync.unordered_seq_cst.push((thread, number, knowledge.clock.clone()));
                }
                knowledge.clock.set(thread, touch.epoch + 1);
            } else {
                sync.unordered.join(&knowledge.released);
            }
            return;
        }
        if !releases(order) {
            sync.whole = None;
            match access {
                Atomic::Store => sync.carries.assign(&knowledge.released),
                _ => sync.carries.join(&knowledge.released),
            }
            return;
        }
        if access == Atomic::Store || sync.is_known(&knowledge.clock) || acquires(order) {
            // The clock has all that was there.
            sync.carries.assign(&knowledge.clock);
            sync.whole = Some((thread, touch.epoch));
        } else {
            sync.carries.join(&knowledge.clock);
            sync.whole = None;
        }
        knowledge.clock.set(thread, touch.epoch + 1);
    }

    /// Records an access to memory other than an atomic: a lock, the counts of an `Arc`. A thread
    /// must know of it before it frees that memory. The record precedes the edges of the same
    /// access, so that a thread that learns from these knows of the access.
    pub(crate) fn touch(
        &mut self,
        thread: u32,
        location: usize,
        name: &'static str,
        caller: Caller,
    ) {
        let epoch = self.threads[thread as usize].clock.get(thread);
        let touch = Touch { thread, epoch, name, place: Place::At(caller) };
        remember(&mut self.syncs.entry(location).touches, touch);
    }

    /// Joins the clock that was last passed on at a location: a lock taken, a token received.
    pub(crate) fn acquire(&mut self, thread: u32, location: usize) {
        if let Some(sync) = self.syncs.get(location) {
            self.threads[thread as usize].clock.join(&sync.carries);
        }
    }

    /// Passes on the thread's clock, in addition to the clocks that others have passed on there.
    pub(crate) fn release(&mut self, thread: u32, location: usize) {
        let sync = self.syncs.entry(location);
        sync.carries.join(&self.threads[thread as usize].clock);
        sync.whole = None;
        self.advance(thread);
    }

    pub(crate) fn fence(&mut self, thread: u32, order: Ordering) {
        let knowledge = &mut self.threads[thread as usize];
        if acquires(order) {
            knowledge.clock.join(&knowledge.to_acquire);
        }
        if releases(order) {
            knowledge.released.assign(&knowledge.clock);
            self.advance(thread);
        }
    }

    /// A plain access to a cell.
    pub(crate) fn plain(
        &mut self,
        thread: u32,
        address: usize,
        access: Plain,
        name: &'static str,
        place: Place,
    ) -> Result<(), Race> {
        let clock = &self.threads[thread as usize].clock;
        let second = Touch { thread, epoch: clock.get(thread), name, place };
        let cell = self.cells.entry(address);
        if let Some(first) = cell.write.filter(|write| unknown(clock, write)) {
            return Err(Race { first, second });
        }
        match access {
            Plain::Read => remember(&mut cell.reads, second),
            Plain::Write => {
                if let Some(&first) = cell.reads.iter().find(|read| unknown(clock, read)) {
                    return Err(Race { first, second });
                }
                cell.reads.clear();
                cell.write = Some(second);
            }
        }
        Ok(())
    }

    /// Ends the history of the cell. Another object may use its address, with no known accesses.
    pub(crate) fn forget_cell(&mut self, address: usize) {
        self.cells.remove(address);
    }

    /// The lock is gone. Another object may use its address.
    pub(crate) fn forget_sync(&mut self, location: usize) {
        self.syncs.remove(location);
        self.seq_cst.forget(location);
    }

    /// A block is freed: the freeing thread must know every access inside of it. The block's
    /// history ends.
    pub(crate) fn free(&mut self, thread: u32, block: Range<usize>) -> Result<(), Touch> {
        let clock = &self.threads[thread as usize].clock;
        // The unknown access with the lowest address, so that the report does not depend on
        // hashing.
        let mut racing: Option<(usize, Touch)> = None;
        let mut consider = |address: usize, touches: &[Touch]| {
            let found = touches.iter().find(|touch| unknown(clock, touch));
            if let Some(&touch) = found
                && racing.is_none_or(|(other, _)| address < other)
            {
                racing = Some((address, touch));
            }
        };
        self.syncs.remove_range(block.clone(), |address, sync| consider(address, &sync.touches));
        self.seq_cst.forget_block(block.clone());
        self.cells.remove_range(block, |address, cell| {
            consider(address, cell.write.as_slice());
            consider(address, &cell.reads);
        });
        racing.map_or(Ok(()), |(_, touch)| Err(touch))
    }

    /// Starts a new epoch: threads that learnt from this one do not know its further accesses.
    fn advance(&mut self, thread: u32) {
        let clock = &mut self.threads[thread as usize].clock;
        clock.set(thread, clock.get(thread) + 1);
    }
}

fn unknown(clock: &Clock, touch: &Touch) -> bool {
    clock.get(touch.thread) < touch.epoch
}

fn remember(touches: &mut SmallVec<[Touch; 4]>, touch: Touch) {
    match touches.iter_mut().find(|other| other.thread == touch.thread) {
        Some(other) => *other = touch,
        None => touches.push(touch),
    }
}

#[cfg(test)]
mod tests;
