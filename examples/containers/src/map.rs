//! A map of a few buckets.

use crate::sync::RwLock;

const BUCKETS: usize = 2;

/// Numbers under keys.
#[derive(Default)]
pub struct Map {
    buckets: [RwLock<Vec<(u32, u32)>>; BUCKETS],
}

impl Map {
    /// An empty map.
    pub fn new() -> Map {
        Map::default()
    }

    fn bucket(&self, key: u32) -> &RwLock<Vec<(u32, u32)>> {
        &self.buckets[key as usize % BUCKETS]
    }

    /// Puts a value under a key; yields the one that was there.
    pub fn insert(&self, key: u32, value: u32) -> Option<u32> {
        let mut bucket = self.bucket(key).write().unwrap();
        match bucket.iter_mut().find(|entry| entry.0 == key) {
            Some(entry) => Some(std::mem::replace(&mut entry.1, value)),
            None => {
                bucket.push((key, value));
                None
            }
        }
    }

    /// The value under a key.
    pub fn get(&self, key: u32) -> Option<u32> {
        let bucket = self.bucket(key).read().unwrap();
        bucket.iter().find(|entry| entry.0 == key).map(|entry| entry.1)
    }

    /// Takes out what is under a key.
    pub fn remove(&self, key: u32) -> Option<u32> {
        let mut bucket = self.bucket(key).write().unwrap();
        let place = bucket.iter().position(|entry| entry.0 == key)?;
        Some(bucket.swap_remove(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::Map;
    use std::collections::BTreeMap;
    use trueline_explore::{explore, operations, stress};

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    struct Model(BTreeMap<u32, u32>);

    impl Model {
        fn insert(&mut self, key: u32, value: u32) -> Option<u32> {
            self.0.insert(key, value)
        }
        fn get(&mut self, key: u32) -> Option<u32> {
            self.0.get(&key).copied()
        }
        fn remove(&mut self, key: u32) -> Option<u32> {
            self.0.remove(&key)
        }
    }

    operations! {
        enum Op -> Ret for Map, Model {
            insert(key: u32, value: u32) -> Option<u32>;
            get(key: u32) -> Option<u32>;
            remove(key: u32) -> Option<u32>;
        }
    }

    #[test]
    fn the_map_is_linearizable() {
        let operations = [Op::insert(1, 7), Op::insert(1, 8), Op::get(1), Op::remove(1)];
        explore(Map::new).spec(Model::default()).operations(operations).check();
    }

    #[test]
    fn the_map_withstands_stress() {
        let operations = [Op::insert(1, 7), Op::insert(2, 8), Op::get(1), Op::remove(1)];
        let test = stress(Map::new).spec(Model::default()).operations(operations);
        test.threads(3).length(4).rounds(1000).check();
    }
}
