//! What a front end tells the engine, and what it may ask.
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
//! **Locations.** An event touches one location, named by a number: an address, or for what has no
//! address of its own one from [`fresh_location`]. The engine remembers the last value recorded at
//! each location ([`value`]; 0 before any), for this execution only. A lock, a parker, a barrier
//! keeps its state there rather than in memory, so that statics start anew in each execution:
//!
//! ```text
//! point(&Access::update(lock).when(Condition::equals(0)));
//! record(Effect::update(0, 1));
//! ```
//!
//! **Addresses** must not depend on the order in which independent threads ran: the same thread
//! after the same past must meet the same addresses. An allocator gives each thread its own part of
//! an arena, or makes allocation an event on a location that all its users share.
//!
//! **Enabledness.** A thread whose pending access has a [`Condition`] is chosen only while the
//! value of the location satisfies it. The condition must be a pure function of that value: the
//! engine evaluates it on former values too, to find where else the access could have run.
//!
//! **Conflicts.** Two events conflict when they touch the same location and at least one of them
//! changed it (what [`record`] said, not what was announced: a failed compare-exchange is a read;
//! but where the environment chose, what any choice could have done). A [`Block`] given with an
//! access (the release of memory) conflicts with every access inside it.
//!
//! **Who is asking.** [`active`] is false outside of an exploration, inside the engine, and inside [`with_state`]:
//! there a shadow type, and the allocator, behave as std's do. Nothing else in this module may be called
//! while it is false.
//!
//! **A panic** that leaves a thread's body ends the execution as a failure. While it unwinds, no
//! other thread runs: points return at once, conditions are not waited for, nothing is recorded. A
//! panic that is caught unwinds as other code runs: what destructors do are events. How the engine
//! knows which it is, is said in `unwinding.rs`.

use std::panic::Location;

use super::calls;
pub(crate) use super::calls::far_below;

/// The location of accesses that touch none.
pub(crate) const NOWHERE: usize = 0;

/// A virtual thread: 0 is the body of the exploration, others are numbered as they are spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// What an access may do, before it is known what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Changes nothing.
    Read,
    /// Replaces the value without looking at it.
    Write,
    /// Looks at the value and may replace it. It counts as a read if it leaves the value unchanged.
    Update,
}

/// When an access may run: a predicate on the value of its location.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    pub(crate) holds: fn(value: u64, argument: u64) -> bool,
    pub(crate) argument: u64,
}

impl Condition {
    /// A predicate of the value and of an argument that stays the same while the access waits.
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

    /// None of these bits is set.
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

    /// An access that touches nothing that another thread could see: carries a [`choose`].
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

    /// One of the owners that the location counts gives up. The last one is a write, the others are
    /// [`Effect::counted`].
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

    /// On which values of the location an update replaces the value: those a compare-exchange
    /// expects, those that differ from what a swap writes. Without it the engine reckons with all
    /// values, which costs executions that turn out redundant, and nothing else.
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

    /// How the access is called in a printed trace: `AtomicU64::load`, `Mutex::lock`, `free`.
    #[inline]
    pub fn named(mut self, name: &'static str) -> Access {
        self.name = name;
        self
    }

    /// Whether it may replace the value of its location, if that is this one.
    pub(crate) fn may_change(&self, value: u64) -> bool {
        match self.kind {
            Kind::Read => false,
            Kind::Write => true,
            Kind::Update => self.changes.is_none_or(|c| (c.holds)(value, c.argument)),
        }
    }

    /// The line of the user's that a printed trace shows; taken from `#[track_caller]` if not
    /// given.
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
    /// It changed how many handles there are: the owners, whose number the value is, or the `Weak`
    /// ones, whose number it is not. It commutes with reads and with others of its kind, but a loop
    /// that does it does not only read: others may see the count change in every round.
    pub(crate) counted: bool,
}

impl Effect {
    /// The value was read (or a compare-exchange failed on it).
    #[inline]
    pub fn read(value: u64) -> Effect {
        Effect { before: value, after: value, wrote: false, counted: false }
    }

    /// The value was replaced without being looked at.
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

/// Why an execution is a failure, told by a front end.
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
        /// Which thread waits for what, one line each.
        waiting: Vec<String>,
    },
    /// As [`Failure::Deadlock`], and at least one of them spins.
    Livelock {
        /// Which thread waits for what, one line each.
        waiting: Vec<String>,
    },
    /// Two accesses of which one writes are not ordered by what the program's orderings promise.
    Race {
        /// The earlier access, `thread, name, file:line:column`.
        first: String,
        /// The later one.
        second: String,
    },
    /// Memory was misused: use after free, double free, leak.
    Memory {
        /// What happened, a sentence.
        what: String,
    },
    /// The same schedule led elsewhere than before: something that the engine does not see decides
    /// too (time, addresses, random numbers, threads of the OS).
    Nondeterminism {
        /// Where it showed.
        what: String,
    },
    /// Anything else that a front end calls a failure.
    Other {
        /// What happened, a sentence.
        what: String,
    },
}

/// State that a front end keeps for one execution: clocks, arenas, virtual time, thread locals.
///
/// There is one of each type for each OS thread that explores; it is made when first asked for, and
/// serves one exploration after the other.
pub trait PerExecution: Default + 'static {
    /// Makes it as new, before each execution; keeps its memory.
    fn reset(&mut self);

    /// Runs in each thread after its body, as user code: for the destructors of thread locals.
    fn thread_ends() {}

    /// Looks at the state after an execution in which all threads have ended: for leaks.
    fn execution_ends(&mut self) -> Option<Failure> {
        None
    }

    /// Gives back what must not outlive an exploration.
    fn exploration_ends(&mut self) {}

    /// What user code can change without an event, besides its stacks.
    fn memory(&self) -> MemorySum {
        MemorySum::default()
    }
}

