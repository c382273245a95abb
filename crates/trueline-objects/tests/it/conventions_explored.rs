//! What the objects have beyond the operations of their papers, under every schedule of small
//! programs: where it says 'at one moment', there is one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trueline_explore::harness::{Harness, Operate};
use trueline_explore::{explore, operations};
use trueline_objects::shadowed::b_link_tree::Change;
use trueline_objects::shadowed::priority_queue::Tuning;
use trueline_objects::shadowed::{
    ArrayQueue, BLinkTree, BoundedPriorityQueue, FetchAddQueue, ListSet, MichaelScottQueue,
    PriorityQueue, Semiqueue, StutteringQueue, TreiberStack,
};

/// Values, at most so many.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Values {
    values: VecDeque<u8>,
    capacity: usize,
    order: Order,
}

/// Which value leaves first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Order {
    FirstIn,
    LastIn,
    Largest,
}

impl Values {
    fn of(order: Order, capacity: usize) -> Values {
        Values { values: VecDeque::new(), capacity, order }
    }

    fn push(&mut self, value: u8) -> bool {
        let has_room = self.values.len() < self.capacity;
        if has_room {
            self.values.push_back(value);
            if self.order == Order::Largest {
                self.values.make_contiguous().sort_unstable_by(|a, b| b.cmp(a));
            }
        }
        has_room
    }

    fn force_push(&mut self, value: u8) -> Option<u8> {
        let oldest = if self.len() == self.capacity { self.values.pop_front() } else { None };
        self.values.push_back(value);
        oldest
    }

    fn pop(&mut self) -> Option<u8> {
        match self.order {
            Order::LastIn => self.values.pop_back(),
            _ => self.values.pop_front(),
        }
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// All programs of two threads with one and two operations, from this beginning.
fn all_small<T: 'static, O: Operate<T>>(harness: Harness<T, O>, operations: &[O]) -> Harness<T, O> {
    let one = operations.iter().map(|first| vec![first.clone()]);
    let two = || {
        operations.iter().flat_map(|first| {
            operations.iter().map(move |second| vec![first.clone(), second.clone()])
        })
    };
    one.fold(harness, |harness, lone| {
        two().fold(harness, |harness, pair| harness.program([lone.clone(), pair]))
    })
}

/// What values are put into and taken out of.
trait Container: Send + Sync {
    fn push(&self, value: u8) -> bool;
    fn pop(&self) -> Option<u8>;
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool;
    fn force_push(&self, value: u8) -> Option<u8> {
        unreachable!("{value} is pushed by force to rings alone")
    }
}

macro_rules! container {
    ($($object:ty: |$this:ident, $value:ident| $push:expr, $pop:expr $(, $force:ident)?;)*) => { $(
        impl Container for $object {
            fn push(&self, $value: u8) -> bool {
                let $this = self;
                $push
            }
            fn pop(&self) -> Option<u8> {
                let $this = self;
                $pop
            }
            fn len(&self) -> usize {
                <$object>::len(self)
            }
            fn is_empty(&self) -> bool {
                <$object>::is_empty(self)
            }
            $(fn $force(&self, value: u8) -> Option<u8> {
                <$object>::$force(self, value)
            })?
        }
    )* };
}

container! {
    ArrayQueue<u8>: |this, value| this.enq(value).is_ok(), this.deq(), force_push;
    TreiberStack<u8>: |this, value| { this.push(value); true }, this.pop();
    MichaelScottQueue<u8>: |this, value| { this.enq(value); true }, this.deq();
    StutteringQueue<u8>: |this, value| { this.enq(value); true }, this.deq();
    Semiqueue<u8>: |this, value| { this.enq(value); true }, this.deq();
    FetchAddQueue<u8>: |this, value| { this.enq(value); true }, this.deq();
    PriorityQueue<u8, ()>: |this, value| { this.push(value, ()); true }, this.pop().map(|(value, ())| value);
    BoundedPriorityQueue<()>: |this, value| this.push(usize::from(value), ()).is_ok(), this.pop().map(|(value, ())| value as u8);
}

operations! {
    enum Op -> Ret for Box<dyn Container>, Values {
        push(value: u8) -> bool;
        pop() -> Option<u8>;
        force_push(value: u8) -> Option<u8>;
        len() -> usize;
        is_empty() -> bool;
    }
}

/// All small programs of some operations, with something in the object.
fn check<C: Container + 'static>(
    make: impl Fn() -> C + Send + Sync + 'static,
    values: Values,
    before: &[Op],
    operations: &[Op],
) {
    let harness = explore(move || -> Box<dyn Container> { Box::new(make()) }).spec(values);
    all_small(harness.before(before.iter().cloned()), operations).check();
}

#[test]
fn a_ring_of_any_size_is_pushed_to_by_force_and_knows_its_length() {
    for capacity in 1..=3_usize {
        let full: Vec<Op> = (0..capacity as u8).map(|value| Op::push(10 + value)).collect();
        let operations = [Op::push(1), Op::pop(), Op::force_push(2), Op::len(), Op::is_empty()];
        let values = Values::of(Order::FirstIn, capacity);
        check(move || ArrayQueue::new(capacity), values, &full, &operations);
    }
}

const LENGTHS: [Op; 4] = [Op::push(1), Op::pop(), Op::len(), Op::is_empty()];

