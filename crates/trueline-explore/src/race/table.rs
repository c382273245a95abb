//! A table from addresses to entries, emptied once per execution.
//!
//! Open addressing into a dense list of entries. A generation number empties it in constant time,
//! and entries keep their memory from one execution to the next, so that in the long run nothing is
//! allocated. A removed entry leaves its address in the table until the table is emptied.

/// The requirements on an entry.
pub(super) trait Entry: Default {
    /// Makes it as new; keeps its memory.
    fn renew(&mut self);
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Default)]
struct Slot {
    address: usize,
    generation: u32,
    /// The index in the list of entries; [`NONE`] if it was removed.
    entry: u32,
}

/// Entries by address.
pub(super) struct Table<E> {
    slots: Vec<Slot>,
    generation: u32,
    /// Slots of this generation.
    taken: usize,
    /// Those in use, with their addresses, and spare ones behind them.
    entries: Vec<(usize, E)>,
    used: usize,
}

impl<E: Entry> Default for Table<E> {
    fn default() -> Table<E> {
        let slots = vec![Slot::default(); 32];
        Table { slots, generation: 1, taken: 0, entries: Vec::new(), used: 0 }
    }
}

impl<E: Entry> Table<E> {
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.taken = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.iter_mut().for_each(|slot| slot.generation = 0);
            self.generation = 1;
        }
    }

    /// The slot of an address, or the free slot where it would go.
    #[inline]
    fn find(&self, address: usize) -> usize {
        let mask = self.slots.len() - 1;
        let hash = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.generation != self.generation || slot.address == address {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The entry of an address, if it has one.
    #[inline]
    pub(super) fn get(&self, address: usize) -> Option<&E> {
        let slot = &self.slots[self.find(address)];
        let live = slot.generation == self.generation && slot.entry != NONE;
        live.then(|| &self.entries[slot.entry as usize].1)
    }

    /// The entry of an address; a new one if it has none.
    #[inline]
    pub(super) fn entry(&mut self, address: usize) -> &mut E {
        let at = self.find(address);
        let slot = self.slots[at];
        if slot.generation == self.generation && slot.entry != NONE {
            return &mut self.entries[slot.entry as usize].1;
        }
        self.add(at, address)
    }

    #[cold]
    fn add(&mut self, at: usize, address: usize) -> &mut E {
        let entry = self.used;
        self.used += 1;
        if entry == self.entries.len() {
            self.entries.push((address, E::default()));
        } else {
            self.entries[entry].0 = address;
            self.entries[entry].1.renew();
        }
        self.taken += usize::from(self.slots[at].generation != self.generation);
        self.slots[at] = Slot { address, generation: self.generation, entry: entry as u32 };
        if self.taken * 2 > self.slots.len() {
            self.grow();
        }
        &mut self.entries[entry].1
    }

    fn grow(&mut self) {
        let double = vec![Slot::default(); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, double);
        for slot in old.into_iter().filter(|slot| slot.generation == self.generation) {
            let at = self.find(slot.address);
            self.slots[at] = slot;
        }
    }

    /// Forgets an address.
    pub(super) fn remove(&mut self, address: usize) {
        let at = self.find(address);
        if self.slots[at].generation == self.generation && self.slots[at].entry != NONE {
            self.remove_entry(self.slots[at].entry as usize);
        }
    }

    /// Removes the addresses of a range, after calling the function with each, in no particular
    /// order.
    pub(super) fn remove_range(
        &mut self,
        range: std::ops::Range<usize>,
        mut each: impl FnMut(usize, &E),
    ) {
        for index in (0..self.used).rev() {
            let (address, entry) = &self.entries[index];
            if range.contains(address) {
                each(*address, entry);
                self.remove_entry(index);
            }
        }
    }

    /// The last entry takes the place of the one that is removed.
    fn remove_entry(&mut self, index: usize) {
        let removed = self.find(self.entries[index].0);
        self.slots[removed].entry = NONE;
        self.used -= 1;
        if index != self.used {
            self.entries.swap(index, self.used);
            let moved = self.find(self.entries[index].0);
            self.slots[moved].entry = index as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Entry for Vec<usize> {
        fn renew(&mut self) {
            self.clear();
        }
    }

    #[test]
    fn entries_last_until_removed_or_cleared_and_survive_growth() {
        let mut table = Table::<Vec<usize>>::default();
        for round in 0..3 {
            for address in 1..500 {
                table.entry(address * 8).push(address + round);
            }
            table.remove(80);
            table.remove(80);
            table.remove(4);
            let mut seen = Vec::new();
            table.remove_range(16..40, |address, entry| seen.push((address, entry.clone())));
            seen.sort_unstable();
            assert_eq!(seen, [2, 3, 4].map(|a| (a * 8, vec![a + round])));
            for address in 1..500 {
                let gone = [2, 3, 4, 10].contains(&address);
                let expected = (!gone).then(|| vec![address + round]);
                assert_eq!(table.get(address * 8), expected.as_ref());
            }
            table.entry(80).push(7);
            assert_eq!(table.get(80), Some(&vec![7]));
            table.clear();
            assert_eq!(table.get(80), None);
            assert_eq!(table.get(8), None);
        }
    }
}
