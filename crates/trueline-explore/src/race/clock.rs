//! Vector clocks over the orderings as written.

use smallvec::SmallVec;

/// For each thread, up to which of its epochs everything is known to have happened before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(SmallVec<[u32; 8]>);

impl Clock {
    #[inline]
    pub(crate) fn get(&self, thread: u32) -> u32 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, thread: u32, epoch: u32) {
        let index = thread as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] = epoch;
    }

    /// Everything that the other knows.
    #[inline]
    pub(crate) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, &theirs) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(theirs);
        }
    }

    /// As a plain assignment, without a new allocation where the old one suffices.
    #[inline]
    pub(crate) fn assign(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
