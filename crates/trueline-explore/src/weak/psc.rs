//! The axiom SC: the partial order of SeqCst accesses and fences (psc) has no cycle.
//!
//! As in 'Repairing Sequential Consistency in C/C++11' (Lahav, Vafeiadis, Kang, Hur, Dreyer: PLDI
//! 2017), with C++20's `sb ; hb ; sb` for all locations, in which the halves of a read-modify-write
//! count as one event.
//!
//! The relations are rows of bits. The cost is quadratic in the number of events, unless there are
//! fewer than two SeqCst events.

use super::graph::{Event, EventId, Graph, Kind};
use super::program::Order;

/// A relation, or sets of events, as rows of bits.
struct Rows {
    words: usize,
    bits: Vec<u64>,
}

impl Rows {
    fn new(rows: usize, columns: usize) -> Rows {
        let words = columns.div_ceil(64).max(1);
        Rows { words, bits: vec![0; rows * words] }
    }

    fn set(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    fn has(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 != 0
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    /// Adds a row of another relation to one of this.
    fn join(&mut self, row: usize, other: &Rows, from: usize) {
        for word in 0..self.words {
            self.bits[row * self.words + word] |= other.bits[from * other.words + word];
        }
    }

    fn meets(&self, row: usize, other: &Rows, with: usize) -> bool {
        self.row(row).iter().zip(other.row(with)).any(|(a, b)| a & b != 0)
    }

    /// Whether the transitive closure has a loop; both sides are the same events.
    fn has_cycle(mut self, count: usize) -> bool {
        for middle in 0..count {
            for row in 0..count {
                if self.has(row, middle) {
                    let (words, bits) = (self.words, &mut self.bits);
                    for word in 0..words {
                        bits[row * words + word] |= bits[middle * words + word];
                    }
                }
            }
        }
        (0..count).any(|event| self.has(event, event))
    }
}

/// An event with its rows of the relations.
struct Node<'a> {
    id: EventId,
    event: &'a Event,
    /// For an access: the rank in mo of the write that it is or reads.
    rank: usize,
}

/// Whether the graph satisfies the axiom SC. All its writes must be placed.
pub(super) fn is_acyclic(graph: &Graph) -> bool {
    let strong = graph.events().filter(|(_, event)| event.order == Order::SeqCst).count();
    if strong < 2 {
        return true;
    }
    let nodes: Vec<Node<'_>> = graph.events().map(|(id, event)| node(graph, id, event)).collect();
    let strong: Vec<usize> =
        (0..nodes.len()).filter(|&node| nodes[node].event.order == Order::SeqCst).collect();
    !order(graph, &nodes, &strong).has_cycle(strong.len())
}

fn node<'a>(graph: &Graph, id: EventId, event: &'a Event) -> Node<'a> {
    let rank = match event.kind {
        Kind::Read => graph.place(id).rank(event.source),
        Kind::Write => graph.place(id).rank(id),
        Kind::Fence | Kind::Choice => 0,
    };
    Node { id, event, rank }
}

/// psc, by indices into `strong`.
fn order(graph: &Graph, nodes: &[Node<'_>], strong: &[usize]) -> Rows {
    let count = nodes.len();
    let is_fence = |node: usize| nodes[node].event.kind == Kind::Fence;
    let fences = strong.iter().any(|&node| is_fence(node));
    let (mut steps, mut eco) = (Rows::new(count, count), Rows::new(count, count));
    for (x, first) in nodes.iter().enumerate() {
        for (y, second) in nodes.iter().enumerate() {
            if x != y && is_step(graph, first, second) {
                steps.set(x, y);
            }
            if fences && x != y && is_extended_coherence(first, second) {
                eco.set(x, y);
            }
        }
    }
    // For each strong event: the events where a step may begin, and those where one may end.
    let (mut begin, mut end) = (Rows::new(strong.len(), count), Rows::new(strong.len(), count));
    for (row, &node) in strong.iter().enumerate() {
        begin.set(row, node);
        end.set(row, node);
        if is_fence(node) {
            for (other, known) in nodes.iter().enumerate() {
                if graph.happens_before(nodes[node].id, known.id) {
                    begin.set(row, other);
                }
                if graph.happens_before(known.id, nodes[node].id) {
                    end.set(row, other);
                }
            }
        }
    }
    let mut psc = Rows::new(strong.len(), strong.len());
    for (row, &from) in strong.iter().enumerate() {
        let (mut reached, mut passed) = (Rows::new(1, count), Rows::new(1, count));
        for node in (0..count).filter(|&node| begin.has(row, node)) {
            reached.join(0, &steps, node);
            if node != from {
                passed.join(0, &eco, node);
            }
        }
        for (column, &to) in strong.iter().enumerate() {
            let mut follows = reached.meets(0, &end, column);
            if is_fence(from) && is_fence(to) {
                // A fence is in no eco, so that the end's own bit does not matter.
                follows |= graph.happens_before(nodes[from].id, nodes[to].id)
                    || passed.meets(0, &end, column);
            }
            if follows {
                psc.set(row, column);
            }
        }
    }
    psc
}

/// scb: the steps that a SeqCst order follows.
fn is_step(graph: &Graph, first: &Node<'_>, second: &Node<'_>) -> bool {
    if first.id.thread == second.id.thread && first.id.index < second.id.index {
        return true;
    }
    let same = accesses_same(first, second);
    if same && graph.happens_before(first.id, second.id) {
        return true;
    }
    if same && second.event.kind == Kind::Write {
        // mo, or rb.
        if first.rank < second.rank {
            return true;
        }
    }
    is_strongly_before(graph, first.id, second.id)
}

fn accesses_same(first: &Node<'_>, second: &Node<'_>) -> bool {
    let is_access = |node: &Node<'_>| matches!(node.event.kind, Kind::Read | Kind::Write);
    is_access(first) && is_access(second) && first.event.location == second.event.location
}

/// sb ; hb ; sb, in which sb does not relate the two halves of a read-modify-write.
fn is_strongly_before(graph: &Graph, first: EventId, second: EventId) -> bool {
    let Some(before) = last_before(graph, second) else {
        return false;
    };
    first_after(graph, first).is_some_and(|after| graph.happens_before(after, before))
}

/// The first event after this one in its thread, except the other half of the same
/// read-modify-write.
fn first_after(graph: &Graph, event: EventId) -> Option<EventId> {
    let record = graph.event(event);
    let skipped = u32::from(record.kind == Kind::Read && record.is_half);
    let after = EventId { index: event.index + 1 + skipped, ..event };
    let exists = (after.index as usize) < graph.thread(event.thread as usize).len();
    exists.then_some(after)
}

/// The last event before this one in its thread, except the other half of the same
/// read-modify-write.
fn last_before(graph: &Graph, event: EventId) -> Option<EventId> {
    let record = graph.event(event);
    let skipped = u32::from(record.kind == Kind::Write && record.is_half);
    let index = event.index.checked_sub(1 + skipped)?;
    Some(EventId { index, ..event })
}

/// eco: (rf u mo u rb)+, of accesses of one location.
fn is_extended_coherence(first: &Node<'_>, second: &Node<'_>) -> bool {
    if !accesses_same(first, second) {
        return false;
    }
    match (first.event.kind, second.event.kind) {
        (Kind::Write, Kind::Read) => first.rank <= second.rank,
        _ => first.rank < second.rank,
    }
}
