//! What users of std and crossbeam expect: names, iterators, collecting.

use std::panic::{RefUnwindSafe, UnwindSafe};
use trueline_objects::{FetchAddQueue, MichaelScottQueue, Semiqueue, TreiberStack};

macro_rules! check {
    ($object:ident, $expected:expr) => {
        let object: $object<u32> = (0..4).collect();
        (&object).extend([4, 5]);
        assert_eq!(object.drain().take(2).count(), 2);
        object.push(6);
        let rest: Vec<u32> = object.into_iter().collect();
        assert_eq!(rest, $expected);
        let mut object = $object::default();
        object.extend(["a".to_string()]);
        assert_eq!((object.pop().as_deref(), object.pop()), (Some("a"), None));
    };
}

#[test]
fn containers_are_filled_drained_and_taken_apart() {
    check!(TreiberStack, [6, 3, 2, 1, 0]);
    check!(MichaelScottQueue, [2, 3, 4, 5, 6]);
    check!(FetchAddQueue, [2, 3, 4, 5, 6]);
    let mut semiqueue = Semiqueue::new(2);
    semiqueue.extend(0..5);
    let mut all: Vec<u32> = semiqueue.drain().collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4]);
}

#[test]
fn what_is_left_of_an_iterator_is_dropped_with_it() {
    let value = std::sync::Arc::new(());
    let queue: MichaelScottQueue<_> = (0..5).map(|_| value.clone()).collect();
    let mut values = queue.into_iter();
    drop((values.next(), values.next()));
    drop(values);
    assert_eq!(std::sync::Arc::strong_count(&value), 1);
}

#[test]
fn containers_may_be_used_after_a_caught_panic() {
    fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_safe::<TreiberStack<std::cell::Cell<u8>>>();
    is_safe::<MichaelScottQueue<u8>>();
    is_safe::<FetchAddQueue<u8>>();
    is_safe::<Semiqueue<u8>>();
}
