//! The search on several OS threads.
//!
//! Subtrees of the search share nothing: a frame has a graph of its own, and each half of a list of
//! alternatives can be tried without the other. So a worker that finds others idle gives away its
//! oldest frame, or the older half of its alternatives. The counts are those of one worker, and
//! each graph is visited once.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::explorer::{End, Leaf, Summary, Turn, Turns, leaf};
use super::graph::Graph;
use super::program::Program;
use super::revisit::Search;

/// Work that no worker has claimed.
#[derive(Default)]
struct Work {
    searches: Vec<Search>,
    /// How many workers are at work.
    busy: usize,
}

struct Pool<'a, P, V> {
    program: &'a P,
    visit: &'a V,
    turn: Turn,
    work: Mutex<Work>,
    changed: Condvar,
    /// How many workers have nothing to do.
    idle: AtomicUsize,
    stopped: AtomicBool,
}

/// As [`explore`](super::explore), on several OS threads. Graphs are visited in no fixed order,
/// several at a time.
pub fn explore_with_workers<P, V>(program: &P, turn: Turn, workers: usize, visit: V) -> Summary
where
    P: Program + Sync,
    V: Fn(&Graph, End) -> ControlFlow<()> + Sync,
{
    let search = Search::new(program.threads());
    let pool = Pool {
        program,
        visit: &visit,
        turn,
        work: Mutex::new(Work { searches: vec![search], busy: 0 }),
        changed: Condvar::new(),
        idle: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
    };
    let mut total = Summary::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(|| pool.run())).collect();
        for thread in threads {
            match thread.join() {
                Ok(summary) => total.add(&summary),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    total
}

impl<P, V> Pool<'_, P, V>
where
    P: Program + Sync,
    V: Fn(&Graph, End) -> ControlFlow<()> + Sync,
{
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) -> Summary {
        // A panic of the visitor must not leave the others waiting.
        let _ends = Ends(self);
        let (mut summary, mut turns) = (Summary::default(), Turns::new(self.turn));
        while let Some(mut search) = self.claim() {
            self.exhaust(&mut search, &mut turns, &mut summary);
            let mut work = self.work();
            work.busy -= 1;
            if work.busy == 0 {
                self.changed.notify_all();
            }
        }
        summary
    }

    /// Claims work; `None` if nothing is left.
    fn claim(&self) -> Option<Search> {
        let mut work = self.work();
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(search) = work.searches.pop() {
                work.busy += 1;
                return Some(search);
            }
            if work.busy == 0 {
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn exhaust(&self, search: &mut Search, turns: &mut Turns, summary: &mut Summary) {
        while search.begins() || search.advance() {
            let reached = leaf(self.program, search, turns);
            summary.count(reached);
            if let Leaf::Visit(end) = reached
                && (self.visit)(search.graph(), end).is_break()
            {
                summary.stopped = true;
                self.stop();
            }
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            if self.idle.load(Ordering::Relaxed) > 0
                && let Some(part) = search.split()
            {
                self.work().searches.push(part);
                self.changed.notify_one();
            }
        }
    }

    fn stop(&self) {
        // Under the lock, so that a worker about to wait does not miss it.
        let _work = self.work();
        self.stopped.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

/// Stops all workers if one of them panics.
struct Ends<'a, 'b, P, V>(&'a Pool<'b, P, V>)
where
    P: Program + Sync,
    V: Fn(&Graph, End) -> ControlFlow<()> + Sync;

impl<P, V> Drop for Ends<'_, '_, P, V>
where
    P: Program + Sync,
    V: Fn(&Graph, End) -> ControlFlow<()> + Sync,
{
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
