//! The interface between a front end and the engine.
//!
//! A front end (the shadow std, a test's own cell, later a facade over std or instrumented C)
//! performs the accesses itself; the engine decides when. One access is one **event**:
//!
//! ```text
//! point(&access);              // waits until this thread is chosen and the access's condition holds
//! let before = cell.load();    // the front end does it: no other thread runs meanwhile
//! record(Effect::read(before)) // what it turned out to be
//! ```
//!
//! Every `point` is followed by exactly one `record` in the same thread, with no other `point`,
//! [`spawn`] or end of the thread between.
//!
//! **Locations.** An event touches one location, named by a number: an address, or, for an object
//! without an address, a number from [`fresh_location`]. For this execution only, the engine
//! remembers the last value recorded at each location ([`value`]; 0 before the first). A lock, a
//! parker or a barrier keeps its state there instead of in memory, so that statics start afresh in
//! each execution:
//!
//! ```text
//! point(&Access::update(lock).when(Condition::equals(0)));
//! record(Effect::update(0, 1));
//! ```
//!
//! **Addresses** must not depend on the order in which independent threads ran: the same thread
//! with the same past must see the same addresses. So an allocator gives each thread a part of an
//! arena of its own, or makes allocation an event on a location that all its users share.
//!
//! **Enabledness.** A thread whose pending access has a [`Condition`] is scheduled only while the
//! value of the location satisfies it. The condition must be a pure function of that value, because
//! the engine also evaluates it on former values to find where else the access could have run.
//!
//! **Conflicts.** Two events conflict if they touch the same location and at least one of them
//! changed it. What counts is what [`record`] reported, not what was announced: a failed
//! compare-exchange is a read. If the environment chose, an event conflicts with whatever any
//! choice could have conflicted with. A [`Block`] given with an access (the release of memory)
//! conflicts with every access inside it.
//!
//! **Callers.** [`active`] is false outside of an exploration, inside the engine, and inside
//! [`with_state`]. There shadow types and the allocator behave as std's do, and nothing else in
//! this module may be called.
//!
//! **A panic** that leaves a thread's body ends the execution as a failure. While it unwinds, no
//! other thread runs: points return at once, conditions are not waited for, and nothing is
//! recorded. A panic that is caught unwinds like other code: its destructors make events.
//! `unwinding.rs` explains how the engine tells the two apart.

use std::panic::Location;

use super::calls;
pub(crate) use super::calls::far_below;

/// The location of an access that touches none.
pub(crate) const NOWHERE: usize = 0;

/// A virtual thread: 0 is the body of the exploration, others are numbered as they are spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// What an access may do, as announced before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Changes nothing.
    Read,
    /// Replaces the value without looking at it.
    Write,
    /// Reads the value and may replace it. Counts as a read if it leaves the value unchanged.
    Update,
}

/// When an access may run: a predicate of the value of its location.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    pub(crate) holds: fn(value: u64, argument: u64) -> bool,
    pub(crate) argument: u64,
}

impl Condition {
    /// A predicate of the value and of an argument that does not change while the access waits.
    pub fn new(argument: u64, holds: fn(value: u64, argument: u64) -> bool) -> Condition {
        Condition { holds, argument }
    }

    /// The value is this one.
    pub fn equals(expected: u64) -> Condition {
        Condition::new(expected, |value, expected| value == expected)
    }

    /// The value is not this one.
    pub fn differs(from: u64) -> Condition {
        Condition::new(from, |value, from| value != from)
    }

    /// At least one of these bits is set.
    pub fn any_set(mask: u64) -> Condition {
        Condition::new(mask, |value, mask| value & mask != 0)
    }

    /// The condition that none of these bits is set.
    pub fn none_set(mask: u64) -> Condition {
        Condition::new(mask, |value, mask| value & mask == 0)
    }
}

/// A range of addresses, all of which an access touches as a writer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first address.
    pub start: usize,
    /// Its length in bytes.
    pub size: usize,
}

/// An access that a thread is about to make.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub(crate) location: usize,
    pub(crate) kind: Kind,
    pub(crate) condition: Option<Condition>,
    pub(crate) changes: Option<Condition>,
    pub(crate) block: Option<Block>,
    pub(crate) gives_up: bool,
    pub(crate) name: &'static str,
    pub(crate) caller: &'static Location<'static>,
}

impl Access {
    /// An access to a location.
    #[track_caller]
    #[inline]
    pub fn new(location: usize, kind: Kind) -> Access {
        let caller = Location::caller();
        Access {
            location,
            kind,
            condition: None,
            changes: None,
            block: None,
            gives_up: false,
            name: "",
            caller,
        }
    }

