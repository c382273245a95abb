//! The allocator that a test installs.

use super::arena::{Afterwards, RESERVED, is_buffer};
use super::fault::{MemoryFault, Site};
use super::{Arena, Reuse, regions};
use crate::engine::interface::{self, Access, Block, Effect, Failure};
use crate::front::{self, Front};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

/// The allocator to install in a test: `#[global_allocator] static ALLOC: Alloc = Alloc;`.
///
/// It serves explored code from an arena and all other code from the system. [`crate::memory`]
/// describes the faults that it detects.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alloc;

/// Sets how freed blocks are reused in this execution. Call it first in the body of an exploration.
///
/// Outside an exploration it does nothing.
pub fn reuse(reuse: Reuse) {
    if interface::active() {
        interface::with_state(|front: &mut Front| {
            front.memory.reuse = reuse;
            if let Some(arena) = &mut front.memory.arena {
                arena.reuse = reuse;
            }
        });
    }
}

/// Allows leaks: blocks that remain at the end of this execution are not a failure. For objects
/// that leak by design.
///
/// Outside an exploration it does nothing.
pub fn allow_leaks() {
    if interface::active() {
        interface::with_state(|front: &mut Front| front.memory.allow_leaks = true);
    }
}

/// Runs a function whose allocations do not belong to the code under test: for state that the body
/// of an exploration keeps from one execution to the next. Clone into it rather than move, since
/// earlier allocations still belong to the execution.
///
/// Inside the function, shadow types behave as std's do.
pub fn untracked<R>(function: impl FnOnce() -> R) -> R {
    if !interface::active() {
        return function();
    }
    // The engine's state is borrowed meanwhile, so a panic is carried past it.
    match front::outside(|| catch_unwind(AssertUnwindSafe(function))) {
        Ok(result) => result,
        Err(payload) => resume_unwind(payload),
    }
}

/// The memory of the execution under way on an OS thread.
#[derive(Default)]
pub(crate) struct Memory {
    /// `None` until the explored code allocates through [`Alloc`].
    pub(crate) arena: Option<Lent>,
    reuse: Reuse,
    allow_leaks: bool,
    complete: bool,
    /// Blocks of this execution lie outside of the arena, which was used up.
    overflows: bool,
}

/// An arena that an execution has taken from the pool.
///
/// There are two ways to reach it: the front end's state, and [`ARENA`] for frees while that state
/// is not accessible. Both use this one pointer, and each reference made from it ends before the
/// other way is used. A `Box` would claim to be the only way.
pub(crate) struct Lent(NonNull<Arena>);

impl Lent {
    fn take(arena: Box<Arena>) -> Lent {
        Lent(NonNull::from(Box::leak(arena)))
    }

    fn give_back(self) -> Box<Arena> {
        // SAFETY: `take` leaked the box, and the caller gives up the only `Lent` of it.
        unsafe { Box::from_raw(self.0.as_ptr()) }
    }
}

impl Deref for Lent {
    type Target = Arena;

    fn deref(&self) -> &Arena {
        // SAFETY: the arena lives until `give_back`. References from `in_own_arena` end when that
        // function returns, and it calls nothing that leads here.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Arena {
        // SAFETY: as in `deref`.
        unsafe { self.0.as_mut() }
    }
}

/// Whether [`Alloc`] is installed: its first allocation sets it, long before any exploration.
static INSTALLED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The arena of this OS thread, for frees that happen outside of user code.
    static ARENA: Cell<*mut Arena> = const { Cell::new(ptr::null_mut()) };
    /// Where it begins.
    static BASE: Cell<usize> = const { Cell::new(NO_ARENA) };
}

/// An address near which nothing lies: addresses have fewer bits, and small numbers are far away.
const NO_ARENA: usize = 0x5A5A << 48;

/// Represents an address as a location: for addresses of the arena, the same number in all
/// processes.
#[inline]
pub(crate) fn canonical(address: usize) -> usize {
    let offset = address.wrapping_sub(BASE.get());
    if offset < RESERVED { CANONICAL | offset } else { address }
}

