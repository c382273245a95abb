//! What all shadow types share: the front end's state of an execution, and the one way to make an
//! event.
//!
//! To make an event, the front end records the thread's accesses through raw pointers since its
//! last event, waits for its turn, checks the address against freed blocks, makes the access,
//! informs the race detector, and records the effect.

use crate::engine::interface::{self, Access, Effect, Failure, MemorySum, PerExecution, ThreadId};
use crate::engine::sum_of_bytes;
use crate::memory::{Afterwards, Memory, MemoryFaultKind, Site, canonical, failure};
use crate::race::{Detector, Place, Plain, Race, Touch};
use crate::watch::Watch;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::cell::Cell;
use std::mem::take;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) type Caller = &'static Location<'static>;

/// The front end's state of one execution.
pub(crate) struct Front {
    pub(crate) memory: Memory,
    pub(crate) detector: Detector,
    pub(crate) threads: Vec<Thread>,
    /// The waiters of each condition variable, as the locations that they wait at.
    pub(crate) condvars: HashMap<usize, Waiters, foldhash::fast::FixedState>,
    /// The `Arc`s that have had a `Weak`, by the location of their counts, with the number of
    /// handles once no owner is left.
    pub(crate) weaks: HashMap<usize, usize, foldhash::fast::FixedState>,
    /// The values of locked locks in statics, which are neither on the heap nor on a stack. The
    /// thread that holds the lock may change the value without an event.
    held: Vec<(usize, usize)>,
    /// How often a cell was written that is neither on the heap nor on a stack.
    static_writes: u64,
    /// Differs between any two executions of the process.
    pub(crate) stamp: u64,
    /// The thread that is spawning, while the new one runs up to its first point.
    pub(crate) parent: Option<u32>,
}

/// The threads that wait on a condition variable.
#[derive(Default)]
pub(crate) struct Waiters {
    pub(crate) locations: Vec<usize>,
    /// Notifications that met no waiter.
    pub(crate) lost: u32,
}

/// The front end's state for one thread of the execution.
#[derive(Default)]
pub(crate) struct Thread {
    pub(crate) after: Option<Caller>,
    pub(crate) watches: Vec<Watch>,
    /// The number of events at the beginning of each unfinished access, the innermost last.
    pub(crate) begun: Vec<usize>,
    pub(crate) locals: Vec<Local>,
    /// The keys of thread locals whose destructor has started.
    pub(crate) dropped: Vec<usize>,
    /// Its body was over before the destructors of its thread locals were.
    pub(crate) finished_before: bool,
    pub(crate) name: Option<Arc<str>>,
    /// Virtual time, its own.
    pub(crate) now: Duration,
    /// Its time after each number of its events.
    pub(crate) times: Vec<(u32, Duration)>,
    pub(crate) looks: u32,
    /// A location that only this thread touches; 0 until it has read the clock.
    pub(crate) clock_location: usize,
    /// The lines at which it has woken up for no reason.
    pub(crate) woken: Vec<Caller>,
}

impl Thread {
    /// Makes it as new; keeps its memory.
    fn renew(&mut self) {
        let (mut watches, mut locals) = (take(&mut self.watches), take(&mut self.locals));
        let (mut dropped, mut woken) = (take(&mut self.dropped), take(&mut self.woken));
        let (mut times, mut begun) = (take(&mut self.times), take(&mut self.begun));
        watches.clear();
        locals.clear();
        dropped.clear();
        woken.clear();
        times.clear();
        begun.clear();
        *self = Thread { watches, begun, locals, dropped, woken, times, ..Thread::default() };
    }
}

/// A thread local that was initialised.
pub(crate) struct Local {
    pub(crate) key: usize,
    pub(crate) value: *mut (),
    pub(crate) size: usize,
    pub(crate) drop: unsafe fn(*mut ()),
    /// It has a destructor.
    pub(crate) drops: bool,
}

