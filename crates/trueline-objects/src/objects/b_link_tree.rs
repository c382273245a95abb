//! A sorted map in a B-tree whose nodes are linked to the right: readers take no lock, writers one
//! at a time.
//!
//! P. L. Lehman, S. B. Yao: Efficient locking for concurrent operations on B-trees. TODS 6(4),
//! 1981; that a writer needs no more than one lock at a time is from Y. Sagiv: Concurrent
//! operations on B*-trees with overtaking. JCSS 33(2), 1986. It is the B-tree of the library of
//! Wing and Gong (Testing and verifying concurrent objects. JPDC 17, 1993).
//!
//! What Lehman and Yao read and write is a page of a disk, all at once. Here a node has a pointer
//! to a page, which is not written again: a writer makes a new one, puts it in place of the old
//! one, and retires that (`grace.rs`). Each page has the largest key that may be below it, and a
//! link to the node on its right. A node that is full is split: its right half goes into a new
//! node, and one store puts a page in place which has the left half and the link to the new node.
//! The node above learns of it later. Whoever comes from there too early goes on to the right.
//!
//! **Code of the user's runs under no lock.** A writer makes the new page from the one that it
//! reads, which compares, clones and drops keys and values, and then takes the lock for as long as
//! it takes to see that the page is still the same, and to put the new one in its place; where
//! another writer was quicker it begins again with the new page. So comparisons, clones and
//! destructors may call the tree (those that change it each time keep their own operation starting
//! over), and one that panics leaves the tree as it was, but that the level above may never learn
//! of a split, which costs readers a step.
//!
//! **Invariants.** (1) A node covers the keys above a bound that never changes, up to the high key
//! of its page, which never becomes larger. (2) The nodes of a level, from left to right, cover all
//! keys, each once, at every moment; a node that is split loses no key. (3) Nodes are never taken
//! out, so that a pointer to one is good as long as the tree. (4) A writer changes the page of a
//! node only while it holds its lock, and only if it is the one from which it made the new one. (5)
//! If a node is split, it is the root, and no other is on its level, or there is a level above.
//!
//! **Linearization.** `insert` and `remove` where they put the new page of a leaf in place. `get`,
//! and `remove` where there is nothing to remove, where it reads the page of the leaf that covers
//! the key. It stands on a leaf whose lower bound is below the key, by (1), and if the key is above
//! the high key, it is on the right, by (2). So what it reads is what the tree holds for the key.
//! `update` and `entry` as they say in `b_link_tree/entry.rs`, `first`, `last` and `is_empty` as in
//! `b_link_tree/order.rs`; `iter`, `range` and `len` have a moment for each leaf.
//!
//! **Order.** The changes of a key are totally ordered by the locks of the leaves that cover it,
//! one after the other, in the order in which their pages were put in place; operations on
//! different keys commute, whatever the order in which the levels above learn of splits.
//!
//! **Orderings.** Pages are read with acquire and put in place with release; each operation begins
//! with the sequentially consistent fence of `grace.rs`, so that two threads cannot see changes of
//! two leaves in opposite orders.
//!
//! **Progress.** `get` and `contains` take no lock and never start over: each step is down, or
//! right to a node that was split off meanwhile. Writers block each other on a leaf while one puts
//! its page in place, start over only because another one has, and do not block readers. **Cost.**
//! O(log n) comparisons; a change copies a page of up to `CAPACITY` keys and values, so that they
//! should be cheap to clone. Limit: as in the paper, `remove` neither merges nor frees nodes, so
//! that a tree which was large stays as large.

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
/// may have written last, so that large pages cost most where several threads make changes; small
/// ones make the way down longer.
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
    /// A child more than keys: the keys of a child are at most the key at its place, and above the
    /// one before it.
    Inner(Vec<K>, Vec<*mut Node<K, V>>),
}

