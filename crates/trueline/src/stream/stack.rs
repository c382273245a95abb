//! The stack, online: last in, first out.
//!
//! A stack that never empties has no gap at which its past could be forgotten, and a value that has
//! come and gone constrains those that stay. Write p and q for the moments of a value's push and
//! pop; a history is linearizable iff the intervals [p, q] can be chosen such that no two of them
//! cross. Take a moment T at which no pop is open. Let X be the values that have left by then and U
//! those that have not. A value x of X and one v of U do not cross iff p(v) is outside of [p(x),
//! q(x)], because q(v) is after T. So only the moments of their pushes connect the values of U to
//! X: nothing of X may be inside at p(v), for every v of U. By the gap lemma (see
//! [`crate::monitor::container`]) that is so iff X alone is linearizable and each p(v) lies in no
//! cover of X. Hence:
//!
//! > decide X and U by the offline monitor, cut the covers of X out of the push intervals of U,
//! > and forget X.
//!
//! A cut at the end of an interval makes it shorter. A cut in the middle stays as a *block*, a
//! value without operations that is inside for just that time, as long as some push interval of U
//! contains it. Empty results have returned by T, so they are decided, and forgotten too. The past
//! affects the future in no other way.
//!
//! **Kept**: values inside with their blocks, and values that have come and gone since the last
//! used moment T. With p operations open all the time such a moment comes about every 2^p events;
//! if pops overlap each other without end there is none (one pop of unknown outcome suffices),
//! nothing is forgotten, and memory grows until the caller's limit is reached.
//!
//! **Found when** the engine checks: when at least [`BATCH`] values, and as many as are inside,
//! have left since the last check and no pop is open; when no event has arrived for a while
//! ([`Engine::decide_deferred`]); and at the end. Removed values that were never inserted are found
//! at once.
//!
//! Cost: O(log n) per operation, for n values inside, on average.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use smallvec::SmallVec;

use super::recent::Recent;
use super::{Clash, Engine, Id, NEVER, NONE, Stop, Time, Unknown, ambiguous, strange};
use crate::monitor::container::Action as Word;
use crate::monitor::{self, Answer, Op, Span, pending, stack};
use crate::spec::Action;
use crate::value::Value;

/// Values that have left before it is worth to look.
const BATCH: usize = if cfg!(test) { 2 } else { 2048 };
/// The last removed values are remembered to distinguish 'twice' from 'never'.
const RECENT: usize = 64;
/// Operations that are kept to explain why an interval is shorter than it was.
const REASONS: usize = 16;
/// How many operations a check of open pops may process for each operation in memory.
const PATIENCE: u64 = 64;

/// Operations that explain something; one too many and it stays unexplained.
type Reasons = SmallVec<[Id; 2]>;

/// A value: its push, and its pop once there is one.
struct Pair {
    push: Id,
    pop: Id,
    push_call: Time,
    /// [`NEVER`] while the push is open.
    push_return: Time,
    pop_call: Time,
    pop_return: Time,
    /// Why the interval of the push begins later, ends earlier than it did.
    later: Reasons,
    earlier: Reasons,
}

impl Pair {
    fn covers(&self) -> bool {
        self.push_return < self.pop_call
    }
}

/// Something that is inside from `from` to `to`.
struct Block {
    from: Time,
    to: Time,
    reasons: Reasons,
}

pub(super) struct Stack {
    inside: HashMap<Value, Pair, FixedState>,
    left: Vec<Pair>,
    blocks: Vec<Block>,
    empties: Vec<(Time, Time, Id)>,
    /// Open pops, by call.
    open: Vec<(Time, Id)>,
    /// Open operations that only look.
    lookups: Vec<(Time, Id)>,
    /// How many must have left before the next look.
    look_at: usize,
    is_decided: bool,
    /// The last removed values, to distinguish 'twice' from 'never'.
    recent: Recent,
    /// The initial content.
    at_first: Unknown,
}

impl Stack {
    pub(super) fn new(initial: &[Value]) -> Result<Stack, Stop> {
        let mut stack = Stack {
            inside: HashMap::default(),
            left: Vec::new(),
            blocks: Vec::new(),
            empties: Vec::new(),
            open: Vec::new(),
            lookups: Vec::new(),
            look_at: BATCH,
            is_decided: true,
            recent: Recent::new(RECENT),
            at_first: Unknown::NONE,
        };
        for (i, value) in initial.iter().enumerate() {
            stack.pushes(NONE, 2 * i as Time, value)?;
            stack.pushed(2 * i as Time + 1, value);
        }
        Ok(stack)
    }

    /// See [`super::forgiving_engine`].
    pub(super) fn forgiving(lasts: bool) -> Result<Stack, Stop> {
        Ok(Stack { at_first: Unknown::new(lasts), ..Stack::new(&[])? })
    }