std::thread_local! {
    /// How many pointers from `UnsafeCell::get` the running thread has outstanding: zero at nearly
    /// all events.
    static WATCHED: Cell<u32> = const { Cell::new(0) };
    /// The stamp of the execution, once its state has been requested.
    static STAMP: Cell<u64> = const { Cell::new(0) };
}

/// The stamp of the execution, for callers that have requested its state before.
#[inline]
pub(crate) fn stamp() -> u64 {
    STAMP.get()
}

static STAMPS: AtomicU64 = AtomicU64::new(1);

impl Default for Front {
    fn default() -> Self {
        // Memory that std allocates lazily and keeps must not come from the arena.
        drop(std::io::stdout().lock());
        drop(std::thread::current());
        let mut front = Front {
            memory: Memory::default(),
            detector: Detector::default(),
            threads: Vec::new(),
            condvars: HashMap::default(),
            weaks: HashMap::default(),
            held: Vec::new(),
            static_writes: 0,
            stamp: 0,
            parent: None,
        };
        front.reset();
        front
    }
}

impl PerExecution for Front {
    fn reset(&mut self) {
        self.memory.reset();
        self.detector.reset();
        self.threads.iter_mut().for_each(Thread::renew);
        self.condvars.clear();
        self.weaks.clear();
        self.held.clear();
        self.static_writes = 0;
        self.stamp = STAMPS.fetch_add(1, Ordering::Relaxed);
        self.parent = None;
        WATCHED.set(0);
        STAMP.set(self.stamp);
    }

    fn thread_ends() {
        crate::std::thread::finish();
        resolve_watches();
    }

    fn execution_ends(&mut self) -> Option<Failure> {
        self.memory.execution_ends()
    }

    fn exploration_ends(&mut self) {
        self.memory.give_back();
    }

    fn memory(&self) -> MemorySum {
        let locals = self.threads.iter().flat_map(|thread| &thread.locals);
        // SAFETY: the values of thread locals are boxes of this size, and no other OS thread has
        // access to them.
        let sums = locals.map(|local| unsafe { sum_of_bytes(local.value.cast(), local.size) });
        // SAFETY: the values of locks stay where they are while the lock is held, and a thread of
        // this execution holds it.
        let held = self.held.iter().map(|&(start, size)| unsafe {
            sum_of_bytes(std::ptr::with_exposed_provenance(start), size)
        });
        let sum = sums.chain(held).fold(self.memory.sum(), u64::wrapping_add);
        let sum = sum.wrapping_add(self.static_writes);
        MemorySum { sum, is_all: self.memory.is_all() }
    }
}