    /// An access that touches nothing visible to other threads, for use with [`choose`].
    #[track_caller]
    #[inline]
    pub fn local() -> Access {
        Access::new(NOWHERE, Kind::Read)
    }

    /// A [`Kind::Read`].
    #[track_caller]
    #[inline]
    pub fn read(location: usize) -> Access {
        Access::new(location, Kind::Read)
    }

    /// A [`Kind::Write`].
    #[track_caller]
    #[inline]
    pub fn write(location: usize) -> Access {
        Access::new(location, Kind::Write)
    }

    /// A [`Kind::Update`].
    #[track_caller]
    #[inline]
    pub fn update(location: usize) -> Access {
        Access::new(location, Kind::Update)
    }

    /// An access that gives up one of the owners that the location counts. The last one is a write,
    /// the others are [`Effect::counted`].
    #[track_caller]
    #[inline]
    pub(crate) fn giving_up(location: usize) -> Access {
        let last = Condition::equals(1);
        Access { gives_up: true, ..Access::update(location).changing(last) }
    }

    /// Waits until the value of the location satisfies this.
    #[inline]
    pub fn when(mut self, condition: Condition) -> Access {
        self.condition = Some(condition);
        self
    }

    /// The values of the location for which an update replaces the value: those that a
    /// compare-exchange expects, those that differ from what a swap writes. Without this the engine
    /// assumes all values, which only costs redundant executions.
    #[inline]
    pub fn changing(mut self, values: Condition) -> Access {
        self.changes = Some(values);
        self
    }

    /// Conflicts with every access inside this block, too.
    #[inline]
    pub fn releasing(mut self, block: Block) -> Access {
        self.block = Some(block);
        self
    }

    /// The name of the access in a printed trace: `AtomicU64::load`, `Mutex::lock`, `free`.
    #[inline]
    pub fn named(mut self, name: &'static str) -> Access {
        self.name = name;
        self
    }

    /// Whether it may replace the value of its location, if the location has this value.
    pub(crate) fn may_change(&self, value: u64) -> bool {
        match self.kind {
            Kind::Read => false,
            Kind::Write => true,
            Kind::Update => self.changes.is_none_or(|c| (c.holds)(value, c.argument)),
        }
    }

    /// The source line that a printed trace shows; the default comes from `#[track_caller]`.
    #[inline]
    pub fn at(mut self, caller: &'static Location<'static>) -> Access {
        self.caller = caller;
        self
    }
}

/// What an access turned out to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    pub(crate) before: u64,
    pub(crate) after: u64,
    pub(crate) wrote: bool,
    /// It changed the number of handles: of owners, whose number is the value, or of `Weak`
    /// handles, whose number is not. It commutes with reads and with other count changes. But it is
    /// no read: in a waiting loop, other threads may see the count change in every round.
    pub(crate) counted: bool,
}

impl Effect {
    /// The value was read (or a compare-exchange failed on it).
    #[inline]
    pub fn read(value: u64) -> Effect {
        Effect { before: value, after: value, wrote: false, counted: false }
    }

    /// The value was replaced without being read.
    #[inline]
    pub fn write(before: u64, after: u64) -> Effect {
        Effect { before, after, wrote: true, counted: false }
    }

    /// The value was read and replaced. It is a read if both are the same.
    #[inline]
    pub fn update(before: u64, after: u64) -> Effect {
        Effect { before, after, wrote: before != after, counted: false }
    }

    /// A count has changed, see [`Effect::counted`].
    #[inline]
    pub(crate) fn counted(before: u64, after: u64) -> Effect {
        Effect { before, after, wrote: false, counted: true }
    }
}

/// Why an execution is a failure, as a front end reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A panic left the body of a thread.
    Panic {
        /// Its message.
        message: String,
        /// The line that panicked, `file:line:column`.
        at: Option<String>,
    },
    /// Every thread that has not ended waits for ever.
    Deadlock {
        /// What each thread waits for, one line per thread.
        waiting: Vec<String>,
    },
    /// As [`Failure::Deadlock`], and at least one of them spins.
    Livelock {
        /// What each thread waits for, one line per thread.
        waiting: Vec<String>,
    },
    /// Two accesses, at least one of them a write, that the program's memory orderings do not
    /// order.
    Race {
        /// The earlier access, `thread, name, file:line:column`.
        first: String,
        /// The later one.
        second: String,
    },
    /// Memory was misused: use after free, double free, leak.
    Memory {
        /// A sentence that describes the failure.
        what: String,
    },
    /// The same schedule led to another execution: something else that the engine does not see
    /// affects the program (time, addresses, random numbers, OS threads).
    Nondeterminism {
        /// The event where the difference appeared.
        what: String,
    },
    /// Anything else that a front end calls a failure.
    Other {
        /// A sentence that describes the failure.
        what: String,
    },
}

