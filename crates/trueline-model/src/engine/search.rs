//! Breadth first search of the product of a program and its determinised specification (Algorithms
//! 4.1 to 4.5 of the paper).
//!
//! Levels are processed in batches. Workers expand the states of a batch in contiguous pieces and
//! sort the successors by shard; then the shards take them in, each in the order of the batch. So
//! the states found, their order, and the states that an antichain evicts do not depend on the
//! number of threads, and neither do the counts.
//!
//! No parents are stored. A path is found by expanding the earlier levels again
//! ([`Search::path_to`]).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use smallvec::SmallVec;
use trueline::Budget;
use trueline::budget::{Exhausted, Footprint};

use super::canonical;
use super::cartesian::Choices;
use super::expand::{CLASS_WORDS, Hit, Limit, Reductions, Worker, Wrong, classes_of, shard_of};
use super::spec_sets::SpecSets;
use super::step::Machine;
use super::table::Shard;

/// A power of two; the same for every number of threads.
pub(crate) const SHARDS: usize = 256;
/// How many states are expanded before their successors are taken in: many, so that a shard stays
/// in the processor's cache while it takes in its own. Reductions make expansion slower, and limits
/// are checked between batches.
const BATCH: usize = 1 << 17;
const REDUCED_BATCH: usize = 1 << 13;

/// The progress of a running search, for the progress line.
#[derive(Debug, Default)]
pub struct Pulse {
    /// States found.
    pub states: AtomicU64,
    /// Levels completed.
    pub depth: AtomicU64,
    /// Bytes in tables.
    pub bytes: AtomicU64,
    /// A checkpoint is being written.
    pub saving: AtomicBool,
}

/// A process and the choices of each of its steps.
pub(crate) type Led = (usize, SmallVec<[Choices; 4]>);

/// Stored states, each but the first with the steps that lead to it from the one before.
pub(crate) type Path = Vec<(Vec<u32>, Option<Led>)>;

/// How a search ended.
pub(crate) enum End {
    /// Every state was visited.
    Complete,
    /// The state with this record has a wrong step.
    Wrong(Vec<u32>, Hit),
    /// The budget is spent.
    Spent(Exhausted),
    /// The requested depth is reached.
    Depth,
}

/// The result of a batch.
enum Expanded {
    All,
    Wrong(Vec<u32>, Hit),
    Spent(Exhausted),
}

/// The state of a search: enough to resume it.
pub(crate) struct Search<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) sets: &'a Mutex<SpecSets>,
    pub(crate) reductions: Reductions,
    pub(crate) threads: usize,
    pub(crate) shards: Vec<Shard>,
    /// How many states each shard had when a level was complete: level `k` lies between bounds `k`
    /// and `k + 1`. The last level is being expanded; its successors follow it.
    pub(crate) bounds: Vec<Vec<usize>>,
    /// How many states of the last level have been expanded.
    pub(crate) expanded: usize,
    pub(crate) transitions: u64,
    pub(crate) terminal: u64,
    /// Stops after this many states have been expanded.
    pub(crate) most_expanded: Option<u64>,
    /// How long before the end of the time to stop, given the memory in bytes.
    pub(crate) reserve: Box<dyn Fn(u64) -> Duration>,
}