#[test]
fn stacks_and_queues_know_their_length() {
    let (queue, one) = (Values::of(Order::FirstIn, usize::MAX), [Op::push(9)]);
    let stack = Values::of(Order::LastIn, usize::MAX);
    check(|| TreiberStack::with_batch(1), stack, &one, &LENGTHS);
    check(|| MichaelScottQueue::with_batch(1), queue.clone(), &one, &LENGTHS);
    check(|| StutteringQueue::new(1), queue.clone(), &one, &LENGTHS);
    check(|| Semiqueue::new(1), queue, &one, &LENGTHS);
    let bounded = Values::of(Order::Largest, 2);
    check(|| BoundedPriorityQueue::new(10, 2), bounded, &one, &LENGTHS);
}

/// Their lengths have no moment, as their pages say.
#[test]
fn other_queues_know_whether_they_are_empty() {
    let operations = [Op::push(1), Op::pop(), Op::is_empty()];
    let (queue, one) = (Values::of(Order::FirstIn, usize::MAX), [Op::push(9)]);
    check(|| FetchAddQueue::with_segments_of(2), queue, &one, &operations);
    let tuning = Tuning { prefix: 1, batch: 1, levels: 1, seed: 1 };
    let sorted = Values::of(Order::Largest, usize::MAX);
    check(move || PriorityQueue::with_tuning(tuning), sorted, &one, &operations);
}

mod sets {
    use super::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    struct Sorted(BTreeSet<u8>);

    impl Sorted {
        fn insert(&mut self, value: u8) -> bool {
            self.0.insert(value)
        }
        fn remove(&mut self, value: u8) -> bool {
            self.0.remove(&value)
        }
        fn take(&mut self, value: u8) -> Option<u8> {
            self.0.take(&value)
        }
        fn get(&self, value: u8) -> Option<u8> {
            self.0.get(&value).copied()
        }
        fn first(&self) -> Option<u8> {
            self.0.first().copied()
        }
        fn last(&self) -> Option<u8> {
            self.0.last().copied()
        }
        fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }

    operations! {
        enum Op -> Ret for ListSet<u8>, Sorted {
            insert(value: u8) -> bool;
            remove(value: u8) -> bool = |set| set.remove(&value);
            take(value: u8) -> Option<u8> = |set| set.take(&value);
            get(value: u8) -> Option<u8> = |set| set.get(&value);
            first() -> Option<u8>;
            last() -> Option<u8>;
            is_empty() -> bool;
        }
    }

    #[test]
    fn a_set_has_a_first_and_a_last_value_at_one_moment() {
        let harness = explore(|| ListSet::with_batch(1)).spec(Sorted::default());
        let operations = [
            Op::insert(1),
            Op::insert(3),
            Op::remove(1),
            Op::take(2),
            Op::get(2),
            Op::first(),
            Op::last(),
            Op::is_empty(),
        ];
        all_small(harness.before([Op::insert(2)]), &operations).check();
    }
}

mod trees {
    use super::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
    struct Sorted(BTreeMap<u8, u8>);

    impl Sorted {
        fn insert(&mut self, key: u8, value: u8) -> Option<u8> {
            self.0.insert(key, value)
        }
        fn remove(&mut self, key: u8) -> Option<u8> {
            self.0.remove(&key)
        }
        fn or_insert(&mut self, key: u8, value: u8) -> u8 {
            *self.0.entry(key).or_insert(value)
        }
        fn count(&mut self, key: u8) -> Option<u8> {
            let value = self.0.get_mut(&key)?;
            *value += 1;
            Some(*value - 1)
        }
        fn first(&self) -> Option<(u8, u8)> {
            self.0.first_key_value().map(|(key, value)| (*key, *value))
        }
        fn last(&self) -> Option<(u8, u8)> {
            self.0.last_key_value().map(|(key, value)| (*key, *value))
        }
        fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }

    type Tree = BLinkTree<u8, u8, 2>;

    operations! {
        enum Op -> Ret for Tree, Sorted {
            insert(key: u8, value: u8) -> Option<u8>;
            remove(key: u8) -> Option<u8> = |tree| tree.remove(&key);
            or_insert(key: u8, value: u8) -> u8 = |tree| tree.entry(key).or_insert(value);
            count(key: u8) -> Option<u8> = |tree| tree.update(key, |value| match value {
                Some(value) => Change::Put(value + 1),
                None => Change::Keep,
            });
            first() -> Option<(u8, u8)>;
            last() -> Option<(u8, u8)>;
            is_empty() -> bool;
        }
    }

    #[test]
    fn a_tree_is_updated_and_has_a_first_and_a_last_key_at_one_moment() {
        let operations =
            [Op::or_insert(2, 7), Op::count(1), Op::first(), Op::last(), Op::remove(1)];
        let harness = explore(Tree::new).spec(Sorted::default());
        all_small(harness.before([Op::insert(1, 1)]), &operations).check();
    }

    /// Leaves that were emptied: what is first and last is looked for in several.
    #[test]
    fn a_tree_with_empty_leaves_has_a_first_and_a_last_key_at_one_moment() {
        let full = (1..=4).map(|key| Op::insert(key, key));
        let emptied = [Op::remove(1), Op::remove(2), Op::remove(4)];
        explore(Tree::new)
            .spec(Sorted::default())
            .before(full.chain(emptied))
            .program([vec![Op::first()], vec![Op::insert(1, 5), Op::remove(3)]])
            .program([vec![Op::last()], vec![Op::insert(4, 5), Op::remove(3)]])
            .program([vec![Op::last()], vec![Op::remove(3), Op::insert(1, 5)]])
            .program([vec![Op::is_empty()], vec![Op::insert(1, 5), Op::remove(3)]])
            .check();
    }
}
