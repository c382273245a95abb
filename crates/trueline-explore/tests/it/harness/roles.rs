//! Threads with operations, and handles, of their own.

use std::collections::VecDeque;

use trueline_explore::harness::{Kind, Thread};
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::{AtomicUsize, Ordering};
use trueline_explore::{explore, operations, stress};

const SIZE: usize = 2;

/// A ring for one producer and one consumer.
struct Ring {
    slots: [UnsafeCell<u8>; SIZE],
    head: AtomicUsize,
    tail: AtomicUsize,
    publish: Ordering,
}

// SAFETY: the producer writes a slot that the consumer has left, the consumer reads one that the
// producer has published. With `Relaxed` that is a race, which a test wants, and explores.
unsafe impl Sync for Ring {}

impl Ring {
    fn new(publish: Ordering) -> Ring {
        let slots = [const { UnsafeCell::new(0) }; SIZE];
        Ring { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0), publish }
    }
}

/// One end, with what it remembers of its own index.
struct End<'a> {
    ring: &'a Ring,
    mine: usize,
    role: Option<usize>,
}

impl<'a> End<'a> {
    fn new(ring: &'a Ring, thread: Thread) -> End<'a> {
        End { ring, mine: 0, role: thread.role }
    }

    fn push(&mut self, v: u8) -> bool {
        assert_eq!(self.role, Some(0), "only the producer pushes");
        if self.mine - self.ring.head.load(Ordering::Acquire) == SIZE {
            return false;
        }
        // SAFETY: the slot is not between `head` and `tail`, so the consumer does not read it.
        self.ring.slots[self.mine % SIZE].with_mut(|slot| unsafe { *slot = v });
        self.mine += 1;
        self.ring.tail.store(self.mine, self.ring.publish);
        true
    }

    fn pop(&mut self) -> Option<u8> {
        assert_eq!(self.role, Some(1), "only the consumer pops");
        if self.ring.tail.load(Ordering::Acquire) == self.mine {
            return None;
        }
        // SAFETY: the slot is between `head` and `tail`, so the producer does not write it.
        let v = self.ring.slots[self.mine % SIZE].with(|slot| unsafe { *slot });
        self.mine += 1;
        self.ring.head.store(self.mine, Ordering::Release);
        Some(v)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Bounded(VecDeque<u8>);

impl Bounded {
    fn push(&mut self, v: u8) -> bool {
        let fits = self.0.len() < SIZE;
        if fits {
            self.0.push_back(v);
        }
        fits
    }
    fn pop(&mut self) -> Option<u8> {
        self.0.pop_front()
    }
}

operations! {
    enum Op -> Ret for Ring[End<'a> = End::new], Bounded {
        push(v: u8) -> bool;
        pop() -> Option<u8>;
    }
}

#[test]
fn a_ring_for_two_holds_with_a_role_for_each() {
    let outcome = explore(|| Ring::new(Ordering::Release))
        .spec(Bounded::default())
        .role(1, [Op::push(1), Op::push(2)])
        .role(1, [Op::pop()])
        .length(3)
        .run();
    assert!(outcome.holds(), "{outcome}");
    let largest = 8;
    assert_eq!(outcome.counts.scenarios, 2 + 4 + largest);
    let outcome = stress(|| Ring::new(Ordering::Release))
        .spec(Bounded::default())
        .role(1, [Op::push(1), Op::push(2)])
        .role(1, [Op::pop()])
        .length(3)
        .rounds(300)
        .run();
    assert!(outcome.passes() && !outcome.holds(), "{outcome}");
}

#[test]
fn a_ring_that_publishes_too_weakly_has_a_race() {
    let outcome = explore(|| Ring::new(Ordering::Relaxed))
        .spec(Bounded::default())
        .role(1, [Op::push(1)])
        .role(1, [Op::pop()])
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!((failure.kind, &*failure.scenario), (Kind::Race, "push(1) | pop()"));
}

/// A counter that each thread sees through a handle with its number.
struct Numbered(AtomicUsize);

struct Number<'a>(&'a Numbered, usize);

impl Number<'_> {
    /// Whether it is the second thread that comes first.
    fn enter(&self) -> bool {
        self.0.0.fetch_add(1, Ordering::SeqCst) == 0 && self.1 == 2
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Anything;

impl Anything {
    fn enter(&mut self) -> bool {
        false
    }
}

operations! {
    enum Enter -> Entered for Numbered[Number<'a> = |numbered, thread| Number(numbered, thread.index)], Anything {
        enter() -> bool;
    }
}

/// Scenarios that differ in the order of threads were not run, and the scope said that all were.
#[test]
fn a_scope_says_that_threads_with_handles_were_run_in_one_order() {
    let scope = |threads: usize| {
        let test = explore(|| Numbered(AtomicUsize::new(0))).spec(Anything);
        test.operations([Enter::enter()]).threads(threads).length(1).survey().run().to_string()
    };
    assert!(
        scope(2).contains("all matrices up to 2 threads x 1 operations in one order of threads;")
    );
    assert!(scope(1).contains("all matrices up to 1 threads x 1 operations;"));
}

/// A slot for each thread.
#[derive(Default)]
struct Slots([AtomicUsize; 3]);

struct Slot<'a>(&'a AtomicUsize);

impl Slot<'_> {
    fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

operations! {
    enum Count -> Counted for Slots[Slot<'a> = |slots, thread| Slot(&slots.0[thread.index])] {
        count() -> usize;
    }
}

/// The serial runs that stand for a specification used the handle of thread 0 throughout, and two
/// counts of different threads were found not to be linearizable.
#[test]
fn threads_with_handles_need_a_specification() {
    let outcome = explore(Slots::default).program([[Count::count()], [Count::count()]]).run();
    let text = outcome.to_string();
    assert!(outcome.failure().is_none() && !outcome.passes(), "{text}");
    assert!(text.contains("each thread has a handle of its own"), "{text}");
}
