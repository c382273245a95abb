//! The calls of a running thread into the engine: how user code enters the [`Machine`] and returns.
//!
//! A thread-local pointer to the machine is set exactly while user code runs. It is null outside of
//! explorations and inside the engine. Explorations on different OS threads share nothing.

use std::cell::Cell;
use std::panic::Location;
use std::ptr::null_mut;

use super::execution::Machine;
use super::interface::{Access, Effect, Failure, PerExecution, ThreadId};
use super::spin::{Announced, Frame};
use super::strategy::End;
use super::threads::{State, Thread};

thread_local! {
    /// The machine whose user code is running on this OS thread.
    static MACHINE: Cell<*mut Machine> = const { Cell::new(null_mut()) };
    /// The stack that [`sweep`] clears after the last recorded event: its lowest address and its
    /// base; 0 if there is nothing to clear.
    static SWEEP: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Upper bound on the words that the engine uses of a stack below a frame of user code. Frames are
/// larger in unoptimised builds.
const SWEPT_WORDS: usize = if cfg!(debug_assertions) { 2048 } else { 512 };

/// From here on this OS thread runs user code of the machine.
pub(super) fn enter(machine: *mut Machine) {
    MACHINE.set(machine);
}

/// From here on it runs the engine's.
pub(super) fn leave() {
    MACHINE.set(null_mut());
}

#[inline]
pub(crate) fn active() -> bool {
    !MACHINE.get().is_null()
}

/// Runs a function on the machine whose user code is running.
#[inline]
pub(crate) fn with<R>(function: impl FnOnce(&mut Machine) -> R) -> R {
    let machine = MACHINE.replace(null_mut());
    assert!(!machine.is_null(), "no exploration is under way");
    // SAFETY: the pointer is set only while user code runs, which holds no reference into the
    // machine. It is null while `function` runs, so there is no second reference.
    let result = function(unsafe { &mut *machine });
    MACHINE.set(machine);
    result
}

/// As [`with`]; `None` outside of explorations.
pub(crate) fn try_with<R>(function: impl FnOnce(&mut Machine) -> R) -> Option<R> {
    if active() { Some(with(function)) } else { None }
}

/// Waits until the current thread may make an access.
#[inline]
pub(crate) fn point(access: &Access) {
    assert!(active(), "no exploration is under way");
    // SAFETY: the reference is valid for the call.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        point_with_registers(access);
    }
    #[cfg(not(target_arch = "x86_64"))]
    point_at(access, std::ptr::null());
}

/// Calls [`point_at`] with the callee-saved registers pushed onto the stack, and with the lowest
/// address of these. From that address to the base of the stack lies all of the thread's own state,
/// and none of the engine's.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "sysv64" fn point_with_registers(access: &Access) {
    // Six registers and the return address are 56 bytes; eight more align the stack for the call.
    // The callee preserves the registers, so they need not be loaded again.
    std::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rsi, rsp",
        "sub rsp, 8",
        "call {inner}",
        "add rsp, 56",
        "ret",
        inner = sym point_at,
    )
}

extern "sysv64" fn point_at(access: &Access, lowest: *const u64) {
    let this = MACHINE.replace(null_mut());
    // SAFETY: see `with`; the reference is gone before the switch.
    let mut goes_on = unsafe {
        let machine = &mut *this;
        if machine.passes_point(access) {
            machine.end.is_none()
        } else {
            let me = machine.current;
            let location = machine.placed(access.location);
            let tracked = machine.threads[me as usize].spin.is_tracked();
            let sum = if tracked { machine.memory_elsewhere() } else { 0 };
            let record = &mut machine.threads[me as usize];
            record.pending = *access;
            record.pending.location = location;
            record.state = State::Pending;
            record.lowest = lowest;
            if record.deepest.is_null() || lowest < record.deepest {
                record.deepest = lowest;
            }
            let frame = Frame { lowest, base: record.base };
            if record.spin.announce(&record.pending, frame, sum) == Announced::Repeats {
                machine.believe_spin();
            }
            let next = match machine.threads[me as usize].returns_to.take() {
                Some(parent) => Some(parent),
                None => machine.schedule(),
            };
            if let Some(next) = next {
                machine.next = next;
            }
            next == Some(me)
        }
    };
    while !goes_on {
        // SAFETY: we are on the current thread's stack. No reference into the machine lives across
        // the switch.
        unsafe {
            Machine::switch(this);
            goes_on = (*this).goes_on_with(access);
        }
    }
    MACHINE.set(this);
}

