//! Runs the program once: virtual threads as coroutines on one OS thread, one of them at a time.
//!
//! A thread that reaches a point announces its access there and asks the [`Strategy`] which thread
//! is next. If it is itself, it continues without a switch; otherwise it suspends to
//! [`Machine::run`], which resumes the other one. So while the strategy decides, every thread that
//! has not ended has announced its next access, and no user code runs.
//!
//! **Repetition.** The trace itself decides the events that repeat the previous execution (its
//! first `keep` events): the strategy is not called, and it does not matter which other threads
//! could run. Each event is checked against the stored one.
//!
//! **Abandoned executions never unwind.** When an execution ends early (a failure, a deadlock, the
//! strategy gives it up) the stacks of its threads are reset as they are. Destructors would run
//! while other threads hold what they need, and could panic twice, which aborts the process.
//! Everything that the threads owned is leaked, or reclaimed by a per-execution arena.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult};
use trueline::Budget;

use super::calls;
use super::interface::{Access, Effect, ThreadId};
use super::panics;
use super::report::Assumption;
use super::slots::Slot;
use super::strategy::{BlockedThread, Decision, End, Strategy, View};
use super::threads::{Names, State, Switch, Thread};
use super::trace::Trace;
use super::unwinding::Unwinding;

/// Everything that running needs, kept from one execution to the next.
pub(crate) struct Machine {
    pub(crate) trace: Trace,
    // A thread's coroutine must not move while it runs, though threads are added.
    #[allow(clippy::vec_box)]
    pub(super) threads: Vec<Box<Thread>>,
    /// Those of this execution that have not ended, in ascending order.
    pub(super) alive: Vec<u32>,
    /// All of this execution, in the order in which they were spawned.
    pub(super) order: Vec<u32>,
    pub(super) stack_size: usize,
    /// The lowest address of all stacks, and the highest.
    pub(super) stacks: (usize, usize),
    /// The numbers of each thread's children, in the order in which it spawns them: the same in all
    /// executions.
    pub(super) children: Vec<Vec<u32>>,
    pub(super) names: Arc<Mutex<Names>>,
    pub(super) strategy: *mut dyn Strategy,
    pub(super) current: u32,
    pub(super) next: u32,
    pub(super) end: Option<End>,
    pub(super) choice: (u32, u32),
    /// The failure of this execution was found when all its threads had ended.
    pub(crate) failed_at_end: bool,
    pub(super) step_limit: usize,
    /// Checked every few events: cuts off the execution when it is spent.
    pub(crate) budget: Option<Arc<Budget>>,
    pub(super) unwinding: Unwinding,
    pub(super) slots: Vec<Slot>,
    /// The environment may make accesses fail and waits end spuriously.
    pub(crate) spurious: bool,
    /// An assumption of this exploration.
    pub(crate) assumed: Option<Assumption>,
    /// A thread has read its virtual clock in this exploration.
    pub(crate) clock: bool,
}

/// Events between two checks of the budget.
const EVENTS_AT_ONCE: usize = 256;

/// The body of a thread is moved to its stack if it has at most this many bytes: corosensei takes
/// up to 1,024.
const MOST_TRANSFERRED: usize = 512;

impl Machine {
    pub(crate) fn new(stack_size: usize, step_limit: usize) -> Machine {
        panics::install_hook();
        Machine {
            trace: Trace::default(),
            threads: Vec::new(),
            alive: Vec::new(),
            order: Vec::new(),
            stack_size,
            stacks: (usize::MAX, 0),
            children: Vec::new(),
            names: Arc::default(),
            strategy: null_mut::<NoStrategy>(),
            current: 0,
            next: 0,
            end: None,
            choice: (0, 1),
            failed_at_end: false,
            step_limit,
            budget: None,
            unwinding: Unwinding::default(),
            slots: Vec::new(),
            spurious: false,
            assumed: None,
            clock: false,
        }
    }

