//! The relaxed objects of the paper on Round-Up, and their mutants.

use super::{ANY_NUMBERS, Domain, Entry, Standing, Wait, mutant};
use crate::relaxed::bounded_k_fifo_queue::{self, Patient, Queue as BoundedKFifoQueue};
use crate::relaxed::incorrect_queue::Queue as IncorrectQueue;
use crate::relaxed::k_fifo_queue::Queue as KFifoQueue;
use crate::relaxed::k_stack::{self, KStack};
use crate::relaxed::quasi_priority_queue::Queue as QuasiPriorityQueue;
use crate::relaxed::quasi_stack::{self, Stack};
use crate::relaxed::random_dequeue_queue::Queue as RandomDequeueQueue;
use crate::relaxed::segmented_queue::{self, Queue as SegmentedQueue};
use crate::relaxed::single_list_queue::Queue as SingleListQueue;

pub(super) const ENTRIES: &[Entry] = &[
    QUASI_QUEUE,
    mutant(
        QUASI_QUEUE,
        "quasi-queue-b1",
        "deq searches the second segment first: a value overtakes more than two",
        "before enq(1) enq(2) enq(3) enq(4); deq() | enq(5); after deq() deq() deq() deq()",
        || Box::new(SegmentedQueue::new(3, segmented_queue::Fault::TakesTooFar)),
    ),
    mutant(
        QUASI_QUEUE,
        "quasi-queue-b2",
        "deq does not mark the values it takes: they are removed again",
        "before enq(1); deq() | deq()",
        || Box::new(SegmentedQueue::new(3, segmented_queue::Fault::TakesTwice)),
    ),
    mutant(
        QUASI_QUEUE,
        "quasi-queue-b3",
        "deq returns nil if the first segment is not full",
        "before enq(1); deq() | enq(2)",
        || Box::new(SegmentedQueue::new(3, segmented_queue::Fault::FindsNothing)),
    ),
    mutant(
        QUASI_QUEUE,
        "quasi-queue-racy-empty",
        "deq returns nil after one pass over the cells, while values come and go behind it",
        "before enq(1); enq(2) deq() | deq()",
        || Box::new(SegmentedQueue::new(3, segmented_queue::Fault::RacyEmpty)),
    ),
    QUASI_STACK,
    mutant(
        QUASI_STACK,
        "quasi-stack-b1",
        "pop returns nil if another pop was faster",
        "before push(1) push(2); pop() | pop()",
        || Box::new(Stack::new(quasi_stack::Fault::FindsNothing)),
    ),
    mutant(
        QUASI_STACK,
        "quasi-stack-b2",
        "pop takes the value three below the top",
        "before push(1) push(2) push(3) push(4); pop() | push(5); after pop() pop() pop() pop()",
        || Box::new(Stack::new(quasi_stack::Fault::TakesTooFar)),
    ),
    QUASI_PRIORITY_QUEUE,
    mutant(
        QUASI_PRIORITY_QUEUE,
        "quasi-priority-queue-b2",
        "poll takes the largest value",
        "before insert(1) insert(2) insert(3) insert(4); poll() | insert(5); after poll() poll() poll() poll()",
        || Box::new(QuasiPriorityQueue::new(true)),
    ),
    RANDOM_DEQUEUE_QUEUE,
    mutant(
        RANDOM_DEQUEUE_QUEUE,
        "random-dequeue-queue-without-window",
        "deq takes the second remaining value, so that the first may be overtaken for ever",
        "before enq(1) enq(2) enq(3); deq() | deq(); after deq()",
        || Box::new(RandomDequeueQueue::new(2, false)),
    ),
    K_FIFO_QUEUE,
    BOUNDED_K_FIFO_QUEUE,
    Entry {
        name: "bounded-k-fifo-queue-of-one",
        summary: "the same with two segments of one cell: a strict bounded queue",
        spec: "bounded-queue:capacity=2",
        note: "",
        waiting: &[],
        progress: "lock-free",
        shadowed: || Box::new(BoundedKFifoQueue::new(2, 1)),
        ..BOUNDED_K_FIFO_QUEUE
    },
    K_STACK,
    Entry {
        name: "k-stack-of-one",
        summary: "the same with segments of one cell: a strict stack",
        spec: "stack",
        shadowed: || Box::new(KStack::new(1, k_stack::Fault::None)),
        ..K_STACK
    },
    Entry {
        name: "k-stack-as-published",
        summary: "push checks twice whether its segment is being removed, and inserts its value twice (Round-Up, section VI-D)",
        standing: Standing::Flawed {
            repaired: "k-stack",
            shown_by: "before push(1) push(2) push(3) pop(); push(4) | pop(); after pop() pop() pop()",
        },
        shadowed: || Box::new(KStack::new(2, k_stack::Fault::ReadsTwice)),
        ..K_STACK
    },
    Entry {
        name: "incorrect-queue",
        summary: "a queue whose deq gives up if another was faster",
        standing: Standing::Mutant {
            of: "michael-scott-queue",
            stress: true,
            shown_by: "before enq(1) enq(2); deq() | deq()",
        },
        spec: "queue",
        shadowed: || Box::new(IncorrectQueue::new()),
        ..QUASI_QUEUE
    },
    Entry {
        name: "single-list-queue",
        summary: "a queue for one thread, used by two",
        standing: Standing::Mutant {
            of: "michael-scott-queue",
            stress: true,
            shown_by: "enq(1) | enq(2); after deq() deq()",
        },
        spec: "queue",
        domain: ANY_NUMBERS,
        shadowed: || Box::new(SingleListQueue::new()),
        ..QUASI_QUEUE
    },
];

