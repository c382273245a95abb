//! How many execution graphs a second the search under weak memory visits.
//!
//! ```text
//! cargo run --release -p trueline-explore --example graphs
//! ```

use std::ops::ControlFlow;
use std::time::Instant;

use trueline_explore::weak::{Order, Program, Request, Turn, Update, explore};

/// Threads that each store to a location of their own and load all others.
struct Buffering(usize);

impl Program for Buffering {
    fn threads(&self) -> usize {
        self.0
    }

    fn next(&self, thread: usize, answers: &[u64]) -> Request {
        let order = Order::Relaxed;
        match answers.len() {
            0 => Request::Write { location: thread, order, value: 1 },
            n if n < self.0 => {
                Request::Read { location: (thread + n) % self.0, order, until: None }
            }
            _ => Request::End,
        }
    }
}

/// Threads that each add twice to one counter.
struct Counter(usize);

impl Program for Counter {
    fn threads(&self) -> usize {
        self.0
    }

    fn next(&self, _thread: usize, answers: &[u64]) -> Request {
        let (update, order) = (Update::add(1), Order::AcqRel);
        match answers.len() {
            0 | 1 => Request::Update {
                location: 0,
                update,
                success: order,
                failure: Order::Relaxed,
                until: None,
            },
            _ => Request::End,
        }
    }
}

fn measure(name: &str, program: &impl Program) {
    let start = Instant::now();
    let found = explore(program, Turn::First, |_, _| ControlFlow::Continue(()));
    let seconds = start.elapsed().as_secs_f64();
    let rate = found.complete as f64 / seconds;
    println!(
        "{name}: {} graphs, {} dead ends, {seconds:.2} s, {rate:.0} a second",
        found.complete, found.dead_ends
    );
}

fn main() {
    measure("4 threads store one and load three", &Buffering(4));
    measure("5 threads store one and load four", &Buffering(5));
    measure("3 threads add twice", &Counter(3));
    measure("4 threads add twice", &Counter(4));
}
