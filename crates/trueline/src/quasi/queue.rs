//! Queues with unique values, in the reading `slots`: a bound in O(n log n), and a search that
//! carries few configurations.
//!
//! A strict queue removes in the order of addition, so the removal of a value may differ from its
//! turn by the distance between its place among the additions of p' (its *rank*) and its place
//! among the removals of p'. Real time alone gives a window for either place: if two windows are
//! further apart than the factor, no order helps ([`least_by_windows`]). Whatever that does not
//! refute is searched from return to return, like `just-in-time`, with:
//! - *Exchange of additions.* Of two open additions, the one that returns first and whose value is
//!   certainly removed first goes first. In a solution with the other order their places can be
//!   exchanged. The larger of the two displacements does not grow, and causality still holds.
//! - *Exchange of removals.* Of two open removals, the one that returns first and whose value has
//!   the smaller rank goes first, for the same reason. Every exchange reduces the number of
//!   inversions between additions and removals, so a solution with the fewest obeys both rules.
//! - *Removals first.* A removal that was possible before the addition just made goes before it.
//! - *Windows.* A value never takes a rank from which its removal is out of reach.
//!
//! With a *width* only the most promising configurations are carried from return to return. If none
//! is left although some were dropped, the search goes back some returns to a mark that it left
//! there, and carries more for a while ([`Retry`]), because the reasons for a large displacement
//! are usually near. An order found in this way is valid; only a search that never dropped one
//! refutes. Cost: O(n w (p + c)) for width w, p open operations and contents c.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use smallvec::SmallVec;

use super::End;
use super::lives::Queue;
use super::part_history::Act;
use crate::budget::Exhausted;
use crate::check::Ticker;

/// The result of a search.
#[derive(Debug)]
pub(super) enum Found {
    /// p'.
    Order(Vec<u32>),
    /// There is none; every prefix without the return of this operation has one, if the end is
    /// open.
    Refuted(Option<u32>),
    /// Configurations were dropped, and the rest led nowhere.
    Dropped,
}

impl Queue<'_> {
    /// Searches for an order with this factor, carrying at most `width` configurations.
    pub(super) fn search(
        &self,
        factor: u32,
        end: End,
        width: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<Found, Exhausted> {
        if self.alien.is_some() {
            return Ok(Found::Refuted(self.alien));
        }
        match Search::new(self, factor, end, width) {
            Some(mut search) => search.run(ticker),
            None => Ok(Found::Dropped),
        }
    }
}

const ROOT: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

/// The values that p' has not removed, with their ranks, by rank.
type Waiting = SmallVec<[(u32, u32); 8]>;

#[derive(Clone)]
struct Configuration {
    /// Slots of the open operations that are linearized.
    open: u64,
    added: u32,
    taken: u32,
    waiting: Waiting,
    /// How far operations are from their places: smaller is more promising.
    cost: u64,
    /// The operation that was linearized last.
    last: u32,
    ancestor: u32,
}

/// Returns between two marks, and how many marks are kept.
const STRIDE: usize = 16;
const MARKS: usize = 128;
/// How often the search goes back for one return, each time four times as far and four times as
/// wide.
const TRIES: u32 = 4;

/// A point where the search can start again: before the return of this number.
struct Mark {
    at: usize,
    called: usize,
    open: Vec<u32>,
    alive: Vec<Configuration>,
    dropped: bool,
}

/// The return up to which more configurations are carried, and how often the search went back for
/// it.
#[derive(Clone, Copy, Default)]
struct Retry {
    until: usize,
    tries: u32,
}

struct Search<'q, 'a> {
    queue: &'q Queue<'a>,
    factor: u32,
    end: End,
    width: usize,
    /// The slot of each operation.
    slots: Vec<u8>,
    /// Operations that were called and have not returned.
    open: Vec<u32>,
    todo: Vec<Configuration>,
    ready: Vec<Configuration>,
    seen: HashSet<(u64, Waiting), FixedState>,
    /// Parent and operation.
    family: Vec<(u32, u32)>,
    prune_at: usize,
    dropped: bool,
    marks: VecDeque<Mark>,
}