/// The values of cells: 0 and -1 mean free and taken.
pub(super) const NATURAL: Domain = &[1..=i64::MAX];

const QUASI_QUEUE: Entry = Entry {
    name: "quasi-queue",
    summary: "a queue out of order by up to two: segments of three cells",
    standing: Standing::Correct,
    spec: "relaxed-queue:displacement=2",
    note: "",
    alphabet: "enq(*) deq()",
    domain: NATURAL,
    source: "Afek, Korland, Yanovsky, Quasi-linearizability, 2010",
    progress: "lock-free",
    letter: "Q",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(SegmentedQueue::new(3, segmented_queue::Fault::None)),
    production: None,
};

const QUASI_STACK: Entry = Entry {
    name: "quasi-stack",
    summary: "a stack whose values are taken by marking them: linearizable",
    spec: "relaxed-stack:displacement=2",
    alphabet: "push(*) pop()",
    domain: &[0..=i64::MAX],
    source: "Zhang, Chattopadhyay, Wang, Round-Up, 2015, Table I",
    letter: "S",
    shadowed: || Box::new(Stack::new(quasi_stack::Fault::None)),
    ..QUASI_QUEUE
};

const QUASI_PRIORITY_QUEUE: Entry = Entry {
    name: "quasi-priority-queue",
    summary: "takes one of the three smallest values: windows of three values",
    spec: "relaxed-priority-queue:out-of-order=2,order=min",
    alphabet: "insert(*) poll()",
    source: "Zhang, Chattopadhyay, Wang, Round-Up, 2015, Table I",
    progress: "blocking: one thread at a time removes",
    letter: "P",
    shadowed: || Box::new(QuasiPriorityQueue::new(false)),
    ..QUASI_QUEUE
};

const RANDOM_DEQUEUE_QUEUE: Entry = Entry {
    name: "random-dequeue-queue",
    summary: "a queue out of order by up to one: a virtual window over the first two values",
    spec: "relaxed-queue:displacement=1",
    shadowed: || Box::new(RandomDequeueQueue::new(2, true)),
    ..QUASI_QUEUE
};

