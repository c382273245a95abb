//! The heap: which nodes are reachable, and their names in the order of a traversal.
//!
//! A node's number is an accident of allocation. [`normalise`] renames nodes in the order in which a
//! breadth first walk meets them, first from the shared variables and then from the processes, in
//! order. It resets all other nodes: unreachable nodes are garbage, and two states that differ only
//! in the names of nodes become equal. Cost: the slots of the frame.

use crate::program::MOST_NODES;

use super::layout::{Layout, PC};

/// Scratch space for walks over the heap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// By pool and node: the new name; 0 if the walk has not met the node.
    names: Vec<[u8; MOST_NODES + 1]>,
    /// How many of each pool are met.
    met: Vec<u8>,
    queue: Vec<(usize, i32)>,
    copy: Vec<i32>,
}

impl Walk {
    fn clear(&mut self, pools: usize) {
        self.names.clear();
        self.names.resize(pools, [0; MOST_NODES + 1]);
        self.met.clear();
        self.met.resize(pools, 0);
        self.queue.clear();
    }

    fn meet(&mut self, pool: usize, node: i32) {
        if node > 0 && self.names[pool][node as usize] == 0 {
            self.met[pool] += 1;
            self.names[pool][node as usize] = self.met[pool];
            self.queue.push((pool, node));
        }
    }

    fn follow(&mut self, layout: &Layout, frame: &[i32]) {
        let mut next = 0;
        while next < self.queue.len() {
            let (pool, node) = self.queue[next];
            next += 1;
            let at = &layout.pools[pool];
            for &(field, to) in &at.references.pointers {
                self.meet(to, frame[at.slot(node, field)]);
            }
        }
    }

    fn shared(&mut self, layout: &Layout, frame: &[i32]) {
        for &(slot, pool) in &layout.shared_references.pointers {
            self.meet(pool, frame[slot]);
        }
    }

    fn process(&mut self, layout: &Layout, frame: &[i32], p: usize, operation: Option<usize>) {
        let block = layout.block(p);
        for &(offset, pool) in &layout.own_references.pointers {
            self.meet(pool, frame[block + offset]);
        }
        if let Some(operation) = operation {
            for &(offset, pool) in &layout.local_references[operation].pointers {
                self.meet(pool, frame[block + offset]);
            }
        }
    }

    /// Names every reachable node. `operation` gives the operation of a process.
    fn everything(
        &mut self,
        layout: &Layout,
        frame: &[i32],
        operation: impl Fn(usize) -> Option<usize>,
    ) {
        self.clear(layout.pools.len());
        self.shared(layout, frame);
        for p in 0..layout.processes {
            self.process(layout, frame, p, operation(p));
        }
        self.follow(layout, frame);
    }

    /// Whether something refers to the node, after a walk.
    pub(crate) fn reached(&self, pool: usize, node: i32) -> bool {
        self.names[pool][node as usize] != 0
    }

    /// The name of a node after a walk; 0 for null and for a node that the walk has not met.
    pub(crate) fn name(&self, pool: usize, node: i32) -> i32 {
        if node > 0 { i32::from(self.names[pool][node as usize]) } else { 0 }
    }

    /// Finds the reachable nodes while a step runs: `running` performs the operation, or calls it
    /// in this step.
    pub(crate) fn reach(
        &mut self,
        layout: &Layout,
        frame: &[i32],
        of: &[usize],
        running: (usize, Option<usize>),
    ) {
        self.everything(layout, frame, |p| {
            if p == running.0 { running.1 } else { performed(layout, of, frame, p) }
        });
    }

    /// Names the nodes that are reachable from shared variables, without any process.
    pub(crate) fn reach_shared(&mut self, layout: &Layout, frame: &[i32]) {
        self.clear(layout.pools.len());
        self.shared(layout, frame);
        self.follow(layout, frame);
    }

    /// Extends the walk to the nodes that this process reaches.
    pub(crate) fn reach_more(&mut self, layout: &Layout, frame: &[i32], of: &[usize], p: usize) {
        self.process(layout, frame, p, performed(layout, of, frame, p));
        self.follow(layout, frame);
    }
}

/// The operation that a process performs between steps; `of` maps locations to operations.
pub(crate) fn performed(layout: &Layout, of: &[usize], frame: &[i32], p: usize) -> Option<usize> {
    let pc = frame[layout.block(p) + PC];
    (pc > 0).then(|| of[pc as usize - 1])
}

/// Renames the nodes of a frame and resets those that nothing refers to.
pub(crate) fn normalise(layout: &Layout, of: &[usize], frame: &mut [i32], walk: &mut Walk) {
    if layout.pools.is_empty() {
        return;
    }
    walk.everything(layout, frame, |p| performed(layout, of, frame, p));
    let heap = layout.pools[0].base..layout.blocks;
    let mut copy = std::mem::take(&mut walk.copy);
    copy.clear();
    copy.extend_from_slice(&layout.first[heap.clone()]);
    for &(pool, node) in &walk.queue {
        let at = &layout.pools[pool];
        let from = at.slot(node, 0);
        let to = at.slot(walk.name(pool, node), 0) - heap.start;
        copy[to..to + at.stride].copy_from_slice(&frame[from..from + at.stride]);
        for &(field, target) in &at.references.pointers {
            copy[to + field] = walk.name(target, copy[to + field]);
        }
    }
    frame[heap].copy_from_slice(&copy);
    walk.copy = copy;
    for &(slot, pool) in &layout.shared_references.pointers {
        frame[slot] = walk.name(pool, frame[slot]);
    }
    for p in 0..layout.processes {
        let block = layout.block(p);
        for &(offset, pool) in &layout.own_references.pointers {
            frame[block + offset] = walk.name(pool, frame[block + offset]);
        }
        if let Some(operation) = performed(layout, of, frame, p) {
            for &(offset, pool) in &layout.local_references[operation].pointers {
                frame[block + offset] = walk.name(pool, frame[block + offset]);
            }
        }
    }
}
