//! Snapshots, online: simple histories, in O(1) per call or return plus the entries of a scan.
//!
//! A history is *simple* if at most two segments, i and j, ever change, each once, from the initial
//! value to another (Amram, Hayoun, Mizrahi, Weiss, DISC 2022: a snapshot algorithm that is
//! independent of its data is linearizable iff its simple histories are). The first changes show
//! which segments these are. Three automata read the events, and report a violation at a return iff
//! the history up to there is one. Let Fi be the first update of i to the other value, and let a
//! scan return (x, y) in i and j.
//!
//! - **No Inversion**: no scan returns (0, 1) if another returns (1, 0).
//! - **Non-Decreasing**: no scan that was called after a scan with 1 in i had returned returns 0
//!   there; likewise j.
//! - **Appropriateness**: no scan that was called after Fi had returned has 0 in i, and none that
//!   returned before Fi was called has 1; none has (0, 1) if Fi returned before Fj was called;
//!   likewise with i and j exchanged. Entries other than i and j are initial.
//!
//! **What is kept** is four bits for each open scan, one for each segment, and at most six
//! operations that a violation would name. All scans show the same segments; updates of one segment
//! do not overlap. A history that is not simple is [`Stop::Unfit`].

use super::{Clash, Engine, Id, NONE, Stop, Time, strange};
use crate::monitor::snapshot::Property;
use crate::spec::Action;
use crate::value::Value;

/// The first update that changes a segment.
#[derive(Clone, Debug)]
struct Change<V> {
    segment: u32,
    value: V,
    update: Id,
    has_returned: bool,
    /// The change of the other segment had returned when this one was called.
    is_behind_other: bool,
    /// The first scan that showed it.
    shown_by: Id,
}

/// The situation when a scan was called: bits 0 and 1, the change had returned; bits 2 and 3, a
/// scan that showed it had returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark(u8);

/// A property that is broken, and the operations that [`Property::blame`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) property: Property,
    pub(crate) operations: [Id; 4],
}

/// Why the automata do not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Fault(Fault),
    /// The history is not simple, and why.
    NotSimple(&'static str),
}

/// The automata. Operations are numbers of the caller's.
#[derive(Clone, Debug)]
pub(crate) struct Automata<V> {
    initial: V,
    changes: [Option<Change<V>>; 2],
    /// The open update of each segment, or [`NONE`].
    open: Vec<Id>,
    /// The scans that showed the first change without the second, and the second without the first.
    apart: [Id; 2],
    /// How many segments scans show.
    shown: Option<usize>,
}

impl<V: Eq + Clone> Automata<V> {
    pub(crate) fn new(initial: V) -> Automata<V> {
        let (changes, open, apart, shown) = ([None, None], Vec::new(), [NONE; 2], None);
        Automata { initial, changes, open, apart, shown }
    }

    pub(crate) fn update_called(&mut self, id: Id, segment: u32, value: &V) -> Result<(), Halt> {
        let at = segment as usize;
        if self.open.len() <= at {
            self.open.resize(at + 1, NONE);
        }
        if std::mem::replace(&mut self.open[at], id) != NONE {
            return Err(Halt::NotSimple("updates of one segment overlap"));
        }
        let place =
            self.changes.iter().position(|c| c.as_ref().is_none_or(|c| c.segment == segment));
        let change = place.and_then(|place| self.changes[place].as_ref());
        match (place, change) {
            (_, Some(change)) if change.value == *value => Ok(()),
            (_, Some(_)) => Err(Halt::NotSimple("a segment changes more than once")),
            (_, None) if *value == self.initial => Ok(()),
            (None, None) => Err(Halt::NotSimple("more than two segments change")),
            (Some(place), None) => {
                self.changes[place] = Some(Change {
                    segment,
                    value: value.clone(),
                    update: id,
                    has_returned: false,
                    is_behind_other: self.changes[1 - place]
                        .as_ref()
                        .is_some_and(|other| other.has_returned),
                    shown_by: NONE,
                });
                Ok(())
            }
        }
    }

    pub(crate) fn update_returned(&mut self, id: Id, segment: u32) {
        self.open[segment as usize] = NONE;
        for change in self.changes.iter_mut().flatten().filter(|c| c.update == id) {
            change.has_returned = true;
        }
    }

    pub(crate) fn scan_called(&self) -> Mark {
        let mut bits = 0;
        for (place, change) in self.changes.iter().enumerate() {
            if let Some(change) = change {
                bits |= u8::from(change.has_returned) << place;
                bits |= u8::from(change.shown_by != NONE) << (2 + place);
            }
        }
        Mark(bits)
    }

