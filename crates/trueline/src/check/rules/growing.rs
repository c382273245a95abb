//! Lists and sets that only grow, and that are read as a whole: `log`, `set` without removals, `kv`
//! without puts.
//!
//! **The base order.** Reads of such an object form a chain: each shows a prefix (of a set: a
//! subset) of every larger one, or two of them clash. For each addition the chain determines
//! between which reads it lies: before those that show it, after those that do not; in a list, even
//! its position. So additions and reads have *keys*: operations with different keys can be in one
//! order only. Those with equal keys, ordered by call, never clash. So the history is linearizable
//! iff no operation returned before one with a smaller key was called, which one pass from the end
//! decides. Pending additions that no read shows are left out.
//!
//! **Repeated additions to a set.** Of the additions of a value, one is effective: the one whose
//! result says so, or else the one that was called first, which leaves most room. The others change
//! nothing and only have to come after it. Such a *follower* `f` of `e` fits iff it did not return
//! before the call of an operation that is in the base order no later than `e`. Then it comes after
//! `e` and after everything that it must follow. No base operation `w` that it must precede is
//! there: `w` would be no later than `e`, which was excluded, or be called before an operation that
//! returned before `f` was called. The same holds for followers that must follow each other.
//!
//! The search decides lists in which a value is added twice and shown, or in which a returned index
//! leaves a gap that no read shows. Texts are treated as lists of texts if none of them is a prefix
//! of another.
//!
//! Cost: O(n log n) plus the size of the results of reads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Ruling, Violation};
use crate::history::PENDING;
use crate::monitor::Span;
use crate::spec::subject::Grown;

mod part;

use part::{Action, Entry, Part};

/// An operation at the place of its key, or after an effective addition.
struct Base {
    /// Keys and entries, sorted.
    order: Vec<(u64, u32)>,
    /// Followers and the addition that each follows; `None` if the value is there initially.
    followers: Vec<(u32, Option<u32>)>,
}

/// Why there is no base order.
enum Stop {
    Violation(Violation),
    DoesNotFit,
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Stop {
        Stop::Violation(violation)
    }
}

const ALIEN: &str = "{0} shows a value that nobody added";
const SHOWN_TWICE: &str = "{0} shows a value twice that was added only once, by {1}";
const LACKS_INITIAL: &str = "{0} does not show a value that is there initially";
const NO_CHAIN: &str = "{0} and {1} contradict each other: each shows a value that the other does not, and nothing is ever removed";
const NO_PREFIX: &str = "{0} and {1} contradict each other: neither is a prefix of the other";
const LOST: &str = "{1} does not show the value of {0}, which had returned before it was called";
const TOO_EARLY: &str = "{0} shows the value of {1}, which was called only after it had returned";
const SHRUNK: &str = "{1} shows less than {0}, which had returned before it was called";
const OVERTAKEN: &str =
    "{2} shows the value of {1} but not that of {0}, which had returned before {1} was called";
const SWAPPED: &str =
    "{2} shows the value of {1} before that of {0}, which had returned before {1} was called";
const NEW_TWICE: &str = "{0} and {1} cannot both have added the same value as a new one";
const NOT_NEW: &str = "{0} added a value as a new one that is there initially";
const FOUND_NOTHING: &str = "{0} found a value that nobody added";
const OTHER_PLACE: &str = "{0} returned another index than that at which {1} shows its value";
const WRONG_PLACE: &str = "{0} returned an index at which {1} shows another value";
const INITIAL_PLACE: &str = "{0} returned an index at which there is a value initially";
const SAME_PLACE: &str = "{0} and {1} cannot both have returned the same index";
const PLACES: &str =
    "{1} returned a smaller index than {0}, which had returned before it was called";
const FOUND_EARLY: &str =
    "{0} found a value that was added first by {1}, which was called only after it had returned";
const ADDED_EARLY: &str =
    "{1} added a value as a new one that was there: {0} had returned before it was called";
