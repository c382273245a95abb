//! Shared by the online queue and priority queue: the values inside, the open removals, and
//! promises.
//!
//! A *promise* is made by a removal that has returned: at some moment of its interval no value of a
//! certain kind was inside. An empty result promises it for every value; the removal of x from a
//! priority queue, for every higher value. It holds in a slot iff every such value that was
//! inserted by then has a removal that was called by then (the covers of the offline monitors leave
//! the slot free). So a promise starts with the slots of its interval, minus the covers of the
//! removed values; it is
//!
//! - *kept* as soon as it has a slot in which no value of the kind is inside, except those that
//!   must have left by then anyway, because of their deadlines;
//! - *broken* when it has no slot left, or when in its first slot more values of the kind are
//!   inside than there are open removals, called before its last slot, to have taken them;
//! - *waiting* otherwise, for open removals to return. A waiting promise stores its own slots, so
//!   removed values can be forgotten all the same. It sets a deadline for the values that are
//!   inside in its first slot: its last slot. So a value that a removal of unknown outcome took
//!   keeps few promises waiting.
//!
//! **Forgetting.** Covers are needed by future promises of open removals: one that ended before the
//! earliest open removal was called is dropped. Removed values are no longer known: a removal that
//! returns such a value, or one that was never inserted, is a violation at once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

mod ending;
mod engine;

pub(super) use engine::Contained;

use super::recent::Recent;
use super::{Action, Clash, Id, NEVER, NONE, Stop, Time, Unknown, ambiguous};
use crate::value::Value;

/// The last removed values are remembered to distinguish 'twice' from 'never'.
const RECENT: usize = 256;
/// Operations that explain something.
type Reasons = SmallVec<[Id; 2]>;
/// Times from and without the second, ascending and disjoint.
type Slots = SmallVec<[(Time, Time); 4]>;

/// No entry.
pub(super) const NIL: u32 = u32::MAX;

/// A value that was inserted and not removed, or whose insert is open.
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) insert: Id,
    pub(super) call: Time,
    /// [`NEVER`] while the insert is open.
    pub(super) returned: Time,
    /// Removed already, while the insert is still open.
    removed: Option<Id>,
    /// Its removal must have been called before this; with the operation that requires it.
    pub(super) deadline: Time,
    because: Reasons,
    pub(super) next: u32,
    before: u32,
}

/// A removal that has not returned.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) call: Time,
    pub(super) id: Id,
    /// Whether it takes a value, if it finds one; false for an observer.
    takes: bool,
}

/// A value that has left and was certainly inside from `from` to `to`.
struct Cover {
    from: Time,
    to: Time,
    /// When the removal returned.
    returned: Time,
    value: Value,
    insert: Id,
    remove: Id,
}

/// See the top of this file.
struct Promise {
    id: Id,
    /// The insert of the value that it removed.
    insert: Id,
    above: Option<Value>,
    /// Slots that are left.
    slots: Slots,
    /// Inserts and removals of the values that took the other slots.
    covers: Vec<Id>,
}

/// A value that leaves the container.
pub(super) struct Taken {
    pub(super) entry: Entry,
    pub(super) place: u32,
}

pub(super) struct Container {
    entries: Vec<Entry>,
    free: Vec<u32>,
    by_value: HashMap<Value, u32, FixedState>,
    /// Places by value, of inserts that have returned; only with priorities.
    by_priority: Option<BTreeMap<Value, u32>>,
    smallest_first: bool,
    /// The list of values that are certainly inside, by return of the insert.
    pub(super) head: u32,
    tail: u32,
    /// Open removals, by call.
    pub(super) open: Vec<Open>,
    /// Removals that will never return, by call.
    never: Vec<Open>,
    covers: VecDeque<Cover>,
    waiting: Vec<Promise>,
    recent: Recent,
    /// The latest deadline that was ever set.
    latest: Time,
    /// The values inside with a deadline, by that and the call of their insert.
    late: BTreeMap<(Time, Time), u32>,
    /// The initial content.
    at_first: Unknown,
}

