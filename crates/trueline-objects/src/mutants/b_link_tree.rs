//! A B-tree with links to the right, of two levels, with a fault.

use super::nursery::Nursery;
use crate::shadowed::sync::Mutex;
use crate::shadowed::sync::atomic::{AtomicPtr, Ordering};
use std::ptr;
use std::sync::PoisonError;

/// The fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Readers do not move right if the level above has not learnt of a split.
    ReadersStay,
    /// Writers do not look, once they have the lock, whether the leaf was split before.
    WritersStay,
    /// A split takes the right half away first and links the new leaf after that.
    SplitsInTwoSteps,
    /// Writers take no lock: a page is replaced by one made from an older page.
    TakesNoLock,
}

/// A map with a fault.
pub(crate) struct Tree {
    fault: Fault,
    /// The leaves known to the level above, each with the largest key of the one before it.
    index: AtomicPtr<Index>,
    index_lock: Mutex<()>,
    indices: Nursery<Index>,
    leaves: Nursery<Leaf>,
    pages: Nursery<Page>,
}

struct Index(Vec<(i64, *mut Leaf)>);

// SAFETY: the pointers are valid as long as the tree, and are not used to drop anything.
unsafe impl Send for Index {}

struct Leaf {
    page: AtomicPtr<Page>,
    lock: Mutex<()>,
}

#[derive(Clone)]
struct Page {
    /// No key is larger.
    high: i64,
    right: *mut Leaf,
    entries: Vec<(i64, i64)>,
}

// SAFETY: as above.
unsafe impl Send for Page {}

/// Keys that a leaf has before it is split.
const CAPACITY: usize = 2;

impl Tree {
    pub(crate) fn new(fault: Fault) -> Tree {
        let (indices, leaves, pages) = (Nursery::new(), Nursery::new(), Nursery::new());
        let page = Page { high: i64::MAX, right: ptr::null_mut(), entries: Vec::new() };
        let page = AtomicPtr::new(pages.make(page));
        let leaf = leaves.make(Leaf { page, lock: Mutex::new(()) });
        let index = AtomicPtr::new(indices.make(Index(vec![(i64::MIN, leaf)])));
        Tree { fault, index, index_lock: Mutex::new(()), indices, leaves, pages }
    }

    pub(crate) fn get(&self, key: &i64) -> Option<i64> {
        let mut leaf = self.leaf(*key);
        loop {
            let page = leaf.page();
            // SAFETY: nodes live as long as the tree.
            match unsafe { page.right.as_ref() } {
                Some(right) if *key > page.high && self.fault != Fault::ReadersStay => leaf = right,
                _ => return page.get(*key),
            }
        }
    }

    pub(crate) fn contains(&self, key: &i64) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn insert(&self, key: i64, value: i64) -> Option<i64> {
        self.change(key, |page| {
            let former = page.get(key);
            page.entries.retain(|(other, _)| *other != key);
            let at = page.entries.partition_point(|(other, _)| *other < key);
            page.entries.insert(at, (key, value));
            former
        })
    }

    pub(crate) fn remove(&self, key: &i64) -> Option<i64> {
        self.change(*key, |page| {
            let former = page.get(*key);
            page.entries.retain(|(other, _)| other != key);
            former
        })
    }

    fn leaf(&self, key: i64) -> &Leaf {
        // SAFETY: nodes live as long as the tree.
        let Index(leaves) = unsafe { &*self.index.load(Ordering::Acquire) };
        let at = leaves.partition_point(|(bound, _)| *bound < key).max(1) - 1;
        // SAFETY: as above.
        unsafe { &*leaves[at].1 }
    }

    fn change(&self, key: i64, change: impl FnOnce(&mut Page) -> Option<i64>) -> Option<i64> {
        let mut leaf = self.leaf(key);
        let lock = |leaf: &'_ Leaf| -> *const Mutex<()> { &leaf.lock };
        let takes_lock = self.fault != Fault::TakesNoLock;
        loop {
            // SAFETY: nodes live as long as the tree.
            let mutex = unsafe { &*lock(leaf) };
            let guard = takes_lock.then(|| mutex.lock().unwrap_or_else(PoisonError::into_inner));
            let page = leaf.page();
            if key > page.high && self.fault != Fault::WritersStay {
                drop(guard);
                // SAFETY: as above; there is a leaf on the right since there is a high key.
                leaf = unsafe { &*page.right };
                continue;
            }
            let mut page = page.clone();
            let former = change(&mut page);
            if page.entries.len() <= CAPACITY {
                leaf.put(self.pages.make(page));
                return former;
            }
            let entries = page.entries.split_off(page.entries.len() / 2);
            let right = Page { entries, ..page };
            let right = AtomicPtr::new(self.pages.make(right));
            let right = self.leaves.make(Leaf { page: right, lock: Mutex::new(()) });
            page.high = page.entries[page.entries.len() - 1].0;
            if self.fault == Fault::SplitsInTwoSteps {
                leaf.put(self.pages.make(page.clone()));
            }
            let bound = page.high;
            leaf.put(self.pages.make(Page { right, ..page }));
            drop(guard);
            self.learn(bound, right);
            return former;
        }
    }

    fn learn(&self, bound: i64, leaf: *mut Leaf) {
        let _guard = self.index_lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nodes live as long as the tree.
        let mut leaves = unsafe { &(*self.index.load(Ordering::Acquire)).0 }.clone();
        let at = leaves.partition_point(|(other, _)| *other < bound);
        leaves.insert(at, (bound, leaf));
        self.index.store(self.indices.make(Index(leaves)), Ordering::Release);
    }
}

impl Leaf {
    fn page(&self) -> &Page {
        // SAFETY: pages live as long as the tree.
        unsafe { &*self.page.load(Ordering::Acquire) }
    }

    fn put(&self, page: *mut Page) {
        self.page.store(page, Ordering::Release);
    }
}

impl Page {
    fn get(&self, key: i64) -> Option<i64> {
        self.entries.iter().find(|(other, _)| *other == key).map(|(_, value)| *value)
    }
}
