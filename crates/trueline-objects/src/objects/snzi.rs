//! A scalable nonzero indicator: reports whether there were more arrivals than departures, without
//! counting at one place.
//!
//! F. Ellen, Y. Lev, V. Luchangco, M. Moir: SNZI: scalable nonzero indicators. PODC 2007. A tree of
//! nodes; a node informs its parent only when it becomes nonempty or empty. The root has an
//! indicator beside its count, and a query reads only that.
//!
//! **A node below the root** counts in halves: it goes from 0 to one half, then arrives at its
//! parent, then goes to 1. A thread that finds one half helps, and arrives at the parent too; all
//! but one of these arrivals are undone at the end. **The root** announces with its first arrival
//! that the indicator must be set; every arrival that sees the announcement sets it. The departure
//! that leaves the root empty clears the indicator, unless the root's version shows a later
//! arrival. `models/snzi.tl` is the root.
//!
//! **Ordering argument.** Arrivals and departures are ordered by their changes of a node that
//! informs the root, or need not: while a node has a surplus, its parent has one on its behalf.
//! **Linearization.** `query` at its read; arrivals and departures with which the surplus of the
//! root begins or ends, where the indicator is written for them; others where they change their
//! node.
//!
//! **Progress.** `query` is wait-free: one read. Arrivals and departures are lock-free. **Cost.**
//! O(depth) at worst, O(1) if others are at the same place. **Limits.** At most 2^30 arrivals at a
//! place that have not departed. Versions have 32 bits: a departure may go wrong if it is stopped
//! while its place goes from empty to nonempty 2^32 times.
//!
//! All accesses are sequentially consistent: the version is read after the indicator, the indicator
//! written after the count.

use super::padded::Padded;
use super::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "std")]
use super::sync::with_thread_index;
use alloc::boxed::Box;

/// Whether there are more arrivals than departures.
///
/// ```
/// let indicator = trueline_objects::Snzi::new(2);
/// assert!(!indicator.query());
/// let arrival = indicator.arrive();
/// assert!(indicator.query());
/// drop(arrival);
/// assert!(!indicator.query());
/// ```
pub struct Snzi {
    /// In the order of a heap: the root first, the children of `i` at `2i + 1` and `2i + 2`, the
    /// places last.
    nodes: Box<[Padded<AtomicU64>]>,
    /// Twice the number of writes, plus one if the surplus is not zero.
    indicator: Padded<AtomicU64>,
}

/// An arrival, which departs when it is dropped.
#[cfg(feature = "std")]
#[must_use]
#[derive(Debug)]
pub struct Arrival<'a> {
    indicator: &'a Snzi,
    place: usize,
}

/// The word of a node: twice the count, whether the indicator must be set (only at the root), a
/// version.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word {
    halves: u32,
    announces: bool,
    version: u32,
}

impl Word {
    fn read(word: u64) -> Word {
        let low = word as u32;
        Word { halves: low >> 1, announces: low & 1 == 1, version: (word >> 32) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.version) << 32 | u64::from(self.halves << 1) | u64::from(self.announces)
    }
}

impl Snzi {
    /// An indicator with `2^depth` places to arrive at. With depth 0 all arrive at the root.
    ///
    /// # Panics
    /// If the depth is more than 16.
    pub fn new(depth: u32) -> Snzi {
        assert!(depth <= 16, "a tree for more threads than there are: the depth is at most 16");
        let nodes = (0..(2 << depth) - 1).map(|_| Padded(AtomicU64::new(0))).collect();
        Snzi { nodes, indicator: Padded(AtomicU64::new(0)) }
    }