    fn pushes(&mut self, id: Id, at: Time, value: &Value) -> Result<(), Stop> {
        let held = Pair {
            push: id,
            pop: NONE,
            push_call: at,
            push_return: NEVER,
            pop_call: NEVER,
            pop_return: NEVER,
            later: Reasons::new(),
            earlier: Reasons::new(),
        };
        match self.inside.entry(value.clone()) {
            Entry::Vacant(place) => {
                place.insert(held);
                Ok(())
            }
            Entry::Occupied(_) => Err(ambiguous(value)),
        }
    }

    fn pushed(&mut self, at: Time, value: &Value) {
        if let Some(held) = self.inside.get_mut(value) {
            held.push_return = at;
            if held.pop != NONE {
                // Its pop returned already: it can have come and gone in one moment.
                self.inside.remove(value);
            }
        }
    }

    fn popped(&mut self, id: Id, call: Time, at: Time, value: &Value) -> Result<(), Clash> {
        let Some(held) = self.inside.get_mut(value) else {
            if self.at_first.explains(call) {
                return Ok(());
            }
            return Err(self.recent.clash(id, value));
        };
        if held.pop != NONE {
            let clash = Clash::new([held.push, held.pop, id]);
            return Err(clash.because(id, "took a value that another removal had taken"));
        }
        (held.pop, held.pop_call, held.pop_return) = (id, call, at);
        if held.push_return == NEVER {
            return Ok(());
        }
        let is_wide = held.covers();
        let held = self.inside.remove(value);
        if let Some(held) = held {
            self.recent.left(value.clone(), held.push, id);
            if is_wide {
                self.left.push(held);
            }
        }
        Ok(())
    }

    /// Something has come to its end: is it time to look?
    fn look_in_time(&mut self) -> Result<(), Stop> {
        self.is_decided = false;
        let gone = self.left.len() + self.empties.len();
        if gone < self.look_at {
            return Ok(());
        }
        if self.open.is_empty() && self.lookups.is_empty() {
            self.look_at = BATCH.max(self.inside.len());
            self.look()?;
            self.forget();
        } else if gone >= 4 * self.look_at {
            // No moment to forget has come for long. At least check, and then again after twice as
            // long.
            self.look_at = gone;
            let _undecided = self.look_with_open_pops(PATIENCE * gone as u64)?;
        }
        Ok(())
    }

    /// Decides the kept values; no pop is open.
    fn look(&mut self) -> Result<(), Stop> {
        self.is_decided = true;
        let replayed = self.replayed();
        match stack::check(&replayed.operations, &[]) {
            Answer::Order(_) => Ok(()),
            Answer::Violation { operations, why, .. } => {
                Err(self.violation(&replayed, &operations, Some(why)).into())
            }
        }
    }

    /// The same while pops are open, which may have taken any value; returns false if it took too
    /// long.
    fn look_with_open_pops(&self, mut patience: u64) -> Result<bool, Stop> {
        let replayed = self.replayed();
        let step = |operations: u64| {
            patience = patience.saturating_sub(operations);
            patience > 0
        };
        let monitor = |operations: &[Op<Word>], initial: &[u32]| stack::check(operations, initial);
        match pending::check(&replayed.operations, &[], &monitor, step) {
            None => Ok(false),
            Some(Answer::Order(_)) => Ok(true),
            Some(Answer::Violation { operations, why, .. }) => {
                Err(self.violation(&replayed, &operations, Some(why)).into())
            }
        }
    }

    fn violation(
        &self,
        replayed: &Replayed<'_>,
        operations: &[u32],
        why: Option<monitor::Why>,
    ) -> Clash {
        let mut ids = Vec::new();
        let mut partial = false;
        for &o in operations {
            match &replayed.who[o as usize] {
                Who::Operation(id) => ids.push(*id),
                Who::Pair(id, held) => {
                    ids.push(*id);
                    for reasons in [&held.later, &held.earlier] {
                        ids.extend(reasons);
                        partial |= reasons.len() > REASONS;
                    }
                }
                Who::Block(block) => {
                    ids.extend(&block.reasons);
                    partial |= block.reasons.len() > REASONS;
                }
            }
        }
        let clash = match why {
            Some(monitor::Why::EmptyWhileCovered { empty }) => {
                let Who::Operation(id) = replayed.who[empty as usize] else {
                    return Clash::new(ids);
                };
                let what =
                    "found nothing, but from its call to its return some value was always inside";
                Clash::new(ids).because(id, what)
            }
            _ => Clash::new(ids),
        };
        Clash { partial, ..clash }
    }

