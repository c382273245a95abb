//! Changes of a key that depend on its value: `update`, and `entry` as in std.
//!
//! An update makes a new page of the leaf from the one that it reads, and installs it if that one
//! is still there, as `insert` and `remove` do. So it reads and changes the value of the key at one
//! moment: where the page is installed, or, if nothing is to be changed, where it was read. The
//! function that computes the new value runs under no lock and may be called again.

use super::{BLinkTree, Draft, Items, with, without};
use std::fmt;

/// How to change a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<V> {
    /// It stays as it is.
    Keep,
    /// It has this value then.
    Put(V),
    /// It is gone then.
    Remove,
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> BLinkTree<K, V, CAPACITY> {
    /// Changes a key atomically, as a function of its value, and returns that value.
    ///
    /// The function is called again if another thread has changed the leaf meanwhile. Its results
    /// for other values than the returned one have no effect.
    ///
    /// ```
    /// use trueline_objects::b_link_tree::{BLinkTree, Change};
    ///
    /// let stock = BLinkTree::<_, _>::new();
    /// let take_one = |number: Option<&u32>| match number {
    ///     None => Change::Keep,
    ///     Some(1) => Change::Remove,
    ///     Some(number) => Change::Put(number - 1),
    /// };
    /// stock.insert("apple", 2);
    /// assert_eq!(stock.update("apple", take_one), Some(2));
    /// assert_eq!(stock.update("apple", take_one), Some(1));
    /// assert_eq!(stock.update("apple", take_one), None);
    /// ```
    pub fn update(&self, key: K, mut change: impl FnMut(Option<&V>) -> Change<V>) -> Option<V> {
        let former = self.domain.enter(|inside| {
            let (mut leaf, mut content) = self.descend(inside, &key, 0);
            loop {
                let Items::Leaf(entries) = &content.items else { unreachable!("level 0") };
                let at = entries.binary_search_by(|(other, _)| other.cmp(&key));
                let former = at.ok().map(|at| &entries[at].1);
                let change = change(former);
                let former = former.cloned();
                let entries = match (at, change) {
                    (_, Change::Keep) | (Err(_), Change::Remove) => return former,
                    (Ok(at), Change::Put(value)) => {
                        with(entries, at, 1, (entries[at].0.clone(), value))
                    }
                    (Ok(at), Change::Remove) => without(entries, at),
                    (Err(at), Change::Put(value)) => with(entries, at, 0, (key.clone(), value)),
                };
                let draft = Draft::new(content, Items::Leaf(entries), CAPACITY);
                match self.replace(inside, leaf, content, draft) {
                    Ok(split) => {
                        self.announce_split(inside, split);
                        return former;
                    }
                    // Dropped here: a function's return value is leaked if a destructor panics
                    // during the return.
                    Err(items) => drop((items, former)),
                }
                (leaf, content) = self.cover(inside, leaf, &key);
            }
        });
        // See above.
        drop(key);
        former
    }

    /// A key and methods to change it, as in std's maps. Nothing is looked up before a method is
    /// called, and each method takes effect at a moment of its own: between two of them other
    /// threads may change the key. [`BLinkTree::update`] does several things at one moment.
    pub fn entry(&self, key: K) -> Entry<'_, K, V, CAPACITY> {
        Entry { tree: self, key }
    }
}

/// A key of a tree: see [`BLinkTree::entry`].
pub struct Entry<'a, K, V, const CAPACITY: usize> {
    tree: &'a BLinkTree<K, V, CAPACITY>,
    key: K,
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> Entry<'_, K, V, CAPACITY> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The value that the key has.
    pub fn get(&self) -> Option<V> {
        self.tree.get(&self.key)
    }

    /// Sets the value of the key if it has none; returns the resulting value.
    pub fn or_insert(self, value: V) -> V {
        self.or_insert_with(|| value)
    }

    /// Sets the value of the key if it has none; returns the resulting value. The function is
    /// called at most once, and its result may be unused.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> V {
        let (mut make, mut made) = (Some(make), None);
        let mut put = |value: Option<&V>| match value {
            Some(_) => Change::Keep,
            None => {
                if let Some(make) = make.take() {
                    made = Some(make());
                }
                made.clone().map_or(Change::Keep, Change::Put)
            }
        };
        let former = self.tree.update(self.key, &mut put);
        if former.is_some() {
            // Dropped before anything is returned: see `update`.
            drop(made.take());
        }
        former.or(made).expect("it was there, or was made")
    }

    /// Sets the default value of the key if it has none; returns the resulting value.
    pub fn or_default(self) -> V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value of the key, if it has one. The function may be called again, each time
    /// with a clone of the value.
    pub fn and_modify(self, mut modify: impl FnMut(&mut V)) -> Self {
        self.tree.update(self.key.clone(), |value| match value {
            Some(value) => {
                let mut value = value.clone();
                modify(&mut value);
                Change::Put(value)
            }
            None => Change::Keep,
        });
        self
    }

    /// Gives the key this value; yields the one that it had.
    pub fn insert(self, value: V) -> Option<V> {
        self.tree.insert(self.key, value)
    }

    /// Removes the key; yields the value that it had.
    pub fn remove(self) -> Option<V> {
        self.tree.remove(&self.key)
    }
}

impl<K: fmt::Debug, V, const CAPACITY: usize> fmt::Debug for Entry<'_, K, V, CAPACITY> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("key", &self.key).finish_non_exhaustive()
    }
}