    /// Arrives, at the place of this thread. With the feature `std`.
    #[cfg(feature = "std")]
    pub fn arrive(&self) -> Arrival<'_> {
        let place = with_thread_index(|index| index);
        self.arrive_at(place);
        Arrival { indicator: self, place }
    }

    /// Arrives at a place, permanently or until a departure from it. Places may have any numbers,
    /// which are reduced to the existing ones.
    pub fn arrive_at(&self, place: usize) {
        self.arrive_node(self.leaf(place));
    }

    /// Departs from a place at which an earlier arrival has not departed.
    ///
    /// # Panics
    /// If there is no such arrival.
    pub fn depart_from(&self, place: usize) {
        self.depart_node(self.leaf(place));
    }

    /// Whether anybody is there.
    #[inline]
    pub fn query(&self) -> bool {
        self.indicator.load(Ordering::SeqCst) & 1 == 1
    }

    fn leaf(&self, place: usize) -> usize {
        let leaves = self.nodes.len().div_ceil(2);
        leaves - 1 + place % leaves
    }

    fn arrive_node(&self, node: usize) {
        if node == 0 {
            return self.arrive_root();
        }
        let (word, parent) = (&self.nodes[node], (node - 1) / 2);
        // The number of arrivals at the parent that were in vain.
        let mut vain = 0;
        loop {
            let seen = Word::read(word.load(Ordering::SeqCst));
            if seen.halves > 1 {
                if change(word, seen, Word { halves: more(seen.halves), ..seen }) {
                    break;
                }
                continue;
            }
            let mut half = seen;
            if seen.halves == 0 {
                half = Word { halves: 1, version: seen.version.wrapping_add(1), ..seen };
                if !change(word, seen, half) {
                    continue;
                }
            }
            self.arrive_node(parent);
            vain += u32::from(!change(word, half, Word { halves: 2, ..half }));
            if seen.halves == 0 {
                // The half was made by this thread, whichever thread has completed it.
                break;
            }
        }
        for _ in 0..vain {
            self.depart_node(parent);
        }
    }

    fn depart_node(&self, node: usize) {
        if node == 0 {
            return self.depart_root();
        }
        let word = &self.nodes[node];
        loop {
            let seen = Word::read(word.load(Ordering::SeqCst));
            if change(word, seen, Word { halves: less(seen.halves), ..seen }) {
                if seen.halves == 2 {
                    self.depart_node((node - 1) / 2);
                }
                return;
            }
        }
    }

    fn arrive_root(&self) {
        let root = &self.nodes[0];
        let now = loop {
            let seen = Word::read(root.load(Ordering::SeqCst));
            let now = match seen.halves {
                0 => Word { halves: 2, announces: true, version: seen.version.wrapping_add(1) },
                halves => Word { halves: more(halves), ..seen },
            };
            if change(root, seen, now) {
                break now;
            }
        };
        if now.announces {
            let mut seen = self.indicator.load(Ordering::SeqCst);
            while let Err(other) = self.indicate(seen, true) {
                seen = other;
            }
            // Later arrivals need not set it again. If this fails, others have arrived and take
            // care of it.
            change(root, now, Word { announces: false, ..now });
        }
    }

    fn depart_root(&self) {
        let root = &self.nodes[0];
        let seen = loop {
            let seen = Word::read(root.load(Ordering::SeqCst));
            let now = Word { halves: less(seen.halves), announces: false, ..seen };
            if change(root, seen, now) {
                break seen;
            }
        };
        if seen.halves > 2 {
            return;
        }
        loop {
            let indicator = self.indicator.load(Ordering::SeqCst);
            let now = Word::read(root.load(Ordering::SeqCst));
            if now.version != seen.version || self.indicate(indicator, false).is_ok() {
                return;
            }
        }
    }

    /// Writes the indicator unless it was written since this value was read.
    fn indicate(&self, seen: u64, present: bool) -> Result<u64, u64> {
        let now = ((seen >> 1).wrapping_add(1) << 1) | u64::from(present);
        self.indicator.compare_exchange(seen, now, Ordering::SeqCst, Ordering::SeqCst)
    }
}

fn more(halves: u32) -> u32 {
    let more = halves + 2;
    assert!(more < 1 << 31, "at most 2^30 are at a place");
    more
}

fn less(halves: u32) -> u32 {
    assert!(halves >= 2, "one who departs from a place has arrived at it");
    halves - 2
}

fn change(word: &AtomicU64, from: Word, to: Word) -> bool {
    word.compare_exchange(from.word(), to.word(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

#[cfg(feature = "std")]
impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.indicator.depart_from(self.place);
    }
}

impl core::fmt::Debug for Snzi {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Snzi").finish_non_exhaustive()
    }
}
