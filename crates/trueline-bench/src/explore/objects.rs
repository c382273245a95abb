//! The programs. What is plain memory in the original (the links of nodes that only their owner
//! writes) is an atomic of std's here, which none of the tools sees.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Plain;

use super::super::Body;
use super::library::{AtomicUsize, Mutex, Ordering, thread};

/// The programs with their names.
pub(crate) fn objects() -> Vec<(&'static str, Body)> {
    vec![
        ("load | load, cas", load_and_exchange),
        ("counter 2x2", || counter(2, 2)),
        ("counter 3x2", || counter(3, 2)),
        ("counter 4x2", || counter(4, 2)),
        ("lastzero 3", || last_zero(3)),
        ("mutex counter 2x2", || mutex_counter(2, 2)),
        ("mutex counter 3x2", || mutex_counter(3, 2)),
        ("treiber pop | push", treiber_pop_push),
        ("treiber 2x(push, pop)", || treiber(2)),
        ("treiber 3x(push, pop)", || treiber(3)),
        ("michael-scott 2x(enq, deq)", michael_scott),
    ]
}

/// Runs threads and joins what they have seen, the first thread's first.
fn run(threads: usize, body: impl Fn(usize) -> u64 + Send + Sync + 'static) -> u64 {
    let body = Arc::new(body);
    let handles: Vec<_> = (0..threads)
        .map(|i| {
            let body = body.clone();
            thread::spawn(move || body(i))
        })
        .collect();
    let seen = handles.into_iter().map(|handle| handle.join().expect("no thread panics"));
    seen.fold(1, |outcome, values| outcome << 8 | values)
}

/// What a thread has seen: four bits a value, two values at most.
fn all(values: impl Iterator<Item = usize>) -> u64 {
    values.fold(0, |all, value| all << 4 | value as u64)
}

fn load_and_exchange() -> u64 {
    let x = AtomicUsize::new(0);
    run(2, move |i| {
        let seen = x.load(Ordering::SeqCst);
        if i == 1 {
            let _ = x.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst);
        }
        seen as u64
    })
}

fn counter(threads: usize, times: usize) -> u64 {
    let counter = AtomicUsize::new(0);
    run(threads, move |_| all((0..times).map(|_| counter.fetch_add(1, Ordering::SeqCst))))
}

fn mutex_counter(threads: usize, times: usize) -> u64 {
    let counter = Mutex::new(0);
    run(threads, move |_| {
        let add = |_| {
            let mut counter = counter.lock().expect("nobody panics");
            *counter += 1;
            *counter
        };
        all((0..times).map(add))
    })
}

fn last_zero(n: usize) -> u64 {
    let array: Vec<AtomicUsize> = (0..=n).map(|_| AtomicUsize::new(0)).collect();
    run(n + 1, move |i| {
        if i > 0 {
            let before = array[i - 1].load(Ordering::SeqCst);
            array[i].store(before + 1, Ordering::SeqCst);
            return before as u64;
        }
        let mut at = n;
        while array[at].load(Ordering::SeqCst) != 0 {
            at -= 1;
        }
        at as u64
    })
}

/// Treiber's stack over numbered nodes, each of which is pushed once; 0 is no node.
struct Treiber {
    head: AtomicUsize,
    next: [Plain; 8],
}

impl Treiber {
    fn new() -> Treiber {
        Treiber { head: AtomicUsize::new(0), next: [const { Plain::new(0) }; 8] }
    }

    fn push(&self, node: usize) {
        loop {
            let head = self.head.load(Ordering::SeqCst);
            self.next[node].store(head, Ordering::Relaxed);
            if self.replace(head, node) {
                return;
            }
        }
    }

    fn pop(&self) -> usize {
        loop {
            let head = self.head.load(Ordering::SeqCst);
            if head == 0 || self.replace(head, self.next[head].load(Ordering::Relaxed)) {
                return head;
            }
        }
    }

    fn replace(&self, from: usize, to: usize) -> bool {
        self.head.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

fn treiber_pop_push() -> u64 {
    let stack = Treiber::new();
    run(2, move |i| {
        if i == 0 {
            return stack.pop() as u64;
        }
        stack.push(1);
        0
    })
}

fn treiber(threads: usize) -> u64 {
    let stack = Treiber::new();
    run(threads, move |i| {
        stack.push(i + 1);
        stack.pop() as u64
    })
}

/// Michael and Scott's queue over numbered nodes; node 0 is the first dummy, and `NONE` is no node.
struct MichaelScott {
    head: AtomicUsize,
    tail: AtomicUsize,
    next: [AtomicUsize; 3],
}

const NONE: usize = 15;

impl MichaelScott {
    fn new() -> MichaelScott {
        let next = [(); 3].map(|()| AtomicUsize::new(NONE));
        MichaelScott { head: AtomicUsize::new(0), tail: AtomicUsize::new(0), next }
    }

    fn enqueue(&self, node: usize) {
        loop {
            let tail = self.tail.load(Ordering::SeqCst);
            let next = self.next[tail].load(Ordering::SeqCst);
            if next != NONE {
                let _ = exchange(&self.tail, tail, next);
            } else if exchange(&self.next[tail], NONE, node) {
                let _ = exchange(&self.tail, tail, node);
                return;
            }
        }
    }

    fn dequeue(&self) -> usize {
        loop {
            let head = self.head.load(Ordering::SeqCst);
            let tail = self.tail.load(Ordering::SeqCst);
            let next = self.next[head].load(Ordering::SeqCst);
            if next == NONE {
                return NONE;
            }
            if head == tail {
                let _ = exchange(&self.tail, tail, next);
            } else if exchange(&self.head, head, next) {
                return next;
            }
        }
    }
}

fn exchange(cell: &AtomicUsize, from: usize, to: usize) -> bool {
    cell.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

fn michael_scott() -> u64 {
    let queue = MichaelScott::new();
    run(2, move |i| {
        queue.enqueue(i + 1);
        queue.dequeue() as u64
    })
}