impl<'q, 'a> Search<'q, 'a> {
    /// `None` if more than 64 operations are open at once.
    fn new(queue: &'q Queue<'a>, factor: u32, end: End, width: usize) -> Option<Search<'q, 'a>> {
        let words = &queue.words.words;
        let mut slots = vec![0; words.len()];
        let mut free: Vec<u8> = (0..64).rev().collect();
        let mut returned = 0;
        for (o, word) in words.iter().enumerate() {
            while let Some(&r) = queue.returns.get(returned)
                && words[r as usize].returned < word.call
            {
                free.push(slots[r as usize]);
                returned += 1;
            }
            slots[o] = free.pop()?;
        }
        Some(Search {
            queue,
            factor,
            end,
            width,
            slots,
            open: Vec::new(),
            todo: Vec::new(),
            ready: Vec::new(),
            seen: HashSet::default(),
            family: Vec::new(),
            prune_at: 1 << 18,
            dropped: false,
            marks: VecDeque::new(),
        })
    }

    fn run(&mut self, ticker: &mut Ticker<'_>) -> Result<Found, Exhausted> {
        let queue = self.queue;
        let words = &queue.words.words;
        let initial = &queue.words.initial;
        let waiting = initial.iter().enumerate().map(|(rank, &v)| (rank as u32, v)).collect();
        let added = initial.len() as u32;
        let mut alive = vec![Configuration {
            open: 0,
            added,
            taken: 0,
            waiting,
            cost: 0,
            last: NONE,
            ancestor: ROOT,
        }];
        let mut called = 0;
        let mut retry = Retry::default();
        let mut at = 0;
        while at < queue.returns.len() {
            let returning = queue.returns[at];
            if at.is_multiple_of(STRIDE) && self.marks.back().is_none_or(|mark| mark.at < at) {
                let (open, alive) = (self.open.clone(), alive.clone());
                self.marks.push_back(Mark { at, called, open, alive, dropped: self.dropped });
                if self.marks.len() > MARKS {
                    self.marks.pop_front();
                }
            }
            let width = match at < retry.until {
                true => self.width.saturating_mul(4usize.pow(retry.tries)),
                false => self.width,
            };
            while called < words.len() && words[called].call < words[returning as usize].returned {
                self.open.push(called as u32);
                called += 1;
            }
            self.seen.clear();
            let bit = 1 << self.slots[returning as usize];
            for mut configuration in alive.drain(..) {
                configuration.last = NONE;
                self.admit(configuration, bit);
            }
            let most = width.saturating_mul(64);
            let mut expanded = 0;
            while let Some(configuration) = self.todo.pop() {
                expanded += 1;
                if expanded > most && !self.ready.is_empty() {
                    self.todo.clear();
                    self.dropped = true;
                    break;
                }
                ticker.tick(|| self.bytes())?;
                self.expand(&configuration, bit);
            }
            if self.ready.is_empty() {
                if !self.dropped {
                    return Ok(Found::Refuted(Some(returning)));
                }
                match self.back(at, &mut retry) {
                    Some(mark) => {
                        (at, called, alive) = (mark.at, mark.called, mark.alive);
                        (self.open, self.dropped) = (mark.open, mark.dropped);
                        continue;
                    }
                    None => return Ok(Found::Dropped),
                }
            }
            if self.ready.len() > width {
                self.ready.sort_by_key(|c| c.cost);
                self.ready.truncate(width);
                self.dropped = true;
            }
            alive = std::mem::take(&mut self.ready);
            alive.iter_mut().for_each(|c| c.open &= !bit);
            self.open.retain(|&o| o != returning);
            if self.family.len() > self.prune_at {
                self.prune(&mut alive);
            }
            at += 1;
        }
        let met = |c: &&Configuration| {
            // p'' removed the ranks below the number of removals: with a closed end p' must have
            // done so, too.
            self.end == End::Open || c.waiting.first().is_none_or(|w| w.0 >= c.taken)
        };
        match alive.iter().find(met) {
            Some(configuration) => Ok(Found::Order(self.lineage(configuration.ancestor))),
            None if self.dropped => Ok(Found::Dropped),
            None => Ok(Found::Refuted(None)),
        }
    }