/// Runs a function whose frames begin far below the caller's, so that it leaves nothing near the
/// caller's frame.
///
/// In unoptimised builds, copies of partly uninitialised values carry such leftovers from round to
/// round of a loop. A thread with hints would then be recognised as waiting in another round than a
/// thread without. Less than a page is left free, so that a thread whose stack is full still meets
/// its guard page.
#[cfg(target_arch = "x86_64")]
macro_rules! far_below {
    ($function:path) => {
        // SAFETY: the function has no arguments, returns nothing and does not unwind. The stack
        // pointer is restored from a register that the function preserves, and is aligned as a call
        // requires. Nothing below the caller's frame is in use except its red zone, which is
        // skipped.
        unsafe {
            std::arch::asm!(
                "mov r12, rsp",
                "sub rsp, 4000",
                "and rsp, -16",
                "call {function}",
                "mov rsp, r12",
                function = sym $function,
                out("r12") _,
                clobber_abi("C"),
            );
        }
    };
}
#[cfg(not(target_arch = "x86_64"))]
macro_rules! far_below {
    ($function:path) => {
        $function()
    };
}
pub(crate) use far_below;

/// See [`super::interface::sweep`]. In unoptimised builds, a frame of its own would hide leftovers.
#[inline(always)]
pub(crate) fn sweep() {
    let (lowest, base) = SWEEP.get();
    if base != 0 {
        // SAFETY: nothing lives below the caller's frame except a red zone, and a function that
        // makes calls has none. It clears nothing outside of the stack.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            clear_below(lowest, base);
        }
    }
}

/// Zeroes some words below its return address, if that is on this stack. It has no frame, since a
/// frame would hide leftovers itself.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "sysv64" fn clear_below(lowest: usize, base: usize) {
    std::arch::naked_asm!(
        "cmp rsp, rdi",
        "jbe 3f",
        "cmp rsp, rsi",
        "ja 3f",
        "mov rcx, rsp",
        "sub rcx, rdi",
        "shr rcx, 3",
        "cmp rcx, {words}",
        "jbe 2f",
        "mov ecx, {words}",
        "2:",
        "lea rdi, [rcx*8]",
        "neg rdi",
        "add rdi, rsp",
        "xor eax, eax",
        "rep stosq",
        "3:",
        "ret",
        words = const SWEPT_WORDS,
    )
}

/// Records what [`sweep`] has to clear after the event that the thread has just made.
#[inline]
pub(super) fn sweep_later(record: &Thread, stack_size: usize) {
    let base = record.base as usize;
    SWEEP.set(if record.spin.reads() { (base.saturating_sub(stack_size), base) } else { (0, 0) });
}

#[inline(never)]
pub(crate) fn record(effect: Effect) {
    let this = MACHINE.replace(null_mut());
    assert!(!this.is_null(), "no exploration is under way");
    // SAFETY: see `with`; the reference is gone before the switch.
    let goes_on = unsafe { (*this).record(effect) };
    if !goes_on {
        // SAFETY: we are on the current thread's stack; the execution is over.
        unsafe { Machine::switch(this) };
    }
    MACHINE.set(this);
}

/// Makes the access of the last [`point`] with the front end's state, and records its effect.
#[inline]
pub(crate) fn perform<T: PerExecution, R>(
    function: impl FnOnce(&mut T, ThreadId) -> (R, Effect, Option<Box<Failure>>),
) -> R {
    let this = MACHINE.replace(null_mut());
    assert!(!this.is_null(), "no exploration is under way");
    // SAFETY: see `with`; the reference is gone before the switch.
    let (result, fault, goes_on) = unsafe {
        let machine = &mut *this;
        let thread = machine.current_thread();
        let (result, effect, fault) = function(machine.state::<T>(), thread);
        let fault = fault.filter(|_| !machine.unwinding.is_passive());
        let goes_on = fault.is_none() && machine.record(effect);
        (result, fault, goes_on)
    };
    if !goes_on {
        // SAFETY: we are on the current thread's stack; the execution is over.
        unsafe {
            if let Some(fault) = fault {
                (*this).end = Some(End::Failed(*fault));
            }
            Machine::switch(this);
        }
    }
    MACHINE.set(this);
    result
}