const K_FIFO_QUEUE: Entry = Entry {
    name: "k-fifo-queue",
    summary: "a queue out of order by up to one: segments of two cells that are removed when they are empty",
    spec: "relaxed-queue:displacement=1",
    source: "Kirsch, Lippautz, Payer, Fast and scalable, lock-free k-FIFO queues, 2013",
    shadowed: || Box::new(KFifoQueue::new(2)),
    ..QUASI_QUEUE
};

const BOUNDED_K_FIFO_QUEUE: Entry = Entry {
    name: "bounded-k-fifo-queue",
    summary: "a queue out of order by up to one: a ring of four segments of two cells; enq waits for room",
    spec: "relaxed-queue:displacement=1,capacity=8",
    note: "enq waits for room, where seven values are inside, too",
    domain: &[1..=bounded_k_fifo_queue::GREATEST],
    progress: "enq waits for room, else lock-free",
    // The ring has no further segment, and a value is left in its first one: of that segment's two
    // cells one may be free.
    waiting: &[Wait::ForRoom("enq", 1)],
    shadowed: || Box::new(Patient(BoundedKFifoQueue::new(4, 2))),
    ..K_FIFO_QUEUE
};

const K_STACK: Entry = Entry {
    name: "k-stack",
    summary: "a stack out of order by up to one: a stack of segments of two cells, repaired",
    spec: "relaxed-stack:out-of-order=1",
    alphabet: "push(*) pop()",
    source: "Henzinger, Kirsch, Payer, Sezgin, Sokolova, Quantitative relaxation of concurrent data structures, 2013",
    letter: "S",
    shadowed: || Box::new(KStack::new(2, k_stack::Fault::None)),
    ..QUASI_QUEUE
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Request, Simulated, Verdict, program};

    #[track_caller]
    fn explore(entry: Entry, case: &str, limit: Option<u64>) -> Simulated {
        let cases = vec![program::case(case).unwrap()];
        entry.run(&Request { cases, limit, ..Request::default() }).unwrap()
    }

    /// The full search of a k-stack did not end: the published `push` puts an empty segment on the
    /// stack, and a `pop` may remove it before it is filled, again and again, in endless
    /// executions.
    #[test]
    fn empty_segments_make_executions_endless() {
        let case = "before push(1); push(2) | pop(); after pop() pop()";
        let of_one = |fault: fn() -> crate::simulate::subject::Subject| Entry {
            spec: "stack",
            shadowed: fault,
            ..K_STACK
        };
        let sound = of_one(|| Box::new(KStack::new(1, k_stack::Fault::None)));
        let sound = explore(sound, case, None);
        assert!(matches!(sound.verdict, Verdict::Holds), "{sound:?}");
        assert!(sound.scope.contains("complete"), "{}", sound.scope);
        let endless = of_one(|| Box::new(KStack::new(1, k_stack::Fault::AddsEmptySegments)));
        let endless = explore(endless, case, Some(100 * sound.counts.executions));
        assert!(matches!(endless.verdict, Verdict::Undecided(_)), "{endless:?}");
    }

    /// The segmented queue's EMPTY after one pass over the cells: wrong with two cells in a
    /// segment, right with one.
    #[test]
    fn the_racy_empty_needs_two_slots() {
        let racy =
            |shadowed| Entry { spec: "relaxed-queue:displacement=2", shadowed, ..QUASI_QUEUE };
        let two = racy(|| Box::new(SegmentedQueue::new(2, segmented_queue::Fault::RacyEmpty)));
        let found = explore(two, "before enq(1); enq(2) deq() | deq()", None);
        let Verdict::Violation(found) = found.verdict else { panic!("{found:?}") };
        assert!(found.sentence.contains("deq() -> nil"), "{}", found.sentence);
        let one = racy(|| Box::new(SegmentedQueue::new(1, segmented_queue::Fault::RacyEmpty)));
        for (processes, operations) in [(2, 2), (3, 1)] {
            let cases = one.matrices(processes, operations);
            let found = one.run(&Request { cases, ..Request::default() }).unwrap();
            assert!(matches!(found.verdict, Verdict::Holds), "{found:?}");
        }
    }
}