/// The memory that user code can change without an event, summed up: a thread whose round of reads
/// leaves this as it is, and its own stack and those of others, waits.
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

/// The thread that asks.
#[inline]
pub fn current_thread() -> ThreadId {
    calls::with(|e| e.current_thread())
}

/// Waits until this thread may make the access.
#[inline]
pub fn point(access: &Access) {
    calls::point(access);
}

/// Says what the access of the last [`point`] did.
#[inline]
pub fn record(effect: Effect) {
    calls::record(effect);
}

/// Removes what the engine left below the caller's frame, where the thread may be spinning: called
/// when an event is over, from the frame that called [`point`]. Without it a spin loop whose rounds
/// differ in such leftovers is not recognised.
#[inline(always)]
pub(crate) fn sweep() {
    calls::sweep();
}

/// The value last recorded at a location in this execution; 0 if there is none.
pub fn value(location: usize) -> u64 {
    calls::with(|e| e.value(location))
}

/// Another object is at a location than before, and has this value. Not an event.
///
/// What was done to the former object has nothing to do with this one: a race is not looked for
/// among its accesses, nor is a value. Its accesses must all happen before those of the new one, as
/// they do where memory is used again.
pub fn renew_location(location: usize, value: u64) {
    calls::with(|e| e.renew_location(location, value));
}

/// Sets the value of a location while the thread unwinds, when nothing is recorded: a lock that is
/// released then is free if the panic is caught. Not an event.
pub(crate) fn amend(location: usize, value: u64) {
    calls::with(|e| e.amend(location, value));
}

/// A location that no address has and that is the same in each execution that has run the same way
/// so far.
pub fn fresh_location() -> usize {
    calls::with(|e| e.fresh_location())
}

/// One of `0..count`, each of which is explored; only between a [`point`] and its [`record`], at
/// most once. 0 is tried first.
///
/// For what the environment decides: which waiter is woken, whether a weak compare-exchange fails.
pub fn choose(count: u32) -> u32 {
    calls::with(|e| e.choose(count))
}

/// Starts a thread. The caller goes on; the new thread runs up to its first point at once, which
/// nobody can tell apart from running there later.
///
/// An event only where the order of operations depends on it: inside an operation, which has been
/// called before its threads make theirs, and after one that has made none.
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
/// front end may give it another value before, when the body of the thread is over and destructors
/// of its thread locals are not.
pub fn ended(thread: ThreadId) -> usize {
    calls::ended(thread)
}

/// A location that belongs to a thread, and is the same whoever asks for it first: another one for
/// each `which` from 1 on.
pub(crate) fn of_thread(thread: ThreadId, which: u8) -> usize {
    calls::of_thread(thread, which)
}

/// The thread says that others should run (`spin_loop`, `yield_now`): a search that is free to
/// choose lets them go first. That changes the order in which executions are explored, and nothing
/// else.
pub fn spin_hint() {
    calls::with(|e| e.spin_hint());
}

/// Whether the environment may fail an access, or end a wait, for no reason:
/// [`Exploration::spurious`](super::Exploration::spurious).
pub fn spurious() -> bool {
    calls::with(|e| e.spurious)
}

/// How many events the execution has had.
#[inline]
pub(crate) fn count_events() -> usize {
    calls::with(|e| e.trace.len())
}

/// How many events of a thread happen before whatever the thread that asks does next.
pub(crate) fn known_events(of: ThreadId) -> u32 {
    calls::with(|e| e.known_events(of.0))
}

/// How many events the thread that asks has made.
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

/// The thread looks at its virtual time.
pub(crate) fn time_is_asked() {
    calls::with(|e| e.time_is_asked());
}

/// Notes that the thread calls an operation of the object under test. Not a scheduling point.
///
/// The number is the caller's: it finds the operation again by it.
pub fn operation_begins(operation: u64) {
    calls::with(|e| e.operation_begins(operation));
}

/// Notes that the operation of this thread returns, with a number that stands for its result.
pub fn operation_ends(result: u64) {
    calls::with(|e| e.operation_ends(result));
}

/// Notes an access to plain memory, which is not an event, for those who read the steps. Says its
/// number.
pub(crate) fn aside(location: usize, wrote: bool, caller: &'static Location<'static>) -> usize {
    calls::with(|e| e.aside(location, wrote, caller))
}

/// An access that was noted turns out to have written.
pub(crate) fn aside_wrote(number: usize) {
    calls::with(|e| e.trace.asides[number].wrote = true);
}

/// Whether the execution has failed already, since a panic is on its way that nobody catches:
/// nothing is recorded, and nothing matters.
pub(crate) fn is_lost() -> bool {
    calls::with(|e| e.unwinding.is_passive())
}

/// Nothing can be done without what another thread has not left yet, in an execution that
/// [`is_lost`]. If its panic is caught, it is run again so that the other thread comes first.
pub(crate) fn give_up() -> ! {
    calls::give_up()
}

/// As std's `panicking`, for the thread that asks.
pub(crate) fn is_panicking() -> bool {
    calls::with(|e| e.is_panicking())
}

/// As [`fail`], but it returns where the thread unwinds: then [`is_lost`].
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

/// As [`with_state`], and says which thread asks.
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