// SAFETY: keys and values are shared, cloned and dropped by any thread; pages are not written while
// they are shared.
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

    /// An empty map in which a thread tries to free pages after it has replaced so many (64 if not
    /// told otherwise).
    pub fn with_batch(batch: usize) -> BLinkTree<K, V, CAPACITY> {
        const { assert!(CAPACITY >= 2, "a node must be worth splitting") };
        let empty = Content { high: None, right: ptr::null_mut(), items: Items::Leaf(Vec::new()) };
        BLinkTree {
            root: AtomicPtr::new(Node::allocate(0, empty)),
            domain: Domain::with_spare(batch),
        }
    }

    /// Frees what was removed and can be freed now, by this thread and by threads that have ended,
    /// which else happens after some more operations.
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
                        self.tell(inside, split);
                        // Dropped here: what a function returns is forgotten where a destructor
                        // panics on its way out.
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
                        self.tell(inside, split);
                        return Some(removed);
                    }
                    // See `insert`.
                    Err(items) => drop((items, removed)),
                }
                (leaf, content) = self.cover(inside, leaf, key);
            }
        })
    }

    /// The node of a level that covers a key, and what it holds now.
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

    /// The node that covers a key, looking to the right from a node of its level on, and what it
    /// holds now.
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

    /// Puts a draft into a node, as two nodes if its items are too many, if the node still has the
    /// content that the draft was made from; gives the items back where not. Of a split it yields
    /// what the level above is to be told.
    fn replace(
        &self,
        inside: &Inside<'_, Page<K, V>>,
        node: &Node<K, V>,
        content: &Content<K, V>,
        draft: Draft<K, V>,
    ) -> Result<Option<Split<K, V>>, Items<K, V>> {
        let Draft { items, high, separators } = draft;
        // Nothing below runs code of the user's while the lock is held: keys are moved, and what is
        // left of them is dropped after it.
        let guard = node.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // It is not freed before this operation ends, so that the same address is the same page.
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
            // Nobody splits the new node before there is a level above it.
            // SAFETY: nodes live as long as the tree.
            let right_lock = unsafe { &(*right).lock };
            let _right = right_lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.put(inside, node, former, left);
            let items = Items::Inner(root_key.take().into_iter().collect(), vec![this, right]);
            let root = Content { high: None, right: ptr::null_mut(), items };
            // Release: who finds the root sees what is in it. It is written by who holds the lock
            // of the former one.
            self.root.store(Node::allocate(level + 1, root), Ordering::Release);
        } else {
            self.put(inside, node, former, left);
        }
        drop(guard);
        drop((removed, root_key));
        Ok((!is_root).then_some(Split { separator, right, level }))
    }

    /// Puts a page in the place of the one that a node has. The caller holds the lock of the node.
    fn put(
        &self,
        inside: &Inside<'_, Page<K, V>>,
        node: &Node<K, V>,
        former: *mut Page<K, V>,
        content: Content<K, V>,
    ) {
        // Release: who finds the page sees what is in it, and in the node on its right.
        node.page.store(self.domain.allocate(Page(UnsafeCell::new(content))), Ordering::Release);
        // SAFETY: the page was in this place alone, and nobody else changes what is there
        // meanwhile; each is taken out once.
        unsafe { inside.retire(former) };
    }

    /// Tells the levels above of a split. Few changes split, so that the way down is not kept for
    /// it: each level is looked up from the root.
    fn tell(&self, inside: &Inside<'_, Page<K, V>>, split: Option<Split<K, V>>) {
        let mut untold = split;
        while let Some(Split { mut separator, right, level }) = untold {
            let (mut node, mut content) = self.descend(inside, &separator, level + 1);
            untold = loop {
                let Items::Inner(keys, children) = &content.items else {
                    unreachable!("a level above 0")
                };
                // Nodes may be told of in another order than they were split in: the place depends
                // on the key alone.
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

/// A copy of a list in which so many items from a place on make room for another one. In memory for
/// just that: it is not going to grow.
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

/// What is to be put in the place of a page. It is made before the lock is taken, since that runs
/// code of the user's.
struct Draft<K, V> {
    items: Items<K, V>,
    high: Option<K>,
    /// Where there are too many items the largest key that the left half will cover, as often as a
    /// split needs it.
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

/// A node that was split, of which the level above is to be told.
struct Split<K, V> {
    /// The largest key that it covers now.
    separator: K,
    /// The new node on its right.
    right: *mut Node<K, V>,
    level: u32,
}

/// The key and the value that an `insert` put into entries which were not put in place: at the
/// place where its key was found, with the value and the key that it has taken out, or where it was
/// not.
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

    /// What is in the node now. It stays good while the operation runs.
    fn content<'a>(&'a self, inside: &'a Inside<'_, Page<K, V>>) -> &'a Content<K, V> {
        // SAFETY: the page was in place since this operation began.
        unsafe { Page::content(inside, self.page.load(Ordering::Acquire)) }
    }
}

impl<K, V> Page<K, V> {
    /// # Safety
    /// The page was in place since this operation began, so that it is not freed before it ends.
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
            // SAFETY: nobody else has the tree; each node is linked on one level, from one node on
            // its left or as the first one.
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
