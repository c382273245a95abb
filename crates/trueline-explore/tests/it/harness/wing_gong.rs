//! The queue of Wing and Gong's simulator, right and wrong. The benchmarks compile this file, too.

use std::collections::VecDeque;

use trueline_explore::std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The queue of Herlihy and Wing as Wing and Gong give it (section 3.2.1 of 'Testing and verifying
/// concurrent objects'): slots that are reserved, then filled; 0 is an empty one. The error of
/// their section 3.2.2 is to read the range again within the scan.
pub(crate) struct Slots<const N: usize> {
    items: [AtomicUsize; N],
    back: AtomicUsize,
    reads_range_again: bool,
}

impl<const N: usize> Slots<N> {
    pub(crate) fn new(reads_range_again: bool) -> Slots<N> {
        let items = [const { AtomicUsize::new(0) }; N];
        Slots { items, back: AtomicUsize::new(0), reads_range_again }
    }

    pub(crate) fn enq(&self, v: usize) {
        let slot = self.back.fetch_add(1, SeqCst);
        self.items[slot].store(v, SeqCst);
    }

    pub(crate) fn deq(&self) -> usize {
        loop {
            let mut range = self.back.load(SeqCst);
            let mut i = 0;
            while i < range {
                let v = self.items[i].swap(0, SeqCst);
                if v != 0 {
                    return v;
                }
                i += 1;
                if self.reads_range_again {
                    range = self.back.load(SeqCst);
                }
            }
        }
    }
}

/// What a queue must do.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Fifo(pub(crate) VecDeque<usize>);

impl Fifo {
    pub(crate) fn enq(&mut self, v: usize) {
        self.0.push_back(v);
    }
    pub(crate) fn deq(&mut self) -> usize {
        self.0.pop_front().expect("it is asked only if there is one")
    }
}
