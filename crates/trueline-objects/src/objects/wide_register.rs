//! An atomic register of any size: atomic reads and writes of many words.
//!
//! L. Lamport: On interprocess communication. Distributed Computing 1, 1986, poses the problem and
//! builds the register from smaller ones. Here, where a word is atomic, each value is stored in
//! immutable memory of its own, and the register is a pointer to it: the scheme of read-copy-update
//! (McKenney, Slingwine. PDCS 1998).
//!
//! **Ordering argument.** Writes are ordered by their swaps of one word; a read returns the value
//! of the last one before it. **Linearization.** `write` at its swap, `read` at its load of the
//! pointer.
//!
//! **Progress.** Both are wait-free, except for the allocation of memory by `write`. A reader
//! writes nothing that other readers read. **Cost.** O(size of the value); `write` allocates.
//! Replaced values are freed as described in `grace.rs`.

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
    current: AtomicPtr<Stored<T>>,
    domain: Domain<Stored<T>>,
}

/// The value of one write. Immutable.
struct Stored<T>(UnsafeCell<T>);

// SAFETY: values are copied out by any thread, and freed by any.
unsafe impl<T: Send + Sync> Send for WideRegister<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for WideRegister<T> {}

impl<T> Stored<T> {
    fn allocate(value: T) -> *mut Stored<T> {
        Box::into_raw(Box::new(Stored(UnsafeCell::new(value))))
    }
}

impl<T: Copy> WideRegister<T> {
    /// A register with this value.
    pub fn new(value: T) -> WideRegister<T> {
        WideRegister::with_batch(value, grace::BATCH)
    }

    /// The same, in which a thread tries to free values after it has replaced this many (default:
    /// 64).
    pub fn with_batch(value: T, batch: usize) -> WideRegister<T> {
        WideRegister {
            current: AtomicPtr::new(Stored::allocate(value)),
            domain: Domain::new(batch),
        }
    }

    /// Frees replaced values of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.domain.flush();
    }

    /// The value that was written last.
    pub fn read(&self) -> T {
        self.domain.enter(|_| {
            // Acquire: the value was written before the pointer.
            let current = self.current.load(Ordering::Acquire);
            // SAFETY: it was current at a time since this operation began, so it is not freed
            // before it ends; it is not written.
            unsafe { (*current).0.with(|value| *value) }
        })
    }

    /// Writes a value.
    pub fn write(&self, value: T) {
        let new = Stored::allocate(value);
        self.domain.enter(|inside| {
            // Release: a thread that reads the pointer sees the value. Acquire: a freed value was
            // written before it is freed.
            let former = self.current.swap(new, Ordering::AcqRel);
            // SAFETY: the swap has removed it from the only place that contained it; each is
            // removed once.
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
        // SAFETY: the register is exclusively owned, and its current value was not retired.
        drop(unsafe { Box::from_raw(*self.current.get_mut()) });
    }
}

impl<T> std::fmt::Debug for WideRegister<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WideRegister").finish_non_exhaustive()
    }
}
