//! A sorted map in a B-tree whose nodes are linked to the right: readers take no lock, writers one
//! at a time.
//!
//! P. L. Lehman, S. B. Yao: Efficient locking for concurrent operations on B-trees. TODS 6(4),
//! 1981; that a writer needs no more than one lock at a time is from Y. Sagiv: Concurrent
//! operations on B*-trees with overtaking. JCSS 33(2), 1986. It is the B-tree of the library of
//! Wing and Gong (Testing and verifying concurrent objects. JPDC 17, 1993).
//!
//! Lehman and Yao read and write a page of a disk atomically. Here a node has a pointer to an
//! immutable page: a writer creates a new page, replaces the old one with it, and retires the old
//! one (`grace.rs`). Each page has the largest key that may be below it, and a link to the node on
//! its right. A full node is split: its right half goes into a new node, and one store installs a
//! page with the left half and the link to the new node. The node above learns of it later. A
//! thread that comes from there too early moves on to the right.
//!
//! **Code of the user's runs under no lock.** A writer makes the new page from the one that it
//! reads, which compares, clones and drops keys and values. Then it takes the lock just long enough
//! to check that the page is still the same and to install the new one. If another writer was
//! faster, it starts over with the new page. So comparisons, clones and destructors may call the
//! tree (if they change it each time, their own operation starts over each time). If one panics,
//! the tree stays as it was, except that the level above may never learn of a split, which costs
//! readers a step.
//!
//! **Invariants.** (1) A node covers the keys above a bound that never changes, up to the high key
//! of its page, which never increases. (2) The nodes of a level, from left to right, cover all
//! keys, each once, at every moment; a split loses no key. (3) Nodes are never removed, so that a
//! pointer to one is valid as long as the tree. (4) A writer changes the page of a node only while
//! it holds the node's lock, and only if it is the page from which the new one was made. (5) If a
//! node is split, it is the root, and no other is on its level, or there is a level above.
//!
//! **Linearization.** `insert` and `remove` where they install the new page of a leaf. `get`, and a
//! `remove` that finds nothing to remove, where they read the page of the leaf that covers the key.
//! They are at a leaf whose lower bound is below the key, by (1), and if the key is above the high
//! key, it is on the right, by (2). So they read what the tree contains for the key. `update` and
//! `entry` as described in `b_link_tree/entry.rs`, `first`, `last` and `is_empty` as in
//! `b_link_tree/order.rs`; `iter`, `range` and `len` have a linearization point for each leaf.
//!
//! **Order.** The changes of a key are totally ordered: the locks of the leaves that cover it, one
//! after the other, order them as their pages were installed. Operations on different keys commute,
//! whatever the order in which the levels above learn of splits.
//!
//! **Orderings.** Pages are read with acquire and installed with release. Each operation begins
//! with the sequentially consistent fence of `grace.rs`, so that two threads cannot see changes of
//! two leaves in opposite orders.
//!
//! **Progress.** `get` and `contains` take no lock and never start over: each step goes down, or
//! right to a node that was split off meanwhile. Writers block each other on a leaf while one
//! installs its page, start over only because another writer succeeded, and do not block readers.
//! **Cost.** O(log n) comparisons; a change copies a page of up to `CAPACITY` keys and values,
//! which should therefore be cheap to clone. Limit: as in the paper, `remove` neither merges nor
//! frees nodes, so that a tree that was large stays large.

#[path = "b_link_tree/entry.rs"]
pub mod entry;
#[path = "b_link_tree/order.rs"]
pub mod order;

pub use entry::{Change, Entry};
pub use order::Range;

use super::grace::{self, Domain, Inside};
use super::sync::Mutex;
use super::sync::atomic::{AtomicPtr, Ordering};
use super::sync::cell::UnsafeCell;
use super::to_the_end::to_the_end;
use std::borrow::Borrow;
use std::ptr;
use std::sync::PoisonError;