impl Container {
    pub(super) fn new(
        initial: &[Value],
        priorities: bool,
        smallest_first: bool,
    ) -> Result<Container, Stop> {
        let mut container = Container {
            entries: Vec::new(),
            free: Vec::new(),
            by_value: HashMap::default(),
            by_priority: priorities.then(BTreeMap::new),
            smallest_first,
            head: NIL,
            tail: NIL,
            open: Vec::new(),
            never: Vec::new(),
            covers: VecDeque::new(),
            waiting: Vec::new(),
            recent: Recent::new(RECENT),
            latest: 0,
            late: BTreeMap::new(),
            at_first: Unknown::NONE,
        };
        // The stream starts behind them: see `first_time`.
        for (i, value) in initial.iter().enumerate() {
            container.insert_called(NONE, 2 * i as Time, value)?;
            container.insert_returned(2 * i as Time + 1, value)?;
        }
        Ok(container)
    }

    /// The initial content is unknown: a value that was not inserted may have been there.
    pub(super) fn forgive(&mut self, lasts: bool) {
        self.at_first = Unknown::new(lasts);
    }

    /// An operation returned now which shows that nothing is left of the initial content.
    pub(super) fn unknown_is_gone(&mut self, at: Time) {
        self.at_first.is_gone(at);
    }

    pub(super) fn unjudged(&self) -> u64 {
        self.at_first.unjudged
    }

    pub(super) fn entry(&self, place: u32) -> &Entry {
        &self.entries[place as usize]
    }

