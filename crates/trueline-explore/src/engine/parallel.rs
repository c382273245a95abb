//! Optimal-DPOR on several cores: the same traces, each once.
//!
//! Wakeup trees and the executions explored so far form one tree, behind one lock. A worker claims
//! a waiting branch, runs the program along it, and merges its findings into the tree. Siblings are
//! ordered: a branch is explored with all earlier siblings asleep, whether they are finished or
//! still running. A reversed race is inserted where its first event began. An earlier sibling of
//! that event's branch covers the sequence if it could begin it. Later siblings are followed as in
//! a wakeup tree, claimed or not, down to where a wakeup sequence ended and the search was free.
//!
//! **The same result as on one core.** Either search explores each trace exactly once, so the
//! counts agree, although representatives and their order may differ. This search does not report
//! failures: the caller runs the sequential search up to its first failure.
//!
//! **Memory.** Everything to the left of the leftmost unfinished branch is freed, except for the
//! first event of each branch, which the other branches need as a sleeper. Workers claim branches
//! deep on the left first.
//!
//! All workers take the numbers of threads from one table, so that a number means the same thread
//! to all.

use std::sync::{Condvar, Mutex, MutexGuard};

use smallvec::SmallVec;

use super::arena::Arena;
use super::footprint::Footprint;
use super::optimal::Sleeper;
use super::races::{Race, Races};
use super::strategy::{BlockedThread, Decision, Strategy, View, choose_again};
use super::trace::{NONE, Trace};
use super::wakeup::{Sequence, Standing};

/// A state, and the event that led there from its parent.
struct Node {
    parent: u32,
    thread: u32,
    choice: u32,
    footprint: Footprint,
    /// Those that slept already at the parent and still do.
    sleepers: Vec<Sleeper>,
    children: SmallVec<[u32; 2]>,
    claimed: bool,
    /// A wakeup sequence ends here: everything after it is explored freely.
    leaf: bool,
    /// It is waiting to be explored freely.
    waiting: bool,
    /// How many branches below wait or are under way.
    open: u32,
    /// Its event has run, so its sleepers are known.
    executed: bool,
    /// Another choice of the environment in the event of a sibling.
    alternative: bool,
    /// Unlike its index, never used again.
    serial: u64,
}

impl Node {
    fn new(parent: u32, thread: u32, choice: u32, footprint: Footprint) -> Node {
        Node {
            parent,
            thread,
            choice,
            footprint,
            sleepers: Vec::new(),
            children: SmallVec::new(),
            claimed: false,
            leaf: false,
            waiting: false,
            open: 0,
            executed: false,
            alternative: false,
            serial: 0,
        }
    }
}

/// Everything explored so far, and the branches still to be explored.
struct Tree {
    nodes: Arena<Node>,
    /// Nodes that may have a waiting branch; workers take the last one first.
    waiting: Vec<u32>,
    active: usize,
    /// Workers that wait for something to claim.
    idle: usize,
    stopped: bool,
    blocked: u64,
    serials: u64,
}

/// The search that workers share.
pub(crate) struct Parallel {
    tree: Mutex<Tree>,
    changed: Condvar,
}

/// One worker's part in the search.
#[derive(Default)]
pub(crate) struct Worker {
    /// From the root to the branch that was claimed; after the run, to its end.
    path: Vec<u32>,
    /// The previous execution, to find the common prefix.
    last_path: Vec<u64>,
    steps: Vec<PathStep>,
    /// How many steps are prescribed.
    prescribed: usize,
    /// Those before this one have been run before.
    known: usize,
    asleep_at: Option<usize>,
    slept_out: bool,
    races: Races,
    found: Vec<Race>,
    items: Vec<u32>,
}

/// One event of the path, and the threads that sleep before it.
#[derive(Default)]
struct PathStep {
    thread: u32,
    choice: u32,
    choices: u32,
    expected: Option<usize>,
    footprint: Option<Footprint>,
    sleepers: Vec<Sleeper>,
    /// Siblings that come first: asleep as soon as this event has run.
    siblings: Vec<Sleeper>,
}

impl Parallel {
    pub(crate) fn new() -> Parallel {
        let mut root = Node::new(NONE, 0, 0, Footprint::new(0, false));
        (root.claimed, root.executed, root.leaf) = (true, true, true);
        (root.waiting, root.open) = (true, 1);
        let mut nodes = Arena::default();
        let root = nodes.add(root);
        let tree = Tree {
            nodes,
            waiting: vec![root],
            active: 0,
            idle: 0,
            stopped: false,
            blocked: 0,
            serials: 0,
        };
        Parallel { tree: Mutex::new(tree), changed: Condvar::new() }
    }