/// A sorted map in a B-tree with links to the right.
///
/// A node has up to `CAPACITY` keys. A change copies the page of a leaf, which another processor
/// may have written last. So large pages are most expensive if several threads make changes; small
/// ones make the tree deeper.
///
/// ```
/// let map = trueline_objects::BLinkTree::<_, _>::new();
/// assert_eq!(map.insert("one", 1), None);
/// assert_eq!(map.insert("one", 11), Some(1));
/// assert_eq!(map.get("one"), Some(11));
/// assert_eq!(map.remove("one"), Some(11));
/// assert!(!map.contains("one"));
/// ```
pub struct BLinkTree<K, V, const CAPACITY: usize = 16> {
    root: AtomicPtr<Node<K, V>>,
    domain: Domain<Page<K, V>>,
}

struct Node<K, V> {
    /// 0 for leaves.
    level: u32,
    page: AtomicPtr<Page<K, V>>,
    /// Held while the page is changed.
    lock: Mutex<()>,
}

/// The content of a node at some time. Immutable once installed.
struct Page<K, V>(UnsafeCell<Content<K, V>>);

struct Content<K, V> {
    /// The largest key that may be here or below; `None`: unbounded.
    high: Option<K>,
    /// The node on the right, null iff there is no high key.
    right: *mut Node<K, V>,
    items: Items<K, V>,
}

enum Items<K, V> {
    Leaf(Vec<(K, V)>),
    /// One child more than keys: the keys of a child are at most the key at its index, and above
    /// the previous key.
    Inner(Vec<K>, Vec<*mut Node<K, V>>),
}