    pub(super) fn insert_called(&mut self, id: Id, at: Time, value: &Value) -> Result<(), Stop> {
        let entry = Entry {
            value: value.clone(),
            insert: id,
            call: at,
            returned: NEVER,
            removed: None,
            deadline: NEVER,
            because: Reasons::new(),
            next: NIL,
            before: NIL,
        };
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.entries.len() as u32,
        };
        if self.by_value.insert(value.clone(), place).is_some() {
            return Err(ambiguous(value));
        }
        match self.entries.get_mut(place as usize) {
            Some(slot) => *slot = entry,
            None => self.entries.push(entry),
        }
        Ok(())
    }

    /// The place of a value that was certainly inserted; `None` if it has already left.
    pub(super) fn insert_returned(&mut self, at: Time, value: &Value) -> Result<Option<u32>, Stop> {
        let Some(&place) = self.by_value.get(value) else { return Err(ambiguous(value)) };
        let tail = self.tail;
        let entry = &mut self.entries[place as usize];
        entry.returned = at;
        if entry.removed.is_some() {
            self.forget(place);
            return Ok(None);
        }
        entry.before = tail;
        match tail {
            NIL => self.head = place,
            tail => self.entries[tail as usize].next = place,
        }
        self.tail = place;
        if let Some(by_priority) = &mut self.by_priority {
            by_priority.insert(value.clone(), place);
        }
        Ok(Some(place))
    }

    /// The insert never returns, or it did not happen.
    fn insert_lost(&mut self, value: &Value, happened: bool) -> Result<(), Stop> {
        let Some(&place) = self.by_value.get(value) else { return Ok(()) };
        if let Some(remove) = self.entries[place as usize].removed {
            self.forget(place);
            if !happened {
                let clash = Clash::new([remove]);
                return Err(clash.because(remove, "took a value that was never put in").into());
            }
        } else if !happened {
            self.forget(place);
        }
        Ok(())
    }

    fn forget(&mut self, place: u32) {
        self.by_value.remove(&self.entries[place as usize].value);
        self.free.push(place);
    }

    /// `takes`: false for an observer. It can find nothing, so it may make a promise, but it takes
    /// nothing.
    pub(super) fn removal_called(&mut self, id: Id, at: Time, takes: bool) {
        self.open.push(Open { call: at, id, takes });
    }

    /// The open operations that may have taken a value, by call.
    fn takers(&self) -> impl Iterator<Item = &Open> {
        let (mut open, mut never) = (self.open.iter().peekable(), self.never.iter().peekable());
        let both = std::iter::from_fn(move || match (open.peek(), never.peek()) {
            (Some(a), Some(b)) if a.call < b.call => open.next(),
            (Some(_), None) => open.next(),
            _ => never.next(),
        });
        both.filter(|open| open.takes)
    }

    /// The operations that have not returned and may have taken a value.
    fn taker_ids(&self) -> impl Iterator<Item = Id> {
        self.open.iter().chain(&self.never).map(|open| open.id)
    }

    /// A removal returned, or did not happen: its call.
    pub(super) fn removal_closed(&mut self, id: Id) -> Time {
        match self.open.iter().rposition(|open| open.id == id) {
            Some(at) => self.open.remove(at).call,
            None => NEVER,
        }
    }

    /// A removal that was called at `call` returned this value now.
    pub(super) fn take(
        &mut self,
        id: Id,
        call: Time,
        at: Time,
        value: &Value,
    ) -> Result<Option<Taken>, Clash> {
        let Some(&place) = self.by_value.get(value) else {
            if self.at_first.explains(call) {
                return Ok(None);
            }
            return Err(self.recent.clash(id, value));
        };
        let entry = &mut self.entries[place as usize];
        if let Some(other) = entry.removed {
            let clash = Clash::new([entry.insert, other, id]);
            return Err(clash.because(id, "took a value that another removal had taken"));
        }
        let because = std::mem::take(&mut entry.because);
        let copy = Entry { value: value.clone(), because, ..*entry };
        if entry.returned == NEVER {
            entry.removed = Some(id);
            return Ok(Some(Taken { entry: copy, place }));
        }
        let (before, next) = (entry.before, entry.next);
        if copy.deadline != NEVER {
            self.late.remove(&(copy.deadline, copy.call));
        }
        match before {
            NIL => self.head = next,
            before => self.entries[before as usize].next = next,
        }
        match next {
            NIL => self.tail = before,
            next => self.entries[next as usize].before = before,
        }
        self.forget(place);
        if let Some(by_priority) = &mut self.by_priority {
            by_priority.remove(value);
        }
        self.recent.left(value.clone(), copy.insert, id);
        // Values that left while this removal was open may matter for its future promise.
        self.forget_covers(call);
        if copy.returned < call {
            let (from, insert) = (copy.returned, copy.insert);
            let value = value.clone();
            let cover = Cover { from, to: call, returned: at, value, insert, remove: id };
            self.break_by(&cover)?;
            if !self.open.is_empty() {
                self.covers.push_back(cover);
            }
        }
        if call > copy.deadline {
            return Err(Clash::new(copy.because.into_iter().chain([copy.insert, id])));
        }
        Ok(Some(Taken { entry: copy, place }))
    }

    /// Covers that ended before every open removal was called, and before `needed`, are no longer
    /// needed.
    fn forget_covers(&mut self, needed: Time) {
        let first = self.open.first().map_or(NEVER, |open| open.call);
        let first = first.min(needed);
        while self.covers.front().is_some_and(|cover| cover.returned < first) {
            self.covers.pop_front();
        }
    }

    /// Whether a promise about values above `above` is about this value.
    fn concerns(&self, above: Option<&Value>, value: &Value) -> bool {
        match above {
            None => true,
            Some(above) if self.smallest_first => value < above,
            Some(above) => value > above,
        }
    }

    /// The values inside that a promise is about, not in order.
    fn inside<'a>(&'a self, above: Option<&'a Value>) -> Box<dyn Iterator<Item = &'a Entry> + 'a> {
        match (above, &self.by_priority) {
            (Some(above), Some(by_priority)) => {
                let range = match self.smallest_first {
                    true => (Bound::Unbounded, Bound::Excluded(above)),
                    false => (Bound::Excluded(above), Bound::Unbounded),
                };
                Box::new(by_priority.range::<Value, _>(range).map(|(_, &place)| self.entry(place)))
            }
            _ => Box::new(std::iter::successors(self.get(self.head), |e| self.get(e.next))),
        }
    }

    fn get(&self, place: u32) -> Option<&Entry> {
        (place != NIL).then(|| self.entry(place))
    }

    /// The first return of an insert of a value inside.
    fn first_inside(&self) -> Time {
        self.get(self.head).map_or(NEVER, |entry| entry.returned)
    }

    /// The removal `id` of the value of `insert` was in time to find nothing above it, from `from`
    /// up to now.
    pub(super) fn promise(
        &mut self,
        id: Id,
        insert: Id,
        above: Option<&Value>,
        from: Time,
        at: Time,
    ) -> Result<(), Clash> {
        let mut slots: Slots = SmallVec::from_elem((from, at), 1);
        let mut covers = Vec::new();
        for cover in self.covers.iter().rev().take_while(|cover| cover.returned > from) {
            let matters = cover.to > from && cover.from < at && self.concerns(above, &cover.value);
            if matters && subtract(&mut slots, cover.from, cover.to) {
                covers.extend([cover.insert, cover.remove]);
            }
        }
        let above = above.cloned();
        self.forget_covers(NEVER);
        let promise = Promise { id, insert, above, slots, covers };
        if promise.slots.is_empty() {
            return Err(promise.broken([]));
        }
        if !self.is_kept(&promise) {
            self.set_deadlines(&promise);
            self.waiting.push(promise);
        }
        Ok(())
    }

    /// Whether the promise has a slot in which no such value is inside, or only values that must be
    /// gone by then anyway.
    fn is_kept(&self, promise: &Promise) -> bool {
        let above = promise.above.as_ref();
        if above.is_none() && promise.slots[0].0 < self.first_inside() {
            return true;
        }
        let mut slots = promise.slots.clone();
        for entry in self.inside(above) {
            // With a deadline it is gone in the slot before it, and from then on.
            let gone = if entry.deadline == NEVER { NEVER } else { entry.deadline - 1 };
            if entry.returned < gone {
                subtract(&mut slots, entry.returned, gone);
            }
            if slots.is_empty() || (above.is_none() && gone == NEVER) {
                break;
            }
        }
        !slots.is_empty()
    }

    /// Values that are inside in the first slot of a promise must have left by its last slot,
    /// whichever slot it uses. Deadlines of the queue ascend along the list, so none is set that is
    /// earlier than one before.
    fn set_deadlines(&mut self, promise: &Promise) {
        let (first, last) = (promise.slots[0].0, promise.slots[promise.slots.len() - 1].1);
        let latest = last.max(self.latest);
        let inside = self.inside(promise.above.as_ref());
        let prompt = inside.take_while(|e| e.returned <= first || promise.above.is_some());
        let late = prompt.filter(|e| e.returned <= first && e.deadline == NEVER);
        let values: Vec<Value> = late.map(|entry| entry.value.clone()).collect();
        for value in values {
            if let Some(&place) = self.by_value.get(&value) {
                let promised = [promise.id, promise.insert].into_iter();
                self.set_deadline(place, latest, promised.chain(promise.covers.iter().copied()));
            }
        }
    }

    /// The removal of this value must have been called before then, and why.
    pub(super) fn set_deadline(
        &mut self,
        place: u32,
        deadline: Time,
        because: impl IntoIterator<Item = Id>,
    ) {
        self.latest = deadline;
        let entry = &mut self.entries[place as usize];
        entry.deadline = deadline;
        entry.because.extend(because);
        self.late.insert((deadline, entry.call), place);
    }

    /// A value has left: its cover takes slots from the promises that wait.
    fn break_by(&mut self, cover: &Cover) -> Result<(), Clash> {
        let mut waiting = std::mem::take(&mut self.waiting);
        for promise in &mut waiting {
            if self.concerns(promise.above.as_ref(), &cover.value)
                && subtract(&mut promise.slots, cover.from, cover.to)
            {
                promise.covers.extend([cover.insert, cover.remove]);
                if promise.slots.is_empty() {
                    return Err(promise.broken([]));
                }
            }
        }
        self.waiting = waiting;
        Ok(())
    }

    /// Checks the waiting promises again: a value has left, or a removal returned.
    pub(super) fn look_again(&mut self) -> Result<(), Clash> {
        if !self.late.is_empty() && !self.can_meet(self.late.keys().map(|late| late.0)) {
            let mut ids: Vec<Id> = self.taker_ids().collect();
            for &place in self.late.values() {
                let entry = self.entry(place);
                ids.extend(entry.because.iter().copied().chain([entry.insert]));
            }
            return Err(Clash::new(ids));
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|promise| !self.is_kept(promise));
        for promise in &waiting {
            let (first, last) = (promise.slots[0].0, promise.slots[promise.slots.len() - 1].1);
            let could = || self.takers().take_while(|open| open.call < last);
            let inside = || self.inside(promise.above.as_ref()).filter(|e| e.returned <= first);
            let most = could().count();
            if inside().nth(most).is_some() {
                let inserts = inside().take(most + 1).map(|entry| entry.insert);
                return Err(promise.broken(inserts.chain(could().map(|open| open.id))));
            }
        }
        self.waiting = waiting;
        Ok(())
    }

    /// An operation of unknown outcome, with its possible effect.
    pub(super) fn unknown(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            Some(Action::Insert(value)) => self.insert_lost(value, true),
            Some(_) => {
                // From the end: those that will never return are mostly before.
                if let Some(at) = self.open.iter().rposition(|open| open.id == id) {
                    let open = self.open.remove(at);
                    let place = self.never.partition_point(|other| other.call < open.call);
                    self.never.insert(place, open);
                }
                Ok(())
            }
            None => self.fails(id, may),
        }
    }

    /// An operation that did not happen.
    pub(super) fn fails(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            Some(Action::Insert(value)) => self.insert_lost(value, false),
            _ => {
                self.removal_closed(id);
                Ok(self.look_again()?)
            }
        }
    }

    /// Whether nothing is inside, open or promised, as in a new container.
    pub(super) fn is_bare(&self) -> bool {
        self.by_value.is_empty()
            && self.open.is_empty()
            && self.never.is_empty()
            && self.waiting.is_empty()
    }

    pub(super) fn mark(&self, keep: &mut dyn FnMut(Id)) {
        for &place in self.by_value.values() {
            let entry = self.entry(place);
            let ids = entry.because.iter().copied().chain(entry.removed).chain([entry.insert]);
            ids.for_each(&mut *keep);
        }
        self.taker_ids().for_each(&mut *keep);
        self.covers.iter().flat_map(|c| [c.insert, c.remove]).for_each(&mut *keep);
        for promise in &self.waiting {
            keep(promise.id);
            keep(promise.insert);
            promise.covers.iter().copied().for_each(&mut *keep);
        }
        self.recent.mark(keep);
    }
}

impl Promise {
    fn broken(&self, others: impl IntoIterator<Item = Id>) -> Clash {
        let ids = [self.id, self.insert].into_iter().chain(self.covers.iter().copied());
        let what = match self.above {
            None => "found nothing, but from its call to its return some value was always inside",
            Some(_) => {
                "came out although from its call to its return a value of higher priority was always inside"
            }
        };
        Clash::new(ids.chain(others)).because(self.id, what)
    }
}

/// Subtracts the slots from `from` up to `to`; returns false if none were there.
fn subtract(slots: &mut Slots, from: Time, to: Time) -> bool {
    if slots.iter().all(|&(a, b)| b <= from || a >= to) {
        return false;
    }
    let mut left = Slots::new();
    for &(a, b) in slots.iter() {
        left.extend([(a, b.min(from)), (a.max(to), b)].into_iter().filter(|(a, b)| a < b));
    }
    *slots = left;
    true
}

/// The time of the first event of a stream: initial values went in before.
pub(super) fn first_time(initial: usize) -> Time {
    2 * initial as Time + 1
}