const VALUE_LOST: &str =
    "{1} does not show the value of {0}, which had returned before it was called";
const VALUE_OVERTAKEN: &str =
    "{2} shows the value of {1} but not that of {0}, which had returned before {1} was called";

/// Decides, in numbers of the given operations; `None` if the rule does not fit.
pub(super) fn decide(grown: &Grown, spans: &[Span]) -> Option<Ruling> {
    let found = Part::new(grown, spans).and_then(|part| {
        let base = if grown.ordered { part.list()? } else { part.set()? };
        part.find_clash(&base)?;
        let order = part.witness(&base);
        // The order that the rule gives is replayed; if it fails, the search decides.
        if !part.replays(&order, grown.ordered) {
            debug_assert!(false, "the order of a growing collection does not replay");
            return Err(Stop::DoesNotFit);
        }
        Ok(order.iter().map(|&e| part.entries[e as usize].number).collect())
    });
    match found {
        Ok(order) => Some(Ruling::Order(order)),
        Err(Stop::Violation(violation)) => Some(Ruling::Violation(violation)),
        Err(Stop::DoesNotFit) => None,
    }
}

impl Part {
    fn clash(&self, entries: &[u32], text: &'static str) -> Stop {
        let numbers: Vec<u32> = entries.iter().map(|&e| self.entries[e as usize].number).collect();
        Violation::naming(&numbers, text).into()
    }

    /// The reads, those that show less first.
    fn reads(&self) -> Vec<u32> {
        let size = |e: &u32| self.shown_by(*e).map_or(0, <[u32]>::len);
        let all = 0..self.entries.len() as u32;
        let mut reads: Vec<u32> = all.filter(|&e| self.shown_by(e).is_some()).collect();
        reads.sort_by_key(size);
        reads
    }

    fn shown_by(&self, entry: u32) -> Option<&[u32]> {
        match self.entries[entry as usize].action {
            Action::Show(place) => Some(&self.shown[place as usize]),
            _ => None,
        }
    }