/// No address has this bit, nor has any location of the engine's own it alone.
const CANONICAL: usize = 1 << 61;

/// Represents a word that may be an address as the value of an atomic: for addresses of the arena,
/// the same number in all processes.
///
/// It exchanges the addresses of the arena with as many other numbers. So different words stay
/// different, no other word becomes an address, and the function is its own inverse: applied again,
/// it restores the word's bits.
#[inline]
pub(crate) fn coded(word: usize) -> usize {
    let offset = word.wrapping_sub(BASE.get());
    if offset < RESERVED {
        return CODES + offset;
    }
    let offset = word.wrapping_sub(CODES);
    if offset < RESERVED { BASE.get().wrapping_add(offset) } else { word }
}

/// The first of the numbers that represent addresses of the arena. A program that uses one of them
/// as a word is still explored correctly, but its printed traces differ from process to process.
const CODES: usize = 0x6D3A_91C4 << 32;

/// The location of a free, in addition to its block: outside of the block, and the same for each
/// free of it.
const FREED: usize = 1 << 60;

/// An address for each size class, as the location of its list of free blocks.
static CLASSES: [u8; 256] = [0; 256];

impl Memory {
    fn arena(&mut self) -> Option<&mut Arena> {
        if self.arena.is_none() {
            self.arena = Arena::acquire(self.reuse).map(Lent::take);
            BASE.set(self.arena.as_ref().map_or(NO_ARENA, |arena| arena.base()));
            ARENA.set(self.arena.as_ref().map_or(ptr::null_mut(), |arena| arena.0.as_ptr()));
        }
        self.arena.as_deref_mut()
    }

    pub(crate) fn reset(&mut self) {
        self.reuse = Reuse::default();
        // Blocks that may leak are garbage: if they were kept, the next execution would get other
        // addresses.
        let keep = self.complete && !std::mem::take(&mut self.allow_leaks);
        if let Some(arena) = &mut self.arena {
            arena.finish(keep);
            arena.reuse = self.reuse;
        }
        (self.complete, self.overflows) = (false, false);
    }

    /// The sum over all live blocks to which user code may have written.
    pub(crate) fn sum(&self) -> u64 {
        self.arena.as_ref().map_or(0, |arena| arena.sum())
    }

    /// Whether these are all blocks of the execution.
    pub(crate) fn is_all(&self) -> bool {
        INSTALLED.load(Ordering::Relaxed) && !self.overflows
    }

    /// Gives the arena back, when the exploration has ended.
    pub(crate) fn give_back(&mut self) {
        if let Some(arena) = self.arena.take() {
            ARENA.set(ptr::null_mut());
            BASE.set(NO_ARENA);
            let mut arena = arena.give_back();
            // As in `reset`.
            arena.finish(self.complete && !self.allow_leaks);
            arena.release();
        }
        (self.complete, self.allow_leaks) = (false, false);
    }

    pub(crate) fn execution_ends(&mut self) -> Option<Failure> {
        self.complete = true;
        let fault = self.arena.as_ref()?.final_faults(!self.allow_leaks)?;
        Some(failure(&fault))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.give_back();
    }
}

pub(crate) fn failure(fault: &MemoryFault) -> Failure {
    Failure::Memory { what: fault.to_string() }
}

