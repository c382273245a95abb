//! Infers reads and writes through raw pointers from the bytes that they point to.
//!
//! `UnsafeCell::get` says neither whether the pointer will be read nor written through. Between two
//! events of a thread no other thread runs, so when the bytes differ at the thread's next event, it
//! is this thread that wrote them. A write of the bytes that were there already passes for a read;
//! so does whatever happens through a pointer that is kept for longer.
//!
//! All bytes of a cell are compared, and a cell is one unit: bytes that have not changed may have
//! been written too, so who writes one byte counts as a writer of all.

use crate::front::Caller;
use crate::race::Plain;
use smallvec::SmallVec;
use std::arch::asm;

/// A cell of more bytes than this may be an array, different parts of which are used at the same
/// time: the report of a race says that they were not told apart.
const ONE_VALUE: usize = 16;

pub(crate) struct Watch {
    pointer: *const u8,
    bytes: SmallVec<[u8; 64]>,
    pub(crate) caller: Caller,
    /// Its number among the accesses that are noted for the steps.
    pub(crate) aside: usize,
}

impl Watch {
    /// # Safety
    /// The `size` bytes at `address` must stay readable until the watch is settled.
    pub(crate) unsafe fn new(address: usize, size: usize, caller: Caller, aside: usize) -> Watch {
        let pointer = std::ptr::with_exposed_provenance(address);
        // SAFETY: the caller's promise.
        let bytes = unsafe { frozen(pointer, size) };
        Watch { pointer, bytes, caller, aside }
    }

    pub(crate) fn address(&self) -> usize {
        self.pointer.addr()
    }

    /// Whether it was a read or a write, and what to call it.
    pub(crate) fn settle(&self) -> (Plain, &'static str) {
        // SAFETY: `new` was promised that the bytes stay readable.
        let now = unsafe { frozen(self.pointer, self.bytes.len()) };
        match (now == self.bytes, now.len() > ONE_VALUE) {
            (true, false) => (Plain::Read, "UnsafeCell::get, read or written with the same bytes"),
            (true, true) => (
                Plain::Read,
                "UnsafeCell::get, read or written with the same bytes (a cell is one unit)",
            ),
            (false, false) => (Plain::Write, "UnsafeCell::get, written"),
            (false, true) => (Plain::Write, "UnsafeCell::get, written (a cell is one unit)"),
        }
    }
}

/// A copy of bytes some of which may be padding or not initialised.
///
/// # Safety
/// The bytes must be readable.
unsafe fn frozen(pointer: *const u8, size: usize) -> SmallVec<[u8; 64]> {
    let mut copy: SmallVec<[u8; 64]> = SmallVec::with_capacity(size);
    // SAFETY: the copy is of bytes that may be anything, into a buffer of sufficient size. The
    // empty assembly may, for all the compiler knows, write the buffer: from there on its bytes are
    // initialised, to whatever they are.
    unsafe {
        pointer.copy_to_nonoverlapping(copy.as_mut_ptr(), size);
        asm!("/* {0} */", in(reg) copy.as_mut_ptr(), options(nostack, preserves_flags));
        copy.set_len(size);
    }
    copy
}