    pub(crate) fn scan_returned(&mut self, id: Id, mark: Mark, entries: &[V]) -> Result<(), Halt> {
        if *self.shown.get_or_insert(entries.len()) != entries.len() {
            return Err(Halt::NotSimple("scans show different numbers of segments"));
        }
        let fault = |property, operations| Err(Halt::Fault(Fault { property, operations }));
        // The scan's values of the two segments; `None` for a segment that it does not show, or
        // that has not changed.
        let mut shows: [Option<bool>; 2] = [None; 2];
        for (place, change) in self.changes.iter().enumerate() {
            let Some(change) = change else { continue };
            let entry = entries.get(change.segment as usize);
            shows[place] = entry.map(|entry| *entry == change.value);
        }
        for (segment, entry) in entries.iter().enumerate() {
            if *entry != self.initial && !self.is_shown_change(segment as u32, &shows) {
                return fault(Property::NeverWritten, [id, NONE, NONE, NONE]);
            }
        }
        for place in 0..2 {
            let (Some(false), Some(change)) = (shows[place], &self.changes[place]) else {
                continue;
            };
            if mark.0 >> place & 1 == 1 {
                return fault(Property::Overwritten, [id, change.update, NONE, NONE]);
            }
            if mark.0 >> (2 + place) & 1 == 1 {
                return fault(Property::Decreasing, [change.shown_by, id, change.update, NONE]);
            }
            let other = 1 - place;
            if let (Some(true), Some(shown)) = (shows[other], &self.changes[other]) {
                if shown.is_behind_other {
                    return fault(Property::Skipped, [id, shown.update, change.update, NONE]);
                }
                if self.apart[place] != NONE {
                    let opposite = self.apart[place];
                    let named = [id, opposite, shown.update, change.update];
                    return fault(Property::Inversion, named);
                }
                if self.apart[other] == NONE {
                    self.apart[other] = id;
                }
            }
        }
        // A change that has not happened yet is not shown: the second change may be that of any
        // other segment.
        if shows[0] == Some(true) && self.changes[1].is_none() && self.apart[0] == NONE {
            self.apart[0] = id;
        }
        for (change, is_shown) in self.changes.iter_mut().zip(shows) {
            if let (Some(true), Some(change)) = (is_shown, change)
                && change.shown_by == NONE
            {
                change.shown_by = id;
            }
        }
        Ok(())
    }

    fn is_shown_change(&self, segment: u32, shows: &[Option<bool>; 2]) -> bool {
        let at = |place: usize| self.changes[place].as_ref().is_some_and(|c| c.segment == segment);
        (0..2).any(|place| at(place) && shows[place] == Some(true))
    }

    /// The updates that changed a segment: with the scans of a fault they are a violation in
    /// themselves.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Id> + '_ {
        self.changes.iter().flatten().map(|change| change.update)
    }

    /// Every operation that a fault may name, except the open ones.
    pub(crate) fn named(&self) -> impl Iterator<Item = Id> + '_ {
        let shown = self.changes.iter().flatten().map(|change| change.shown_by);
        self.changes().chain(shown).chain(self.apart).filter(|&id| id != NONE)
    }
}

pub(super) struct Snapshot {
    automata: Automata<Value>,
    /// Open scans.
    scans: Vec<(Id, Mark)>,
    /// Open updates.
    updates: Vec<(Id, u32)>,
}

impl Snapshot {
    pub(super) fn new(initial: &[Value]) -> Snapshot {
        let initial = initial.first().cloned().unwrap_or_default();
        Snapshot { automata: Automata::new(initial), scans: Vec::new(), updates: Vec::new() }
    }

    fn stop(&self, halt: Halt) -> Stop {
        match halt {
            Halt::NotSimple(why) => Stop::Unfit(format!("the history is not simple: {why}")),
            Halt::Fault(Fault { property, operations }) => {
                let mut clash = Clash::new(operations.into_iter().chain(self.automata.changes()));
                clash.reason = Some(property.blame(operations));
                Stop::Clash(clash)
            }
        }
    }
}

fn close<T>(open: &mut Vec<(Id, T)>, id: Id) -> Option<T> {
    let at = open.iter().position(|o| o.0 == id)?;
    Some(open.swap_remove(at).1)
}

impl Engine for Snapshot {
    fn call(&mut self, id: Id, _: Time, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            None => self.scans.push((id, self.automata.scan_called())),
            Some(Action::Update(segment, value)) => {
                self.updates.push((id, *segment));
                let called = self.automata.update_called(id, *segment, value);
                called.map_err(|halt| self.stop(halt))?;
            }
            Some(other) => return Err(strange(other)),
        }
        Ok(())
    }

    fn returns(&mut self, id: Id, _: Time, action: &Action) -> Result<(), Stop> {
        match action {
            Action::Scan(shown) => {
                let mark = close(&mut self.scans, id).unwrap_or_default();
                let entries = shown.as_list().unwrap_or_default();
                let returned = self.automata.scan_returned(id, mark, entries);
                returned.map_err(|halt| self.stop(halt))
            }
            Action::Update(..) => {
                // An update that no scan shows was treated as an observer.
                if close(&mut self.scans, id).is_none()
                    && let Some(segment) = close(&mut self.updates, id)
                {
                    self.automata.update_returned(id, segment);
                }
                Ok(())
            }
            other => Err(strange(other)),
        }
    }

    fn unknown(&mut self, id: Id, _: Option<&Action>) -> Result<(), Stop> {
        // An update stays open for ever.
        close(&mut self.scans, id);
        Ok(())
    }

    fn fails(&mut self, id: Id, _: Option<&Action>) -> Result<(), Stop> {
        close(&mut self.scans, id);
        if self.automata.changes().any(|change| change == id) {
            return Err(Stop::Unfit("the update that changed a segment failed".into()));
        }
        if let Some(segment) = close(&mut self.updates, id) {
            self.automata.update_returned(id, segment);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn mark(&self, keep: &mut dyn FnMut(Id)) {
        self.scans.iter().for_each(|scan| keep(scan.0));
        self.updates.iter().for_each(|update| keep(update.0));
        self.automata.named().for_each(keep);
    }
}
