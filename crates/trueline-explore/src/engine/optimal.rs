//! Explores every trace once: Optimal-DPOR.
//!
//! After Abdulla, Aronsson, Jonsson and Sagonas, 'Source Sets' (J. ACM 2017), algorithm 2:
//! depth-first search over executions. After each execution every race in it is reversed, and the
//! sequence that does so is inserted into the wakeup tree of the state before the race, unless a
//! thread that sleeps there could begin it. Sleeping threads are those whose event, run there, has
//! been explored and has not been interfered with since.
//!
//! It reverses all races of an execution, even if earlier executions had the same two events. The
//! sequence that reverses a race contains everything up to the end of the execution that does not
//! depend on the first event, and that differs from one execution to the next.
//!
//! The effect of a read-modify-write is known only after it has run, so a sleeping thread keeps the
//! footprint that its event had. The footprint at the time of a reversal is predicted from the
//! value that its location has there.
//!
//! **Sleepers outside of wakeup trees.** A wakeup sequence wakes all threads that sleep where it
//! was inserted, and the algorithm relies on that: it may omit a reversal that a sleeping thread
//! could begin, because the exploration of that thread has inserted everything that is missing. If
//! a sequence was predicted too cautiously, or a choice left its path, threads may stay asleep
//! after it. These sleepers are marked as foreign. They exclude only sequences that begin with one
//! of their events: there the search is source-DPOR with sleep sets, which misses nothing but may
//! begin executions that it gives up.
//!
//! Choices of the environment are part of an event: all of them are explored before the thread
//! falls asleep. Whatever is chosen, the event conflicts with everything that any outcome conflicts
//! with. Otherwise a schedule with a harmless choice would seem to cover those with a harmful one.
//! This costs executions that differ only in the order of a harmless outcome.
//!
//! **Invariant**: if the environment chooses nothing, no execution repeats another up to the order
//! of independent events. If moreover every effect is predicted exactly, no execution is given up
//! because all threads that can run are asleep (`blocked` counts those).
//!
//! Cost: an execution of `n` events has at most as many races as pairs of conflicting events. Each
//! race costs `O(n)` clock comparisons, and `O(n)` for each sleeping thread and each tree node
//! passed.

use super::footprint::Footprint;
use super::races::{Race, Races};
use super::strategy::{BlockedThread, Decision, Strategy, View, choose_again};
use super::trace::{Event, NONE, Trace};
use super::wakeup::{Sequence, WakeupNode, WakeupTrees};

/// A thread whose next event need not be run first.
#[derive(Clone, Debug)]
pub(crate) struct Sleeper {
    pub(crate) thread: u32,
    pub(crate) footprint: Footprint,
    /// It was already asleep when the search left the wakeup tree.
    pub(crate) foreign: bool,
}

impl Sleeper {
    /// Whether the thread's event would not commute with this one, at the point where this one
    /// began.
    #[inline]
    pub(crate) fn is_woken_by(&self, event: &Event) -> bool {
        self.footprint.conflicts(&event.footprint)
            // There were two owners: if the thread had given up its own first, this event would
            // have given up the last.
            || self.footprint.both_give_up(&event.footprint) && event.effect.before == 2
    }
}

/// A state of the current execution, and what was chosen there.
struct Node {
    thread: u32,
    /// What the environment chose in this event, what it chose first, and the number of choices.
    choice: u32,
    first_choice: u32,
    choices: u32,
    sleepers: Vec<Sleeper>,
    /// The wakeup tree, without the branch under way.
    pending: u32,
    /// The location that the event must touch, if another execution has made this event.
    expected: Option<usize>,
}

impl Default for Node {
    fn default() -> Node {
        Node {
            thread: 0,
            choice: 0,
            first_choice: 0,
            choices: 1,
            sleepers: Vec::new(),
            pending: NONE,
            expected: None,
        }
    }
}

impl Node {
    fn sleeps(&self, thread: u32) -> bool {
        self.sleepers.iter().any(|sleeper| sleeper.thread == thread)
    }

    fn estrange_sleepers(&mut self) {
        self.sleepers.iter_mut().for_each(|sleeper| sleeper.foreign = true);
    }

    /// Takes the next branch out of the wakeup tree. Skips a branch whose thread sleeps: its effect
    /// was predicted too cautiously, and it is explored elsewhere.
    #[inline]
    fn next_branch(&mut self, trees: &mut WakeupTrees) -> Option<WakeupNode> {
        if self.pending == NONE { None } else { self.take_branch(trees) }
    }

    fn take_branch(&mut self, trees: &mut WakeupTrees) -> Option<WakeupNode> {
        while let Some(mut branch) = trees.take_first(&mut self.pending) {
            if !self.sleeps(branch.thread) {
                return Some(branch);
            }
            trees.release(&mut branch.first_child);
            self.estrange_sleepers();
        }
        None
    }
}

/// The search.
#[derive(Default)]
pub(crate) struct Optimal {
    /// One for each event of the current execution, and spare ones.
    nodes: Vec<Node>,
    trees: WakeupTrees,
    /// The number of decided events of the execution. All but the last are the same as in the
    /// previous execution.
    decided: usize,
    races: Races,
    items: Vec<u32>,
    /// Executions that were given up since all that could run slept.
    pub(crate) blocked: u64,
}

