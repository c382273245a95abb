//! A lock-free unbounded priority queue: a skip list whose first nodes are removed by marking the
//! links to them.
//!
//! J. Lindén, B. Jonsson: A skiplist-based concurrent priority queue with minimal memory
//! contention. OPODIS 2013, for the lowest level; for those above it K. Fraser: Practical
//! lock-freedom. 2004. The reclamation of nodes is our own.
//!
//! **The lowest level** is a list of all nodes, the best first, and of equal ones the oldest first.
//! A node is taken by a mark in the link that leads *to* it, which is that of the node before it.
//! Nodes are taken only from the front: the taken ones are a prefix of the list, whose last one has
//! an unmarked link to the best remaining node. So a thread that takes a node and a thread that
//! links a better one change the same link, and one of the two fails. (If a mark in the node itself
//! means that it is taken, as in I. Lotan, N. Shavit: Skiplist-based concurrent priority queues.
//! IPDPS 2000, a better node can be linked unnoticed by a `pop`, which then takes a worse one that
//! came even later: the mutant `-marks-nodes`.) The taken nodes in front are cut off, several at a
//! time, by moving the head's link to one that stays.
//!
//! **The levels above** are sorted lists of some of the nodes. They only serve to find a place
//! quickly: whether a node is in them does not affect the content of the queue. There a node is
//! removed as in `marked_list.rs`, by a mark in its own link: the thread that pops a node marks it
//! on all its levels and unlinks it there. The thread that pushes it does the same if it finds the
//! mark after it has linked the node. If two threads interfere, a tower just stays lower.
//!
//! **When nodes are freed.** One word of each node records on which upper levels it is linked, and
//! whether the pushing or the popping thread may still work on these (`Node::upper`). A cut ends
//! before the first node whose word is not 0. **Invariant:** a node that was cut off, and so all
//! before it, is not linked on any upper level, and will not be. An operation that begins after
//! that finds neither the node nor, since cuts are at the front, any other path to it: it is
//! retired (`grace.rs`).
//!
//! **What the user's code can break.** Only the order in which values are removed. `push` compares
//! priorities to find a place. A wrong comparison leads to another place in the same list; if one
//! panics, the queue stays as it was: the node is not in it yet, and is dropped with its value.
//! `pop` compares nothing. It finds the node that it unlinks by walking along each level up to that
//! node, whatever the priorities on the way; since the node was the first one on the lowest level,
//! and priorities are ordered, it is near the front. It clones the priority before it takes the
//! node, so that a clone that panics has taken nothing. Memory is safe with any `Ord`, because no
//! comparison decides which nodes are freed.
//!
//! **Why the walk along a level finds the node.** The order of two nodes of a level does not
//! change, since nodes are linked between neighbours and never moved. A thread at a node whose link
//! is not marked is in the list, before the node that it searches for; at a marked link it starts
//! over. So it reaches the node, if that was linked before it began. A node that is linked later is
//! unlinked by the thread that links it, which sees the mark.
//!
//! **Linearization.** `push` where it links its node on the lowest level, after the taken ones and
//! before the first one that is worse. `pop` where it marks a link; if there is nothing, where it
//! reads a link to nothing. `peek` where it reads an unmarked link. Each such link is that of the
//! last taken node, because the links of the taken nodes before it, and of those that were cut off,
//! are marked.
//!
//! **Order.** At each moment, the places in the list totally order the values in the queue: by
//! priority first, then by the order of the compare-exchanges that linked them. A `pop` takes the
//! first in this order, so that among equal priorities the oldest comes first.
//!
//! **Orderings.** Links are read with acquire and written with release; each operation begins with
//! the sequentially consistent fence of `grace.rs`, as in `marked_list.rs`.
//!
//! **Progress.** Lock-free. A thread that stops while its node is busy delays the cutting of nodes,
//! not the other threads. **Cost.** `push` O(log n) comparisons expected; `pop` O(1) expected, plus
//! the taken nodes in front: [`Tuning::prefix`] if no thread is stopped.

use super::grace::{self, Domain, Inside};
use super::growing_array::Initial;
use super::mark::{is_marked, marked, unmarked};
use super::per_thread::PerThread;
use super::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use super::sync::cell::UnsafeCell;
use super::sync::with_thread_index;
use super::to_the_end::to_the_end;
use std::mem::ManuallyDrop;
use std::ptr;
// Not of `sync`: threads do not speak to each other through these.
use std::sync::atomic::AtomicU64;

