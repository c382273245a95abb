//! Sets of slots: one word if 64 slots suffice, otherwise a short vector.

use std::hash::Hash;

use smallvec::SmallVec;

/// A set of small numbers.
pub(crate) trait Mask: Clone + Eq + Hash + Default {
    fn has(&self, slot: u32) -> bool;
    fn insert(&mut self, slot: u32);
    fn remove(&mut self, slot: u32);
    fn is_subset(&self, other: &Self) -> bool;
}

impl Mask for u64 {
    #[inline]
    fn has(&self, slot: u32) -> bool {
        self >> slot & 1 == 1
    }

    #[inline]
    fn insert(&mut self, slot: u32) {
        *self |= 1 << slot;
    }

    #[inline]
    fn remove(&mut self, slot: u32) {
        *self &= !(1 << slot);
    }

    #[inline]
    fn is_subset(&self, other: &u64) -> bool {
        self & !other == 0
    }
}

/// Any number of slots. Trailing zero words are dropped, so that equal sets are equal values.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Wide(SmallVec<[u64; 3]>);

impl Mask for Wide {
    fn has(&self, slot: u32) -> bool {
        self.0.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    fn insert(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (slot % 64);
    }

    fn remove(&mut self, slot: u32) {
        if let Some(word) = self.0.get_mut(slot as usize / 64) {
            *word &= !(1 << (slot % 64));
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn is_subset(&self, other: &Wide) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_masks_agree_with_words_and_stay_canonical() {
        let (mut word, mut wide) = (0u64, Wide::default());
        for slot in [3, 63, 0, 17] {
            word.insert(slot);
            wide.insert(slot);
        }
        wide.insert(200);
        assert!(wide.has(200) && !wide.has(199) && !wide.has(10_000));
        let mut small = wide.clone();
        small.remove(200);
        assert!(small.is_subset(&wide) && !wide.is_subset(&small));
        assert_eq!(small.0.as_slice(), [word]);
        for slot in 0..64 {
            small.remove(slot);
        }
        assert!(small == Wide::default());
    }
}