impl Optimal {
    /// How many events of the execution to come are those of the one before.
    pub(crate) fn kept(&self) -> usize {
        self.decided.saturating_sub(1)
    }

    /// Resets it and keeps its memory. A node is reset when the event before it runs; the first one
    /// here.
    pub(crate) fn renew(&mut self) {
        if let Some(root) = self.nodes.first_mut() {
            root.sleepers.clear();
            root.pending = NONE;
        }
        self.trees.clear();
        (self.decided, self.blocked) = (0, 0);
    }

    fn prepare(&mut self, depth: usize) {
        while self.nodes.len() <= depth {
            self.nodes.push(Node::default());
        }
    }

    /// Takes in the execution that has ended and moves on to the next one. Returns false if there
    /// is none.
    pub(crate) fn advance(&mut self, trace: &Trace, blocked: &[BlockedThread]) -> bool {
        let mut races = std::mem::take(&mut self.races);
        races.find(trace, blocked, |race| self.reverse(trace, race));
        self.races = races;
        self.backtrack(trace)
    }

    fn reverse(&mut self, trace: &Trace, race: Race) {
        let items = std::mem::take(&mut self.items);
        let mut sequence = Sequence::new(trace, race.first, race.second, items);
        let node = &mut self.nodes[race.first as usize];
        let covered = node.sleepers.iter().any(|sleeper| {
            let footprint = (!sleeper.foreign).then_some(&sleeper.footprint);
            sequence.may_begin_with(trace, sleeper.thread, footprint)
        });
        if !covered {
            self.trees.insert(&mut node.pending, trace, &mut sequence);
        }
        self.items = sequence.into_items();
    }

    fn backtrack(&mut self, trace: &Trace) -> bool {
        for depth in (0..trace.len()).rev() {
            let node = &mut self.nodes[depth];
            // The environment's next choice in this event, the first one left out.
            let next = if node.choice == node.first_choice { 0 } else { node.choice + 1 };
            let next = if next == node.first_choice { next + 1 } else { next };
            if next < node.choices {
                node.choice = next;
                self.decided = depth + 1;
                let mut rest = std::mem::replace(&mut self.nodes[depth + 1].pending, NONE);
                self.trees.release(&mut rest);
                return true;
            }
            if node.pending == NONE {
                continue;
            }
            let footprint = trace.event(depth as u32).footprint.clone();
            node.sleepers.push(Sleeper { thread: node.thread, footprint, foreign: false });
            if let Some(branch) = node.next_branch(&mut self.trees) {
                node.thread = branch.thread;
                node.expected = Some(branch.footprint.location);
                (node.choice, node.first_choice, node.choices) = (branch.choice, branch.choice, 1);
                self.decided = depth + 1;
                self.prepare(depth + 1);
                self.nodes[depth + 1].pending = branch.first_child;
                return true;
            }
        }
        false
    }
}

impl Strategy for Optimal {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let depth = view.trace.len();
        self.prepare(depth);
        if depth < self.decided {
            return Decision::Run(self.nodes[depth].thread);
        }
        let mut subtree = NONE;
        let node = &mut self.nodes[depth];
        if let Some(branch) = node.next_branch(&mut self.trees) {
            node.thread = branch.thread;
            node.expected = Some(branch.footprint.location);
            node.choice = branch.choice;
            subtree = branch.first_child;
        } else {
            node.estrange_sleepers();
            let awake = |thread: &u32| !node.sleeps(*thread);
            let Some(thread) = view.preferred(awake) else {
                self.blocked += 1;
                return Decision::GiveUp;
            };
            node.thread = thread;
            node.choice = 0;
            node.expected = None;
        }
        node.first_choice = node.choice;
        node.choices = 1;
        self.decided = depth + 1;
        self.prepare(depth + 1);
        self.nodes[depth + 1].pending = subtree;
        Decision::Run(self.nodes[depth].thread)
    }

    fn decided(&self, view: &View<'_>) -> Option<u32> {
        let depth = view.trace.len();
        let node = self.nodes.get(depth)?;
        if depth < self.decided {
            return Some(node.thread);
        }
        let mut branch = node.pending;
        while branch != NONE {
            let WakeupNode { thread, next_sibling, .. } = *self.trees.node(branch);
            if !node.sleeps(thread) {
                return Some(thread);
            }
            branch = next_sibling;
        }
        None
    }

    fn has_chosen(&self, trace: &Trace) -> bool {
        let node = &self.nodes[trace.len()];
        node.choice > 0 || node.choices > 1
    }

    fn choose(&mut self, trace: &Trace, count: u32) -> u32 {
        let node = &mut self.nodes[trace.len()];
        choose_again(&mut node.choice, &mut node.choices, count)
    }

    fn executed(&mut self, trace: &Trace) -> bool {
        let depth = trace.len() - 1;
        if depth + 1 < self.decided {
            return true;
        }
        let event = trace.event(depth as u32);
        let expected = self.nodes[depth].expected.take();
        if expected.is_some_and(|location| location != event.footprint.location) {
            return false;
        }
        let (before, after) = self.nodes.split_at_mut(depth + 1);
        let (node, next) = (&before[depth], &mut after[0]);
        next.sleepers.clear();
        for sleeper in &node.sleepers {
            if !sleeper.is_woken_by(event) {
                next.sleepers.push(sleeper.clone());
            }
        }
        true
    }
}
