//! A worker: takes states, makes their successors, and sorts them by shard.

use std::sync::Mutex;
use std::time::Duration;

use smallvec::SmallVec;
use trueline::Budget;
use trueline::budget::Exhausted;

use super::canonical::Symmetry;
use super::cartesian::{self, Choices, Failed, Move};
use super::classes::Classes;
use super::layout::Frame;
use super::scratch::Scratch;
use super::spec_sets::{Cache, EMPTY, SpecSets};
use super::step::{Machine, Outcome};
use super::table;
use super::verify::Fault;

/// The fault of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// No order explains what was observed.
    NoState,
    /// The model makes an error.
    Fault(Fault),
    /// No node is left in this pool.
    Full(usize),
    /// A shared cell was taken to be constant and is not.
    Changed(usize),
    /// Deadlock: no process can take a step, some process is within an operation, and the
    /// specification does not explain that they all wait.
    Stuck,
}

/// A faulty run: the steps of one process from a stored state, the faulty one last. There are no
/// steps if the state itself is at fault.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) wrong: Wrong,
    pub(crate) process: usize,
    pub(crate) steps: SmallVec<[Choices; 4]>,
}

/// Which reductions a search uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reductions {
    pub(crate) symmetry: bool,
    pub(crate) partial_order: bool,
    pub(crate) antichain: bool,
}

/// Words that are appended to a record on its way to a shard: the classes of its frame.
pub(crate) const CLASS_WORDS: usize = 2;