    /// The mark to start again from after no configuration survived this return; `None` if that was
    /// tried often enough.
    fn back(&mut self, at: usize, retry: &mut Retry) -> Option<Mark> {
        retry.tries = if at < retry.until { retry.tries + 1 } else { 1 };
        if retry.tries > TRIES {
            return None;
        }
        let far = STRIDE * 4usize.pow(retry.tries - 1);
        retry.until = retry.until.max(at + STRIDE);
        while self.marks.len() > 1 && self.marks.back().is_some_and(|mark| mark.at + far > at) {
            self.marks.pop_back();
        }
        self.marks.pop_back()
    }

    /// Takes the removals that found nothing where they fit, then stores the configuration unless
    /// it is known.
    fn admit(&mut self, mut configuration: Configuration, returning: u64) {
        if configuration.added == configuration.taken {
            for &o in &self.open {
                let bit = 1 << self.slots[o as usize];
                let is_empty = self.queue.words.words[o as usize].act == Act::Empty;
                if is_empty && configuration.open & bit == 0 {
                    configuration.open |= bit;
                    self.family.push((configuration.ancestor, o));
                    configuration.ancestor = self.family.len() as u32 - 1;
                }
            }
        }
        if !self.seen.insert((configuration.open, configuration.waiting.clone())) {
            return;
        }
        match configuration.open & returning != 0 {
            true => self.ready.push(configuration),
            false => self.todo.push(configuration),
        }
    }

    fn expand(&mut self, from: &Configuration, returning: u64) {
        let queue = self.queue;
        // Those that come first are tried last, so that the one that returns next is on top of the
        // stack.
        for place in (0..self.open.len()).rev() {
            let o = self.open[place];
            let bit = 1u64 << self.slots[o as usize];
            if from.open & bit != 0 {
                continue;
            }
            let after = match queue.words.words[o as usize].act {
                Act::Add(value) => self.add(from, o, value),
                Act::Take(value) => self.take(from, o, value),
                Act::Empty | Act::Unknown => None,
            };
            if let Some(mut after) = after {
                after.open |= bit;
                after.last = o;
                self.family.push((from.ancestor, o));
                after.ancestor = self.family.len() as u32 - 1;
                self.admit(after, returning);
            }
        }
    }

    /// Open operations that are not linearized, except this one.
    fn others<'s>(&'s self, from: &'s Configuration, o: u32) -> impl Iterator<Item = u32> + 's {
        self.open
            .iter()
            .copied()
            .filter(move |&a| a != o && from.open & (1 << self.slots[a as usize]) == 0)
    }

    fn add(&self, from: &Configuration, o: u32, value: u32) -> Option<Configuration> {
        let Queue { words, values, .. } = self.queue;
        let words = &words.words;
        let rank = from.added;
        let (least, most) = self.ranks(value);
        if rank < least || rank > most {
            return None;
        }
        let own = &values[value as usize];
        for a in self.others(from, o) {
            let Act::Add(other) = words[a as usize].act else { continue };
            // Its rank would be larger still.
            if self.ranks(other).1 < rank + 1 {
                return None;
            }
            // Exchange of additions.
            let surely_before = match (values[other as usize].take, own.take) {
                (Some(first), Some(then)) => {
                    words[first as usize].returned < words[then as usize].call
                }
                (Some(_), None) => true,
                (None, _) => false,
            };
            if surely_before && words[a as usize].returned < words[o as usize].returned {
                return None;
            }
        }
        let mut after = from.clone();
        after.added += 1;
        after.waiting.push((rank, value));
        after.cost += self.misfit(value, rank);
        Some(after)
    }

