//! A sorted map in a B-tree whose nodes are linked to the right: readers take no lock, writers one at a time.
//!
//! P. L. Lehman, S. B. Yao: Efficient locking for concurrent operations on B-trees. TODS 6(4), 1981; that a writer needs no more than one lock at a
//! time is from Y. Sagiv: Concurrent operations on B*-trees with overtaking. JCSS 33(2), 1986. It is the B-tree of the library of Wing and Gong (Testing and
//! verifying concurrent objects. JPDC 17, 1993).
//!
//! What Lehman and Yao read and write is a page of a disk, all at once. Here a node has a pointer to a page, which is not written again: a writer makes
//! a new one, puts it in place of the old one, and retires that (`grace.rs`). Each page has the largest key that may be below it, and a link to
//! the node on its right. A node that is full is split: its right half goes into a new node, and one store puts a page in place which has the left half and
//! the link to the new node. The node above learns of it later. Whoever comes from there too early goes on to the right.
//!
//! **Invariants.** (1) A node covers the keys above a bound that never changes, up to the high key of its page, which never becomes larger. (2) The nodes of a level,
//! from left to right, cover all keys, each once, at every moment; a node that is split loses no key. (3) Nodes are never taken out, so
//! that a pointer to one is good as long as the tree. (4) A writer changes the page of a node only while it holds its lock. (5) If a node is split, it is the root, and no
//! other is on its level, or there is a level above.
//!
//! **Linearization.** `insert` and `remove` where they put the new page of a leaf in place, or, where there is nothing to remove, where they read the page under the
//! lock. `get` where it reads the page of the leaf that covers the key. It stands on a leaf whose lower bound is below the key, by (1), and if the key is above
//! the high key, it is on the right, by (2). So what it reads is what the tree holds for the key.
//!
//! **Order.** The changes of a key are totally ordered by the locks of the leaves that cover it, one after the other, in the order in which their pages were put in place;
//! operations on different keys commute, whatever the order in which the levels above learn of splits.
//!
//! **Orderings.** Pages are read with acquire and put in place with release; each operation begins with the sequentially consistent fence of `grace.rs`, so that two threads
//! cannot see changes of two leaves in opposite orders.
//!
//! **Progress.** `get` and `contains` take no lock and never start over: each step is down, or right to a node that was split off meanwhile. Writers block each other on a leaf,
//! and do not block readers. **Cost.** O(log n) comparisons; a change copies a page of up to `CAPACITY` keys and values, so that they should be cheap
//! to clone. Limit: as in the paper, `remove` neither merges nor frees nodes, so that a tree which was large stays as large. The
//! comparisons and clones of keys and values must not call the tree: they would wait for a lock that their own thread holds.

use super::grace::{self, Domain, Inside};
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::cell::UnsafeCell;
use super::sync::{Mutex, MutexGuard};
use std::borrow::Borrow;
use std::ptr;
use std::sync::PoisonError;

/// A sorted map in a B-tree with links to the right.
///
/// ```
/// let map = trueline_objects::BLinkTree::<_, _>::new();
/// assert_eq!(map.insert("one", 1), None);
/// assert_eq!(map.insert("one", 11), Some(1));
/// assert_eq!(map.get("one"), Some(11));
/// assert_eq!(map.remove("one"), Some(11));
/// assert!(!map.contains("one"));
/// ```
pub struct BLinkTree<K, V, const CAPACITY: usize = 32> {
    root: AtomicPtr<Node<K, V>>,
    domain: Domain<Page<K, V>>,
}

struct Node<K, V> {
    /// 0 for leaves.
    level: u32,
    page: AtomicPtr<Page<K, V>>,
    /// Held by who changes the page.
    lock: Mutex<()>,
}

/// What a node holds at some time. It is not written after it is in place.
struct Page<K, V>(UnsafeCell<Content<K, V>>);