    /// Resets it for another exploration. Keeps its memory, the stacks of this many threads, and
    /// the state of front ends.
    pub(crate) fn renew(&mut self, threads: usize) {
        for slot in &mut self.slots {
            (slot.exploration_ends)(&mut *slot.state);
        }
        self.trace.restart(0);
        self.threads.truncate(threads);
        self.children.truncate(threads);
        self.children.iter_mut().for_each(Vec::clear);
        self.names = Arc::default();
        self.unwinding.renew();
        (self.assumed, self.clock) = (None, false);
        self.budget = None;
    }

    /// The threads of the last execution, in the order in which they were spawned.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Takes the names of threads from a table that other machines use too.
    pub(crate) fn share_names(&mut self, names: &Arc<Mutex<Names>>) {
        self.names = Arc::clone(names);
    }

    /// Runs the body once. The first `keep` events are those of the execution before.
    pub(crate) fn run(&mut self, body: &dyn Fn(), strategy: &mut dyn Strategy, keep: usize) -> End {
        let mut end = self.attempt(body, strategy, keep);
        // The strategy has decided all events so far, and continues from there.
        while self.unwinding.again() {
            end = self.attempt(body, strategy, self.trace.len().max(keep));
        }
        end
    }

    fn attempt(&mut self, body: &dyn Fn(), strategy: &mut dyn Strategy, keep: usize) -> End {
        assert!(!calls::active(), "an exploration inside an exploration");
        self.trace.restart(keep);
        self.alive.clear();
        self.order.clear();
        self.end = None;
        self.unwinding.restart();
        self.choice = (0, 1);
        self.failed_at_end = false;
        for slot in &mut self.slots {
            (slot.reset)(&mut *slot.state);
        }
        // SAFETY: the pointer is used only until this function returns; all coroutines that could
        // call through it are finished or reset by then.
        self.strategy = unsafe {
            std::mem::transmute::<*mut (dyn Strategy + '_), *mut (dyn Strategy + 'static)>(strategy)
        };
        let this: *mut Machine = self;
        // SAFETY: as above; `body` outlives the coroutine of thread 0.
        let body: &'static dyn Fn() = unsafe { std::mem::transmute(body) };
        // SAFETY: `this` is the only pointer through which the machine is used until the loop ends.
        // No reference into it lives across `resume`, except to the coroutine itself, which is
        // boxed with its thread and not accessed by anything else while it runs.
        unsafe {
            (*this).start(0, None, body);
            (*this).next = 0;
            loop {
                let thread = (*this).next;
                (*this).current = thread;
                let record: *mut Thread = &mut *(&mut (*this).threads)[thread as usize];
                let coroutine = (*record).coroutine.as_mut().expect("a thread that can run");
                if let CoroutineResult::Return(()) = coroutine.resume(()) {
                    let coroutine = (*record).coroutine.take().expect("it has just run");
                    (*record).stack = Some(coroutine.into_stack());
                }
                if (*this).end.is_some() {
                    break;
                }
            }
        }
        let mut end = self.end.take().expect("the loop was left");
        self.drain(&end);
        self.take_back();
        for thread in &mut self.threads {
            thread.state = State::Absent;
            thread.unwinds = false;
            if let Some(mut coroutine) = thread.coroutine.take() {
                // SAFETY: like `longjmp` over frames whose destructors do not run. They own nothing
                // of the engine's; what they own of the user's is leaked, which is safe. References
                // to their stack from other threads (scoped threads) are in frames that this very
                // loop drops.
                unsafe { coroutine.force_reset() };
                thread.stack = Some(coroutine.into_stack());
            }
        }
        if let End::Complete = end {
            for slot in &mut self.slots {
                if let Some(failure) = (slot.execution_ends)(&mut *slot.state) {
                    end = End::Failed(failure);
                    self.failed_at_end = true;
                    break;
                }
            }
        }
        end
    }