    /// All that is kept, for the offline monitor.
    fn replayed(&self) -> Replayed<'_> {
        let mut replayed = Replayed::default();
        let inside = self.inside.values().filter(|held| held.push_return != NEVER);
        for held in inside.chain(&self.left) {
            let value = replayed.values();
            let who = || Who::Pair(held.push, held);
            replayed.add(Word::Insert(value), (held.push_call, 1), (held.push_return, 1), who());
            if held.pop != NONE {
                let who = Who::Pair(held.pop, held);
                replayed.add(Word::Remove(value), (held.pop_call, 1), (held.pop_return, 1), who);
            }
        }
        for block in &self.blocks {
            // In no time before the block begins, and in no time after it ends.
            let value = replayed.values();
            let who = || Who::Block(block);
            replayed.add(Word::Insert(value), (block.from, 0), (block.from, 1), who());
            replayed.add(Word::Remove(value), (block.to, 1), (block.to, 2), who());
        }
        for &(call, returned, id) in &self.empties {
            replayed.add(Word::Empty, (call, 1), (returned, 1), Who::Operation(id));
        }
        for &(call, id) in &self.open {
            replayed.add(Word::RemoveUnknown, (call, 1), (NEVER, 1), Who::Operation(id));
        }
        replayed.rank();
        replayed
    }

    /// Cuts the removed values out of the intervals of the remaining pushes. No pop is open.
    fn forget(&mut self) {
        self.empties.clear();
        let mut covers: Vec<Block> = std::mem::take(&mut self.blocks);
        for held in self.left.drain(..) {
            let mut reasons = held.earlier;
            reasons.extend([held.push, held.pop]);
            covers.push(Block { from: held.push_return, to: held.pop_call, reasons });
        }
        let past = Past::new(covers);
        for held in self.inside.values_mut().filter(|held| held.push_return != NEVER) {
            if let Some((_, to)) = past.around(held.push_call) {
                past.explain(held.push_call, to, &mut held.later);
                held.push_call = to;
            }
            // The last slot is the one before the return.
            if let Some((from, _)) = past.around(held.push_return - 1) {
                past.explain(from, held.push_return, &mut held.earlier);
                held.push_return = from;
            }
            for &(from, to) in past.within(held.push_call, held.push_return) {
                let mut reasons = Reasons::new();
                past.explain(from, to, &mut reasons);
                self.blocks.push(Block { from, to, reasons });
            }
        }
        // Several pushes can run around the same block.
        self.blocks.sort_unstable_by_key(|block| block.from);
        self.blocks.dedup_by_key(|block| block.from);
    }
}

/// The covers of the past.
struct Past {
    /// By beginning.
    covers: Vec<Block>,
    /// For each prefix of the covers, the one that ends last.
    last: Vec<u32>,
    /// Their union: disjoint, ascending.
    union: Vec<(Time, Time)>,
}

impl Past {
    fn new(mut covers: Vec<Block>) -> Past {
        covers.sort_unstable_by_key(|cover| cover.from);
        let mut last: Vec<u32> = Vec::with_capacity(covers.len());
        let mut union: Vec<(Time, Time)> = Vec::new();
        for (i, cover) in covers.iter().enumerate() {
            last.push(match last.last() {
                Some(&best) if covers[best as usize].to >= cover.to => best,
                _ => i as u32,
            });
            match union.last_mut() {
                Some((_, to)) if cover.from <= *to => *to = (*to).max(cover.to),
                _ => union.push((cover.from, cover.to)),
            }
        }
        Past { covers, last, union }
    }

    /// The range of time around the slot.
    fn around(&self, slot: Time) -> Option<(Time, Time)> {
        let behind = self.union.partition_point(|&(from, _)| from <= slot);
        let &(from, to) = self.union[..behind].last()?;
        (slot < to).then_some((from, to))
    }

    /// The covers between these times.
    fn within(&self, from: Time, to: Time) -> &[(Time, Time)] {
        let first = self.union.partition_point(|block| block.0 < from);
        let end = self.union.partition_point(|block| block.0 < to);
        &self.union[first..end.max(first)]
    }

    /// Adds the operations of a chain of covers from here to there, unless there are already too
    /// many.
    fn explain(&self, from: Time, to: Time, reasons: &mut Reasons) {
        let mut reached = from;
        while reached < to && reasons.len() <= REASONS {
            let behind = self.covers.partition_point(|cover| cover.from <= reached);
            let Some(&best) = self.last[..behind].last() else { return };
            let best = &self.covers[best as usize];
            if best.to <= reached {
                return;
            }
            reasons.extend(best.reasons.iter().copied().filter(|&id| id != NONE));
            reached = best.to;
        }
        // One more than allowed means that some are missing.
        reasons.truncate(REASONS + 1);
    }
}

