//! Bugs that the papers tell of.

use std::collections::VecDeque;

use trueline_explore::harness::{Counts, Failure, Kind, Outcome, Thread};
use trueline_explore::std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trueline_explore::{explore, operations};

use super::wing_gong::{Fifo, Slots};

operations! {
    pub(crate) enum Op -> Ret for Slots<4>, Fifo {
        enq(v: usize);
        deq() -> usize, if |fifo| !fifo.0.is_empty();
    }
}

fn wing_and_gong(reads_range_again: bool) -> Outcome<Failure<Op, Ret>, Counts> {
    explore(move || Slots::new(reads_range_again))
        .spec(Fifo::default())
        .operations([Op::enq(1), Op::enq(2), Op::deq()])
        .threads(2)
        .length(2)
        .run()
}

#[test]
fn the_wrong_deq_of_wing_and_gong_is_found_and_explained() {
    let outcome = wing_and_gong(false);
    assert!(outcome.holds(), "{outcome}");
    let outcome = wing_and_gong(true);
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable);
    // As in the paper: an element that came later is taken, though the first is there.
    let history = failure.history.as_ref().expect("it is one of histories");
    assert_eq!((history.processes().len(), history.len()), (2, 3), "{outcome}");
    assert!(failure.sentence.contains("`enq(1)` returned before `enq(2)` was called"), "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("deq() -> 2") && text.contains("wing_gong.rs"), "{outcome}");
}

/// A stack whose nodes are used again: Figure 1 of 'Monitoring refinement via symbolic reasoning'
/// (Emmi, Enea and Hamza), after Treiber. Each thread has a node at first, and uses those that it
/// took out, the oldest first. The top is 0, or a node's number and 1.
struct Recycling {
    top: AtomicUsize,
    next: [AtomicUsize; 6],
    values: [AtomicUsize; 6],
    /// Counts changes of the top in its upper bits, which makes it right.
    tagged: bool,
}

struct Hand<'a> {
    stack: &'a Recycling,
    free: VecDeque<usize>,
    /// For a second `push` before anything was taken out.
    spare: usize,
}

const TAG: usize = 16;

impl<'a> Hand<'a> {
    fn new(stack: &'a Recycling, thread: Thread) -> Hand<'a> {
        let (free, spare) = (VecDeque::from([thread.index]), 3 + thread.index);
        Hand { stack, free, spare }
    }

    fn changed(&self, top: usize, node: usize) -> usize {
        if self.stack.tagged { node + (top / TAG + 1) * TAG } else { node }
    }

    fn push(&mut self, v: usize) {
        let node = self.free.pop_front().unwrap_or(self.spare);
        self.stack.values[node].store(v, SeqCst);
        loop {
            let top = self.stack.top.load(SeqCst);
            self.stack.next[node].store(top % TAG, SeqCst);
            let new = self.changed(top, node + 1);
            if self.stack.top.compare_exchange(top, new, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&mut self) -> Option<usize> {
        loop {
            let top = self.stack.top.load(SeqCst);
            let node = (top % TAG).checked_sub(1)?;
            let next = self.stack.next[node].load(SeqCst);
            let new = self.changed(top, next);
            if self.stack.top.compare_exchange(top, new, SeqCst, SeqCst).is_ok() {
                self.free.push_back(node);
                return Some(self.stack.values[node].load(SeqCst));
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Lifo(Vec<usize>);

impl Lifo {
    fn push(&mut self, v: usize) {
        self.0.push(v);
    }
    fn pop(&mut self) -> Option<usize> {
        self.0.pop()
    }
}

operations! {
    enum StackOp -> StackRet for Recycling[Hand<'a> = Hand::new], Lifo {
        push(v: usize);
        pop() -> Option<usize>;
    }
}

fn aba(tagged: bool) -> Outcome<Failure<StackOp, StackRet>, Counts> {
    use StackOp::{pop, push};
    let make = move || Recycling {
        top: AtomicUsize::new(0),
        next: [const { AtomicUsize::new(0) }; 6],
        values: [const { AtomicUsize::new(0) }; 6],
        tagged,
    };
    explore(make)
        .spec(Lifo::default())
        .program([vec![push(1), pop()], vec![pop(), push(2), push(3), pop()]])
        .run()
}

#[test]
fn the_aba_of_a_stack_that_uses_its_nodes_again_is_found_and_explained() {
    let outcome = aba(true);
    assert!(outcome.holds(), "{outcome}");
    let outcome = aba(false);
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable);
    assert!(failure.sentence.contains("pop() -> None"), "{outcome}");
    assert!(outcome.to_string().contains("compare_exchange"), "{outcome}");
}