// SAFETY: memory comes from `System`, or from an arena that hands out disjoint blocks of sufficient
// size and alignment and keeps its address range for the life of the process. The address alone
// decides whether a block belongs to an arena. So a block returns to where it came from, on
// whatever thread, inside or outside of an exploration.
unsafe impl GlobalAlloc for Alloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !interface::active() {
            // A load is cheaper than a store, in a line that all threads share.
            if !INSTALLED.load(Ordering::Relaxed) {
                INSTALLED.store(true, Ordering::Relaxed);
            }
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        allocate(layout)
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if regions::contains(pointer.addr()) {
            deallocate(pointer.addr(), layout);
        } else {
            // SAFETY: the caller's guarantee; the block is not an arena's, so it is the system's.
            unsafe { System.dealloc(pointer, layout) };
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !interface::active() {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let pointer = allocate(layout);
        if !pointer.is_null() {
            // SAFETY: the block was just allocated with this size.
            unsafe { ptr::write_bytes(pointer, 0, layout.size()) };
        }
        pointer
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !regions::contains(pointer.addr()) {
            // A block of the system's stays one, even if user code makes it grow.
            // SAFETY: the caller's guarantee.
            return unsafe { System.realloc(pointer, layout, size) };
        }
        // SAFETY: the caller guarantees that `size`, rounded up to the alignment, does not overflow.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // Growing makes no events: it may happen under a lock of std's, and an execution that is
        // abandoned there would leave it locked. A block that has outlived an execution leaves the
        // arena.
        let kept = in_own_arena(pointer.addr(), |arena, address| arena.is_kept(address));
        let kept = kept.unwrap_or(false);
        let to = if interface::active() && !kept {
            place(new)
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.alloc(new) }
        };
        if !to.is_null() {
            // SAFETY: both blocks are at least as long as the copy, and they are different blocks.
            unsafe { ptr::copy_nonoverlapping(pointer, to, layout.size().min(size)) };
            displace(pointer.addr());
        }
        to
    }
}

/// The location of a size class.
fn class_location(layout: Layout) -> usize {
    let index = Arena::class_of(layout).min(CLASSES.len() - 1);
    ptr::from_ref(&CLASSES[index]).addr()
}

#[cold]
fn allocate(layout: Layout) -> *mut u8 {
    let (placed, thread, caller) = interface::with_own_state(|front: &mut Front, thread| {
        let site = front.site(thread);
        let reuses = front.memory.reuse == Reuse::Lifo && !is_buffer(layout);
        (if reuses { None } else { Some(front.place(layout, site)) }, thread, site.after)
    });
    if let Some(placed) = placed {
        return or_system(placed, layout);
    }
    front::resolve_watches();
    let caller = caller.unwrap_or(Location::caller());
    interface::point(&Access::update(class_location(layout)).named("alloc").at(caller));
    let reused = interface::with_state(|front: &mut Front| {
        let site = front.site(thread);
        front.memory.arena()?.reuse(layout, site)
    });
    interface::record(if reused.is_some() { Effect::write(1, 0) } else { Effect::read(0) });
    reused.unwrap_or_else(|| place(layout))
}

/// A fresh block: not an event.
fn place(layout: Layout) -> *mut u8 {
    let placed = interface::with_own_state(|front: &mut Front, thread| {
        let site = front.site(thread);
        front.place(layout, site)
    });
    or_system(placed, layout)
}

impl Front {
    /// A fresh block of the arena; `None` if it is used up.
    fn place(&mut self, layout: Layout, site: Site) -> Option<*mut u8> {
        let placed = self.memory.arena().and_then(|arena| arena.allocate(layout, site));
        self.memory.overflows |= placed.is_none();
        placed
    }
}

/// A block of the arena, else one of the system's.
fn or_system(placed: Option<*mut u8>, layout: Layout) -> *mut u8 {
    // SAFETY: the caller of the allocator promised a layout of a size other than 0.
    placed.unwrap_or_else(|| unsafe { System.alloc(layout) })
}

/// Runs a function on the arena of this OS thread, if the address is in it.
fn in_own_arena<R>(address: usize, function: fn(&mut Arena, usize) -> R) -> Option<R> {
    let arena = ARENA.get();
    // SAFETY: the pointer is null, or that of the arena which the execution on this OS thread has
    // taken: `Memory::arena` sets it, and `give_back` clears it first. The reference ends with this
    // call. Until then it is the only one: `function` captures nothing and works only on the arena,
    // and front-end code that holds a reference to the arena neither frees nor grows blocks of it.
    let arena = unsafe { arena.as_mut() }.filter(|arena| arena.contains(address))?;
    Some(function(arena, address))
}