impl<'a> Search<'a> {
    /// A search that has found the initial state.
    pub(crate) fn new(
        machine: &'a Machine,
        sets: &'a Mutex<SpecSets>,
        reductions: Reductions,
        threads: usize,
        initial: &[i32],
        initial_set: u32,
    ) -> Search<'a> {
        let mut search = Search::empty(machine, sets, reductions, threads);
        let mut worker = Worker::new(machine, sets, reductions, SHARDS);
        let record = worker.record_of(initial, initial_set);
        let shard = &mut search.shards[shard_of(&record[..record.len() - 1], SHARDS)];
        if reductions.antichain {
            shard.insert_minimal(&record, |_, _| false);
        } else {
            shard.insert(&record);
        }
        search.bounds.push(search.lengths());
        search
    }

    /// A search that has found nothing.
    pub(crate) fn empty(
        machine: &'a Machine,
        sets: &'a Mutex<SpecSets>,
        reductions: Reductions,
        threads: usize,
    ) -> Search<'a> {
        let width = machine.layout.words + 1;
        Search {
            machine,
            sets,
            reductions,
            threads: threads.max(1),
            shards: (0..SHARDS).map(|_| Shard::new(width, reductions.antichain)).collect(),
            bounds: vec![vec![0; SHARDS]],
            expanded: 0,
            transitions: 0,
            terminal: 0,
            most_expanded: None,
            reserve: Box::new(|_| Duration::ZERO),
        }
    }

    /// States that count.
    pub(crate) fn states(&self) -> u64 {
        self.shards.iter().map(|s| s.live() as u64).sum()
    }

    /// Bytes of the visited set.
    pub(crate) fn bytes(&self) -> u64 {
        self.shards.iter().map(Shard::bytes).sum()
    }

    /// Levels whose states have all been expanded.
    pub(crate) fn depth(&self) -> usize {
        self.bounds.len() - 2
    }

    fn batch(&self) -> usize {
        let slow = self.reductions.symmetry || self.reductions.partial_order;
        if slow { REDUCED_BATCH } else { BATCH }
    }

    /// Whether the first level with a faulty step is certain to be the least. With antichains, a
    /// state may be evicted by one of the next level before it is expanded, if its own level takes
    /// more than one batch.
    pub(crate) fn finds_the_shortest(&self) -> bool {
        let size = |w: &[Vec<usize>]| w[0].iter().zip(&w[1]).map(|(a, b)| b - a).sum::<usize>();
        !self.reductions.antichain || self.bounds.windows(2).all(|w| size(w) <= self.batch())
    }

    fn lengths(&self) -> Vec<usize> {
        self.shards.iter().map(Shard::len).collect()
    }

    /// Expands states until there are none, a step is faulty, or a limit is reached. `pause` is
    /// called between batches and may end the search.
    pub(crate) fn run(
        &mut self,
        budget: &Budget,
        most_levels: Option<usize>,
        pulse: &Pulse,
        pause: &mut dyn FnMut(&Search) -> Result<(), Exhausted>,
    ) -> End {
        let reductions = self.reductions;
        let size = self.batch();
        let new = || Worker::new(self.machine, self.sets, reductions, SHARDS);
        let mut workers: Vec<Worker> = (0..self.threads).map(|_| new()).collect();
        let mut left = self.most_expanded.unwrap_or(u64::MAX);
        let mut footprint = Footprint::new(budget);
        loop {
            if most_levels.is_some_and(|most| self.depth() >= most) {
                return End::Depth;
            }
            let level = self.depth();
            let (starts, ends) = (self.bounds[level].clone(), self.bounds[level + 1].clone());
            let total: usize = starts.iter().zip(&ends).map(|(a, b)| b - a).sum();
            if total == 0 {
                return End::Complete;
            }
            while self.expanded < total {
                let batch = self.expanded..total.min(self.expanded + size);
                let end = batch.end;
                if left < batch.len() as u64 {
                    return End::Depth;
                }
                left -= batch.len() as u64;
                if let Err(spent) = budget.spend((end - self.expanded) as u64) {
                    return End::Spent(spent);
                }
                let limit = Limit::new(budget, (self.reserve)(self.bytes()));
                if let Some(spent) = limit.now() {
                    return End::Spent(spent);
                }
                for worker in &mut workers {
                    worker.limit_to(limit.clone());
                }
                let states: Vec<(usize, usize)> = places(&starts, &ends, batch).collect();
                match self.expand(&mut workers, &states) {
                    Expanded::All => {}
                    Expanded::Wrong(record, hit) => return End::Wrong(record, hit),
                    // The partial results of the batch are discarded: a resumed search repeats it.
                    Expanded::Spent(spent) => return End::Spent(spent),
                }
                self.take_in(&mut workers);
                self.expanded = end;
                pulse.states.store(self.states(), Ordering::Relaxed);
                pulse.depth.store(self.depth() as u64, Ordering::Relaxed);
                let sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner).bytes();
                let bytes = self.bytes() + sets + workers.iter().map(Worker::bytes).sum::<u64>();
                footprint.set(bytes);
                pulse.bytes.store(bytes, Ordering::Relaxed);
                if let Err(spent) = pause(self) {
                    return End::Spent(spent);
                }
            }
            self.bounds.push(self.lengths());
            self.expanded = 0;
        }
    }

    /// A deadlocked state of the level that is being expanded. Such a state ends a run that is one
    /// step shorter than one whose last step is faulty, and both are found in the same level.
    /// `None` if there is none; an error if the level has more than `most` states, or the budget is
    /// spent.
    pub(crate) fn stuck_state(
        &self,
        most: usize,
        budget: &Budget,
    ) -> Result<Option<(Vec<u32>, Hit)>, Exhausted> {
        let level = self.depth();
        let (starts, ends) = (&self.bounds[level], &self.bounds[level + 1]);
        let total: usize = starts.iter().zip(ends).map(|(a, b)| b - a).sum();
        if total > most {
            return Err(Exhausted::Steps(most as u64));
        }
        let mut worker = Worker::new(self.machine, self.sets, self.reductions, SHARDS);
        worker.limit_to(Limit::new(budget, Duration::ZERO));
        for (shard, id) in places(starts, ends, 0..total) {
            let record = self.shards[shard].get(id);
            worker.expand(record);
            worker.out.iter_mut().for_each(Vec::clear);
            if let Some(spent) = worker.spent {
                return Err(spent);
            }
            if let Some(hit) = worker.hit.take().filter(|hit| hit.wrong == Wrong::Stuck) {
                return Ok(Some((record.to_vec(), hit)));
            }
        }
        Ok(None)
    }

    /// A path of stored states from the initial one to this record of the level that is being
    /// expanded; each but the first comes with the steps of one process that lead to it. Dead
    /// states are reachable, and may be on it. An error if the budget is spent.
    pub(crate) fn path_to(&self, record: &[u32], budget: &Budget) -> Result<Path, Exhausted> {
        let limit = Limit::new(budget, Duration::ZERO);
        let mut worker = Worker::new(self.machine, self.sets, self.reductions, SHARDS);
        worker.limit_to(limit);
        let mut path = vec![(record.to_vec(), None)];
        for level in (0..self.depth()).rev() {
            let target = path[path.len() - 1].0.clone();
            let (starts, ends) = (&self.bounds[level], &self.bounds[level + 1]);
            let total = starts.iter().zip(ends).map(|(a, b)| b - a).sum();
            let found = places(starts, ends, 0..total).find_map(|(shard, id)| {
                let record = self.shards[shard].get(id);
                let led = worker.leads_to(record, &target).map(|led| (record.to_vec(), led));
                if led.is_none() && worker.spent.is_some() {
                    Some((Vec::new(), (0, SmallVec::new())))
                } else {
                    led
                }
            });
            if let Some(spent) = worker.spent {
                return Err(spent);
            }
            let Some((before, led)) = found else {
                unreachable!("a state of a level has a predecessor in the level before")
            };
            let last = path.len() - 1;
            path[last].1 = Some(led);
            path.push((before, None));
        }
        path.reverse();
        Ok(path)
    }

    fn expand(&mut self, workers: &mut [Worker], states: &[(usize, usize)]) -> Expanded {
        let shards = &self.shards;
        let work = |worker: &mut Worker, piece: &[(usize, usize)]| -> Option<(Vec<u32>, Hit)> {
            for &(shard, id) in piece {
                if shards[shard].is_dead(id) {
                    continue;
                }
                let record = shards[shard].get(id);
                worker.expand(record);
                if worker.spent.is_some() {
                    return None;
                }
                if let Some(hit) = worker.hit.take() {
                    return Some((record.to_vec(), hit));
                }
            }
            None
        };
        let piece = states.len().div_ceil(workers.len()).max(1);
        let hits: Vec<Option<(Vec<u32>, Hit)>> = if workers.len() == 1 || states.len() < 64 {
            vec![work(&mut workers[0], states)]
        } else {
            thread::scope(|scope| {
                let tasks: Vec<_> = workers
                    .iter_mut()
                    .zip(states.chunks(piece))
                    .map(|(worker, piece)| scope.spawn(move || work(worker, piece)))
                    .collect();
                tasks
                    .into_iter()
                    .map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
                    .collect()
            })
        };
        if let Some(spent) = workers.iter().find_map(|worker| worker.spent) {
            // It is certainly a violation, but the first one is known only at the end of the batch.
            let first = hits.into_iter().flatten().next();
            return first
                .map_or(Expanded::Spent(spent), |(record, hit)| Expanded::Wrong(record, hit));
        }
        for worker in workers {
            self.transitions += std::mem::take(&mut worker.transitions);
            self.terminal += std::mem::take(&mut worker.terminal);
        }
        // Pieces are in the order of the batch, so the first hit does not depend on the number of
        // workers.
        let first = hits.into_iter().flatten().next();
        first.map_or(Expanded::All, |(record, hit)| Expanded::Wrong(record, hit))
    }

    fn take_in(&mut self, workers: &mut [Worker]) {
        let width = self.machine.layout.words + 1;
        let antichain = self.reductions.antichain;
        let stride = width + if antichain { CLASS_WORDS } else { 0 };
        let names = self.machine.layout.names;
        let sets = self.sets;
        let out: Vec<&Vec<Vec<u32>>> = workers.iter().map(|w| &w.out).collect();
        let amount: usize = out.iter().flat_map(|o| o.iter()).map(Vec::len).sum();
        let work = |number: usize, shard: &mut Shard| {
            for records in &out {
                if antichain {
                    let mut sets = sets.lock().unwrap_or_else(PoisonError::into_inner);
                    for record in records[number].chunks_exact(stride) {
                        let classes = classes_of(&record[width..]);
                        shard.insert_minimal(&record[..width], |a, b| {
                            canonical::included(&mut sets, a, b, classes, names)
                        });
                    }
                } else {
                    for record in records[number].chunks_exact(stride) {
                        shard.insert(record);
                    }
                }
            }
        };
        if self.threads == 1 || antichain || amount < 4096 {
            for (number, shard) in self.shards.iter_mut().enumerate() {
                work(number, shard);
            }
        } else {
            let work = &work;
            let piece = SHARDS.div_ceil(self.threads);
            thread::scope(|scope| {
                for (first, shards) in self.shards.chunks_mut(piece).enumerate() {
                    scope.spawn(move || {
                        for (i, shard) in shards.iter_mut().enumerate() {
                            work(first * piece + i, shard);
                        }
                    });
                }
            });
        }
        for worker in workers {
            worker.out.iter_mut().for_each(Vec::clear);
        }
    }
}

/// Shard and number of each state of a range of a level.
fn places<'a>(
    starts: &'a [usize],
    ends: &'a [usize],
    range: std::ops::Range<usize>,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut before = 0;
    starts.iter().zip(ends).enumerate().flat_map(move |(shard, (&start, &end))| {
        let from = range.start.max(before) - before;
        let to = range.end.max(before) - before;
        before += end - start;
        (start + from.min(end - start)..start + to.min(end - start)).map(move |id| (shard, id))
    })
}
