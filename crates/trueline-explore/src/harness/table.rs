//! Things by number.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trueline::spec::Data;

/// Things by number, in the order in which they were met.
pub(crate) struct Table<V> {
    numbers: HashMap<V, u32, FixedState>,
    all: Vec<V>,
}

impl<V> Default for Table<V> {
    fn default() -> Table<V> {
        Table { numbers: HashMap::with_hasher(FixedState::default()), all: Vec::new() }
    }
}

impl<V: Data> Table<V> {
    pub(crate) fn number_of(&mut self, value: &V) -> u32 {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = self.all.len() as u32;
        self.all.push(value.clone());
        self.numbers.insert(value.clone(), number);
        number
    }

    pub(crate) fn get(&self, number: u32) -> &V {
        &self.all[number as usize]
    }

    pub(crate) fn value(&self, number: u32) -> V {
        self.get(number).clone()
    }
}