/// A lock-free unbounded priority queue: the largest priority first, and of equal ones the oldest
/// first.
///
/// ```
/// use std::cmp::Reverse;
///
/// let queue = trueline_objects::PriorityQueue::new();
/// queue.push(Reverse(7), "later");
/// queue.push(Reverse(1), "soon");
/// assert_eq!(queue.peek(), Some(Reverse(1)));
/// assert_eq!(queue.pop(), Some((Reverse(1), "soon")));
/// ```
pub struct PriorityQueue<P, T> {
    head: Tower<P, T>,
    domain: Domain<Node<P, T>>,
    /// For each thread how many heights it has drawn.
    drawn: PerThread<Drawn>,
    seed: u64,
    prefix: usize,
}

/// How many heights a thread has drawn.
struct Drawn(AtomicU64);

impl Initial for Drawn {
    const INITIAL: Drawn = Drawn(AtomicU64::new(0));
}

/// Parameters that affect only the speed and the memory of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// After how many taken nodes in front they are cut off; at least 1.
    pub prefix: usize,
    /// A thread tries to free nodes after it has cut off this many; at least 1.
    pub batch: usize,
    /// The number of levels, from 1 to 16; each has a quarter of the nodes of the one below.
    pub levels: usize,
    /// The seed for the heights of nodes.
    pub seed: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { prefix: 32, batch: grace::BATCH, levels: MOST_LEVELS, seed: 0x9e37_79b9_7f4a_7c15 }
    }
}

/// The most levels that there can be: enough for 4^15 nodes.
const MOST_LEVELS: usize = 16;

/// A thread that may still work on the upper levels of a node: see [`Node::upper`].
const BUSY: usize = 1 << MOST_LEVELS;

struct Node<P, T> {
    /// Written before the node is in the list, and not after.
    priority: UnsafeCell<P>,
    /// Moved out by the thread that takes the node.
    value: UnsafeCell<ManuallyDrop<T>>,
    /// The sum of [`BUSY`] for each thread that may still work on the upper levels of this node
    /// (the pushing one and the popping one), and a bit `1 << level` for each level on which it is
    /// linked, or is about to be, or has just been.
    upper: AtomicUsize,
    tower: Tower<P, T>,
}

/// The links of a node.
struct Tower<P, T> {
    /// Marked: the next node is taken, and so is this one.
    next: AtomicPtr<Node<P, T>>,
    /// From level 1 on. Marked: this node is no longer on that level, or will not be.
    upper: Box<[AtomicPtr<Node<P, T>>]>,
}

// SAFETY: values move from the pushing thread to the one that pops or drops. Any thread may
// compare, clone and drop the shared priorities.
unsafe impl<P: Send + Sync, T: Send> Send for PriorityQueue<P, T> {}
// SAFETY: as above: no `&T` is given out.
unsafe impl<P: Send + Sync, T: Send> Sync for PriorityQueue<P, T> {}

impl<P, T> Tower<P, T> {
    fn new(height: usize) -> Tower<P, T> {
        let null = || AtomicPtr::new(ptr::null_mut());
        Tower { next: null(), upper: (1..height).map(|_| null()).collect() }
    }

    /// The link on an upper level, which the tower reaches.
    #[inline]
    fn link(&self, level: usize) -> &AtomicPtr<Node<P, T>> {
        &self.upper[level - 1]
    }
}

impl<P, T> Node<P, T> {
    #[inline]
    fn priority(&self) -> &P {
        // SAFETY: it is not written while the node is shared.
        self.priority.with(|priority| unsafe { &*priority })
    }

    /// Records that a thread is done with the upper levels of the node.
    fn is_done_with(&self) {
        // Release: see `pop`.
        self.upper.fetch_sub(BUSY, Ordering::Release);
    }

    fn height(&self) -> usize {
        self.tower.upper.len() + 1
    }
}

/// A node that is not in the list: dropped with its value if a comparison panics.
struct Unlinked<P, T>(Option<Box<Node<P, T>>>);

impl<P, T> Drop for Unlinked<P, T> {
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            // One statement, so that if the destructor of one panics, the other one is still
            // dropped.
            let Node { priority, value, .. } = *node;
            drop((priority, ManuallyDrop::into_inner(value.into_inner())));
        }
    }
}

/// A tower, and the target of its link on some level.
type Gap<'a, P, T> = (&'a Tower<P, T>, *mut Node<P, T>);

