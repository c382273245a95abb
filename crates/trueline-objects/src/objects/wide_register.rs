//! An atomic register of any size: reads and writes of many words at once.
//!
//! L. Lamport: On interprocess communication. Distributed Computing 1, 1986, asks for it and builds
//! it from smaller ones. Here, where a word is atomic, the value lies in memory of its own that is
//! not written again, and the register is a pointer to it: the scheme of read-copy-update
//! (McKenney, Slingwine. PDCS 1998).
//!
//! **Ordering argument.** Writes are ordered by their swaps of one word; a read tells the value of
//! the last one before it. **Linearization.** `write` at its swap, `read` at its load of the
//! pointer.
//!
//! **Progress.** Both are wait-free, but for the allocation of memory by `write`. A reader writes
//! nothing that other readers read. **Cost.** O(size of the value); `write` allocates. Values that
//! were replaced are freed as `grace.rs` says.

use super::grace::{self, Domain};
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::cell::UnsafeCell;

/// A register whose values may have any size.
///
/// ```
/// let register = trueline_objects::WideRegister::new([0u64; 4]);
/// register.write([1, 2, 3, 4]);
/// assert_eq!(register.read(), [1, 2, 3, 4]);
/// ```
pub struct WideRegister<T> {
    current: AtomicPtr<Words<T>>,
    domain: Domain<Words<T>>,
}

/// What one write has written. It is not written again.
struct Words<T>(UnsafeCell<T>);

// SAFETY: values are copied out by any thread, and freed by any.
unsafe impl<T: Send + Sync> Send for WideRegister<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for WideRegister<T> {}

impl<T> Words<T> {
    fn allocate(value: T) -> *mut Words<T> {
        Box::into_raw(Box::new(Words(UnsafeCell::new(value))))
    }
}

impl<T: Copy> WideRegister<T> {
    /// A register with this value.
    pub fn new(value: T) -> WideRegister<T> {
        WideRegister::with_batch(value, grace::BATCH)
    }

    /// The same, in which a thread tries to free values after it has replaced so many (64 if not
    /// told otherwise).
    pub fn with_batch(value: T, batch: usize) -> WideRegister<T> {
        WideRegister { current: AtomicPtr::new(Words::allocate(value)), domain: Domain::new(batch) }
    }

    /// Frees what was removed and can be freed now, by this thread and by threads that have ended,
    /// which else happens after some more operations.
    pub fn flush(&self) {
        self.domain.flush();
    }

    /// The value that was written last.
    pub fn read(&self) -> T {
        self.domain.enter(|_| {
            // Acquire: the value was written before the pointer.
            let current = self.current.load(Ordering::Acquire);
            // SAFETY: it was current at a time since this operation began, so it is not freed
            // before it ends; nobody writes it.
            unsafe { (*current).0.with(|value| *value) }
        })
    }

    /// Writes a value.
    pub fn write(&self, value: T) {
        let new = Words::allocate(value);
        self.domain.enter(|inside| {
            // Release: who reads the pointer sees the value. Acquire: what is freed was written
            // before that.
            let former = self.current.swap(new, Ordering::AcqRel);
            // SAFETY: the swap has taken it out of the only place that it was in; each is taken out
            // once.
            unsafe { inside.retire(former) };
        });
    }
}

impl<T: Copy + Default> Default for WideRegister<T> {
    fn default() -> WideRegister<T> {
        WideRegister::new(T::default())
    }
}

impl<T> Drop for WideRegister<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the register, and what is current was not retired.
        drop(unsafe { Box::from_raw(*self.current.get_mut()) });
    }
}

impl<T> std::fmt::Debug for WideRegister<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WideRegister").finish_non_exhaustive()
    }
}