/// State that a front end keeps for one execution: clocks, arenas, virtual time, thread locals.
///
/// There is one state of each type on each OS thread that explores. It is created on first use and
/// serves one exploration after the other.
pub trait PerExecution: Default + 'static {
    /// Makes it as new, before each execution; keeps its memory.
    fn reset(&mut self);

    /// Runs in each thread after its body, as user code: runs the destructors of thread locals.
    fn thread_ends() {}

    /// Checks the state after an execution in which all threads have ended, for leaks.
    fn execution_ends(&mut self) -> Option<Failure> {
        None
    }

    /// Releases what must not outlive an exploration.
    fn exploration_ends(&mut self) {}

    /// The memory that user code can change without an event, besides its stacks.
    fn memory(&self) -> MemorySum {
        MemorySum::default()
    }
}

/// A sum over the memory that user code can change without an event. A thread waits if a round of
/// its reads leaves this sum, its own stack and those of other threads unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySum {
    /// A sum of a hash of each word and its address.
    pub sum: u64,
    /// Whether that is all the memory that an execution has besides its stacks.
    pub is_all: bool,
}

/// Whether the caller is user code inside an exploration.
#[inline]
pub fn active() -> bool {
    calls::active()
}

/// The current thread.
#[inline]
pub fn current_thread() -> ThreadId {
    calls::with(|e| e.current_thread())
}

/// Waits until this thread may make the access.
#[inline]
pub fn point(access: &Access) {
    calls::point(access);
}

/// Reports what the access of the last [`point`] did.
#[inline]
pub fn record(effect: Effect) {
    calls::record(effect);
}

/// Clears what the engine left below the caller's frame if the thread may be spinning. Call it when
/// an event is over, from the frame that called [`point`]. Without it, a spin loop whose rounds
/// differ only in such leftovers is not recognised.
#[inline(always)]
pub(crate) fn sweep() {
    calls::sweep();
}

/// The value last recorded at a location in this execution; 0 if there is none.
pub fn value(location: usize) -> u64 {
    calls::with(|e| e.value(location))
}

/// Declares that a new object with this value is at a location. Not an event.
///
/// Accesses to the former object no longer count, neither for races nor for the value. All of them
/// must happen before those of the new object, as is the case when memory is reused.
pub fn renew_location(location: usize, value: u64) {
    calls::with(|e| e.renew_location(location, value));
}

/// Sets the value of a location while the thread unwinds and nothing is recorded, so that a lock
/// released meanwhile is free if the panic is caught. Not an event.
pub(crate) fn amend(location: usize, value: u64) {
    calls::with(|e| e.amend(location, value));
}

/// A location that is not an address. It is the same in every execution that has run the same way
/// so far.
pub fn fresh_location() -> usize {
    calls::with(|e| e.fresh_location())
}

/// One of `0..count`; each of them is explored, 0 first. May be called only between a [`point`] and
/// its [`record`], and at most once.
///
/// For choices of the environment: which waiter is woken, whether a weak compare-exchange fails.
pub fn choose(count: u32) -> u32 {
    calls::with(|e| e.choose(count))
}

/// Starts a thread. The caller continues. The new thread runs up to its first point immediately; no
/// thread can distinguish that from running there later.
///
/// This is an event only if the order of operations depends on it: inside an operation, since the
/// operation was called before its threads call theirs, and after an operation that made no event.
#[track_caller]
pub fn spawn(body: Box<dyn FnOnce()>) -> ThreadId {
    // SAFETY: the body borrows nothing.
    unsafe { calls::spawn(body, Location::caller()) }
}

/// As [`spawn`], for a body that may borrow.
///
/// # Safety
/// What the body borrows must live until its thread has ended, or the execution.
pub(crate) unsafe fn spawn_borrowing(
    body: impl FnOnce(),
    caller: &'static Location<'static>,
) -> ThreadId {
    // SAFETY: the caller's promise.
    unsafe { calls::spawn(body, caller) }
}