/// The place of a node: on each level the tower before it, and the target of that tower's link.
struct Place<'a, P, T> {
    towers: [&'a Tower<P, T>; MOST_LEVELS],
    nexts: [*mut Node<P, T>; MOST_LEVELS],
}

impl<P: Ord + Clone, T> PriorityQueue<P, T> {
    /// An empty queue.
    pub fn new() -> PriorityQueue<P, T> {
        PriorityQueue::with_tuning(Tuning::default())
    }

    /// An empty queue with these parameters. Numbers out of range are clamped.
    pub fn with_tuning(tuning: Tuning) -> PriorityQueue<P, T> {
        PriorityQueue {
            head: Tower::new(tuning.levels.clamp(1, MOST_LEVELS)),
            domain: Domain::new(tuning.batch),
            drawn: PerThread::new(),
            seed: tuning.seed,
            prefix: tuning.prefix.max(1),
        }
    }

    /// Frees removed nodes of this thread and of threads that have ended, as far as possible now.
    /// Otherwise that happens after some more operations.
    pub fn flush(&self) {
        self.domain.flush();
    }

    /// Inserts a value. If a comparison panics, the value is dropped and the queue is as it was.
    pub fn push(&self, priority: P, value: T) {
        let height = self.draw_height();
        let mut unlinked = Unlinked(Some(Box::new(Node {
            priority: UnsafeCell::new(priority),
            value: UnsafeCell::new(ManuallyDrop::new(value)),
            upper: AtomicUsize::new(if height > 1 { 2 * BUSY } else { 0 }),
            tower: Tower::new(height),
        })));
        self.domain.enter(|inside| {
            while let Some(node) = &mut unlinked.0 {
                let place = self.locate(inside, node.priority());
                *node.tower.next.get_mut() = place.nexts[0];
                let Some(pointer) = unlinked.0.take().map(Box::into_raw) else { return };
                // Release: a thread that follows the link sees the content of the node.
                let (yes, no) = (Ordering::Release, Ordering::Relaxed);
                match place.towers[0].next.compare_exchange(place.nexts[0], pointer, yes, no) {
                    // SAFETY: the node was in the list since this operation began, so it is not
                    // freed before it ends.
                    Ok(_) => return self.raise(inside, unsafe { &*pointer }, &place),
                    // SAFETY: the node came from a box, and no other thread has seen it.
                    Err(_) => unlinked.0 = Some(unsafe { Box::from_raw(pointer) }),
                }
            }
        });
    }

    /// Removes the value of the highest priority, with its priority; `None` if there is none. If
    /// the clone of a priority panics, nothing is removed.
    pub fn pop(&self) -> Option<(P, T)> {
        self.domain.enter(|inside| {
            let first = self.head.next.load(Ordering::Acquire);
            let (mut tower, mut next) = (&self.head, first);
            let mut passed = 0;
            // The node that is to be the first one after a cut.
            let mut stays: *mut Node<P, T> = ptr::null_mut();
            let (taken, priority) = loop {
                // SAFETY: here and below: the nodes on the way were reachable since this operation
                // began.
                let node = unsafe { unmarked(next).as_ref() }?;
                if is_marked(next) {
                    passed += 1;
                    // Acquire: everything done with its upper levels comes before it is freed.
                    if stays.is_null() && node.upper.load(Ordering::Acquire) > 0 {
                        stays = unmarked(next);
                    }
                    tower = &node.tower;
                    next = tower.next.load(Ordering::Acquire);
                    continue;
                }
                // Other threads may still compare with it, so it cannot be moved out.
                let priority = node.priority().clone();
                let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
                match tower.next.compare_exchange(next, marked(next), yes, no) {
                    Ok(_) => break (node, priority),
                    Err(found) => next = found,
                }
            };
            // SAFETY: only this thread has taken the node, so the value is its own, and is not read
            // again.
            let value =
                taken.value.with(|value| ManuallyDrop::into_inner(unsafe { ptr::read(value) }));
            self.take_down(inside, taken);
            if passed >= self.prefix {
                if stays.is_null() {
                    stays = ptr::from_ref(taken).cast_mut();
                }
                self.cut(inside, first, stays);
            }
            Some((priority, value))
        })
    }