    /// Makes all workers end soon.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Executions that were given up since all that could run slept.
    pub(crate) fn blocked(&self) -> u64 {
        self.lock().blocked
    }

    /// Claims a branch. Returns how many events it shares with the worker's last execution, or
    /// `None` if the search is over.
    pub(crate) fn claim(&self, worker: &mut Worker) -> Option<usize> {
        let mut tree = self.lock();
        loop {
            if tree.stopped {
                return None;
            }
            if let Some(known) = tree.next_branch(&mut worker.path) {
                tree.active += 1;
                return Some(worker.prepare(&tree, known));
            }
            if tree.active == 0 {
                return None;
            }
            tree.idle += 1;
            tree = self.changed.wait(tree).expect("a worker does not panic");
            tree.idle -= 1;
        }
    }

    /// Takes a finished execution into the tree.
    pub(crate) fn finish(&self, worker: &mut Worker, trace: &Trace, blocked: &[BlockedThread]) {
        let mut found = std::mem::take(&mut worker.found);
        found.clear();
        worker.races.find(trace, blocked, |race| found.push(race));
        let mut tree = self.lock();
        tree.extend(worker, trace);
        for race in found.drain(..) {
            let items = std::mem::take(&mut worker.items);
            let first = race.first as usize;
            let mut sequence = Sequence::new(trace, race.first, race.second, items);
            tree.insert(worker.path[first], worker.path[first + 1], trace, &mut sequence);
            worker.items = sequence.into_items();
        }
        worker.found = found;
        worker.last_path.clear();
        worker.last_path.extend(worker.path.iter().map(|&node| tree.node(node).serial));
        tree.active -= 1;
        let claimed = worker.path[worker.known.max(worker.prescribed)];
        tree.count(claimed, -1);
        tree.forget_finished();
        let idle = tree.idle > 0;
        drop(tree);
        if idle {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().expect("a worker does not panic")
    }
}

impl Tree {
    fn node(&self, index: u32) -> &Node {
        &self.nodes[index]
    }

    fn node_mut(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index]
    }

    fn add(&mut self, mut node: Node) -> u32 {
        self.serials += 1;
        node.serial = self.serials;
        self.nodes.add(node)
    }

    /// Adds to the open branches of a node and of all above it.
    fn count(&mut self, mut node: u32, difference: i32) {
        while node != NONE {
            let record = self.node_mut(node);
            record.open = record.open.wrapping_add_signed(difference);
            node = record.parent;
        }
    }

    /// Claims the next branch and writes its path; returns the length of the prefix that has been
    /// run before.
    fn next_branch(&mut self, path: &mut Vec<u32>) -> Option<usize> {
        while let Some(&at) = self.waiting.last() {
            if !self.node(at).executed {
                // It comes back when it is.
                self.waiting.pop();
                continue;
            }
            let mut end = at;
            if self.node(at).waiting {
                self.node_mut(at).waiting = false;
            } else {
                // Its earlier siblings must have run, because their exact footprints as sleepers
                // are needed.
                let next = self.node(at).children.iter().find(|&&c| !self.node(c).executed);
                let Some(&branch) = next.filter(|&&branch| !self.node(branch).claimed) else {
                    // It comes back when they have.
                    self.waiting.pop();
                    continue;
                };
                // Only the first path of each chain; its other branches wait on their own.
                end = branch;
                self.node_mut(end).claimed = true;
                while let Some(&first) = self.node(end).children.first() {
                    end = first;
                    self.node_mut(end).claimed = true;
                }
                self.node_mut(end).leaf = true;
            }
            path.clear();
            let mut node = end;
            while node != NONE {
                path.push(node);
                node = self.node(node).parent;
            }
            path.reverse();
            let known = path.iter().position(|&node| node == at).expect("it is on the path");
            return Some(known);
        }
        None
    }

    /// Takes in the part of a worker's path that was not known.
    fn extend(&mut self, worker: &mut Worker, trace: &Trace) {
        if worker.slept_out {
            self.blocked += 1;
        }
        for depth in worker.known..trace.len() {
            let step = &mut worker.steps[depth];
            let footprint = step.footprint.take().expect("it has run");
            let sleepers = worker.steps[depth + 1].sleepers.clone();
            let step = &worker.steps[depth];
            let parent = worker.path[depth];
            let index = if depth < worker.prescribed {
                worker.path[depth + 1]
            } else {
                let mut node = Node::new(parent, step.thread, step.choice, footprint.clone());
                node.claimed = true;
                let index = self.add(node);
                self.node_mut(parent).children.push(index);
                worker.path.push(index);
                index
            };
            let node = self.node_mut(index);
            node.footprint = footprint;
            node.sleepers = sleepers;
            node.choice = step.choice;
            node.executed = true;
            if node.children.len() > 1 {
                self.waiting.push(index);
            }
            if depth == worker.known {
                self.waiting.push(parent);
            }
            if step.choices > 1 {
                self.add_choices(index, step.choices);
            }
        }
        if let Some(depth) = worker.asleep_at {
            self.drop_asleep(worker, depth);
        }
    }

