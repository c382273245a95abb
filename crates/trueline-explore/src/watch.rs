//! Infers reads and writes through raw pointers from the bytes that they point to.
//!
//! `UnsafeCell::get` does not show whether the pointer will be read or written through. Between two
//! events of a thread no other thread runs. So if the bytes differ at the thread's next event, this
//! thread wrote them. A write of the same bytes counts as a read, and so does any access through a
//! pointer that is kept for longer.
//!
//! All bytes of a cell are compared, and a cell is one unit: bytes that have not changed may have
//! been written too, so a thread that writes one byte counts as a writer of all.

use crate::front::Caller;
use crate::race::Plain;
use smallvec::SmallVec;
use std::arch::asm;

/// A cell of more bytes than this may be an array whose parts are used at the same time. The report
/// of a race then says that the parts were not distinguished.
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
    /// The `size` bytes at `address` must stay readable until the watch is resolved.
    pub(crate) unsafe fn new(address: usize, size: usize, caller: Caller, aside: usize) -> Watch {
        let pointer = std::ptr::with_exposed_provenance(address);
        // SAFETY: the caller's promise.
        let bytes = unsafe { frozen(pointer, size) };
        Watch { pointer, bytes, caller, aside }
    }

    pub(crate) fn address(&self) -> usize {
        self.pointer.addr()
    }

    /// Whether it was a read or a write, and a name for it.
    pub(crate) fn resolve(&self) -> (Plain, &'static str) {
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

/// A copy of bytes, some of which may be padding or uninitialised.
///
/// # Safety
/// The bytes must be readable.
unsafe fn frozen(pointer: *const u8, size: usize) -> SmallVec<[u8; 64]> {
    let mut copy: SmallVec<[u8; 64]> = SmallVec::with_capacity(size);
    // SAFETY: the copy goes into a buffer of sufficient size, and the bytes may have any content.
    // The empty assembly may, as far as the compiler knows, write the buffer. So from there on its
    // bytes are initialised, to whatever they are.
    unsafe {
        pointer.copy_to_nonoverlapping(copy.as_mut_ptr(), size);
        asm!("/* {0} */", in(reg) copy.as_mut_ptr(), options(nostack, preserves_flags));
        copy.set_len(size);
    }
    copy
}