// SAFETY: any thread may share, clone and drop keys and values; shared pages are not written.
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

    /// An empty map in which a thread tries to free pages after it has replaced this many (default:
    /// 64).
    pub fn with_batch(batch: usize) -> BLinkTree<K, V, CAPACITY> {
        const { assert!(CAPACITY >= 2, "a node must be worth splitting") };
        let empty = Content { high: None, right: ptr::null_mut(), items: Items::Leaf(Vec::new()) };
        BLinkTree {
            root: AtomicPtr::new(Node::allocate(0, empty)),
            domain: Domain::with_spare(batch),
        }
    }

    /// Frees removed nodes of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.domain.flush();
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.domain.enter(|inside| {
            let (_, leaf) = self.descend(inside, key, 0);
            leaf.entry(key).map(|(_, value)| value.clone())
        })
    }

    /// Whether there is a value of this key.
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.domain.enter(|inside| self.descend(inside, key, 0).1.entry(key).is_some())
    }

    /// Gives a key a value; yields the one that it had.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        let (mut key, mut value) = (key, value);
        self.domain.enter(|inside| {
            let (mut leaf, mut content) = self.descend(inside, &key, 0);
            loop {
                let Items::Leaf(entries) = &content.items else { unreachable!("level 0") };
                let at = entries.binary_search_by(|(other, _)| other.cmp(&key));
                let (entries, former) = match at {
                    // The key that is there stays, and this one is kept for the next time.
                    Ok(at) => {
                        let (there, former) = entries[at].clone();
                        (with(entries, at, 1, (there, value)), Ok((former, key)))
                    }
                    Err(at) => (with(entries, at, 0, (key, value)), Err(at)),
                };
                let draft = Draft::new(content, Items::Leaf(entries), CAPACITY);
                let entries = match self.replace(inside, leaf, content, draft) {
                    Ok(split) => {
                        self.announce_split(inside, split);
                        // Dropped here: a function's return value is leaked if a destructor panics
                        // during the return.
                        return former.ok().map(|(value, key)| {
                            drop(key);
                            value
                        });
                    }
                    Err(Items::Leaf(entries)) => entries,
                    Err(Items::Inner(..)) => unreachable!("level 0"),
                };
                (key, value) = take_back(entries, at, former);
                (leaf, content) = self.cover(inside, leaf, &key);
            }
        })
    }

    /// Removes a key; yields the value that it had.
    pub fn remove<Q: Ord + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.domain.enter(|inside| {
            let (mut leaf, mut content) = self.descend(inside, key, 0);
            loop {
                let Items::Leaf(entries) = &content.items else { unreachable!("level 0") };
                let at = entries.binary_search_by(|(other, _)| other.borrow().cmp(key)).ok()?;
                let removed = entries[at].1.clone();
                let draft = Draft::new(content, Items::Leaf(without(entries, at)), CAPACITY);
                match self.replace(inside, leaf, content, draft) {
                    Ok(split) => {
                        self.announce_split(inside, split);
                        return Some(removed);
                    }
                    // See `insert`.
                    Err(items) => drop((items, removed)),
                }
                (leaf, content) = self.cover(inside, leaf, key);
            }
        })
    }

    /// The node of a level that covers a key, and its current content.
    fn descend<'a, Q: Ord + ?Sized>(
        &'a self,
        inside: &'a Inside<'_, Page<K, V>>,
        key: &Q,
        level: u32,
    ) -> (&'a Node<K, V>, &'a Content<K, V>)
    where
        K: Borrow<Q>,
    {
        // SAFETY: nodes live as long as the tree.
        let mut node = unsafe { &*self.root.load(Ordering::Acquire) };
        loop {
            let (covering, content) = self.cover(inside, node, key);
            match &content.items {
                Items::Inner(keys, children) if covering.level > level => {
                    let child = children[keys.partition_point(|other| other.borrow() < key)];
                    // SAFETY: as above.
                    node = unsafe { &*child };
                }
                _ => return (covering, content),
            }
        }
    }

    /// The node that covers a key, searching to the right from a node of its level, and its current
    /// content.
    fn cover<'a, Q: Ord + ?Sized>(
        &'a self,
        inside: &'a Inside<'_, Page<K, V>>,
        mut node: &'a Node<K, V>,
        key: &Q,
    ) -> (&'a Node<K, V>, &'a Content<K, V>)
    where
        K: Borrow<Q>,
    {
        loop {
            let content = node.content(inside);
            if content.covers(key) {
                return (node, content);
            }
            // SAFETY: nodes live as long as the tree; there is one on the right since there is a
            // high key.
            node = unsafe { &*content.right };
        }
    }

    /// Installs a draft in a node, split into two nodes if it has too many items, if the node still
    /// has the content that the draft was made from; otherwise returns the items. After a split,
    /// returns what the level above must learn.
    fn replace(
        &self,
        inside: &Inside<'_, Page<K, V>>,
        node: &Node<K, V>,
        content: &Content<K, V>,
        draft: Draft<K, V>,
    ) -> Result<Option<Split<K, V>>, Items<K, V>> {
        let Draft { items, high, separators } = draft;
        // Nothing below runs code of the user's while the lock is held: keys are moved, and the
        // leftovers are dropped after the lock is released.
        let guard = node.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // It is not freed before this operation ends, so the same address means the same page.
        let former = node.page.load(Ordering::Acquire);
        // SAFETY: as in `Node::content`.
        if !ptr::eq(unsafe { Page::content(inside, former) }, content) {
            drop(guard);
            // Dropped before anything is returned: see `insert`.
            drop((high, separators));
            return Err(items);
        }
        let Some([separator, left_high, root_key]) = separators else {
            self.put(inside, node, former, Content { high, right: content.right, items });
            drop(guard);
            return Ok(None);
        };
        let mut root_key = Some(root_key);
        let (left, rest, removed) = items.split();
        let level = node.level;
        let right = Node::allocate(level, Content { high, right: content.right, items: rest });
        let left = Content { high: Some(left_high), right, items: left };
        let this = ptr::from_ref(node).cast_mut();
        let is_root = self.root.load(Ordering::Relaxed) == this;
        if is_root {
            // The new node cannot be split before there is a level above it.
            // SAFETY: nodes live as long as the tree.
            let right_lock = unsafe { &(*right).lock };
            let _right = right_lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.put(inside, node, former, left);
            let items = Items::Inner(root_key.take().into_iter().collect(), vec![this, right]);
            let root = Content { high: None, right: ptr::null_mut(), items };
            // Release: a thread that finds the root sees its content. Only the holder of the former
            // root's lock writes it.
            self.root.store(Node::allocate(level + 1, root), Ordering::Release);
        } else {
            self.put(inside, node, former, left);
        }
        drop(guard);
        drop((removed, root_key));
        Ok((!is_root).then_some(Split { separator, right, level }))
    }

    /// Replaces the page of a node. The caller holds the lock of the node.
    fn put(
        &self,
        inside: &Inside<'_, Page<K, V>>,
        node: &Node<K, V>,
        former: *mut Page<K, V>,
        content: Content<K, V>,
    ) {
        // Release: a thread that finds the page sees its content, and that of the node on its
        // right.
        node.page.store(self.domain.allocate(Page(UnsafeCell::new(content))), Ordering::Release);
        // SAFETY: the page was only in this place, and no other thread changes the place meanwhile;
        // each page is removed once.
        unsafe { inside.retire(former) };
    }

    /// Informs the levels above of a split. Splits are rare, so the path down is not recorded: each
    /// level is found again from the root.
    fn announce_split(&self, inside: &Inside<'_, Page<K, V>>, split: Option<Split<K, V>>) {
        let mut unannounced = split;
        while let Some(Split { mut separator, right, level }) = unannounced {
            let (mut node, mut content) = self.descend(inside, &separator, level + 1);
            unannounced = loop {
                let Items::Inner(keys, children) = &content.items else {
                    unreachable!("a level above 0")
                };
                // The levels above may learn of nodes in another order than they were split, so
                // only the key determines the place.
                let at = keys.partition_point(|other| *other < separator);
                let keys = with(keys, at, 0, separator);
                let children = with(children, at + 1, 0, right);
                let draft = Draft::new(content, Items::Inner(keys, children), CAPACITY);
                match self.replace(inside, node, content, draft) {
                    Ok(split) => break split,
                    Err(Items::Inner(mut keys, _)) => separator = keys.remove(at),
                    Err(Items::Leaf(_)) => unreachable!("a level above 0"),
                }
                (node, content) = self.cover(inside, node, &separator);
            };
        }
    }
}