    fn take(&self, from: &Configuration, o: u32, value: u32) -> Option<Configuration> {
        let words = &self.queue.words.words;
        if from.added <= from.taken {
            return None;
        }
        let at = from.waiting.iter().position(|w| w.1 == value)?;
        let rank = from.waiting[at].0;
        let distance = rank.abs_diff(from.taken);
        if distance > self.factor {
            return None;
        }
        // Removals first.
        if from.last != NONE
            && let Act::Add(added) = words[from.last as usize].act
            && added != value
            && from.added - 1 > from.taken
        {
            return None;
        }
        // Exchange of removals.
        for a in self.others(from, o) {
            if let Act::Take(other) = words[a as usize].act
                && words[a as usize].returned < words[o as usize].returned
                && from.waiting[..at].iter().any(|w| w.1 == other)
            {
                return None;
            }
        }
        let mut after = from.clone();
        after.waiting.remove(at);
        after.taken += 1;
        if let Some(&(first, _)) = after.waiting.first()
            && first.saturating_add(self.factor) < after.taken
        {
            return None;
        }
        after.cost -= self.misfit(value, rank);
        after.cost += u64::from(distance) * u64::from(distance);
        Some(after)
    }

    /// The ranks from which the removal of the value is in reach.
    fn ranks(&self, value: u32) -> (u32, u32) {
        let life = &self.queue.values[value as usize];
        let slack = match (life.take, self.end) {
            // The strict queue must not have come to it.
            (None, End::Closed) => 0,
            _ => self.factor,
        };
        (life.place.0.saturating_sub(slack), life.place.1.saturating_add(slack))
    }

    fn misfit(&self, value: u32, rank: u32) -> u64 {
        let (first, last) = self.queue.values[value as usize].place;
        let gap = u64::from(first.saturating_sub(rank).max(rank.saturating_sub(last)));
        gap * gap
    }

    fn lineage(&self, mut ancestor: u32) -> Vec<u32> {
        let mut order = Vec::new();
        while ancestor != ROOT {
            let (parent, operation) = self.family[ancestor as usize];
            order.push(operation);
            ancestor = parent;
        }
        order.reverse();
        order
    }

    /// Forgets how configurations came about that are gone.
    fn prune(&mut self, alive: &mut [Configuration]) {
        let mut wanted = vec![false; self.family.len()];
        let marked = self.marks.iter().flat_map(|mark| &mark.alive);
        for configuration in alive.iter().chain(marked) {
            let mut at = configuration.ancestor;
            while at != ROOT && !std::mem::replace(&mut wanted[at as usize], true) {
                at = self.family[at as usize].0;
            }
        }
        let mut places = vec![ROOT; self.family.len()];
        let mut kept = 0;
        for at in 0..self.family.len() {
            if wanted[at] {
                let (parent, operation) = self.family[at];
                let parent = if parent == ROOT { ROOT } else { places[parent as usize] };
                self.family[kept] = (parent, operation);
                places[at] = kept as u32;
                kept += 1;
            }
        }
        self.family.truncate(kept);
        let marked = self.marks.iter_mut().flat_map(|mark| &mut mark.alive);
        for configuration in alive.iter_mut().chain(marked) {
            if configuration.ancestor != ROOT {
                configuration.ancestor = places[configuration.ancestor as usize];
            }
        }
        self.prune_at = (2 * kept).max(1 << 18);
    }

    fn bytes(&self) -> u64 {
        let held = self.todo.capacity() + self.ready.capacity();
        let contents = self.todo.last().map_or(0, |c| c.waiting.len() * 8);
        (held * (size_of::<Configuration>() + contents)
            + self.seen.capacity() * (size_of::<(u64, Waiting)>() + contents)
            + self.family.capacity() * 8) as u64
    }
}
