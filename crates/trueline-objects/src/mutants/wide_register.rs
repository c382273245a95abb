//! The register of two words with a fault: by a sequence lock, and by a pointer whose target is
//! freed at once.

use crate::shadowed::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering};
use crate::shadowed::sync::hint;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Words are written and read one after the other.
    WordByWord,
    /// `read` does not check whether another thread has written meanwhile.
    DoesNotLookAgain,
    /// `write` does not keep other writers out.
    WritersMeet,
}

/// A register with a fault. Its version is odd during a write.
pub(crate) struct Register {
    fault: Fault,
    version: AtomicUsize,
    words: [AtomicI64; 2],
}

impl Register {
    pub(crate) fn new(fault: Fault) -> Register {
        let words = [AtomicI64::new(0), AtomicI64::new(0)];
        Register { fault, version: AtomicUsize::new(0), words }
    }

    pub(crate) fn read(&self) -> [i64; 2] {
        let words = || [0, 1].map(|i: usize| self.words[i].load(Ordering::SeqCst));
        if self.fault == Fault::WordByWord {
            return words();
        }
        loop {
            let before = self.version.load(Ordering::SeqCst);
            if before.is_multiple_of(2) {
                let read = words();
                let again = self.fault != Fault::DoesNotLookAgain;
                if !again || self.version.load(Ordering::SeqCst) == before {
                    return read;
                }
            }
            hint::spin_loop();
        }
    }

    pub(crate) fn write(&self, value: [i64; 2]) {
        match self.fault {
            Fault::WordByWord => {}
            Fault::WritersMeet => drop(self.version.fetch_add(1, Ordering::SeqCst)),
            Fault::DoesNotLookAgain => self.lock(),
        }
        for (word, value) in self.words.iter().zip(value) {
            word.store(value, Ordering::SeqCst);
        }
        if self.fault != Fault::WordByWord {
            self.version.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Makes the version odd, when it is even.
    fn lock(&self) {
        loop {
            let version = self.version.load(Ordering::SeqCst);
            let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
            if version.is_multiple_of(2)
                && self.version.compare_exchange(version, version + 1, yes, no).is_ok()
            {
                return;
            }
            hint::spin_loop();
        }
    }
}

/// Frees a value as soon as it is replaced, while others may still read it.
pub(crate) struct HastyRegister {
    current: AtomicPtr<[AtomicI64; 2]>,
}

impl HastyRegister {
    pub(crate) fn new() -> HastyRegister {
        HastyRegister { current: AtomicPtr::new(allocate([0, 0])) }
    }

    pub(crate) fn read(&self) -> [i64; 2] {
        let current = self.current.load(Ordering::SeqCst);
        // SAFETY: it is not sound: this is the fault, which the explorer detects at the access.
        // There, freed memory is kept.
        [0, 1].map(|i: usize| unsafe { (&(*current))[i].load(Ordering::SeqCst) })
    }

    pub(crate) fn write(&self, value: [i64; 2]) {
        let former = self.current.swap(allocate(value), Ordering::SeqCst);
        // SAFETY: only this thread has removed it. The fault is that others still read it.
        drop(unsafe { Box::from_raw(former) });
    }
}

impl Drop for HastyRegister {
    fn drop(&mut self) {
        // SAFETY: the register is exclusively owned.
        drop(unsafe { Box::from_raw(*self.current.get_mut()) });
    }
}

fn allocate(value: [i64; 2]) -> *mut [AtomicI64; 2] {
    Box::into_raw(Box::new(value.map(AtomicI64::new)))
}