/// A copy of a list in which a number of items from an index on is replaced by another item. It is
/// allocated without spare capacity, since it will not grow.
fn with<T: Clone>(items: &[T], at: usize, instead_of: usize, item: T) -> Vec<T> {
    let (before, after) = (&items[..at], &items[at + instead_of..]);
    let mut copy = Vec::with_capacity(before.len() + 1 + after.len());
    copy.extend_from_slice(before);
    copy.push(item);
    copy.extend_from_slice(after);
    copy
}

/// A copy of a list without one of its items.
fn without<T: Clone>(items: &[T], at: usize) -> Vec<T> {
    let (before, after) = (&items[..at], &items[at + 1..]);
    let mut copy = Vec::with_capacity(before.len() + after.len());
    copy.extend_from_slice(before);
    copy.extend_from_slice(after);
    copy
}

/// The replacement of a page. It is made before the lock is taken, since that runs code of the
/// user's.
struct Draft<K, V> {
    items: Items<K, V>,
    high: Option<K>,
    /// If there are too many items: the largest key that the left half will cover, one copy for
    /// each use in a split.
    separators: Option<[K; 3]>,
}

impl<K: Clone, V> Draft<K, V> {
    fn new(content: &Content<K, V>, items: Items<K, V>, most: usize) -> Draft<K, V> {
        let separators = (items.len() > most).then(|| {
            let separator = items.separator();
            [separator.clone(), separator.clone(), separator.clone()]
        });
        Draft { items, high: content.high.clone(), separators }
    }
}

