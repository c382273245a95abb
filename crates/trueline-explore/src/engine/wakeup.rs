//! Wakeup trees: the sequences of events still to be explored from a state, which share their
//! beginnings.
//!
//! From 'Source Sets: A Foundation for Optimal Dynamic Partial Order Reduction' (Abdulla, Aronsson,
//! Jonsson, Sagonas, J. ACM 2017), section 6. A sequence is inserted only if no sequence in the
//! tree covers it. An ordered walk from the root follows each child that is an initial of the rest
//! of the sequence, or independent of all of it. If the walk ends in a leaf, the sequence is
//! covered. Otherwise the rest becomes a new, last branch at the node where the walk stopped.
//!
//! All trees of a search lie in one arena.

use super::arena::Arena;
use super::footprint::Footprint;
use super::races::Second;
use super::trace::{NONE, Trace};

/// A node: an event to run.
#[derive(Clone, Debug)]
pub(crate) struct WakeupNode {
    pub(crate) thread: u32,
    pub(crate) choice: u32,
    pub(crate) footprint: Footprint,
    pub(crate) first_child: u32,
    pub(crate) next_sibling: u32,
}

/// The arena of the trees. A tree is named by its first root.
#[derive(Default)]
pub(crate) struct WakeupTrees {
    nodes: Arena<WakeupNode>,
}

impl WakeupTrees {
    /// Forgets all trees.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    pub(crate) fn node(&self, index: u32) -> &WakeupNode {
        &self.nodes[index]
    }

    /// Takes the first root out of a tree: the node, its children still in the arena.
    pub(crate) fn take_first(&mut self, tree: &mut u32) -> Option<WakeupNode> {
        if *tree == NONE {
            return None;
        }
        let node = self.nodes[*tree].clone();
        self.nodes.release(*tree);
        *tree = node.next_sibling;
        Some(node)
    }

    /// Frees a tree. Iterative, because chains may be as long as executions.
    pub(crate) fn release(&mut self, tree: &mut u32) {
        let mut trees = vec![std::mem::replace(tree, NONE)];
        while let Some(mut tree) = trees.pop() {
            while let Some(node) = self.take_first(&mut tree) {
                trees.push(node.first_child);
            }
        }
    }

    /// Adds a sequence, unless the tree covers it. Whether it was added.
    pub(crate) fn insert(
        &mut self,
        tree: &mut u32,
        trace: &Trace,
        sequence: &mut Sequence,
    ) -> bool {
        let mut parent = NONE;
        loop {
            let mut child = if parent == NONE { *tree } else { self.node(parent).first_child };
            let mut last = NONE;
            let followed = loop {
                if child == NONE {
                    break false;
                }
                let node = self.node(child);
                match sequence.standing(trace, node.thread) {
                    Standing::Initial(position) => {
                        // The other outcomes of the child's choice are explored after it.
                        if node.choice != sequence.choice(trace, position) {
                            return false;
                        }
                        sequence.remove(trace, position);
                        break true;
                    }
                    Standing::Absent if sequence.independent_of(trace, &node.footprint) => {
                        sequence.pass(&node.footprint);
                        break true;
                    }
                    Standing::Absent | Standing::Later => {}
                }
                last = child;
                child = node.next_sibling;
            };
            if !followed {
                let branch = self.chain(trace, sequence);
                if branch == NONE {
                    return false;
                }
                match (last, parent) {
                    (NONE, NONE) => *tree = branch,
                    (NONE, parent) => self.nodes[parent].first_child = branch,
                    (last, _) => self.nodes[last].next_sibling = branch,
                }
                return true;
            }
            if self.node(child).first_child == NONE {
                return false;
            }
            parent = child;
        }
    }

    fn chain(&mut self, trace: &Trace, sequence: &Sequence) -> u32 {
        let mut first_child = NONE;
        for position in (0..sequence.items.len()).rev() {
            first_child = self.nodes.add(WakeupNode {
                thread: sequence.thread(trace, position),
                choice: sequence.choice(trace, position),
                footprint: sequence.footprint(trace, position).clone(),
                first_child,
                next_sibling: NONE,
            });
        }
        first_child
    }
}

/// The position of a thread's first event in a sequence.
pub(crate) enum Standing {
    /// Nothing in the sequence happens before it; here it is.
    Initial(usize),
    /// Something does.
    Later,
    /// The thread has no event in it.
    Absent,
}

/// Events of a trace that do not depend on some event, followed by an access that is to come before
/// that event.
pub(crate) struct Sequence {
    /// Events; [`NONE`] stands for the access at the end.
    items: Vec<u32>,
    second: Second,
    /// The event that the sequence leaves out.
    first: u32,
    /// How many of the events before the rest of the sequence give up an owner.
    passed: u64,
}

