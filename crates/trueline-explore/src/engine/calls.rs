//! What a thread that runs calls the engine for: the ways from user code into the [`Machine`] and
//! back.
//!
//! A thread-local pointer to the machine is set exactly while user code runs; it is null outside of
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
    /// The machine whose user code runs on this OS thread now.
    static MACHINE: Cell<*mut Machine> = const { Cell::new(null_mut()) };
    /// The stack that [`sweep`] clears after the event that was recorded last, its lowest address
    /// and its base; 0 if there is nothing to do.
    static SWEEP: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// As many words of a stack as the engine uses below a frame of the user's, with room to spare.
/// Frames are larger where it is not optimised.
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

/// Runs a function of the machine in whose user code we are.
#[inline]
pub(crate) fn with<R>(function: impl FnOnce(&mut Machine) -> R) -> R {
    let machine = MACHINE.replace(null_mut());
    assert!(!machine.is_null(), "no exploration is under way");
    // SAFETY: the pointer is set only while user code runs, which holds no reference into the
    // machine, and it is null while `function` runs, so that there is no second one.
    let result = function(unsafe { &mut *machine });
    MACHINE.set(machine);
    result
}

/// As [`with`], and None where no exploration is under way.
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

/// Calls [`point_at`] with the registers that a callee preserves saved on the stack, and with the
/// address of the lowest: from there to the stack's base lies all of the thread's own state, and
/// nothing of the engine's.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "sysv64" fn point_with_registers(access: &Access) {
    // Six registers and the return address are 56 bytes; eight more align the stack for the call.
    // The callee preserves the registers, so that they need not be loaded again.
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
        // SAFETY: we are on the current thread's stack. No reference into the machine is held
        // across the switch.
        unsafe {
            Machine::switch(this);
            goes_on = (*this).goes_on_with(access);
        }
    }
    MACHINE.set(this);
}

/// Runs a function that must not leave anything on the stack near the frame that calls: its own
/// frames begin far below.
///
/// Where nothing is optimised, copies of values that are uninitialised in part carry such leftovers
/// from round to round of a loop, and a thread with hints would be seen to wait in another round
/// than one without. Less than a page is left free, so that a thread whose stack is full meets its
/// guard page.
#[cfg(target_arch = "x86_64")]
macro_rules! far_below {
    ($function:path) => {
        // SAFETY: the function has no arguments, returns nothing and does not unwind; the stack
        // pointer is restored from a register that it preserves, and is aligned as a call demands.
        // Nothing below the caller's frame is in use, but for its red zone, which is skipped.
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

/// See [`super::interface::sweep`]. Where nothing is optimised, a frame of its own would hide
/// leftovers.
#[inline(always)]
pub(crate) fn sweep() {
    let (lowest, base) = SWEEP.get();
    if base != 0 {
        // SAFETY: nothing lives below the frame that calls, but for a red zone, which a function
        // that calls has none of; and it clears nothing outside of the stack.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            clear_below(lowest, base);
        }
    }
}

/// Sets some words below its return address to zero, if that is on this stack. It has no frame,
/// since that would hide leftovers itself.
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

/// Says what [`sweep`] has to do after the event that the thread has just made.
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

/// Makes the access of the last [`point`] with the front end's state, and records what it did.
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
    // SAFETY: see `with`; the reference is gone before the switch. The body: the caller's promise.
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

/// Gives control back for good, unless the thread unwinds: then it goes on without events until its
/// panic is caught.
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

/// As [`ended`], for what a front end keeps of a thread: another location for each `which` from 1
/// on.
pub(crate) fn of_thread(thread: ThreadId, which: u8) -> usize {
    (1 << 62) | (usize::from(which) << 32) | thread.0 as usize
}

pub(crate) fn fail(failure: Failure) -> ! {
    loop {
        end(failure.clone());
    }
}

/// Ends the execution as a failure. It returns if the thread unwinds: then it goes on without
/// events until its panic is caught.
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

/// Runs what front ends do at the end of a thread, as user code.
pub(super) fn end_thread_locals() {
    let mut index = 0;
    while let Some(ends) = with(|machine| machine.slots.get(index).map(|slot| slot.thread_ends)) {
        ends();
        index += 1;
    }
}