    /// Creates a thread that runs when it is resumed.
    ///
    /// # Safety
    /// What the body borrows must live until its thread has ended, or the execution.
    pub(super) unsafe fn start(&mut self, thread: u32, parent: Option<u32>, body: impl FnOnce()) {
        if size_of_val(&body) <= MOST_TRANSFERRED {
            // SAFETY: the caller's promise.
            return unsafe { self.start_small(thread, parent, body) };
        }
        let boxed = Box::new(body);
        let unpacks = move || {
            // It moves to the thread's stack, whose addresses are the same in every execution, like
            // a small body.
            let body = { *boxed };
            body();
        };
        // SAFETY: the caller's promise.
        unsafe { self.start_small(thread, parent, unpacks) };
    }

    /// The same, for a body that may be transferred as it is.
    ///
    /// # Safety
    /// As above.
    unsafe fn start_small(&mut self, thread: u32, parent: Option<u32>, body: impl FnOnce()) {
        let stack = self.enrol(thread, parent);
        let this: *mut Machine = self;
        let run = move |switch: &Switch, ()| {
            // SAFETY: the machine outlives all its coroutines (see `run`), and nothing else uses it
            // while this one runs.
            unsafe { (&mut (*this).threads)[thread as usize].switch = switch };
            calls::enter(this);
            let result = catch_unwind(AssertUnwindSafe(body));
            // SAFETY: as above.
            unsafe { Machine::body_returned(this, thread, result) };
        };
        // SAFETY: the caller's promise.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, run) };
        self.threads[thread as usize].coroutine = Some(coroutine);
    }

    /// Takes a thread into the execution; yields its stack.
    fn enrol(&mut self, thread: u32, parent: Option<u32>) -> DefaultStack {
        while self.threads.len() <= thread as usize {
            self.threads.push(Box::new(Thread::new()));
            self.children.push(Vec::new());
        }
        self.trace.add_thread(thread, parent);
        let position = self.alive.partition_point(|&t| t < thread);
        self.alive.insert(position, thread);
        self.order.push(thread);
        let record = &mut *self.threads[thread as usize];
        let new_stack = || DefaultStack::new(self.stack_size).expect("memory for a stack");
        let stack = record.stack.take().unwrap_or_else(new_stack);
        let base = stack.base().get() as *const u64;
        let (low, high) = ((base as usize).saturating_sub(self.stack_size), base as usize);
        self.stacks = (low.min(self.stacks.0), high.max(self.stacks.1));
        record.state = State::Running;
        if record.base != base {
            (record.base, record.deepest) = (base, null());
        }
        record.clear_stack();
        record.returns_to = parent;
        record.children = 0;
        record.fresh = 0;
        record.operation = None;
        record.lowest = null();
        (record.yields, record.slept_spinning) = (false, false);
        record.unwinds = false;
        record.panics.clear();
        record.spin.reset();
        stack
    }

    /// The end of a thread, after its body.
    ///
    /// # Safety
    /// `this` must be the machine on whose current thread's stack this is called.
    unsafe fn body_returned(this: *mut Machine, thread: u32, result: std::thread::Result<()>) {
        match result {
            Ok(()) => {
                calls::end_thread_locals();
                let ended = calls::ended(ThreadId(thread));
                calls::point(&Access::write(ended).named("thread ends"));
                let before = calls::with(|machine| machine.value(ended));
                calls::record(Effect::write(before, 1));
                calls::leave();
                // SAFETY: nothing else uses the machine while this thread runs.
                unsafe { (*this).thread_ended(thread) };
            }
            Err(payload) => {
                calls::leave();
                // SAFETY: as above.
                unsafe {
                    if !(*this).doubts_last_panic() {
                        let failure = (*this).panic_of(thread, &*payload);
                        (*this).end = Some(End::Failed(failure));
                    }
                    (*this).note_unwinding(false);
                }
                // A payload's destructor is user code that may panic again.
                std::mem::forget(payload);
            }
        }
    }

    pub(super) fn thread_ended(&mut self, thread: u32) {
        self.threads[thread as usize].state = State::Ended;
        if self.unwinding.is_passive() {
            return;
        }
        self.note_unwinding(false);
        self.alive.retain(|&t| t != thread);
        if let Some(next) = self.schedule() {
            self.next = next;
        }
    }