    /// Adds the other choices that the environment has in an event: sibling branches, explored
    /// freely.
    fn add_choices(&mut self, index: u32, choices: u32) {
        let (parent, thread, choice) = {
            let node = self.node(index);
            (node.parent, node.thread, node.choice)
        };
        if self.node(index).alternative {
            return;
        }
        let footprint = self.node(index).footprint.clone();
        let position = siblings_position(self, parent, index);
        for (offset, other) in (0..choices).filter(|&c| c != choice).enumerate() {
            let mut node = Node::new(parent, thread, other, footprint.clone());
            node.alternative = true;
            let node = self.add(node);
            self.node_mut(parent).children.insert(position + 1 + offset, node);
            self.count(node, 1);
        }
        self.waiting.push(parent);
    }

    /// Handles a prescribed event whose thread slept: it is explored elsewhere. If it was the only
    /// one there, the node is explored freely.
    fn drop_asleep(&mut self, worker: &mut Worker, depth: usize) {
        let (at, child) = (worker.path[depth], worker.path[depth + 1]);
        let open = self.node(child).open as i32;
        // This execution counts at the end of the path; the branches below it are given up as well.
        let keep = worker.path[depth];
        self.count(child, -open);
        self.count(keep, 1);
        worker.path.truncate(depth + 1);
        worker.prescribed = depth;
        self.node_mut(at).children.retain(|c| *c != child);
        self.release(child);
        let sleepers = worker.steps[depth].sleepers.clone();
        let node = self.node_mut(at);
        node.sleepers = sleepers;
        node.sleepers.iter_mut().for_each(|sleeper| sleeper.foreign = true);
        if node.children.is_empty() {
            node.leaf = true;
            node.waiting = true;
            self.count(at, 1);
        }
        self.waiting.push(at);
    }

    fn insert(&mut self, at: u32, own: u32, trace: &Trace, sequence: &mut Sequence) {
        let asleep = |sleeper: &Sleeper| {
            let footprint = (!sleeper.foreign).then_some(&sleeper.footprint);
            sequence.may_begin_with(trace, sleeper.thread, footprint)
        };
        if self.node(at).sleepers.iter().any(asleep) {
            return;
        }
        let mut before = true;
        let mut parent = at;
        loop {
            let mut followed = None;
            for &child in &self.node(parent).children {
                if child == own {
                    before = false;
                    continue;
                }
                let node = self.node(child);
                if parent == at && before {
                    // As good as asleep.
                    if sequence.may_begin_with(trace, node.thread, Some(&node.footprint)) {
                        return;
                    }
                    continue;
                }
                match sequence.standing(trace, node.thread) {
                    Standing::Initial(position) => {
                        if node.choice != sequence.choice(trace, position) {
                            return;
                        }
                        sequence.remove(trace, position);
                        followed = Some(child);
                        break;
                    }
                    Standing::Absent if sequence.independent_of(trace, &node.footprint) => {
                        sequence.pass(&node.footprint);
                        followed = Some(child);
                        break;
                    }
                    Standing::Absent | Standing::Later => {}
                }
            }
            let Some(child) = followed else {
                break;
            };
            let node = self.node(child);
            if node.leaf || node.children.is_empty() {
                return;
            }
            parent = child;
        }
        self.add_chain(parent, trace, sequence);
    }

    fn add_chain(&mut self, parent: u32, trace: &Trace, sequence: &Sequence) {
        let mut last = parent;
        for position in 0..sequence.len() {
            let node = self.add(Node::new(
                last,
                sequence.thread(trace, position),
                sequence.choice(trace, position),
                sequence.footprint(trace, position).clone(),
            ));
            self.node_mut(last).children.push(node);
            last = node;
        }
        if last != parent {
            self.count(last, 1);
            self.waiting.push(parent);
        }
    }

    /// Frees all below the branches that come before the first one that is open.
    fn forget_finished(&mut self) {
        let mut at = 0;
        loop {
            let mut next = None;
            for i in 0..self.node(at).children.len() {
                let child = self.node(at).children[i];
                if self.node(child).open > 0 {
                    next = Some(child);
                    break;
                }
                for below in std::mem::take(&mut self.node_mut(child).children) {
                    self.release(below);
                }
                self.node_mut(child).leaf = true;
            }
            match next {
                None => return,
                Some(child) => at = child,
            }
        }
    }