/// Starts a thread, see [`super::interface::spawn`].
///
/// # Safety
/// What the body borrows must live until its thread has ended, or the execution.
pub(crate) unsafe fn spawn(body: impl FnOnce(), caller: &'static Location<'static>) -> ThreadId {
    let pretends = with(|machine| machine.unwinding.is_passive()) && {
        while !with(Machine::needs_others) {
            leave_execution();
        }
        true
    };
    if with(|machine| machine.spawning_is_an_event()) {
        point(&Access::local().named("thread::spawn").at(caller));
        record(Effect::read(0));
    }
    let this = MACHINE.replace(null_mut());
    assert!(!this.is_null(), "no exploration is under way");
    // SAFETY: see `with`; the reference ends before the switch. The caller guarantees the lifetime
    // of the body.
    let child = unsafe {
        let machine = &mut *this;
        let parent = machine.current as usize;
        let ordinal = machine.threads[parent].children as usize;
        machine.threads[parent].children += 1;
        if machine.children[parent].len() <= ordinal {
            let name = machine.names.lock().expect("it is never held long").child(parent, ordinal);
            machine.children[parent].push(name);
        }
        let child = machine.children[parent][ordinal];
        if pretends {
            // The execution is over: the thread never runs, and what it owns is leaked.
            std::mem::forget(body);
            MACHINE.set(this);
            return ThreadId(child);
        }
        machine.start(child, Some(parent as u32), body);
        machine.next = child;
        child
    };
    // The child runs to its first point and comes back here.
    // SAFETY: we are on the current thread's stack.
    unsafe { Machine::switch(this) };
    MACHINE.set(this);
    ThreadId(child)
}

pub(crate) fn ended(thread: ThreadId) -> usize {
    (1 << 62) | thread.0 as usize
}

/// Gives up control and never returns, unless the thread unwinds. Then the thread continues without
/// events until its panic is caught.
fn leave_execution() {
    let this = MACHINE.replace(null_mut());
    // SAFETY: we are on the current thread's stack; the execution is over.
    unsafe { Machine::switch(this) };
    MACHINE.set(this);
}

/// See [`super::interface::give_up`].
pub(crate) fn give_up() -> ! {
    loop {
        with(|machine| {
            machine.needs_others();
            machine.end.get_or_insert(End::GivenUp);
        });
        leave_execution();
    }
}

/// As [`ended`], for state that a front end keeps per thread: a different location for each `which`
/// from 1 on.
pub(crate) fn of_thread(thread: ThreadId, which: u8) -> usize {
    (1 << 62) | (usize::from(which) << 32) | thread.0 as usize
}

pub(crate) fn fail(failure: Failure) -> ! {
    loop {
        end(failure.clone());
    }
}

/// Ends the execution as a failure. It returns only if the thread unwinds. Then the thread
/// continues without events until its panic is caught.
pub(crate) fn end(failure: Failure) {
    let this = MACHINE.replace(null_mut());
    assert!(!this.is_null(), "no exploration is under way: {failure:?}");
    // SAFETY: see `with`; we are on the current thread's stack.
    unsafe {
        (*this).end = Some(End::Failed(failure));
        Machine::switch(this);
    }
    MACHINE.set(this);
}

#[inline]
pub(crate) fn with_state<T: PerExecution, R>(function: impl FnOnce(&mut T, ThreadId) -> R) -> R {
    with(|machine| {
        let thread = machine.current_thread();
        // The function cannot reach the machine, since the pointer to it is null meanwhile.
        function(machine.state::<T>(), thread)
    })
}

/// Runs the front ends' hooks for the end of a thread, as user code.
pub(super) fn end_thread_locals() {
    let mut index = 0;
    while let Some(ends) = with(|machine| machine.slots.get(index).map(|slot| slot.thread_ends)) {
        ends();
        index += 1;
    }
}