    /// The highest priority; `None` if there is none.
    pub fn peek(&self) -> Option<P> {
        self.domain.enter(|_| {
            let mut next = self.head.next.load(Ordering::Acquire);
            loop {
                // SAFETY: as in `pop`.
                let node = unsafe { unmarked(next).as_ref() }?;
                if !is_marked(next) {
                    return Some(node.priority().clone());
                }
                next = node.tower.next.load(Ordering::Acquire);
            }
        })
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.domain.enter(|_| {
            let mut next = self.head.next.load(Ordering::Acquire);
            // SAFETY: as in `pop`.
            while let (true, Some(node)) = (is_marked(next), unsafe { unmarked(next).as_ref() }) {
                next = node.tower.next.load(Ordering::Acquire);
            }
            next.is_null()
        })
    }

    /// The number of values. O(n).
    ///
    /// Values that are there all the time are counted once; values that are inserted or removed
    /// meanwhile may or may not be. So the result need not be the exact number at any moment.
    pub fn len(&self) -> usize {
        self.domain.enter(|_| {
            let (mut next, mut count) = (self.head.next.load(Ordering::Acquire), 0);
            // SAFETY: as in `pop`.
            while let Some(node) = unsafe { unmarked(next).as_ref() } {
                count += usize::from(!is_marked(next));
                next = node.tower.next.load(Ordering::Acquire);
            }
            count
        })
    }