    /// Iterative, because paths may be as long as executions.
    fn release(&mut self, index: u32) {
        let mut indices = vec![index];
        while let Some(index) = indices.pop() {
            let node = self.node_mut(index);
            indices.extend(std::mem::take(&mut node.children));
            node.sleepers = Vec::new();
            // A list that still contains it finds nothing there.
            (node.claimed, node.waiting, node.executed) = (true, false, false);
            self.nodes.release(index);
        }
    }
}

fn siblings_position(tree: &Tree, parent: u32, index: u32) -> usize {
    let children = &tree.node(parent).children;
    children.iter().position(|&c| c == index).expect("a child of its parent")
}

impl Worker {
    /// Reads the path out of the tree; returns how many events it shares with the last execution.
    fn prepare(&mut self, tree: &Tree, known: usize) -> usize {
        self.known = known;
        self.prescribed = self.path.len() - 1;
        self.asleep_at = None;
        self.slept_out = false;
        while self.steps.len() <= self.path.len() {
            self.steps.push(PathStep::default());
        }
        for depth in 0..self.prescribed {
            let child = tree.node(self.path[depth + 1]);
            let step = &mut self.steps[depth];
            step.thread = child.thread;
            step.choice = child.choice;
            step.choices = 1;
            step.expected = Some(child.footprint.location);
            step.footprint = None;
            step.siblings.clear();
            if depth < known {
                continue;
            }
            for &sibling in &tree.node(self.path[depth]).children {
                if sibling == self.path[depth + 1] {
                    break;
                }
                let node = tree.node(sibling);
                if node.thread == child.thread {
                    continue;
                }
                // The footprint of a sleeping thread covers all its choices.
                match step.siblings.iter_mut().find(|sleeper| sleeper.thread == node.thread) {
                    Some(sleeper) => sleeper.footprint.join(&node.footprint),
                    None => step.siblings.push(Sleeper {
                        thread: node.thread,
                        footprint: node.footprint.clone(),
                        foreign: false,
                    }),
                }
            }
        }
        self.steps[known].sleepers.clone_from(&tree.node(self.path[known]).sleepers);
        let path = self.path.iter().map(|&node| tree.node(node).serial);
        let common = path.zip(&self.last_path).take_while(|(a, b)| a == *b).count();
        common.saturating_sub(1).min(known)
    }
}

impl Strategy for Worker {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let depth = view.trace.len();
        while self.steps.len() <= depth + 1 {
            self.steps.push(PathStep::default());
        }
        let step = &mut self.steps[depth];
        if depth < self.prescribed {
            let asleep = |sleeper: &Sleeper| sleeper.thread == step.thread;
            if depth >= self.known && step.sleepers.iter().chain(&step.siblings).any(asleep) {
                self.asleep_at = Some(depth);
                self.slept_out = true;
                return Decision::GiveUp;
            }
            return Decision::Run(step.thread);
        }
        step.sleepers.iter_mut().for_each(|sleeper| sleeper.foreign = true);
        let awake = |thread: &u32| step.sleepers.iter().all(|s| s.thread != *thread);
        let Some(thread) = view.preferred(awake) else {
            self.slept_out = true;
            return Decision::GiveUp;
        };
        step.thread = thread;
        (step.choice, step.choices) = (0, 1);
        step.expected = None;
        step.siblings.clear();
        Decision::Run(thread)
    }

    fn decided(&self, view: &View<'_>) -> Option<u32> {
        let depth = view.trace.len();
        (depth < self.prescribed).then(|| self.steps[depth].thread)
    }

    fn has_chosen(&self, trace: &Trace) -> bool {
        self.steps[trace.len()].choice > 0
    }

    fn choose(&mut self, trace: &Trace, count: u32) -> u32 {
        let step = &mut self.steps[trace.len()];
        choose_again(&mut step.choice, &mut step.choices, count)
    }

    fn executed(&mut self, trace: &Trace) -> bool {
        let depth = trace.len() - 1;
        if depth < self.known {
            return true;
        }
        let event = trace.event(depth as u32);
        let (before, after) = self.steps.split_at_mut(depth + 1);
        let (step, next) = (&mut before[depth], &mut after[0]);
        step.footprint = Some(event.footprint.clone());
        if step.expected.is_some_and(|location| location != event.footprint.location) {
            return false;
        }
        let still = step.sleepers.iter().chain(&step.siblings);
        next.sleepers.clear();
        next.sleepers.extend(still.filter(|sleeper| !sleeper.is_woken_by(event)).cloned());
        true
    }
}