impl Sequence {
    /// Everything from `first` on that does not happen after it, and then `second`. Reuses the
    /// vector.
    pub(crate) fn new(trace: &Trace, first: u32, second: Second, mut items: Vec<u32>) -> Sequence {
        items.clear();
        let event = trace.event(first);
        let later = trace.known_of(event.thread, first + 1).zip(first + 1..);
        items.reserve(trace.len() - first as usize);
        later.filter(|&(known, _)| known < event.number).for_each(|(_, index)| items.push(index));
        items.push(NONE);
        Sequence { items, second, first, passed: 0 }
    }

    /// Gives the vector back.
    pub(crate) fn into_items(self) -> Vec<u32> {
        self.items
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn thread(&self, trace: &Trace, position: usize) -> u32 {
        match self.items[position] {
            NONE => self.second.thread,
            event => trace.event(event).thread,
        }
    }

    pub(crate) fn choice(&self, trace: &Trace, position: usize) -> u32 {
        match self.items[position] {
            NONE => 0,
            event => trace.event(event).choice,
        }
    }

    pub(crate) fn footprint<'a>(&'a self, trace: &'a Trace, position: usize) -> &'a Footprint {
        match self.items[position] {
            NONE => &self.second.footprint,
            event => &trace.event(event).footprint,
        }
    }

    /// Removes an event of the sequence: it comes before the rest of it.
    pub(crate) fn remove(&mut self, trace: &Trace, position: usize) {
        self.passed += u64::from(self.footprint(trace, position).gives_up);
        self.items.remove(position);
    }

    /// The position of the first event of a thread.
    pub(crate) fn standing(&self, trace: &Trace, thread: u32) -> Standing {
        let found = (0..self.items.len()).find(|&p| self.thread(trace, p) == thread);
        let Some(position) = found else {
            return Standing::Absent;
        };
        let earlier = &self.items[..position];
        let depends = match self.items[position] {
            NONE => {
                let second = &self.second;
                let clock = trace.clock_after(second.thread, second.previous);
                earlier.iter().any(|&other| {
                    trace.precedes(other, clock)
                        || trace.event(other).footprint.conflicts(&second.footprint)
                })
            }
            event => {
                let clock = trace.clock(event);
                earlier.iter().any(|&other| trace.precedes(other, clock))
            }
        };
        if depends { Standing::Later } else { Standing::Initial(position) }
    }

    /// Whether nothing in the sequence conflicts with this.
    pub(crate) fn independent_of(&self, trace: &Trace, footprint: &Footprint) -> bool {
        (0..self.items.len()).all(|p| !self.footprint(trace, p).conflicts(footprint))
            && !(footprint.gives_up && self.leaves_one(trace, footprint))
    }

    /// Notes an event outside of the sequence that comes before the rest of it.
    pub(crate) fn pass(&mut self, footprint: &Footprint) {
        self.passed += u64::from(footprint.gives_up);
    }

    /// Whether an event that gives up an owner after the sequence may give up the last one because
    /// of the sequence. In doubt it returns true: that may repeat an execution, but hides none.
    #[cold]
    fn leaves_one(&self, trace: &Trace, footprint: &Footprint) -> bool {
        let (mut given_up, mut cloned) = (0, 0);
        for (position, &item) in self.items.iter().enumerate() {
            let other = self.footprint(trace, position);
            if other.both_give_up(footprint) {
                given_up += 1;
            } else if item != NONE && other.location == footprint.location {
                // Whatever writes here has been found to conflict.
                let effect = &trace.event(item).effect;
                cloned += effect.after.saturating_sub(effect.before);
            }
        }
        if given_up == 0 {
            return false;
        }
        let mut owners = 0;
        let mut at = trace.locations.last(footprint.location);
        while at != NONE && trace.touch(at).event >= self.first {
            owners = trace.touch(at).before;
            at = trace.touch(at).previous;
        }
        owners + cloned < 2 + given_up + self.passed
    }

    /// Whether the thread's next event, with this footprint, can begin an execution that contains
    /// the sequence. Without a footprint: whether the event is in the sequence and can begin it.
    pub(crate) fn may_begin_with(
        &self,
        trace: &Trace,
        thread: u32,
        footprint: Option<&Footprint>,
    ) -> bool {
        match self.standing(trace, thread) {
            Standing::Initial(_) => true,
            Standing::Later => false,
            Standing::Absent => footprint.is_some_and(|f| self.independent_of(trace, f)),
        }
    }
}
