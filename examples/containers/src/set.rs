//! A set in shards, each behind a lock of its own.

use crate::sync::Mutex;

const SHARDS: usize = 2;

/// A set of numbers.
#[derive(Default)]
pub struct Set {
    shards: [Mutex<Vec<u32>>; SHARDS],
}

impl Set {
    /// An empty set.
    pub fn new() -> Set {
        Set::default()
    }

    fn shard(&self, key: u32) -> &Mutex<Vec<u32>> {
        &self.shards[key as usize % SHARDS]
    }

    /// Puts a key in; false if it was there.
    pub fn insert(&self, key: u32) -> bool {
        let mut shard = self.shard(key).lock().unwrap();
        let is_new = !shard.contains(&key);
        if is_new {
            shard.push(key);
        }
        is_new
    }

    /// Takes a key out; false if it was not there.
    pub fn remove(&self, key: u32) -> bool {
        let mut shard = self.shard(key).lock().unwrap();
        let place = shard.iter().position(|&other| other == key);
        place.map(|place| shard.swap_remove(place)).is_some()
    }

    /// How many keys there are: all shards are locked meanwhile.
    pub fn len(&self) -> usize {
        let shards: Vec<_> = self.shards.iter().map(|shard| shard.lock().unwrap()).collect();
        shards.iter().map(|shard| shard.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys there are, one shard after the other: a mistake that reads well.
    pub fn hasty_len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Set;
    use trueline_explore::{explore, operations};

    operations! {
        enum Op -> Ret for Set {
            insert(key: u32) -> bool;
            remove(key: u32) -> bool;
            len() -> usize;
            hasty_len() -> usize;
        }
    }

    #[test]
    fn the_set_is_linearizable() {
        explore(Set::new)
            .operations([Op::insert(0), Op::insert(1), Op::remove(1), Op::len()])
            .before([Op::insert(1)])
            .check();
    }

    #[test]
    #[should_panic(expected = "not linearizable")]
    fn a_hasty_length_is_not() {
        explore(Set::new)
            .operations([Op::insert(0), Op::insert(1), Op::remove(1), Op::hasty_len()])
            .before([Op::insert(1)])
            .check();
    }
}