    /// The thread that makes the next event; `None` if the execution is over.
    #[inline]
    pub(super) fn schedule(&mut self) -> Option<u32> {
        if let Some(expected) = self.trace.expected() {
            let thread = expected.thread;
            return self.run_as_decided(thread);
        }
        self.decide()
    }

    /// Lets a thread make the next event because an earlier execution, or a strategy, requires it.
    ///
    /// It may seem to spin where it did not before: leftovers of returned functions on its stack
    /// may differ between executions, and with them the round in which a loop is recognised. One
    /// more round is an execution of the program, too.
    #[inline]
    fn run_as_decided(&mut self, thread: u32) -> Option<u32> {
        let locations = &self.trace.locations;
        let record = self.threads.get_mut(thread as usize);
        if let Some(record) = record.filter(|record| record.could_run(locations)) {
            record.spin.go_on(locations);
            return Some(thread);
        }
        self.diverges();
        None
    }

    /// As [`Machine::schedule`], if nothing is repeated.
    fn decide(&mut self) -> Option<u32> {
        let view = View {
            trace: &self.trace,
            current: self.current,
            threads: &self.threads,
            alive: &self.alive,
        };
        if !view.can_run(self.current) && view.enabled().next().is_none() {
            // SAFETY: as below.
            if let Some(thread) = unsafe { &*self.strategy }.decided(&view) {
                // All that are left spin or wait, but one of them went on here before.
                self.run_as_decided(thread)?;
                return self.decide();
            }
            self.end = Some(if self.alive.is_empty() {
                End::Complete
            } else {
                End::Blocked(self.blocked_threads())
            });
            return None;
        }
        if self.trace.len() >= self.step_limit || self.is_out_of_budget() {
            self.end = Some(End::TooLong);
            return None;
        }
        // SAFETY: `run` keeps the strategy borrowed while the coroutines run, and uses it nowhere
        // else.
        match unsafe { &mut *self.strategy }.next(&view) {
            Decision::Run(thread) => return self.run_as_decided(thread),
            Decision::GiveUp => self.end = Some(End::GivenUp),
            Decision::Diverged => self.diverges(),
        }
        None
    }

    /// Whether the budget is spent, every few events.
    #[inline]
    fn is_out_of_budget(&self) -> bool {
        self.trace.len().is_multiple_of(EVENTS_AT_ONCE)
            && self.budget.as_ref().is_some_and(|budget| budget.spend(0).is_err())
    }

    #[cold]
    fn diverges(&mut self) {
        let text = format!(
            "event {}: the thread that ran here before cannot run now",
            self.trace.len() + 1
        );
        self.end = Some(End::Diverged(text));
    }

    /// Adds the event of the current thread to the trace. Returns false if the execution is over,
    /// because the event is not the expected one.
    #[inline]
    pub(super) fn record(&mut self, effect: Effect) -> bool {
        if self.unwinding.is_passive() {
            self.record_passively(effect);
            return true;
        }
        let me = self.current;
        let record = &mut *self.threads[me as usize];
        record.state = State::Running;
        record.yields = false;
        let choice = std::mem::replace(&mut self.choice, (0, 1));
        let watched = record.spin.recorded(&record.pending, effect, choice.1);
        calls::sweep_later(record, self.stack_size);
        if record.spin.is_tracked() {
            let sum = self.memory_elsewhere();
            self.threads[me as usize].spin.resume(sum);
        }
        let record = &*self.threads[me as usize];
        let same = if self.trace.expected().is_some() {
            self.trace.repeat(me, record.pending.location, effect, choice.1)
        } else {
            self.trace.push(me, &record.pending, watched, effect, choice);
            // SAFETY: see `decide`.
            unsafe { &mut *self.strategy }.executed(&self.trace)
        };
        if !same {
            self.diverged();
        }
        same
    }

    #[cold]
    fn diverged(&mut self) {
        let thread = self.current;
        let text = format!(
            "event {}: thread {thread} at {} touches another location or meets another value than before",
            self.trace.len(),
            self.threads[thread as usize].pending.caller
        );
        self.end = Some(End::Diverged(text));
    }