enum Who<'a> {
    Operation(Id),
    Pair(Id, &'a Pair),
    Block(&'a Block),
}

/// Operations as the offline monitor wants them.
#[derive(Default)]
struct Replayed<'a> {
    operations: Vec<Op<Word>>,
    who: Vec<Who<'a>>,
    /// The time, the order at equal times, and which end of which operation it is.
    ends: Vec<(Time, u8, u32)>,
    values: u32,
}

impl<'a> Replayed<'a> {
    fn values(&mut self) -> u32 {
        self.values += 1;
        self.values - 1
    }

    fn add(&mut self, action: Word, call: (Time, u8), returned: (Time, u8), who: Who<'a>) {
        let number = self.operations.len() as u32;
        self.ends.push((call.0, call.1, 2 * number));
        if returned.0 != NEVER {
            self.ends.push((returned.0, returned.1, 2 * number + 1));
        }
        let span = Span { call: 0, returned: monitor::NEVER };
        self.operations.push(Op { span, action });
        self.who.push(who);
    }

    /// Puts ranks in the place of times.
    fn rank(&mut self) {
        self.ends.sort_unstable();
        for (rank, &(_, _, end)) in self.ends.iter().enumerate() {
            let span = &mut self.operations[(end / 2) as usize].span;
            match end % 2 {
                0 => span.call = rank as u32,
                _ => span.returned = rank as u32,
            }
        }
    }
}

impl Engine for Stack {
    fn call(&mut self, id: Id, at: Time, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            Some(Action::Insert(value)) => return self.pushes(id, at, value),
            Some(Action::RemoveUnknown) => self.open.push((at, id)),
            None => self.lookups.push((at, id)),
            Some(other) => return Err(strange(other)),
        }
        Ok(())
    }

    fn returns(&mut self, id: Id, at: Time, action: &Action) -> Result<(), Stop> {
        if let Action::Insert(value) = action {
            self.pushed(at, value);
            return Ok(());
        }
        let call = self.close(id).unwrap_or(at);
        match action {
            Action::Remove(value) => self.popped(id, call, at, value)?,
            Action::FoundEmpty => {
                self.empties.push((call, at, id));
                self.at_first.is_gone(at);
            }
            other => return Err(strange(other)),
        }
        self.look_in_time()
    }

    fn unknown(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            // Popped already, it can have come and gone in one moment.
            Some(Action::Insert(value)) => {
                if self.inside.get(value).is_some_and(|held| held.pop != NONE) {
                    self.inside.remove(value);
                }
            }
            Some(_) => {}
            None => drop(self.close(id)),
        }
        Ok(())
    }

    fn fails(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            Some(Action::Insert(value)) => match self.inside.remove(value) {
                Some(held) if held.pop != NONE => {
                    let clash = Clash::new([held.pop]);
                    Err(clash.because(held.pop, "took a value that was never put in").into())
                }
                _ => Ok(()),
            },
            _ => {
                self.close(id);
                self.look_in_time()
            }
        }
    }

    fn decide_deferred(&mut self) -> Result<(), Stop> {
        match self.is_decided || !self.open.is_empty() {
            true => Ok(()),
            false => self.look(),
        }
    }

    fn give_up(&mut self) -> Result<(), Stop> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Stop> {
        if self.open.is_empty() {
            return self.look();
        }
        let patience = 1_000_000 * PATIENCE;
        match self.look_with_open_pops(patience)? {
            true => Ok(()),
            false => Err(Stop::Unfit(
                "too many removals never returned to tell what each of them took".into(),
            )),
        }
    }

    fn is_bare(&self) -> bool {
        self.inside.is_empty() && self.open.is_empty() && self.lookups.is_empty()
    }

    fn rest(&mut self) -> Result<(), Stop> {
        self.look()?;
        self.forget();
        Ok(())
    }

    fn unjudged(&self) -> u64 {
        self.at_first.unjudged
    }

    fn mark(&self, keep: &mut dyn FnMut(Id)) {
        for held in self.inside.values().chain(&self.left) {
            keep(held.push);
            keep(held.pop);
            held.later.iter().chain(&held.earlier).for_each(|&id| keep(id));
        }
        self.blocks.iter().flat_map(|block| &block.reasons).for_each(|&id| keep(id));
        self.empties.iter().for_each(|empty| keep(empty.2));
        self.open.iter().chain(&self.lookups).for_each(|open| keep(open.1));
        self.recent.mark(keep);
    }
}

impl Stack {
    fn close(&mut self, id: Id) -> Option<Time> {
        for open in [&mut self.open, &mut self.lookups] {
            if let Some(at) = open.iter().rposition(|o| o.1 == id) {
                return Some(open.remove(at).0);
            }
        }
        None
    }
}
