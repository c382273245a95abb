//! Why a snapshot history is a violation.
//!
//! A cycle is told in the words of *Polynomial-Time Verification and Testing of Implementations of
//! the Snapshot Data Structure* (Amram, Hayoun, Mizrahi, Weiss, DISC 2022), which builds on
//! Anderson's shrinking lemma: a cycle through many scans has a shorter one through at most two of
//! them ([`Check::property`]), if all show the same segments. *No Inversion*: two scans, each of
//! which shows something older than the other. *Non-Decreasing*: a scan that shows something older
//! than one that had returned before. *Appropriateness*: one scan that is impossible by itself.

use super::{Action, Check, Run};
use crate::monitor::{Answer, Blame, NONE, Why};

/// What a snapshot history breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// Appropriateness: a value that nobody wrote.
    NeverWritten,
    /// Appropriateness: a value whose update was called after the scan returned.
    Future,
    /// Appropriateness: a value that was overwritten before the scan was called.
    Overwritten,
    /// Appropriateness: an update is shown without an earlier one.
    Skipped,
    /// No Inversion.
    Inversion,
    /// Non-Decreasing.
    Decreasing,
    /// A cycle through scans that show different segments, or values that repeat.
    Cycle,
}

impl Property {
    /// The sentence. Operations are in the order of [`Why::Scans`].
    pub(crate) fn blame(self, operations: [u32; 4]) -> Blame {
        let text = match self {
            Property::NeverWritten => "Appropriateness: {0} shows a value that nobody wrote",
            Property::Future => {
                "Appropriateness: {0} shows the value of {1}, which was called after the scan had returned"
            }
            Property::Overwritten => {
                "Appropriateness: {0} shows a value that {1} had overwritten before the scan was called"
            }
            Property::Skipped => {
                "Appropriateness: {0} shows {1} but not {2}, although {2} had returned before {1} was called"
            }
            Property::Inversion => {
                "No Inversion: {0} and {1} contradict each other: {0} shows {2} but not {3}, and {1} shows {3} but not {2}"
            }
            Property::Decreasing => {
                "Non-Decreasing: {0} shows {2}, and {1} does not, although it was called after the former had returned"
            }
            Property::Cycle => "No order: {0} must come before itself",
        };
        let count = operations.iter().position(|&o| o == NONE).unwrap_or(4);
        Blame::naming(&operations[..count], text)
    }
}

impl Check<'_> {
    /// The update that proves that the second scan is later than the first: the second shows it,
    /// the first does not.
    pub(super) fn newer(&self, first: u32, second: u32) -> Option<u32> {
        let (a, b) = (self.bounds(first), self.bounds(second));
        let mut place = 0;
        for bound in b {
            let segment = self.segment(bound.from);
            while place < a.len() && self.segment(a[place].from) < segment {
                place += 1;
            }
            if let Some(other) = a.get(place)
                && self.segment(other.from) == segment
                && other.to < bound.from
            {
                return Some(self.first(bound.from));
            }
        }
        None
    }

    /// Explains a cycle by a property.
    pub(super) fn explain(&self, cycle: &[u32]) -> Answer {
        match self.property(cycle) {
            Some((property, operations)) => self.violation(property, operations, &[]),
            None => {
                let scan = cycle.iter().copied().find(|&o| self.is_scan(o)).unwrap_or(cycle[0]);
                self.violation(Property::Cycle, [scan, NONE, NONE, NONE], cycle)
            }
        }
    }

    pub(super) fn is_scan(&self, operation: u32) -> bool {
        matches!(self.operations[operation as usize].action, Action::Scan(_))
    }

    /// A property that the cycle breaks by at most two of its scans.
    ///
    /// Let S1, ..., Sm be the scans of the cycle, each of which is older than the next in some
    /// segment. If S1 is not older than St anywhere, then St is at most as new as S1 everywhere, so
    /// it is older than St-1 where S1 is, and both are inverted. So S1 is older than Sm somewhere.
    /// A return of the last operation before the call of the first closes the cycle. If these are
    /// updates, then either Sm shows the first update without the last one, or it does not show it
    /// and is older than S1 there, and both are inverted.
    fn property(&self, cycle: &[u32]) -> Option<(Property, [u32; 4])> {
        let scans: Vec<u32> = cycle.iter().copied().filter(|&o| self.is_scan(o)).collect();
        let (&first, &last) = (scans.first()?, scans.last()?);
        let inverted = |a: u32, b: u32| {
            let (older, newer) = (self.newer(b, a)?, self.newer(a, b)?);
            Some((Property::Inversion, [a, b, older, newer]))
        };
        for pair in scans.windows(2) {
            if self.newer(first, pair[1]).is_none() {
                return inverted(pair[0], pair[1]);
            }
        }
        if first != last
            && let Some(found) = inverted(first, last)
        {
            return Some(found);
        }
        let (start, end) = (cycle[0], *cycle.last()?);
        if self.span(end).returned > self.span(start).call {
            return None;
        }
        if start == first && end == last && first != last {
            let update = self.newer(first, last)?;
            return Some((Property::Decreasing, [last, first, update, NONE]));
        }
        // An update that a scan shows, and an earlier one that it does not show.
        if !self.is_scan(start) && !self.is_scan(end) {
            let (shown, missed) = (self.started[start as usize], self.started[end as usize]);
            let fits = |scan: u32| {
                let bounds = self.bounds(scan);
                let at =
                    |run: Run| bounds.iter().find(|b| self.segment(b.from) == self.segment(run));
                at(shown).is_some_and(|b| b.from >= shown)
                    && at(missed).is_some_and(|b| b.to < missed)
            };
            let scan = [last, first].into_iter().find(|&scan| fits(scan))?;
            return Some((Property::Skipped, [scan, start, end, NONE]));
        }
        None
    }

    /// The operations that a property names, others, and the updates of all values that the scans
    /// among them show.
    pub(super) fn violation(&self, property: Property, named: [u32; 4], others: &[u32]) -> Answer {
        let mut all: Vec<u32> =
            named.iter().chain(others).copied().filter(|&o| o != NONE).collect();
        let scans: Vec<u32> = all.iter().copied().filter(|&o| self.is_scan(o)).collect();
        for scan in scans {
            let apart = self.distinguished_by.get(&scan);
            for bound in self.bounds(scan).iter().filter(|b| b.from != NONE) {
                all.extend((bound.from..=bound.to).map(|run| self.first(run)));
                all.extend(self.next(bound.to).filter(|_| apart.is_some()));
            }
            all.extend(apart.into_iter().flatten());
        }
        Answer::violation(all, Why::Scans(property, named))
    }
}