impl Front {
    pub(crate) fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        let index = thread.0 as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        &mut self.threads[index]
    }

    /// The source line of a thread, as far as the allocator can know it.
    pub(crate) fn site(&mut self, thread: ThreadId) -> Site {
        Site { thread: thread.0, after: self.thread(thread).after }
    }

    /// Checks an access against freed blocks.
    #[inline]
    pub(crate) fn check(
        &mut self,
        address: usize,
        thread: ThreadId,
        caller: Caller,
    ) -> Option<Box<Failure>> {
        let arena = self.memory.arena.as_mut()?;
        if arena.touch(address) {
            return None;
        }
        let site = Site { thread: thread.0, after: Some(caller) };
        arena.check_access(address, site).err().map(|fault| Box::new(failure(&fault)))
    }

    /// The drop of a cell: a write, which must not come after the free of its memory.
    ///
    /// It does not make the free of its block an event: a thread that uses the block after the drop
    /// meets a race or a freed block.
    fn drop_cell(
        &mut self,
        address: usize,
        thread: ThreadId,
        name: &'static str,
    ) -> Option<Failure> {
        let site = self.site(thread);
        if let Some(arena) = self.memory.arena.as_mut().filter(|arena| arena.is_freed(address)) {
            return arena.check_access(address, site).err().map(|fault| failure(&fault));
        }
        let place = Place::After(site.after);
        let race = self.detector.plain(thread.0, address, Plain::Write, name, place).err()?;
        let arena = self.memory.arena.as_ref();
        let Some((arena, id)) = arena.and_then(|arena| Some((arena, arena.block_at(address)?)))
        else {
            return Some(race_failure(&race));
        };
        // Cells of a block are dropped when it is freed.
        let fault = arena.fault(id, MemoryFaultKind::UnorderedFree, Some(site));
        let (first, second) = (describe(&race.first), describe(&race.second));
        Some(Failure::Memory {
            what: format!("{fault}\n  the access: {first}\n  the drop: {second}"),
        })
    }

    /// Frees a block of the arena.
    pub(crate) fn free(
        &mut self,
        address: usize,
        thread: ThreadId,
        afterwards: Afterwards,
    ) -> Result<(), Failure> {
        let site = self.site(thread);
        let Some(arena) = &mut self.memory.arena else { return Ok(()) };
        let id = arena.check_free(address, site).map_err(|fault| failure(&fault))?;
        if let Err(touch) = self.detector.free(thread.0, arena.range(id)) {
            let fault = arena.fault(id, MemoryFaultKind::UnorderedFree, Some(site));
            let what = format!("{fault}\n  the access: {}", describe(&touch));
            return Err(Failure::Memory { what });
        }
        arena.free(address, site, afterwards).map_err(|fault| failure(&fault))
    }

    /// A plain access to a cell, for the race detector.
    pub(crate) fn plain(
        &mut self,
        thread: ThreadId,
        address: usize,
        access: Plain,
        name: &'static str,
        place: Place,
    ) -> Option<Failure> {
        let race = self.detector.plain(thread.0, address, access, name, place).err()?;
        Some(race_failure(&race))
    }
}

fn describe(touch: &Touch) -> String {
    format!("thread {}, {}, {}", touch.thread, touch.name, touch.place)
}

fn race_failure(race: &Race) -> Failure {
    Failure::Race { first: describe(&race.first), second: describe(&race.second) }
}

/// Ends the execution as a failure, unless it is lost already because of a panic.
#[cold]
pub(crate) fn report(failure: Failure) {
    if !interface::is_lost() {
        interface::end(failure);
    }
}

/// Whether the environment ends this wait spuriously: at most once at each line of a thread. Only
/// between [`arrive`] and [`perform`].
pub(crate) fn wakes_spuriously(caller: Caller) -> bool {
    let before = interface::with_own_state(|front: &mut Front, thread| {
        front.thread(thread).woken.contains(&caller)
    });
    if before || interface::choose(2) == 0 {
        return false;
    }
    interface::with_own_state(|front: &mut Front, thread| front.thread(thread).woken.push(caller));
    true
}

/// The thread holds a lock, and may change its value without an event. If that memory is not
/// tracked otherwise, it is recorded here.
pub(crate) fn hold<T: ?Sized>(value: *const T, size: usize) {
    let start = value.cast::<u8>().expose_provenance();
    if size == 0 || canonical(start) != start || interface::is_on_a_stack(start) {
        return;
    }
    interface::with_own_state(|front: &mut Front, _| front.held.push((start, size)));
}

/// A cell was written. A cell in a static changes state that no sum covers.
fn note_write(address: usize) {
    if canonical(address) == address && !interface::is_on_a_stack(address) {
        interface::with_own_state(|front: &mut Front, _| front.static_writes += 1);
    }
}

/// The lock is given back.
pub(crate) fn let_go<T: ?Sized>(value: *const T) {
    let start = value.cast::<u8>().addr();
    if canonical(start) == start {
        interface::with_own_state(|front: &mut Front, _| {
            front.held.retain(|held| held.0 != start);
        });
    }
}

/// Runs a function in which allocations come from the system: for memory that belongs to the shadow
/// std and not to the code under test.
pub(crate) fn outside<R>(function: impl FnOnce() -> R) -> R {
    interface::with_state(|_: &mut Front| function())
}