/// The location that becomes 1 when a thread has ended: a join is a read of it that waits for 1. A
/// front end may set another value before that, when the body of the thread is over but not the
/// destructors of its thread locals.
pub fn ended(thread: ThreadId) -> usize {
    calls::ended(thread)
}

/// A location that belongs to a thread, whichever thread requests it first: a different one for
/// each `which` from 1 on.
pub(crate) fn of_thread(thread: ThreadId, which: u8) -> usize {
    calls::of_thread(thread, which)
}

/// The thread hints that others should run (`spin_loop`, `yield_now`). A search that is free to
/// choose schedules them first. That changes only the order in which executions are explored.
pub fn spin_hint() {
    calls::with(|e| e.spin_hint());
}

/// Whether the environment may fail an access or end a wait spuriously:
/// [`Exploration::spurious`](super::Exploration::spurious).
pub fn spurious() -> bool {
    calls::with(|e| e.spurious)
}

/// How many events the execution has had.
#[inline]
pub(crate) fn count_events() -> usize {
    calls::with(|e| e.trace.len())
}

/// How many events of a thread happen before the next event of the current thread.
pub(crate) fn known_events(of: ThreadId) -> u32 {
    calls::with(|e| e.known_events(of.0))
}

/// How many events the current thread has made.
pub(crate) fn own_events() -> u32 {
    calls::with(|e| e.trace.count_of(e.current_thread().0))
}

/// Whether an address is on the stack of a thread.
pub(crate) fn is_on_a_stack(address: usize) -> bool {
    calls::with(|e| e.is_on_a_stack(address))
}

/// The virtual time of the thread goes on, though no event has happened.
pub(crate) fn time_passes() {
    calls::with(|e| e.time_passes());
}

/// The current thread reads its virtual time.
pub(crate) fn time_is_asked() {
    calls::with(|e| e.time_is_asked());
}

/// Notes that the thread calls an operation of the object under test. Not a scheduling point.
///
/// The caller chooses the number and identifies the operation by it.
pub fn operation_begins(operation: u64) {
    calls::with(|e| e.operation_begins(operation));
}

/// Notes that the current operation of this thread returns. The number stands for its result.
pub fn operation_ends(result: u64) {
    calls::with(|e| e.operation_ends(result));
}

/// Notes an access to plain memory for display among the steps. It is not an event. Returns its
/// number.
pub(crate) fn aside(location: usize, wrote: bool, caller: &'static Location<'static>) -> usize {
    calls::with(|e| e.aside(location, wrote, caller))
}

/// An access that was noted turns out to have written.
pub(crate) fn aside_wrote(number: usize) {
    calls::with(|e| e.trace.asides[number].wrote = true);
}

/// Whether the execution has already failed, because a panic that nobody catches is unwinding.
/// Nothing is recorded then, and nothing matters.
pub(crate) fn is_lost() -> bool {
    calls::with(|e| e.unwinding.is_passive())
}

/// Gives up an execution that [`is_lost`] because it needs something that another thread still
/// holds. If the panic is caught, the execution runs again so that the other thread comes first.
pub(crate) fn give_up() -> ! {
    calls::give_up()
}

/// As std's `panicking`, for the current thread.
pub(crate) fn is_panicking() -> bool {
    calls::with(|e| e.is_panicking())
}

/// As [`fail`], but returns if the thread unwinds; then [`is_lost`] holds.
pub(crate) fn end(failure: Failure) {
    calls::end(failure);
}

/// Ends the execution as a failure. The stacks of all threads are dropped without unwinding.
pub fn fail(failure: Failure) -> ! {
    calls::fail(failure)
}

/// Runs a function on the front end's state for this execution; [`active`] is false meanwhile.
///
/// The function must not panic, and must not ask for the same state again.
#[inline]
pub fn with_state<T: PerExecution, R>(function: impl FnOnce(&mut T) -> R) -> R {
    calls::with_state(|state, _| function(state))
}

/// As [`with_state`], and passes the current thread.
#[inline]
pub(crate) fn with_own_state<T: PerExecution, R>(
    function: impl FnOnce(&mut T, ThreadId) -> R,
) -> R {
    calls::with_state(function)
}

/// As [`with_state`] and then [`record`]: the function makes the access of the last [`point`]. A
/// failure that it returns ends the execution, unless it [`is_lost`].
#[inline]
pub(crate) fn perform<T: PerExecution, R>(
    function: impl FnOnce(&mut T, ThreadId) -> (R, Effect, Option<Box<Failure>>),
) -> R {
    calls::perform(function)
}