    /// The threads that have not ended, with what they wait for.
    pub(crate) fn blocked_threads(&self) -> Vec<BlockedThread> {
        let blocked = |&thread: &u32| {
            let record = &self.threads[thread as usize];
            let watched = record.spin.watched();
            BlockedThread { thread, access: record.pending, watched }
        };
        self.alive.iter().map(blocked).collect()
    }

    /// Gives control to another thread, or to `run` if the execution is over; then it never
    /// returns.
    ///
    /// # Safety
    /// `this` must be the machine on whose current thread's stack this is called.
    pub(super) unsafe fn switch(this: *mut Machine) {
        // SAFETY: the coroutine itself stored the pointer when it started, and it lives on the
        // coroutine's stack. No reference into the machine lives while it is suspended.
        unsafe {
            let switch = (&(*this).threads)[(*this).current as usize].switch;
            (*switch).suspend(());
        }
    }

    pub(crate) fn current_thread(&self) -> ThreadId {
        ThreadId(self.current)
    }

    pub(crate) fn value(&self, location: usize) -> u64 {
        self.trace.locations.value(self.placed(location))
    }

    pub(crate) fn renew_location(&mut self, location: usize, value: u64) {
        let location = self.placed(location);
        self.set_passively(location, |locations| locations.renew(location, value));
    }

    pub(crate) fn amend(&mut self, location: usize, value: u64) {
        let location = self.placed(location);
        self.set_passively(location, |locations| locations.set_value(location, value));
    }

    /// An address on the stack of a thread, as its place there: the same for all machines that
    /// explore together.
    #[inline]
    pub(super) fn placed(&self, location: usize) -> usize {
        if location < self.stacks.0 || location > self.stacks.1 {
            return location;
        }
        self.place_on_stacks(location)
    }

    fn place_on_stacks(&self, location: usize) -> usize {
        let inside = |thread: &Thread| {
            let depth = (thread.base as usize).wrapping_sub(location);
            (depth <= self.stack_size).then_some(depth)
        };
        let mut threads = self.threads.iter().enumerate();
        let place = threads.find_map(|(index, thread)| Some((index, inside(thread)?)));
        place.map_or(location, |(index, depth)| 1 << 58 | index << 32 | depth)
    }

    pub(crate) fn is_on_a_stack(&self, address: usize) -> bool {
        self.placed(address) != address
    }

    pub(crate) fn fresh_location(&mut self) -> usize {
        let record = &mut self.threads[self.current as usize];
        record.fresh += 1;
        (1 << 63) | ((self.current as usize) << 32) | record.fresh as usize
    }

    pub(crate) fn choose(&mut self, count: u32) -> u32 {
        assert!(count > 0, "a choice among nothing");
        if self.unwinding.is_passive() {
            return 0;
        }
        // If a loop is recognised in another round than before, the earlier decision stands: see
        // `run_as_decided`.
        let settled = self.threads[self.current as usize].spin.is_settled();
        self.choice = match self.trace.expected() {
            Some(expected) if settled || expected.choices == 1 => {
                (expected.choice.min(count - 1), expected.choices)
            }
            Some(expected) => (expected.choice.min(count - 1), count),
            // SAFETY: see `decide`.
            None => match unsafe { &mut *self.strategy } {
                strategy if settled && !strategy.has_chosen(&self.trace) => (0, 1),
                strategy => (strategy.choose(&self.trace, count), count),
            },
        };
        self.choice.0
    }

    pub(crate) fn spin_hint(&mut self) {
        self.threads[self.current as usize].yields = true;
    }
}

/// A strategy that is never called: the initial target of the pointer.
struct NoStrategy;

impl Strategy for NoStrategy {
    fn next(&mut self, _: &View<'_>) -> Decision {
        Decision::GiveUp
    }
    fn choose(&mut self, _: &Trace, _: u32) -> u32 {
        0
    }
}
