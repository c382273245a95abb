//! Vector clocks over the orderings as written.

/// The clock itself stores the epochs of this many threads; those of further threads are in a
/// vector.
const FEW: usize = 8;

/// For each thread, the last epoch up to which everything is known to have happened before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    few: [u32; FEW],
    more: Vec<u32>,
}

impl Clock {
    #[inline]
    pub(crate) fn get(&self, thread: u32) -> u32 {
        let index = thread as usize;
        match self.few.get(index) {
            Some(&epoch) => epoch,
            None => self.more.get(index - FEW).copied().unwrap_or(0),
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, thread: u32, epoch: u32) {
        let index = thread as usize;
        if let Some(own) = self.few.get_mut(index) {
            *own = epoch;
            return;
        }
        if self.more.len() <= index - FEW {
            self.more.resize(index - FEW + 1, 0);
        }
        self.more[index - FEW] = epoch;
    }

    /// Everything that the other knows.
    #[inline]
    pub(crate) fn join(&mut self, other: &Clock) {
        for (own, &theirs) in self.few.iter_mut().zip(&other.few) {
            *own = (*own).max(theirs);
        }
        if !other.more.is_empty() {
            self.join_more(&other.more);
        }
    }

    #[cold]
    fn join_more(&mut self, other: &[u32]) {
        if self.more.len() < other.len() {
            self.more.resize(other.len(), 0);
        }
        for (own, &theirs) in self.more.iter_mut().zip(other) {
            *own = (*own).max(theirs);
        }
    }

    /// Assigns, and reuses the old allocation if it suffices.
    #[inline]
    pub(crate) fn assign(&mut self, other: &Clock) {
        self.few = other.few;
        if !self.more.is_empty() || !other.more.is_empty() {
            self.more.clone_from(&other.more);
        }
    }

    /// Whether it is zero everywhere.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.few == [0; FEW] && self.more.is_empty()
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.few = [0; FEW];
        self.more.clear();
    }
}