pub(crate) struct Worker<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) cache: Cache<'a>,
    pub(crate) symmetry: Symmetry<'a>,
    pub(crate) scratch: Scratch,
    reductions: Reductions,
    frame: Frame,
    next: Frame,
    record: Vec<u32>,
    moves: Vec<Move>,
    /// By shard: records of successors.
    pub(crate) out: Vec<Vec<u32>>,
    pub(crate) transitions: u64,
    /// States in which every process has ended.
    pub(crate) terminal: u64,
    pub(crate) hit: Option<Hit>,
    /// Whether deadlocks are errors.
    finds_deadlocks: bool,
    /// The limit, checked while a state is expanded, since one state can have millions of
    /// successors; and whether it is reached.
    limit: Option<Limit<'a>>,
    pub(crate) spent: Option<Exhausted>,
    /// A record to search for, instead of sorting successors; and the steps that led to it.
    target: Option<Vec<u32>>,
    found: Option<(usize, SmallVec<[Choices; 4]>)>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        machine: &'a Machine,
        sets: &'a Mutex<SpecSets>,
        reductions: Reductions,
        shards: usize,
    ) -> Worker<'a> {
        Worker {
            machine,
            cache: Cache::new(sets),
            symmetry: Symmetry::new(machine, reductions.symmetry),
            scratch: Scratch::default(),
            reductions,
            frame: vec![0; machine.layout.slots],
            next: Frame::new(),
            record: Vec::new(),
            moves: Vec::new(),
            out: vec![Vec::new(); shards],
            transitions: 0,
            terminal: 0,
            hit: None,
            finds_deadlocks: machine.finds_deadlocks(),
            limit: None,
            spent: None,
            target: None,
            found: None,
        }
    }

    /// Stops when the limit is reached.
    pub(crate) fn limit_to(&mut self, limit: Limit<'a>) {
        self.limit = Some(limit);
    }

    /// Approximate memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let out: usize = self.out.iter().map(Vec::capacity).sum();
        4 * out as u64 + self.cache.bytes()
    }

    /// Whether the limit is reached. Checks only from time to time.
    fn is_spent(&mut self) -> bool {
        if self.spent.is_none()
            && let Some(limit) = &mut self.limit
        {
            self.spent = limit.reached();
        }
        self.spent.is_some()
    }

    /// Words of a record: the packed frame and the set.
    pub(crate) fn width(&self) -> usize {
        self.machine.layout.words + 1
    }

    /// The record of a frame with its set, in canonical form.
    pub(crate) fn record_of(&mut self, frame: &[i32], set: u32) -> Vec<u32> {
        self.next.clear();
        self.next.extend_from_slice(frame);
        let set = self.symmetry.canonical(&mut self.next, set, &mut self.cache);
        let mut record = vec![0; self.width()];
        self.machine.layout.pack(&self.next, &mut record[..self.machine.layout.words]);
        record[self.machine.layout.words] = set;
        record
    }

    /// Makes the successors of a record.
    pub(crate) fn expand(&mut self, record: &[u32]) {
        let words = self.machine.layout.words;
        let set = record[words];
        let mut frame = std::mem::take(&mut self.frame);
        self.machine.layout.unpack(&record[..words], &mut frame);
        let before = self.transitions;
        let goes_round = if self.reductions.partial_order {
            self.expand_cartesian(&frame, set)
        } else {
            self.expand_fully(&frame, set);
            false
        };
        if self.transitions == before && self.hit.is_none() && self.spent.is_none() && !goes_round {
            let mut processes = 0..self.machine.layout.processes;
            if processes.clone().all(|p| self.machine.ended(&frame, p)) {
                self.terminal += 1;
            } else if self.finds_deadlocks
                && processes.any(|p| self.machine.is_within(&frame, p))
                && !self.cache.lock().explains_waiting(set)
            {
                let (process, steps) = (0, SmallVec::new());
                self.hit = Some(Hit { wrong: Wrong::Stuck, process, steps });
            }
        }
        self.frame = frame;
    }

    fn expand_fully(&mut self, frame: &Frame, set: u32) {
        for process in 0..self.machine.layout.processes {
            self.machine.begin(&mut self.scratch, false);
            loop {
                let wrong = match self.machine.step(frame, process, &mut self.scratch) {
                    Outcome::Moved => {
                        self.transitions += 1;
                        let set = self.after(set);
                        if set == EMPTY {
                            Some(Wrong::NoState)
                        } else {
                            std::mem::swap(&mut self.next, &mut self.scratch.frame);
                            if self.emit(set) {
                                let steps = SmallVec::from_iter([self.scratch.choices.clone()]);
                                self.found = Some((process, steps));
                            }
                            None
                        }
                    }
                    Outcome::Blocked => None,
                    Outcome::Fault(message) => Some(Wrong::Fault(message)),
                    Outcome::Full(pool) => Some(Wrong::Full(pool)),
                    Outcome::Changed(slot) => Some(Wrong::Changed(slot)),
                };
                if let Some(wrong) = wrong {
                    let steps = SmallVec::from_iter([self.scratch.choices.clone()]);
                    self.hit.get_or_insert(Hit { wrong, process, steps });
                }
                if self.is_spent() {
                    return;
                }
                if !self.scratch.advance() {
                    break;
                }
            }
        }
    }

    fn after(&mut self, mut set: u32) -> u32 {
        for &label in &self.scratch.labels {
            set = self.cache.after(set, label);
        }
        set
    }

    /// Returns true if an endless path was dropped.
    fn expand_cartesian(&mut self, frame: &Frame, set: u32) -> bool {
        let mut moves = std::mem::take(&mut self.moves);
        moves.clear();
        let made = cartesian::moves(self.machine, frame, &mut self.scratch, &mut moves);
        let goes_round = made.as_ref().is_ok_and(|dropped| *dropped);
        if let Err(failed) = made {
            let Failed { process, steps, outcome } = *failed;
            let wrong = match outcome {
                Outcome::Full(pool) => Wrong::Full(pool),
                Outcome::Changed(slot) => Wrong::Changed(slot),
                Outcome::Fault(message) => Wrong::Fault(message),
                Outcome::Moved | Outcome::Blocked => unreachable!("nothing failed"),
            };
            self.hit.get_or_insert(Hit { wrong, process, steps });
            moves.clear();
        }
        for m in &mut moves {
            if self.is_spent() {
                break;
            }
            self.transitions += 1;
            let mut set = set;
            for &label in &m.labels {
                set = self.cache.after(set, label);
            }
            if set == EMPTY {
                let (process, steps) = (m.process, m.steps.clone());
                self.hit.get_or_insert(Hit { wrong: Wrong::NoState, process, steps });
                continue;
            }
            std::mem::swap(&mut self.next, &mut m.frame);
            if self.emit(set) {
                self.found = Some((m.process, m.steps.clone()));
            }
        }
        self.moves = moves;
        goes_round
    }

    /// Brings `self.next` and a set into canonical form and passes them on. Returns true if it is
    /// the target.
    fn emit(&mut self, set: u32) -> bool {
        if self.machine.is_idle(&self.next) {
            return false;
        }
        let words = self.machine.layout.words;
        let (set, classes) =
            self.symmetry.canonical_with_classes(&mut self.next, set, &mut self.cache);
        self.record.clear();
        self.record.resize(words + 1, 0);
        self.machine.layout.pack(&self.next, &mut self.record[..words]);
        self.record[words] = set;
        if let Some(target) = &self.target {
            return self.found.is_none() && *target == self.record;
        }
        let shard = shard_of(&self.record[..words], self.out.len());
        let out = &mut self.out[shard];
        out.extend_from_slice(&self.record);
        if self.reductions.antichain {
            out.extend_from_slice(&[classes as u32, (classes >> 32) as u32]);
        }
        false
    }

    /// The steps by which the record leads to the target in one move, if it does.
    pub(crate) fn leads_to(
        &mut self,
        record: &[u32],
        target: &[u32],
    ) -> Option<(usize, SmallVec<[Choices; 4]>)> {
        self.target = Some(target.to_vec());
        self.found = None;
        self.expand(record);
        self.target = None;
        self.found.take()
    }
}

/// When to stop.
#[derive(Clone)]
pub(crate) struct Limit<'a> {
    budget: &'a Budget,
    /// Stops this long before the end of the time, because the work after the search takes time
    /// too.
    reserve: Duration,
    asked: u32,
}

/// Successors between two checks of the limit.
const BETWEEN_LOOKS: u32 = 64;

impl<'a> Limit<'a> {
    pub(crate) fn new(budget: &'a Budget, reserve: Duration) -> Limit<'a> {
        Limit { budget, reserve, asked: 0 }
    }

    fn reached(&mut self) -> Option<Exhausted> {
        self.asked += 1;
        if !self.asked.is_multiple_of(BETWEEN_LOOKS) {
            return None;
        }
        self.now()
    }

    /// Whether it is reached.
    pub(crate) fn now(&self) -> Option<Exhausted> {
        if let Err(spent) = self.budget.spend(0) {
            return Some(spent);
        }
        let (limit, left) = self.budget.time_left()?;
        (left < self.reserve).then_some(Exhausted::Time(limit))
    }
}

/// The classes that were sent along with a record.
pub(crate) fn classes_of(words: &[u32]) -> Classes {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// The shard of a packed frame. Shards are a power of two.
pub(crate) fn shard_of(words: &[u32], shards: usize) -> usize {
    (table::hash(words) >> 48) as usize & (shards - 1)
}