struct Content<K, V> {
    /// The largest key that may be here or below; `None`: there is no larger one anywhere.
    high: Option<K>,
    /// The node on the right, null iff there is no high key.
    right: *mut Node<K, V>,
    items: Items<K, V>,
}

enum Items<K, V> {
    Leaf(Vec<(K, V)>),
    /// A child more than keys: the keys of a child are at most the key at its place, and above the one before it.
    Inner(Vec<K>, Vec<*mut Node<K, V>>),
}

// SAFETY: keys and values are shared, cloned and dropped by any thread; pages are not written while they are shared.
unsafe impl<K: Send + Sync, V: Send + Sync, const CAPACITY: usize> Send
    for BLinkTree<K, V, CAPACITY>
{
}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync, const CAPACITY: usize> Sync
    for BLinkTree<K, V, CAPACITY>
{
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> BLinkTree<K, V, CAPACITY> {
    /// An empty map.
    pub fn new() -> BLinkTree<K, V, CAPACITY> {
        BLinkTree::with_batch(grace::BATCH)
    }

    /// An empty map in which a thread tries to free pages after it has replaced so many (64 if not told otherwise).
    pub fn with_batch(batch: usize) -> BLinkTree<K, V, CAPACITY> {
        const { assert!(CAPACITY >= 2, "a node must be worth splitting") };
        let empty = Content { high: None, right: ptr::null_mut(), items: Items::Leaf(Vec::new()) };
        BLinkTree { root: AtomicPtr::new(Node::allocate(0, empty)), domain: Domain::new(batch) }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.domain.enter(|inside| {
            let leaf = self.descend(inside, key, 0, |_| {});
            leaf.entry(key).map(|(_, value)| value.clone())
        })
    }

    /// Whether there is a value of this key.
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.domain.enter(|inside| self.descend(inside, key, 0, |_| {}).entry(key).is_some())
    }

    /// Gives a key a value; yields the one that it had.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.domain.enter(|inside| {
            let mut path = Vec::new();
            self.descend(inside, &key, 0, |node| path.push(node));
            let leaf = self.lock(inside, path.pop(), &key, 0);
            let Items::Leaf(entries) = &leaf.content.items else { unreachable!("level 0") };
            let mut entries = entries.clone();
            let former = match entries.binary_search_by(|(other, _)| other.cmp(&key)) {
                Ok(at) => Some(std::mem::replace(&mut entries[at].1, value)),
                Err(at) => {
                    entries.insert(at, (key, value));
                    None
                }
            };
            self.replace(inside, leaf, Items::Leaf(entries), path);
            former
        })
    }

    /// Removes a key; yields the value that it had.
    pub fn remove<Q: Ord + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.domain.enter(|inside| {
            let mut path = Vec::new();
            self.descend(inside, key, 0, |node| path.push(node));
            let leaf = self.lock(inside, path.pop(), key, 0);
            let Items::Leaf(entries) = &leaf.content.items else { unreachable!("level 0") };
            let at = entries.binary_search_by(|(other, _)| other.borrow().cmp(key)).ok()?;
            let mut entries = entries.clone();
            let (_, value) = entries.remove(at);
            self.replace(inside, leaf, Items::Leaf(entries), path);
            Some(value)
        })
    }

    /// What the node of a level that covers a key holds now. Tells of the nodes through which it went, each the last one of its level.
    fn descend<'a, Q: Ord + ?Sized>(
        &'a self,
        inside: &'a Inside<'_, Page<K, V>>,
        key: &Q,
        level: u32,
        mut passed: impl FnMut(&'a Node<K, V>),
    ) -> &'a Content<K, V>
    where
        K: Borrow<Q>,
    {
        // SAFETY: nodes live as long as the tree.
        let mut node = unsafe { &*self.root.load(Ordering::Acquire) };
        loop {
            let content = node.content(inside);
            if !content.covers(key) {
                // SAFETY: as above; there is a node on the right since there is a high key.
                node = unsafe { &*content.right };
                continue;
            }
            passed(node);
            match &content.items {
                Items::Inner(keys, children) if node.level > level => {
                    let child = children[keys.partition_point(|other| other.borrow() < key)];
                    // SAFETY: as above.
                    node = unsafe { &*child };
                }
                _ => return content,
            }
        }
    }

    /// Locks the node of a level that covers a key, looking from a node of that level on if there is one.
    fn lock<'a, Q: Ord + ?Sized>(
        &'a self,
        inside: &'a Inside<'_, Page<K, V>>,
        from: Option<&'a Node<K, V>>,
        key: &Q,
        level: u32,
    ) -> Locked<'a, K, V>
    where
        K: Borrow<Q>,
    {
        let mut node = from.unwrap_or_else(|| {
            let mut last = None;
            self.descend(inside, key, level, |node| last = Some(node));
            last.expect("a way down goes through the node where it ends")
        });
        loop {
            // A panic of a comparison or of a clone leaves the node as it was.
            let guard = node.lock.lock().unwrap_or_else(PoisonError::into_inner);
            let content = node.content(inside);
            if content.covers(key) {
                return Locked { node, content, guard };
            }
            drop(guard);
            // SAFETY: nodes live as long as the tree; there is one on the right since there is a high key.
            node = unsafe { &*content.right };
        }
    }

    /// Puts new items into a node that is locked, and splits it if they are too many. Tells the levels above, by the nodes through which the way down went.
    fn replace<'a>(
        &'a self,
        inside: &'a Inside<'_, Page<K, V>>,
        mut locked: Locked<'a, K, V>,
        mut items: Items<K, V>,
        mut path: Vec<&'a Node<K, V>>,
    ) {
        loop {
            let Locked { node, content, guard } = locked;
            let Content { high, right, .. } = content;
            let high = high.clone();
            if items.len() <= CAPACITY {
                node.put(inside, Content { high, right: *right, items });
                return;
            }
            let (separator, left, rest) = items.split();
            // Cloned before anything is changed: what follows does not run code of the user's.
            let (left_high, root_key) = (separator.clone(), separator.clone());
            let right = Node::allocate(node.level, Content { high, right: *right, items: rest });
            let left = Content { high: Some(left_high), right, items: left };
            let this = ptr::from_ref(node).cast_mut();
            if self.root.load(Ordering::Relaxed) == this {
                // Nobody splits the new node before there is a level above it.
                // SAFETY: nodes live as long as the tree.
                let right_lock = unsafe { &(*right).lock };
                let _right = right_lock.lock().unwrap_or_else(PoisonError::into_inner);
                node.put(inside, left);
                let items = Items::Inner(vec![root_key], vec![this, right]);
                let root = Content { high: None, right: ptr::null_mut(), items };
                // Release: who finds the root sees what is in it. It is written by who holds the lock of the former one.
                self.root.store(Node::allocate(node.level + 1, root), Ordering::Release);
                return;
            }
            node.put(inside, left);
            drop(guard);
            let level = node.level + 1;
            locked = self.lock(inside, path.pop(), &separator, level);
            let Items::Inner(keys, children) = &locked.content.items else {
                unreachable!("a level above 0")
            };
            let (mut keys, mut children) = (keys.clone(), children.clone());
            // Nodes may be told of in another order than they were split in: the place depends on the key alone.
            let at = keys.partition_point(|other| *other < separator);
            keys.insert(at, separator);
            children.insert(at + 1, right);
            items = Items::Inner(keys, children);
        }
    }
}