/// A node that was split, for the level above.
struct Split<K, V> {
    /// The largest key that it covers now.
    separator: K,
    /// The new node on its right.
    right: *mut Node<K, V>,
    level: u32,
}

/// The key and the value of an `insert` whose entries were not installed: at the index of the key,
/// with the removed value and key if the key was found.
fn take_back<K, V>(
    mut entries: Vec<(K, V)>,
    at: Result<usize, usize>,
    former: Result<(V, K), usize>,
) -> (K, V) {
    let entry = match (at, former) {
        (Ok(at), Ok((former, key))) => (key, std::mem::replace(&mut entries[at].1, former)),
        (Ok(at) | Err(at), _) => entries.remove(at),
    };
    // See `insert`.
    drop(entries);
    entry
}

impl<K, V> Node<K, V> {
    fn allocate(level: u32, content: Content<K, V>) -> *mut Node<K, V> {
        let page = AtomicPtr::new(Box::into_raw(Box::new(Page(UnsafeCell::new(content)))));
        Box::into_raw(Box::new(Node { level, page, lock: Mutex::new(()) }))
    }

    /// The current content of the node. It stays valid while the operation runs.
    fn content<'a>(&'a self, inside: &'a Inside<'_, Page<K, V>>) -> &'a Content<K, V> {
        // SAFETY: the page was in place since this operation began.
        unsafe { Page::content(inside, self.page.load(Ordering::Acquire)) }
    }
}

impl<K, V> Page<K, V> {
    /// # Safety
    /// The page was installed at some time since this operation began, so that it is not freed
    /// before the operation ends.
    unsafe fn content<'a>(
        _: &'a Inside<'_, Page<K, V>>,
        page: *const Page<K, V>,
    ) -> &'a Content<K, V> {
        // SAFETY: the caller's promise; it is not written.
        unsafe { (*page).0.with(|content| &*content) }
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

impl<K, V> Items<K, V> {
    /// The number of keys.
    fn len(&self) -> usize {
        match self {
            Items::Leaf(entries) => entries.len(),
            Items::Inner(keys, _) => keys.len(),
        }
    }

    /// The largest key that the left half covers. There are three keys or more.
    fn separator(&self) -> &K {
        let middle = self.len() / 2;
        match self {
            Items::Leaf(entries) => &entries[middle - 1].0,
            Items::Inner(keys, _) => &keys[middle],
        }
    }

    /// Two halves, and the key between them, which a leaf keeps.
    fn split(self) -> (Items<K, V>, Items<K, V>, Option<K>) {
        let middle = self.len() / 2;
        match self {
            Items::Leaf(mut left) => {
                let right = left.split_off(middle);
                (Items::Leaf(left), Items::Leaf(right), None)
            }
            Items::Inner(mut left, mut left_children) => {
                let right = left.split_off(middle + 1);
                let between = left.pop();
                let right_children = left_children.split_off(middle + 1);
                let right = Items::Inner(right, right_children);
                (Items::Inner(left, left_children), right, between)
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
        let mut next = *self.root.get_mut();
        let (mut is_leftmost, mut below) = (true, ptr::null_mut());
        to_the_end(|| {
            if next.is_null() {
                return false;
            }
            // SAFETY: the tree is exclusively owned; each node is linked on one level, from one
            // node on its left or as the first one.
            let mut node = unsafe { Box::from_raw(next) };
            // SAFETY: each page that was not retired is in one node.
            let page = unsafe { Box::from_raw(*node.page.get_mut()) };
            let content = page.0.into_inner();
            if let (true, Items::Inner(_, children)) = (is_leftmost, &content.items) {
                below = children[0];
            }
            (next, is_leftmost) = (content.right, false);
            if next.is_null() {
                (next, below, is_leftmost) = (below, ptr::null_mut(), true);
            }
            true
        });
    }
}

impl<K, V, const CAPACITY: usize> std::fmt::Debug for BLinkTree<K, V, CAPACITY> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BLinkTree").field("capacity", &CAPACITY).finish_non_exhaustive()
    }
}
