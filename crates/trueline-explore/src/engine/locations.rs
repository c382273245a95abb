//! The table of the locations that an execution has touched: last value, last access.
//!
//! Open addressing. A generation number empties it in constant time, once per execution.

use super::trace::NONE;

#[derive(Clone, Copy)]
struct Slot {
    location: usize,
    generation: u32,
    last: u32,
    value: u64,
}

/// Last value and last touch of each location.
pub(crate) struct Locations {
    slots: Vec<Slot>,
    generation: u32,
    /// The occupied slots of this execution.
    used: Vec<u32>,
}

impl Default for Locations {
    fn default() -> Locations {
        let empty = Slot { location: 0, generation: 0, last: NONE, value: 0 };
        Locations { slots: vec![empty; 64], generation: 1, used: Vec::new() }
    }
}

impl Locations {
    pub(crate) fn clear(&mut self) {
        self.used.clear();
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.iter_mut().for_each(|slot| slot.generation = 0);
            self.generation = 1;
        }
    }

    /// The slot of a location, or the free slot where it would go.
    #[inline]
    fn find(&self, location: usize) -> usize {
        let mask = self.slots.len() - 1;
        let hash = (location as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.generation != self.generation || slot.location == location {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The last recorded value; 0 if there is none.
    #[inline]
    pub(crate) fn value(&self, location: usize) -> u64 {
        let slot = &self.slots[self.find(location)];
        if slot.generation == self.generation { slot.value } else { 0 }
    }

    /// The last touch; [`NONE`] if there is none.
    #[inline]
    pub(crate) fn last(&self, location: usize) -> u32 {
        let slot = &self.slots[self.find(location)];
        if slot.generation == self.generation { slot.last } else { NONE }
    }

    /// Sets value and last touch; returns the touch before.
    #[inline]
    pub(crate) fn replace(&mut self, location: usize, touch: u32, value: u64) -> u32 {
        let at = self.find(location);
        let slot = &mut self.slots[at];
        if slot.generation == self.generation {
            slot.value = value;
            return std::mem::replace(&mut slot.last, touch);
        }
        *slot = Slot { location, generation: self.generation, last: touch, value };
        self.used.push(at as u32);
        if self.used.len() * 2 > self.slots.len() {
            self.grow();
        }
        NONE
    }

    /// Sets the value alone.
    pub(crate) fn set_value(&mut self, location: usize, value: u64) {
        let last = self.last(location);
        self.replace(location, last, value);
    }

    /// The location begins anew with a value: nothing has touched it.
    pub(crate) fn renew(&mut self, location: usize, value: u64) {
        self.replace(location, NONE, value);
    }

    /// Every location touched, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.used.iter().map(|&at| self.slots[at as usize].location)
    }

    fn grow(&mut self) {
        let empty = Slot { location: 0, generation: 0, last: NONE, value: 0 };
        let double = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![empty; double]);
        let mut used = std::mem::take(&mut self.used);
        for at in &mut used {
            let slot = old[*at as usize];
            *at = self.find(slot.location) as u32;
            self.slots[*at as usize] = slot;
        }
        self.used = used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_last_until_cleared_and_survive_growth() {
        let mut table = Locations::default();
        for location in 1..1000 {
            assert_eq!(table.replace(location * 8, location as u32, location as u64), NONE);
        }
        assert_eq!(table.replace(80, 7, 70), 10);
        assert_eq!((table.value(80), table.last(80), table.value(88)), (70, 7, 11));
        assert_eq!(table.all().count(), 999);
        table.clear();
        assert_eq!((table.value(80), table.last(80)), (0, NONE));
    }
}