/// A node whose lock is held, and its page, which does not change meanwhile.
struct Locked<'a, K, V> {
    node: &'a Node<K, V>,
    content: &'a Content<K, V>,
    guard: MutexGuard<'a, ()>,
}

impl<K, V> Node<K, V> {
    fn allocate(level: u32, content: Content<K, V>) -> *mut Node<K, V> {
        let page = AtomicPtr::new(Page::allocate(content));
        Box::into_raw(Box::new(Node { level, page, lock: Mutex::new(()) }))
    }

    /// What is in the node now. It stays good while the operation runs.
    fn content<'a>(&'a self, _: &'a Inside<'_, Page<K, V>>) -> &'a Content<K, V> {
        let page = self.page.load(Ordering::Acquire);
        // SAFETY: the page was in place since this operation began, so it is not freed before it ends; it is not written.
        unsafe { (*page).0.with(|content| &*content) }
    }

    /// Puts a page in place. The caller holds the lock.
    fn put(&self, inside: &Inside<'_, Page<K, V>>, content: Content<K, V>) {
        // Release: who finds the page sees what is in it, and in the node on its right.
        let former = self.page.swap(Page::allocate(content), Ordering::AcqRel);
        // SAFETY: the swap has taken the page out of the only place that it was in; each is taken out once.
        unsafe { inside.retire(former) };
    }
}