    /// The base order of a list.
    fn list(&self) -> Result<Base, Stop> {
        let reads = self.reads();
        let longest = reads.last().copied();
        let list = longest.and_then(|e| self.shown_by(e)).unwrap_or(&self.initial);
        let mut place = vec![None; self.adds.len()];
        for (at, &v) in list.iter().enumerate() {
            if at < self.initial.len() {
                continue;
            }
            // A read does not show which of two equal additions it saw.
            if self.adds[v as usize].len() > 1 || self.initial.contains(&v) {
                return Err(Stop::DoesNotFit);
            }
            if place[v as usize].replace(at).is_some()
                && let (Some(read), [add]) = (longest, &self.adds[v as usize][..])
            {
                return Err(self.clash(&[read, *add], SHOWN_TWICE));
            }
        }
        for &read in &reads {
            let shown = self.shown_by(read).unwrap_or_default();
            if !shown.starts_with(&self.initial) {
                return Err(self.clash(&[read], LACKS_INITIAL));
            }
            if !list.starts_with(shown) {
                return Err(self.clash(&[read, longest.unwrap_or(read)], NO_PREFIX));
            }
        }
        let mut base = Base { order: Vec::new(), followers: Vec::new() };
        // Additions that no read shows: those that return their index, and the others.
        let mut told: Vec<(i64, u32)> = Vec::new();
        let mut silent = Vec::new();
        for (e, entry) in self.entries.iter().enumerate() {
            let e = e as u32;
            let (v, tells) = match entry.action {
                Action::Show(_) => {
                    let length = self.shown_by(e).map_or(0, <[u32]>::len);
                    base.order.push((2 * length as u64, e));
                    continue;
                }
                Action::Add(v) => (v, None),
                Action::AddAt(v, at) => (v, Some(at)),
                Action::AddNew(_) | Action::Found(_) => return Err(Stop::DoesNotFit),
            };
            match (place[v as usize], tells) {
                (Some(at), Some(tells)) if at as i64 != tells => {
                    return Err(self.clash(&[e, longest.unwrap_or(e)], OTHER_PLACE));
                }
                (Some(at), _) => base.order.push((2 * at as u64 + 1, e)),
                (None, Some(tells)) if tells < self.initial.len() as i64 => {
                    return Err(self.clash(&[e], INITIAL_PLACE));
                }
                (None, Some(tells)) if tells < list.len() as i64 => {
                    return Err(self.clash(&[e, longest.unwrap_or(e)], WRONG_PLACE));
                }
                (None, Some(tells)) => told.push((tells, e)),
                (None, None) if entry.returned == PENDING => {}
                (None, None) => silent.push(e),
            }
        }
        told.sort_unstable();
        if let Some(pair) = told.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(self.clash(&[pair[0].1, pair[1].1], SAME_PLACE));
        }
        for (next, &(at, e)) in (list.len() as i64..).zip(&told) {
            if at != next {
                return Err(Stop::DoesNotFit);
            }
            base.order.push((2 * at as u64 + 1, e));
        }
        let end = (list.len() + told.len()) as u64;
        base.order.extend(silent.into_iter().map(|e| (2 * end + 1, e)));
        base.order.sort_unstable_by_key(|&(key, e)| (key, self.entries[e as usize].call));
        Ok(base)
    }

    /// The base order of a set.
    fn set(&self) -> Result<Base, Stop> {
        const UNSEEN: u32 = u32::MAX;
        let mut level = vec![UNSEEN; self.adds.len()];
        let mut is_initial = vec![false; self.adds.len()];
        for &v in &self.initial {
            (level[v as usize], is_initial[v as usize]) = (0, true);
        }
        let mut size = is_initial.iter().filter(|&&there| there).count();
        let mut base = Base { order: Vec::new(), followers: Vec::new() };
        let (mut levels, mut before) = (0u32, None);
        for read in self.reads() {
            let shown = self.shown_by(read).unwrap_or_default();
            let known = shown.iter().filter(|&&v| level[v as usize] != UNSEEN).count();
            if known < size {
                return Err(match before {
                    Some(before) => self.clash(&[before, read], NO_CHAIN),
                    None => self.clash(&[read], LACKS_INITIAL),
                });
            }
            if shown.len() > size {
                levels += 1;
                for &v in shown {
                    let level = &mut level[v as usize];
                    *level = (*level).min(levels);
                }
                size = shown.len();
            }
            base.order.push((2 * u64::from(levels) + 1, read));
            before = Some(read);
        }
        let end = 2 * u64::from(levels + 1);
        // The effective addition of each value.
        let mut effective = vec![None; self.adds.len()];
        for (v, adds) in self.adds.iter().enumerate() {
            let is_new = |&&e: &&u32| matches!(self.entries[e as usize].action, Action::AddNew(_));
            let mut new = adds.iter().filter(is_new);
            effective[v] = match (new.next(), new.next()) {
                (Some(&one), Some(&other)) => return Err(self.clash(&[one, other], NEW_TWICE)),
                (Some(&one), None) if is_initial[v] => return Err(self.clash(&[one], NOT_NEW)),
                (Some(&one), None) => Some(one),
                (None, _) if is_initial[v] => None,
                (None, _) => adds.first().copied(),
            };
        }
        let mut found = vec![false; self.adds.len()];
        for (e, entry) in self.entries.iter().enumerate() {
            let e = e as u32;
            let v = match entry.action {
                Action::Show(_) => continue,
                Action::Add(v) | Action::AddNew(v) | Action::AddAt(v, _) => v as usize,
                Action::Found(v) => {
                    found[v as usize] = true;
                    v as usize
                }
            };
            if effective[v].is_none() && !is_initial[v] {
                return Err(self.clash(&[e], FOUND_NOTHING));
            }
            if effective[v] != Some(e) && entry.returned != PENDING {
                base.followers.push((e, effective[v]));
            }
        }
        for (v, &e) in effective.iter().enumerate() {
            let Some(e) = e else {
                if level[v] != UNSEEN && !is_initial[v] {
                    // It has a number, so some operation used it, but none added it.
                    return Err(Stop::DoesNotFit);
                }
                continue;
            };
            let others_returned =
                || self.adds[v].iter().any(|&a| self.entries[a as usize].returned != PENDING);
            match level[v] {
                UNSEEN if found[v] || others_returned() => base.order.push((end, e)),
                UNSEEN => {}
                level => base.order.push((2 * u64::from(level), e)),
            }
        }
        base.order.sort_unstable_by_key(|&(key, e)| (key, self.entries[e as usize].call));
        Ok(base)
    }

    /// Returns the operations that clash with the base order, if there are any.
    fn find_clash(&self, base: &Base) -> Result<(), Stop> {
        // The one that returns first among those behind.
        let mut first: Option<u32> = None;
        for &(_, e) in base.order.iter().rev() {
            let entry = &self.entries[e as usize];
            if let Some(first) = first
                && self.entries[first as usize].returned < entry.call
            {
                return Err(self.overtaken(first, e));
            }
            if first.is_none_or(|f| entry.returned < self.entries[f as usize].returned) {
                first = Some(e);
            }
        }
        let place = self.places(base);
        // The one that is called last among those up to each place.
        let mut last_called = Vec::with_capacity(base.order.len());
        for &(_, e) in &base.order {
            let call = |e: u32| self.entries[e as usize].call;
            last_called.push(match last_called.last() {
                Some(&last) if call(last) > call(e) => last,
                _ => e,
            });
        }
        for &(f, effective) in &base.followers {
            let Some(effective) = effective else { continue };
            let entry = &self.entries[f as usize];
            if entry.returned < self.entries[effective as usize].call {
                let found = matches!(entry.action, Action::Found(_));
                let text = if found { FOUND_EARLY } else { ADDED_EARLY };
                return Err(self.clash(&[f, effective], text));
            }
            let at = place[effective as usize].unwrap_or(0);
            let w = last_called[at];
            if entry.returned < self.entries[w as usize].call {
                return Err(match self.shown_by(w) {
                    Some(_) => self.clash(&[f, w], VALUE_LOST),
                    None => match self.witness_read(w, effective) {
                        Some(read) => self.clash(&[f, w, read], VALUE_OVERTAKEN),
                        None => Stop::DoesNotFit,
                    },
                });
            }
        }
        Ok(())
    }

    /// `late` comes after `early` in the base order, but returned before it was called.
    fn overtaken(&self, late: u32, early: u32) -> Stop {
        match (self.shown_by(late), self.shown_by(early)) {
            (None, Some(_)) => self.clash(&[late, early], LOST),
            (Some(_), None) => self.clash(&[late, early], TOO_EARLY),
            (Some(_), Some(_)) => self.clash(&[late, early], SHRUNK),
            (None, None) => {
                if let Some(read) = self.witness_read(early, late) {
                    return self.clash(&[late, early, read], OVERTAKEN);
                }
                if let (Some(v), Some(w)) = (self.value_of(late), self.value_of(early))
                    && let Some(&longest) = self.reads().last()
                    && let Some(list) = self.shown_by(longest)
                    && list.contains(&v)
                    && list.contains(&w)
                {
                    return self.clash(&[late, early, longest], SWAPPED);
                }
                match self.entries[late as usize].action {
                    Action::AddAt(..) => self.clash(&[late, early], PLACES),
                    // All places before the other one are taken, which is a long story.
                    _ => Stop::DoesNotFit,
                }
            }
        }
    }

    fn value_of(&self, entry: u32) -> Option<u32> {
        match self.entries[entry as usize].action {
            Action::Add(v) | Action::AddNew(v) | Action::Found(v) | Action::AddAt(v, _) => Some(v),
            Action::Show(_) => None,
        }
    }

    /// A read that shows one addition and not the other.
    fn witness_read(&self, shown: u32, missing: u32) -> Option<u32> {
        let (shown, missing) = (self.value_of(shown)?, self.value_of(missing)?);
        let tells = |&e: &u32| {
            self.shown_by(e).is_some_and(|list| list.contains(&shown) && !list.contains(&missing))
        };
        (0..self.entries.len() as u32).find(tells)
    }

    /// The place of each entry in the base order.
    fn places(&self, base: &Base) -> Vec<Option<usize>> {
        let mut place = vec![None; self.entries.len()];
        for (at, &(_, e)) in base.order.iter().enumerate() {
            place[e as usize] = Some(at);
        }
        place
    }

    /// The base order with the followers in it.
    fn witness(&self, base: &Base) -> Vec<u32> {
        if base.followers.is_empty() {
            return base.order.iter().map(|&(_, e)| e).collect();
        }
        let place = self.places(base);
        let behind = |e: u32| place[e as usize].map_or(0, |at| at + 1);
        // Operations that returned before a follower was called come before it.
        let mut returned: BinaryHeap<Reverse<(u32, usize)>> = base
            .order
            .iter()
            .map(|&(_, e)| Reverse((self.entries[e as usize].returned, behind(e))))
            .collect();
        let mut followers = base.followers.clone();
        followers.sort_unstable_by_key(|&(f, _)| self.entries[f as usize].call);
        let mut passed = 0;
        let mut placed: Vec<(usize, u32)> = Vec::with_capacity(followers.len());
        for (f, effective) in followers {
            let entry = &self.entries[f as usize];
            while let Some(&Reverse((rank, at))) = returned.peek()
                && rank < entry.call
            {
                passed = passed.max(at);
                returned.pop();
            }
            let at = passed.max(effective.map_or(0, behind));
            returned.push(Reverse((entry.returned, at)));
            placed.push((at, f));
        }
        placed.sort_by_key(|&(at, _)| at);
        let mut order = Vec::with_capacity(self.entries.len());
        let mut placed = placed.into_iter().peekable();
        for at in 0..=base.order.len() {
            while let Some((_, f)) = placed.next_if(|&(place, _)| place == at) {
                order.push(f);
            }
            if let Some(&(_, e)) = base.order.get(at) {
                order.push(e);
            }
        }
        order
    }

    /// Whether the order is valid: it respects time, contains every operation that returned, and
    /// each result is right.
    fn replays(&self, order: &[u32], ordered: bool) -> bool {
        let mut list: Vec<u32> = self.initial.clone();
        let mut has = vec![false; self.adds.len()];
        list.iter().for_each(|&v| has[v as usize] = true);
        let mut size = has.iter().filter(|&&there| there).count();
        let mut done = vec![false; self.entries.len()];
        let mut latest_call = 0;
        for &e in order {
            let entry = &self.entries[e as usize];
            if std::mem::replace(&mut done[e as usize], true) || entry.returned < latest_call {
                return false;
            }
            latest_call = latest_call.max(entry.call);
            let right = match entry.action {
                Action::Add(_) => true,
                Action::AddNew(v) => !has[v as usize],
                Action::Found(v) => has[v as usize],
                Action::AddAt(_, at) => at == list.len() as i64,
                Action::Show(_) => {
                    let shown = self.shown_by(e).unwrap_or_default();
                    match ordered {
                        true => shown == list,
                        false => shown.len() == size && shown.iter().all(|&v| has[v as usize]),
                    }
                }
            };
            if !right {
                return false;
            }
            if let Action::Add(v) | Action::AddNew(v) | Action::AddAt(v, _) = entry.action {
                list.push(v);
                size += usize::from(!std::mem::replace(&mut has[v as usize], true));
            }
        }
        let missing = |(entry, done): (&Entry, &bool)| !done && entry.returned != PENDING;
        !self.entries.iter().zip(&done).any(missing)
    }
}