/// How an event orders plain accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    None,
    Acquire,
    Release,
    Both,
}

/// Makes an event whose access is a function of the front end's state. The function must not panic.
#[inline]
pub(crate) fn event<R>(access: Access, body: impl FnOnce(&mut Front, u32) -> (R, Effect)) -> R {
    let result = perform(arrive(access), body);
    interface::sweep();
    result
}

/// An access that is under way: its thread was chosen.
pub(crate) struct Arrived {
    address: usize,
    location: usize,
    name: &'static str,
    caller: Caller,
}

/// The first half of [`event`]: waits for the turn of the thread.
#[inline]
pub(crate) fn arrive(mut access: Access) -> Arrived {
    resolve_watches();
    let address = access.location;
    access.location = canonical(address);
    interface::point(&access);
    Arrived { address, location: access.location, name: access.name, caller: access.caller }
}

/// The second half of [`event`], for callers that query the engine in between.
///
/// It has a frame of its own, because what it leaves there differs from event to event, and the
/// frames from that of the caller of [`arrive`] on decide whether a thread spins.
#[inline(never)]
pub(crate) fn perform<R>(access: Arrived, body: impl FnOnce(&mut Front, u32) -> (R, Effect)) -> R {
    interface::perform(|front: &mut Front, thread| {
        front.thread(thread).after = Some(access.caller);
        let fault = front.check(access.address, thread, access.caller);
        let (result, effect) = body(front, thread.0);
        (result, effect, fault)
    })
}

/// As [`event`], for memory other than an atomic: an `Arc`'s counts, a condition variable. The race
/// detector records the access, so that it finds a free of this memory that is not ordered after
/// the access.
#[inline]
pub(crate) fn touching<R>(access: Access, body: impl FnOnce(&mut Front, u32) -> (R, Effect)) -> R {
    let result = perform_touching(arrive(access), body);
    interface::sweep();
    result
}

/// The second half of [`touching`].
#[inline]
pub(crate) fn perform_touching<R>(
    access: Arrived,
    body: impl FnOnce(&mut Front, u32) -> (R, Effect),
) -> R {
    let (address, name, caller) = (access.address, access.name, access.caller);
    perform(access, |front, thread| {
        front.detector.touch(thread, address, name, caller);
        body(front, thread)
    })
}

/// An event on a location whose value the engine keeps: a lock, a token. The function receives the
/// value.
pub(crate) fn kept_event(access: Access, body: impl FnOnce(u64) -> (Effect, Edge)) -> Effect {
    let access = arrive(access);
    let (address, location) = (access.address, access.location);
    let value = interface::value(location);
    let effect = perform_touching(access, |front, thread| {
        let (effect, edge) = body(value);
        if matches!(edge, Edge::Acquire | Edge::Both) {
            front.detector.acquire(thread, address);
        }
        if matches!(edge, Edge::Release | Edge::Both) {
            front.detector.release(thread, address);
        }
        (effect, effect)
    });
    if std::thread::panicking() {
        interface::amend(location, effect.after);
    }
    interface::sweep();
    effect
}

/// Decides which of the outstanding pointers were written through.
#[inline]
pub(crate) fn resolve_watches() {
    if WATCHED.get() != 0 {
        resolve_all_watches();
    }
}

#[cold]
fn resolve_all_watches() {
    let (fault, written) = interface::with_own_state(|front: &mut Front, thread| {
        let mut watches = take(&mut front.thread(thread).watches);
        WATCHED.set(WATCHED.get() - watches.len() as u32);
        let (mut fault, mut written) = (None, SmallVec::<[(usize, usize); 4]>::new());
        for watch in watches.drain(..) {
            let (access, name) = watch.resolve();
            let found = front.plain(thread, watch.address(), access, name, Place::At(watch.caller));
            fault = fault.or(found);
            let wrote = access == Plain::Write;
            written.extend(wrote.then_some((watch.address(), watch.aside)));
        }
        front.thread(thread).watches = watches;
        (fault, written)
    });
    for (address, aside) in written {
        interface::aside_wrote(aside);
        note_write(address);
    }
    if let Some(fault) = fault {
        report(fault);
    }
}