/// How to handle a block that is freed or whose content has moved.
enum Freed {
    /// The arena of another OS thread reclaims its block when its execution ends.
    Elsewhere,
    /// It is not of this execution, or no user code frees it: not an event.
    Quietly,
    /// User code frees a block of this execution.
    ByUser,
}

fn freed(address: usize) -> Freed {
    match in_own_arena(address, |arena, address| arena.is_kept(address)) {
        None => Freed::Elsewhere,
        Some(kept) if kept || !interface::active() => Freed::Quietly,
        Some(_) => Freed::ByUser,
    }
}

/// Frees a block whose content has moved: not an event, but no access may follow.
fn displace(address: usize) {
    match freed(address) {
        Freed::Elsewhere => {}
        Freed::Quietly => free_quietly(address),
        Freed::ByUser => quarantine(address),
    }
}

fn free_quietly(address: usize) {
    in_own_arena(address, Arena::free_quietly);
}

/// Frees a block of this execution without an event; it stays in quarantine until the execution
/// ends.
fn quarantine(address: usize) {
    front::resolve_watches();
    let freed = interface::with_own_state(|front: &mut Front, thread| {
        front.free(address, thread, Afterwards::Quarantine)
    });
    if let Err(failure) = freed {
        front::report(failure);
    }
}

#[cold]
fn deallocate(address: usize, layout: Layout) {
    match freed(address) {
        Freed::Elsewhere => return,
        Freed::Quietly => return free_quietly(address),
        Freed::ByUser if is_buffer(layout) => return quarantine(address),
        Freed::ByUser => {}
    }
    // Accesses through pointers into the block are inferred from its bytes while they still belong
    // to it.
    front::resolve_watches();
    let thread = interface::current_thread();
    let (checked, touched, lifo, caller) = interface::with_state(|front: &mut Front| {
        let site = front.site(thread);
        let arena = front.memory.arena.as_ref();
        let checked = arena.map(|arena| arena.check_free(address, site).map(|id| arena.range(id)));
        let touched = arena.is_some_and(|arena| arena.is_touched(address));
        (checked, touched, front.memory.reuse == Reuse::Lifo, site.after)
    });
    // A block that no shadow operation has touched conflicts with nothing, and a later access meets
    // a freed block. So this is not an event.
    if !lifo && matches!(checked, Some(Ok(_))) && !touched {
        return quarantine(address);
    }
    let range = match checked {
        None => return,
        Some(Ok(range)) => range,
        Some(Err(fault)) => return front::report(failure(&fault)),
    };
    let start = canonical(range.start);
    let location = if lifo { class_location(layout) } else { start | FREED };
    let block = Block { start, size: range.len() };
    let caller = caller.unwrap_or(Location::caller());
    interface::point(&Access::write(location).releasing(block).named("free").at(caller));
    // Another thread may have freed the block while this one waited for its turn.
    let freed = interface::with_state(|front: &mut Front| {
        front.free(address, thread, Afterwards::Reusable)
    });
    interface::record(Effect::write(0, 1));
    if let Err(failure) = freed {
        front::report(failure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_arena_small_numbers_are_not_taken_for_addresses_in_one() {
        for value in [0, 1, 4096, RESERVED, 1 << 47, 1 << 63, usize::MAX] {
            assert_eq!(canonical(value), value);
            assert_eq!(coded(value), value);
        }
    }

    #[test]
    fn words_that_stand_for_addresses_are_told_from_all_other_words() {
        let base = 0x7F00_1234_5000;
        let before = BASE.replace(base);
        let ends = [0, 1, RESERVED - 1, RESERVED, usize::MAX];
        let near = |start: usize| ends.map(|offset| start.wrapping_add(offset));
        let words = [base, CODES, CANONICAL, NO_ARENA, 0].map(near);
        for &word in words.iter().flatten() {
            assert_eq!(coded(coded(word)), word, "{word:x}");
            let inside = word.wrapping_sub(base) < RESERVED;
            assert_eq!(inside, coded(word).wrapping_sub(CODES) < RESERVED, "{word:x}");
        }
        BASE.set(before);
    }
}