impl<K, V> Page<K, V> {
    fn allocate(content: Content<K, V>) -> *mut Page<K, V> {
        Box::into_raw(Box::new(Page(UnsafeCell::new(content))))
    }
}

impl<K: Ord, V> Content<K, V> {
    /// Whether a key that is not too small is here or below, if anywhere.
    fn covers<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.high.as_ref().is_none_or(|high| key <= high.borrow())
    }

    /// The entry of a key in a leaf.
    fn entry<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&(K, V)>
    where
        K: Borrow<Q>,
    {
        let Items::Leaf(entries) = &self.items else { return None };
        let at = entries.binary_search_by(|(other, _)| other.borrow().cmp(key)).ok()?;
        Some(&entries[at])
    }
}

impl<K: Clone, V> Items<K, V> {
    /// The number of keys.
    fn len(&self) -> usize {
        match self {
            Items::Leaf(entries) => entries.len(),
            Items::Inner(keys, _) => keys.len(),
        }
    }

    /// Two halves, and the largest key that the left one covers. There are three keys or more.
    fn split(self) -> (K, Items<K, V>, Items<K, V>) {
        let middle = self.len() / 2;
        match self {
            Items::Leaf(mut left) => {
                let right = left.split_off(middle);
                (left[middle - 1].0.clone(), Items::Leaf(left), Items::Leaf(right))
            }
            Items::Inner(mut left, mut left_children) => {
                let right = left.split_off(middle + 1);
                let separator = left.remove(middle);
                let right_children = left_children.split_off(middle + 1);
                let right = Items::Inner(right, right_children);
                (separator, Items::Inner(left, left_children), right)
            }
        }
    }
}

impl<K: Ord + Clone, V: Clone, const CAPACITY: usize> Default for BLinkTree<K, V, CAPACITY> {
    fn default() -> BLinkTree<K, V, CAPACITY> {
        BLinkTree::new()
    }
}

impl<K, V, const CAPACITY: usize> Drop for BLinkTree<K, V, CAPACITY> {
    fn drop(&mut self) {
        let mut leftmost = *self.root.get_mut();
        while !leftmost.is_null() {
            let mut below = ptr::null_mut();
            let mut next = leftmost;
            while !next.is_null() {
                // SAFETY: nobody else has the tree; each node is linked on one level, from one node on its left or as the first one.
                let mut node = unsafe { Box::from_raw(next) };
                // SAFETY: each page that was not retired is in one node.
                let page = unsafe { Box::from_raw(*node.page.get_mut()) };
                let Content { right, items, .. } = page.0.into_inner();
                if let (true, Items::Inner(_, children)) = (next == leftmost, &items) {
                    below = children[0];
                }
                next = right;
            }
            leftmost = below;
        }
    }
}

impl<K, V, const CAPACITY: usize> std::fmt::Debug for BLinkTree<K, V, CAPACITY> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BLinkTree").field("capacity", &CAPACITY).finish_non_exhaustive()
    }
}
