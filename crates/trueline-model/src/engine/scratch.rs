//! The working state of a step: the frame, the labels, the accesses, and the choices.
//!
//! Nondeterminism is a list of choices: a run takes the given choices, then 0 for all further ones,
//! and records how many branches each had. [`Scratch::advance`] moves to the next list. So a
//! process and a short list of numbers identify a transition.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::heap::Walk;
use super::label::Label;
use super::layout::Frame;

/// Which slots a step read and wrote: sets of bits, of public slots and one more for the allocator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) reads: SmallVec<[u64; 4]>,
    pub(crate) writes: SmallVec<[u64; 4]>,
}

impl Access {
    pub(super) fn clear(&mut self, words: usize) {
        self.reads.clear();
        self.reads.resize(words, 0);
        self.writes.clear();
        self.writes.resize(words, 0);
    }

    /// Whether the order of two steps with these accesses can matter.
    pub(crate) fn conflicts(&self, other: &Access) -> bool {
        let meet = |a: &[u64], b: &[u64]| a.iter().zip(b).any(|(x, y)| x & y != 0);
        meet(&self.writes, &other.writes)
            || meet(&self.writes, &other.reads)
            || meet(&self.reads, &other.writes)
    }

    pub(crate) fn join(&mut self, other: &Access) {
        self.reads.resize(other.reads.len(), 0);
        self.writes.resize(other.writes.len(), 0);
        for (a, b) in self.reads.iter_mut().zip(&other.reads) {
            *a |= b;
        }
        for (a, b) in self.writes.iter_mut().zip(&other.writes) {
            *a |= b;
        }
    }
}

/// One choice: the branch taken, and how many there were.
pub(crate) type Choice = (u16, u16);

/// The loop, the frame and the labels so far.
pub(super) type Round = (usize, Frame, SmallVec<[Label; 3]>);

/// The working state of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// During the setup: how many nodes of each pool it has created.
    pub(super) made_in_setup: Option<Vec<i32>>,
    pub(crate) frame: Frame,
    pub(crate) labels: SmallVec<[Label; 3]>,
    pub(crate) choices: SmallVec<[Choice; 4]>,
    pub(crate) access: Access,
    pub(crate) walk: Walk,
    pub(super) taken: usize,
    /// This many of the first choices lead to the same place as those of the previous list.
    pub(super) given: usize,
    /// The number of this list among those of the same step; and whether one of them was completed.
    pub(super) number: usize,
    pub(super) ended: bool,
    /// The states in which rounds of loops with choices began, by loop: the list, and how many
    /// choices had been taken.
    pub(super) met: HashMap<Round, (usize, usize)>,
    pub(super) recording: bool,
    /// While trying a step that may only access constants: whether it did, and whether it accessed
    /// anything else.
    pub(super) tried: Option<(bool, bool)>,
    pub(super) kept: Frame,
    /// How many steps on constants the last step was taken together with.
    pub(crate) passed: usize,
    pub(super) process: usize,
    pub(super) block: usize,
    pub(super) operation: Option<usize>,
}

impl Scratch {
    /// Whether there is another list of choices.
    pub(super) fn is_last(&self) -> bool {
        self.choices[..self.taken].iter().all(|(branch, of)| branch + 1 >= *of)
    }

    /// Turns to the next list of choices; false after the last.
    pub(crate) fn advance(&mut self) -> bool {
        self.choices.truncate(self.taken);
        while let Some((branch, of)) = self.choices.last_mut() {
            if *branch + 1 < *of {
                *branch += 1;
                return true;
            }
            self.choices.pop();
        }
        false
    }

    #[inline]
    pub(super) fn choose(&mut self, of: usize) -> usize {
        if of == 1 {
            return 0;
        }
        if self.taken == self.choices.len() {
            self.choices.push((0, of as u16));
        }
        let choice = &mut self.choices[self.taken];
        choice.1 = of as u16;
        self.taken += 1;
        usize::from(choice.0)
    }

    #[inline]
    pub(super) fn note_read(&mut self, slot: usize) {
        if self.recording {
            self.access.reads[slot / 64] |= 1 << (slot % 64);
        }
    }

    #[inline]
    pub(super) fn note_write(&mut self, slot: usize) {
        if self.recording {
            self.access.writes[slot / 64] |= 1 << (slot % 64);
        }
    }
}