    /// The place of a node of this priority: after all taken nodes, and all that are as good or
    /// better.
    fn locate<'a>(&'a self, inside: &'a Inside<'_, Node<P, T>>, priority: &P) -> Place<'a, P, T> {
        let as_good = |other: &Node<P, T>| other.priority() >= priority;
        'anew: loop {
            let mut tower = &self.head;
            let (towers, nexts) = ([tower; MOST_LEVELS], [ptr::null_mut(); MOST_LEVELS]);
            let mut place = Place { towers, nexts };
            for level in (1..=self.head.upper.len()).rev() {
                let Some((before, next)) = self.advance(inside, level, tower, as_good) else {
                    continue 'anew;
                };
                (place.towers[level], place.nexts[level]) = (before, next);
                tower = before;
            }
            loop {
                let next = tower.next.load(Ordering::Acquire);
                // SAFETY: see `advance`.
                match unsafe { unmarked(next).as_ref() } {
                    Some(node) if is_marked(next) || as_good(node) => tower = &node.tower,
                    _ => {
                        (place.towers[0], place.nexts[0]) = (tower, next);
                        return place;
                    }
                }
            }
        }
    }

    /// Walks on from a tower on an upper level as long as nodes are to be passed; unlinks the
    /// marked ones on the way. `None`: the tower itself is no longer on this level.
    fn advance<'a>(
        &'a self,
        _: &'a Inside<'_, Node<P, T>>,
        level: usize,
        mut tower: &'a Tower<P, T>,
        pass: impl Fn(&Node<P, T>) -> bool,
    ) -> Option<Gap<'a, P, T>> {
        let mut next = tower.link(level).load(Ordering::Acquire);
        loop {
            if is_marked(next) {
                return None;
            }
            // SAFETY: the node was linked on this level at some time since the operation began: see
            // `marked_list.rs`. So neither it nor the nodes after it on the lowest level were cut
            // off then: all of them are freed only after the operation has ended.
            let Some(node) = (unsafe { next.as_ref() }) else { return Some((tower, next)) };
            let after = node.tower.link(level).load(Ordering::Acquire);
            if is_marked(after) {
                // Release: a thread that reads the link sees the next node as this thread does.
                let (yes, no) = (Ordering::Release, Ordering::Acquire);
                match tower.link(level).compare_exchange(next, unmarked(after), yes, no) {
                    Ok(_) => {
                        // Release: the node is unlinked before other threads can see that it is.
                        node.upper.fetch_and(!(1 << level), Ordering::Release);
                        next = unmarked(after);
                    }
                    Err(found) => next = found,
                }
            } else if pass(node) {
                (tower, next) = (&node.tower, after);
            } else {
                return Some((tower, next));
            }
        }
    }

    /// Links a node on its upper levels, as far as no other thread interferes.
    fn raise(&self, inside: &Inside<'_, Node<P, T>>, node: &Node<P, T>, place: &Place<'_, P, T>) {
        if node.height() == 1 {
            return;
        }
        let pointer = ptr::from_ref(node).cast_mut();
        let (yes, no) = (Ordering::AcqRel, Ordering::Acquire);
        for level in 1..node.height() {
            let (link, next) = (node.tower.link(level), place.nexts[level]);
            // It fails if the node has been popped and its links are marked.
            if link.compare_exchange(ptr::null_mut(), next, yes, no).is_err() {
                break;
            }
            node.upper.fetch_or(1 << level, Ordering::Relaxed);
            if place.towers[level].link(level).compare_exchange(next, pointer, yes, no).is_err() {
                node.upper.fetch_and(!(1 << level), Ordering::Relaxed);
                break;
            }
            // With the fence of `take_down`: either this thread sees the mark, or the marking
            // thread finds the node on this level.
            fence(Ordering::SeqCst);
            if is_marked(link.load(Ordering::Acquire)) {
                self.sweep(inside, node, level);
                break;
            }
        }
        node.is_done_with();
    }

    /// Takes a node that was popped off its upper levels.
    fn take_down(&self, inside: &Inside<'_, Node<P, T>>, node: &Node<P, T>) {
        if node.height() == 1 {
            return;
        }
        for level in (1..node.height()).rev() {
            let link = node.tower.link(level);
            let mut next = link.load(Ordering::Acquire);
            // No other thread marks the links of this node.
            while let Err(found) =
                link.compare_exchange(next, marked(next), Ordering::AcqRel, Ordering::Acquire)
            {
                next = found;
            }
        }
        fence(Ordering::SeqCst);
        for level in (1..node.height()).rev() {
            self.sweep(inside, node, level);
        }
        node.is_done_with();
    }

    /// Unlinks a marked node from an upper level, if it is linked there: walks along the level
    /// until the node is seen to be unlinked.
    fn sweep(&self, inside: &Inside<'_, Node<P, T>>, node: &Node<P, T>, level: usize) {
        let is_linked = |_: &Node<P, T>| {
            // Acquire: reads while it was linked come before.
            node.upper.load(Ordering::Acquire) & (1 << level) != 0
        };
        if !is_linked(node) {
            return;
        }
        while self.advance(inside, level, &self.head, is_linked).is_none() {}
    }

    /// Cuts off the nodes before `stays`, if `first` is still the first one: all of them are taken,
    /// and none is linked on upper levels.
    fn cut(&self, inside: &Inside<'_, Node<P, T>>, first: *mut Node<P, T>, stays: *mut Node<P, T>) {
        let mut node = unmarked(first);
        if node == stays {
            return;
        }
        let (yes, no) = (Ordering::Release, Ordering::Relaxed);
        let moved = self.head.next.compare_exchange(first, marked(stays), yes, no);
        if moved.is_err() {
            return;
        }
        while node != stays {
            // SAFETY: the links of taken nodes do not change, and lead to `stays`. By the module's
            // invariant no thread finds the node any more.
            let next = unmarked(unsafe { &*node }.tower.next.load(Ordering::Acquire));
            // SAFETY: one thread alone has cut the node off; see above.
            unsafe { inside.retire(node) };
            node = next;
        }
    }

    /// The height of a new node.
    fn draw_height(&self) -> usize {
        let levels = self.head.upper.len() + 1;
        if levels == 1 {
            return 1;
        }
        let (thread, drawn) = with_thread_index(|thread| {
            let Drawn(drawn) = self.drawn.get(thread);
            let number = drawn.load(Ordering::Relaxed);
            drawn.store(number.wrapping_add(1), Ordering::Relaxed);
            (thread as u64, number)
        });
        let mixed = mix(self.seed ^ mix(thread.wrapping_add(1)).wrapping_add(drawn));
        levels.min(1 + mixed.trailing_zeros() as usize / 2)
    }
}

/// The finalizer of splitmix64 (G. L. Steele, D. Lea, C. H. Flood: Fast splittable pseudorandom
/// number generators. OOPSLA 2014).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl<P: Ord + Clone, T> Default for PriorityQueue<P, T> {
    fn default() -> PriorityQueue<P, T> {
        PriorityQueue::new()
    }
}

impl<P, T> Drop for PriorityQueue<P, T> {
    fn drop(&mut self) {
        let mut next = *self.head.next.get_mut();
        to_the_end(|| {
            if unmarked(next).is_null() {
                return false;
            }
            // SAFETY: the queue is exclusively owned, and each node is in the list once; nodes that
            // were cut off belong to the domain.
            let mut node = unsafe { Box::from_raw(unmarked(next)) };
            let has_value = !is_marked(next);
            next = *node.tower.next.get_mut();
            if has_value {
                drop(Unlinked(Some(node)));
            }
            true
        });
    }
}

impl<P, T> std::fmt::Debug for PriorityQueue<P, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PriorityQueue").finish_non_exhaustive()
    }
}