/// A raw pointer to a cell was handed out.
pub(crate) fn watch(address: usize, size: usize, caller: Caller) {
    let aside = interface::aside(place_of(address), false, caller);
    let (fault, wrote) = interface::with_own_state(|front: &mut Front, thread| {
        front.thread(thread).after = Some(caller);
        if let Some(fault) = front.check(address, thread, caller) {
            return (Some(*fault), None);
        }
        let watches = &mut front.thread(thread).watches;
        let former = watches.iter().position(|watch| watch.address() == address);
        let former = former.map(|index| watches.remove(index));
        // SAFETY: the cell is borrowed by the caller, and no other thread runs now.
        watches.push(unsafe { Watch::new(address, size, caller, aside) });
        let Some(former) = former else {
            WATCHED.set(WATCHED.get() + 1);
            return (None, None);
        };
        let (access, name) = former.resolve();
        let fault = front.plain(thread, address, access, name, Place::At(former.caller));
        (fault, (access == Plain::Write).then_some(former.aside))
    });
    if let Some(aside) = wrote {
        interface::aside_wrote(aside);
        note_write(address);
    }
    if let Some(fault) = fault {
        report(fault);
    }
}

/// The location of a cell, for display among the steps: no event uses it.
fn place_of(address: usize) -> usize {
    !address
}

/// A plain access that is known to be a read or a write.
pub(crate) fn plain(address: usize, access: Plain, name: &'static str, caller: Caller) {
    resolve_watches();
    interface::aside(place_of(address), access == Plain::Write, caller);
    plain_goes_on(address, access, name, caller);
}

/// As [`plain`], for the end of a lasting access, which was recorded for the steps at its
/// beginning.
pub(crate) fn plain_goes_on(address: usize, access: Plain, name: &'static str, caller: Caller) {
    resolve_watches();
    if access == Plain::Write {
        note_write(address);
    }
    let fault = interface::with_own_state(|front: &mut Front, thread| {
        front.thread(thread).after = Some(caller);
        let freed = front.check(address, thread, caller).map(|fault| *fault);
        freed.or_else(|| front.plain(thread, address, access, name, Place::At(caller)))
    });
    if let Some(fault) = fault {
        report(fault);
    }
}

/// An access begins that lasts: [`access_has_met_events`] is called at its end.
pub(crate) fn access_begins() {
    let events = interface::count_events();
    interface::with_own_state(|front: &mut Front, thread| front.thread(thread).begun.push(events));
}

/// Whether events have happened since the innermost unfinished access began. That access ends.
pub(crate) fn access_has_met_events() -> bool {
    let events = interface::count_events();
    let begun =
        interface::with_own_state(|front: &mut Front, thread| front.thread(thread).begun.pop());
    begun != Some(events)
}

/// A cell is dropped: a write. Its outstanding pointer is resolved first, and from then on its
/// memory belongs to nothing.
///
/// If the addresses of freed blocks are not tracked, another cell may follow at the same address,
/// of a thread that has learnt nothing of this one. So the cell's history ends here.
///
/// The line is that of the thread's last shadow operation, since destructors do not know their
/// caller.
pub(crate) fn drop_cell(address: usize, name: &'static str) {
    resolve_watches();
    let is_known = canonical(address) != address || interface::is_on_a_stack(address);
    let fault = interface::with_own_state(|front: &mut Front, thread| {
        let fault = front.drop_cell(address, thread, name);
        if !is_known {
            front.detector.forget_cell(address);
        }
        fault
    });
    if let Some(fault) = fault {
        report(fault);
    }
}
